"""A record in a cluster that is drawn as a whole: what its companions give away when they come along.

S are the records of other clusters that were drawn, C the s companions, x the record: P = (1-q) M(S) + q M(S+C+x)
against Q = (1-q) M(S) + q M(S+C). With e^eps' = 1 + q (e^eps - 1) and b = e^(eps'-eps), for eps >= 0

    delta'(eps') <= q [(1-b) delta_far(eps) + b delta_near(eps)]

(advanced joint convexity, Balle, Barthe, Gaboardi 2018, Thm 2), `near` the pair of the record, `far` that of all that
comes with the coin. Also delta'(eps) <= q delta_near(eps) + (1-q)(1-e^eps)_+ for every eps, as if the coin were known;
and a bounded loss e of one record becomes log[(q e^e + (1-q) e^(-s e)) / (q + (1-q) e^(-s e))], which is attained.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hush.curves.interval import Interval, least_log_delta
from hush.curves.pairs.pair import Pair
from hush.curves.pairs.profile_law import ProfileLaw
from hush.curves.pairs.public_choice import Blend
from hush.numerics.rounding import UNIT

ROUNDING = 1e-13
"""Relative room for a few elementary functions."""


def largest_loss(epsilon: float, rate: float, companions: int) -> float:
    """The loss of a record in a cluster, from the loss of one record alone.

    >>> [round(largest_loss(1.0, 0.1, s), 6) for s in (0, 1, 2, 5)]
    [0.158565, 0.335464, 0.573627, 0.96319]
    """
    if epsilon == math.inf or rate == 0:
        return epsilon if rate else 0.0
    stays = math.log1p(-rate) - companions * epsilon if rate < 1 else -math.inf
    goes = math.log(rate)
    return float(np.logaddexp(goes + epsilon, stays) - np.logaddexp(goes, stays)) * (1 + ROUNDING) + ROUNDING


@dataclass(frozen=True)
class ClusterPair(Pair):
    """One record of a cluster, which is drawn as a whole with this rate.

    `near` and `far` are the pairs of this direction, `near_back` and `far_back` those of the other one.
    """

    near: Pair
    far: Pair
    near_back: Pair
    far_back: Pair
    rate: float
    companions: int

    @property
    def cut(self) -> bool:
        return self.near.cut or self.far.cut

    @property
    def infinite(self) -> float:
        return self.rate * self.near.infinite

    def swap(self) -> Pair:
        return ClusterPair(self.near_back, self.far_back, self.near, self.far, self.rate, self.companions)

    @property
    def max_loss(self) -> float:
        """The loss of a companion is at most that of the record, whichever way it goes."""
        loss = max(self.near.max_loss, self.near_back.max_loss)
        return largest_loss(loss, self.rate, self.companions)

    def log_delta(self, epsilon: float, tolerance: float = 1e-9) -> Interval:
        low = least_log_delta(epsilon)
        if epsilon >= self.max_loss:
            return low, low
        found = Blend.of([(self.near, self.rate)]).log_delta(epsilon, tolerance)[1]
        if epsilon >= 0 and self.rate > 0:
            found = min(found, self._joined(epsilon, tolerance))
        return low, max(min(found, 0.0), low)

    def _joined(self, epsilon: float, tolerance: float) -> float:
        inside = math.log1p(math.expm1(epsilon) / self.rate) * (1 - ROUNDING)
        stays = math.exp(epsilon - inside) if inside < math.inf else 0.0
        far, near = (math.exp(pair.log_delta(inside, tolerance)[1]) for pair in (self.far, self.near))
        mean = max(1 - stays, 0.0) * far + min(stays, 1.0) * near
        return math.log(self.rate * mean * (1 + ROUNDING) + 4 * UNIT * far) if mean > 0 else -math.inf

    def renyi(self, order: float) -> Interval:
        if order == math.inf:
            return 0.0, self.max_loss
        return 0.0, ProfileLaw.of(*self.profile_points()).renyi(order)
