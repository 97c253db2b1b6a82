"""Parts of a sum whose losses are not cut at edges: they stand beside every level, and their moments multiply."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hush.arrays import Array
from hush.numerics.laws.law import Law, Tilted

GUESS_REACH = 100.0
"""Nodes for a guess are laid as if moments at orders up to 100i were asked for: a few hundredths of a loss apart."""
ACCURACY = 38.0
"""Moments at real orders are laid out for e^-38; the error that comes of it is charged."""


@dataclass(frozen=True, eq=False)
class Bystanders:
    """Laws whose moments are certified at any order, each with how often it is taken."""

    laws: tuple[tuple[Law, int], ...] = ()

    def log_moments(self, orders: Array) -> tuple[Array, Array]:
        """log of the moment of their sum at real orders, and bounds on the errors (L8)."""
        value, error = np.zeros(len(orders)), np.zeros(len(orders))
        for law, times in self.laws:
            tilts = [law.tilt(float(c), accuracy=ACCURACY + math.log(times)) for c in orders]
            value += times * np.array([tilt.log_moment for tilt in tilts])
            error += times * np.array([tilt.log_moment_error for tilt in tilts])
        return value, error

    def tilted(self, order: float, reach: float, accuracy: float) -> list[tuple[Tilted, int]]:
        """Each law tilted by e^{cL}, for |y| up to the reach."""
        return [(law.tilt(order, reach=reach, accuracy=accuracy + math.log(n)), n) for law, n in self.laws]

    @cached_property
    def plain(self) -> list[tuple[Tilted, int]]:
        """Each law as it is, on nodes that are fine enough for a guess."""
        return self.tilted(0.0, GUESS_REACH, ACCURACY)

    @property
    def mean(self) -> float:
        """The mean of their sum."""
        return sum(n * law.mean for law, n in self.plain)

    @property
    def deviation(self) -> float:
        """The standard deviation of their sum."""
        return math.sqrt(sum(n * law.deviation**2 for law, n in self.plain))


NOBODY = Bystanders()
