"""Trade-off curves (f-DP): the least false negative rate of an attacker at a false positive rate."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hush.curves.interval import Interval, known
from hush.numerics.rounding import UNIT
from hush.numerics.work import attempt

LogProfile = Callable[[float], Interval]
"""epsilon -> bounds on log delta(epsilon), for every real epsilon."""

RATE_ROUNDING = 1e-15
"""Of 1 - delta - e^eps rate, where both are at most 1: five operations, each off by half of 2.2e-16 at the most."""
AWAY, FAR, POINTS = 60.0, 700.0, 241
"""Epsilons that say all of a profile: e^-60 is far below rounding, e^700 is near the largest float; and how many."""
WIDTHS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)


def profile_to_tradeoff(log_delta: LogProfile, rate: float) -> Interval:
    """Bounds on inf of the false negative rate, testing Q (null) against P at a false positive rate.

    Dong, Roth, Su 2022, Prop. 2.13: sup over eps of 1 - delta(eps) - e^eps rate; any eps gives a valid lower
    bound from delta's upper bound, the best eps of delta's lower bound gives the upper one.
    """
    least, most = complement(rate)
    if rate >= 1:
        return least, most

    def value(epsilon: float, side: int) -> float:
        """The function at one epsilon, rounded down where delta is its upper bound, up where it is the lower one."""
        end = known(attempt(lambda: log_delta(epsilon), (-math.inf, 0.0)))[side]
        cost = _cost(epsilon, rate)
        # without a rate the values are those of delta alone, whose order rounding keeps
        doubt = RATE_ROUNDING + 8 * UNIT * (1 + abs(epsilon)) * cost if rate > 0 else 0.0
        return 1 - math.exp(end) - cost + (-doubt if side else doubt)

    best, top = _maximise(lambda e: value(e, 1))
    if rate == 0 and log_delta(best)[1] == -math.inf:  # nothing was rounded
        return least, most
    ceiling = most
    for width in WIDTHS:
        ceiling = min(ceiling, _ceiling(value, best, width) + RATE_ROUNDING)
        if ceiling < most:
            break
    low = min(max(top - RATE_ROUNDING, 0.0), least)
    if ceiling >= most and low < least and rate > math.exp(2 - FAR):
        ceiling = attempt(lambda: _from_afar(log_delta, rate), most)
    return low, max(low, min(max(ceiling, 0.0), most))


def _from_afar(log_delta: LogProfile, rate: float) -> float:
    """An upper bound from the whole profile, where near the best epsilon rounding hides the shape of it."""
    epsilons = np.linspace(-AWAY, max(AWAY, 2 - math.log(rate)), POINTS)
    return float(profile_to_tradeoff_curve(log_delta, np.array([rate]), epsilons)[1][0])


def complement(rate: float) -> Interval:
    """1 - rate from below and above: the floats on both sides of it, where it is not a float itself.

    >>> complement(0.25), complement(1e-20)
    ((0.75, 0.75), (0.9999999999999999, 1.0))
    """
    rest = 1 - rate
    if 1 - rest == rate:  # this difference is exact (Sterbenz), as rest >= 1/2 wherever it was rounded
        return rest, rest
    return math.nextafter(rest, 0.0), min(math.nextafter(rest, 1.0), 1.0)


def _cost(epsilon: float, rate: float) -> float:
    """e^epsilon rate, also where e^epsilon is past all floats."""
    if epsilon <= 700 or rate == 0:
        return rate * math.exp(min(epsilon, 700.0))
    return math.exp(min(epsilon + math.log(rate), 700.0))


def _ceiling(value: Callable[[float, int], float], best: float, width: float) -> float:
    """Upper bound on the supremum of a function concave in t = e^eps, known from both sides at five points.

    Right of b it is below its value there, once the middle is certainly higher; left of a it is below the chord from
    the middle, prolonged; inside, the chords of the neighbouring intervals, prolonged, lie above it. t is counted in
    units of e^best.
    """
    a, b = best - width, best + width
    before, behind = a - width, b + width
    at_a, at_b, middle = value(a, 0), value(b, 0), value(best, 1)
    if not middle >= at_b:
        return math.inf
    t_before, ta, tb, t_behind = (math.exp(e - best) for e in (before, a, b, behind))
    left = ta * max(0.0, at_a - middle) / (1 - ta)
    rise = max(0.0, (at_a - value(before, 1)) / (ta - t_before))
    fall = max(0.0, (at_b - value(behind, 1)) / (t_behind - tb))
    room = 1 + 1e-11  # differences of t have lost three digits at the smallest width
    return max(at_a + left * room, min(at_a + rise * (tb - ta) * room, at_b + fall * (tb - ta) * room))


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
    ends = np.array([known(log_delta(epsilon)) for epsilon in epsilons.tolist()])
    below, above = np.exp(ends[:, 0]), np.exp(ends[:, 1])
    # the shapes hold for the true curve, so each side may be made to have them too
    below = np.maximum(np.maximum.accumulate(below[::-1])[::-1], np.maximum(1 - t, 0.0))
    above = np.minimum.accumulate(np.minimum(above, 1.0))
    corners_t, corners = _corners(t, below, np.maximum(above, below))
    last_t, last = np.array([t[0], t[-1]]), np.array([1 - t[0], 0.0])
    all_t, all_delta = np.concatenate([t, corners_t, last_t]), np.concatenate([below, corners, last])
    # where the maximum is, each of the terms is at most 1: a few roundings of 1e-16
    upper = np.max(1 - all_delta - np.multiply.outer(rates, all_t), axis=-1) + RATE_ROUNDING
    lower = np.max(1 - above - np.multiply.outer(rates, t), axis=-1) - RATE_ROUNDING
    least, most = np.array([complement(rate) for rate in rates.tolist()]).reshape(-1, 2).T
    lower = np.clip(lower, 0.0, least)
    return lower, np.maximum(lower, np.clip(upper, 0.0, most))


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
