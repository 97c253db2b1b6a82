"""A certified interval around an answer."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hush.curves.relation import Relation
from hush.errors import Contradiction


@dataclass(frozen=True)
class Bound:
    """lower <= truth <= upper; every guarantee is read off `upper` (for a trade-off curve, off `lower`).

    >>> Bound(6.187712380, 6.187712391, quantity="epsilon", delta=1e-5)
    Bound(epsilon=6.1877123..., lower=6.18771238, upper=6.187712391, delta=1e-05)
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

    @property
    def width(self) -> float:
        """Relative width: (upper - lower)/upper, 0 where they agree."""
        if self.upper == self.lower:
            return 0.0
        return (self.upper - self.lower) / self.upper if 0 < self.upper < math.inf else math.inf

    @property
    def digits(self) -> str:
        """The decimal digits on which lower and upper agree."""
        if self.lower == self.upper:
            return f"{self.upper:.10g}"
        if not (0 < self.lower and self.upper < math.inf):
            return f"<= {self.upper:.6g}"
        (low, low_power), (high, high_power) = (f"{x:.15e}".split("e") for x in (self.lower, self.upper))
        count = next((k for k, (a, b) in enumerate(zip(low, high, strict=True)) if a != b), len(low))
        shared = low[:count] if low_power == high_power else ""
        if len(shared) < 3:
            return f"{self.lower:.3g} to {self.upper:.3g}"
        power = int(low_power)
        if -5 < power < 15:
            digits = shared.replace(".", "")
            return f"{int(digits) * 10.0 ** (power - len(digits) + 1):.{max(len(digits) - 1 - power, 0)}f}"
        return f"{shared}e{low_power}"

    def __repr__(self) -> str:
        shown = self.digits
        rest = "".join(
            f", {name}={value:.6g}"
            for name, value in (("delta", self.delta), ("epsilon", self.epsilon))
            if value is not None
        )
        dots = "..." if self.lower != self.upper and not shown.startswith("<") and " to " not in shown else ""
        return f"Bound({self.quantity}={shown}{dots}, lower={self.lower:.10g}, upper={self.upper:.10g}{rest})"
