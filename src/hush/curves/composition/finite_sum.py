"""Delta and epsilon of a sum of finite losses: what is known at once, then one engine after the other."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from hush.curves.composition.known_ends import (
    SUM_ROUNDING,
    below_the_mean,
    concentrated_log_delta,
    negligible,
    written_sum,
)
from hush.curves.composition.routes import (
    FULL,
    MANY_ATOMS,
    MOST_DIRECT,
    QUICK,
    ContourRoute,
    DirectRoute,
    GridRoute,
    LevelsRoute,
    Parts,
    RenyiRoute,
    Route,
    SplitRoute,
)
from hush.curves.interval import Interval, agreed_epsilon, agreed_log_delta, largest_loss_between, least_log_delta
from hush.curves.pairs.pair import Laws
from hush.numerics.engines.contour_line import QUICK_WORK
from hush.numerics.engines.saddle import common_lattice, line_orders, markov_exponent
from hush.numerics.work import attempt

FEW = 16
"""Up to so many losses the grid is asked first."""
NEAR = 5e-5
"""The last resorts are not asked where the interval is already this narrow."""
FARTHEST = 1e12
"""The engines follow losses up to here. For a larger epsilon, delta there is an upper bound, as delta falls (F10)."""
DEEPEST = -1e12
"""Below this log delta the engines, which work with log-moments of its size, have few digits left (F10)."""
SHALLOW = -600.0
"""A line near a known lower bound is tried above e^-600, where it can be told from underflow."""
MARKOV_ROOM = 1e-12
"""Relative room for the rounding of that comparison."""
NO_DELTA = -1e300
"""Below this log delta, epsilon is the largest loss. A positive delta is a float and has a log above -746: so only
delta = 0 comes here, where that is the definition."""
LEAST_ATOM = 1e-300
"""Lighter atoms are not taken for the largest loss: floats below 2^-1022 lose digits, down to 0, and a mass from above
would make a lower end that is too high. To look at a smaller loss is safe."""
NOTHING_KNOWN_OF_DELTA: Interval = (-math.inf, 0.0)
NOTHING_KNOWN_OF_EPSILON: Interval = (0.0, math.inf)


@dataclass(frozen=True)
class FiniteSum:
    """Independent pairs composed, given that no loss is infinite."""

    parts: Parts
    laws: Laws
    largest: float
    """The largest loss of the sum, rounded up; infinity where there is none."""
    log_finite: float
    """log of the probability that all losses are finite."""

    @property
    def count(self) -> int:
        """How many losses are summed."""
        return sum(n for _, n in self.parts)

    @cached_property
    def on_a_lattice(self) -> bool:
        """Whether all losses lie on one lattice: there the contour is as good near the answer as far from it."""
        return bool(common_lattice(self.laws))

    @cached_property
    def routes(self) -> tuple[Route, ...]:
        """The engines, in the order in which they are asked: the contour wants many losses, the grid few."""
        contour, levels = ContourRoute(self.laws), LevelsRoute(self.laws)
        quick, full = GridRoute(self.parts, self.laws, QUICK), GridRoute(self.parts, self.laws, FULL)
        few = self.count <= FEW and not self.on_a_lattice
        first: tuple[Route, ...] = (quick, contour) if few else (contour, quick)
        if levels.serves:
            soon = () if levels.rare else (ContourRoute(self.laws, QUICK_WORK),)
            first = (*soon, levels, contour, quick)
        if few and all(len(law.losses) > MANY_ATOMS and not law.pieces for law, _ in self.laws):
            first = (quick,)
        last: tuple[Route, ...] = (full, DirectRoute(self.parts)) if self.count <= MOST_DIRECT else (full,)
        split = SplitRoute(self.laws)
        if split.serves and not self.on_a_lattice:
            last = (split, *last)
        return (*first, *last, RenyiRoute(self.laws))

    def log_delta(self, epsilon: float, tolerance: float) -> Interval:
        """Bounds on log delta(epsilon)."""
        low, high = attempt(lambda: self._ends(epsilon), NOTHING_KNOWN_OF_DELTA)
        if high - low <= tolerance or high == -math.inf:
            return low, high
        steep = concentrated_log_delta(self._slope, epsilon)
        if steep < DEEPEST:
            return low, steep
        if epsilon > FARTHEST:
            return low, self.log_delta(FARTHEST, tolerance)[1]
        low, high = self._asked_in_turn(
            (low, high),
            lambda route, _: attempt(lambda: route.log_delta(epsilon, tolerance), NOTHING_KNOWN_OF_DELTA),
            near=lambda low, high: high - low < NEAR,
            enough=lambda low, high: high - low <= tolerance,
        )
        if high - low > max(NEAR, tolerance) and low > SHALLOW and epsilon > 0 and not self.on_a_lattice:
            contour = ContourRoute(self.laws)
            a, b = attempt(lambda: contour.refine_log_delta(epsilon, tolerance, low), NOTHING_KNOWN_OF_DELTA)
            low, high = max(low, a), min(high, b)
        return agreed_log_delta(low, high)

    def surely_below(self, epsilon: float, log_delta: float) -> bool:
        """Whether delta(epsilon) is certainly below this, where that is cheap to see."""
        if epsilon >= self.largest:
            return log_delta > -math.inf
        levels = LevelsRoute(self.laws)
        if levels.serves and levels.rare:
            return attempt(lambda: levels.surely_below(epsilon, log_delta), False)

        def shown() -> bool:
            """By Markov's inequality at a likely order."""
            orders, best = line_orders(self.laws, epsilon=epsilon)
            c = float(orders.c[best])
            return markov_exponent(self.laws, c) - c * epsilon < log_delta - MARKOV_ROOM * (1 + abs(log_delta))

        return 0 < epsilon < FARTHEST and attempt(shown, False)

    def _ends(self, epsilon: float) -> Interval:
        """What is known without work: 0 past the largest loss, what its atom has below that, 1 far below the mean."""
        if epsilon >= self.largest:
            return -math.inf, -math.inf
        low = least_log_delta(epsilon - self.log_finite)
        place, log_mass = self._top_atom
        if epsilon < place:
            low = max(low, log_mass + math.log(-math.expm1(epsilon - place)))
        return max(low, below_the_mean(self.laws, epsilon)), 0.0

    def epsilon(self, log_delta: float, tolerance: float, floor: float) -> Interval:
        """Bounds on the epsilon at this delta; below the floor an upper bound will do."""
        top = max(self.largest, 0.0)
        if log_delta < NO_DELTA:
            return largest_loss_between(top, written_sum(self.parts))
        if top <= floor:
            return 0.0, top
        if attempt(lambda: negligible(self.parts, self.laws, log_delta), False):
            return 0.0, 0.0

        def enough(low: float, high: float) -> bool:
            return high - low <= tolerance * high < math.inf

        place, log_mass = self._top_atom
        low = max(place + math.log(-math.expm1(log_delta - log_mass)), 0.0) if log_delta < log_mass else 0.0
        if enough(low, top):
            return agreed_epsilon(low, top)
        low, high = self._asked_in_turn(
            (low, top),
            lambda route, known: attempt(
                lambda: route.epsilon(log_delta, tolerance, floor, known), NOTHING_KNOWN_OF_EPSILON
            ),
            near=lambda low, high: high - low < NEAR * high < math.inf,
            enough=lambda low, high: high <= floor or enough(low, high),
        )
        settled = high <= floor or enough(low, high) or high - low < NEAR * high
        if not settled and not self.on_a_lattice:
            contour = ContourRoute(self.laws)
            a, b = attempt(lambda: contour.refine_epsilon(log_delta, tolerance, low), NOTHING_KNOWN_OF_EPSILON)
            low, high = max(low, a), min(high, b)
        return agreed_epsilon(low, high)

    def guess(self, log_delta: float, tolerance: float) -> float | None:
        """About epsilon at this delta, with no bound; infinity where it takes too much work, None for other losses."""
        return attempt(lambda: LevelsRoute(self.laws).guess(log_delta, tolerance), math.inf)

    def _asked_in_turn(
        self,
        ends: Interval,
        ask: Callable[[Route, Interval], Interval],
        *,
        near: Callable[[float, float], bool],
        enough: Callable[[float, float], bool],
    ) -> Interval:
        """The ends, narrowed by one engine after the other until it is enough; last resorts while it is not near."""
        low, high = ends
        for route in self.routes:
            if route.last_resort and near(low, high):
                continue
            a, b = ask(route, (low, high))
            low, high = max(low, a), min(high, b)
            if enough(low, high):
                break
        return low, high

    @cached_property
    def _top_atom(self) -> tuple[float, float]:
        """The largest loss, rounded down, and a lower bound on the log of its P-mass; -infinity where it is no atom."""
        heavy = [law.masses > LEAST_ATOM for law, _ in self.laws]
        if any(law.pieces or not some.any() for (law, _), some in zip(self.laws, heavy, strict=True)):
            return -math.inf, -math.inf
        place = log_mass = 0.0
        for (law, n), some in zip(self.laws, heavy, strict=True):
            top = float(law.losses[some].max())
            place += n * top
            log_mass += n * math.log(law.masses[some & (law.losses == top)].sum())
        return place - SUM_ROUNDING * abs(place), log_mass - SUM_ROUNDING * abs(log_mass)

    @cached_property
    def _slope(self) -> float:
        """The whole is rho-zCDP with this rho."""
        return sum(n * pair.curve().slope for pair, n in self.parts)
