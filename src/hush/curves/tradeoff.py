"""Trade-off curves (f-DP): the least false negative rate of an attacker at a false positive rate."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy import special

from hush.arrays import Array
from hush.curves.interval import Interval
from hush.errors import Contradiction
from hush.numerics.rounding import UNIT
from hush.numerics.work import spend

Ends = tuple[Array, Array]
"""Lower and upper bounds, one of each per rate or epsilon."""
Profile = Callable[[Array], Ends]
"""epsilons -> bounds on delta at each, for every real epsilon."""

RATE_ROUNDING = 1e-15
"""Of 1 - delta - e^eps rate, where both are at most 1: five operations, each off by half of 2.2e-16 at the most."""
TAIL_ROUNDING = 64 * UNIT
"""Relative error of a normal tail at x, per 1 + x^2: a dozen operations, and an exponential of x^2/2."""
CROSSING = 1e-9
"""Bounds on a probability may cross by this: rounding is far less, and a wrong certificate far more."""
MOST_PAIRS = 1 << 20
"""Products of a rate and a point that are held at once."""


class Tradeoff(Protocol):
    """The least false negative rate against the false positive rate: convex and falling, known from both sides."""

    @property
    def bends(self) -> Array:
        """Rates between which the curve is well seen: where it bends, if it is made of lines."""
        ...

    def at(self, rates: Array) -> Ends:
        """Bounds on the least false negative rate at each false positive rate."""
        ...

    def at_rate(self, rate: float) -> Interval:
        """The same at one rate, as narrow as can be."""
        ...


def complement(rate: float) -> Interval:
    """1 - rate from below and above: the floats on both sides of it, where it is not a float itself.

    >>> complement(0.25), complement(1e-20)
    ((0.75, 0.75), (0.9999999999999999, 1.0))
    """
    rest = 1 - rate
    if 1 - rest == rate:  # this difference is exact (Sterbenz), as rest >= 1/2 wherever it was rounded
        return rest, rest
    return math.nextafter(rest, 0.0), min(math.nextafter(rest, 1.0), 1.0)


def complements(rates: Array) -> Ends:
    """The same for many rates."""
    rest = 1 - rates
    exact = 1 - rest == rates
    return np.where(exact, rest, np.nextafter(rest, 0.0)), np.where(exact, rest, np.nextafter(rest, 1.0))


@dataclass(frozen=True, eq=False)
class KnownProfile:
    """A profile that is known from both sides at some epsilons, as a trade-off curve.

    Dong, Roth, Su 2022, Prop. 2.13: f(rate) = sup over t = e^eps > 0 of 1 - delta - t rate. Every eps gives a valid
    lower bound: a line. delta is convex in t and falls with a slope from -1 to 0: a polygon below it, whose corners are
    its known points and where the neighbouring chords meet, gives the upper bound, attained at a corner.

    >>> flat = KnownProfile.of(lambda e: (np.maximum(-np.expm1(e), 0.0),) * 2, np.array([-1.0, -0.5, 0.0, 0.5, 1.0]))
    >>> [ends.tolist() for ends in flat.at(np.array([0.25]))]
    [[0.7499999...], [0.75]]
    """

    epsilons: Array
    """Increasing, from -700 to 700."""
    below: Array
    above: Array
    floor: float = 0.0
    """What no delta is below: the mass of infinite losses."""

    @classmethod
    def of(cls, profile: Profile, epsilons: Array, floor: float = 0.0) -> KnownProfile:
        """The profile at these epsilons."""
        below, above = profile(epsilons)
        refuse_crossing(below, above)
        t = np.exp(epsilons)
        apart = np.concatenate([[True], np.diff(t) > 0])  # epsilons below rounding have the same t
        epsilons, below, above, t = (part[apart] for part in (epsilons, below, above, t))
        # the shapes hold for the true curve, so each side may be made to have them too
        below = np.maximum(np.maximum.accumulate(below[::-1])[::-1], np.maximum(1 - t - UNIT, floor))
        above = np.minimum.accumulate(np.minimum(above, 1.0))
        return cls(epsilons, below, np.maximum(above, below), floor)

    def joined(self, other: KnownProfile) -> KnownProfile:
        """All that both know."""
        epsilons, places = np.unique(np.concatenate([self.epsilons, other.epsilons]), return_index=True)
        below, above = (
            np.concatenate([a, b])[places] for a, b in ((self.below, other.below), (self.above, other.above))
        )
        return KnownProfile.of(lambda _: (below, above), epsilons, max(self.floor, other.floor))

    def convex(self) -> KnownProfile:
        """The same with upper bounds that are convex in t, as delta is: none is above a chord of two others."""
        corners: list[tuple[float, float]] = []
        for x, y in zip(self.t.tolist(), self.above.tolist(), strict=True):
            while len(corners) > 1 and _is_above(corners[-1], corners[-2], (x, y)):
                corners.pop()
            corners.append((x, y))
        chords = np.interp(self.t, *np.array(corners).T) * (1 + 4 * UNIT)
        return KnownProfile(
            self.epsilons, self.below, np.maximum(np.minimum(self.above, chords), self.below), self.floor
        )

    @cached_property
    def t(self) -> Array:
        """e^epsilon."""
        return np.exp(self.epsilons)

    @cached_property
    def corners(self) -> Ends:
        """In each cell, where the lines that prolong the chords on its two sides meet, and the least delta there.

        Right of a point a convex curve is above the chord prolonged from the left of it; with delta known only
        between bounds, the least such line goes through the lower bound here and the upper bound there.
        """
        t, below, above = self.t, self.below, self.above
        left_t, right_t, step = t[:-1], t[1:], np.diff(t)
        falling, rising = np.full(len(step), -1.0), np.zeros(len(step))
        falling[1:] = np.maximum((below[1:-1] - above[:-2]) / step[:-1], -1.0)
        rising[:-1] = np.minimum((above[2:] - below[1:-1]) / step[1:], 0.0)
        # the first line is below[i] + falling (x - left_t), the second below[i + 1] + rising (x - right_t)
        steeper = falling < rising
        slope = np.where(steeper, falling - rising, -1.0)
        meeting = (below[1:] - below[:-1] + falling * left_t - rising * right_t) / slope
        place = np.clip(np.where(steeper, meeting, left_t), left_t, right_t)
        depth = np.maximum(below[1:] + rising * (place - right_t), below[:-1] + falling * (place - left_t))
        # a chord is prolonged from a cell of one width into one of another, and its rounding grows by their ratio
        grown = np.ones(len(step))
        grown[1:] += step[1:] / step[:-1]
        grown[:-1] = np.maximum(grown[:-1], 1 + step[:-1] / step[1:])
        least = np.maximum(np.minimum(depth, below[:-1]) - 16 * UNIT * grown, self.floor)
        return place, np.maximum(least, np.maximum(1 - place - 4 * UNIT, 0.0))

    @cached_property
    def gaps(self) -> Array:
        """For each cell, how far apart the two bounds can be at the rates whose best test has its loss there.

        Where the upper bound comes from the cell's corner, the lower one is at least what the chord above it gives.
        """
        place, least = self.corners
        share = (place - self.t[:-1]) / np.diff(self.t)
        chord = (1 - share) * self.above[:-1] + share * self.above[1:]
        width = self.above - self.below
        return np.maximum(np.maximum(chord - least, 0.0), np.maximum(width[:-1], width[1:]))

    @cached_property
    def errors(self) -> Ends:
        """About the false and the true positive rate of the test of each cell."""
        rate = np.clip(-np.diff(self.above) / np.diff(self.t), 0.0, 1.0)
        return rate, np.clip(self.above[:-1] + self.t[:-1] * rate, 0.0, 1.0)

    @property
    def bends(self) -> Array:
        return self.errors[0]

    @cached_property
    def _polygon(self) -> Ends:
        """Corners of a polygon below delta: e^epsilon and delta, one past each end included."""
        place, least = self.corners
        ends_t, ends = np.array([self.t[0], self.t[-1]]), np.array([max(1 - self.t[0], 0.0), self.floor])
        return np.concatenate([self.t, place, ends_t]), np.concatenate([self.below, least, ends])

    def at(self, rates: Array) -> Ends:
        corners_t, corners = self._polygon
        spend(4 * len(rates) * len(corners_t))
        # where the maximum is, each of the terms is at most 1: a few roundings of 1e-16
        doubt = np.where(rates > 0, RATE_ROUNDING, 0.0)
        lower = _highest(self.t, self.above, rates) - doubt - UNIT * (self.above[-1] > 0)
        upper = _highest(corners_t, corners, rates) + doubt + UNIT * (self.floor > 0)
        least, most = complements(rates)
        lower = np.clip(lower, 0.0, least)
        refuse_crossing(lower, upper)
        return lower, np.maximum(lower, np.clip(upper, 0.0, most))


def refuse_crossing(low: Array, high: Array) -> None:
    """Ends that were found in different ways may cross by rounding; by more, one of them is wrong."""
    wrong = ~(low <= high + CROSSING)  # so too where one of them is no number
    if np.any(wrong):
        place = int(np.argmax(wrong))
        raise Contradiction(float(low[place]), float(high[place]))


def _is_above(point: tuple[float, float], left: tuple[float, float], right: tuple[float, float]) -> bool:
    """Whether the point lies on or above the chord from left to right."""
    return (point[1] - left[1]) * (right[0] - left[0]) >= (right[1] - left[1]) * (point[0] - left[0])


def _highest(t: Array, delta: Array, rates: Array) -> Array:
    """max over the points of 1 - delta - t rate, at each rate."""
    size = max(MOST_PAIRS // len(t), 1)
    parts = [
        np.max((1 - delta) - np.multiply.outer(rates[start : start + size], t), axis=-1)
        for start in range(0, len(rates), size)
    ]
    return np.concatenate(parts) if parts else np.empty(0)


@dataclass(frozen=True)
class NormalTradeoff:
    """N(distance, 1) against N(0, 1): Phi(x - distance), where Phi(-x) is the rate (Dong, Roth, Su 2022, Def. 2.6).

    Any x is a test. One whose rate is certainly not above the one that is asked for bounds from above, one whose rate
    is certainly not below it from below.

    >>> NormalTradeoff(1.0).at(np.array([0.05]))[0].tolist()
    [0.74048...]
    """

    distance: float

    @property
    def bends(self) -> Array:
        x = np.linspace(-8.0, 8.0, 257) + self.distance / 2
        return special.ndtr(-x)

    def at(self, rates: Array) -> Ends:
        spend(200 * len(rates))
        least, most = complements(rates)
        inside = (rates > 0) & (rates < 1)
        low, high = np.zeros(len(rates)), most.copy()
        ends = [self._tested(rates[inside], least[inside], most[inside], side) for side in (-1, 1)]
        low[inside], high[inside] = np.minimum(ends[0], least[inside]), np.minimum(ends[1], most[inside])
        low[rates == 0] = 1.0
        return low, np.maximum(low, high)

    def at_rate(self, rate: float) -> Interval:
        low, high = self.at(np.array([rate]))
        return float(low[0]), float(high[0])

    def _tested(self, rates: Array, least: Array, most: Array, side: int) -> Array:
        """Bound on the false negatives of a test with about these rates, on one side of them; else what holds always.

        Below 1/2 the rate is compared, above it what is left of 1, so that neither loses digits.
        """
        small = rates <= 0.5
        rest = np.maximum(most if side > 0 else least, UNIT * 2.0**-20)
        x = np.where(small, -special.ndtri(np.minimum(rates, 0.5)), special.ndtri(np.minimum(rest, 0.5)))
        x = x + side * TAIL_ROUNDING * (1 + x * x) * np.where(np.abs(x) > 1, 1 / np.maximum(np.abs(x), 1.0), 2.0)
        doubt = TAIL_ROUNDING / 4 * (1 + x * x)
        tail = special.log_ndtr(np.where(small, -x, x))
        wanted = np.log(np.where(small, rates, rest))
        # up: Phi(-x) <= rate, or Phi(x) >= 1 - rate; down: the other way
        proven = np.where(small, side, -side) * (tail - wanted) <= -doubt
        z = x - self.distance
        relative = TAIL_ROUNDING * (1 + z * z + np.abs(z) * (np.abs(x) + self.distance))
        missed = special.ndtr(z) * np.maximum(1 + side * relative, 0.0)
        return np.where(proven, np.maximum(missed, math.ulp(0.0) if side > 0 else 0.0), most if side > 0 else 0.0)
