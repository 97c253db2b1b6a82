"""The odometer: what each filter says is spent, and beside it, as no guarantee, what a fixed plan would have cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hush.errors import HushError
from hush.ledger.standing import Standing, in_units
from hush.mechanisms.combinators.one_after_another import sequence
from hush.numerics.decimals import rounded_up
from hush.questions.json.mechanisms import from_json
from hush.questions.text_table import aligned

LABEL = "epsilon if all had been fixed in advance (no guarantee)"


@dataclass(frozen=True)
class Reading:
    """One budget: two numbers that must not be taken for each other."""

    standing: Standing
    charges: int
    delta: float
    planned_epsilon: float | None
    """Of the same releases as a plan that was fixed in advance: no guarantee. None where it is not known."""


@dataclass(frozen=True)
class Odometer:
    """Every budget of the book: spent of its filter, and epsilon if its entries had been fixed in advance."""

    readings: tuple[Reading, ...]

    def __str__(self) -> str:
        head = ("budget", "charges", "spent of the filter", "spent", "limit", LABEL)
        rows = [
            (
                reading.standing.name,
                str(reading.charges),
                f"{rounded_up(100 * reading.standing.share, 4)}%",
                in_units(reading.standing.spent),
                in_units(reading.standing.limits),
                _planned(reading),
            )
            for reading in self.readings
        ]
        return "\n".join(aligned([head, *rows], left=1))


def _planned(reading: Reading) -> str:
    if reading.planned_epsilon is None:
        return "not known"
    return f"{rounded_up(reading.planned_epsilon, 4)} at delta = {reading.delta:g}"


def composed(standing: Standing, counted: Sequence[tuple[str, int]], delta: float | None) -> Reading:
    """The reading of a budget whose charges had these mechanisms, each so often."""
    at = standing.budget.filter.told_at if delta is None else delta
    return Reading(standing, sum(times for _, times in counted), at, _epsilon(counted, at))


def _epsilon(counted: Sequence[tuple[str, int]], delta: float) -> float | None:
    if not counted:
        return 0.0
    try:
        found = sequence(*(from_json(text).repeat(times) for text, times in counted)).epsilon(delta=delta).upper
    except HushError:
        return None
    return found if math.isfinite(found) else None
