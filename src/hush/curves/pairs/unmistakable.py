"""A pair beside outcomes that only one of the two datasets can have."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hush.curves.interval import Interval
from hush.curves.pairs.pair import Pair
from hush.errors import NotCovered
from hush.numerics.work import attempt

ROUNDING = 1e-14
"""Relative room for a logarithm, a sum of two exponentials, and their rounding; also for the shift of epsilon."""


@dataclass(frozen=True)
class Unmistakable(Pair):
    """P is seen for sure with probability `alone`, Q with probability `other`; else the pair inside is all there is.

    With a = 1 - alone and b = 1 - other: delta(eps) = alone + a delta_inside(eps + log(b/a)), for every real eps.

    >>> from hush.curves.pairs.finite import FinitePair
    >>> same = FinitePair.of([1.0], [1.0])
    >>> math.exp(Unmistakable(same, 0.25, 0.0).log_delta(0.0)[1])
    0.25...
    """

    inside: Pair
    alone: float
    other: float

    @property
    def cut(self) -> bool:
        return self.inside.cut

    @property
    def infinite(self) -> float:
        return min((self.alone + (1 - self.alone) * self.inside.infinite) * (1 + ROUNDING), 1.0)

    def swap(self) -> Pair:
        return Unmistakable(self.inside.swap(), self.other, self.alone)

    def sketched(self) -> Pair:
        return Unmistakable(self.inside.sketched(), self.alone, self.other)

    def log_delta(self, epsilon: float, tolerance: float = 1e-9) -> Interval:
        if self.alone >= 1:
            return -ROUNDING, 0.0
        if self.other >= 1:  # the rest of P has no counterpart either
            return -ROUNDING, 0.0
        if epsilon == math.inf:
            end = math.log(self.inside.infinite) if self.inside.infinite > 0 else -math.inf
            return self._joined(end) - ROUNDING, min(self._joined(end) + ROUNDING, 0.0)
        shift = math.log1p(-self.other) - math.log1p(-self.alone)
        room = ROUNDING * (abs(epsilon) + abs(shift))
        low = self.inside.log_delta(epsilon + shift + room, tolerance)[0]
        high = self.inside.log_delta(epsilon + shift - room, tolerance)[1]
        return self._joined(low) - ROUNDING, min(self._joined(high) + ROUNDING, 0.0)

    def epsilon(self, log_delta: float, tolerance: float = 1e-9, floor: float = 0.0) -> Interval:
        """At a delta that the sure outcomes do not exceed, never more than the largest loss inside, shifted."""
        most = self._largest(log_delta)
        found = attempt(lambda: super(Unmistakable, self).epsilon(log_delta, tolerance, floor), (0.0, math.inf))
        return min(found[0], most), min(found[1], most)

    def _largest(self, log_delta: float) -> float:
        if self.infinite >= 1 or self.other >= 1 or (self.infinite > 0 and math.log(self.infinite) > log_delta):
            return math.inf
        try:
            loss = attempt(lambda: self.inside.max_loss, math.inf)
        except NotCovered:  # a sketch does not know it
            return math.inf
        return max(loss + (math.log1p(-self.alone) - math.log1p(-self.other)) + ROUNDING, 0.0)

    def _joined(self, log_delta: float) -> float:
        """log(alone + (1 - alone) delta)."""
        first = math.log(self.alone) if self.alone > 0 else -math.inf
        found = float(np.logaddexp(first, math.log1p(-self.alone) + log_delta))
        return found if found > -math.inf else -math.inf

    @property
    def max_loss(self) -> float:
        if self.infinite > 0:
            return math.inf
        return self.inside.max_loss - math.log1p(-self.other)

    def renyi(self, order: float) -> Interval:
        if self.infinite > 0:
            return math.inf, math.inf
        low, high = self.inside.renyi(order)
        return low - math.log1p(-self.other) - ROUNDING, high - math.log1p(-self.other) + ROUNDING
