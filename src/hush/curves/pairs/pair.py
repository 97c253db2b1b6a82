"""Dominating pairs (P, Q), seen only through the law of the privacy loss L = log dP/dQ.

Zhu, Dong, Wang 2022: if delta(eps) of (P, Q) bounds that of every neighbouring pair, the product of such
pairs does so for the composition. All questions are answered from a pair.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from hush.arrays import Array
from hush.curves.renyi.curve import RenyiCurve
from hush.errors import Contradiction, NotCovered
from hush.numerics.engines.grid import cell_masses
from hush.numerics.engines.saddle import LARGEST_ORDER
from hush.numerics.laws.law import UNIT, Law
from hush.numerics.roots import decreasing_root
from hush.numerics.special.logarithms import log1p
from hush.numerics.work import attempt, spend

ROUNDING = 1e-5
"""Ends of an interval may cross by this, relatively."""
BEYOND = -690.0
CUT_OFF = 1e-270
"""Lower bounds on deltas below this are not taken from pairs whose table was cut."""
Interval = tuple[float, float]
"""Certified lower and upper bound."""


def agreed_epsilon(low: float, high: float) -> Interval:
    """Two ends that were found in different ways; if they cross by more than rounding, one of them is wrong."""
    if not low <= high * (1 + ROUNDING) + 1e-12:  # so too if one of them is no number
        raise Contradiction(low, high)
    return min(low, high), max(low, high)


def agreed_log_delta(low: float, high: float) -> Interval:
    """The same for logs of delta; those that are beyond floats say nothing.

    >>> agreed_log_delta(-3.0, -3.0000001)
    (-3.0000001, -3.0)
    """
    low, high = known((low, high))
    if low > BEYOND and low > high + (ROUNDING * (1 + abs(high)) if high > -math.inf else 0.0):
        raise Contradiction(low, high)
    return min(low, high), max(low, high)


def known(ends: Interval) -> Interval:
    """The two ends, if they are numbers: min and max would drop one that is not, and leave a bound of nothing."""
    if math.isnan(ends[0]) or math.isnan(ends[1]):
        raise Contradiction(*ends)
    return ends


def exact(value: float) -> Interval:
    """The interval of one value."""
    return value, value


def rounded_up(number: Fraction) -> float:
    """The least float whose shortest decimals are not below the number.

    >>> rounded_up(3 * Fraction("0.1"))
    0.3
    """
    near = float(number)
    return near if Fraction(repr(near)) >= number else math.nextafter(near, math.inf)


class Pair(ABC):
    """A pair of distributions; subclasses give a few formulas, the rest is derived."""

    @property
    def infinite(self) -> float:
        """P-mass where Q has none: the loss is +infinity there."""
        return 0.0

    @property
    def written_loss(self) -> Fraction | None:
        """The largest finite loss, where it was stated, in the decimals that were written: see error-budget.md."""
        return None

    @property
    def written_infinite(self) -> Fraction | None:
        """The infinite mass, in the same way."""
        return None

    def stated_epsilon(self, delta: float) -> float:
        """The largest finite loss, where the infinite mass that was written is at most this delta; else infinity."""
        loss, mass = self.written_loss, self.written_infinite
        if loss is None or mass is None or mass > Fraction(repr(delta)):
            return math.inf
        return max(rounded_up(loss), 0.0)

    @property
    def cut(self) -> bool:
        """Whether mass below CUT_OFF stands for the end of a table: what it adds counts in upper bounds alone."""
        return False

    @abstractmethod
    def log_delta(self, epsilon: float, tolerance: float = 1e-9) -> Interval:
        """Bounds on log of delta(epsilon) = sup over events of P - e^epsilon Q, for every real epsilon."""

    @abstractmethod
    def tails(self, losses: Array) -> tuple[Array, Array, Array, Array]:
        """P(L > l), Q(L > l), P(L <= l), Q(L <= l), each with small relative error."""

    @abstractmethod
    def mix(self, rate: float) -> Pair:
        """((1 - rate) Q + rate P, Q): what is left of the pair when the record takes part with this probability."""

    @abstractmethod
    def swap(self) -> Pair:
        """(Q, P)."""

    def mix_both(self, rate: float) -> Pair:
        """The profile of mix(rate) for epsilon >= 0 and its own mirror below: samples of a fixed size, replace-one."""
        from hush.curves.pairs.fixed_size import Folded

        return self if rate == 1 else Folded(self, rate)

    def sketched(self) -> Pair:
        """A pair above this one that answers quickly at many epsilons, where that is possible."""
        return self

    @property
    def alternatives(self) -> tuple[Pair, ...]:
        """Pairs to compose, of which each dominates this one; the best one depends on the question."""
        return (self,)

    def checked(self) -> Pair:
        """Itself; InvalidParameter where the fields cannot be those of a pair."""
        return self

    def law(self) -> Law:
        """The loss under P, given that it is finite, as atoms and analytic pieces."""
        raise NotCovered(f"{type(self).__name__} has no analytic law of its loss; it is composed through a table")

    def table(self) -> Pair | None:
        """A finite pair above this one, for compositions, where it is known better than by sampling the profile."""
        return None

    def enclosure(self) -> tuple[Pair, Pair]:
        """Pairs with a law, one that this pair dominates and one that dominates it."""
        raise NotCovered(
            f"{type(self).__name__} has no pairs on either side of it; it is composed through a table above"
        )

    def cover(self) -> Pair:
        """A pair that dominates this one and has a law that reaches all losses; itself where it has one."""
        self.law()
        return self

    def epsilon(self, log_delta: float, tolerance: float = 1e-9, floor: float = 0.0) -> Interval:
        """Bounds on the least epsilon >= 0 with delta <= e^log_delta; below the floor an upper bound will do."""
        return invert(self, log_delta, tolerance, floor)

    def renyi(self, order: float) -> Interval:
        """Bounds on the Rényi divergence of real order > 1 (order 1: Kullback-Leibler; inf: max divergence)."""
        if self.infinite > 0:
            return math.inf, math.inf
        if order == math.inf:
            return self.max_loss, self.max_loss
        law = self.law()
        if order == 1:
            tilt = law.tilt(0.0)
            slack = 1e-12 * (abs(tilt.mean) + tilt.deviation)
            return max(tilt.mean - slack, 0.0), tilt.mean + slack
        c = order - 1
        if c > LARGEST_ORDER or law.cost(c, 0.0, 60.0) > 2_000_000:  # divergences grow with the order
            return 0.0, self.max_loss
        tilt = law.tilt(c, accuracy=60.0)
        slack = tilt.log_moment_error + 4 * UNIT * abs(tilt.log_moment)
        return max((tilt.log_moment - slack) / c, 0.0), max((tilt.log_moment + slack) / c, 0.0)

    def curve(self) -> RenyiCurve:
        """Upper bounds on the Rényi divergences of all orders."""
        return RenyiCurve.each(lambda order: self.renyi(order)[1])

    def log_absolute_chi(self, orders: Array) -> Array:
        """log of upper bounds on |chi|^j = E_Q|dP/dQ - 1|^j at whole orders j >= 2."""
        raise NotCovered(
            f"|chi|^j of {type(self).__name__}: known for plain Gaussian and Laplace noise and finite pairs"
        )

    def profile(self) -> Callable[[float], Interval]:
        """epsilon -> bounds on log delta, made for many questions."""
        return lambda epsilon: self.log_delta(epsilon, 1e-6)

    @property
    def max_loss(self) -> float:
        """Least upper bound of the loss: epsilon at delta = 0."""
        law = self.law()
        if self.infinite or law.pieces:
            return math.inf
        return float(law.losses[law.masses > 0].max(initial=0.0))

    def moments(self, s: Array | complex | float) -> Array:
        """log E_P e^{sL} at complex s (all with one real part)."""
        s = np.atleast_1d(np.asarray(s, dtype=complex))
        c = float(s.real[0])
        tilt = self.law().tilt(c, reach=float(np.abs(s.imag).max()))
        turn = np.array([tilt.departure(np.array([y]))[0] for y in s.imag])
        return tilt.log_moment + log1p(turn) + 1j * s.imag * tilt.mean

    def masses(self, edges: Array) -> tuple[Array, Array]:
        """P- and Q-mass of edges[k] < L <= edges[k+1]."""
        p_above, q_above, p_below, q_below = self.tails(edges)
        return cell_masses(p_above, p_below), cell_masses(q_above, q_below)


def invert(pair: Pair, log_delta: float, tolerance: float, floor: float = 0.0) -> Interval:
    """Solve delta(eps) = e^log_delta on the upper and on the lower bound of the profile."""
    if log_delta == -math.inf:
        top = max(pair.max_loss, 0.0)
        return top, top
    if pair.infinite > 0 and math.log(pair.infinite) > log_delta:
        return math.inf, math.inf

    @cache
    def profile(epsilon: float) -> Interval:
        return known(attempt(lambda: pair.log_delta(epsilon, tolerance), (-math.inf, 0.0)))

    if floor > 0 and profile(floor)[1] <= log_delta:
        return 0.0, floor
    ends = []
    for side in (0, 1):

        def excess(epsilon: float, side: int = side) -> float:
            return profile(epsilon)[side] - log_delta

        high = max(2 * floor, 1.0)
        while excess(high) > 0 and high < 1e15:
            high *= 4
        if excess(0.0) <= 0:
            ends.append(0.0)
        elif excess(high) > 0:
            ends.append(math.inf if side else high)
        else:
            ends.append(decreasing_root(excess, 0.0, high, 0.01 * tolerance)[side])
    return min(ends), max(ends)


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

    def log_delta(self, epsilon: float, base: Pair, tolerance: float) -> Interval:
        """Profile of the mixed pair from that of the base (Balle, Barthe, Gaboardi 2018, Thm 2 and both its mirrors).

        P' - e^eps Q' = a P + b Q with a = A - e^eps B, b = (1-A) - e^eps (1-B): a hockey stick of the base.
        """
        if epsilon > 700:
            ends = (self.above, self.below), (self.above_rest, self.below_rest)
            top, bottom = ends[0] if self.above > self.below else ends[1]
            if bottom > 0:
                return -math.inf, -math.inf if top < bottom or math.log(top / bottom) < epsilon else 0.0
        growth = math.expm1(min(epsilon, 700.0))
        lead = self._lead(epsilon)
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

    def _of_base(self, epsilon: float, growth: float, lead: float, base: Pair, tolerance: float) -> Interval:
        """log of lead * delta_base(log(1 + (e^eps - 1)/lead)), or 1 - e^eps where that logarithm does not exist."""
        if lead == 0:
            return exact(-math.inf)
        if epsilon > 600:
            inner = epsilon - math.log(lead)
        elif growth / lead <= -1:
            return exact(math.log(-growth))
        else:
            inner = math.log1p(growth / lead)
        low, high = base.log_delta(inner, tolerance)
        slack = 8 * UNIT * (1 + abs(math.log(lead)))
        return math.log(lead) + low - slack, min(math.log(lead) + high + slack, 0.0)

    def _lead(self, epsilon: float) -> float:
        if self.below == 0:
            return self.above
        return self._excess - self.below * math.expm1(min(epsilon, 700.0))

    @property
    def _excess(self) -> float:
        """above - below, from whichever of the two forms keeps its digits."""
        return self.above - self.below if self.above + self.below < 1 else self.below_rest - self.above_rest

    def inverse_loss(self, losses: Array) -> tuple[Array, Array, Array]:
        """Base loss at which the mixed loss is l, for increasing shares (A > B); and where l is below or above all."""
        growth = np.expm1(np.minimum(losses, 700.0))
        top = self._excess - self.below * growth
        low = self._excess + growth * self.below_rest
        under, over = low <= 0, top <= 0
        inside = ~(under | over)
        ratio = np.where(inside, growth / np.where(inside, top, 1.0), 0.0)
        base = np.log1p(np.maximum(ratio, -1 + 1e-15))
        if self.below == 0:
            base = np.where(losses > 600, losses - math.log(self.above), base)
        return base, under, over

    def tails(self, losses: Array, base: Pair) -> tuple[Array, Array, Array, Array]:
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
