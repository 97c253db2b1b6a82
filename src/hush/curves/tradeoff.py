"""Trade-off curves (f-DP): the least false negative rate of an attacker at a false positive rate."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hush.curves.pair import Interval

LogProfile = Callable[[float], Interval]
"""epsilon -> bounds on log delta(epsilon), for every real epsilon."""

ROUNDING = 1e-15


def profile_to_tradeoff(log_delta: LogProfile, rate: float) -> Interval:
    """Bounds on inf of the false negative rate, testing Q (null) against P at a false positive rate.

    Dong, Roth, Su 2022, Prop. 2.13: sup over eps of 1 - delta(eps) - e^eps rate; any eps gives a valid lower
    bound from delta's upper bound, the best eps of delta's lower bound gives the upper one.
    """
    if rate >= 1:
        return 0.0, 0.0

    def value(epsilon: float, side: int) -> float:
        return 1 - math.exp(log_delta(epsilon)[side]) - rate * math.exp(min(epsilon, 700.0))

    best, top = _maximise(lambda e: value(e, 1))
    ceiling = 1 - rate
    for width in (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0):
        ceiling = min(ceiling, _ceiling(value, best, width))
        if ceiling < 1 - rate:
            break
    low = min(max(top, 0.0), 1 - rate)
    return low, max(low, min(max(ceiling, 0.0), 1 - rate))


def _ceiling(value: Callable[[float, int], float], best: float, width: float) -> float:
    """Upper bound on the supremum of a function concave in t = e^eps, known from both sides at five points.

    Right of b it is below its value there, once the middle is certainly higher; left of a it is below the chord from
    the middle, prolonged; inside, the chords of the neighbouring intervals, prolonged, lie above it.
    """
    a, b = best - width, best + width
    at_a, at_b, middle = value(a, 0), value(b, 0), value(best, 1)
    if not middle >= at_b:
        return math.inf
    ta, tb = math.exp(a), math.exp(b)
    left = at_a + ta * max(0.0, at_a - middle) / (math.exp(best) - ta)
    rise = max(0.0, (at_a - value(a - width, 1)) / (ta - math.exp(a - width)))
    fall = max(0.0, (at_b - value(b + width, 1)) / (math.exp(b + width) - tb))
    return max(left, min(at_a + rise * (tb - ta), at_b + fall * (tb - ta)))


def _maximise(function: Callable[[float], float]) -> tuple[float, float]:
    """Maximum of a function that is concave in e^x: a scan that widens, then golden section."""
    points = [-40.0, -20.0, -10.0, -5.0, -2.0, -1.0, -0.3, 0.0, 0.3, 1.0, 2.0, 5.0, 10.0, 20.0, 40.0]
    values = [function(x) for x in points]
    while max(values) == values[-1] and points[-1] < 1e9:
        points.append(points[-1] * 2)
        values.append(function(points[-1]))
    best = max(range(len(points)), key=values.__getitem__)
    low, high = points[max(best - 1, 0)], points[min(best + 1, len(points) - 1)]
    ratio = (math.sqrt(5) - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = function(left), function(right)
    peak, place = values[best], points[best]
    for _ in range(40):
        if at_left > at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = function(right)
        for point, reached in ((left, at_left), (right, at_right)):
            if reached > peak:
                peak, place = reached, point
        if high - low < 1e-7 * max(1.0, abs(high)):
            break
    return place, peak


def profile_to_tradeoff_curve(
    log_delta: LogProfile, rates: np.ndarray, epsilons: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Bounds on the least false negative rate at every false positive rate, from one pass over the profile.

    Dong, Roth, Su 2022, Prop. 2.13: f(rate) = sup over t = e^eps > 0 of 1 - delta - t rate. Every eps gives a valid
    lower bound. delta is convex and decreasing in t, and at least 1 - t: a polygon below it, whose corners are
    its known points and where the neighbouring chords meet, gives the upper one, attained at a corner.

    >>> flat = lambda epsilon: (math.log(-math.expm1(epsilon)),) * 2 if epsilon < 0 else (-math.inf, -math.inf)
    >>> [x.tolist() for x in profile_to_tradeoff_curve(flat, np.array([0.25]), np.array([-1.0, -0.5, 0.0, 0.5, 1.0]))]
    [[0.7499999...], [0.75]]
    """
    t = np.exp(epsilons)
    known = np.array([log_delta(epsilon) for epsilon in epsilons.tolist()])
    below, above = np.exp(known[:, 0]), np.exp(known[:, 1])
    # the shapes hold for the true curve, so each side may be made to have them too
    below = np.maximum(np.maximum.accumulate(below[::-1])[::-1], np.maximum(1 - t, 0.0))
    above = np.minimum.accumulate(np.minimum(above, 1.0))
    corners_t, corners = _corners(t, below, np.maximum(above, below))
    ends_t, ends = np.array([t[0], t[-1]]), np.array([1 - t[0], 0.0])
    all_t, all_delta = np.concatenate([t, corners_t, ends_t]), np.concatenate([below, corners, ends])
    # where the maximum is, each of the terms is at most 1: a few roundings of 1e-16
    upper = np.max(1 - all_delta - np.multiply.outer(rates, all_t), axis=-1) + ROUNDING
    lower = np.max(1 - above - np.multiply.outer(rates, t), axis=-1) - ROUNDING
    lower = np.clip(lower, 0.0, 1 - rates)
    return lower, np.maximum(lower, np.clip(upper, 0.0, 1 - rates))


def _corners(t: np.ndarray, below: np.ndarray, above: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """In each cell, where the lines that prolong the chords on its two sides meet: the least that delta can be there.

    Right of a point a convex curve is above the chord prolonged from the left of it; with delta known only
    between bounds, the least such line goes through the lower bound here and the upper bound there.
    """
    left_t, right_t = t[:-1], t[1:]
    from_left, from_right = below[:-1], below[1:]
    falling = np.full(len(left_t), -math.inf)
    falling[1:] = (below[1:-1] - above[:-2]) / (t[1:-1] - t[:-2])
    rising = np.zeros(len(left_t))
    rising[:-1] = np.minimum((above[2:] - below[1:-1]) / (t[2:] - t[1:-1]), 0.0)
    # the first line is l(x) = from_left + falling (x - left_t), the second r(x) = from_right + rising (x - right_t)
    with np.errstate(invalid="ignore", divide="ignore"):
        place = (from_right - from_left + falling * left_t - rising * right_t) / (falling - rising)
    place = np.clip(np.where(np.isfinite(place), place, left_t), left_t, right_t)
    return place, from_right + rising * (place - right_t)
