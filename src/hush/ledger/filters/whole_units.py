"""Costs and limits as whole numbers of 2^-60: sums of them lose nothing, in whatever order they are added."""

from __future__ import annotations

import math
from fractions import Fraction

from hush.errors import Contradiction, NotCovered

UNITS = 1 << 60
"""Units of one: finer than floats near 1, and far above the least cost that is ever charged, which is one unit."""


def charged(value: float, what: str) -> int:
    """A cost, rounded up; what is positive costs at least one unit.

    >>> charged(0.5, "epsilon") == UNITS // 2, charged(5e-324, "epsilon")
    (True, 1)
    """
    if not value >= 0:
        raise Contradiction(value, 0.0)
    if math.isinf(value):
        raise NotCovered(
            f"a charge without a finite {what}, which this budget adds up. Covered: a budget whose filter suits it, "
            "such as Budget(rho=..., delta=...) for releases that state an (epsilon, delta)"
        )
    return math.ceil(Fraction(value) * UNITS)


def allowed(value: float) -> int:
    """A limit, rounded down.

    >>> allowed(0.1) <= 0.1 * UNITS
    True
    """
    return math.floor(Fraction(value) * UNITS)


def in_numbers(units: int) -> float:
    """So many units as a float, to be shown.

    >>> in_numbers(UNITS // 4)
    0.25
    """
    return units / UNITS
