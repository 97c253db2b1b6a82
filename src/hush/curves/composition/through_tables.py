"""Products with a part that has no analytic law: tables stand for it, above and, where it knows one, below."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hush.curves.composition.routes import FULL, MOST_DIRECT, DirectRoute, GridRoute, Parts, Route, log_finite
from hush.curves.interval import Interval, agreed_epsilon, agreed_log_delta, beside_infinite
from hush.curves.pairs.finite import tabulate
from hush.curves.pairs.pair import Pair
from hush.errors import NotCovered
from hush.numerics.rounding import UNIT
from hush.numerics.work import attempt

NEAR, ENOUGH = 1e-3, 2e-4
"""The cover, and other engines than the first, are not asked where the interval is already this narrow."""
BESIDE = 14.0
"""Losses of P-mass below e^-14 of the delta asked for are cut off a table. They count as infinite above and are lowered
below, so any share is valid; this one moves delta by a millionth."""
LEAST_CUT = -600.0
"""Nothing is cut off below a mass of e^-600, as a share of it might not be a float."""
ROUGH = 1e-5
"""Tolerance of what a table answers: its own error is larger."""
SIZES = 1 << 13, 1 << 14, 1 << 15, 1 << 16
"""Lattice sizes for tables. A lattice that is finer than the table meets its atoms one by one, and rounds them down;
one that is coarser merges several: so each size is tried."""
REST_ROUNDING = 1e-9
"""Relative room for the rounding of delta less the infinite mass. Where less than this share of delta is left, nothing
is said."""

Way = Callable[[Parts], Route]
"""From pairs with a law to an engine that composes them."""


@dataclass(frozen=True)
class TableProduct:
    """A product through the tables of its parts."""

    parts: Parts
    compose: Callable[[Iterable[tuple[Pair, int]]], Pair]
    """How pairs that have a law are composed."""

    @cached_property
    def above(self) -> Parts:
        """Pairs with a law above the parts."""
        return tuple((above_of(pair), n) for pair, n in self.parts)

    @cached_property
    def below(self) -> Parts | None:
        """Pairs with a law below the parts; None where one has none."""
        try:
            return tuple((pair if pair.analytic else pair.enclosure()[0], n) for pair, n in self.parts)
        except NotCovered:
            return None

    @cached_property
    def cover(self) -> Pair | None:
        """A product with a law that dominates this one at the smallest deltas too, where all parts know one."""
        try:
            return self.compose((pair.cover(), n) for pair, n in self.parts)
        except NotCovered:
            return None

    def log_delta(self, epsilon: float, tolerance: float, low: float) -> Interval:
        """Bounds on log delta, given a lower one."""
        high = 0.0
        for way in self._ways:
            cut = min(low, -1.0)
            low = max(low, attempt(lambda w=way, c=cut: self._log_delta_from(w, 0, epsilon, tolerance, c), -math.inf))
            cut = max(cut, min(low, -1.0))
            high = min(high, attempt(lambda w=way, c=cut: self._log_delta_from(w, 1, epsilon, tolerance, c), 0.0))
            if high - low <= ENOUGH:
                break
        if high - low > NEAR:
            high = min(high, attempt(lambda: self.cover.log_delta(epsilon, ROUGH)[1] if self.cover else 0.0, 0.0))
        if high == 0:
            high = min(high, attempt(lambda: self._added_log_delta(epsilon), 0.0))
        return agreed_log_delta(low, high)

    @property
    def _ways(self) -> tuple[Way, ...]:
        """The engines, in the order in which they are asked: few losses may have tails that no tilt can follow."""
        return (_on_grids, _directly, _on_a_fine_grid) if self._count <= MOST_DIRECT else (_on_grids, _on_a_fine_grid)

    def _log_delta_from(self, way: Way, side: int, epsilon: float, tolerance: float, cut: float) -> float:
        """The bound from below (0) or from above (1)."""
        parts = self.above if side else self.below
        if parts is None:
            return -math.inf
        route, finite = _route(way, parts, cut, side)
        return beside_infinite(finite, route.log_delta(epsilon, tolerance)[side], side)

    def epsilon(self, log_delta: float) -> Interval:
        """Bounds on epsilon."""
        low, high = 0.0, math.inf
        for way in self._ways:
            high = min(high, attempt(lambda w=way: self._epsilon_from(w, 1, log_delta), math.inf))
            low = max(low, attempt(lambda w=way: self._epsilon_from(w, 0, log_delta), 0.0))
            if high - low <= ENOUGH * high < math.inf:
                break
        if not high - low < NEAR * high:
            single = [attempt(lambda p=pair: p.epsilon(log_delta, ROUGH)[0], 0.0) for pair, _ in self.parts]
            low = max(low, *single)
        if not high - low < NEAR * high:
            ask = lambda: self.cover.epsilon(log_delta, ROUGH)[1] if self.cover else math.inf  # noqa: E731
            high = min(high, attempt(ask, math.inf))
        if high == math.inf:
            high = attempt(lambda: self._added_epsilon(log_delta), math.inf)
        return agreed_epsilon(low, high)

    def _added_epsilon(self, log_delta: float) -> float:
        """Basic composition, where no table is to be had: epsilons and deltas add (Dwork et al. 2006, Thm 1)."""
        share = log_delta - math.log(self._count)
        return math.fsum(n * pair.epsilon(share, ROUGH)[1] for pair, n in self.parts) * (1 + 4 * UNIT)

    def _added_log_delta(self, epsilon: float) -> float:
        """The same for an epsilon that is shared equally."""
        each = epsilon / self._count * (1 - 4 * UNIT)
        logs = [math.log(n) + pair.log_delta(each, ROUGH)[1] for pair, n in self.parts]
        return float(np.logaddexp.reduce(logs)) + 8 * UNIT

    @property
    def _count(self) -> int:
        return sum(n for _, n in self.parts)

    def _epsilon_from(self, way: Way, side: int, log_delta: float) -> float:
        """The bound from below (0) or from above (1)."""
        parts = self.above if side else self.below
        if parts is None:
            return 0.0
        route, finite = _route(way, parts, log_delta, side)
        rest = math.exp(log_delta) + math.expm1(finite)
        if rest <= REST_ROUNDING * math.exp(log_delta):
            return math.inf if side else 0.0
        return route.epsilon(math.log(rest * (1 - REST_ROUNDING * (2 * side - 1))) - finite, ROUGH)[side]


def above_of(pair: Pair) -> Pair:
    """The pair itself where it has an analytic law, else one with a law that dominates it."""
    if pair.analytic:
        return pair
    try:
        return pair.enclosure()[1]
    except NotCovered:
        return tabulate(pair)


def _route(way: Way, parts: Parts, log_delta: float, side: int) -> tuple[Route, float]:
    """A route for these parts at deltas near the one given, from below (0) or above (1); log of their finite mass."""
    mass = math.exp(max(log_delta - BESIDE, LEAST_CUT)) / sum(n for _, n in parts)
    parts = tuple((pair.cut_above(mass) if side else pair.cut_below(mass), n) for pair, n in parts)
    return way(parts), log_finite(parts)


def _on_grids(parts: Parts) -> Route:
    return GridRoute(parts, tuple((pair.law(), n) for pair, n in parts), SIZES)


def _on_a_fine_grid(parts: Parts) -> Route:
    return GridRoute(parts, tuple((pair.law(), n) for pair, n in parts), FULL)


def _directly(parts: Parts) -> Route:
    return DirectRoute(parts)
