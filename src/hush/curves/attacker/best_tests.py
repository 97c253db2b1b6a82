"""The best tests between the two laws of a pair: a trade-off curve, refined until both of its sides are near."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hush.arrays import Array
from hush.curves.interval import Interval
from hush.curves.pairs.pair import Pair
from hush.curves.renyi.curve import RenyiCurve
from hush.curves.tradeoff import Ends, KnownProfile, NormalTradeoff, Profile, Tradeoff, complements
from hush.numerics.work import QUESTION, Exhausted, kept

GOAL, SHARE = 5e-7, 1e-4
"""How far apart the two sides of a curve may stay: 5e-7, and 1e-4 of either rate of hits where that is less."""
FINEST = 1e-12
"""The least distance that is asked for: rounding leaves not much less."""
NOISY = 3.0
"""A cell is not split where its gap is at most so many times the width of what is known at its ends."""
NARROWEST = 1e-10
"""Cells of epsilon that are narrower than this, relatively, are not split."""
MOST_PIECES, ROUNDS, MOST_POINTS = 16, 14, 12_000
"""Pieces of a cell in one round, rounds, and points of a curve: a smooth one needs two thousand."""
SCALE = 1e-9
"""Epsilons are spread evenly on a scale that is linear up to this size and logarithmic beyond."""
STARTS = np.array([0.0, 0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 40.0])
"""The first epsilons, of either sign. At -40 the curve is within e^-40 of its end."""
FARTHEST = 700.0
"""The last epsilon: for rates from e^-690 on, larger ones say nothing."""
MOST_KINKS = 2000
"""A profile with more kinks is refined as a smooth one."""
SHARE_OF_WORK = 0.2
"""Of what a question may cost, the part that one curve may: a mechanism has two, and a few more that are attained."""
MOST_KEPT = 8
"""Curves that are kept: two mechanisms, each with its directions and their mirror images, of up to 30 MB each."""
NEAR_POINTS = 33
"""Points about the best epsilon that sharpen the answer at one rate: the gap falls with the square of their number."""
FLOOR_ROUNDING = 1e-12
"""Relative room for the rounding of a mass of infinite losses."""


@dataclass(frozen=True, eq=False)
class ProfileTests:
    """The tests between two laws whose profile can be asked at any epsilon."""

    known: KnownProfile
    profile: Profile | None
    """For more epsilons; None where asking takes long, or less once it was asked: no answer may depend on that."""

    @property
    def bends(self) -> Array:
        return self.known.bends

    def at(self, rates: Array) -> Ends:
        return self.known.at(rates)

    def at_rate(self, rate: float) -> Interval:
        """From more epsilons near the best one."""
        rates, known = np.array([rate]), self.known
        first = known.at(rates)
        if self.profile is None or not 0 < rate < 1:
            return float(first[0][0]), float(first[1][0])
        place = int(np.argmax(1 - known.above - known.t * rate))
        low, high = max(place - 1, 0), min(place + 1, len(known.t) - 1)
        near = _spread(known.epsilons[low], known.epsilons[high], NEAR_POINTS)
        try:
            more = known.joined(KnownProfile.of(self.profile, near, known.floor)).at(rates)
        except (Exhausted, ArithmeticError):
            more = first
        least, most = max(float(first[0][0]), float(more[0][0])), min(float(first[1][0]), float(more[1][0]))
        return min(least, most), most


def best_tests(pair: Pair) -> Tradeoff:
    """The trade-off curve of testing Q (null) against P.

    >>> from hush.curves.pairs.finite import FinitePair
    >>> lie = best_tests(FinitePair.of([0.75, 0.25], [0.25, 0.75])).at(np.array([0.25]))
    >>> round(float(lie[0][0]), 12), round(float(lie[1][0]), 12)
    (0.25, 0.25)
    """
    return NormalTradeoff(pair.distance) if pair.distance is not None else _profile_tests(pair)


@kept(MOST_KEPT, SHARE_OF_WORK * QUESTION)
def _profile_tests(pair: Pair) -> ProfileTests:
    profile = pair.profile()
    floor = 0.0 if pair.cut else pair.infinite * (1 - FLOOR_ROUNDING)
    known = KnownProfile.of(profile, _first_epsilons(pair), floor)
    for _ in range(ROUNDS):
        new = _between(known)
        if not len(new) or len(known.t) + len(new) > MOST_POINTS:
            break
        try:
            known = known.joined(KnownProfile.of(profile, new, floor))
        except (Exhausted, ArithmeticError):
            break
    return ProfileTests(known.convex(), profile if pair.analytic else None)


def _first_epsilons(pair: Pair) -> Array:
    kinks = pair.kinks
    kinks = kinks[np.abs(kinks) < FARTHEST] if len(kinks) <= MOST_KINKS else kinks[:0]
    # between two kinks the profile is a line, which a third point on it shows
    middles = (kinks[1:] + kinks[:-1]) / 2
    return np.unique(np.concatenate([-STARTS, STARTS, [150.0, FARTHEST], kinks, middles]))


def _between(known: KnownProfile) -> Array:
    """Epsilons inside the cells whose gap is too large: their corners, where a kink would be, and even pieces."""
    gap = known.gaps
    hits = known.errors[1]
    goal = np.maximum(np.minimum(GOAL, SHARE * np.minimum(hits, 1 - hits)), FINEST)
    width = known.above - known.below
    noise = np.maximum(width[:-1], width[1:])
    left, right = known.epsilons[:-1], known.epsilons[1:]
    wide = right - left > NARROWEST * np.maximum(np.abs(left), np.abs(right)) + SCALE * NARROWEST
    chosen = ((gap > goal) & (gap > NOISY * noise) & wide).nonzero()[0]
    pieces = np.clip(np.ceil(np.sqrt(gap[chosen] / goal[chosen])), 2, MOST_PIECES).astype(int)
    even = [_spread(left[i], right[i], k + 1)[1:-1] for i, k in zip(chosen.tolist(), pieces.tolist(), strict=True)]
    corners = np.log(np.maximum(known.corners[0][chosen], math.exp(-FARTHEST)))
    corners = corners[(corners > left[chosen]) & (corners < right[chosen])]
    return np.setdiff1d(np.concatenate([corners, *even]), known.epsilons)


def _spread(low: float, high: float, points: int) -> Array:
    """So many epsilons from low to high: evenly by size near 0, by their logarithms far from it."""
    ends = math.asinh(low / SCALE), math.asinh(high / SCALE)
    return np.clip(SCALE * np.sinh(np.linspace(*ends, points)), low, high)


@dataclass(frozen=True, eq=False)
class RenyiTradeoff:
    """What a Rényi curve says of the errors: lower bounds, and above them what holds always."""

    curve: RenyiCurve

    @property
    def bends(self) -> Array:
        small = np.geomspace(1e-6, 0.5, 20)
        return np.concatenate([small, 1 - small])

    def at(self, rates: Array) -> Ends:
        least, most = complements(rates)
        low = np.array([self.curve.tradeoff(false_positive_rate=float(rate)) for rate in rates])
        return np.clip(low, 0.0, least), most

    def at_rate(self, rate: float) -> Interval:
        low, high = self.at(np.array([rate]))
        return float(low[0]), float(high[0])
