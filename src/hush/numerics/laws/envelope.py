"""Laws in small cells: bounds on characteristic functions over whole ranges of their arguments.

The terms C3a to C3c of docs/theory/error-budget.md rest on these.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hush.arrays import Array
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

    @cached_property
    def wrong(self) -> float:
        """Relative error of the total mass."""
        return float(self.weight @ self.slack)

    def ceiling(self, y: Array, radius: float) -> Array:
        """Bound on |phi(t)| for all t within radius of each y: value in the middle, modulus of continuity, cells.

        All errors are of the size of phi - 1 or of the distances to the median, so that a near-atom costs little:
        with true masses w(1+s)/N, N = sum of w(1+s), phi - 1 is off by (sum of w|s||e^{iyl} - 1| + |phi - 1||N - 1|)/N.
        """
        if self.wrong > MOST_WRONG:
            return np.ones(len(y))
        room(len(y) * len(self.loss), 6)
        offset = self.loss - self.median
        distance = np.abs(offset)
        far = float(y.max()) + radius
        moved = np.minimum(2.0, radius * distance + far * self.half_width) * (1 + self.slack)
        moved = moved + self.slack * np.minimum(2.0, far * distance)
        angle = y[:, None] * offset
        real, imaginary = np.cos(angle) @ self.weight, np.sin(angle) @ self.weight
        error = float(self.weight @ moved) + self.wrong * np.hypot(1 - real, imaginary)
        return np.minimum(1.0, np.hypot(real, imaginary) + error / (1 - self.wrong) + self.lost)

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
            some = np.unique(np.minimum(np.searchsorted(-after, -after[0] * _KEPT), len(after) - 1))
            masses.append(1 - after[some])
            variations.append(rest[some] + self.jumps)
        return np.concatenate(masses), np.minimum(np.concatenate(variations), MOST_VARIATION)

    @cached_property
    def median(self) -> float:
        """Weighted median loss."""
        order = np.argsort(self.loss)
        return float(self.loss[order][np.searchsorted(np.cumsum(self.weight[order]), 0.5)])

    @cached_property
    def deviation(self) -> float:
        """Mean absolute distance to the median."""
        return float(self.weight @ np.abs(self.loss - self.median))

    @cached_property
    def jump(self) -> float:
        """Size of the distances that make up the variance: it is the deviation unless the law is nearly an atom."""
        return float(self.weight @ (self.loss - self.median) ** 2) / max(self.deviation, UNDERFLOW)
