"""Ways from the laws of several losses to delta(epsilon) of their sum; each answers with a certified interval."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np

from hush.arrays import Array
from hush.curves.interval import Interval
from hush.curves.pairs.finite import FinitePair
from hush.curves.pairs.pair import Laws, Pair
from hush.numerics.engines import contour, direct, grid, split_atoms
from hush.numerics.engines.contour_line import MOST_WORK
from hush.numerics.engines.levels import level_bounds
from hush.numerics.engines.levels.bystanders import Bystanders
from hush.numerics.engines.levels.telescope import Mixtures
from hush.numerics.engines.loss_source import LossSource, TailFunction, Tails
from hush.numerics.engines.saddle import Orders, best_orders, markov_exponent
from hush.numerics.roots import decreasing_root
from hush.numerics.work import Exhausted, part

SHARE_OF_DELTA, SHARE_OF_EPSILON = 1e-2, 1e-3
"""Shares of the tolerance for losses that a line leaves out. Their whole mass is charged, so any share is valid."""
REFINED = 1e-5
"""Tolerance of a line near a bound that is known: what is left to gain there is less."""
WINDOW, DEEP_WINDOW = 14.0, 20.0
"""Tails of P-mass below e^-14 of the delta asked for (e^-20 of a guess at it) are cut off a lattice (G4, G5)."""
ROOT_WIDTH = 1e-3
"""Relative width of a root on a lattice, in units of the tolerance."""
LEAST_GUESS = 1e-3
"""The search for a root on a lattice starts at this epsilon at the least."""
FARTHEST = 1e12
"""The search for a root ends at this epsilon: past it there is none."""
LOWER_ORDERS = range(1, 40, 3)
"""Powers of 1/2 of the best order at which Markov's inequality is tried too, where a moment takes too much work."""
DEEPEST = -690.0
"""Direct convolution cuts off tails of P-mass below e^-690 (G4, G5): smaller masses soon have no digits left."""
MOST_COMPONENTS, MOST_OF_ONE, LEVELS_WORK = 60, 12, 0.6
"""Levels are asked for up to so many normals in all parts, and in one of them, with this share of the work that is
left: where they converge they take less than half of that."""
QUICK, FULL = (1 << 13, 1 << 16), (1 << 18,)
"""Lattice sizes that the grid tries in turn, at first and at last."""
SPLIT = (1 << 15, 1 << 18, 1 << 20)
"""Lattice sizes for atoms that are split."""
LOWERED = 4
"""Lattices of one size for ever lower ceilings, or ever lower guesses at delta, at the most."""

MOST_DIRECT = 128
"""Up to so many losses direct convolution may be asked."""
MANY_ATOMS = 100
"""More atoms off any lattice are a table: no line integral of theirs converges, and no grid can meet all of them."""
HEAVY = 1e-2
"""Atoms of a table that are heavier stay atoms on a grid. Either way is valid."""

Parts = tuple[tuple[Pair, int], ...]
"""Pairs, each with the number of times that it is composed."""


ALMOST_ALL = 1 - 1e-16
"""The largest infinite mass whose complement has a logarithm: what is certain to be infinite is answered elsewhere."""


def log_finite(parts: Parts) -> float:
    """log of the probability under P that no loss of the composition is infinite."""
    return sum(n * math.log1p(-min(pair.infinite, ALMOST_ALL)) for pair, n in parts)


class Route(Protocol):
    """One engine with its problem; the losses are taken to be finite."""

    last_resort: ClassVar[bool]
    """Whether it is asked only where the others have left a wide interval."""

    def log_delta(self, epsilon: float, tolerance: float) -> Interval:
        """Bounds on log delta(epsilon)."""
        ...

    def epsilon(
        self, log_delta: float, tolerance: float, floor: float = 0.0, known: Interval = (0.0, math.inf)
    ) -> Interval:
        """Bounds on epsilon at this delta, where some are known; below the floor an upper bound will do."""
        ...


@dataclass(frozen=True)
class ContourRoute:
    """One line integral of the moments."""

    laws: Laws
    most_work: float = MOST_WORK
    last_resort: ClassVar[bool] = False

    def log_delta(self, epsilon: float, tolerance: float) -> Interval:
        if self.most_work < MOST_WORK:
            return contour.log_delta_bounds(self.laws, epsilon, tolerance, most_work=self.most_work)
        low, high = contour.log_delta_bounds(self.laws, epsilon, tolerance)
        for _ in range(3):
            laws = self._without_tails(high + math.log(SHARE_OF_DELTA * tolerance))
            if high - low <= tolerance or laws == self.laws:
                break
            a, b = contour.log_delta_bounds(laws, epsilon, tolerance)
            low, high = max(low, a), min(high, b)
        return low, high

    def epsilon(
        self,
        log_delta: float,
        tolerance: float,
        floor: float = 0.0,
        known: Interval = (0.0, math.inf),  # noqa: ARG002
    ) -> Interval:
        if self.most_work < MOST_WORK:
            return contour.epsilon_bounds(self.laws, log_delta, tolerance, floor, most_work=self.most_work)
        low, high = contour.epsilon_bounds(self.laws, log_delta, tolerance, floor)
        if high <= floor or high - low <= tolerance * high < math.inf:
            return low, high
        laws = self._without_tails(log_delta + math.log(SHARE_OF_EPSILON * tolerance))
        a, b = contour.epsilon_bounds(laws, log_delta, tolerance, floor) if laws != self.laws else (low, high)
        return max(low, a), min(high, b)

    def refine_log_delta(self, epsilon: float, tolerance: float, low: float) -> Interval:
        """The same where a lower bound is known that may be near."""
        return contour.log_delta_bounds(self.laws, epsilon, max(tolerance, REFINED), hint=low)

    def refine_epsilon(self, log_delta: float, tolerance: float, low: float) -> Interval:
        """The same near a lower bound, or else where it would be if the sum were normal."""
        mean = sum(n * float(law.cumulants(np.array([1e-6]), 10 + math.log(n))[1][0]) for law, n in self.laws)
        near = low or mean + math.sqrt(4 * max(mean, 1e-18) * max(-log_delta, 1.0))
        return contour.epsilon_bounds(self.laws, log_delta, max(tolerance, REFINED), hint=near)

    def _without_tails(self, log_mass: float) -> Laws:
        """Without losses so large that all of them have this P-mass: they would rule the moments for nothing."""
        count = sum(n for _, n in self.laws)
        return tuple((law.without_tail(log_mass - math.log(count)), n) for law, n in self.laws)


@dataclass(frozen=True)
class LevelsRoute:
    """Losses sorted by the largest, one line integral per level: for rare and large losses of normal mixtures."""

    laws: Laws
    last_resort: ClassVar[bool] = False

    @cached_property
    def _sorted(self) -> tuple[Mixtures, Bystanders]:
        """The components of all parts that are a pair of normal mixtures with a rising loss; and the other parts, whose
        moments must be known at any order."""
        found = [(law, n, law.rising) for law, n in self.laws]
        mixtures = [(*rising, n) for _, n, rising in found if rising]
        return mixtures, Bystanders(tuple((law, n) for law, n, rising in found if not rising))

    @property
    def serves(self) -> bool:
        """Whether this engine can be asked."""
        mixtures, beside = self._sorted
        sizes = [len(above + below) for above, below, _ in mixtures]
        known = all(law.any_order and len(law.losses) <= MANY_ATOMS for law, _ in beside.laws)
        return known and 0 < sum(sizes) <= MOST_COMPONENTS and max(sizes) <= MOST_OF_ONE

    @property
    def rare(self) -> bool:
        """Whether fewer than one loss is expected from another component than the heaviest of its mixture."""
        others = [n * (1 - max(w for _, w in max(above, below, key=len))) for above, below, n in self._sorted[0]]
        return sum(others) < 1

    def guess(self, log_delta: float, tolerance: float) -> float | None:
        """About epsilon at this delta, with no bound; None where this engine cannot be asked."""
        if not self.serves:
            return None
        mixtures, beside = self._sorted
        return level_bounds.epsilon_guess(mixtures, log_delta, tolerance, beside)

    def surely_below(self, epsilon: float, log_delta: float) -> bool:
        """Whether one set of coarse levels shows that delta(epsilon) is at most this."""
        if epsilon < 0:
            raise Exhausted
        with part(LEVELS_WORK):
            mixtures, beside = self._sorted
            return level_bounds.surely_below(mixtures, epsilon, log_delta, beside)

    def log_delta(self, epsilon: float, tolerance: float) -> Interval:
        if not self.serves or epsilon < 0:
            raise Exhausted
        with part(LEVELS_WORK):
            mixtures, beside = self._sorted
            return level_bounds.log_delta_bounds(mixtures, epsilon, tolerance, beside)

    def epsilon(
        self,
        log_delta: float,
        tolerance: float,
        floor: float = 0.0,
        known: Interval = (0.0, math.inf),
    ) -> Interval:
        if not self.serves:
            raise Exhausted
        with part(LEVELS_WORK):
            mixtures, beside = self._sorted
            return level_bounds.epsilon_bounds(mixtures, log_delta, tolerance, floor, known, beside)


@dataclass(frozen=True)
class LatticeRoute(ABC):
    """A route that puts the losses of its parts on a lattice, where nothing that is known of the answer saves work."""

    parts: Parts

    def epsilon(
        self,
        log_delta: float,
        tolerance: float,
        floor: float = 0.0,  # noqa: ARG002
        known: Interval = (0.0, math.inf),  # noqa: ARG002
    ) -> Interval:
        return self._epsilon(log_delta, tolerance)

    @abstractmethod
    def _epsilon(self, log_delta: float, tolerance: float) -> Interval: ...

    @cached_property
    def _sources(self) -> list[LossSource]:
        return [loss_source(pair, n) for pair, n in self.parts]


@dataclass(frozen=True)
class GridRoute(LatticeRoute):
    """Losses on a lattice, on ever finer ones until the tolerance is met or the lattice is full."""

    laws: Laws
    sizes: tuple[int, ...] = QUICK + FULL
    last_resort: ClassVar[bool] = False

    def log_delta(self, epsilon: float, tolerance: float) -> Interval:
        orders, best = best_orders(self.laws, epsilon=epsilon)
        tilt = float(orders.c[best])
        guess = min(float((orders.exponent() - orders.c * epsilon).min()), 0.0)
        brackets = (grid.bracket(self._sources, size, tilt, guess - DEEP_WINDOW) for size in self.sizes)
        return _narrowed((found.log_delta(epsilon) for found in brackets), tolerance)

    def _epsilon(self, log_delta: float, tolerance: float) -> Interval:
        orders, best = best_orders(self.laws, log_delta=log_delta)
        tilt = float(orders.c[best])
        limit = max(float(orders.objective(None, log_delta)[best]), LEAST_GUESS)
        low, high = 0.0, math.inf
        for size in self.sizes:
            found = grid.bracket(self._sources, size, tilt, log_delta - WINDOW)
            width = ROOT_WIDTH * tolerance
            high = min(high, _root(lambda e, f=found.upper: f.log_delta(e, 1) - log_delta, limit, width))
            lower = lambda e, f=found.lower: f.log_delta(e, -1) - log_delta  # noqa: E731
            low = max(low, _root_below(lower, high, 0.1 / tilt, width))
            if high - low <= tolerance * high < math.inf:
                break
        return low, high

    def bracket(self, size: int, log_delta: float) -> grid.Bracket[grid.Composed]:
        """Lattice laws from both sides that serve near this delta."""
        orders, best = best_orders(self.laws, log_delta=log_delta)
        return grid.bracket(self._sources, size, float(orders.c[best]), log_delta - WINDOW)


@dataclass(frozen=True)
class DirectRoute(LatticeRoute):
    """Few losses on a lattice, convolved term by term: for tails that no tilt can follow."""

    last_resort: ClassVar[bool] = True

    @property
    def sizes(self) -> tuple[int, ...]:
        """Lattice sizes to try: the last costs less than half a second, and its dot products no second thread."""
        products = sum(2 * n.bit_length() - 1 for _, n in self.parts)
        return 1 << 9, 1 << 11, min(int(30_000 / math.sqrt(products)), 9_000)

    def log_delta(self, epsilon: float, tolerance: float) -> Interval:
        brackets = (direct.direct_bracket(self._sources, size, DEEPEST, epsilon) for size in self.sizes)
        return _narrowed((found.log_delta(epsilon) for found in brackets), tolerance)

    def _epsilon(self, log_delta: float, tolerance: float) -> Interval:
        low, high = 0.0, math.inf
        for size in self.sizes:
            for _ in range(8):
                ceiling = high
                a, b = self._at(size, log_delta, ROOT_WIDTH * tolerance, ceiling)
                low, high = max(low, a), min(high, b)
                if high - low <= tolerance * high < math.inf:
                    return low, high
                if not high < 0.7 * ceiling:
                    break
        return low, high

    def _at(self, size: int, log_delta: float, width: float, ceiling: float) -> Interval:
        found = direct.direct_bracket(self._sources, size, log_delta - WINDOW, ceiling)
        limit = min(ceiling, 1.0)
        high = min(_root(lambda e: found.upper.log_delta(e, 1) - log_delta, limit, width), ceiling)
        return _root_below(lambda e: found.lower.log_delta(e, -1) - log_delta, high, 1e-3 * high, width), high


@dataclass(frozen=True)
class SplitRoute:
    """Atoms off any lattice, split onto ever finer ones: both ends come of one law."""

    laws: Laws
    last_resort: ClassVar[bool] = True

    @property
    def serves(self) -> bool:
        """Whether all losses are atoms, and not those of a table."""
        return all(split_atoms.served(law) and len(law.losses) <= MANY_ATOMS for law, _ in self.laws)

    def log_delta(self, epsilon: float, tolerance: float) -> Interval:
        low, high = -math.inf, 0.0
        near = split_atoms.likely(self.laws, epsilon)
        for size in SPLIT:
            for _ in range(LOWERED):
                found = split_atoms.split_sum(split_atoms.all_atoms(self.laws, near), size, epsilon, near)
                low, high = max(low, found.log_delta(epsilon, -1)), min(high, found.log_delta(epsilon, 1))
                if high - low <= tolerance:
                    return low, high
                near, before = min(near, high), near
                if not near < before - 1:
                    break
        return low, high

    def epsilon(
        self,
        log_delta: float,
        tolerance: float,
        floor: float = 0.0,
        known: Interval = (0.0, math.inf),
    ) -> Interval:
        low, high = known
        atoms = split_atoms.all_atoms(self.laws, log_delta)
        for size in SPLIT:
            for _ in range(LOWERED):
                ceiling = high
                found = split_atoms.split_sum(atoms, size, ceiling, log_delta)
                low, high = self._narrowed(found, log_delta, low, high, ROOT_WIDTH * tolerance)
                if high <= floor or high - low <= tolerance * high < math.inf:
                    return low, high
                if not high < 0.9 * ceiling:
                    break
        return low, high

    def _narrowed(
        self, found: split_atoms.SplitSum, log_delta: float, low: float, high: float, width: float
    ) -> Interval:
        """Ends between the ones that are known, as far as this law shows them."""
        top = min(high, FARTHEST)
        above, below = (lambda e, side=side: found.log_delta(e, side) - log_delta for side in (1, -1))
        if above(top) <= 0:
            high = decreasing_root(above, low, top, width)[1] if above(low) > 0 else low
        return max(low, _root_below(below, high, 1e-3 * high, width)), high


@dataclass(frozen=True)
class RenyiRoute:
    """Markov's inequality at the best order: Canonne, Kamath, Steinke 2020, Prop. 12. An upper bound only."""

    laws: Laws
    last_resort: ClassVar[bool] = True

    def log_delta(self, epsilon: float, tolerance: float) -> Interval:  # noqa: ARG002
        orders, best = best_orders(self.laws, epsilon=epsilon)
        return -math.inf, min(0.0, *(self._exponent(c) - c * epsilon for c in self._near(orders, best)))

    def epsilon(
        self,
        log_delta: float,
        tolerance: float,  # noqa: ARG002
        floor: float = 0.0,  # noqa: ARG002
        known: Interval = (0.0, math.inf),  # noqa: ARG002
    ) -> Interval:
        orders, best = best_orders(self.laws, log_delta=log_delta)
        return 0.0, max(min((self._exponent(c) - log_delta) / c for c in self._near(orders, best)), 0.0)

    def _exponent(self, c: float) -> float:
        return markov_exponent(self.laws, c)

    def _near(self, orders: Orders, best: int) -> list[float]:
        """Orders about the best one; where a moment there takes too much work, ever lower ones."""
        near = [float(c) for c in orders.c[max(best - 1, 0) : best + 2]]
        return near + [near[0] * 2.0**-k for k in LOWER_ORDERS]


def loss_source(pair: Pair, times: int) -> LossSource:
    """The loss given that it is finite, with its atoms apart."""
    law = pair.law()
    if not law.pieces and (law.lattice or len(law.losses) <= MANY_ATOMS):
        return LossSource(None, law.losses, law.masses, times, law.lattice)
    if not law.pieces:  # a table: its light atoms are contracted like a density, not rounded down one by one
        heavy = law.masses > HEAVY
        light = FinitePair(law.losses[~heavy], law.masses[~heavy])
        return LossSource(light.tails, law.losses[heavy], law.masses[heavy], times)
    whole = _finite_tails(pair) if pair.infinite else pair.tails
    if not len(law.losses):
        return LossSource(whole, law.losses, law.masses, times)
    order = np.argsort(law.losses)
    atoms = FinitePair(law.losses[order], law.masses[order])

    def tails(losses: Array) -> Tails:
        pairs = zip(whole(losses), atoms.tails(losses), strict=True)
        p_up, q_up, p_down, q_down = (np.maximum(whole - part, 0.0) for whole, part in pairs)
        return p_up, q_up, p_down, q_down

    return LossSource(tails, law.losses, law.masses, times)


def _finite_tails(pair: Pair) -> TailFunction:
    """Tails of the loss given, under P, that it is finite; what Q has where P has nothing is left out."""
    p_top, _, _, q_bottom = (float(part[place]) for part, place in zip(pair.tails(ENDS), (1, 0, 0, 0), strict=True))

    def tails(losses: Array) -> Tails:
        p_up, q_up, p_down, q_down = pair.tails(losses)
        rest = 1 - p_top
        return np.maximum(p_up - p_top, 0.0) / rest, q_up / rest, p_down / rest, (q_down - q_bottom) / rest

    return tails


ENDS = np.array([-1e300, 1e300])
"""Losses below and above all finite ones: the tails there are the masses at the infinities."""


def _narrowed(found: Iterable[Interval], tolerance: float) -> Interval:
    """The log of a probability between all of the ends; no further interval is made once it is narrow enough."""
    low, high = -math.inf, 0.0
    for a, b in found:
        low, high = max(low, a), min(high, b)
        if high - low <= tolerance:
            break
    return low, high


def _root(excess: Callable[[float], float], limit: float, width: float) -> float:
    """A point from which on the decreasing excess is not above 0."""
    if excess(0.0) <= 0:
        return 0.0
    high = max(limit, 1e-9)
    while excess(high) > 0 and high < FARTHEST:
        high *= 2
    return decreasing_root(excess, 0.0, high, width)[1] if excess(high) <= 0 else math.inf


def _root_below(excess: Callable[[float], float], high: float, reach: float, width: float) -> float:
    """A point below high at which the excess is above 0, as high as can be found; 0 where there is none.

    A lower bound made at one tilt says nothing far from there, so the search widens downwards from high.
    """
    if not 0 < high < math.inf:
        return 0.0
    while excess(low := max(high - reach, 0.0)) <= 0:
        if low == 0:
            return 0.0
        reach *= 2
    return decreasing_root(excess, low, high, width)[0] if excess(high) <= 0 else high
