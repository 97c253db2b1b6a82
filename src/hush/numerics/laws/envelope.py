"""Laws in small cells: bounds on characteristic functions over whole ranges of their arguments.

The terms C3a to C3c of docs/theory/error-budget.md rest on these.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from hush.arrays import Array
from hush.numerics.rounding import UNIT
from hush.numerics.special.turns import turned
from hush.numerics.work import room

MOST_CELLS = 20_000
"""Cells of an envelope at the most; wider cells make looser bounds, not wrong ones."""
WIDEST_CELL, CELL_PER_BEND = 0.04, 0.3
"""Cells of an envelope are this wide at the most, in deviations and in units of 1/sqrt(bend): then the bend of the
log-density changes the mass of a cell by less than 1.2 %. Wider ones make looser bounds, not wrong ones (C3b)."""
FLATTEST = 1e-150
"""Stands for a slope or a width of 0, by which is divided: what follows is larger, and so is the bound (C3c)."""
LEAST_SLOPE, MOST_SLOPE = 1e-8, 100.0
"""sinh(z)/z is 1 below the first, to the last digit; past the second a cell's mass is known to no digit, and where
the mean of such slacks is above 1/2 the bound is 1."""
MOST_SCORE, MOST_VARIATION = 1e100, 1e200
"""A density this steep bounds nothing, and larger numbers would leave the floats in a sum."""
UNDERFLOW = 1e-300
"""Stands for a width or a deviation of 0, by which is divided: what follows is larger, and so is the bound."""
MOST_WRONG = 0.5
"""Where the total mass of the cells is known no better than this, |phi| <= 1 is the bound: the error over 1 - wrong
would say no more."""
_KEPT = np.concatenate([[1.0], 1 - np.geomspace(1e-9, 0.5, 10), np.geomspace(0.3, 1e-9, 24)])
"""Shares of the mass that may make up the smooth part; any choice gives a bound."""


@dataclass(frozen=True, eq=False)
class Cells:
    """The measure e^{cL} dP cut into small cells: what bounds |E e^{iyL}| for all large y."""

    loss: Array
    log_weight: Array
    half_width: Array
    """Half the range of the loss within each cell."""
    slack: Array
    """Relative error of each cell's mass."""
    score: Array
    """|d log(density of the loss) / d loss|, whose mean is the density's total variation."""
    jumps: float = -math.inf
    """log of the density's values at the ends of its support, summed; -inf where it vanishes there."""
    lost: float = -math.inf
    """log of the mass that is in no cell."""


def cell_width(bend: float) -> float:
    """Width of the cells of a density whose log bends by at most this."""
    return min(WIDEST_CELL, CELL_PER_BEND / math.sqrt(bend))


def cell_slack(tilt: Array, bend: float) -> Array:
    """How far a cell's mass can be from density times width, where the log-density has this slope and bend."""
    z = np.clip(tilt, LEAST_SLOPE, MOST_SLOPE)
    return np.sinh(z) / z * math.exp(min(bend, MOST_SLOPE)) - 1


@dataclass(frozen=True, eq=False)
class Envelope:
    """A tilted law in cells: upper bounds on |phi(y)|, phi(y) = E_c e^{iyL}, over ranges of y."""

    loss: Array
    weight: Array
    half_width: Array
    score: Array
    slack: Array
    """Relative error of each cell's mass."""
    lost: float
    """Mass outside of all cells, and rounding."""
    jumps: float
    _ceilings: dict[tuple[float, float, int], Array] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def wrong(self) -> float:
        """Relative error of the total mass."""
        return float(self.weight @ self.slack)

    def ceiling(self, low: float, high: float, count: int) -> Array:
        """Bound on |phi| over each of so many equal intervals: value in the middle, modulus of continuity, cells.

        All errors are of the size of phi - 1 or of the distances to the median, so that a near-atom costs little:
        with true masses w(1+s)/N, N = sum of w(1+s), phi - 1 is off by (sum of w|s||e^{iyl} - 1| + |phi - 1||N - 1|)/N.
        """
        if self.wrong > MOST_WRONG:
            return np.ones(count)
        if (low, high, count) not in self._ceilings:
            self._ceilings[low, high, count] = self._ceiling(low, high, count)
        return self._ceilings[low, high, count]

    def _ceiling(self, low: float, high: float, count: int) -> Array:
        room(count * len(self.loss), 2)
        offset, radius = self._offset, (high - low) / count / 2
        moved = np.minimum(2.0, radius * self._distance + high * self.half_width) * (1 + self.slack)
        moved += self.slack * np.minimum(2.0, high * self._distance)
        phi = self._waves((low + radius) * offset, 2 * radius * offset, count)
        error = float(self.weight @ moved) + self.wrong * np.abs(1 - phi)
        return np.minimum(1.0, np.abs(phi) + error / (1 - self.wrong) + self.lost + 4 * count * UNIT)

    def _waves(self, angle: Array, turn: Array, count: int) -> Array:
        """The mean of e^{i(angle + k turn)} for k = 0, 1, ...: products of the first two, each off by one rounding."""
        first, second = (1 + real + 1j * imaginary for real, imaginary in (turned(angle), turned(turn)))
        waves: Array = np.empty((count, len(angle)), dtype=complex)
        waves[0], waves[1:] = first * self.weight, second
        return np.multiply.accumulate(waves, axis=0, out=waves).sum(axis=1)

    def decay(self, y: Array) -> Array:
        """Bound on |phi| at y and beyond: some cells count with their mass, the rest with its total variation over y.

        The rest is all cells past some loss, from either side: its variation is the mean of |score| there and the
        height of the density where it was cut. A near-atom is thus left out of it.
        """
        masses, variations = self._cuts
        return np.minimum(1.0, (masses + variations / y[:, None]).min(axis=1) + self.lost)

    @cached_property
    def _cuts(self) -> tuple[Array, Array]:
        order = np.argsort(self.loss, kind="stable")
        weight, width = self.weight[order], self.half_width[order]
        smooth = width > 0
        # the score and the height are taken in the middle of a cell: doubled for what they may be elsewhere in it
        change = np.where(smooth, weight * np.minimum(self.score[order], MOST_SCORE), 0.0) * 2
        height = np.where(smooth, weight / np.maximum(2 * width, UNDERFLOW), 0.0) * 2
        sure = np.where(smooth, weight * np.maximum(1 - self.slack[order], 0.0) / (1 + self.wrong), 0.0)
        masses, variations = [], []
        for flip in (slice(None), slice(None, None, -1)):
            after = np.cumsum(sure[flip][::-1])[::-1]
            rest = np.cumsum(change[flip][::-1])[::-1] + np.where(after < after[0], height[flip], 0.0)
            some = np.minimum(np.searchsorted(-after, -after[0] * _KEPT), len(after) - 1)
            masses.append(1 - after[some])
            variations.append(rest[some] + self.jumps)
        return np.concatenate(masses), np.minimum(np.concatenate(variations), MOST_VARIATION)

    @cached_property
    def _offset(self) -> Array:
        """From the weighted median loss."""
        order = np.argsort(self.loss)
        return self.loss - self.loss[order][np.searchsorted(np.cumsum(self.weight[order]), 0.5)]

    @cached_property
    def _distance(self) -> Array:
        return np.abs(self._offset)

    @cached_property
    def deviation(self) -> float:
        """Mean absolute distance to the median."""
        return float(self.weight @ self._distance)

    @cached_property
    def jump(self) -> float:
        """Size of the distances that make up the variance: it is the deviation unless the law is nearly an atom."""
        return float(self.weight @ self._offset**2) / max(self.deviation, UNDERFLOW)
