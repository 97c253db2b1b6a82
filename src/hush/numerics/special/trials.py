"""Independent equal trials with few values each, and the largest mean that the positive part of their sum can have."""

from __future__ import annotations

import math
from dataclasses import dataclass

Interval = tuple[float, float]


@dataclass(frozen=True)
class Trials:
    """So many independent trials; each has these values with these chances, and 0 otherwise.

    Where tails are added, one value is positive: what makes the sum exceed 0 is one kind against all others.
    """

    count: int
    chances: tuple[float, ...]
    values: tuple[float, ...]
    doubt: float = 0.0
    """Relative error of the chances, beyond that of rounding them once."""

    @property
    def lively(self) -> list[tuple[float, float]]:
        """(value, chance) of the values other than 0, the largest first."""
        found: dict[float, float] = {}
        for chance, value in zip(self.chances, self.values, strict=True):
            if chance > 0 and value != 0:
                found[value] = found.get(value, 0.0) + chance
        return sorted(found.items(), reverse=True)


def log_mean(trials: Trials) -> float:
    """log n E(V)_+, which log E(S)_+ never exceeds and which it is where all values are positive; -inf where none is.

    >>> math.exp(log_mean(Trials(2, (0.25, 0.25, 0.5), (2.0, 1.0, -1.0))))
    1.5
    """
    logs = [math.log(value) + math.log(chance) for value, chance in trials.lively if value > 0]
    if not logs:
        return -math.inf
    top = max(logs)  # products of small numbers would underflow
    return math.log(trials.count) + top + math.log(math.fsum(math.exp(log - top) for log in logs))
