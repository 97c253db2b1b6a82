"""`hush compare`: one training run under every way to draw its batches."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

import hush
from hush.app import output
from hush.app.options import PICTURE, add_examples, add_json
from hush.errors import InvalidParameter


def add(parser: ArgumentParser) -> None:
    """The options."""
    parser.add_argument("--noise", type=float, required=True, help="noise multiplier of each step")
    parser.add_argument("--steps", type=float, help="number of steps in all")
    parser.add_argument("--steps-per-epoch", type=float, help="instead: each step uses one of so many parts")
    parser.add_argument("--examples", type=float, help="instead, with --batch-size: number of examples")
    parser.add_argument("--batch-size", type=float, help="examples per step")
    parser.add_argument("--epochs", type=float, default=1, help="number of epochs (1)")
    parser.add_argument("--delta", type=float, required=True)
    parser.add_argument("--chart", "--out", dest="out", metavar="FILE", help=PICTURE)
    add_json(parser)
    add_examples(
        parser,
        "hush compare --noise 1.0 --steps 1000 --epochs 1 --delta 1e-6 --chart schemes.svg",
        "hush compare --noise 1.1 --examples 60000 --batch-size 250 --epochs 15 --delta 1e-5",
    )


def run(arguments: Namespace) -> str:
    """The table, or its JSON."""
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
