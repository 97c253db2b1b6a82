"""When two certified intervals agree."""

from __future__ import annotations

import math

from hush import Bound

ROUNDING = 1e-12
"""Relative: the same sum taken in another order."""


def overlap(first: tuple[float, float], second: tuple[float, float], slack: float = ROUNDING) -> bool:
    """Whether some value lies in both (lower, upper) intervals."""
    low, high = max(first[0], second[0]), min(first[1], second[1])
    return low <= high or low - high <= slack * max(1.0, abs(low)) if math.isfinite(low) else low <= high


def agree(first: Bound, second: Bound) -> bool:
    """Whether two bounds on the same quantity can both be right."""
    return overlap((first.lower, first.upper), (second.lower, second.upper))
