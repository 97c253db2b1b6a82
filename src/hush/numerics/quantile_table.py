"""A quantile function as straight lines between points that were chosen where it bends or jumps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hush.arrays import Array

CELLS = 2048
"""Cells of equal probability at first."""
ROUNDS = 46
"""Halvings of a cell with a jump: from 1/2048 to where floats near 1/2 end."""
CLOSE = 1e-5
"""Largest distance from the line, in shares of the range."""


@dataclass(frozen=True, eq=False)
class QuantileTable:
    """Probabilities and values, both rising; straight lines between them."""

    probabilities: Array
    values: Array

    @staticmethod
    def of(quantiles: Callable[[Array], Array], low: float, high: float) -> QuantileTable:
        """A table from `low` to `high`; cells are halved until the function is straight there, or jumps.

        >>> table = QuantileTable.of(lambda u: np.where(u < 0.3, 0.0, 1.0) + u**2, 0.0, 1.0)
        >>> table.at(np.array([0.2999999, 0.3000001, 0.5])).round(4).tolist()
        [0.09, 1.09, 1.25]
        """
        found = np.linspace(low, high, CELLS + 1)
        values = np.asarray(quantiles(found), dtype=float)
        fresh = np.ones(CELLS, dtype=bool)
        for _ in range(ROUNDS):
            lower, upper = found[:-1][fresh], found[1:][fresh]
            middle = (lower + upper) / 2
            known = np.asarray(quantiles(middle), dtype=float)
            straight = (values[:-1][fresh] + values[1:][fresh]) / 2
            bent = (np.abs(known - straight) > CLOSE * (values[-1] - values[0])) & (lower < middle) & (middle < upper)
            if not np.any(bent):
                break
            places = np.flatnonzero(fresh)[bent] + 1
            found, values = np.insert(found, places, middle[bent]), np.insert(values, places, known[bent])
            fresh = np.zeros(len(found) - 1, dtype=bool)
            moved = places + np.arange(len(places))  # where each new point stands now
            fresh[moved - 1] = fresh[moved] = True
        return QuantileTable(found, values)

    def moments(self) -> tuple[float, float]:
        """Mean and variance, exact for the lines.

        >>> QuantileTable(np.array([0.0, 1.0]), np.array([0.0, 12.0])).moments()
        (6.0, 12.0)
        """
        weights = np.diff(self.probabilities)
        mean = float(np.sum(weights * (self.values[:-1] + self.values[1:])) / (2 * np.sum(weights)))
        low, high = self.values[:-1] - mean, self.values[1:] - mean
        return mean, float(np.sum(weights * (low**2 + low * high + high**2)) / (3 * np.sum(weights)))

    def at(self, probability: Array) -> Array:
        """Values at these probabilities."""
        return np.interp(probability, self.probabilities, self.values)
