"""Mixes of a pair that is known through its profile: one sample of a whole composition."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hush.arrays import Array
from hush.curves.pairs.pair import Interval, Pair, Share
from hush.errors import NotCovered


@dataclass(frozen=True)
class Mixed(Pair):
    """A mix of a pair whose loss has no analytic law: one sample of a whole composition."""

    base: Pair
    share: Share

    @property
    def cut(self) -> bool:
        return self.base.cut

    @property
    def infinite(self) -> float:
        return self.share.above * self.base.infinite if self.share.below == 0 else 0.0

    def mix(self, rate: float) -> Pair:
        return Mixed(self.base, self.share.mix(rate))

    def swap(self) -> Pair:
        return Mixed(self.base, self.share.swap())

    def log_delta(self, epsilon: float, tolerance: float = 1e-7) -> Interval:
        return self.share.log_delta(epsilon, self.base, tolerance)

    def epsilon(self, log_delta: float, tolerance: float = 1e-7, floor: float = 0.0) -> Interval:
        """Where only P is mixed, the profile's change of variable can be undone (Balle, Barthe, Gaboardi 2018)."""
        if self.share.below > 0 or self.share.above == 0:
            return super().epsilon(log_delta, tolerance, floor)
        rate = self.share.above
        target = log_delta - math.log(rate)
        if target >= 0:
            return 0.0, 0.0
        low, high = self.base.epsilon(target, tolerance)
        return log1p_times_expm1(rate, low) * (1 - 4e-14), log1p_times_expm1(rate, high)

    @property
    def max_loss(self) -> float:
        """The mixed loss is monotone in the base's: its end lies at an end of that one."""
        share = self.share
        if share.above >= share.below:
            end, top, bottom = self.base.epsilon(-math.inf)[1], share.above, share.below
        else:
            end, top, bottom = self.base.swap().epsilon(-math.inf)[1], share.above_rest, share.below_rest
        if end > 600:
            return math.log(top / bottom) if bottom > 0 else end + math.log(top) if end < math.inf else math.inf
        return math.log1p(top * math.expm1(end)) - math.log1p(bottom * math.expm1(end))

    def sketched(self) -> Pair:
        return Mixed(self.base.sketched(), self.share)

    def tails(self, losses: Array) -> tuple[Array, Array, Array, Array]:
        raise NotCovered("the tails of a sampled composition are known only through its profile")

    def renyi(self, order: float) -> Interval:
        from hush.curves.pairs.table import tabulate

        return 0.0, tabulate(self).renyi(order)[1]


def log1p_times_expm1(rate: float, epsilon: float) -> float:
    """log(1 + rate (e^epsilon - 1)), rounded up, for epsilon of any size."""
    if epsilon > 600:
        return (epsilon + math.log(rate)) * (1 + 1e-14)
    return math.log1p(rate * math.expm1(epsilon)) * (1 + 1e-14)
