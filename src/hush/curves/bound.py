"""A certified interval around an answer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

from hush.curves.relation import Relation
from hush.errors import Contradiction, InvalidParameter
from hush.markup import table_html
from hush.numerics.decimals import formatted_safely, rounded_down, rounded_up

WIDE = 1e-3
"""Relative width from which people are shown both ends: three digits of one number would say too much."""

ERRORS_OF_ATTACKERS = ("false negative rate", "Bayes risk")
"""Quantities of which more is more private: a guarantee quotes their lower end."""


@dataclass(frozen=True)
class Bound:
    """lower <= truth <= upper; every guarantee is read off `upper` (for a trade-off curve, off `lower`).

    As a number it is that end: `float(bound)`, and `f"{bound:.2f}"`, which is rounded to the safe side. It compares
    with numbers and with bounds of the same quantity, and says True only where that is certain: of `bound < 3` and
    `bound >= 3` both may be False.

    `epsilon` and `delta` are what to report together: the upper end of the one that was asked for, and the other, which
    was given. A bound on something else, as a false negative rate, has neither.

    >>> Bound(6.187712380, 6.187712391, quantity="epsilon", delta=1e-5)
    Bound(epsilon=6.1877123..., lower=6.18771238, upper=6.187712391, delta=1e-05)
    >>> Bound(6.187712380, 6.187712391, quantity="epsilon", delta=1e-5).epsilon
    6.187712391
    >>> bound = Bound(2.0, 2.5)
    >>> float(bound), f"{bound:.0f}", bound < 2.2, bound >= 2.2, bound <= 2.5
    (2.5, '3', False, False, True)
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
    def safe(self) -> float:
        """The end that is safe to claim: the upper one, but the lower one for the errors of an attacker."""
        return self.lower if self._more_is_safer else self.upper

    @property
    def _more_is_safer(self) -> bool:
        return self.quantity in ERRORS_OF_ATTACKERS

    def __float__(self) -> float:
        return self.safe

    def __format__(self, spec: str) -> str:
        return formatted_safely(self.safe, spec, up=not self._more_is_safer) if spec else str(self)

    def __lt__(self, other: object) -> bool:
        return NotImplemented if (ends := self._ends_of(other)) is None else self.upper < ends[0]

    def __le__(self, other: object) -> bool:
        return NotImplemented if (ends := self._ends_of(other)) is None else self.upper <= ends[0]

    def __gt__(self, other: object) -> bool:
        return NotImplemented if (ends := self._ends_of(other)) is None else self.lower > ends[1]

    def __ge__(self, other: object) -> bool:
        return NotImplemented if (ends := self._ends_of(other)) is None else self.lower >= ends[1]

    def _ends_of(self, other: object) -> tuple[Any, Any] | None:
        """The ends of what this is compared with; None where it is neither a number nor a bound."""
        if isinstance(other, Bound):
            if other.quantity != self.quantity:
                raise InvalidParameter("A comparison", f"two bounds on one quantity ({self.quantity})", other=other)
            return other.lower, other.upper
        return (other, other) if isinstance(other, Real) else None

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

    def _repr_html_(self) -> str:
        given = [("delta", self.delta), ("epsilon", self.epsilon)]
        shown = [(name, f"{value:.6g}") for name, value in given if value is not None and name not in self.quantity]
        end = rounded_down if self._more_is_safer else rounded_up
        certified = f"{rounded_down(self.lower, 10)} to {rounded_up(self.upper, 10)}"
        neighbours = [("neighbours", self.relation.words)] if self.relation is not None else []
        parts = [(self.quantity, end(self.safe, 7)), *shown, ("certified", certified), *neighbours]
        return table_html([[name for name, _ in parts], [text for _, text in parts]])


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
