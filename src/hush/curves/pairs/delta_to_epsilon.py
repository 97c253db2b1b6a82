"""From delta to epsilon: a profile that is known from both sides, solved from both sides."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import Protocol

from hush.curves.interval import Interval, known, largest_loss_between
from hush.numerics.roots import decreasing_root
from hush.numerics.work import attempt

LARGEST_EPSILON = 1e15
"""The search for an epsilon ends here: the floats are then a tenth apart, and a bound of that size says nothing."""
ROOT_WIDTH = 0.01
"""Relative width of the roots, in units of the tolerance. Each end is the side of its root on which it is certified."""
BELOW_LARGEST = (1e-9, 1e-6, 1e-3)
"""Shares below a bound on the largest loss at which delta > 0 is tried; any list is valid."""


class Profiled(Protocol):
    """What the search asks of a pair."""

    @property
    def infinite(self) -> float:
        """P-mass where Q has none."""
        ...

    @property
    def max_loss(self) -> float:
        """Epsilon at delta = 0."""
        ...

    @property
    def written_loss(self) -> Fraction | None:
        """The same where it was stated, in the decimals that were written."""
        ...

    def log_delta(self, epsilon: float, tolerance: float, /) -> Interval:
        """Bounds on log delta(epsilon)."""
        ...


def _largest_loss(pair: Profiled, tolerance: float) -> Interval:
    """Bounds on the largest loss; the lower one is shown by delta > 0 there: what a pair gives may be a bound."""
    low, top = largest_loss_between(max(pair.max_loss, 0.0), pair.written_loss)
    if low == top:
        return low, top
    tried = [low, *(top * (1 - share) for share in BELOW_LARGEST)]

    def reached(loss: float) -> bool:
        return attempt(lambda: pair.log_delta(loss, tolerance)[0], -math.inf) > -math.inf

    return next(filter(reached, tried), 0.0), top


def invert(pair: Profiled, log_delta: float, tolerance: float, floor: float = 0.0) -> Interval:
    """Solve delta(eps) = e^log_delta on the upper and on the lower bound of the profile."""
    if log_delta == -math.inf:
        return _largest_loss(pair, tolerance)
    if pair.infinite > 0 and math.log(pair.infinite) > log_delta:
        return math.inf, math.inf

    @cache
    def profile(epsilon: float) -> Interval:
        return known(attempt(lambda: pair.log_delta(epsilon, tolerance), (-math.inf, 0.0)))

    if floor > 0 and profile(floor)[1] <= log_delta:
        return 0.0, floor
    ends = []
    for side in (0, 1):

        def excess(epsilon: float, side: int = side) -> float:
            return profile(epsilon)[side] - log_delta

        high = max(2 * floor, 1.0)
        while excess(high) > 0 and high < LARGEST_EPSILON:
            high *= 4
        if excess(0.0) <= 0:
            ends.append(0.0)
        elif excess(high) > 0:
            ends.append(math.inf if side else high)
        else:
            ends.append(decreasing_root(excess, 0.0, high, ROOT_WIDTH * tolerance)[side])
    return min(ends), max(ends)
