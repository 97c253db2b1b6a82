"""Rules for the fields of mechanisms and schemes, checked once, when a value is made.

A rule is metadata of a dataclass field: `scale: float = field(metadata=between(0.002, 1e9))`. Leaves, wrappers and
schemes are `Checked`: a class with a `__post_init__` of its own begins it with `super().__post_init__()`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from hush.checks import count, number
from hush.errors import InvalidParameter

Rule = dict[str, Callable[[str, str, Any], Any]]
"""Metadata of a dataclass field: `check(class name, field name, value)` gives the value to keep, or raises."""


def between(low: float, high: float) -> Rule:
    """A number from low to high, both allowed.

    >>> from hush import Laplace
    >>> Laplace(scale=0)
    Traceback (most recent call last):
    hush.errors.InvalidParameter: Laplace needs 0.002 <= scale <= 1e9; got scale=0.
    """

    least, most = _short(low), _short(high)

    def check(who: str, name: str, value: Any) -> float:
        return number(who, f"{least} <= {name} <= {most}", low, high, **{name: value})

    return {"check": check}


def above(low: float) -> Rule:
    """A finite number above low."""

    least = _short(low)

    def check(who: str, name: str, value: Any) -> float:
        rule = f"{least} < {name} < infinity"
        return number(who, rule, low, math.inf, low_open=True, high_open=True, **{name: value})

    return {"check": check}


def whole(low: int, high: int | None = None) -> Rule:
    """A whole number from low to high."""

    def check(who: str, name: str, value: Any) -> int:
        found = count(who, low, **{name: value})
        if high is not None and found > high:
            raise InvalidParameter(who, f"{name} <= {high}", **{name: found})
        return found

    return {"check": check}


def truth() -> Rule:
    """True or False, and nothing that only counts as one of them."""

    def check(who: str, name: str, value: Any) -> bool:
        if not isinstance(value, bool):
            raise InvalidParameter(who, f"{name} to be True or False", **{name: value})
        return value

    return {"check": check}


def instance(kind: type, words: str) -> Rule:
    """A value of this class, which the words describe."""

    def check(who: str, name: str, value: Any) -> Any:
        if not isinstance(value, kind):
            raise InvalidParameter(who, words, **{name: value})
        return value

    return {"check": check}


class Checked:
    """The base of dataclasses whose fields have rules."""

    def __post_init__(self) -> None:
        """Check every field that has a rule, and keep what the rule makes of it: 1 for a float is 1.0."""
        made: Any = self
        for field in fields(made):
            if "check" in field.metadata:
                value = field.metadata["check"](type(self).__name__, field.name, getattr(self, field.name))
                object.__setattr__(self, field.name, value)


def _short(bound: float) -> str:
    """As one writes it.

    >>> _short(1e-6), _short(0.002), _short(1e9), _short(1e12)
    ('1e-6', '0.002', '1e9', '1e12')
    """
    return f"{bound:g}".replace("e+", "e").replace("e0", "e").replace("e-0", "e-")
