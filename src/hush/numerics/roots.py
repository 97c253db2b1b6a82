"""Roots of decreasing functions, bracketed from both sides."""

from __future__ import annotations

import math
from collections.abc import Callable


def decreasing_root(
    function: Callable[[float], float], low: float, high: float, width: float = 0.0
) -> tuple[float, float]:
    """Shrink [low, high] with function(low) > 0 >= function(high) to neighbouring floats, or to the relative width.

    Illinois steps while they help, halving otherwise.

    >>> a, b = decreasing_root(lambda x: 2 - x * x, 0.0, 5.0)
    >>> 2 - a * a > 0 >= 2 - b * b, abs(a - 2**0.5) < 1e-15
    (True, True)
    """
    at_low, at_high = function(low), function(high)
    side = 0
    for step in range(200):
        if high - low <= width * abs(high) or math.nextafter(low, high) >= high:
            break
        middle = (low + high) / 2
        if step % 3 != 2 and math.isfinite(at_low) and math.isfinite(at_high) and at_low > at_high:
            middle = low + (high - low) * (at_low / (at_low - at_high))
            middle = min(max(middle, math.nextafter(low, high)), math.nextafter(high, low))
        value = function(middle)
        if value > 0:
            low, at_low = middle, value
            at_high, side = (at_high / 2 if side > 0 else at_high), 1
        else:
            high, at_high = middle, value
            at_low, side = (at_low / 2 if side < 0 else at_low), -1
    return low, high
