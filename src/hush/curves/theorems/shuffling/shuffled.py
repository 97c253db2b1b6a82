"""The pair of shuffled local reports: certificates that hold from above, examples that are attained from below."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special

from hush.arrays import Array
from hush.curves.interval import Interval, agreed_epsilon, agreed_log_delta, exact
from hush.curves.pairs import finite_bounds
from hush.curves.pairs.finite import FinitePair
from hush.curves.pairs.pair import Certificates, Pair
from hush.curves.theorems.shuffling.multiset import Multiset, Profile
from hush.errors import InvalidParameter, NotCovered
from hush.numerics.laws.atoms import sampled
from hush.numerics.roots import decreasing_root
from hush.numerics.rounding import UNIT
from hush.numerics.special.binomial_tails import log_pmf, pmf_slack, window
from hush.numerics.work import attempt, part, remembered, room

Named = tuple[tuple[str, Profile], ...]
"""Certificates by name."""

End = Callable[[float, float], float]
"""One end of a profile: (epsilon, tolerance) -> bound on log delta."""

COARSE = 1e-3
"""Tolerance of a first search."""
ONE = 0.02
"""Share of the work for one certificate at one of hundreds of epsilons."""
DEVIATION = 2.5
"""delta(0) of a normal loss is its deviation over 2.5, about."""
FINE, NEAR = 30, 5
"""Points of a lower table to one such deviation, and how far they are that dense; then they grow apart."""
LEAST_LOG = math.log(1e-20)
"""A lower table ends where delta is below: what is beyond is left out."""
DIGITS = 1e-7
"""Tolerance of its points: far below what a profile bends between two of them."""
CELLS = 1500
"""Atoms of an attained pair at the most; more are merged, which can only lose."""


def _bracket(excess: Callable[[float], float], low: float, high: float, factor: float) -> Interval:
    """Neighbouring points of a growing sequence between which the excess turns; infinity where it never does."""
    while excess(high) > 0:
        low, high = high, factor * high
        if high > 1e6:
            return low, math.inf
    return low, high


@dataclass(frozen=True)
class ShuffledPair(Pair):
    """Replacing one of n reports: the least of the bounds above, the largest of what is attained below.

    Either of two neighbours may come first, so the profile below epsilon 0 is the mirror image of that above.
    """

    above: Named
    below: Named
    listed: Named
    """Valid too, but known to be no better; shown by explain."""
    largest: float
    """The largest loss: that of one report."""
    report: Pair
    """What one report reveals without the shuffle."""
    people: int
    bit: tuple[float, float]
    """Chance of a 1 among others and for Q, and for P: one bit of each report, which some data attain."""
    told: Multiset | None = None
    """What some data attain that look alike to either value; it is its own mirror image."""

    @property
    def max_loss(self) -> float:
        return self.largest

    def log_delta(self, epsilon: float, tolerance: float = 1e-9) -> Interval:
        if epsilon < 0:
            return self._mirror(epsilon, self.log_delta(-epsilon, tolerance))
        if epsilon >= self.largest:
            return exact(-math.inf)
        high = self._upper(epsilon, tolerance)
        return agreed_log_delta(self._lower(epsilon, tolerance), high)

    def _upper(self, epsilon: float, tolerance: float) -> float:
        return min(0.0, *(bound.log_delta(epsilon, tolerance)[1] for _, bound in self.above))

    def _quick(self, epsilon: float, tolerance: float) -> float:
        """The same for many epsilons: a certificate that takes much work is left out."""

        def asked(bound: Profile) -> float:
            with part(ONE):
                return bound.log_delta(epsilon, tolerance)[1]

        return min(0.0, *(attempt(lambda b=bound: asked(b), 0.0) for _, bound in self.above))

    def _lower(self, epsilon: float, tolerance: float) -> float:
        return max((bound.log_delta(epsilon, tolerance)[0] for _, bound in self.below), default=-math.inf)

    @staticmethod
    def _mirror(epsilon: float, ends: Interval) -> Interval:
        """delta(-eps) = 1 - e^-eps + e^-eps delta(eps)."""
        low, high = (math.log(-math.expm1(epsilon) + math.exp(epsilon + end)) for end in ends)
        return low - 4 * UNIT, min(high + 4 * UNIT, 0.0)

    def epsilon(self, log_delta: float, tolerance: float = 1e-9, floor: float = 0.0) -> Interval:
        if log_delta == -math.inf:
            return self.largest, self.largest
        if floor > 0 and self._upper(floor, COARSE) <= log_delta:
            return 0.0, floor
        low = self._root(self._lower, log_delta, tolerance)[0]
        high = self._root(self._upper, log_delta, tolerance, low)[1]
        return agreed_epsilon(low, high)

    def epsilon_by(self, bound: Profile, log_delta: float, tolerance: float = 1e-6) -> Interval:
        """What one certificate says: the ends at which its lower and its upper bound on delta cross."""
        ends = [self._root(lambda e, t, k=k: bound.log_delta(e, t)[k], log_delta, tolerance)[k] for k in (0, 1)]
        return min(ends), max(ends)

    def _root(self, profile: End, log_delta: float, tolerance: float, known: float = 0.0) -> Interval:
        """An interval around the least epsilon at which this end of the profile is not above log delta.

        It is not below what is known. First with few digits, which is quick; then with all of them, near there.
        """

        def excess(epsilon: float, accuracy: float = tolerance) -> float:
            return profile(epsilon, accuracy) - log_delta if epsilon < self.largest else -math.inf

        width = 0.1 * tolerance
        if excess(known) <= 0:
            return known, known
        if known and excess((1 + COARSE) * known, COARSE) <= 0:
            if excess(near := (1 + tolerance) * known) <= 0:
                return known, min(near, self.largest)
            return decreasing_root(excess, known, min((1 + COARSE) * known, self.largest), width)
        factor = 1.2 if known else 4.0
        low, high = _bracket(lambda e: excess(e, COARSE), known, max(1e-6, factor * known), factor)
        if high == math.inf:
            return low, high
        low, high = decreasing_root(lambda e: excess(e, COARSE), low, min(high, self.largest), COARSE)
        if tolerance >= COARSE:
            return low, high
        reach = 4 * COARSE * high
        while low > 0 and excess(low) <= 0:
            low, high, reach = max(low - reach, 0.0), low, 4 * reach
        while excess(high) > 0:
            low, high, reach = high, high + reach, 4 * reach
        return decreasing_root(excess, low, min(high, self.largest), width)

    def swap(self) -> Pair:
        return self

    def renyi(self, order: float) -> Interval:
        """From above by the table; no lower end is claimed."""
        return 0.0, min(self._table.renyi(order)[1], self.report.renyi(order)[1])

    @property
    def witnesses(self) -> tuple[FinitePair, ...]:
        """Pairs that some randomizer and data attain; they stay so when they are composed."""
        return (self.witness,) if self.told is None else (table_below(self.told, self.largest), self.witness)

    @cached_property
    def witness(self) -> FinitePair:
        """The one in which everyone else holds one of the two values: a bit of every report."""
        return bit_pair(self.people, *self.bit)

    def profile_points(self) -> tuple[Array, Array]:
        """The same points on either side of 0, and mirrored values: a table of them is symmetric."""
        return self._points

    @cached_property
    def _points(self) -> tuple[Array, Array]:
        reach = self._root(self._quick, math.log(1e-13), 1e-2)[1]
        if not math.isfinite(reach):
            raise NotCovered("a table of this profile needs a finite epsilon at delta 1e-13")
        places = reach * np.concatenate([np.linspace(0, 1.1, 181), np.geomspace(1e-3, 0.1, 20)])
        epsilons = np.unique(places[places < self.largest])
        deltas = sampled(lambda e: math.exp(self._quick(e, COARSE)), epsilons)
        if math.isfinite(self.largest):
            epsilons, deltas = np.append(epsilons, self.largest), np.append(deltas, 0.0)
        mirrored = -np.expm1(-epsilons[:0:-1]) + np.exp(-epsilons[:0:-1]) * deltas[:0:-1]
        return np.concatenate([-epsilons[:0:-1], epsilons]), np.concatenate([mirrored, deltas])

    @cached_property
    def _table(self) -> FinitePair:
        return FinitePair.from_profile(*self._points)

    def certificates(self, log_delta: float) -> Certificates:
        """Every theorem on its own, then what is attained, then no theorem at all."""
        named = dict((*self.above, *self.listed))
        found: list[tuple[str, Callable[[], Interval]]] = []
        for name, bound in named.items():
            found.append((name, lambda bound=bound: (0.0, self.epsilon_by(bound, log_delta)[1])))
        if math.isfinite(self.largest):
            closed = lambda: (0.0, clone_closed_form(self.largest, self.people, math.exp(log_delta)))  # noqa: E731
            found.append(("clone, closed form", closed))
        for name, bound in self.below:
            found.append((f"{name} (from below)", lambda bound=bound: (self.epsilon_by(bound, log_delta)[0], math.inf)))
        if "unshuffled" not in named:
            found.append(("unshuffled", lambda: self.report.epsilon(log_delta, 1e-6)))
        return tuple(found)


@remembered(8)
def table_below(told: Multiset, largest: float) -> FinitePair:
    """A finite pair below one that is its own mirror image, from its profile at many epsilons.

    >>> from hush.curves.theorems.shuffling.multiset import others_elsewhere
    >>> told = others_elsewhere(1.0, 0.2, 100)
    >>> 0 < told.log_delta(0.1)[0] - table_below(told, 1.0).log_delta(0.1)[1] < 1e-2
    True
    """
    width = min(DEVIATION * math.exp(told.log_delta(0.0, COARSE)[0]), 1.0)
    reaches = (width * 1.3**k for k in range(1, 60))
    end = next((r for r in reaches if r >= largest or told.log_delta(r, COARSE)[1] < LEAST_LOG), 1.0)
    growth = np.exp(np.arange(0, max(math.log(end / (NEAR * width)), 0.0) + 0.05, 1 / FINE))
    step = width / FINE
    places = np.unique(np.append(np.arange(NEAR * FINE), np.round(NEAR * FINE * growth)))
    found = [told.log_delta(step * k, DIGITS) for k in places]
    low, high = (np.exp([ends[side] for ends in found]) for side in (0, 1))
    mirror = np.exp(-step * places[:0:-1])
    losses = step * np.concatenate([-places[:0:-1], places])
    low, high = (np.concatenate([mirror * side[:0:-1], side]) for side in (low, high))
    return finite_bounds.below(losses, low, high, step)


def bit_pair(people: int, among_others: float, with_record: float) -> FinitePair:
    """n reported bits, 1 with the chance `among_others`, but P's record with `with_record`; merged to few atoms.

    >>> round(bit_pair(1, 0.25, 0.75).max_loss, 9)
    1.098612289
    """
    low, high = window(people - 1, among_others, -60.0)  # e^-60 is left out on each side, which lowers the pair
    room(high - low, 60)
    counts = np.arange(low, high + 2, dtype=float)
    same = np.exp(log_pmf(people - 1, among_others, counts))
    more = np.exp(log_pmf(people - 1, among_others, counts - 1))
    with_it = (1 - with_record) * same + with_record * more
    without = (1 - among_others) * same + among_others * more
    starts = np.unique(np.linspace(0, len(counts), min(CELLS, len(counts)), endpoint=False).astype(int))
    # what rounding may have added to P and taken from Q is taken off again: the pair must stay below. A sum of positive
    # terms is off by a unit per term at the most
    far = np.maximum(*(pmf_slack(people - 1, among_others, counts - k) for k in (0, 1)))
    wrong = far + UNIT * (8 + len(counts) / len(starts) + 1)
    p = np.add.reduceat(with_it * (1 - np.minimum(wrong, 1.0)), starts)
    q = np.add.reduceat(without * (1 + wrong), starts)
    kept = (p > 1e-200) & (q > 1e-200)  # atoms that are left out of both laws lower delta
    return FinitePair.of(p[kept], q[kept])


@dataclass(frozen=True)
class HoeffdingBlanket:
    """The generic blanket bound with Hoeffding's inequality: Balle, Bell, Gascón, Nissim 2019, Thm 5.3's proof.

    delta <= (1/(g n)) E_{m ~ Bin(n, g)} int_0^inf exp(-2 (t + m a)^2/(m b^2)) dt with a = e^eps - 1 and
    b = G (e^eps0 - 1)(1 + e^eps). The blanket's mass is at least g = e^-eps0 and at most G = 1. One number
    may stand for both only where it is the mass itself, `mass`.
    """

    epsilon0: float
    people: int
    mass: float | None = None

    def log_delta(self, epsilon: float, tolerance: float = 1e-9) -> Interval:  # noqa: ARG002
        least, most = (math.exp(-self.epsilon0), 1.0) if self.mass is None else (self.mass, self.mass)
        a = math.expm1(epsilon)
        b = most * math.expm1(self.epsilon0) * (1 + math.exp(epsilon))
        # what lies outside the window is charged below; -680 is as deep as floats go
        cut = -60.0 - 2 * a * a / (b * b) * self.people
        low, high = window(self.people, least, max(cut, -680.0))
        room(high - low, 40)
        m = np.arange(max(low, 1), high + 1, dtype=float)
        z = a / b * np.sqrt(2 * m)
        log_integral = math.log(b) + 0.5 * np.log(m * math.pi / 8) + np.log(special.erfcx(z)) - z * z
        terms = log_pmf(self.people, least, m) + log_integral
        weights = np.exp(terms - terms.max())
        body = float(terms.max()) + math.log(float(weights.sum()))
        # z is off by a few units of itself, and log erfc(z) by 2z + 1 times that; numpy adds in pairs
        wrong = pmf_slack(self.people, least, m) + UNIT * (200 + 16 * z * z + 4 * np.abs(terms))
        body += float(weights @ wrong) / float(weights.sum())
        outside = math.log(2 * b) + 0.5 * math.log(self.people) + max(cut, -680.0)
        total = float(np.logaddexp(body, outside)) - math.log(least) - math.log(self.people)
        return -math.inf, min(total + 8 * UNIT * (abs(body) + abs(total) + 1 - math.log(least)), 0.0)


def clone_closed_form(epsilon0: float, people: int, delta: float) -> float:
    """Feldman, McMillan, Talwar 2021, Thm 3.1: epsilon in closed form, for comparison.

    >>> clone_closed_form(1.0, 10_000, 1e-6)
    0.21402...
    """
    if not 0 < delta < 1:
        raise InvalidParameter("clone_closed_form", "0 < delta < 1", delta=delta)
    limit = people / (16 * math.log(4 / delta))
    if limit <= 1 or epsilon0 > math.log(limit):
        raise NotCovered(
            "the closed form needs epsilon0 <= log(people/(16 log(4/delta))); the clone pair has no such limit"
        )
    growth = math.exp(epsilon0)
    inner = 8 * math.sqrt(growth * math.log(4 / delta) / people) + 8 * growth / people
    return math.log1p((growth - 1) / (growth + 1) * inner)
