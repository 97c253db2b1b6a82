"""Pairs whose loss has density e^{l/2} on an interval, with or without atoms at its ends."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hush.arrays import Array
from hush.curves.interval import Interval, exact, written_up
from hush.curves.pairs.pair import Pair
from hush.curves.pairs.share import Share
from hush.curves.renyi.curve import RenyiCurve
from hush.curves.renyi.families import laplace
from hush.curves.renyi.pearson_vajda import log_absolute_segment
from hush.numerics.engines.loss_source import Tails
from hush.numerics.laws.exponentials import Exponentials
from hush.numerics.laws.law import Law
from hush.numerics.rounding import UNIT

PLAIN = Share()
SMALL = 1e-3
"""Below this log-moment the sum of the terms is near 1 and cancels; the quadrature does not."""


@dataclass(frozen=True)
class SegmentPair(Pair):
    """L in [-a, a]: atoms (P-mass `top` at a, top e^{-a} at -a) and P-density height e^{l/2} between; then mixed.

    Laplace noise of scale b has a = 1/b and top = 1/2. With no atoms it is the envelope of all pairs of
    range a (Dong, Durfee, Rogers 2020, Lemma 3.1): delta(eps) = (1 - e^{(eps-a)/2})^2 / (1 - e^{-a}).
    """

    bound: float
    top: float
    share: Share = PLAIN
    written: Fraction | None = None
    """a in the decimals that were written, where nothing was mixed: 1/3 is no float."""

    @classmethod
    def laplace(cls, bound: Fraction) -> SegmentPair:
        return cls(written_up(bound), 0.5, written=bound)

    @classmethod
    def bounded_range(cls, bound: float) -> SegmentPair:
        return cls(bound, 0.0)

    @property
    def log_height(self) -> float:
        """log k of the P-density k e^{l/2}."""
        if self.top:
            return math.log(0.25) - self.bound / 2
        return math.log(0.5) - self.bound / 2 - math.log(-math.expm1(-self.bound))

    def mix(self, rate: float) -> SegmentPair:
        return SegmentPair(self.bound, self.top, self.share.mix(rate))

    def swap(self) -> SegmentPair:
        if self.share == PLAIN:
            return self  # the base pair is its own mirror image
        return SegmentPair(self.bound, self.top, self.share.swap())

    def law(self) -> Law:
        piece = Exponentials(self.bound, self.log_height, self.share.above, self.share.below)
        if not self.top:
            return Law(np.empty(0), np.empty(0), (piece,))
        ends = np.array([self.bound, -self.bound])
        losses = np.subtract(*piece.parts(ends))
        p, q = (
            self.top * np.array([1.0, math.exp(-self.bound)]),
            self.top * np.array([math.exp(-self.bound), 1.0]),
        )
        return Law(losses, self.share.above * p + self.share.above_rest * q, (piece,))

    def log_delta(self, epsilon: float, tolerance: float = 1e-9) -> Interval:
        if self.share == PLAIN:
            return self._base_log_delta(epsilon)
        return self.share.log_delta(epsilon, SegmentPair(self.bound, self.top), tolerance)

    def _base_log_delta(self, epsilon: float) -> Interval:
        if epsilon >= self.bound:
            return -math.inf, -math.inf
        if epsilon <= -self.bound:
            return exact(math.log(-math.expm1(epsilon)))
        gap = -math.expm1((epsilon - self.bound) / 2)
        if gap == 0:  # delta is at most the bound, which is the least of all floats
            return -math.inf, math.log(self.bound)
        value = math.log(gap) if self.top else 2 * math.log(gap) - math.log(-math.expm1(-self.bound))
        slack = 8 * UNIT * (1 + abs(value) + self.bound / (self.bound - epsilon))
        return value - slack, min(value + slack, 0.0)

    @property
    def written_loss(self) -> Fraction | None:
        return self.written

    @property
    def max_loss(self) -> float:
        if self.written is not None or self.share == PLAIN:
            return self.bound
        ends = np.array([self.bound, -self.bound])
        piece = Exponentials(self.bound, self.log_height, self.share.above, self.share.below)
        above, below = piece.parts(ends)
        return float(np.max(above - below + 8 * UNIT * (np.abs(above) + np.abs(below))))

    def curve(self) -> RenyiCurve:
        """Closed form for Laplace noise that was not mixed."""
        return laplace(self.bound) if self.share == PLAIN and self.top else super().curve()

    def log_absolute_chi(self, orders: Array) -> Array:
        if self.share != PLAIN:
            return super().log_absolute_chi(orders)
        return log_absolute_segment(self.bound, self.top, self.log_height, np.asarray(orders, dtype=float))

    def renyi(self, order: float) -> Interval:
        """Closed form where nothing was mixed (Mironov 2017, Prop. 6, for Laplace noise)."""
        if self.share != PLAIN or order in (1, math.inf):
            return super().renyi(order)
        a, c = self.bound, order - 1
        middle = self.log_height + (c + 0.5) * a - math.log(c + 0.5) + math.log(-math.expm1(-(2 * c + 1) * a))
        terms = [middle]
        if self.top:
            terms += [math.log(self.top) + c * a, math.log(self.top) - (c + 1) * a]
        value = float(np.logaddexp.reduce(terms))
        if value < SMALL:
            return super().renyi(order)
        slack = 16 * UNIT * (1 + c * a)
        return max((value - slack) / c, 0.0), (value + slack) / c

    def tails(self, losses: Array) -> Tails:
        if self.share != PLAIN:
            return self.share.tails(losses, SegmentPair(self.bound, self.top))
        a, height = self.bound, math.exp(self.log_height)
        l = np.clip(losses, -a, a)
        p_above = np.where(losses < a, self.top + 2 * height * np.exp(l / 2) * np.expm1((a - l) / 2), 0.0)
        q_above = np.where(
            losses < a, self.top * math.exp(-a) + 2 * height * np.exp(-a / 2) * np.expm1((a - l) / 2), 0.0
        )
        p_above = np.where(losses < -a, 1.0, p_above)
        q_above = np.where(losses < -a, 1.0, q_above)
        p_below = np.where(
            losses >= -a, self.top * math.exp(-a) + 2 * height * np.exp(-a / 2) * np.expm1((l + a) / 2), 0.0
        )
        q_below = np.where(losses >= -a, self.top + 2 * height * np.exp(-l / 2) * np.expm1((l + a) / 2), 0.0)
        return p_above, q_above, np.where(losses >= a, 1.0, p_below), np.where(losses >= a, 1.0, q_below)
