"""The values that may be released: whole multiples of a power of two within public bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hush.arrays import Array
from hush.checks import number
from hush.errors import InvalidParameter
from hush.randomness.binary_grid import BinaryGrid
from hush.releases.noise.exact_sums import checked_bounds

FINE = 40
"""By default the range has 2^40 to 2^41 steps."""
FINEST = 50
"""Most steps: floats hold them, and twice them, exactly."""
EXTREME = 1e270


@dataclass(frozen=True)
class Lattice:
    """Multiples of a grid's step from first to last: public, fixed before any data is seen.

    >>> Lattice.within((0, 10), step=1.0)
    Lattice(grid=BinaryGrid(power=0), first=0, last=10)
    >>> Lattice.within((0, 2000)).points > 2**40
    True
    """

    grid: BinaryGrid
    first: int
    last: int

    @classmethod
    def within(
        cls, bounds: tuple[float, float], *, step: float | None = None, who: str = "Lattice", fine: int = FINE
    ) -> Lattice:
        """Of this step, a power of two; by default fine against the range, as far as floats are exact."""
        low, high = checked_bounds(who, bounds)
        if not (max(-low, high) < EXTREME and high - low > 1 / EXTREME):
            raise InvalidParameter(who, "bounds below 1e270 in size and more than 1e-270 apart", bounds=bounds)
        if step is None:
            power = max(math.frexp(high - low)[1] - fine - 1, math.frexp(max(-low, high))[1] - FINEST - 2)
        else:
            power = _power(who, step)
        unit = Fraction(2) ** power
        first, last = math.ceil(Fraction(low) / unit), math.floor(Fraction(high) / unit)
        if first > last or last - first > 2**FINEST or max(-first, last) > 2**52:
            rule = "a step with at least one and at most 2^50 multiples within the bounds"
            raise InvalidParameter(who, rule, step=step, bounds=bounds)
        return cls(BinaryGrid(power), first, last)

    @property
    def points(self) -> int:
        """How many values there are."""
        return self.last - self.first + 1

    def indices(self, values: Array) -> Array:
        """The nearest multiples, those outside moved to the ends."""
        return np.clip(self.grid.quantise(values), self.first, self.last)

    def value(self, index: int) -> float:
        """The multiple as a float, exactly."""
        return float(self.grid.to_float(index))


def _power(who: str, step: float) -> int:
    rule = "a step that is a power of two, such as 1, 0.5 or 2**-10"
    mantissa, power = math.frexp(number(who, rule, 2.0**-900, 2.0**900, step=step))
    if mantissa != 0.5:
        raise InvalidParameter(who, rule, step=step)
    return power - 1
