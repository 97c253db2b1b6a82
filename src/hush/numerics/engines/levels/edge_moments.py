"""Moments of a part below an edge and between two edges: at real orders, tilted on a line, and in cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cached_property

import numpy as np
from scipy import special

from hush.arrays import Array
from hush.numerics.engines.levels.smooth_edges import CUT_MASS, NOTHING, EdgePair, LogMasses, SmoothEdges
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
HELD = 300.0
"""Where all |c L| are below this, e^{cL} is a float, and so is each weight relative to the largest down to e^-708: what
underflows is below e^-708 e^300, and the sum above e^-300, so that it is less than e^-108 of the sum."""
MOST_ERROR = 50.0
"""A relative error of e^50 is no less of an error than a larger one: nothing is known then."""
CELL_PER_EDGE, FLAT_EDGE = 0.3, 9.0
"""Cells of an envelope are at most 0.3 widths of an edge wide; 9 widths before an edge it bends by less than 1."""


class LossPowers:
    """c L at some orders and all points, and what windows are summed with: made once for all of them."""

    def __init__(self, orders: Array, losses: Array, before: Array) -> None:
        room(len(orders) * len(losses), 5)
        self.orders, self.losses, self.before = orders, losses, before
        self.exponents = orders[:, None] * losses

    def held(self, stop: int) -> Array:
        """At which orders all exponents before this point are so small that no term of a sum is lost."""
        return np.abs(self.orders) * max(abs(float(self.losses[0])), abs(float(self.losses[stop - 1]))) <= HELD

    @cached_property
    def powers(self) -> Array:
        """e^{cL}."""
        return np.exp(np.clip(self.exponents, -HELD, HELD))

    @cached_property
    def departures(self) -> Array:
        """e^{cL} - 1."""
        return np.expm1(np.clip(self.exponents, -HELD, HELD))

    @cached_property
    def sizes(self) -> Array:
        """|e^{cL} - 1|."""
        return np.abs(self.departures)


class EdgeMoments:
    """A part with its strips: what is asked of it at orders c and c + iy."""

    def __init__(self, part: SmoothEdges) -> None:
        self.part, self.strips, self.times = part, Strips(part), part.times

    def loss_powers(self, orders: Array) -> LossPowers:
        """c L for each order and point."""
        return LossPowers(orders, self.part.losses, self.strips.before(orders))

    def log_moment(self, order: float, edges: EdgePair) -> tuple[float, float]:
        """log of one moment and a bound on its relative error, as good as all strips allow."""
        value, error = self.log_moments(edges, self.loss_powers(np.array([order])), range(len(SHARES)))
        return float(value[0]), float(error[0])

    def log_moments(
        self, edges: EdgePair, known: LossPowers, strips: Iterable[int] = LOCAL_STRIPS
    ) -> tuple[Array, Array]:
        """log of the moments at real orders, and bounds on their relative errors (L5 to L7)."""
        part, orders = self.part, known.orders
        window = part.base_window(edges)
        log_weight = part.log_weights + window
        stop = int(np.nonzero(log_weight > NOTHING / 2)[0][-1]) + 1
        held = known.held(stop)
        value, rounding = self._sums(known, held, log_weight[:stop])
        near = held & (np.abs(value) < NEAR_ONE)
        if edges[0] is None and near.any():
            beyond = part.log_masses((None, edges[1]), part.above)
            value[near], rounding[near] = self._departure(known, near, log_weight[:stop], beyond)
        # a window between two edges only falls to the left of the lattice, one below an edge is at most 1 there
        before = known.before + (0.0 if edges[0] is None else float(window[0]))
        points = lambda some: known.exponents[some] + log_weight  # noqa: E731
        log_error = self._log_quadrature(orders, edges, points, value, strips, before)
        error = np.exp(np.minimum(log_error, MOST_ERROR)) + self._past_ends(orders, edges, log_weight, value, before)
        # twice: near 1 the same rule also stands for the mass of the measure, and it leaves out points before the first
        return value, 2 * (error + rounding) + CUT_MASS

    def _sums(self, known: LossPowers, held: Array, log_weight: Array) -> tuple[Array, Array]:
        """log of the sums of weight e^{cL}, and their relative rounding errors (L7).

        Where e^{cL} is held in floats only the weights change from window to window, and the sums are products with a
        matrix that is made once; elsewhere each term is taken relative to the largest.
        """
        stop, top = len(log_weight), float(log_weight.max())
        value, rounding = np.empty(len(held)), np.empty(len(held))
        for some, few in ((held, True), (~held, False)):
            if not some.any():
                continue
            if few:
                tops, powers, weight = top, known.powers[some, :stop], np.exp(log_weight - top)
            else:
                terms = known.exponents[some, :stop] + log_weight
                room(terms.size, 2)
                tops, weight = terms.max(axis=1), np.ones(stop)
                powers = np.exp(terms - tops[:, None])
            sums = powers @ self._charged(weight, log_weight)
            value[some] = tops + np.log(sums[:, 0])
            rounding[some] = (sums[:, 1] + np.abs(known.orders[some]) * sums[:, 2]) / sums[:, 0]
        return value, rounding

    def _charged(self, weight: Array, log_weight: Array) -> Array:
        """Weights of terms, how far each is off, and how far its loss is.

        A logarithm is off by units of what it was made of, and a sum of n terms, in whatever order, by n units of them.
        """
        x, loss, n = self.part.x[: len(weight)], self.part.losses[: len(weight)], len(weight)
        relative = UNIT * (16 + n + x * x + 4 * np.abs(log_weight))
        off = self.part.loss_errors[:n] + 4 * UNIT * np.abs(loss)
        return np.stack([weight, weight * relative, weight * off], axis=1)

    def _departure(self, known: LossPowers, near: Array, log_weight: Array, mass: LogMasses) -> tuple[Array, Array]:
        """The same of moments near 1, from sums of W (e^{cL} - 1), less the mass past the edge: digits are kept."""
        weight, stop, beyond = np.exp(log_weight), len(log_weight), math.exp(mass.beyond)
        charged = self._charged(weight, log_weight)
        gain = known.departures[near, :stop] @ weight
        off = known.sizes[near, :stop] @ charged[:, 1:]
        # the loss is off in e^{cL}, which is at most |e^{cL} - 1| + 1
        moved = np.abs(known.orders[near]) * (off[:, 1] + charged[:, 2].sum())
        return np.log1p(gain - beyond), off[:, 0] + moved + mass.doubt_beyond * beyond

    def _log_quadrature(
        self,
        orders: Array,
        edges: EdgePair,
        points: Callable[[Array], Array],
        value: Array,
        local: Iterable[int],
        before: Array,
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
                cells = strips.cells(orders[poor], edges, points(poor), before[poor])
                for k in local:
                    spend(12 * cells.size)
                    exponent = cells + power[poor, None] * strips.shrinking(mixture)[k]
                    top = exponent.max(axis=1)
                    grown = top + np.log(np.exp(exponent - top[:, None]).sum(axis=1)) - value[poor]
                    error = TWICE + grown + strips.smoothness[k] - 2 * math.pi * widths[k] / part.step
                    least[poor] = np.minimum(least[poor], error)
        return least

    def _past_ends(self, orders: Array, edges: EdgePair, log_weight: Array, value: Array, before: Array) -> Array:
        """Bound on what the ends of the lattice add, relative to the whole (L6)."""
        part = self.part
        before = np.minimum(before - value, MOST_ERROR)
        place = int(np.nonzero(log_weight > NOTHING / 2)[0][-1])
        loss, log_mass = part.at_cut(edges[1])
        last = np.maximum(log_weight[place] + orders * part.losses[place], log_mass + orders * loss)
        jump = last + self.strips.bump(orders) - math.log(part.step) - value
        length = part.step + 2 * float(self.strips.widths[-1])
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
