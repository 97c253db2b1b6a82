"""Exact sums of numbers: clamp to bounds, round to a grid, add up in whole numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hush.checks import number
from hush.errors import InvalidParameter

BLOCK = 1 << 15
"""Numbers that are handled at once: they stay in the cache, and the sum of their squares fits 64 bits."""
BITS = 36
"""Half the width of the bounds is 2^35 to 2^36 steps: below 2^51, so that `_steps` reads them off a float."""
SQUARE_BITS = 23
"""The same where squares are added up: those of a block sum to at most 2^61."""
EXTREME = 800
"""Bounds beyond 2^800 or below 2^-800 are brought near 1 first, by a power of two."""


def checked_bounds(who: str, bounds: object) -> tuple[float, float]:
    """(low, high), two finite numbers with low < high; they are never read off the data."""
    rule = "bounds=(low, high), two finite numbers with low < high, chosen without looking at the data"
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise InvalidParameter(who, rule, bounds=bounds)
    low, high = (number(who, rule, -math.inf, math.inf, low_open=True, high_open=True, bounds=end) for end in bounds)
    if not low < high:
        raise InvalidParameter(who, rule, bounds=bounds)
    return low, high


@dataclass(frozen=True)
class SumGrid:
    """Bounded numbers as whole steps from a centre: x is clamped to the bounds and becomes round((x - centre)/step).

    Every number becomes a whole number between `low` and `high`, whatever it was; NaN becomes `low`. Sums of them are
    exact, in any order, so their sensitivity is that of whole numbers.

    >>> grid = SumGrid((0.0, 2000.0))
    >>> total, count = grid.sums([np.array([0.0, 1000.0, math.nan, math.inf])], powers=1)[0], 4
    >>> float(grid.centre + total / count * grid.step)
    750.0
    """

    bounds: tuple[float, float]
    bits: int = BITS
    power: int = field(init=False)
    """The step is 2^power times the scaling."""
    scaling: int = field(init=False)
    centre: float = field(init=False)
    low: int = field(init=False)
    high: int = field(init=False)

    def __post_init__(self) -> None:
        low, high = self.bounds
        largest = math.frexp(max(abs(low), abs(high)))[1]
        scaling = largest if abs(largest) > EXTREME else 0
        object.__setattr__(self, "scaling", scaling)
        low, high = math.ldexp(low, -scaling), math.ldexp(high, -scaling)
        power = math.frexp(high / 2 - low / 2)[1] - self.bits
        object.__setattr__(self, "power", power)
        middle = low / 2 + high / 2
        # a whole number of steps; beyond 2^53 steps every float is one
        if abs(middle) < math.ldexp(1.0, 53 + power):
            middle = math.ldexp(round(math.ldexp(middle, -power)), power)
        object.__setattr__(self, "centre", middle)
        ends = self._steps(np.array([low, high]), np.empty(2), -math.inf, math.inf)
        object.__setattr__(self, "low", int(ends[0]))
        object.__setattr__(self, "high", int(ends[1]))

    @property
    def step(self) -> float:
        """How much a step is worth, for bounds of ordinary size."""
        return math.ldexp(1.0, self.power + self.scaling)

    @property
    def centre_steps(self) -> int:
        """The centre itself, as a whole number of steps from 0."""
        mantissa, exponent = math.frexp(self.centre)
        return _shifted(int(math.ldexp(mantissa, 53)), exponent - 53 - self.power)

    def _steps(self, values: np.ndarray, room: np.ndarray, low: float, high: float) -> np.ndarray:
        """Whole steps from the centre: adding 1.5 * 2^52 steps leaves them in the last bits of the float."""
        magic = math.ldexp(1.5, 52 + self.power)
        np.subtract(values, np.float64(self.centre), out=room)  # a float64, or small types would stay small
        np.fmax(room, low, out=room)  # also turns NaN into low
        np.fmin(room, high, out=room)
        np.add(room, magic, out=room)
        whole = room.view(np.int64)
        np.subtract(whole, np.float64(magic).view(np.int64), out=whole)
        return whole

    def sums(self, batches: Iterable[np.ndarray], *, powers: int) -> list[int]:
        """Sums of the first powers of the steps, then the number of records: [Σk, ..., n]."""
        low, high = (math.ldexp(end, -self.scaling) - self.centre for end in self.bounds)
        room, square = np.empty(BLOCK), np.empty(BLOCK if powers > 1 else 0, dtype=np.int64)
        totals = [0] * (powers + 1)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            for batch in batches:
                values = np.asarray(batch).reshape(-1)
                for start in range(0, len(values), BLOCK):
                    block = values[start : start + BLOCK]
                    if self.scaling:
                        block = np.ldexp(block.astype(float), -self.scaling)
                    whole = self._steps(block, room[: len(block)], low, high)
                    totals[0] += int(whole.sum())
                    if powers > 1:
                        totals[1] += int(np.multiply(whole, whole, out=square[: len(block)]).sum())
                totals[-1] += len(values)
        return totals


def _shifted(value: int, places: int) -> int:
    return value << places if places >= 0 else value >> -places


def worth(steps: float, power: int) -> float:
    """steps * 2^power as a float, cut at the largest one."""
    largest = math.nextafter(math.inf, 0)
    try:
        return math.ldexp(steps, power)
    except OverflowError:
        return math.copysign(largest, steps)


def clamped(value: Any, low: float, high: float) -> float:
    """The value, moved to the nearer end of the range where it is outside."""
    return min(max(float(value), low), high)
