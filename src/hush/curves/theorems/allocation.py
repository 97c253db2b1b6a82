"""The pair of random allocation: normal noise in every step, the record in one of them, chosen at random."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np

from hush.arrays import Array
from hush.curves.interval import Interval
from hush.curves.pairs import finite_bounds
from hush.curves.pairs.finite import FinitePair
from hush.curves.pairs.normal import NormalPair
from hush.curves.pairs.pair import Pair
from hush.curves.renyi.curve import RenyiCurve
from hush.numerics.lognormal_mean.inversion import out_of_the_money
from hush.numerics.lognormal_mean.moments import (
    LARGEST_WHOLE,
    high_moments,
    log_negative_moment,
    log_whole_moments,
    moment_error,
)
from hush.numerics.lognormal_mean.transform import LognormalMean
from hush.numerics.roots import decreasing_root
from hush.numerics.rounding import UNIT
from hush.numerics.special.gaussian_profile import gaussian_log_delta
from hush.numerics.work import remembered, spend

FINE = 150
"""Points of a table to one standard deviation of the loss."""
LEAST = 1e-24
"""Tails are tabulated down to here."""
FARTHEST = math.log(1e-60)
"""Where delta is certainly below, the transform is not asked."""
SHIFTS, LEAST_TOTAL = (1 / 50, 3.2), 0.12
"""Where the transform keeps its digits: 1/noise, and 1/noise times the root of the steps; else simple bounds serve."""
DOUBT = 1e-3
"""Width of log delta from which simpler bounds are asked too."""
SMALLEST_STEP = 1e-15
"""Of a walk from an epsilon that may be zero."""
FAR_OFF = 1e15
"""Past this epsilon the floats are so far apart that only the plain pair is asked, which dominates."""


@dataclass(frozen=True)
class AllocationPair(Pair):
    """P = the mean of N(shift e_i, I) over i = 1..steps, against Q = N(0, I); or the reverse.

    dP/dQ is S, the mean of that many lognormals: delta at epsilon = log K is E(S - K)_+ (remove), or, at
    epsilon = -log K, E(K - S)_+ / K (add): a call and a put on S, in the words of `numerics.lognormal_mean`.
    """

    shift: float
    steps: int
    reverse: bool = False

    @property
    def mean(self) -> LognormalMean:
        """The law of dP/dQ under Q."""
        return LognormalMean(self.shift, self.steps)

    def swap(self) -> AllocationPair:
        return replace(self, reverse=not self.reverse)

    @property
    def max_loss(self) -> float:
        return math.inf

    @property
    def plain(self) -> NormalPair:
        """The pair of one step in which the record certainly takes part: by joint convexity it dominates this one."""
        return NormalPair.shifted(self.shift)

    @cached_property
    def single(self) -> Pair:
        """The pair of any one step on its own: what is left of this one when the others are not looked at."""
        mixed = self.plain.mix(1 / self.steps)
        return mixed.swap() if self.reverse else mixed

    def log_delta(self, epsilon: float, tolerance: float = 1e-9) -> Interval:
        if epsilon > FAR_OFF:
            return -math.inf, self.plain.log_delta(epsilon)[1]
        loss = np.array([-epsilon if self.reverse else epsilon])
        low, high = (float(end[0]) for end in log_values(self.mean, loss, 0.01 * tolerance))
        if self.reverse:
            low, high = low + epsilon, high + epsilon
        if epsilon < 0:
            floor = math.log(-math.expm1(epsilon))
            low, high = (float(np.logaddexp(end, floor)) for end in (low, high))
        slack = 8 * UNIT * (1 + abs(epsilon) + (abs(high) if high > -math.inf else 0.0))
        return low - slack, min(high + slack, 0.0)

    def epsilon(self, log_delta: float, tolerance: float = 1e-9, floor: float = 0.0) -> Interval:
        """A coarse profile finds the place, a fine one is asked there only."""
        if not -1e300 < log_delta < 0:
            return super().epsilon(log_delta, tolerance, floor)
        if self.log_delta(floor)[1] <= log_delta:
            return 0.0, floor
        coarse = cache(lambda e: self.log_delta(e, 1.0)[1] - log_delta)
        high, step = floor, self.mean.width
        while coarse(high) > 0:
            high, step = high + step, 2 * step
        guess = decreasing_root(coarse, floor, high, 1e-5)[1] if high > floor else floor + step * tolerance
        profile = cache(lambda e: self.log_delta(e, min(tolerance, 1e-9)))
        ends = []
        for side in (0, 1):

            def excess(e: float, side: int = side) -> float:
                return profile(e)[side] - log_delta

            bracket = around(excess, guess, max(1e-6 * guess, SMALLEST_STEP))
            ends.append(decreasing_root(excess, *bracket, 0.01 * tolerance)[side] if bracket else 0.0)
        return ends[0], ends[1]

    def renyi(self, order: float) -> Interval:
        """Whole orders (remove) or every order (add); between whole ones by convexity; at most the plain pair's."""
        if order == math.inf:
            return math.inf, math.inf
        top = order * self.shift**2 / 2 * (1 + 4 * UNIT)
        low, high = self._reverse_renyi(order) if self.reverse else self._forward_renyi(order)
        return max(min(low, top), 0.0), min(high, top)

    def _forward_renyi(self, order: float) -> Interval:
        floor = min(math.floor(order), LARGEST_WHOLE)
        low = self._whole(floor)[0] / (floor - 1) if floor > 1 else 0.0
        if order >= LARGEST_WHOLE:
            return low, math.inf if order > LARGEST_WHOLE else self._whole(floor)[1] / (order - 1)
        if order == 1:
            return 0.0, self._whole(2)[1]
        share = order - floor
        return low, ((1 - share) * self._whole(floor)[1] + share * self._whole(floor + 1)[1]) / (order - 1)

    def _whole(self, order: int) -> Interval:
        """log E S^order."""
        value = float(log_whole_moments(self.mean)[order]) if order > 1 else 0.0
        slack = moment_error(self.mean, float(order), value)
        return value - slack, value + slack

    def _reverse_renyi(self, order: float) -> Interval:
        # moments of the orders 1/4 to 500 are computed: below, the divergence of a higher order bounds this one (they
        # grow); above, only the plain pair does
        near = min(max(order - 1, 0.25), 500.0)
        low, high = log_negative_moment(self.mean, near)
        return (low / near if order >= 1.25 else 0.0), (high / near if order <= 501 else math.inf)

    def curve(self) -> RenyiCurve:
        return RenyiCurve.each(lambda order: self.renyi(order)[1], self.shift**2 / 2 * (1 + 4 * UNIT))

    def enclosure(self) -> tuple[Pair, Pair]:
        below, above = _tables(self.mean)
        if not transformed(self.mean):  # the sum of all steps is attained in every epoch
            below = NormalPair.shifted(self.shift / math.sqrt(self.steps))
        return (below.swap(), above.swap()) if self.reverse else (below, above)

    def cover(self) -> Pair:
        return self.plain


def transformed(mean: LognormalMean) -> bool:
    """Whether the transform keeps its digits."""
    return SHIFTS[0] < mean.spread < SHIFTS[1] and mean.spread * math.sqrt(mean.count) > LEAST_TOTAL


def log_markov(mean: LognormalMean, losses: Array) -> Array:
    """Upper bounds on log E(S - e^l)_+, for l >= 0, from the moments of whole order k, at the best of them.

    (s - K)_+ <= s^k (1 - 1/k)^(k-1) / (k K^(k-1)): Canonne, Kamath, Steinke 2020, Prop. 12.
    """
    spend((20 + len(losses)) * 4 * LARGEST_WHOLE)
    k = np.arange(2, LARGEST_WHOLE + 1)
    moments = log_whole_moments(mean)[2:]
    slack = np.array([moment_error(mean, float(order), float(value)) for order, value in zip(k, moments, strict=True)])
    moments = moments + slack
    if mean.spread <= SHIFTS[0]:
        high, bounds = high_moments(mean)
        k, moments = np.append(k, high), np.append(moments, bounds)
    found = moments + (k - 1) * np.log1p(-1 / k) - np.log(k) - (k - 1) * np.maximum(losses, 0.0)[:, None]
    return np.where(losses >= 0, found.min(axis=1), 0.0)


def log_geometric(mean: LognormalMean, loss: float) -> float:
    """Upper bound on log E(e^l - S)_+, l < 0: a mean is not below the geometric one, which is lognormal.

    That one is F times a lognormal of mean 1, log F = -(a^2 - a^2/t)/2, and E(K - that)_+ is a normal's delta.
    """
    total = mean.spread / math.sqrt(mean.count)
    forward = -(mean.spread**2 - total**2) / 2
    return loss + gaussian_log_delta(forward - loss, total)[1] if loss < forward else 0.0


def around(excess: Callable[[float], float], guess: float, step: float) -> tuple[float, float] | None:
    """Points about the guess between which the decreasing excess changes its sign; None where it is never above 0."""
    low, high = max(guess - step, 0.0), guess + step
    while excess(high) > 0:
        low, high, step = high, high + 8 * step, 8 * step
    while excess(low) <= 0:
        if low == 0:
            return None
        low, high, step = max(low - 8 * step, 0.0), low, 8 * step
    return low, high


def log_values(mean: LognormalMean, losses: Array, tolerance: float = 1e-11) -> tuple[Array, Array]:
    """Bounds on log of delta - max(1 - t, 0) at t = e^l: simple ones far out, else the transform; both in doubt."""
    plain = np.array([gaussian_log_delta(abs(float(l)), mean.spread)[1] for l in losses]) + np.minimum(losses, 0.0)
    low, high = np.full(len(losses), -math.inf), plain
    chosen = np.flatnonzero(high > FARTHEST)
    if transformed(mean):
        low[chosen], found = out_of_the_money(mean, losses[chosen], tolerance)
        high[chosen] = np.minimum(high[chosen], found)
    doubt = np.flatnonzero(high - low > DOUBT)
    if len(doubt):
        high[doubt] = np.minimum(high[doubt], _log_simple(mean, losses[doubt]))
        low[doubt] = np.maximum(low[doubt], [_log_attained(mean, float(l)) for l in losses[doubt]])
    return np.minimum(low, high), high


def _log_simple(mean: LognormalMean, losses: Array) -> Array:
    """What needs no transform, from above."""
    return np.where(losses > 0, log_markov(mean, losses), [log_geometric(mean, float(l)) for l in losses])


def _log_attained(mean: LognormalMean, loss: float) -> float:
    """From below: one step on its own; and the sum of all steps, where the record is a shift of a/sqrt(t)."""
    summed = gaussian_log_delta(abs(loss), mean.spread / math.sqrt(mean.count))[0] + min(loss, 0.0)
    if loss <= 0:
        return summed
    return max(summed, AllocationPair(mean.spread, mean.count).single.log_delta(loss)[0])


@remembered(32)
def _tables(mean: LognormalMean) -> tuple[FinitePair, FinitePair]:
    """Finite pairs below and above the pair (P, Q), on a lattice that is dense where the mass is."""
    losses, step = _points(mean)
    low, high = (np.exp(end) for end in log_values(mean, losses, 1e-5))
    return finite_bounds.below(losses, low, high, step), finite_bounds.above(losses, high, step)


def _points(mean: LognormalMean) -> tuple[Array, float]:
    """Places for a table: equal steps near 0, then steps that grow in proportion; all on one lattice."""
    width = min(2.5 * math.exp(log_values(mean, np.zeros(1))[1][0]), 1.0)
    reaches = width * 1.4 ** np.arange(1, 60)
    sides = []
    for sign in (1.0, -1.0):
        end = next(
            (r for r in reaches if r > 30 or log_values(mean, np.array([sign * r]), 1.0)[1][0] < math.log(LEAST)), 30.0
        )
        growth = np.exp(np.arange(0, max(math.log(end / (6 * width)), 0.0) + 0.01, 1 / (1.5 * FINE)))
        sides.append(sign * np.append(np.arange(6 * FINE), np.round(6 * FINE * growth)))
    return width / FINE * np.unique(np.concatenate(sides)), width / FINE
