"""`hush calibrate`: the noise, rate or steps of a training run that just meet a target."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

import hush
from hush.app import output
from hush.app.options import OVER, TRAINING, add_examples, add_json, add_training, training
from hush.errors import InvalidParameter
from hush.numerics.decimals import rounded_down, rounded_up


def add(parser: ArgumentParser) -> None:
    """The options."""
    parser.add_argument("--for", dest="sought", choices=TRAINING, default="noise", help="what is sought (noise)")
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
        "hush calibrate --for steps --advantage 0.1 --noise 2 --rate 0.01",
    )


def run(arguments: Namespace) -> str:
    """The value and what it gives away, as text or JSON."""
    sought, given = arguments.sought, _given(arguments)
    found = hush.calibrate(
        lambda value: training(**given, **{sought: value}),
        over=_range(arguments),
        epsilon=arguments.epsilon,
        delta=arguments.delta,
        advantage=arguments.advantage,
        tolerance=arguments.tolerance,
    )
    if arguments.json:
        return output.about(found.mechanism, output.fields(found.bound) | _value(sought, found))
    # To the safe side: more noise, but a lower rate.
    value = rounded_up(found.value, 9) if sought == "noise" else rounded_down(found.value, 9)
    where = f"at delta {arguments.delta:g}" if arguments.delta is not None else ""
    return f"{sought} = {value}\n{output.answer(found.mechanism, found.bound, where)}"


def _value(sought: str, found: hush.Calibration) -> dict[str, object]:
    """What was found, and a value past it that certainly misses the target."""
    return {"sought": sought, "value": found.value, "fails_at": found.fails_at}


def _given(arguments: Namespace) -> dict[str, Any]:
    """The two numbers that are not sought."""
    sought = arguments.sought
    given = {name: getattr(arguments, name) for name in TRAINING}
    if given[sought] is not None:
        raise InvalidParameter("hush calibrate", f"--{sought} left out: it is sought", **{sought: given[sought]})
    del given[sought]
    missing = [f"--{name}" for name, value in given.items() if value is None]
    if missing:
        raise InvalidParameter("hush calibrate", f"{' and '.join(f'--{name}' for name in given)}", missing=missing)
    return given


def _range(arguments: Namespace) -> tuple[float, float]:
    """Where to search: whole numbers for steps, so that a whole number is found."""
    low, high = arguments.over or OVER[arguments.sought]
    if arguments.sought == "steps":
        low, high = (int(end) if float(end).is_integer() else end for end in (low, high))
    return low, high
