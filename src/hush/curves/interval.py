"""Certified intervals as bare pairs of floats, and what to do when two ends were found in different ways."""

from __future__ import annotations

import math
from fractions import Fraction

from hush.errors import Contradiction
from hush.numerics.rounding import UNIT

CROSSING = 1e-5
"""Ends of an interval may cross by this, relatively: engines stop at 1e-7 and round at 1e-9, so a larger crossing is
a wrong certificate and no rounding."""
LEAST_CROSSING = 1e-12
"""The same for an epsilon near 0, where no relative measure holds."""
BEYOND = -690.0
"""Logs of delta below this are beyond floats (e^-745 is the least): two ends there cannot be compared."""
LOG_ROUNDING = 2.0**-50
"""Rounding error of a sum of two logs, and of the log of a number, in units of their size: four units of 2^-52."""
LARGEST_ROUNDING = 4e-12
"""By how much a largest loss is rounded up at the most, relatively: those of finite pairs may be off by 1e-12, and are
raised by as much."""
Interval = tuple[float, float]
"""Certified lower and upper bound."""


def agreed_epsilon(low: float, high: float) -> Interval:
    """Two ends that were found in different ways; if they cross by more than rounding, one of them is wrong."""
    if not low <= high * (1 + CROSSING) + LEAST_CROSSING:  # so too if one of them is no number
        raise Contradiction(low, high)
    return min(low, high), max(low, high)


def agreed_log_delta(low: float, high: float) -> Interval:
    """The same for logs of delta; those that are beyond floats say nothing.

    >>> agreed_log_delta(-3.0, -3.0000001)
    (-3.0000001, -3.0)
    """
    low, high = known((low, high))
    if low > BEYOND and low > high + (CROSSING * (1 + abs(high)) if high > -math.inf else 0.0):
        raise Contradiction(low, high)
    return min(low, high), max(low, high)


def beside_infinite(log_finite: float, log_delta: float, side: int) -> float:
    """log of 1 - f + f delta, where the loss is finite with probability f: rounded down (0) or up (1).

    Both summands carry one rounding of their logarithm, in proportion to its size, and a few units.

    >>> round(math.exp(beside_infinite(math.log(0.9), math.log(0.5), 1)), 12)
    0.55
    """
    found = log_finite + log_delta
    if log_finite < 0:
        certain = math.log(-math.expm1(log_finite))
        top, rest = max(certain, found), min(certain, found)
        slack = LOG_ROUNDING * (2 + abs(certain) + (abs(found) if found > -math.inf else 0.0))
        found = top + math.log1p(math.exp(rest - top)) + (2 * side - 1) * slack
    return min(found, 0.0)


def known(ends: Interval) -> Interval:
    """The two ends, if they are numbers: min and max would drop one that is not, and leave a bound of nothing."""
    if math.isnan(ends[0]) or math.isnan(ends[1]):
        raise Contradiction(*ends)
    return ends


def exact(value: float) -> Interval:
    """The interval of one value."""
    return value, value


def least_log_delta(epsilon: float) -> float:
    """log of 1 - e^epsilon, which no delta is below; minus infinity from epsilon 0 on.

    >>> least_log_delta(1.0)
    -inf
    """
    return math.log(-math.expm1(epsilon)) if epsilon < 0 else -math.inf


def largest_loss_between(top: float, written: Fraction | None) -> Interval:
    """Bounds on a largest loss that was rounded up: by a unit when it was written, by more where it was computed.

    >>> largest_loss_between(2.0, Fraction(2)), largest_loss_between(2.0, None)[0] < 2.0
    ((2.0, 2.0), True)
    """
    if written is None:
        return top * (1 - LARGEST_ROUNDING), top
    exact_top = math.isfinite(top) and Fraction(repr(top)) == written
    return (top if exact_top else top * (1 - 16 * UNIT)), top


def written_up(number: Fraction) -> float:
    """The least float whose shortest decimals are not below the number.

    >>> written_up(3 * Fraction("0.1"))
    0.3
    """
    near = float(number)
    return near if Fraction(repr(near)) >= number else math.nextafter(near, math.inf)
