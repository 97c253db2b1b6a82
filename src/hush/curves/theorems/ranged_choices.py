"""Choices of bounded range, one after the other: each may be made in the light of those before it.

A choice whose loss varies by at most the range r over its outcomes is at its worst a coin: loss t with P-probability
p(t) = (1 - e^{t-r})/(1 - e^{-r}), else t - r, for some 0 <= t <= r (Dong, Durfee, Rogers 2020, Lemma 3.1). What k of
them reveal, the best t chosen anew in every state, obeys delta_0(eps) = (1 - e^eps)_+ and

    delta_k(eps) = max over t of p(t) delta_{k-1}(eps - t) + (1 - p(t)) delta_{k-1}(eps - t + r).

docs/theory/bounded-range.md has the proofs, also of what holds beside other releases.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from hush.arrays import Array
from hush.curves.composition.product import Product
from hush.curves.composition.summed_tables import summed
from hush.curves.interval import Interval, least_log_delta
from hush.curves.pairs.finite import BLUR, FinitePair
from hush.curves.pairs.pair import Pair
from hush.curves.pairs.segment import SegmentPair
from hush.curves.pairs.worst_case import stated_points
from hush.curves.renyi.curve import RenyiCurve
from hush.errors import NotCovered
from hush.numerics.engines.loss_source import Tails
from hush.numerics.laws.law import Law
from hush.numerics.roots import decreasing_root
from hush.numerics.rounding import UNIT
from hush.numerics.special.binomial_tails import log_pmf, pmf_slack
from hush.numerics.work import remembered, spend

BLOCK = 256
"""Choices up to which the recursion is followed; more are cut into blocks, which are composed."""
CELLS, FEWEST_CELLS, MOST_CELLS = 6_000, 24, 400
"""Cells for all k ranges together, and of one range at the least and at the most: any number is valid."""
STEP_ROUNDING = 64 * UNIT
"""Relative rounding error of one step of the recursion: a mean of two positive numbers with weights that have all their
digits, and where its largest value lies (second order)."""
ROWS = 1 << 12
"""Rows of the recursion that are worked out at once."""
MOST_ADDED = 2_000
"""Choices up to which the coins of the best t are added one by one."""
TRIED = 17
"""Values of t that are compared at once, first far apart and then near the best."""
EVEN = 0.5
"""Share of the range at which a fair attacker puts t: the best for many choices."""


def coin(bound: float, share: float) -> FinitePair:
    """Two outcomes whose losses t = share * bound and t - bound are a range apart: attained by a choice of that range.

    >>> coin(2.0, 0.5).losses.tolist()
    [-1.0, 1.0]
    """
    up, down = _chances(np.array([share * bound]), bound)
    losses = np.array([share * bound - bound, share * bound])
    return FinitePair(losses, np.concatenate([down, up]), lattice=bound, blur=BLUR)


def _chances(t: Array, bound: float) -> tuple[Array, Array]:
    """p(t) and 1 - p(t), both with all their digits."""
    whole = -math.expm1(-bound)
    return -np.expm1(t - bound) / whole, math.exp(-bound) * np.expm1(t) / whole


@dataclass(frozen=True)
class EvenCoin(Pair):
    """One coin whose losses are half a range from 0; several of them may use the best common t instead."""

    bound: float

    @cached_property
    def _pair(self) -> FinitePair:
        return stated_points([EVEN * self.bound], [0.0])

    def repeated(self, times: int) -> tuple[Pair, int]:
        return (self, 1) if times == 1 else (RangedChoices(self.bound, times), 1)

    def mix(self, rate: float) -> Pair:
        return self._pair.mix(rate)

    def swap(self) -> Pair:
        return self

    def law(self) -> Law:
        return self._pair.law()

    def tails(self, losses: Array) -> Tails:
        return self._pair.tails(losses)

    @property
    def max_loss(self) -> float:
        return self._pair.max_loss

    def log_delta(self, epsilon: float, tolerance: float = 1e-9) -> Interval:
        return self._pair.log_delta(epsilon, tolerance)


@dataclass(frozen=True)
class RangedChoices(Pair):
    """So many choices of this range: the recursion above, coins of the best common t below.

    >>> low, high = RangedChoices(1.0, 4).log_delta(1.0)
    >>> round(math.exp(low), 9), round(math.exp(high), 4)
    (0.145253767, 0.1473)
    """

    bound: float
    count: int = 1

    @property
    def _one(self) -> SegmentPair:
        """The envelope of all pairs of this range."""
        if self.count > 1:
            raise NotCovered("several choices of bounded range have no law that is known; they are composed by tables")
        return SegmentPair.bounded_range(self.bound)

    @property
    def factors(self) -> tuple[tuple[Pair, int], ...]:
        return ((RangedChoices(self.bound), self.count),)

    @cached_property
    def analytic(self) -> bool:
        return self.count == 1

    def repeated(self, times: int) -> tuple[Pair, int]:
        return RangedChoices(self.bound, self.count * times), 1

    def mix(self, rate: float) -> Pair:
        return self._one.mix(rate) if self.count == 1 else super().mix(rate)

    def swap(self) -> Pair:
        """A loss in [t - r, t] is one in [-t, r - t] the other way round."""
        return self

    def law(self) -> Law:
        return self._one.law()

    def tails(self, losses: Array) -> Tails:
        return self._one.tails(losses)

    @property
    def max_loss(self) -> float:
        return self.bound * self.count * (1 if self.count == 1 else 1 + 4 * UNIT)

    def curve(self) -> RenyiCurve:
        return self.count * SegmentPair.bounded_range(self.bound).curve()

    def renyi(self, order: float) -> Interval:
        return self._one.renyi(order) if self.count == 1 else (0.0, self.curve()(order))

    def log_absolute_chi(self, orders: Array) -> Array:
        return self._one.log_absolute_chi(orders)

    def log_delta(self, epsilon: float, tolerance: float = 1e-7) -> Interval:
        if self.count == 1:
            return self._one.log_delta(epsilon, tolerance)
        if epsilon >= self.max_loss:
            return -math.inf, -math.inf
        high = self._above.log_delta(epsilon, tolerance)[1]
        return min(max(self._attained(epsilon, tolerance), least_log_delta(epsilon)), high), high

    def epsilon(self, log_delta: float, tolerance: float = 1e-7, floor: float = 0.0) -> Interval:
        if self.count == 1:
            return self._one.epsilon(log_delta, tolerance, floor)
        if log_delta == -math.inf:
            return self.max_loss, self.max_loss
        high = min(self._above.epsilon(log_delta, tolerance, floor)[1], self.max_loss)
        if high <= floor:
            return 0.0, high
        low = self._even.epsilon(log_delta, tolerance)[0]
        if self.count <= MOST_ADDED and high - low > tolerance * high:
            low = decreasing_root(lambda e: self._attained(e, tolerance) - log_delta, low, high, tolerance)[0]
        return min(low, high), high

    def enclosure(self) -> tuple[Pair, Pair]:
        if self.count == 1:
            return coin(self.bound, EVEN), self._one
        return coins(self.bound, self.count, EVEN * self.bound), self._above_table

    def cover(self) -> Pair:
        return self._one if self.count == 1 else self._above_table

    # -- above ---------------------------------------------------------------------------------------------------

    @cached_property
    def _blocks(self) -> tuple[tuple[Pair, int], ...]:
        cells = _cells(min(self.count, BLOCK))
        whole, rest = divmod(self.count, BLOCK)
        parts = ((recursion(self.bound, BLOCK, cells), whole),) if whole else ()
        return (*parts, (recursion(self.bound, rest, cells), 1)) if rest else parts

    @cached_property
    def _above(self) -> Pair:
        return Product.of(self._blocks)

    @cached_property
    def _above_table(self) -> Pair:
        return self._above if self.count <= BLOCK else summed(self._blocks, 1)

    # -- below ---------------------------------------------------------------------------------------------------

    @cached_property
    def _even(self) -> Pair:
        return Product.of([(coin(self.bound, EVEN), self.count)])

    def _attained(self, epsilon: float, tolerance: float) -> float:
        """log delta of coins of one common t, as good a one as is found: every one is attained."""
        if self.count > MOST_ADDED:
            return self._even.log_delta(epsilon, tolerance)[0]
        tried = self._best(epsilon), EVEN * self.bound
        return max(coins(self.bound, self.count, t).log_delta(epsilon)[0] for t in tried)

    def _best(self, epsilon: float) -> float:
        """The best of those t at which the derivative of delta is 0."""
        k, r = self.count, self.bound
        places = (epsilon + r * np.arange(1, k + 1)) / (k + 1)
        places = places[(places > 0) & (places < r)]
        places = places if len(places) else np.array([EVEN * r])
        while True:
            tried = np.unique(np.linspace(0, len(places) - 1, TRIED).astype(int))
            best = int(np.argmax(_profiles(r, k, places[tried], epsilon)))
            if len(tried) == len(places):
                return float(places[best])
            low, high = tried[max(best - 1, 0)], tried[min(best + 1, len(tried) - 1)]
            places = places[low : high + 1]


def _cells(count: int) -> int:
    return min(max(CELLS // count, FEWEST_CELLS), MOST_CELLS)


def _profiles(bound: float, count: int, t: Array, epsilon: float) -> Array:
    """delta of so many coins, for each t: to compare them."""
    spend(20 * len(t) * count)
    heads, up = np.arange(count + 1), _chances(t, bound)[0]
    gap = count * t[:, None] - (count - heads) * bound - epsilon
    chances = np.exp(log_pmf(float(count), up[:, None], heads))
    return (chances * -np.expm1(-np.maximum(gap, 0.0))).sum(axis=1)


def coins(bound: float, count: int, t: float) -> FinitePair:
    """The law of so many coins of this t, rounded down."""
    spend(40 * count)
    (up,), _ = _chances(np.array([t]), bound)
    heads = np.arange(count + 1)
    mass = np.exp(log_pmf(float(count), float(up), heads)) * (1 - np.minimum(pmf_slack(count, float(up), heads), 1.0))
    kept = mass > 0
    losses = count * t - (count - heads) * bound
    room = 8 * UNIT * count * bound  # rounding of t, of p(t) and of the places, all of them lowered
    return FinitePair(losses[kept] - room, mass[kept], 0.0, 0.0, lattice=bound, blur=BLUR)


# -- the recursion ---------------------------------------------------------------------------------------------------


@remembered(16)
def recursion(bound: float, count: int, cells: int) -> FinitePair:
    """A finite pair above so many choices of this range: delta_count at points r/cells apart, joined by lines.

    Each step takes the lines of the last one for its profile, which is above. For a given t the new one is linear in
    e^eps, so the largest over all t is convex, and its values joined by lines are above it.
    """
    bound = bound * (1 + 8 * UNIT)  # the range is a whole number of cells, whatever rounding makes of them
    delta = np.zeros(1)
    for steps in range(1, count + 1):
        spend(steps * cells * cells)
        delta = _step(delta, steps * cells, bound, cells) * (1 + STEP_ROUNDING)
    step = bound / cells
    places = step * np.arange(1, len(delta))
    mirrored = -np.expm1(-places) + np.exp(-places) * delta[1:]
    epsilons, deltas = np.concatenate([-places[::-1], [0.0], places]), np.concatenate([mirrored[::-1], delta])
    return replace(FinitePair.from_profile(epsilons, np.minimum(deltas, 1.0)), lattice=step)


def _step(last: Array, top: int, bound: float, cells: int) -> Array:
    """delta of one choice more, at 0, 1, ..., top cells; below 0 the profile mirrors what is above."""
    step = bound / cells
    above = np.zeros(top + cells + 1)
    above[: len(last)] = last
    places = step * np.arange(cells, 0, -1)
    below = -np.expm1(-places) + np.exp(-places) * above[cells:0:-1]
    profile = np.concatenate([below, above])  # from -cells on
    up, down = _chances(bound - step * np.arange(cells + 1), bound)
    low, high = (sliding_window_view(part, cells + 1) for part in (profile[: top + cells + 1], profile[cells:]))
    best = np.concatenate(
        [(low[k : k + ROWS] * up + high[k : k + ROWS] * down).max(axis=1) for k in range(0, top + 1, ROWS)]
    )
    _raise_inside(best, profile, bound, cells)
    return best


def _raise_inside(best: Array, profile: Array, bound: float, cells: int) -> None:
    """The same where the best t lies between two points.

    With z = e^{eps-t} and both profiles straight over one cell, the mean is C - A z - B/z with A, B >= 0: it is
    largest at z = sqrt(B/A). That moves half as fast as eps, so each cell has it for two or three epsilons only.
    """
    step, top = bound / cells, len(best) - 1
    cell = np.arange(-cells, top)
    low, low_next = profile[: top + cells], profile[1 : top + cells + 1]
    high, high_next = profile[cells:-1], profile[cells + 1 :]
    start = step * cell
    rise, rise_high = (low_next - low), (high_next - high) * math.exp(-bound)
    bend, offset = rise_high - rise, math.expm1(step) * (low - high) - (rise - rise_high * math.exp(bound))
    some = (bend > 0) & (offset > 0)
    ratio = np.log(np.where(some, offset, 1.0)) - np.log(np.where(some, bend, 1.0)) + start
    first = np.floor((2 * start + bound - ratio) / step)
    for shift in range(4):
        row = first + shift
        place = (row * step - bound + ratio) / 2
        t = row * step - place
        inside = some & (row >= 0) & (row <= top) & (place >= start) & (place <= start + step) & (t >= 0) & (t <= bound)
        at = np.flatnonzero(inside)
        share = np.expm1(place[at] - start[at]) / math.expm1(step)
        up, down = _chances(t[at], bound)
        value = up * (low[at] + share * rise[at]) + down * (high[at] + share * (high_next - high)[at])
        np.maximum.at(best, row[at].astype(int), value)
