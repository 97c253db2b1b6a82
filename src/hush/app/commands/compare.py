"""`hush compare`: one training run under every way to draw its batches."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

import hush
from hush.app import output
from hush.app.options import PICTURE, add_examples, add_json


def add(parser: ArgumentParser) -> None:
    """The options."""
    parser.add_argument("--noise", type=float, required=True, help="noise multiplier of each step")
    parser.add_argument("--steps", type=float, required=True, help="steps per epoch; each uses 1/steps of the records")
    parser.add_argument("--epochs", type=float, default=1, help="number of epochs (1)")
    parser.add_argument("--delta", type=float, required=True)
    parser.add_argument("--chart", "--out", dest="out", metavar="FILE", help=PICTURE)
    add_json(parser)
    add_examples(parser, "hush compare --noise 1.0 --steps 1000 --epochs 1 --delta 1e-6 --chart schemes.svg")


def run(arguments: Namespace) -> str:
    """The table, or its JSON."""
    found = hush.compare_schemes(
        noise_multiplier=arguments.noise, steps=arguments.steps, epochs=arguments.epochs, delta=arguments.delta
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
