"""`hush delta`: the least delta at an epsilon."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from hush.app import output
from hush.app.options import LANGUAGE, add_examples, add_mechanism, add_tolerance, mechanism_of


def add(parser: ArgumentParser) -> None:
    """The options."""
    add_mechanism(parser)
    parser.add_argument("--epsilon", type=float, required=True)
    add_tolerance(parser)
    add_examples(
        parser,
        'hush delta "laplace 1 | repeat 10" --epsilon 4',
        'hush delta "randomized-response 1 relation=replace | repeat 10" --epsilon 4',
        more=LANGUAGE,
    )


def run(arguments: Namespace) -> str:
    """The bound, as text or JSON."""
    mechanism = mechanism_of(arguments)
    bound = mechanism.delta(epsilon=arguments.epsilon, tolerance=arguments.tolerance)
    return output.shown(arguments, mechanism, bound, f"at epsilon {arguments.epsilon:g}")
