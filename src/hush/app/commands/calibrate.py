"""`hush calibrate`: the number that just meets a target, of a training run or of any expression."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import Any

import hush
from hush.app import output
from hush.app.options import (
    ANYWHERE,
    LANGUAGE,
    OVER,
    add_examples,
    add_json,
    add_training,
    form_of,
    given_numbers,
    option,
    training,
)
from hush.errors import InvalidParameter
from hush.numerics.decimals import rounded_down, rounded_up

SOUGHT = ("noise", "rate", "steps", "epochs")


def add(parser: ArgumentParser) -> None:
    """The options."""
    parser.add_argument("expression", nargs="?", help="a mechanism with a ? in place of the number that is sought")
    parser.add_argument("--for", dest="sought", choices=SOUGHT, help="what is sought of a training run (noise)")
    add_training(parser)
    parser.add_argument("--over", type=float, nargs=2, metavar=("LOW", "HIGH"), help="where to search")
    parser.add_argument("--epsilon", type=float, help="the target, with --delta")
    parser.add_argument("--delta", type=float)
    parser.add_argument("--advantage", type=float, help="the target instead of epsilon and delta")
    parser.add_argument("--tolerance", type=float, default=1e-6, help="relative distance from the target (1e-6)")
    add_json(parser)
    add_examples(
        parser,
        "hush calibrate --epsilon 2 --delta 1e-5 --rate 0.01 --steps 10000",
        "hush calibrate --epsilon 3 --delta 1e-5 --examples 60000 --batch-size 256 --epochs 15",
        "hush calibrate --for steps --advantage 0.1 --noise 2 --rate 256/60000",
        'hush calibrate "laplace ? | repeat 10; gaussian 5" --epsilon 2 --delta 1e-6',
        'hush calibrate "gaussian 2 | poisson 0.01 | repeat ?" --epsilon 1 --delta 1e-6',
        more=LANGUAGE,
    )


def run(arguments: Namespace) -> str:
    """The value and what it gives away, as text or JSON."""
    sought, build = _expressed(arguments) if arguments.expression is not None else _trained(arguments)
    found = hush.calibrate(
        build,
        over=_range(arguments.over, sought),
        epsilon=arguments.epsilon,
        delta=arguments.delta,
        advantage=arguments.advantage,
        tolerance=arguments.tolerance,
    )
    if arguments.json:
        value = {"sought": sought, "value": found.value, "fails_at": found.fails_at}
        return output.about(found.mechanism, output.fields(found.bound) | value)
    where = f"at delta {arguments.delta:g}" if arguments.delta is not None else ""
    return f"{sought} = {_safely(sought, found)}\n{output.answer(found.mechanism, found.bound, where)}"


def _safely(sought: str, found: hush.Calibration) -> str:
    """To the side on which the target is met: more noise, but a lower rate; all digits where no side is known."""
    if found.fails_at is not None:
        return rounded_up(found.value, 9) if found.fails_at < found.value else rounded_down(found.value, 9)
    return rounded_up(found.value, 9) if sought == "noise" else repr(found.value)


def _expressed(arguments: Namespace) -> tuple[str, Callable[[float], hush.Mechanism]]:
    """The name of the number that is sought, and the mechanism with a value of it."""
    from hush.app.expression import with_hole

    extra = [option(name) for name in (*given_numbers(arguments), "scheme", "sought") if getattr(arguments, name)]
    if extra:
        told = [name.replace("--sought", "--for") for name in extra]
        raise InvalidParameter("hush calibrate", "either an expression or a training run", both=told)
    return with_hole(arguments.expression)


def _trained(arguments: Namespace) -> tuple[str, Callable[[Any], hush.Mechanism]]:
    """The same for a training run, whose other numbers are given."""
    sought, given = arguments.sought or "noise", given_numbers(arguments)
    if sought in given:
        raise InvalidParameter("hush calibrate", f"--{sought} left out: it is sought", **{sought: given[sought]})
    form_of(given | {sought: None})
    return sought, lambda value: training(given | {sought: value}, arguments.scheme)


def _range(over: list[float] | None, sought: str) -> tuple[float, float]:
    """Where to search: whole numbers where only these make sense, so that a whole number is found."""
    usual = OVER.get(sought, ANYWHERE)
    low, high = over or usual
    if isinstance(usual[0], int):
        low, high = (int(end) if float(end).is_integer() else end for end in (low, high))
    return low, high
