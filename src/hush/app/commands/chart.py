"""`hush chart`: a picture of one or more mechanisms."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

import hush
from hush.app import output
from hush.app.options import LANGUAGE, PICTURE, add_examples, add_json, expressed
from hush.errors import InvalidParameter

AT = {
    "renyi": "orders",
    "profile": "epsilons",
    "tradeoff": "false_positive_rates",
    "roc": "false_positive_rates",
    "steps": "steps",
}
"""Every kind of chart, and what --at means for it."""


def add(parser: ArgumentParser) -> None:
    """The options."""
    parser.add_argument("kind", choices=tuple(AT), help="what to draw")
    parser.add_argument("expressions", nargs="+", metavar="EXPRESSION", help="a mechanism")
    parser.add_argument("--label", action="append", help="the name of a line, once for each mechanism")
    parser.add_argument("--at", type=float, nargs="+", help="orders, epsilons, false positive rates or steps to draw")
    parser.add_argument("--delta", type=float, help="for epsilon against steps")
    parser.add_argument("--out", help=PICTURE.removeprefix("draw it too: "))
    add_json(parser)
    add_examples(
        parser,
        'hush chart profile "gaussian 1" "laplace 1" --out profiles.png',
        'hush chart steps "gaussian 1 | poisson 0.01" --delta 1e-5 --at 1 10 100 1000 --out steps.svg',
        more=LANGUAGE,
    )


def run(arguments: Namespace) -> str:
    """The name of the file that was written, or the points as JSON."""
    drawn = getattr(hush.chart, arguments.kind)(_named(arguments), **_chosen(arguments))
    if arguments.out is None and not arguments.json:
        raise InvalidParameter("hush chart", "--out FILE or --json", out=None)
    if arguments.out:
        output.saved(drawn, arguments.out)
    if arguments.json:
        return output.as_json({"title": drawn.title, "points": drawn.rows()})
    return f"{arguments.out}: {drawn.title}"


def _named(arguments: Namespace) -> dict[str, hush.Mechanism]:
    mechanisms = [expressed(text) for text in arguments.expressions]
    labels = arguments.label or [str(mechanism) for mechanism in mechanisms]
    if len(labels) != len(mechanisms) or len(set(labels)) < len(labels):
        raise InvalidParameter("hush chart", "one --label for each mechanism, no two alike", label=labels)
    return dict(zip(labels, mechanisms, strict=True))


def _chosen(arguments: Namespace) -> dict[str, object]:
    """The keywords that the kind of chart takes."""
    if (arguments.kind == "steps") != (arguments.delta is not None):
        raise InvalidParameter("hush chart", "--delta for steps, and for steps alone", delta=arguments.delta)
    chosen: dict[str, object] = {"delta": arguments.delta} if arguments.kind == "steps" else {}
    if arguments.at:
        chosen[AT[arguments.kind]] = sorted(arguments.at)
    return chosen
