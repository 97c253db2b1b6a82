"""One of several pairs, chosen by a public draw that does not depend on the data."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hush.curves.pair import Interval, Pair
from hush.numerics.law import UNIT, Array


@dataclass(frozen=True)
class Labelled(Pair):
    """P and Q each publish the same random label, then a draw from that label's pair: profiles are averaged."""

    parts: tuple[tuple[Pair, float], ...]
    """Pairs with their probabilities, which sum to 1."""

    @property
    def infinite(self) -> float:
        return sum(weight * pair.infinite for pair, weight in self.parts)

    @property
    def max_loss(self) -> float:
        return max(pair.max_loss for pair, _ in self.parts)

    def log_delta(self, epsilon: float, tolerance: float = 1e-9) -> Interval:
        ends = [(math.log(weight), pair.log_delta(epsilon, tolerance)) for pair, weight in self.parts]
        slack = 4 * UNIT * (1 + len(ends))
        low, high = (float(np.logaddexp.reduce([lead + end[side] for lead, end in ends])) for side in (0, 1))
        floor = math.log(-math.expm1(epsilon)) if epsilon < 0 else -math.inf
        return max(low - slack, floor), max(min(high + slack, 0.0), floor)

    def tails(self, losses: Array) -> tuple[Array, Array, Array, Array]:
        each = [[weight * tail for tail in pair.tails(losses)] for pair, weight in self.parts]
        p_above, q_above, p_below, q_below = (sum(column) for column in zip(*each, strict=True))
        return p_above, q_above, p_below, q_below

    def mix(self, rate: float) -> Labelled:
        return Labelled(tuple((pair.mix(rate), weight) for pair, weight in self.parts))

    def swap(self) -> Labelled:
        return Labelled(tuple((pair.swap(), weight) for pair, weight in self.parts))

    def renyi(self, order: float) -> Interval:
        ends = [(weight, pair.renyi(order)) for pair, weight in self.parts]
        if order == 1:
            return sum(w * low for w, (low, _) in ends), sum(w * high for w, (_, high) in ends)
        if order == math.inf:
            return max(low for _, (low, _) in ends), max(high for _, (_, high) in ends)
        low, high = (
            float(np.logaddexp.reduce([math.log(w) + (order - 1) * end[side] for w, end in ends])) / (order - 1)
            for side in (0, 1)
        )
        return max(low, 0.0), max(high, 0.0)
