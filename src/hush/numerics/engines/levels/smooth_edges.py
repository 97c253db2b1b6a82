"""A part of a sum whose losses are cut at smooth edges: its lattice, the weights below and between edges, masses."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special

from hush.arrays import Array
from hush.numerics.laws.normal_mixture import Mixture, log_mixture, posterior
from hush.numerics.rounding import UNIT
from hush.numerics.work import room

EDGE, WIDEST_EDGE = 0.12, 0.5
"""An edge is a normal distribution function in x, of this width per unit of the farthest shift, and at most half a
deviation: so it is smooth over an eighth of a unit of loss, or over an eighth of the loss where that is small."""
FINENESS = 0.6
"""Step of the base lattice in widths of an edge: moments at real orders are then good to e^-50 (L5)."""
CUT = 20.0
"""An edge falls to 0 at 20 widths past it, where it is below e^-203: its mass there is charged (L6)."""
CUT_MASS = math.exp(-CUT * CUT / 2)
"""The mass that an edge leaves out there is below this share of all, for P and for Q: Phi(-z) < e^{-z^2/2}."""
LEAST_PAD = 9.0
"""The lattice starts at least 9 deviations before the first centre; what lies before it is charged (L6)."""
MASS_ROUNDING = 16 * UNIT
"""Rounding of one normal distribution function, per unit of its logarithm and of how far its place is off."""
NOTHING = -1e15
"""Stands for the logarithm of a weight that is 0."""

EdgePair = tuple[float | None, float]
"""An outer edge, and the inner one where only what is between the two is meant."""


def log_difference(larger: Array, smaller: Array) -> Array:
    """log(e^larger - e^smaller), where the first is at least the second; a very low number where they are equal."""
    gap = np.minimum(smaller - larger, 0.0)
    with np.errstate(divide="ignore"):
        return np.maximum(larger + np.log(-np.expm1(gap)), NOTHING)


@dataclass(frozen=True)
class LogMasses:
    """Logarithms of the mass below an edge, or between two, and of what is beyond; with bounds on their errors."""

    inside: float
    beyond: float
    doubt: float
    doubt_beyond: float


@dataclass(frozen=True, eq=False)
class SmoothEdges:
    """P = sum_j w_j N(a_j, 1) against Q = sum_k v_k N(b_k, 1), all a_j >= all b_k, so that the loss rises with x.

    Below the edge t stands the measure Phi((t - x)/width) dP(x).
    """

    above: Mixture
    below: Mixture
    times: int
    """How often the part is taken."""
    last_edge: float
    """The largest x at which an edge may stand."""
    pad: float
    """How far the lattice starts before the first centre."""

    @cached_property
    def farthest(self) -> float:
        """The size of the largest shift."""
        return max(abs(a) for a, _ in self.above + self.below)

    @cached_property
    def edge_width(self) -> float:
        """Deviation of the normal distribution function that an edge is."""
        return min(EDGE / self.farthest, WIDEST_EDGE) if self.farthest else WIDEST_EDGE

    @property
    def bounded(self) -> bool:
        """Whether the loss has an upper bound."""
        return max(a for a, _ in self.above) == max(b for b, _ in self.below)

    @cached_property
    def step(self) -> float:
        """Step of the base lattice."""
        return FINENESS * self.edge_width

    @cached_property
    def x(self) -> Array:
        """The base lattice."""
        low = min(b for b, _ in self.below) - self.pad
        high = self.last_edge + CUT * self.edge_width
        room((high - low) / self.step, 20 * len(self.above + self.below))
        return low + self.step * np.arange(math.ceil((high - low) / self.step) + 1)

    def loss(self, x: Array) -> Array:
        """The loss at each x; it rises."""
        return log_mixture(self.above, x) - log_mixture(self.below, x)

    def log_density(self, x: Array) -> Array:
        """log of the density of P."""
        return log_mixture(self.above, x) - 0.5 * x * x - 0.5 * math.log(2 * math.pi)

    def loss_error(self, x: Array, loss: Array) -> Array:
        """Bound on the rounding error of each loss (C8)."""
        slope = posterior(self.above, x)[0] - posterior(self.below, x)[0]
        logs = np.abs(log_mixture(self.above, x)) + np.abs(log_mixture(self.below, x))  # they may cancel
        return UNIT * (3 * np.abs(loss) + 2 * logs + 2 * np.abs(slope) * (np.abs(x) + self.farthest))

    @cached_property
    def losses(self) -> Array:
        """The loss at each point of the base lattice."""
        return self.loss(self.x)

    @cached_property
    def log_weights(self) -> Array:
        """log of the P-mass that each point of the base lattice stands for."""
        return self.log_density(self.x) + math.log(self.step)

    def place(self, loss: float) -> float:
        """The edge at which losses reach this value, within the lattice."""
        return float(np.interp(loss, self.losses, self.x))

    def log_window(self, edges: EdgePair, x: Array) -> Array:
        """log of the weight below an edge, or between two of them."""
        inner, outer = edges
        right = (outer - x) / self.edge_width
        if inner is None:
            return np.where(right < -CUT, NOTHING, special.log_ndtr(right))
        left = (inner - x) / self.edge_width
        mirrored = left > 0
        first = np.where(mirrored, -left, right)
        second = np.where(mirrored, -right, left)
        return np.where(right < -CUT, NOTHING, log_difference(special.log_ndtr(first), special.log_ndtr(second)))

    def base_window(self, edges: EdgePair) -> Array:
        """The same on the base lattice, made once."""
        if edges not in self._windows:
            self._windows[edges] = self.log_window(edges, self.x)
        return self._windows[edges]

    @cached_property
    def _windows(self) -> dict[EdgePair, Array]:
        return {}

    def log_masses(self, edges: EdgePair, mixture: Mixture) -> LogMasses:
        """The mass of a mixture below an edge or between two, and what is beyond: in closed form.

        A normal variable plus an independent one of the edge's width falls below t: N(a, 1 + width^2). A place z is
        off by u (|t| + |a|), and log Phi(z) by |z| + 1 times that; a difference of two masses by as much as they are.
        """
        deviation = math.sqrt(1 + self.edge_width**2)
        inner, outer = edges
        logs, beyond, doubt, doubt_beyond = [], [], 0.0, 0.0
        for a, w in mixture:
            right = (outer - a) / deviation
            beyond.append(math.log(w) + float(special.log_ndtr(-right)))
            off = MASS_ROUNDING * (1 + abs(beyond[-1]) + (abs(right) + 1) * (abs(outer) + abs(a)))
            doubt_beyond = max(doubt_beyond, off)
            if inner is None:
                logs.append(math.log(w) + float(special.log_ndtr(right)))
                doubt = max(doubt, MASS_ROUNDING * (1 + abs(logs[-1])) + off)
                continue
            left = (inner - a) / deviation
            first, second = (float(special.log_ndtr(z)) for z in ((-left, -right) if left > 0 else (right, left)))
            off += MASS_ROUNDING * (1 + abs(first) + abs(second) + (abs(left) + 1) * (abs(inner) + abs(a)))
            doubt = max(doubt, off / -math.expm1(min(second - first, -UNIT)))
            logs.append(math.log(w) + float(log_difference(np.array([first]), np.array([second]))[0]))
        return LogMasses(float(np.logaddexp.reduce(logs)), float(np.logaddexp.reduce(beyond)), doubt, doubt_beyond)

    @cached_property
    def loss_errors(self) -> Array:
        """Bounds on the rounding errors of the losses of the base lattice."""
        return self.loss_error(self.x, self.losses)

    def at_cut(self, edge: float) -> tuple[float, float]:
        """Where an edge falls to 0: the loss, and log of the P-mass of a step there."""
        if edge not in self._cuts:
            x = np.array([edge + CUT * self.edge_width])
            log_mass = float(self.log_density(x)[0]) + math.log(self.step) + float(special.log_ndtr(-CUT))
            self._cuts[edge] = float(self.loss(x)[0]), log_mass
        return self._cuts[edge]

    @cached_property
    def _cuts(self) -> dict[float, tuple[float, float]]:
        return {}
