"""Validation of parameters, once, at construction."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from hush.errors import InvalidParameter


def number(
    who: str,
    rule: str,
    low: float,
    high: float,
    *,
    low_open: bool = False,
    high_open: bool = False,
    **field: Any,
) -> float:
    """The one keyword as a float in [low, high] (ends open on request); a bool or a string is no number.

    >>> number("Poisson", "0 <= rate <= 1", 0, 1, rate=0.5)
    0.5
    """
    ((name, value),) = field.items()
    if isinstance(value, bool | np.bool_ | str | bytes | complex) or not isinstance(
        value, int | float | np.floating | np.integer
    ):
        raise InvalidParameter(who, rule, **{name: value})
    try:
        result = float(value)
    except OverflowError:
        raise InvalidParameter(who, rule, **{name: value}) from None
    inside = (low < result if low_open else low <= result) and (result < high if high_open else result <= high)
    if math.isnan(result) or not inside:
        raise InvalidParameter(who, rule, **{name: value})
    return result


def ends(who: str, rule: str, *, largest: float = sys.float_info.max, **field: Any) -> tuple[float, float]:
    """The one keyword as two numbers up to the largest in size, the first below the second.

    >>> ends("calibrate", "over=(low, high), two finite numbers with low < high", over=(0, 1))
    (0.0, 1.0)
    """
    ((name, value),) = field.items()
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise InvalidParameter(who, rule, **field)
    low, high = (number(who, rule, -largest, largest, **{name: end}) for end in value)
    if not low < high:
        raise InvalidParameter(who, rule, **field)
    return low, high


def positive(who: str, **field: Any) -> float:
    """A finite number above 0."""
    ((name, value),) = field.items()
    result = number(who, f"0 < {name} < infinity", 0.0, math.inf, **{name: value})
    if not 0 < result < math.inf:
        raise InvalidParameter(who, f"0 < {name} < infinity", **{name: value})
    return result


def count(who: str, low: int, **field: Any) -> int:
    """A whole number from low to 10^15."""
    ((name, value),) = field.items()
    rule = f"a whole number {name} from {low} to 10^15"
    result = number(who, rule, low, 1e15, **field)
    if result != math.floor(result):
        raise InvalidParameter(who, rule, **{name: value})
    return int(result)


def listed(who: str, rule: str, **field: Any) -> list[Any]:
    """The members of the one keyword, which must have some way to be listed.

    >>> listed("renyi", "a list of orders", orders=(2, 8))
    [2, 8]
    """
    ((name, value),) = field.items()
    try:
        return list(value)
    except TypeError:
        raise InvalidParameter(who, rule, **{name: value}) from None


def couples(who: str, rule: str, **field: Any) -> list[tuple[Any, Any]]:
    """The members of the one keyword, each of them two things."""
    ((name, value),) = field.items()
    found = [tuple(listed(who, rule, **{name: member})) for member in listed(who, rule, **{name: value})]
    for member in found:
        if len(member) != 2:
            raise InvalidParameter(who, rule, **{name: member})
    return found  # type: ignore[return-value]


def delta_in_range(who: str, delta: object) -> float:
    """0 <= delta < 1."""
    return number(who, "0 <= delta < 1", 0.0, 1.0, high_open=True, delta=delta)
