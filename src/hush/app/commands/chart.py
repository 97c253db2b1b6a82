"""`hush chart`: a picture of one or more mechanisms, or of a training run."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

import hush
from hush.app import output
from hush.app.options import (
    LANGUAGE,
    PICTURE,
    SCHEMES,
    add_examples,
    add_json,
    add_training,
    expressed,
    form_of,
    given_numbers,
    sizes,
    training,
)
from hush.errors import InvalidParameter

if TYPE_CHECKING:
    from hush.questions.charts.drawing import Chart

AT = {
    "renyi": "orders",
    "profile": "epsilons",
    "tradeoff": "false_positive_rates",
    "roc": "false_positive_rates",
    "steps": "steps",
}
"""Every kind of chart, and what --at means for it."""
EPOCHS = "epochs"
"""The chart of a training run: epsilon after each epoch."""


def add(parser: ArgumentParser) -> None:
    """The options."""
    parser.add_argument("kind", choices=(*AT, EPOCHS), help="what to draw")
    parser.add_argument("expressions", nargs="*", metavar="EXPRESSION", help="a mechanism")
    add_training(parser, schemes=True)
    parser.add_argument("--label", action="append", help="the name of a line, once for each mechanism")
    parser.add_argument("--at", type=float, nargs="+", help="orders, epsilons, false positive rates or steps to draw")
    parser.add_argument("--delta", type=float, help="for epsilon against steps or epochs")
    parser.add_argument("--out", help=PICTURE.removeprefix("draw it too: "))
    add_json(parser)
    add_examples(
        parser,
        'hush chart profile "gaussian 1" "laplace 1" --out profiles.png',
        'hush chart steps "gaussian 1 | poisson 0.01" --delta 1e-5 --at 1 10 100 1000 --out steps.svg',
        "hush chart epochs --noise 1.1 --examples 60000 --batch-size 256 --epochs 15 \\\n"
        "      --scheme poisson shuffled-batches --delta 1e-5 --out epochs.svg",
        more=LANGUAGE,
    )


def run(arguments: Namespace) -> str:
    """The name of the file that was written, or the points as JSON."""
    if arguments.out is None and not arguments.json:
        raise InvalidParameter("hush chart", "--out FILE or --json", out=None)
    drawn = _by_epoch(arguments) if arguments.kind == EPOCHS else _drawn(arguments)
    if arguments.out:
        output.saved(drawn, arguments.out)
    if arguments.json:
        return output.as_json({"title": drawn.title, "points": drawn.rows()})
    return f"{arguments.out}: {drawn.title}"


def _by_epoch(arguments: Namespace) -> Chart:
    """epsilon of a training run after each epoch, a line per scheme."""
    given = given_numbers(arguments)
    if arguments.expressions or arguments.label or arguments.at:
        raise InvalidParameter("hush chart epochs", "a training run alone", expressions=arguments.expressions)
    if "epochs" not in form_of(given) or arguments.delta is None:
        raise InvalidParameter("hush chart epochs", "--epochs and --delta", delta=arguments.delta)
    first, *others = (
        hush.train_plan(noise_multiplier=given["noise"], delta=arguments.delta, **sizes(given, scheme))
        for scheme in dict.fromkeys(arguments.scheme or ["poisson"])
    )
    return first.chart(*others)


def _drawn(arguments: Namespace) -> Chart:
    return getattr(hush.chart, arguments.kind)(_named(arguments), **_chosen(arguments))


def _named(arguments: Namespace) -> dict[str, hush.Mechanism]:
    mechanisms = [expressed(text) for text in arguments.expressions]
    given, schemes = given_numbers(arguments), arguments.scheme or []
    if given or schemes or not mechanisms:
        mechanisms += [training(given, scheme) for scheme in dict.fromkeys(schemes or SCHEMES_UNTOLD)]
    labels = arguments.label or [str(mechanism) for mechanism in mechanisms]
    if len(labels) != len(mechanisms) or len(set(labels)) < len(labels):
        raise InvalidParameter("hush chart", "one --label for each mechanism, no two alike", label=labels)
    return dict(zip(labels, mechanisms, strict=True))


SCHEMES_UNTOLD = (next(iter(SCHEMES)),)
"""How batches are drawn unless told."""


def _chosen(arguments: Namespace) -> dict[str, object]:
    """The keywords that the kind of chart takes."""
    if (arguments.kind == "steps") != (arguments.delta is not None):
        rule = "--delta for steps and epochs, and for these alone"
        raise InvalidParameter("hush chart", rule, delta=arguments.delta)
    chosen: dict[str, object] = {"delta": arguments.delta} if arguments.kind == "steps" else {}
    if arguments.at:
        chosen[AT[arguments.kind]] = sorted(arguments.at)
    return chosen
