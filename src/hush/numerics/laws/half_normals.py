"""Analytic pieces: one half of the loss of two normals, mixed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hush.arrays import Array
from hush.numerics.laws.envelope import FLATTEST, MOST_CELLS, MOST_SCORE, Cells, cell_slack, cell_width
from hush.numerics.laws.exponentials import (
    ELLIPSE,
    HEIGHT,
    LEAST_ROOM,
    LONGEST,
    NODES,
    REACH,
    RHO,
    ROOM,
    gauss,
    log_two,
    logistic,
)
from hush.numerics.laws.law import NEGLIGIBLE, SPARE, Nodes
from hush.numerics.rounding import UNIT
from hush.numerics.work import room, spend

BEYOND = 13.0
"""How far past the last possible mode the half-line is laid out. From there on the log-density has a slope below -13,
so that what is beyond has less mass than the density at that place, which is charged."""
WIDEST = 0.5
"""Largest half-length of a panel in standard deviations."""
BELOW_CEILING = 20.0
"""Panels are dropped by the bound on their density, not by its values: this much later than nodes. It is charged."""
MOST_EXCESS = 300.0
"""A density at the end that is e^300 times the heaviest node is no less of an error: nothing is certified then."""
COARSE, MOST_COARSE = 4000, 1_000_000
"""Points at which the density is looked at to see where cells matter: 4000, or two per deviation."""
DEEP = 25.0
"""Cells matter where the density is above e^-25 of its largest value; the mass outside is bounded and charged (C3b)."""
OUTSIDE_ROUNDING = 1e-12
"""Room for the rounding of the sum of up to a million terms of that mass, which numpy adds in pairs; the rounding of
their logs, in proportion to their size, comes on top."""


@dataclass(frozen=True)
class HalfNormals:
    """Where N(d, 1) against N(0, 1) has a loss l = d (x - d/2) > 0: the mixed loss A = log(1 - q + q e^l), or -A.

    The upper half has P-density phi(x) e^A and loss A, the lower one has P-density phi(x) and loss -A; x > d/2.
    Places are counted from there, u = x - d/2, so that small losses keep their digits.
    """

    distance: float
    rate: float
    upper: bool

    def _powers(self, tilt: float) -> tuple[float, float]:
        """The tilted density is phi(x) e^{power A}; and how fast the loss grows with A."""
        return (1 + tilt, 1.0) if self.upper else (-tilt, -1.0)

    def _mixed(self, u: Array) -> Array:
        return log_two(self.rate, self.distance * u)

    def _log_density(self, u: Array, power: float) -> Array:
        x = u + self.distance / 2
        return -0.5 * x * x - 0.5 * math.log(2 * math.pi) + power * self._mixed(u)

    def _steepness(self, u: Array, power: float) -> Array:
        """Slope of the log-density."""
        return power * self.distance * logistic(self.rate, self.distance * u) - u - self.distance / 2

    def _end(self, power: float) -> float:
        """From here on the log-density falls at least as fast as BEYOND u."""
        return max(max(power, 0.0) * self.distance - self.distance / 2, 0.0) + BEYOND

    def _half(self, tilt: float, reach: float, accuracy: float) -> float:
        """Half-length of a panel: what 32 points on it can integrate to the accuracy, about."""
        power = abs(self._powers(tilt)[0])
        room = max(ROOM - accuracy, LEAST_ROOM)
        # 12, 2.2 and 1.9: about the growth of the integrand per half-length; what comes of it is computed and charged
        return min(
            WIDEST, LONGEST / self.distance, room / (12.0 + 2.2 * power * self.distance + 1.9 * reach * self.distance)
        )

    def _panels(self, power: float, half: float) -> tuple[Array, Array]:
        """Middles of panels that cover the half-line, and an upper bound on the log-density on each and its overhang.

        The slope is -x + power d share(x) with a share that rises, so its extremes are at the two ends.
        """
        room(self._end(power) / (2 * half), 20)
        count = math.ceil(self._end(power) / (2 * half))
        middle = (2 * np.arange(count) + 1) * half
        low, high = middle - REACH * half, middle + REACH * half
        # -u - d/2 and power d share, each at the end where it is larger or smaller
        share = [power * self.distance * logistic(self.rate, self.distance * end) for end in (low, high)]
        steepest = np.maximum(
            np.maximum(*share) - low - self.distance / 2, high + self.distance / 2 - np.minimum(*share)
        )
        return middle, self._log_density(middle, power) + REACH * half * np.maximum(steepest, 0.0)

    def nodes(self, tilt: float, reach: float, accuracy: float) -> Nodes:
        """Composite Gauss-Legendre; error by the Bernstein ellipse (Trefethen 2013, Thm 19.3), as in C5.

        On the ellipse of a panel of half-length r, of height v <= 1.875 r: |e^{-z^2/2}| grows by
        e^{v^2/2}, |arg(1 - q + q e^l)| <= d v, and |1 - q + q e^l| is at least its real-axis value times cos(d v/2).
        """
        power, sign = self._powers(tilt)
        r = self._half(tilt, reach, accuracy)
        middle, ceiling = self._panels(power, r)
        peak = float(ceiling.max())
        keep = ceiling > peak - max(NEGLIGIBLE, accuracy + SPARE) - BELOW_CEILING
        points, log_gauss = gauss()
        u = (middle[keep][:, None] + r * points).ravel()
        mixed = self._mixed(u)
        log_weight = self._log_density(u, power) + np.tile(log_gauss + math.log(r), int(keep.sum()))
        height = HEIGHT * r
        growth = height * height / 2 + height * self.distance * (reach + 1)
        growth -= max(-power, 0.0) * math.log(math.cos(self.distance * height / 2))
        log_error = ELLIPSE + growth - 2 * NODES * math.log(RHO)
        top = float(log_weight.max())
        quadrature = float(np.exp(ceiling[keep] - top).sum()) * r * math.exp(log_error)
        left_out = float(np.exp(ceiling[~keep] - top).sum()) * 2 * r
        left_out += math.exp(min(float(self._log_density(np.array([self._end(power)]), power)[0]) - top, MOST_EXCESS))
        error = (quadrature + left_out) / float(np.exp(log_weight - top).sum())
        slope = self.distance * logistic(self.rate, self.distance * u)
        loss_error = 3 * mixed + 2 * slope * u
        return Nodes(sign * mixed, log_weight, loss_error, error, loss_error + self._weight_error(u, power))

    def _weight_error(self, u: Array, power: float) -> Array:
        """Rounding error of -x^2/2 in units, and of the place, which moves the log-density by its slope (C8a)."""
        x = u + self.distance / 2
        return x * x + np.abs(self._steepness(u, power)) * x

    def cost(self, tilt: float, reach: float, accuracy: float) -> float:
        end, half = self._end(self._powers(tilt)[0]), self._half(tilt, reach, accuracy)
        return (16.0 * min(end, 30.0) + end) / half

    def cells(self, tilt: float, fineness: int) -> Cells:
        """Equal cells in x where the tilted density counts."""
        power, sign = self._powers(tilt)
        bend = 1 + abs(power) * self.distance**2 / 4
        end = self._end(power)
        coarse = np.linspace(0.0, end, min(max(COARSE, math.ceil(2 * end)), MOST_COARSE) + 1)
        spend(5 * len(coarse))
        density = self._log_density(coarse, power)
        inside = np.flatnonzero(density > density.max() - DEEP)
        if not len(inside):
            raise FloatingPointError("the tilted density is so large that floats do not tell where it falls")
        first, last = max(inside[0] - 1, 0), min(inside[-1] + 1, len(coarse) - 1)
        low, high = float(coarse[first]), float(coarse[last])
        step = max(cell_width(bend) / fineness, (high - low) / MOST_CELLS)
        count = math.ceil((high - low) / step)
        step = float((high - low) / count)
        u = low + (np.arange(count) + 0.5) * step
        mixed = self._mixed(u)
        share = logistic(self.rate, self.distance * u)
        slope, steepness = self.distance * share, self._steepness(u, power)
        sides = [np.abs(self._mixed(u + side) - mixed) for side in (step / 2, -step / 2)]
        slack = cell_slack(np.abs(steepness) * step / 2, bend * step * step / 8)
        slack += UNIT * (self._weight_error(u, power) + abs(power) * (3 * mixed + 2 * slope * u))
        score = np.abs(steepness - self.distance * (1 - share)) / np.maximum(slope, FLATTEST)
        half_width = np.maximum(*sides)
        for edge in (0, -1):  # the density jumps where cells were left out
            score[edge] += 0.5 / max(float(half_width[edge]), FLATTEST)
        at_end = float(self._log_density(np.zeros(1), power)[0]) - math.log(self.distance * self.rate)
        return Cells(
            sign * mixed,
            self._log_density(u, power) + math.log(step),
            half_width,
            slack,
            np.minimum(score, MOST_SCORE),
            at_end,
            self._log_outside(coarse, density, power, slice(first, last)),
        )

    def _log_outside(self, edges: Array, log_density: Array, power: float, kept: slice) -> float:
        """log of a bound on the mass outside of the kept cells: where the slope has a sign, a cell's ends bound it."""
        step = float(edges[1] - edges[0])
        pull = power * self.distance * logistic(self.rate, self.distance * edges)
        most = np.maximum(pull[:-1], pull[1:]) - edges[:-1] - self.distance / 2
        least = np.minimum(pull[:-1], pull[1:]) - edges[1:] - self.distance / 2
        turn = np.where((most > 0) & (least < 0), np.maximum(most, -least) * step / 2, 0.0)
        ceiling = np.maximum(log_density[:-1], log_density[1:]) + turn
        ceiling[kept] = -math.inf
        ceiling = np.append(ceiling + math.log(step), log_density[-1])
        top = float(ceiling.max())
        mixed = float(self._mixed(edges[-1:])[0])  # it and x grow, so the last place has the largest terms
        size = 0.5 * (float(edges[-1]) + self.distance / 2) ** 2 + abs(power) * mixed + 1
        return top + math.log(float(np.exp(ceiling - top).sum())) + OUTSIDE_ROUNDING + 16 * UNIT * size

    @property
    def any_order(self) -> bool:
        return False

    @property
    def rising(self) -> None:
        return None

    def without_tail(self, log_mass: float) -> tuple[HalfNormals, float]:  # noqa: ARG002
        """Nothing is left out: the tail is that of the normal, and its moments are sums over few panels."""
        return self, 0.0

    def sweep(self, tilts: Array, accuracy: float) -> tuple[Array, Array]:  # noqa: ARG002
        """Losses and log-weights that serve all the tilts at once, to a few digits: for searches, not for bounds."""
        powers = np.array([self._powers(float(tilt))[0] for tilt in (0.0, *tilts.tolist())])
        modes = np.unique(np.round(np.maximum((powers - 0.5) * self.distance, 0.0)))
        starts = np.unique(np.concatenate([np.arange(0.0, 8.0), *(np.arange(m - 7, m + 8) for m in modes if m > 0)]))
        u = (starts[starts >= 0][:, None] + (np.arange(8) + 0.5) / 8).ravel()
        log_weight = self._log_density(u, 1.0 if self.upper else 0.0) - math.log(8)
        return self._powers(0.0)[1] * self._mixed(u), log_weight
