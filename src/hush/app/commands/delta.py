"""`hush delta`: the least delta at an epsilon."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from hush.app import output
from hush.app.options import add_question, mechanism_of


def add(parser: ArgumentParser) -> None:
    """The options."""
    add_question(
        parser,
        "--epsilon",
        'hush delta "laplace 1 | repeat 10" --epsilon 4',
        'hush delta "randomized-response 1 relation=replace | repeat 10" --epsilon 4',
    )


def run(arguments: Namespace) -> str:
    """The bound, as text or JSON."""
    mechanism = mechanism_of(arguments)
    return output.shown(arguments, mechanism, mechanism.delta(epsilon=arguments.epsilon, tolerance=arguments.tolerance))
