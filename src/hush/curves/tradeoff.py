"""Trade-off curves (f-DP): the least false negative rate of an attacker at a false positive rate."""

from __future__ import annotations

import math
from collections.abc import Callable

from hush.curves.pair import Interval

LogProfile = Callable[[float], Interval]
"""epsilon -> bounds on log delta(epsilon), for every real epsilon."""


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

    Outside [a, b] it is below its value there, once the middle is certainly higher; inside, the chords of the
    neighbouring intervals, prolonged, lie above it.
    """
    a, b = best - width, best + width
    at_a, at_b, middle = value(a, 0), value(b, 0), value(best, 1)
    if not (middle >= at_a and middle >= at_b):
        return math.inf
    ta, tb = math.exp(a), math.exp(b)
    rise = max(0.0, (at_a - value(a - width, 1)) / (ta - math.exp(a - width)))
    fall = max(0.0, (at_b - value(b + width, 1)) / (math.exp(b + width) - tb))
    return min(at_a + rise * (tb - ta), at_b + fall * (tb - ta))


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
