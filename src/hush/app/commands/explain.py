"""`hush explain`: why an epsilon is what it is."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from hush.app import output
from hush.app.options import LANGUAGE, add_examples, add_mechanism, mechanism_of


def add(parser: ArgumentParser) -> None:
    """The options."""
    add_mechanism(parser)
    parser.add_argument("--delta", type=float, required=True)
    add_examples(parser, 'hush explain "laplace 1 | repeat 100" --delta 1e-6', more=LANGUAGE)


def run(arguments: Namespace) -> str:
    """The derivation, as text or inside JSON."""
    mechanism = mechanism_of(arguments)
    return output.text(arguments, mechanism, mechanism.explain(delta=arguments.delta))
