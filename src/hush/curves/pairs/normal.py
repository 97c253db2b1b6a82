"""Pairs of normal mixtures with one common deviation: Gaussian noise, sampled or not."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from scipy import special

from hush.arrays import Array
from hush.curves.pairs.finite import FinitePair
from hush.curves.pairs.pair import Interval, Pair, Share
from hush.curves.renyi.curve import RenyiCurve
from hush.curves.renyi.pearson_vajda import log_absolute_normal
from hush.numerics.laws.law import UNIT, Law
from hush.numerics.laws.normals import Normals
from hush.numerics.roots import decreasing_root
from hush.numerics.work import CALL, room, spend

Mixture = tuple[tuple[float, float], ...]
"""(shift in standard deviations, weight), shifts increasing."""
FARTHEST = 1e150
"""Past this the square of a quantile leaves the floats."""


@dataclass(frozen=True)
class NormalPair(Pair):
    """P = sum_j w_j N(a_j, 1) against Q = sum_k v_k N(b_k, 1), with a loss that is monotone on the line."""

    above: Mixture
    below: Mixture
    spacing: float | None = None
    """For discrete Gaussian noise: the distance of neighbouring integers in standard deviations."""

    def __post_init__(self) -> None:
        """Count shifts from the place that P and Q share most, so that small losses keep their digits."""
        shared = dict(self.above)
        origin = max(((shared[b] * v, b) for b, v in self.below if b in shared), default=(0.0, 0.0))[1]
        if origin:
            for name in ("above", "below"):
                object.__setattr__(self, name, tuple((a - origin, w) for a, w in getattr(self, name)))

    @classmethod
    def shifted(cls, shift: float, spacing: float | None = None) -> NormalPair:
        """N(shift, 1) against N(0, 1)."""
        return cls(((shift, 1.0),), ((0.0, 1.0),), spacing)

    @property
    def distance(self) -> float | None:
        """The shift between two single continuous normals; None otherwise."""
        if len(self.above) == len(self.below) == 1 and not self.spacing:
            return abs(self.above[0][0] - self.below[0][0])
        return None

    def mix(self, rate: float) -> NormalPair:
        return NormalPair(_blend(self.above, rate, self.below, 1.0 - rate), self.below, self.spacing)

    def mix_both(self, rate: float) -> Pair:
        from hush.curves.pairs.fixed_size import FoldedNormals

        distance = self.distance
        return super().mix_both(rate) if distance is None or not 0 < rate < 1 else FoldedNormals(distance, rate)

    def swap(self) -> NormalPair:
        return NormalPair(self.below, self.above, self.spacing)

    def law(self) -> Law:
        lattice, origin = None, 0.0
        if self.spacing and len(self.above) == len(self.below) == 1:
            a, b = self.above[0][0], self.below[0][0]
            lattice, origin = abs(a - b) * self.spacing, (b * b - a * a) / 2
        return Law(np.empty(0), np.empty(0), (self._piece,), lattice, origin)

    @cached_property
    def _piece(self) -> Normals:
        return Normals(self.above, self.below, self.spacing)

    @property
    def max_loss(self) -> float:
        ends = []
        for sign in (1.0, -1.0):
            (a, w), (b, v) = (max((sign * x, m) for x, m in mixture) for mixture in (self.above, self.below))
            ends.append(math.inf if a > b else math.log(w / v) if a == b else -math.inf)
        return max(ends)

    @cached_property
    def _share(self) -> tuple[NormalPair, Share] | None:
        """Where all components stand at two places: the base pair and what was mixed of it."""
        places = sorted({a for a, _ in self.above + self.below})
        if len(places) != 2 or self.spacing:
            return None
        low, high = places

        def weight(mixture: Mixture, place: float) -> float:
            return sum(w for a, w in mixture if a == place)

        share = Share(
            weight(self.above, high),
            weight(self.below, high),
            weight(self.above, low),
            weight(self.below, low),
        )
        return NormalPair.shifted(high - low), share

    def curve(self) -> RenyiCurve:
        """For two normals a line; mixtures are at most as far apart as their farthest components."""
        if self.distance is not None:
            return RenyiCurve.linear(self.distance * self.distance / 2)
        farthest = max(abs(a - b) for a, _ in self.above for b, _ in self.below)
        slope = farthest * farthest / 2 * (1 + 4 * UNIT)
        return RenyiCurve.each(lambda order: min(self.renyi(order)[1], slope * order), slope)

    def log_absolute_chi(self, orders: Array) -> Array:
        if self.distance is None:
            return super().log_absolute_chi(orders)
        even = {
            n: log_absolute_normal(self.distance, n) for n in {2 * ((int(j) + s) // 2) for j in orders for s in (0, 1)}
        }
        return np.array([(even[2 * (int(j) // 2)] + even[2 * ((int(j) + 1) // 2)]) / 2 for j in orders])

    def log_delta(self, epsilon: float, tolerance: float = 1e-9) -> Interval:
        distance = self.distance
        if distance is not None:
            return gaussian_log_delta(epsilon, distance)
        spend(len(self.above + self.below))
        if self._share:
            base, share = self._share
            return share.log_delta(epsilon, base, tolerance)
        if self.spacing:
            return self._sum_past(epsilon)
        return self._past(epsilon, self._threshold(epsilon))

    def _past(self, epsilon: float, x: float) -> Interval:
        """The profile from the tails past the threshold x, in log-space; it is stationary in x."""
        sign = 1.0 if self._rising else -1.0
        p, q = (
            float(np.logaddexp.reduce([math.log(w) + float(special.log_ndtr(sign * (a - x))) for a, w in mixture]))
            for mixture in (self.above, self.below)
        )
        floor = math.log(-math.expm1(epsilon)) if epsilon < 0 else -math.inf
        error = 16 * UNIT * (1 + x * x + abs(epsilon) + abs(p) + abs(q))
        gap = -math.expm1(min(epsilon + q - p, 0.0))
        low = p + math.log(gap - error) - error if gap > error else -math.inf
        return max(low, floor), max(min(p + math.log(gap + error) + error, 0.0), floor)

    def _sum_past(self, epsilon: float) -> Interval:
        """The profile of discrete noise: a sum over the integers past the threshold, in log-space."""
        spacing = self.spacing or 1.0
        if epsilon >= self.max_loss:
            return -math.inf, -math.inf
        ends = [a for a, _ in self.above]
        start = self._threshold(epsilon)
        sign = 1.0 if self._rising else -1.0
        near = min(sign * a for a in ends) - 40
        far = max(max(sign * a for a in ends), sign * start) + 45
        room((far - max(sign * start, near)) / spacing + 4, 8 + 4 * len(self.above + self.below))
        first = math.floor(max(sign * start, near) / spacing) - 2
        x = sign * spacing * np.arange(first, math.ceil(far / spacing) + 2)
        gap = self._piece.loss(x) - epsilon
        past = gap > 0
        x, gap = x[past], gap[past]
        if not len(x):
            return -math.inf, -math.inf
        log_terms = self._piece.log_mass(x) + np.log(-np.expm1(-gap))
        value = float(np.logaddexp.reduce(log_terms))
        slack = (
            32 * UNIT * (1 + float(np.abs(x).max()) ** 2 + abs(epsilon)) + 1e-15 / max(float(gap.max()), 1e-15) * UNIT
        )
        return value - slack, min(value + slack, 0.0)

    @property
    def _rising(self) -> bool:
        return sum(a * w for a, w in self.above) > sum(b * w for b, w in self.below)

    def _threshold(self, epsilon: float) -> float:
        """Where the loss crosses epsilon."""
        sign = -1.0 if self._rising else 1.0

        def excess(x: float) -> float:
            return sign * (float(self._piece.loss(np.array([x]))[0]) - epsilon)

        low, high = -64.0, 64.0
        while excess(low) <= 0 and low > -1e6:
            low *= 2
        while excess(high) > 0 and high < 1e6:
            high *= 2
        if excess(low) <= 0 or excess(high) > 0:
            return low if excess(low) <= 0 else high
        return decreasing_root(excess, low, high, 1e-15)[1]

    def tails(self, losses: Array) -> tuple[Array, Array, Array, Array]:
        distance = self.distance
        if distance is not None:
            z = losses / distance
            half = distance / 2
            return (
                special.ndtr(half - z),
                special.ndtr(-half - z),
                special.ndtr(z - half),
                special.ndtr(z + half),
            )
        if self._share:
            base, share = self._share
            return share.tails(losses, base)
        if self.spacing:
            return self._table.tails(losses)
        side = 1.0 if self._rising else -1.0
        x = self._thresholds(losses, side)
        both = (self.above, self.below)
        p_up, q_up = (np.sum([w * special.ndtr(side * a - x) for a, w in m], axis=0) for m in both)
        p_down, q_down = (np.sum([w * special.ndtr(x - side * a) for a, w in m], axis=0) for m in both)
        return p_up, q_up, p_down, q_down

    def _thresholds(self, losses: Array, side: float) -> Array:
        """Where the loss, as a rising function of side * x, crosses each value, by halving."""
        spend(70 * (CALL + 4 * len(losses) * len(self.above + self.below)))  # each halving is a step of its own
        low, high = np.full(len(losses), -1e4), np.full(len(losses), 1e4)
        for _ in range(70):
            middle = (low + high) / 2
            beyond = self._piece.loss(side * middle) > losses
            low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
        return (low + high) / 2

    @cached_property
    def _table(self) -> FinitePair:
        """Discrete noise as a table of all integers that floats can weigh."""
        spacing = self.spacing or 1.0
        places = [a for a, _ in self.above + self.below]
        low, high = (
            math.floor((min(places) - 36) / spacing),
            math.ceil((max(places) + 36) / spacing),
        )
        room(high - low, 8 + 4 * len(self.above + self.below))
        x = spacing * np.arange(low, high + 1)
        losses, mass = self._piece.loss(x), np.exp(self._piece.log_mass(x))
        order = np.argsort(losses, kind="stable")
        order = order[mass[order] > 0]
        return FinitePair(losses[order], mass[order])


def _blend(first: Mixture, rate: float, second: Mixture, rest: float) -> Mixture:
    weights: dict[float, float] = {}
    for mixture, factor in ((first, rate), (second, rest)):
        for shift, weight in mixture:
            weights[shift] = weights.get(shift, 0.0) + factor * weight
    return tuple(sorted((a, w) for a, w in weights.items() if w > 0))


def gaussian_log_delta(epsilon: float, shift: float) -> Interval:
    """log delta of N(shift, 1) against N(0, 1) (Balle, Wang 2018, Thm 8), with a bound on the rounding.

    delta = (e^{-u^2}/2) (erfcx(u) - erfcx(v)), u = (eps/shift - shift/2)/sqrt 2, v = u + shift/sqrt 2.

    >>> low, high = gaussian_log_delta(1.0, 1.0)
    >>> math.exp(low)
    0.126936737...
    """
    u = (epsilon / shift - shift / 2) / math.sqrt(2)
    v = (epsilon / shift + shift / 2) / math.sqrt(2)
    if u > FARTHEST:  # P(L > epsilon) alone is at most e^{-u^2}
        return -math.inf, max(-u * u * (1 - 1e-9), -sys.float_info.max)
    input_error = 4 * UNIT * (abs(epsilon / shift) + shift)
    if u < -20:  # 1 - delta = erfc(-u)/2 + e^eps erfc(v)/2, and the first is below e^-400
        rest = 0.5 * float(special.erfc(v)) * math.exp(epsilon) if epsilon < 0 else 0.0
        return math.log1p(-rest * (1 + 1e-12) - UNIT), min(math.log1p(-rest * (1 - 1e-12)) + UNIT, 0.0)
    first, second = float(special.erfcx(u)), float(special.erfcx(v))
    value = first - second
    if shift < 1e-3 * max(1.0, abs(u)):  # integrate -erfcx' = 2/sqrt(pi) - 2x erfcx(x) over the short interval
        points, weights = _short_rule()
        middle, radius = epsilon / shift / math.sqrt(2), shift / 2 / math.sqrt(2)
        x = middle + radius * points
        slopes = _mills_slope(x)
        value = float(radius * (weights @ slopes))
        slack = value * (1e-12 + 4 * input_error * (1 + abs(u)))
    else:
        slack = 8 * UNIT * (first + second) + (_slope_size(u) + _slope_size(v)) * input_error
    log_scale = -u * u - math.log(2)
    slack += value * (2 * abs(u) * input_error + 4 * UNIT * u * u)
    if value <= slack:
        return -math.inf, min(log_scale + math.log(value + slack), 0.0) if value + slack > 0 else 0.0
    return log_scale + math.log(value - slack), min(log_scale + math.log(value + slack), 0.0)


@cache
def _short_rule() -> tuple[Array, Array]:
    """Gauss-Legendre nodes and weights; finding them takes longer than using them."""
    return np.polynomial.legendre.leggauss(12)


def _slope_size(x: float) -> float:
    """|d erfcx/dx|."""
    return abs(2 / math.sqrt(math.pi) - 2 * x * float(special.erfcx(x)))


def _mills_slope(x: Array) -> Array:
    """2/sqrt(pi) - 2 x erfcx(x), by its asymptotic series where it cancels."""
    direct = 2 / math.sqrt(math.pi) - 2 * x * special.erfcx(x)
    far = np.maximum(x, 30.0)
    y = 1 / (2 * far * far)
    series = 2 / math.sqrt(math.pi) * y * (1 - 3 * y * (1 - 5 * y * (1 - 7 * y * (1 - 9 * y))))
    return np.where(x > 30, series, direct)
