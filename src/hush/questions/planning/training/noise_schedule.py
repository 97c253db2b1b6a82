"""Noise that changes during a run, as planned before it: what runs one after the other is accounted as such."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

from hush.checks import count, number
from hush.errors import InvalidParameter

NoiseSchedule: TypeAlias = tuple[tuple[int, float], ...]
"""From which step on the noise is so many times the noise multiplier; empty where it never changes."""
LONGEST_SCHEDULE = 200
"""Pieces: each is a product of its own to the accountant."""


def checked_schedule(given: Sequence[tuple[int, float]], epoch_steps: int) -> NoiseSchedule:
    """Pairs (step, factor), the first at step 0, in order; an epoch that is drawn as a whole has one noise."""
    rule = "noise_schedule=((0, 1.0), (step, factor), ...): steps in order, the first of them 0"
    if not isinstance(given, tuple | list) or not all(
        isinstance(pair, tuple | list) and len(pair) == 2 for pair in given
    ):
        raise InvalidParameter("train_plan", rule, noise_schedule=given)
    limits = "factors from 0.01 to 100"
    found = tuple(
        (count("train_plan", 0, step=step), number("train_plan", limits, 0.01, 100.0, factor=factor))
        for step, factor in given
    )
    steps = [step for step, _ in found]
    if found and (steps[0] != 0 or any(one >= next_one for one, next_one in pairwise(steps))):
        raise InvalidParameter("train_plan", rule, noise_schedule=found)
    if len(found) > LONGEST_SCHEDULE:
        raise InvalidParameter("train_plan", f"at most {LONGEST_SCHEDULE} pieces of noise_schedule", pieces=len(found))
    if any(step % epoch_steps for step in steps):
        raise InvalidParameter("train_plan", f"noise that changes between epochs (of {epoch_steps} steps)", steps=steps)
    return found


def factor_at(schedule: NoiseSchedule, step: int) -> float:
    """How many times the noise multiplier a step has.

    >>> [factor_at(((0, 1.0), (10, 0.5)), step) for step in (0, 9, 10, 99)]
    [1.0, 1.0, 0.5, 0.5]
    """
    return next((factor for start, factor in reversed(schedule) if start <= step), 1.0)


def pieces(schedule: NoiseSchedule, steps: int) -> Iterator[tuple[int, float]]:
    """How many steps in a row have which factor.

    >>> list(pieces(((0, 1.0), (10, 0.5), (50, 2.0)), 30))
    [(10, 1.0), (20, 0.5)]
    """
    ends = [start for start, _ in schedule[1:]] + [steps]
    for (start, factor), end in zip(schedule or ((0, 1.0),), ends, strict=True):
        if min(end, steps) > start:
            yield min(end, steps) - start, factor
