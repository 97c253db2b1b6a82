"""Moments of a part below an edge and between two edges: at real orders, tilted on a line, and in cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np
from scipy import special

from hush.arrays import Array
from hush.numerics.engines.levels.smooth_edges import CUT_MASS, NOTHING, EdgePair, SmoothEdges
from hush.numerics.engines.levels.strips import SHARES, TWICE, Strips
from hush.numerics.laws.envelope import FLATTEST, LEAST_SLOPE, MOST_SCORE, MOST_SLOPE, WIDEST_CELL, Envelope
from hush.numerics.laws.law import CELL_ROUNDING, Tilted
from hush.numerics.laws.normal_mixture import posterior, width
from hush.numerics.laws.normals import DEEP, LOST_FACTOR
from hush.numerics.rounding import LARGEST_EXPONENT, UNIT
from hush.numerics.work import room, spend

LOCAL_STRIPS = (3, 6)
"""Strips in which moments at many orders are bounded cell by cell, where one factor for all cells is too large."""
POOR = -30.0
"""A relative error above e^-30 is worth that closer look."""
NEAR_ONE = 0.3
"""Log-moments of this size are summed from e^{cL} - 1, which keeps the digits that a high power needs (L7)."""
SMALL_EXPONENT = 0.5
"""Exponents below this are taken as e^x - 1; above it the difference loses no digits."""
MOST_ERROR = 50.0
"""A relative error of e^50 is no less of an error than a larger one: nothing is known then."""
CELL_PER_EDGE, FLAT_EDGE = 0.3, 9.0
"""Cells of an envelope are at most 0.3 widths of an edge wide; 9 widths before an edge it bends by less than 1."""


class EdgeMoments:
    """A part with its strips: what is asked of it at orders c and c + iy."""

    def __init__(self, part: SmoothEdges) -> None:
        self.part, self.strips, self.times = part, Strips(part), part.times

    def exponents(self, orders: Array) -> Array:
        """c L for each order and point."""
        room(len(orders) * len(self.part.x), 2)
        return orders[:, None] * self.part.losses

    def log_moment(self, order: float, edges: EdgePair) -> tuple[float, float]:
        """log of one moment and a bound on its relative error, as good as all strips allow."""
        orders = np.array([order])
        value, error = self.log_moments(orders, edges, self.exponents(orders), range(len(SHARES)))
        return float(value[0]), float(error[0])

    def log_moments(
        self, orders: Array, edges: EdgePair, exponents: Array, strips: Iterable[int] = LOCAL_STRIPS
    ) -> tuple[Array, Array]:
        """log of the moments at real orders, and bounds on their relative errors (L5 to L7)."""
        part = self.part
        window = part.log_window(edges, part.x)
        log_weight = part.log_weights + window
        kept = log_weight > NOTHING / 2
        room(len(orders) * len(part.x), 10)
        terms = exponents[:, kept] + log_weight[kept]
        top = terms.max(axis=1)
        weight = np.exp(terms - top[:, None])
        total = weight.sum(axis=1)
        value, rounding = top + np.log(total), self._rounding(orders, weight, kept) / total
        near = np.abs(value) < NEAR_ONE
        if edges[0] is None and near.any():
            tilted = weight[near] * np.exp(top[near])[:, None]
            gain, beyond = self._departure(exponents[near][:, kept], tilted, log_weight[kept], edges[1])
            value[near] = np.log1p(gain.sum(axis=1) - beyond)
            off = part.log_masses((None, edges[1]), part.above).doubt_beyond
            rounding[near] = self._rounding(orders[near], np.abs(gain), kept) + off * beyond
        # a window between two edges only falls to the left of the lattice, one below an edge is at most 1 there
        first = 0.0 if edges[0] is None else float(window[0])
        log_error = self._log_quadrature(orders, edges, lambda some: exponents[some] + log_weight, value, strips, first)
        error = np.exp(np.minimum(log_error, MOST_ERROR)) + self._past_ends(orders, edges, log_weight, value, first)
        # twice: near 1 the same rule also stands for the mass of the measure, and it leaves out points before the first
        return value, 2 * (error + rounding) + CUT_MASS

    def _rounding(self, orders: Array, terms: Array, kept: Array) -> Array:
        """Rounding error of a sum of such terms: exponents are off by units of x^2 and of c L (L7)."""
        x, loss = self.part.x[kept], self.part.losses[kept]
        off = self.part.loss_errors[kept] + 4 * UNIT * np.abs(loss)
        return UNIT * (terms @ (16 + x * x)) + np.abs(orders) * (terms @ off)

    def _departure(self, exponents: Array, tilted: Array, log_weight: Array, edge: float) -> tuple[Array, float]:
        """The terms of E[W e^{cL}] - 1, as W (e^{cL} - 1), and the mass past the edge that is to be taken off."""
        weight = np.exp(log_weight)
        small = weight * np.expm1(np.minimum(exponents, 1.0))
        gain = np.where(exponents < SMALL_EXPONENT, small, tilted - weight)
        return gain, math.exp(self.part.log_masses((None, edge), self.part.above).beyond)

    def _log_quadrature(
        self,
        orders: Array,
        edges: EdgePair,
        points: Callable[[Array], Array],
        value: Array,
        local: Iterable[int],
        first: float,
    ) -> Array:
        """log of the relative error of the trapezoid rule at real orders (L5): the least over some strips."""
        part, strips, widths = self.part, self.strips, self.strips.widths
        spread = np.where(orders > 0, width(part.below), width(part.above))
        power = np.maximum(np.maximum(orders, -1 - orders), 0.0)
        # one factor for all cells: a mixture is at least cos(v spread/2) times its value on the line
        growth = strips.smoothness - power[:, None] * np.log(np.cos(spread[:, None] * widths / 2))
        least = (TWICE + growth - 2 * math.pi * widths / part.step).min(axis=1)
        for mixture, some in ((part.below, orders > 0), (part.above, orders < -1)):
            poor = some & (least > POOR)
            if width(mixture) and poor.any():
                cells = strips.cells(orders[poor], edges, points(poor), first)
                for k in local:
                    spend(12 * cells.size)
                    exponent = cells + power[poor, None] * strips.shrinking(mixture)[k]
                    top = exponent.max(axis=1)
                    grown = top + np.log(np.exp(exponent - top[:, None]).sum(axis=1)) - value[poor]
                    error = TWICE + grown + strips.smoothness[k] - 2 * math.pi * widths[k] / part.step
                    least[poor] = np.minimum(least[poor], error)
        return least

    def _past_ends(self, orders: Array, edges: EdgePair, log_weight: Array, value: Array, first: float) -> Array:
        """Bound on what the ends of the lattice add, relative to the whole (L6)."""
        part, strips = self.part, self.strips
        before = np.minimum(strips.before(orders) + first - value, MOST_ERROR)
        place = int(np.nonzero(log_weight > NOTHING / 2)[0][-1])
        loss, log_mass = part.at_cut(edges[1])
        last = np.maximum(log_weight[place] + orders * part.losses[place], log_mass + orders * loss)
        jump = last + self.strips.bump(orders) - math.log(part.step) - value
        length = part.step + 2 * float(strips.widths[-1])
        return np.exp(before) + length * np.exp(np.minimum(jump, MOST_ERROR))

    def tilted(self, order: float, edges: EdgePair, x: Array, log_moment: float = 0.0, error: float = 0.0) -> Tilted:
        """The windowed measure tilted by e^{cL}, on equally spaced points x."""
        loss, weight, rounding, wrong = self._weighed(order, edges, x)
        mean = float(weight @ loss)
        deviation = math.sqrt(float(weight @ (loss - mean) ** 2))
        loss_error = float(weight @ rounding)
        # weights that are off move the mean and the rest of the law, by Cauchy and Schwarz at most so much
        moved = math.sqrt(float(weight @ wrong**2)) * deviation
        return Tilted(
            loss,
            weight,
            log_moment,
            abs(order) * loss_error,
            mean,
            deviation,
            error,
            loss_error + moved + 8 * UNIT * deviation + 2 * UNIT * abs(mean),
            math.sqrt(float(weight @ rounding**2)) + moved,
        )

    def turned(self, order: float, edges: EdgePair, x: Array, mean: float, y: Array) -> tuple[Array, Array]:
        """E e^{iy(L - mean)} of the tilted measure on the uniform grid y, and a bound on its rounding error."""
        loss, weight, rounding, wrong = self._weighed(order, edges, x)
        centred = loss - mean
        step = float(y[1] - y[0])
        inner = math.isqrt(len(y))
        outer = -(-len(y) // inner)
        room((inner + outer) * len(centred), 8)
        spend(len(y) * len(centred) / 8)
        fine = np.exp(1j * (np.arange(inner)[:, None] * (step * centred)))
        coarse = np.exp(1j * ((inner * step * np.arange(outer))[:, None] * centred))
        total = ((coarse * weight) @ fine.T).ravel()[: len(y)]
        jitter = float(weight @ (rounding + 4 * UNIT * np.abs(centred))) + 4 * UNIT * abs(mean)
        return total, 2 * float(weight @ wrong) + y * jitter

    def _weighed(self, order: float, edges: EdgePair, x: Array) -> tuple[Array, Array, Array, Array]:
        """Losses at the points, their weights, which sum to 1, and bounds on the errors of both (L7)."""
        part = self.part
        loss = part.loss(x)
        log_weight = part.log_density(x) + part.log_window(edges, x) + order * loss
        weight = np.exp(log_weight - log_weight.max())
        rounding = part.loss_error(x, loss)
        wrong = UNIT * (16 + x * x + 4 * abs(order) * np.abs(loss)) + abs(order) * rounding
        return loss, weight / weight.sum(), rounding, wrong

    def envelope(self, order: float, edge: float) -> Envelope:
        """The measure below an edge in small cells, tilted: for bounds on its moments at all large y (C3)."""
        part = self.part
        spacing = min(WIDEST_CELL, CELL_PER_EDGE * part.edge_width)
        low, high = float(part.x[0]), float(part.x[-1])
        room((high - low) / spacing, 20 * len(part.above + part.below))
        x = low + spacing * np.arange(math.ceil((high - low) / spacing) + 1)
        loss = part.loss(x)
        log_weight = part.log_density(x) + part.log_window((None, edge), x) + order * loss + math.log(spacing)
        kept = log_weight > log_weight.max() - DEEP
        lost = math.log(LOST_FACTOR * len(x)) + float(log_weight[~kept].max(initial=NOTHING))
        ends = np.diff(kept, prepend=False) | np.diff(kept, append=False)
        x, loss, log_weight, ends = x[kept], loss[kept], log_weight[kept], ends[kept]
        slack, score = self._slack_and_score(order, edge, x, spacing)
        half = np.maximum(np.abs(part.loss(x + spacing / 2) - loss), np.abs(loss - part.loss(x - spacing / 2)))
        # the density jumps where cells were left out: by one over the width, in units of the mass of the cell beside
        score += np.where(ends, 0.5 / np.maximum(half, FLATTEST), 0.0)
        top = float(log_weight.max())
        weight = np.exp(log_weight - top)
        total = float(weight.sum())
        return Envelope(
            loss, weight / total, half, score, slack, math.exp(min(lost - top, 0.0)) / total + CELL_ROUNDING, 0.0
        )

    def _slack_and_score(self, order: float, edge: float, x: Array, spacing: float) -> tuple[Array, Array]:
        """How far the mass of each cell is off, and how steep its density is as a function of the loss."""
        part = self.part
        (mean, variance), (other, other_variance) = posterior(part.above, x), posterior(part.below, x)
        slope, curvature = mean - other, variance - other_variance
        z = (edge - x) / part.edge_width
        log_falling = -0.5 * z * z - 0.5 * math.log(2 * math.pi) - special.log_ndtr(z)
        falling = np.exp(np.minimum(log_falling, LARGEST_EXPONENT)) / part.edge_width
        steepness = -x + mean + order * slope - falling
        bend = abs(1 + order) * variance + abs(order) * other_variance
        bend = bend * math.exp(2 * max(width(part.above), width(part.below)) * spacing)
        bend = 1 + np.where(z < FLAT_EDGE, part.edge_width**-2, 1.0) + bend
        tilt = np.clip(np.abs(steepness) * spacing / 2, LEAST_SLOPE, MOST_SLOPE)
        slack = np.sinh(tilt) / tilt * np.exp(np.minimum(bend * spacing**2 / 8, MOST_SLOPE)) - 1
        steep = np.maximum(np.abs(slope), FLATTEST)
        return slack, np.minimum(np.abs(steepness - curvature / steep), MOST_SCORE) / steep
