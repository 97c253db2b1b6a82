"""Options that several commands share, and the mechanism that they describe."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

import hush
from hush.errors import InvalidParameter

LANGUAGE = """\
a mechanism is either --noise, --rate and --steps (Gaussian noise on Poisson samples), or an expression:
  a release, then what is done to it:     gaussian 1.0 | poisson 0.01 | repeat 10000
  releases on the same data:              laplace 2; gaussian 1.0   or   laplace 2 then gaussian 1.0
  its noise is set for replaced records:  laplace 2 relation=replace
  `hush words` lists every word, and what may follow it
"""
TRAINING = ("noise", "rate", "steps")
"""What describes a training run in short."""
OVER = {"noise": (0.05, 10_000.0), "rate": (1e-9, 1.0), "steps": (1, 10**12)}
"""Where the value of one of them is sought unless told."""
PICTURE = "draw it too: a name that ends in .svg, .png or .html"


def add_examples(parser: ArgumentParser, *examples: str, more: str = "") -> None:
    """Examples below the help, and what else there is to say."""
    lines = "\n".join(f"  {example}" for example in examples)
    parser.epilog = f"examples:\n{lines}\n" + (f"\n{more}" if more else "")


def add_json(parser: ArgumentParser) -> None:
    """--json."""
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def add_training(parser: ArgumentParser) -> None:
    """--noise, --rate and --steps."""
    parser.add_argument("--noise", type=float, help="noise multiplier of each step")
    parser.add_argument("--rate", type=float, help="Poisson sampling rate of each step")
    parser.add_argument("--steps", type=float, help="number of steps")


def add_mechanism(parser: ArgumentParser) -> None:
    """An expression, or --noise, --rate and --steps instead."""
    parser.add_argument("expression", nargs="?", help="the mechanism, unless --noise, --rate and --steps are given")
    add_training(parser)
    add_json(parser)


def add_question(parser: ArgumentParser, given: str, *examples: str) -> None:
    """A mechanism, the one number that a question about it needs, and how precise the answer is to be."""
    add_mechanism(parser)
    parser.add_argument(given, type=float, required=True)
    parser.add_argument("--tolerance", type=float, default=1e-6, help="relative width to seek (1e-6)")
    add_examples(parser, *examples, more=LANGUAGE)


def mechanism_of(arguments: Namespace) -> hush.Mechanism:
    """The mechanism of an expression, or of --noise, --rate and --steps."""
    given = {name: value for name in TRAINING if (value := getattr(arguments, name)) is not None}
    if arguments.expression is not None:
        if given:
            raise InvalidParameter("hush", "either an expression or --noise, --rate and --steps", both=list(given))
        return expressed(arguments.expression)
    missing = [f"--{name}" for name in TRAINING if name not in given]
    if missing:
        raise InvalidParameter("hush", "an expression, or all of --noise, --rate and --steps", missing=missing)
    return training(**given)


def expressed(expression: str) -> hush.Mechanism:
    """The mechanism of an expression."""
    from hush.app.expression import parse

    return parse(expression)


def training(noise: float, rate: float, steps: Any) -> hush.Mechanism:
    """Gaussian noise on Poisson samples; `steps` is what was typed, and checked where it is used."""
    return hush.Gaussian(noise).on(hush.Poisson(rate=rate)).repeat(steps)
