"""`hush compose`: what every composition theorem says, side by side."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

import hush
from hush.app import output
from hush.app.options import LANGUAGE, PICTURE, add_examples, add_mechanism, mechanism_of


def add(parser: ArgumentParser) -> None:
    """The options."""
    add_mechanism(parser)
    parser.add_argument("--delta", type=float, required=True)
    parser.add_argument("--times", type=float, nargs="+", default=[1, 10, 100, 1000], help="how often it is repeated")
    parser.add_argument("--out", help=PICTURE)
    add_examples(parser, 'hush compose "laplace 10" --times 1 10 100 --delta 1e-6 --out compared.svg', more=LANGUAGE)


def run(arguments: Namespace) -> str:
    """The table and its notes, or its JSON."""
    from hush.questions.compositions import WHY

    found = hush.compositions(mechanism_of(arguments), times=arguments.times, delta=arguments.delta)
    if arguments.out:
        output.saved(found.chart(), arguments.out)
    if arguments.json:
        return output.about(found.mechanism, {"delta": found.delta, "epsilon": [vars(row) for row in found.rows]})
    table = output.framed(found.title, found.table(), bold="exact") or str(found)
    notes = [f"  {method}: {WHY[method]}" for method in found.methods]
    return "\n".join([table, "", *notes])
