"""`hush epsilon`: the least epsilon at a delta."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from hush.app import output
from hush.app.options import add_question, mechanism_of


def add(parser: ArgumentParser) -> None:
    """The options."""
    add_question(
        parser,
        "--delta",
        "hush epsilon --noise 1.0 --rate 0.01 --steps 10000 --delta 1e-5",
        "hush epsilon --noise 1.1 --examples 60000 --batch-size 256 --epochs 15 --delta 1e-5",
        "hush epsilon --noise 1.1 --examples 60000 --batch-size 256 --epochs 15 --scheme shuffled-batches --delta 1e-5",
        'hush epsilon "gaussian 1.0 | poisson 0.01 | repeat 10000; laplace 2" --delta 1e-5',
    )


def run(arguments: Namespace) -> str:
    """The bound, as text or JSON."""
    mechanism = mechanism_of(arguments)
    return output.shown(arguments, mechanism, mechanism.epsilon(delta=arguments.delta, tolerance=arguments.tolerance))
