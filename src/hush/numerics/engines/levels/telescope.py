"""The telescope: delta(eps) of a sum of losses, sorted by the largest of them, one line integral per level.

Where hits are rare, moments of a useful order are ruled by losses far rarer than delta, and one line through the whole
law says nothing. So nested smooth edges cut the losses: what has all losses below the first edge, then what has its
largest loss between one edge and the next. Each of these levels is a positive measure with an order of its own.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from scipy import special

from hush.arrays import Array
from hush.numerics.engines.levels.bystanders import NOBODY, Bystanders
from hush.numerics.engines.levels.edge_moments import EdgeMoments
from hush.numerics.engines.levels.level import Edges, Level, RealOrders, log_kernel
from hush.numerics.engines.levels.level_line import LevelLine
from hush.numerics.engines.levels.line_choice import choose
from hush.numerics.engines.levels.rough_sum import COARSE, RoughSum
from hush.numerics.engines.levels.smooth_edges import CUT_MASS, LEAST_PAD, SmoothEdges
from hush.numerics.laws.normal_mixture import Mixture
from hush.numerics.work import Exhausted, attempt

RATIOS = np.geomspace(0.7, 0.002, 14)
"""Shares of the scale at which the first edge is tried: at the largest at which what lies below needs no integral."""
UNCLOSED = 0.05
"""The share where there is no such edge."""
LEVELS = 0.7 * 10.0 ** np.arange(10)
"""Further edges, in units of the scale: losses up to about it and far above it have orders of their own. Any edges are
valid: they only decide how long the lines are."""
HALVED = 3
"""A level that no line serves well is halved, and each half again, so often at the most."""
APART = 1.6
"""An edge is left out where it is less than so many times the one before it."""
DROPPED = 0.02
"""Share of the allowed error for losses past the last edge. They are charged, so any share is valid (L6)."""
LAST_EDGES = 200
"""Last edges that are tried; the mass past the one that is taken is charged."""
LOST_ON_A_LINE = 60.0
"""A line may be e^60 above delta: what lies before the lattice must be small beside that too."""
SPLIT = math.log(10)
"""Each of about ten levels gets a tenth of the allowed error."""
CERTAIN = 2.0
"""A level needs no integral where Chernoff's bound is e^-2 of its share."""
REFINED, POOR, VERY_POOR = 2, 3.0, 30.0
"""More orders are laid about the best one where a line is off by three times its share, and again where there is none.
A level whose line is then off by thirty times its share is halved: rounding alone is less, which halves do not cure."""
FIRST_PLACE = 15.0
"""An edge stands at least so many of its widths past the start of the lattice."""
MASS_ROOM = 1 + 1e-9
"""Room for the rounding of masses in closed form."""
DIFFERENCE = 1e-5
"""Relative step of the difference that stands for the slope of delta: it guides the search only."""
LEAST_SCALE = 1e-12
"""Smaller scales are not resolved."""
FARTHEST_ORDER, PER_LOG, LEAST_ORDER, PER_DECADE = 100.0, 2.5, 0.05, 4
"""Orders go from 0.05 to (100 - 2.5 log delta)/scale, four per power of ten; more are added where no line found so is
good enough."""
BETWEEN = np.array([-0.95, -0.85, -0.7, -0.5, -0.3, -0.15, -0.05])
"""Orders between the poles."""
HALVINGS, SMALLEST = 20, 1e-12
"""The search for a first epsilon halves a range from 1e-12 on, in logarithms, twenty times: to the fourth digit."""
POINTS_SHARED, DEVIATIONS = 4, 3.0
"""One point of a part per four points of the lattice of a guess, which reaches at least as far as three deviations of
the crowd."""
DEEP_PAD = 16.0
"""Deviations past the last centre that count where delta is small: e^-130 is left out of a guess."""
DEEPEST = -700.0
"""The deepest logarithm of a normal tail in a guess."""
Mixtures = list[tuple[Mixture, Mixture, int]]
"""Components of P and of Q, and how often the part is taken."""


def sorted_parts(mixtures: Mixtures, log_dropped: float) -> list[EdgeMoments]:
    """The parts with last edges past which losses have at most this mass, all parts and times together."""
    allowed = log_dropped - math.log(sum(n for _, _, n in mixtures))
    pad = max(LEAST_PAD, math.sqrt(max(2 * (LOST_ON_A_LINE - allowed), 0.0)) + 1)
    parts = []
    for above, below, n in mixtures:
        deviation = math.sqrt(1 + SmoothEdges(above, below, n, 0.0, pad).edge_width ** 2)
        ends = max(a for a, _ in above) + deviation * np.linspace(0.0, pad, LAST_EDGES)
        beyond = np.logaddexp.reduce([math.log(w) + special.log_ndtr((a - ends) / deviation) for a, w in above], axis=0)
        last = float(ends[int(np.argmax(beyond <= allowed))])
        parts.append(EdgeMoments(SmoothEdges(above, below, n, last, pad)))
    return parts


class Crowd:
    """The parts as they are, on plain lattices: for guesses, not for bounds."""

    def __init__(self, mixtures: Mixtures, bystanders: Bystanders = NOBODY) -> None:
        self.mixtures, self.bystanders = mixtures, bystanders
        parts = [SmoothEdges(a, b, n, max(s for s, _ in a) + LEAST_PAD, LEAST_PAD) for a, b, n in mixtures]
        self.losses = np.concatenate([part.losses for part in parts])
        self.masses = np.concatenate([part.times * np.exp(part.log_weights) for part in parts])

    def one_hit(self, epsilon: float) -> float:
        """About delta if only the largest loss counted: the sum of the parts' profiles."""
        gap = np.maximum(self.losses - epsilon, 0.0)
        return float(self.masses @ -np.expm1(-gap))

    @cached_property
    def deviation(self) -> float:
        """Standard deviation of the sum of the losses that are so small that more than one of them is expected."""
        order = np.argsort(self.losses)
        above = np.cumsum(self.masses[order][::-1])[::-1]
        common = order[above > 1]
        return math.hypot(math.sqrt(float(self.masses[common] @ self.losses[common] ** 2)), self.bystanders.deviation)

    def rough(self, scale: float, *, tilted: bool, size: int = COARSE) -> RoughSum:
        """The sum on one coarse lattice, for epsilons of this scale; tilted for a small delta."""
        parts = [(law.loss, law.weight, n) for law, n in self.bystanders.plain]
        for above, below, n in self.mixtures:
            shifts = [a for a, _ in above + below]
            x = np.linspace(
                min(shifts) - LEAST_PAD, max(shifts) + (DEEP_PAD if tilted else LEAST_PAD), size // POINTS_SHARED
            )
            part = SmoothEdges(above, below, n, max(shifts), LEAST_PAD)
            parts.append((part.loss(x), np.exp(part.log_density(x)) * (x[1] - x[0]), n))
        return RoughSum(parts, max(scale, DEVIATIONS * self.deviation), tilted=tilted, size=size)

    def first_epsilon(self, log_delta: float) -> float:
        """Where a search begins if it knows no better: one hit alone, and a normal sum of the losses below it."""
        low, high = SMALLEST, max(float(self.losses.max()), 1e-6)
        for _ in range(HALVINGS):
            middle = math.sqrt(low * high)
            low, high = (middle, high) if self.one_hit(middle) > math.exp(log_delta) else (low, middle)
        less = self.losses < high
        deviation = math.sqrt(max(float(self.masses[less] @ self.losses[less] ** 2), 1e-300))
        depth = log_delta - math.log(min(deviation, 1.0))
        hit = math.hypot(high, -deviation * float(special.ndtri_exp(max(depth, DEEPEST)))) if depth < -1 else high
        return hit + max(self.bystanders.mean + self.bystanders.deviation, 0.0)


class Telescope:
    """Levels laid out for one epsilon and one delta: gives delta near that epsilon, with a bound on the error."""

    def __init__(self, crowd: Crowd, epsilon: float, log_delta: float, tolerance: float) -> None:
        goal = log_delta + math.log(tolerance)
        self.epsilon, self.tolerance = epsilon, tolerance
        self.scale = max(epsilon, crowd.deviation)
        self.parts = sorted_parts(crowd.mixtures, goal + math.log(DROPPED))
        beyond = [p.part.log_masses((None, p.part.last_edge), p.part.above).beyond for p in self.parts]
        self.dropped = MASS_ROOM * sum(p.times * math.exp(b) for p, b in zip(self.parts, beyond, strict=True))
        self.dropped += MASS_ROOM * sum(p.times for p in self.parts) * CUT_MASS
        self.orders = RealOrders(self.parts, _orders(self.scale, log_delta), crowd.bystanders)
        goal -= SPLIT
        self.levels: list[tuple[Level, LevelLine | int]] = []
        inner, all_edges = None, self._edges(goal - CERTAIN)
        for edges in all_edges:
            rest = self._closed_rest(inner, all_edges[-1], goal) if inner and edges != all_edges[-1] else None
            if rest:
                self.levels.append(rest)
                break
            self._lay(inner, edges, goal)
            inner = edges

    def _closed_rest(self, inner: Edges, last: Edges, goal: float) -> tuple[Level, int] | None:
        """All that is past these edges as one level, where they are past epsilon and it needs no integral."""
        part = self.parts[0].part
        if float(part.loss(np.array([inner[0]]))[0]) <= self.scale:
            return None
        level = Level(self.orders, inner, last)
        strip = level.closed_in(self.epsilon, goal - CERTAIN)
        return None if strip is None else (level, strip)

    def _lay(self, inner: Edges | None, outer: Edges, goal: float, halvings: int = HALVED) -> None:
        """A level between these edges, or two of them where no line serves all of it well."""
        found, good = self._level(inner, outer, goal)
        middle = self._between(inner, outer) if inner and halvings and not good else None
        if middle is not None:
            self._lay(inner, middle, goal, halvings - 1)
            self._lay(middle, outer, goal, halvings - 1)
        elif found is None:
            raise Exhausted
        else:
            self.levels.append(found)

    def _between(self, inner: Edges, outer: Edges) -> Edges | None:
        """Edges at the geometric mean of the losses at two others, if there is room for them."""
        part = self.parts[0].part
        low, high = (max(float(part.loss(np.array([edges[0]]))[0]), LEAST_SCALE) for edges in (inner, outer))
        middle = self._cut(math.sqrt(low * high))
        return middle if self._apart(inner, middle) and self._apart(middle, outer) else None

    def _level(
        self, inner: Edges | None, outer: Edges, goal: float
    ) -> tuple[tuple[Level, LevelLine | int] | None, bool]:
        """A level with the line that gives its part of delta, or the strip in which a bound is enough; if it is good.

        More orders are laid about the best one where no line serves, or the first is poor.
        """
        level, line, off = Level(self.orders, inner, outer), None, math.inf
        for refined in range(REFINED + 1):
            level = level.refined(self.epsilon) if refined else level
            strip = level.closed_in(self.epsilon, goal - CERTAIN)
            if strip is not None:
                return (level, strip), True
            line = attempt(
                lambda tried=level: LevelLine(tried, choose(tried, self.epsilon, goal), self.epsilon, goal), line
            )
            off = line.value_at(self.epsilon)[1] / math.exp(goal) if line else math.inf
            if off < POOR or (line and refined):
                break
        return (line.level, line) if line else None, off < VERY_POOR

    def _edges(self, goal: float) -> list[Edges]:
        """The edges of all levels: what is below the first needs no integral, if that can be.

        Where there is a largest loss, no single one is rare and large: all is one level.
        """
        last = tuple(p.part.last_edge for p in self.parts)
        if all(p.part.bounded for p in self.parts):
            return [last]
        low, high = 0, len(RATIOS)
        while low < high:
            middle = (low + high) // 2
            closed = self._closes(self._cut(RATIOS[middle] * self.scale), goal)
            low, high = (low, middle) if closed else (middle + 1, high)
        ratio = float(RATIOS[high]) if high < len(RATIOS) else UNCLOSED
        edges = [self._cut(ratio * self.scale)]
        for level in LEVELS:
            tried = self._cut(level * self.scale)
            if level > APART * ratio and self._apart(edges[-1], tried) and self._apart(tried, last):
                edges.append(tried)
        return [*edges, last]

    def _closes(self, edges: Edges, goal: float) -> bool:
        """Whether all that is below the edges is certainly below e^goal."""
        right = self._right
        bound = log_kernel(right.c) + right.exponent(None, edges) - right.c * self.epsilon
        return float(bound.min()) < goal

    @cached_property
    def _right(self) -> RealOrders:
        """The orders right of the poles alone."""
        return RealOrders(self.parts, self.orders.c[self.orders.c > 0], self.orders.bystanders)

    def _cut(self, loss: float) -> Edges:
        """The edges at which the parts have this loss."""
        return tuple(
            max(min(p.part.place(loss), p.part.last_edge), float(p.part.x[0]) + FIRST_PLACE * p.part.edge_width)
            for p in self.parts
        )

    def _apart(self, inner: Edges, outer: Edges) -> bool:
        return all(b > a + p.part.edge_width for a, b, p in zip(inner, outer, self.parts, strict=True))

    def value(self, epsilon: float) -> tuple[float, float]:
        """delta(epsilon), and a bound on its error."""
        total, error = self.dropped / 2, self.dropped / 2
        for level, way in self.levels:
            value, off = level.closed_value(way, epsilon) if isinstance(way, int) else way.value_at(epsilon)
            total, error = total + value, error + off
        return total, error

    def log_value(self, epsilon: float) -> tuple[float, float] | None:
        """About log delta and its slope; None where delta is not known well enough."""
        step = DIFFERENCE * self.scale
        (value, error), (next_value, _) = self.value(epsilon), self.value(epsilon + step)
        if not 0 < 2 * error < value or not next_value > 0:
            return None
        return math.log(value), (math.log(next_value) - math.log(value)) / step


def _orders(scale: float, log_delta: float) -> Array:
    top = max((FARTHEST_ORDER - PER_LOG * log_delta) / max(scale, LEAST_SCALE), 2.0)
    positive = np.geomspace(LEAST_ORDER, top, int(PER_DECADE * math.log10(top / LEAST_ORDER)) + 1)
    return np.concatenate([-1 - positive[::-1], BETWEEN, positive])
