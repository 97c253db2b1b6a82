"""Pairs of samples of a fixed size: mixed, and the same in both directions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special

from hush.arrays import Array
from hush.curves.pairs.finite import FinitePair
from hush.curves.pairs.pair import Interval, Pair, Share
from hush.curves.pairs.sampled import Mixed
from hush.curves.pairs.table import tabulate
from hush.curves.renyi.curve import RenyiCurve
from hush.errors import NotCovered
from hush.numerics.laws.half_normals import HalfNormals
from hush.numerics.laws.law import UNIT, Law


def folded_log_delta(base: Pair, rate: float, epsilon: float, tolerance: float) -> Interval:
    """The profile of the mix for epsilon >= 0, and below the mirror of that: 1 - e^eps + e^eps delta(-eps).

    Without replacement both orders of two neighbours are neighbours, so a bound for epsilon >= 0 is all that is
    needed: Balle, Barthe, Gaboardi 2018, Thm 9; Zhu, Dong, Wang 2022, Prop. 30, makes it a pair.
    """
    low, high = Share().mix(rate).log_delta(abs(epsilon), base, tolerance)
    if epsilon >= 0:
        return low, high
    floor = math.log(-math.expm1(epsilon))
    slack = 4 * UNIT
    return float(np.logaddexp(floor, epsilon + low)) - slack, min(
        float(np.logaddexp(floor, epsilon + high)) + slack, 0.0
    )


@dataclass(frozen=True)
class Folded(Pair):
    """Any pair, mixed and folded; it is composed through a table."""

    base: Pair
    rate: float

    @property
    def cut(self) -> bool:
        return self.base.cut

    @property
    def infinite(self) -> float:
        return self.rate * self.base.infinite

    def log_delta(self, epsilon: float, tolerance: float = 1e-9) -> Interval:
        return folded_log_delta(self.base, self.rate, epsilon, tolerance)

    def epsilon(self, log_delta: float, tolerance: float = 1e-9, floor: float = 0.0) -> Interval:
        """For epsilon >= 0 the change of variable of the mix can be undone."""
        return Mixed(self.base, Share().mix(self.rate)).epsilon(log_delta, tolerance)

    def tails(self, losses: Array) -> tuple[Array, Array, Array, Array]:
        raise NotCovered("a folded mix of this pair is known only through its profile")

    def mix(self, rate: float) -> Pair:
        return Mixed(self, Share().mix(rate))

    def swap(self) -> Pair:
        return self

    def sketched(self) -> Pair:
        return Folded(self.base.sketched(), self.rate)

    @property
    def max_loss(self) -> float:
        top = max(self.base.max_loss, 0.0)
        return float(np.logaddexp(math.log1p(-self.rate), math.log(self.rate) + top)) * (1 + 4 * UNIT)

    def renyi(self, order: float) -> Interval:
        if order == math.inf:
            return self.max_loss, self.max_loss
        return 0.0, self._table.renyi(order)[1]

    @cached_property
    def _table(self) -> FinitePair:
        return tabulate(self)


@dataclass(frozen=True)
class FoldedNormals(Pair):
    """N(distance, 1) against N(0, 1), mixed and folded: Gaussian noise on a sample of a fixed size."""

    distance: float
    rate: float

    @cached_property
    def base(self) -> Pair:
        """The pair without the sample."""
        from hush.curves.pairs.normal import NormalPair

        return NormalPair.shifted(self.distance)

    @property
    def rest(self) -> float:
        """Mass at loss 0: (1 - rate) times the base's delta at epsilon 0."""
        return (1 - self.rate) * math.erf(self.distance / math.sqrt(8))

    def log_delta(self, epsilon: float, tolerance: float = 1e-9) -> Interval:
        return folded_log_delta(self.base, self.rate, epsilon, tolerance)

    def curve(self) -> RenyiCurve:
        """The base is its own mirror too, and dominates: its line lies above."""
        slope = self.distance * self.distance / 2
        return RenyiCurve.each(lambda order: min(self.renyi(order)[1], slope * order), slope)

    def law(self) -> Law:
        pieces = tuple(HalfNormals(self.distance, self.rate, upper) for upper in (True, False))
        return Law(np.zeros(1), np.array([self.rest]), pieces)

    @property
    def max_loss(self) -> float:
        return math.inf

    def tails(self, losses: Array) -> tuple[Array, Array, Array, Array]:
        """Past 0 those of the mix; below, the mirror: P(L <= -l) = Q(L > l) where there is no atom."""
        size = np.abs(losses)
        inner = np.where(size > 600, size - math.log(self.rate), np.log1p(np.expm1(np.minimum(size, 600)) / self.rate))
        x = inner / self.distance
        q_far = special.ndtr(-x - self.distance / 2)
        p_far = self.rate * special.ndtr(self.distance / 2 - x) + (1 - self.rate) * q_far
        p_near, q_near = 1 - p_far, 1 - q_far
        right = losses >= 0
        return (
            np.where(right, p_far, q_near),
            np.where(right, q_far, p_near),
            np.where(right, p_near, q_far),
            np.where(right, q_near, p_far),
        )

    def mix(self, rate: float) -> Pair:
        return Mixed(self, Share().mix(rate))

    def swap(self) -> Pair:
        return self
