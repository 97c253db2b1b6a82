"""A certified interval around an answer."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hush.curves.relation import Relation
from hush.errors import Contradiction
from hush.numerics.decimals import rounded_down, rounded_up

WIDE = 1e-3
"""Relative width from which people are shown both ends: three digits of one number would say too much."""


@dataclass(frozen=True)
class Bound:
    """lower <= truth <= upper; every guarantee is read off `upper` (for a trade-off curve, off `lower`).

    `epsilon` and `delta` are what to report together: the upper end of the one that was asked for, and the other, which
    was given. A bound on something else, as a false negative rate, has neither.

    >>> Bound(6.187712380, 6.187712391, quantity="epsilon", delta=1e-5)
    Bound(epsilon=6.1877123..., lower=6.18771238, upper=6.187712391, delta=1e-05)
    >>> Bound(6.187712380, 6.187712391, quantity="epsilon", delta=1e-5).epsilon
    6.187712391
    """

    lower: float
    upper: float
    quantity: str = "epsilon"
    delta: float | None = None
    epsilon: float | None = None
    relation: Relation | None = None
    route: str = ""

    def __post_init__(self) -> None:
        if not self.lower <= self.upper:  # so too if one of them is no number
            raise Contradiction(self.lower, self.upper)
        if self.quantity in ("epsilon", "delta"):
            object.__setattr__(self, self.quantity, self.upper)
        if self.quantity == "log delta":
            object.__setattr__(self, "delta", delta_of(self.upper))

    @property
    def width(self) -> float:
        """Relative width: (upper - lower)/upper, 0 where they agree."""
        if self.upper == self.lower:
            return 0.0
        return (self.upper - self.lower) / self.upper if 0 < self.upper < math.inf else math.inf

    @property
    def wide(self) -> bool:
        """Whether the upper end alone would say too much to people."""
        return not self.width <= WIDE

    @property
    def digits(self) -> str:
        """The decimal digits on which lower and upper agree, or both ends where these are too few.

        >>> Bound(13345.37, 13346.2).digits, Bound(0.99999, 1.00001).digits, Bound(0.0, 2.0).digits
        ('13345.37 to 13346.2', '0.99999 to 1.00001', '<= 2')
        """
        if self.lower == self.upper:
            return f"{self.upper:.10g}"
        if self.lower == 0 or math.isinf(self.lower):
            return f"<= {rounded_up(self.upper, 6)}"
        if self.lower > 0:
            shared = _shared(self.lower, self.upper)
        else:
            shared = "-" + _shared(-self.upper, -self.lower)
        return shared if len(shared) > 1 else self._both()

    def reported(self, digits: int) -> str:
        """The upper end for people, rounded up; with the lower end beside it where that is far off.

        >>> Bound(5.99, 20.5623).reported(4), Bound(2.0, 2.0).reported(4), Bound(0.0, 3.0).reported(4)
        ('= 20.57 (certified: 5.99 to 20.57)', '= 2', '<= 3 (an upper bound only)')
        """
        upper = rounded_up(self.upper, digits)
        if not self.wide:
            return f"= {upper}"
        if self.lower == 0 or math.isinf(self.lower):
            return f"<= {upper} (an upper bound only)"
        return f"= {upper} (certified: {rounded_down(self.lower, digits)} to {upper})"

    def _both(self) -> str:
        """Both ends, rounded outwards to two digits more than they share."""
        size = max(abs(self.lower), abs(self.upper))
        gap = (self.upper - self.lower) / size if size < math.inf else 1.0
        digits = 2 - min(math.floor(math.log10(gap)), -1)
        return f"{rounded_down(self.lower, digits)} to {rounded_up(self.upper, digits)}"

    def __repr__(self) -> str:
        shown = self.digits
        given = (("delta", self.delta), ("epsilon", self.epsilon))
        rest = "".join(
            f", {name}={value:.6g}" for name, value in given if value is not None and name not in self.quantity
        )
        dots = "..." if self.lower != self.upper and not shown.startswith("<") and " to " not in shown else ""
        return f"Bound({self.quantity}={shown}{dots}, lower={self.lower:.10g}, upper={self.upper:.10g}{rest})"


def delta_of(log_delta: float) -> float:
    """e^log_delta, never 0 but where log_delta is minus infinity: the least float stands for what is below."""
    return max(math.exp(log_delta), math.ulp(0.0)) if log_delta > -math.inf else 0.0


def _shared(low: float, high: float) -> str:
    """The digits that 0 < low < high begin with, where these are two or more and reach to the units; else nothing."""
    if not 1e-4 <= low < high < 1e15:
        return ""
    (first, power), (second, other) = (f"{x:.15e}".split("e") for x in (low, high))
    count = next((k for k, (a, b) in enumerate(zip(first, second, strict=True)) if a != b), len(first))
    digits, whole = first[:count].replace(".", ""), int(power) + 1
    if power != other or len(digits) < max(whole, 2):
        return ""
    return f"{digits[:whole]}.{digits[whole:]}".rstrip(".") if whole > 0 else f"0.{'0' * -whole}{digits}"
