"""Pairs of which one is drawn at random, in the open."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from hush.arrays import Array
from hush.curves.interval import Interval, known
from hush.curves.pairs.delta_to_epsilon import invert
from hush.curves.pairs.pair import Pair
from hush.numerics.engines.loss_source import Tails
from hush.numerics.laws.law import Law
from hush.numerics.laws.weighted import Weighted
from hush.numerics.rounding import UNIT
from hush.numerics.work import attempt

MEAN_ROUNDING = 1e-12
"""Relative error of a mean of exponentials over a few hundred parts."""
LARGEST_MOMENT = 600.0
"""Exponents up to which e^x - 1 is summed as such; past it logarithms are added."""
LEAST_IDLE = 1e-300
"""Stands for no idle share where a logarithm is taken."""


@dataclass(frozen=True)
class Blend(Pair):
    """Pair k with probability w_k, and everybody learns k; with what is left, nothing is released.

    Its profile is the mean of the profiles, and e^{(order-1) D} is the mean of those of the parts.
    """

    parts: tuple[tuple[Pair, float], ...]
    idle: float

    @classmethod
    def of(cls, parts: Iterable[tuple[Pair, float]]) -> Pair:
        """Pairs with their probabilities; the rest up to 1 is idle."""
        kept = tuple((pair, weight) for pair, weight in parts if weight > 0)
        idle = max(0.0, 1 - math.fsum(weight for _, weight in kept))
        if len(kept) == 1 and idle < 4 * UNIT:
            return kept[0][0]
        return cls(kept, idle)

    @property
    def cut(self) -> bool:
        return any(pair.cut for pair, _ in self.parts)

    @property
    def infinite(self) -> float:
        return math.fsum(weight * pair.infinite for pair, weight in self.parts)

    def _each(self, change: Callable[[Pair], Pair]) -> Pair:
        return Blend(tuple((change(pair), weight) for pair, weight in self.parts), self.idle)

    def mix(self, rate: float) -> Pair:
        return self._each(lambda pair: pair.mix(rate))

    def mix_both(self, rate: float) -> Pair:
        return self._each(lambda pair: pair.mix_both(rate))

    def swap(self) -> Pair:
        return self._each(lambda pair: pair.swap())

    def sketched(self) -> Pair:
        return self._each(lambda pair: pair.sketched())

    def log_delta(self, epsilon: float, tolerance: float = 1e-9) -> Interval:
        return self.log_delta_by(lambda pair: pair.log_delta(epsilon, tolerance), epsilon)

    def log_delta_by(self, ask: Callable[[Pair], Interval], epsilon: float) -> Interval:
        found = [(math.log(weight), attempt(lambda p=pair: ask(p), (-math.inf, 0.0))) for pair, weight in self.parts]
        start = math.log(self.idle * -math.expm1(epsilon)) if epsilon < 0 < self.idle else -math.inf
        slack = 4 * UNIT * (2 + len(found))
        low, high = (
            float(np.logaddexp.reduce([start, *(log_weight + ends[side] for log_weight, ends in found)]))
            for side in (0, 1)
        )
        return low - slack, min(high + slack, 0.0)

    def epsilon(self, log_delta: float, tolerance: float = 1e-9, floor: float = 0.0) -> Interval:
        """With one part, delta' = w delta is undone at once; with several, compositions are sketched."""
        if len(self.parts) != 1 or log_delta == -math.inf:
            # several compositions at many epsilons take minutes; an upper end is what a blend of several is asked for
            return invert(self.sketched() if len(self.parts) > 1 else self, log_delta, tolerance, floor)
        ((pair, weight),) = self.parts
        target = log_delta - math.log(weight)
        return (0.0, 0.0) if target >= 0 else pair.epsilon(target - 4 * UNIT * abs(log_delta), tolerance, floor)

    def tails(self, losses: Array) -> Tails:
        up = self.idle * (losses < 0)
        total = [up, up, self.idle - up, self.idle - up]
        for pair, weight in self.parts:
            total = [whole + weight * part for whole, part in zip(total, pair.tails(losses), strict=True)]
        p_up, q_up, p_down, q_down = total
        return p_up, q_up, p_down, q_down

    def law(self) -> Law:
        finite = 1 - self.infinite
        losses, masses, pieces = [np.zeros(1)], [np.array([self.idle / finite])], []
        back = self.idle / finite
        for pair, weight in self.parts:
            law, share = pair.law(), weight * (1 - pair.infinite) / finite
            losses.append(law.losses)
            masses.append(share * law.masses)
            pieces += [Weighted(piece, share) for piece in law.pieces]
            back += share * math.exp(law.discount)
        discount = math.log(back) if back > 1 + MEAN_ROUNDING else 0.0
        return Law(np.concatenate(losses), np.concatenate(masses), tuple(pieces), discount=discount)

    @property
    def max_loss(self) -> float:
        return float(np.max([0.0, *(pair.max_loss for pair, _ in self.parts)]))

    def renyi(self, order: float) -> Interval:
        """log of the mean of e^{(order-1) D_k} over the parts: a sample that is not secret amplifies only this."""
        found = [(known(pair.renyi(order)), weight) for pair, weight in self.parts]
        if order == math.inf:
            return max((low for (low, _), _ in found), default=0.0), max((high for (_, high), _ in found), default=0.0)
        low, high = (renyi_blend([(ends[side], weight) for ends, weight in found], order) for side in (0, 1))
        return low * (1 - MEAN_ROUNDING), high * (1 + MEAN_ROUNDING)


def renyi_blend(parts: Iterable[tuple[float, float]], order: float) -> float:
    """(1/(a-1)) log(1 - sum w + sum w e^{(a-1) D}) of parts (divergence D, probability w); order 1: the mean.

    >>> renyi_blend([(1.0, 0.01)], 2.0)
    0.0170368...
    """
    known = list(parts)
    if order == 1:
        return math.fsum(weight * divergence for divergence, weight in known)
    c = order - 1
    if any(math.isinf(divergence) for divergence, _ in known):
        return math.inf
    if max((c * divergence for divergence, _ in known), default=0.0) < LARGEST_MOMENT:
        return math.log1p(math.fsum(weight * math.expm1(c * divergence) for divergence, weight in known)) / c
    idle = max(1 - math.fsum(weight for _, weight in known), 0.0)
    terms = [math.log(weight) + c * divergence for divergence, weight in known] + [math.log(max(idle, LEAST_IDLE))]
    return float(np.logaddexp.reduce(terms)) / c
