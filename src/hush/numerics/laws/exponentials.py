"""Analytic pieces: a loss with exponential density on an interval, mixed or not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hush.arrays import Array
from hush.numerics.laws.envelope import MOST_CELLS, WIDEST_CELL, Cells, cell_slack
from hush.numerics.laws.law import Nodes

NODES = 32
"""Nodes of a panel: with rho = 4 the rule is off by 4^-64 = e^-89 times the growth on the ellipse (C5)."""
RHO = 4.0
"""Parameter of the Bernstein ellipse on which the integrand is bounded (C5)."""
REACH, HEIGHT = 2.125, 1.875
"""The ellipse reaches (rho + 1/rho)/2 half-lengths from the middle along the axis, and (rho - 1/rho)/2 across (C5)."""
ELLIPSE = math.log(64 / 15 / (1 - 1 / 16))
"""log of the factor (64/15)/(1 - rho^-2) of the error (Trefethen 2013, Thm 19.3)."""
LONGEST = 1.4
"""Largest half-length of a panel: the height 1.875 * 1.4 = 2.6 of its ellipse is below pi, where there are zeros."""
ROOM, LEAST_ROOM = 80.0, 20.0
"""What the growth on the ellipse may take of the e^-89, so that the accuracy is left. It only sets the panels: the
error that comes of them is computed and charged."""
LARGEST_SUM = 600.0
"""Exponents up to which e^x - 1 is taken as such; past it logarithms are added."""


@dataclass(frozen=True)
class Exponentials:
    """Loss that is log((1-A+A e^l)/(1-B+B e^l)) where l has P-density k e^{l/2} and Q-density k e^{-l/2} on [-a, a].

    The continuous part of Laplace noise (with atoms beside it) and of the bounded-range envelope (alone).
    """

    bound: float
    log_height: float
    above: float
    below: float

    def parts(self, base_loss: Array) -> tuple[Array, Array]:
        """log(1-A+A e^l) and log(1-B+B e^l)."""
        return log_two(self.above, base_loss), log_two(self.below, base_loss)

    def nodes(self, tilt: float, reach: float, accuracy: float) -> Nodes:
        """Composite Gauss-Legendre; error by the Bernstein ellipse (Trefethen 2013, Thm 19.3).

        Along the ellipse of a panel the log-density changes by less than 1.5 + 2|c| per unit of l. Across it what has a
        negative exponent, 1-B+B e^l for c > 0 and 1-A+A e^l for c < -1, shrinks at most by the cosine of half its
        height, and what has a positive one does not grow (C5).
        """
        panels = self._panels(tilt, reach, accuracy)
        r = self.bound / panels
        points, log_gauss = gauss()
        middle = (2 * np.arange(panels) + 1) * r - self.bound
        base = (middle[:, None] + r * points).ravel()
        log_above, log_below = self.parts(base)
        loss = log_above - log_below
        log_density = self.log_height - base / 2 + log_above + tilt * loss
        log_weight = log_density + np.tile(log_gauss + math.log(r), panels)
        height = HEIGHT * r
        negative = max(tilt, -1 - tilt, 0.0)
        growth = REACH * r * (1.5 + 2 * abs(tilt)) + height * reach - negative * math.log(math.cos(height / 2))
        log_error = ELLIPSE + growth - 2 * NODES * math.log(RHO)
        top, centre = float(log_weight.max()), self._log_density(middle, tilt)
        error = float(np.exp(centre - top).sum()) * r * math.exp(log_error) / float(np.exp(log_weight - top).sum())
        slope = logistic(self.above, base) - logistic(self.below, base)
        loss_error = 3 * np.abs(loss) + 2 * np.abs(slope) * np.abs(base)
        return Nodes(loss, log_weight, loss_error, error, loss_error)  # the log-density is linear in loss and place

    def _panels(self, tilt: float, reach: float, accuracy: float) -> int:
        # 6, 4.3 and 1.9 are about the growth of the integrand per half-length; what comes of it is computed and charged
        half = min(self.bound, LONGEST, max(ROOM - accuracy, LEAST_ROOM) / (6.0 + 4.3 * abs(tilt) + 1.9 * reach))
        return max(1, math.ceil(self.bound / half))

    def cost(self, tilt: float, reach: float, accuracy: float) -> float:
        return NODES * self._panels(tilt, reach, accuracy)

    def cells(self, tilt: float, fineness: int) -> Cells:
        """Equal cells in l."""
        bend = (1 + 2 * tilt) / 4
        count = min(math.ceil(2 * self.bound * fineness / min(WIDEST_CELL, 0.5 / math.sqrt(bend))), MOST_CELLS)
        step = 2 * self.bound / count
        base = (np.arange(count) + 0.5) * step - self.bound
        loss = np.subtract(*self.parts(base))
        half_width = np.maximum(
            *(np.abs(np.subtract(*self.parts(base + side)) - loss) for side in (step / 2, -step / 2))
        )
        above, below = logistic(self.above, base), logistic(self.below, base)
        slope, curvature = above - below, above * (1 - above) - below * (1 - below)
        log_weight = self._log_density(base, tilt) + math.log(step)
        steepness = -0.5 + above + tilt * slope
        slack = cell_slack(np.abs(steepness) * step / 2, bend * step * step / 8)
        steep = np.abs(slope)
        ends = np.array([-self.bound, self.bound])
        end_slope = np.abs(logistic(self.above, ends) - logistic(self.below, ends))
        jumps = float(np.logaddexp.reduce(self._log_density(ends, tilt) - np.log(end_slope)))
        return Cells(loss, log_weight, half_width, slack, np.abs(steepness - curvature / slope) / steep, jumps)

    def sweep(self, tilts: Array, accuracy: float) -> tuple[Array, Array]:  # noqa: ARG002
        """Losses and log-weights that serve all the tilts at once: panels that halve towards both ends."""
        edges = self.bound * (1 - np.concatenate([[1.0], 2.0 ** -np.arange(1.0, 36.0), [0.0]]))
        edges = np.concatenate([-edges[:0:-1], edges])
        points, log_gauss = gauss()
        middle, radius = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
        base = (middle[:, None] + radius[:, None] * points).ravel()
        log_weight = self._log_density(base, 0.0) + (np.log(radius)[:, None] + log_gauss).ravel()
        return np.subtract(*self.parts(base)), log_weight

    @property
    def any_order(self) -> bool:
        return True

    @property
    def rising(self) -> None:
        return None

    def without_tail(self, log_mass: float) -> tuple[Exponentials, float]:  # noqa: ARG002
        """Its losses are bounded: nothing is left out."""
        return self, 0.0

    def _log_density(self, base: Array, tilt: float) -> Array:
        log_above, log_below = self.parts(base)
        return self.log_height - base / 2 + log_above + tilt * (log_above - log_below)


def log_two(share: float, base: Array) -> Array:
    """log(1 - share + share e^base)."""
    if share == 0:
        return np.zeros_like(base)
    if share == 1:
        return base
    small = share * np.expm1(np.minimum(base, LARGEST_SUM))
    near = (small > -0.5) & (base < LARGEST_SUM)
    return np.where(
        near, np.log1p(np.where(near, small, 0.0)), np.logaddexp(math.log1p(-share), math.log(share) + base)
    )


def logistic(share: float, base: Array) -> Array:
    """share e^base / (1 - share + share e^base)."""
    if share == 0:
        return np.zeros_like(base)
    return np.exp(math.log(share) + base - log_two(share, base))


@lru_cache(maxsize=1)
def gauss() -> tuple[Array, Array]:
    """Nodes and log-weights of a panel, polished in extended precision: the library's weights lose four digits."""
    x = np.polynomial.legendre.leggauss(NODES)[0].astype(np.longdouble)
    slope = x
    for _ in range(3):
        previous, value = np.ones_like(x), x
        for n in range(2, NODES + 1):
            previous, value = value, ((2 * n - 1) * x * value - (n - 1) * previous) / n
        slope = NODES * (previous - x * value) / (1 - x * x)
        x = x - value / slope
    return x.astype(float), np.log(2 / ((1 - x * x) * slope * slope)).astype(float)
