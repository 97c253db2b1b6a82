"""`hush statement`: the guarantee in plain words, for a report."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from hush.app import output
from hush.app.options import LANGUAGE, STYLES, add_examples, add_mechanism, mechanism_of


def add(parser: ArgumentParser) -> None:
    """The options."""
    add_mechanism(parser)
    parser.add_argument("--delta", type=float, required=True)
    parser.add_argument("--unit", default="record", help="what one record stands for (record)")
    parser.add_argument("--style", choices=STYLES, default="plain", help="for everybody, or for a methods section")
    add_examples(
        parser,
        'hush statement "gaussian 2 | poisson 0.01 | repeat 1000" --delta 1e-6 --unit patient',
        "hush statement --noise 1.1 --examples 60000 --batch-size 256 --epochs 15 --delta 1e-5 --style methods",
        more=LANGUAGE,
    )


def run(arguments: Namespace) -> str:
    """The paragraph, as text or inside JSON."""
    mechanism = mechanism_of(arguments)
    words = mechanism.statement(delta=arguments.delta, unit=arguments.unit, style=arguments.style)
    return output.text(arguments, mechanism, words)
