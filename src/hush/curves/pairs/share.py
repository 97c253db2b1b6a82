"""What mixing and swapping make of a pair: shares of its two sides, and the profile that follows from them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from hush.arrays import Array
from hush.curves.interval import Interval, exact
from hush.numerics.engines.loss_source import Tails
from hush.numerics.rounding import LARGEST_EXPONENT, UNIT
from hush.numerics.work import spend

FAR = 600.0
"""Past this epsilon e^epsilon - 1 is e^epsilon to the last digit, and still a float: logarithms are added instead."""


class Base(Protocol):
    """What a mix asks of the pair that was mixed."""

    def log_delta(self, epsilon: float, tolerance: float, /) -> Interval:
        """Bounds on log delta(epsilon)."""
        ...

    def tails(self, losses: Array, /) -> Tails:
        """Both tails under P and under Q."""
        ...

    def swap(self) -> Base:
        """(Q, P)."""
        ...


@dataclass(frozen=True)
class Share:
    """P' = A P + (1-A) Q and Q' = B P + (1-B) Q: all that mixing and swapping can make of a base pair."""

    above: float = 1.0
    below: float = 0.0
    above_rest: float = 0.0
    """1 - above, kept with its own digits."""
    below_rest: float = 1.0

    def mix(self, rate: float) -> Share:
        keep = 1.0 - rate
        return Share(
            rate * self.above + keep * self.below,
            self.below,
            rate * self.above_rest + keep * self.below_rest,
            self.below_rest,
        )

    def swap(self) -> Share:
        return Share(self.below, self.above, self.below_rest, self.above_rest)

    def of_swapped(self) -> Share:
        """The same two sides as shares of (Q, P)."""
        return Share(self.above_rest, self.below_rest, self.above, self.below)

    def log_delta(self, epsilon: float, base: Base, tolerance: float) -> Interval:
        """Profile of the mixed pair from that of the base (Balle, Barthe, Gaboardi 2018, Thm 2 and both its mirrors).

        P' - e^eps Q' = a P + b Q with a = A - e^eps B, b = (1-A) - e^eps (1-B): a hockey stick of the base.
        """
        if epsilon > LARGEST_EXPONENT:
            ends = (self.above, self.below), (self.above_rest, self.below_rest)
            top, bottom = ends[0] if self.above > self.below else ends[1]
            if bottom > 0:
                return -math.inf, -math.inf if top < bottom or math.log(top / bottom) < epsilon else 0.0
        growth = math.expm1(min(epsilon, LARGEST_EXPONENT))
        lead = self._excess - self.below * growth if self.below else self.above
        blur = 4 * UNIT * (self._excess + self.below * abs(growth)) if self.below else 0.0
        if lead + blur > 0 and self.above > self.below:
            ends = [
                self._of_base(epsilon, growth, max(lead + s * blur, 0.0), base, tolerance)
                for s in ((-1, 1) if blur else (0,))
            ]
            return ends[0][0], ends[-1][1]
        rest = -self._excess - self.below_rest * growth
        blur = 4 * UNIT * (abs(self._excess) + self.below_rest * abs(growth))
        if rest + blur <= 0 or self.above >= self.below:
            return exact(-math.inf)
        mirror = base.swap()
        ends = [self._of_base(epsilon, growth, max(rest + s * blur, 0.0), mirror, tolerance) for s in (-1, 1)]
        return ends[0][0], ends[1][1]

    def _of_base(self, epsilon: float, growth: float, lead: float, base: Base, tolerance: float) -> Interval:
        """log of lead * delta_base(log(1 + (e^eps - 1)/lead)), or 1 - e^eps where that logarithm does not exist."""
        if lead == 0:
            return exact(-math.inf)
        if epsilon > FAR:
            inner = epsilon - math.log(lead)
        elif growth / lead <= -1:
            return exact(math.log(-growth))
        else:
            inner = math.log1p(growth / lead)
        low, high = base.log_delta(inner, tolerance)
        slack = 8 * UNIT * (1 + abs(math.log(lead)))
        return math.log(lead) + low - slack, min(math.log(lead) + high + slack, 0.0)

    @property
    def _excess(self) -> float:
        """above - below, from whichever of the two forms keeps its digits."""
        return self.above - self.below if self.above + self.below < 1 else self.below_rest - self.above_rest

    def losses(self, losses: Array) -> Array:
        """The mixed losses of these losses of the base: log(1 + (A - B)(e^l - 1)/(1 + B (e^l - 1)))."""
        growth = np.expm1(np.minimum(losses, FAR))
        mixed = np.log1p(self._excess * growth / (self.below_rest + self.below * np.exp(np.minimum(losses, FAR))))
        if self.below == 0 and self.above > 0:
            mixed = np.where(losses > FAR, losses + math.log(self.above), mixed)
        return mixed

    def inverse_loss(self, losses: Array) -> tuple[Array, Array, Array]:
        """Base loss at which the mixed loss is l, for increasing shares (A > B); and where l is below or above all."""
        growth = np.expm1(np.minimum(losses, LARGEST_EXPONENT))
        top = self._excess - self.below * growth
        # (1-B) e^l - (1-A): where A = 1 this is above 0 for every loss, however far below 0
        low = self.below_rest * np.exp(np.clip(losses, -FAR, LARGEST_EXPONENT)) - self.above_rest
        under, over = low <= 0, top <= 0
        inside = ~(under | over)
        top, low = np.where(inside, top, 1.0), np.where(inside, low, 1.0)
        # e^base = 1 + growth/top = low/top, of which each form keeps its digits on one side
        ratio = np.where(inside, growth / top, 0.0)
        base = np.where(ratio < -0.5, np.log(low) - np.log(top), np.log1p(np.maximum(ratio, -0.5)))
        if self.below == 0:
            base = np.where(losses > FAR, losses - math.log(self.above), base)
        if self.above_rest == 0:
            base = np.where(losses < -FAR, losses + math.log(self.below_rest) - np.log(top), base)
        return base, under, over

    def tails(self, losses: Array, base: Base) -> Tails:
        """Tails of the mixed loss from those of the base."""
        if self.above < self.below:
            p_up, q_up, p_down, q_down = self.swap().tails(-losses, base)
            # L' = -L and the roles of P and Q exchanged; atoms at the edge itself change sides, which masses() ignores.
            return q_down, p_down, q_up, p_up
        spend(20 * len(losses))
        inner, under, over = self.inverse_loss(losses)
        p_up, q_up, p_down, q_down = base.tails(inner)
        pick = [
            (self.above * p_up + self.above_rest * q_up, 1.0, 0.0),
            (self.below * p_up + self.below_rest * q_up, 1.0, 0.0),
            (self.above * p_down + self.above_rest * q_down, 0.0, 1.0),
            (self.below * p_down + self.below_rest * q_down, 0.0, 1.0),
        ]
        p_above, q_above, p_below, q_below = (np.where(under, a, np.where(over, b, v)) for v, a, b in pick)
        return p_above, q_above, p_below, q_below


def folded_log_delta(base: Base, rate: float, epsilon: float, tolerance: float) -> Interval:
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
