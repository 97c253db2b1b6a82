"""`hush compare`: one training run under every way to draw its batches, or releases of any kind side by side."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

import hush
from hush.app import output
from hush.app.options import PICTURE, add_examples, add_json, expressed, option
from hush.errors import InvalidParameter, NotCovered


def add(parser: ArgumentParser) -> None:
    """The options."""
    parser.add_argument("--noise", type=float, help="noise multiplier of each step")
    parser.add_argument("--steps", type=float, help="number of steps in all")
    parser.add_argument("--steps-per-epoch", type=float, help="instead: each step uses one of so many parts")
    parser.add_argument("--examples", type=float, help="instead, with --batch-size: number of examples")
    parser.add_argument("--batch-size", type=float, help="examples per step")
    parser.add_argument("--epochs", type=float, default=1, help="number of epochs (1)")
    parser.add_argument("--releases", nargs="+", metavar="EXPRESSION", help="instead of a run: releases of any kind")
    parser.add_argument("--delta", type=float, required=True)
    parser.add_argument("--chart", "--out", dest="out", metavar="FILE", help=PICTURE)
    add_json(parser)
    add_examples(
        parser,
        "hush compare --noise 1.0 --steps 1000 --epochs 1 --delta 1e-6 --chart schemes.svg",
        "hush compare --noise 1.1 --examples 60000 --batch-size 250 --epochs 15 --delta 1e-5",
        'hush compare --delta 1e-6 --releases "gaussian 2 | poisson 0.05" "gaussian 2 | clusters 0.05 500x4" '
        '"gaussian 2 | two-stage 0.25 0.2 20x100" "gaussian 2 | best-of-geometric 0.1"',
    )


def run(arguments: Namespace) -> str:
    """The table, or its JSON."""
    if arguments.releases:
        return _releases(arguments)
    if arguments.noise is None:
        raise InvalidParameter("hush compare", "--noise of a training run, or --releases", noise=None)
    found = hush.compare_schemes(
        noise_multiplier=arguments.noise,
        steps=_steps_per_epoch(arguments),
        epochs=arguments.epochs,
        delta=arguments.delta,
    )
    if arguments.out:
        output.saved(found.chart(), arguments.out)
    if not arguments.json:
        return str(found)
    rows = [
        {"scheme": row.name, "relation": row.mechanism.relation.value, "reason": row.reason}
        | ({"lower": row.bound.lower, "upper": row.bound.upper} if row.bound else {})
        for row in found.rows
    ]
    return output.as_json({"delta": found.delta, "schemes": rows, "mistake": found.mistake})


def _releases(arguments: Namespace) -> str:
    """Each release with its interval, or with the reason why nothing is known."""
    run = ("noise", "steps", "steps_per_epoch", "examples", "batch_size", "out")
    surplus = [option(name) for name in run if getattr(arguments, name) is not None]
    if surplus:
        raise InvalidParameter("hush compare", "either --releases or a training run, and no picture", given=surplus)
    from hush.questions.schemes_compared import shown
    from hush.questions.text_table import aligned

    lines: list[tuple[str, ...]] = [("release", "neighbours", "epsilon")]
    rows: list[dict[str, Any]] = []
    for text in arguments.releases:
        mechanism = expressed(text)
        row: dict[str, Any] = {"release": text, "relation": mechanism.relation.value}
        try:
            bound = mechanism.epsilon(delta=arguments.delta)
        except NotCovered as reason:
            rows.append(row | {"reason": str(reason)})
            told = f"not covered: {reason}"
        else:
            rows.append(row | {"lower": bound.lower, "upper": bound.upper})
            told = shown(bound)
        lines.append((text, mechanism.relation.words.removesuffix(" one record"), told))
    if arguments.json:
        return output.as_json({"delta": arguments.delta, "releases": rows})
    return "\n".join([f"epsilon at delta {arguments.delta:g}", "", *aligned(lines, left=3)])


def _steps_per_epoch(arguments: Namespace) -> int:
    """Told by one of three ways; every epoch has the same number of whole batches."""
    ways = {
        "--steps": (arguments.steps, arguments.epochs),
        "--steps-per-epoch": (arguments.steps_per_epoch, 1),
        "--examples with --batch-size": (arguments.examples, arguments.batch_size),
    }
    told = {way: parts for way, parts in ways.items() if parts[0] is not None}
    if len(told) != 1 or (arguments.batch_size is None) != (arguments.examples is None):
        raise InvalidParameter("hush compare", f"one of: {', '.join(ways)}", given=list(told))
    ((way, (whole, parts)),) = told.items()
    if not parts > 0 or whole % parts:
        rule = "as many steps in every epoch: " + ("a multiple of --epochs" if way == "--steps" else "whole batches")
        raise InvalidParameter("hush compare", rule, **{way.split()[0].lstrip("-"): whole}, of=parts)
    return round(whole / parts)
