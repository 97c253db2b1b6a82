"""Products with a part that has no analytic law: tables stand for it, above and, where it knows one, below."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hush.curves.composition.routes import QUICK, GridRoute, Parts, log_finite
from hush.curves.interval import Interval, agreed_epsilon, agreed_log_delta
from hush.curves.pairs.finite import tabulate
from hush.curves.pairs.pair import Pair
from hush.errors import NotCovered
from hush.numerics.rounding import UNIT
from hush.numerics.work import attempt

NEAR = 1e-3
"""The cover is not asked where the interval is already this narrow."""
BESIDE = 14.0
"""Losses of P-mass below e^-14 of the delta asked for are cut off a table. They count as infinite above and are lowered
below, so any share is valid; this one moves delta by a millionth."""
LEAST_CUT = -600.0
"""Nothing is cut off below a mass of e^-600, as a share of it might not be a float."""
ROUGH = 1e-4
"""Tolerance of what a table answers: its own error is larger."""
REST_ROUNDING = 1e-9
"""Relative room for the rounding of delta less the infinite mass. Where less than this share of delta is left, nothing
is said."""


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
        high, cut = 0.0, min(low, -1.0)
        low = max(low, attempt(lambda: self._log_delta_from(0, epsilon, tolerance, cut), -math.inf))
        cut = max(cut, min(low, -1.0))
        high = min(high, attempt(lambda: self._log_delta_from(1, epsilon, tolerance, cut), 0.0))
        if high - low > NEAR:
            high = min(high, attempt(lambda: self.cover.log_delta(epsilon, ROUGH)[1] if self.cover else 0.0, 0.0))
        if high == 0:
            high = min(high, attempt(lambda: self._added_log_delta(epsilon), 0.0))
        return agreed_log_delta(low, high)

    def _log_delta_from(self, side: int, epsilon: float, tolerance: float, cut: float) -> float:
        """The bound from below (0) or from above (1)."""
        parts = self.above if side else self.below
        if parts is None:
            return -math.inf
        route, finite = _route(parts, cut, side)
        found = finite + route.log_delta(epsilon, tolerance)[side]
        return float(np.logaddexp(found, math.log(-math.expm1(finite)))) if finite < 0 else found

    def epsilon(self, log_delta: float) -> Interval:
        """Bounds on epsilon."""
        high = attempt(lambda: self._epsilon_from(1, log_delta), math.inf)
        low = attempt(lambda: self._epsilon_from(0, log_delta), 0.0)
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

    def _epsilon_from(self, side: int, log_delta: float) -> float:
        """The bound from below (0) or from above (1)."""
        parts = self.above if side else self.below
        if parts is None:
            return 0.0
        route, finite = _route(parts, log_delta, side)
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


def _route(parts: Parts, log_delta: float, side: int) -> tuple[GridRoute, float]:
    """A route for these parts at deltas near the one given, from below (0) or above (1); log of their finite mass."""
    mass = math.exp(max(log_delta - BESIDE, LEAST_CUT)) / sum(n for _, n in parts)
    parts = tuple((pair.cut_above(mass) if side else pair.cut_below(mass), n) for pair, n in parts)
    return GridRoute(parts, tuple((pair.law(), n) for pair, n in parts), QUICK), log_finite(parts)
