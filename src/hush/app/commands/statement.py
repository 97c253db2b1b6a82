"""`hush statement`: the guarantee in plain words, for a report."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from hush.app import output
from hush.app.options import LANGUAGE, add_examples, add_mechanism, mechanism_of


def add(parser: ArgumentParser) -> None:
    """The options."""
    add_mechanism(parser)
    parser.add_argument("--delta", type=float, required=True)
    parser.add_argument("--unit", default="record", help="what one record stands for (record)")
    add_examples(
        parser, 'hush statement "gaussian 2 | poisson 0.01 | repeat 1000" --delta 1e-6 --unit patient', more=LANGUAGE
    )


def run(arguments: Namespace) -> str:
    """The paragraph, as text or inside JSON."""
    mechanism = mechanism_of(arguments)
    return output.text(arguments, mechanism, mechanism.statement(delta=arguments.delta, unit=arguments.unit))
