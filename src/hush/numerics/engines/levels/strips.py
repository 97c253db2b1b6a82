"""Moments off the real line: how far x may be moved into the plane, and what that says of moments at complex orders.

All that is said here of a windowed density w(x) phi(x) A(x)^{1+c} B(x)^{-c} rests on four facts (L3 to L5 of
docs/theory/error-budget.md): |w(x + iv)| <= e^{v^2/(2 width^2)} w(x) for an edge and for the difference of two,
|phi(x + iv)| = e^{v^2/2} phi(x), |A(x + iv)| <= A(x), and |A(x + iv)| is at least each component of A at x while
v times the spread of its shifts is below pi/2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np

from hush.arrays import Array
from hush.numerics.engines.levels.smooth_edges import NOTHING, EdgePair, SmoothEdges
from hush.numerics.laws.normal_mixture import Mixture, log_mixture, posterior, width
from hush.numerics.work import room, spend

INSIDE_STRIP = 0.49
"""Share of pi/spread up to which x may be moved off the real line: below pi/2, as the fourth fact needs (L5)."""
WIDEST_STRIP = 8.0
"""The strip is never wider than this: a normal density alone grows by e^32 there."""
SHARES = np.array([0.01, 0.03, 0.06, 0.1, 0.16, 0.24, 0.34, 0.46, 0.6, 0.8, 1.0])
"""Shares of the widest strip that are tried; each gives a valid bound."""
FALL = 1.0
"""Before the first point the tilted density must rise at least at this rate, or the order is not used (L6)."""
LIGHT = 60.0
"""Cells e^-60 lighter than the heaviest count in full where the decay of a moment is bounded."""
INFINITE = 1e9
"""Stands for the logarithm of a moment that is not known to be finite."""
LEAST = 1e-300
"""Stands for a sum that underflowed or a rate of 0: it is above it, or divides to more."""
TWICE = math.log(4)
"""2 N/(e^{2 pi v/h} - 1) is below 4 N e^{-2 pi v/h} wherever e^{2 pi v/h} > 2 (L5)."""


class Strips:
    """A part's base lattice with strips of several widths v about it: one row per strip, one column per cell.

    The first column is all that lies before the lattice, the last one is empty.
    """

    def __init__(self, part: SmoothEdges) -> None:
        self.part = part
        self.above, self.below, self.x, self.step = part.above, part.below, part.x, part.step

    @cached_property
    def widths(self) -> Array:
        """Distances from the real line to which x may be moved."""
        spread = max(width(self.above), width(self.below))
        return SHARES * (min(INSIDE_STRIP * math.pi / spread, WIDEST_STRIP) if spread else WIDEST_STRIP)

    @cached_property
    def smoothness(self) -> Array:
        """log of the factors by which a normal density and an edge may grow in each strip (L4)."""
        return self.widths**2 / 2 * (1 + self.part.edge_width**-2)

    def shrinking(self, mixture: Mixture) -> Array:
        """-log of the least |A(x + iv)|/A(x) over each cell, for each strip and a mixture A.

        1 - |E e^{iav}|^2 is the mean of 1 - cos((a - a')v) over two shifts given x; in a step it changes at most by
        e^{2 step spread}, and |E e^{iav}| >= cos(v spread/2).
        """
        if mixture not in self._shrinking:
            shifts = np.array([a for a, _ in mixture])
            logs = np.array([a * (self.x - a / 2) + math.log(w) for a, w in mixture])
            share = np.exp(logs - logs.max(axis=0))
            share /= share.sum(axis=0)
            room(len(self.widths) * len(self.x), 4 * len(mixture) ** 2)
            lost = np.zeros((len(self.widths), len(self.x)))
            for j, a in enumerate(shifts):
                for k in range(j):
                    turned = 2 * np.sin((a - shifts[k]) * self.widths / 2) ** 2
                    lost += 2 * turned[:, None] * (share[j] * share[k])
            most = np.sin(width(mixture) * self.widths / 2)[:, None] ** 2
            cells = np.maximum(lost[:, 1:], lost[:, :-1]) * math.exp(width(mixture) * self.step)
            cells = np.concatenate([0 * most, np.minimum(cells, most), most], axis=1)  # `before` has its own bound
            self._shrinking[mixture] = -0.5 * np.log1p(-cells)
        return self._shrinking[mixture]

    @cached_property
    def _shrinking(self) -> dict[Mixture, Array]:
        return {}

    def growth(self, order: float) -> Array:
        """log of the factor by which the tilted density may grow in each strip and cell when x is moved to x + iv.

        Of A^{1+c} B^{-c} what has a positive exponent does not grow, as |A(x + iv)| <= A(x).
        """
        base = self.smoothness[:, None]
        if order > 0 and width(self.below):
            return base + order * self.shrinking(self.below)
        if order < -1 and width(self.above):
            return base + (-1 - order) * self.shrinking(self.above)
        return base

    def before(self, orders: Array) -> Array:
        """log of a bound on the moments before the first point, on the line and, but for `smoothness`, in all strips.

        What has a negative exponent is at least its heaviest component there. Infinite where it may grow to the left.
        """
        x = float(self.x[0])
        logs, rates = -0.5 * x * x - 0.5 * math.log(2 * math.pi), -x
        for (whole, least, heaviest, shift), power in zip(self._first, (1 + orders, -orders), strict=True):
            logs = logs + np.where(power > 0, power * whole, power * heaviest)
            rates = rates + np.where(power > 0, power * least, power * shift)
        return np.where(rates > FALL, logs, INFINITE)

    @cached_property
    def _first(self) -> list[tuple[float, float, float, float]]:
        """Of P and of Q at the first point: the logarithm, the least shift, the heaviest component's log and shift."""
        x, found = float(self.x[0]), []
        for mixture in (self.above, self.below):
            heaviest, shift = max((a * (x - a / 2) + math.log(w), a) for a, w in mixture)
            whole = float(log_mixture(mixture, np.array([x]))[0])
            found.append((whole, min(a for a, _ in mixture), heaviest, shift))
        return found

    def _bumps(self, orders: Array) -> Array:
        """How far the log-density may lie above its chord in each cell: step^2/8 times its largest concavity there."""
        concave = np.full((len(orders), len(self.x) - 1), 1 + self.part.edge_width**-2)
        for variance, power in zip(self._variances, (orders, -1 - orders), strict=True):
            if power.max() > 0 and variance.any():
                concave += np.maximum(power, 0.0)[:, None] * variance
        return concave * self.step**2 / 8

    def bump(self, orders: Array) -> Array:
        """The largest of them, for each order: at most one of the two mixtures has a positive exponent."""
        below, above = (float(variance.max()) for variance in self._variances)
        concave = np.maximum(orders, 0.0) * below + np.maximum(-1 - orders, 0.0) * above
        return (1 + self.part.edge_width**-2 + concave) * self.step**2 / 8

    @cached_property
    def _variances(self) -> tuple[Array, Array]:
        """Bounds on the variance of the shift of Q and of P over each cell: it changes at most by e^{2 step spread}."""
        below, above = (posterior(mixture, self.x)[1] for mixture in (self.below, self.above))
        return (
            np.maximum(below[1:], below[:-1]) * math.exp(width(self.below) * self.step),
            np.maximum(above[1:], above[:-1]) * math.exp(width(self.above) * self.step),
        )

    def cell_bounds(self, order: float, edges: EdgePair) -> Array:
        """log of an upper bound on the moment of order c over each cell of the base lattice, and before the first."""
        window = self.part.base_window(edges)
        points = self.part.log_weights + window + order * self.part.losses
        orders = np.array([order])
        before = self.before(orders) + (float(window[0]) if edges[0] else 0.0)
        return self.cells(orders, edges, points[None, :], before)[0]

    def cells(self, orders: Array, edges: EdgePair, points: Array, before: Array) -> Array:
        """The cells of points, after what is before them.

        The cell in which the outer edge falls to 0 ends there.
        """
        cells = np.maximum(points[:, 1:], points[:, :-1])
        last = int(np.nonzero(points[0] > NOTHING / 2)[0][-1])
        if last < cells.shape[1]:
            loss, log_mass = self.part.at_cut(edges[1])
            cells[:, last] = np.maximum(cells[:, last], log_mass + orders * loss)
        cells = cells + self._bumps(orders)
        return np.concatenate([before[:, None], cells, np.full((len(orders), 1), NOTHING)], axis=1)

    @cached_property
    def angles(self) -> tuple[Array, Array]:
        """Least and largest angle of e^{L(x+iv)} over each cell, for each strip: arg A - arg B, both rise with x."""
        turned = []
        for mixture in (self.above, self.below):
            shifts = np.array([a for a, _ in mixture])
            logs = np.array([a * (self.x - a / 2) + math.log(w) for a, w in mixture])
            share = np.exp(logs - logs.max(axis=0))
            room(len(self.widths) * len(self.x), 4 * len(mixture))
            first, last = self.widths[:, None] * shifts.min(), self.widths[:, None] * shifts.max()
            angle = first + np.angle(np.exp(1j * (self.widths[:, None] * shifts - first)) @ share)
            turned.append(np.concatenate([first, angle, last], axis=1))
        a, b = turned
        return a[:, :-1] - b[:, 1:], a[:, 1:] - b[:, :-1]

    def decay(self, order: float, cells: Array) -> Callable[[float], float]:
        """A function that gives, for each reach, log of a bound on |moment(c + iy)| for all y >= reach.

        x is moved up by v, where e^{isL} has lost e^{-y angle}; nothing is lost where the edge falls to 0, and of
        cells that are light at y = 0.
        """
        spend(4 * len(self.widths) * len(cells))
        grown = np.broadcast_to(cells + self.growth(order), self.angles[0].shape)
        last = int(np.nonzero(cells > NOTHING / 2)[0][-1])
        index = np.nonzero(cells > cells.max() - LIGHT)[0]
        heavy = slice(int(index[0]), int(index[-1]) + 1)
        others = np.delete(grown, np.arange(heavy.start, heavy.stop), axis=1)
        light = others.max(axis=1, initial=NOTHING) + math.log(len(cells))
        flat = np.logaddexp(light, grown[:, last] - math.log(self.step) + np.log(self.widths))
        top = grown[:, heavy].max(axis=1)
        weight, angle = np.exp(grown[:, heavy] - top[:, None]), np.maximum(self.angles[0][:, heavy], 0.0)

        def bound(reach: float) -> float:
            spend(2 * weight.size)
            sums = (weight * np.exp(-reach * angle)).sum(axis=1)
            return float(np.logaddexp(top + np.log(np.maximum(sums, LEAST)), flat).min())

        return bound

    def spacing(
        self, order: float, cells: Array, kept: slice, log_moment: float, reach: float, accuracy: float
    ) -> tuple[float, float]:
        """A step of the trapezoid rule over the kept cells whose error is e^-accuracy of the moment, all |y| <= reach.

        And the width of the strip that it uses, for what is added at the ends (L5): there the integrand may grow no
        faster than the kernel of the rule falls.
        """
        spend(4 * len(self.widths) * len(cells))
        strips = self.widths
        growth = np.broadcast_to(self.growth(order), self.angles[1].shape)[:, kept]
        ends = [kept.start, kept.stop - 1]
        fastest = self._end_growth(order, ends) + reach * strips * self.turning[:, ends].max(axis=1)
        steps = 2 * math.pi * strips / np.maximum(fastest, LEAST)
        some = cells[kept] + growth
        for exponent in (some, some + reach * np.maximum(self.angles[1][:, kept], 0.0)):
            top = exponent.max(axis=1)
            grown = top + np.log(np.exp(exponent - top[:, None]).sum(axis=1)) - log_moment
            steps = np.minimum(steps, 2 * math.pi * strips / (accuracy + TWICE + np.maximum(grown, 0.0)))
        best = int(np.argmax(steps))
        return float(steps[best]), float(strips[best])

    def _end_growth(self, order: float, cells: list[int]) -> Array:
        """A convex function of v above the growth in these cells, at each strip: by the variance of the shift there.

        1 - |E e^{iav}|^2 <= v^2 Var(a), and -log(1 - D)/2 lies below its chord up to the largest D of the strip.
        """
        mixture, power = (self.below, order) if order > 0 else (self.above, -1 - order)
        if power <= 0 or not width(mixture):
            return self.smoothness
        most = np.sin(width(mixture) * self.widths / 2) ** 2
        near = [min(max(cell + side, 0), len(self.x) - 1) for cell in cells for side in (-1, 0)]
        variance = float(posterior(mixture, self.x[near])[1].max()) * math.exp(2 * width(mixture) * self.step)
        return self.smoothness + power * -0.5 * np.log1p(-most) / most * variance * self.widths**2

    @cached_property
    def turning(self) -> Array:
        """For each strip and cell a bound on angle/v at all smaller v (L5).

        d arg A/dv is at most the mean shift over its least, E[a - least | x], over cos(v spread/2); likewise for B.
        """
        least, top = min(a for a, _ in self.above), max(b for b, _ in self.below)
        rise = np.concatenate([posterior(self.above, self.x)[0] - least, [width(self.above)]])  # rises with x
        fall = np.concatenate([[width(self.below)], top - posterior(self.below, self.x)[0]])  # falls
        half = self.widths[:, None] / 2
        return least - top + rise / np.cos(half * width(self.above)) + fall / np.cos(half * width(self.below))
