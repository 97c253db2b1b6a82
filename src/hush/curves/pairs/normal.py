"""Pairs of normal mixtures with one common deviation: Gaussian noise, sampled or not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special

from hush.arrays import Array
from hush.curves.interval import Interval
from hush.curves.pairs.finite import FinitePair
from hush.curves.pairs.pair import Pair
from hush.curves.pairs.share import Share, folded_log_delta
from hush.curves.renyi.curve import RenyiCurve
from hush.curves.renyi.pearson_vajda import log_absolute_normal
from hush.numerics.engines.loss_source import Tails
from hush.numerics.laws.half_normals import HalfNormals
from hush.numerics.laws.law import Law
from hush.numerics.laws.normals import Normals
from hush.numerics.roots import decreasing_root
from hush.numerics.rounding import UNIT
from hush.numerics.special.gaussian_profile import gaussian_log_delta
from hush.numerics.work import room, spend

Mixture = tuple[tuple[float, float], ...]
"""(shift in standard deviations, weight), shifts increasing."""


NEAR, FAR = 40.0, 45.0
"""Discrete noise is summed from 40 deviations below its nearest shift to 45 above the threshold: e^-800 is beyond."""
TABLE_REACH = 36.0
"""Deviations up to which integers are weighed in a table: the density is e^-648 there, far above the least float."""
FIRST_REACH, LAST_REACH = 64.0, 1e6
"""Where the search for the place of a loss begins, and where it ends: past it the tails are beyond floats."""
WIDEST = 1e4
"""Places of many losses are sought within so many deviations."""
PLACES = 2000
"""Places of the table from which Newton's method starts."""
MOST_GAP, FLATTEST = 1e6, 1e-100
"""A larger gap, or a flatter loss, would leave the floats in Newton's step; it leaves the ends anyway, and they are
halved instead."""
HALVINGS = 70
"""From 1e4 deviations to neighbouring floats."""
LEAST_GAP = 1e-15
"""Stands for a gap of 0 between the largest loss and epsilon, by which is divided."""
FOLDED_FAR = 600.0
"""Past this loss log(1 + (e^l - 1)/rate) is l - log(rate), to the last digit."""


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
        weights: dict[float, float] = {}
        for mixture, factor in ((self.above, rate), (self.below, 1.0 - rate)):
            for shift, weight in mixture:
                weights[shift] = weights.get(shift, 0.0) + factor * weight
        mixed = tuple(sorted((a, w) for a, w in weights.items() if w > 0))
        return NormalPair(mixed, self.below, self.spacing)

    def mix_both(self, rate: float) -> Pair:
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
        both = (self.above, self.below)
        shares = [sum(w for a, w in mixture if a == place) for place in (high, low) for mixture in both]
        return NormalPair.shifted(high - low), Share(*shares)

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

    def guess(self, log_delta: float, tolerance: float) -> float:  # noqa: ARG002
        return self.epsilon(log_delta)[1]

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
        near = min(sign * a for a in ends) - NEAR
        far = max(max(sign * a for a in ends), sign * start) + FAR
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
            32 * UNIT * (1 + float(np.abs(x).max()) ** 2 + abs(epsilon))
            + LEAST_GAP / max(float(gap.max()), LEAST_GAP) * UNIT
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

        low, high = -FIRST_REACH, FIRST_REACH
        while excess(low) <= 0 and low > -LAST_REACH:
            low *= 2
        while excess(high) > 0 and high < LAST_REACH:
            high *= 2
        if excess(low) <= 0 or excess(high) > 0:
            return low if excess(low) <= 0 else high
        return decreasing_root(excess, low, high, 1e-15)[1]

    def tails(self, losses: Array) -> Tails:
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
        """Where the loss, as a rising function of side * x, crosses each value: Newton's method between two ends."""
        low, high = np.full(len(losses), -WIDEST), np.full(len(losses), WIDEST)
        x = self._first_thresholds(losses, side)
        for _ in range(HALVINGS):
            spend(8 * len(losses) * len(self.above + self.below))
            gap = self._piece.loss(side * x) - losses
            low, high = np.where(gap > 0, low, x), np.where(gap > 0, x, high)
            slope = side * self._piece.loss_slopes(side * x)[0]
            move = np.clip(gap, -MOST_GAP, MOST_GAP) / np.maximum(slope, FLATTEST)
            inside = (low < x - move) & (x - move < high)
            moved = np.where(inside, x - move, (low + high) / 2)
            still = np.abs(moved - x) <= 4 * UNIT * np.maximum(np.abs(x), 1.0)
            x = moved
            if still.all():
                break
        return x

    def _first_thresholds(self, losses: Array, side: float) -> Array:
        """About where the loss crosses each value, from a table."""
        places, table = self._places
        order = np.argsort(table, kind="stable")
        return np.interp(losses, table[order], side * places[order])

    @cached_property
    def _places(self) -> tuple[Array, Array]:
        """Places over all shifts and 40 deviations to either side, and the losses there."""
        shifts = [a for a, _ in self.above + self.below]
        places = np.linspace(min(shifts) - NEAR, max(shifts) + NEAR, PLACES)
        spend(8 * PLACES * len(shifts))
        return places, self._piece.loss(places)

    @cached_property
    def _table(self) -> FinitePair:
        """Discrete noise as a table of all integers that floats can weigh."""
        spacing = self.spacing or 1.0
        places = [a for a, _ in self.above + self.below]
        low, high = (
            math.floor((min(places) - TABLE_REACH) / spacing),
            math.ceil((max(places) + TABLE_REACH) / spacing),
        )
        room(high - low, 8 + 4 * len(self.above + self.below))
        x = spacing * np.arange(low, high + 1)
        losses, mass = self._piece.loss(x), np.exp(self._piece.log_mass(x))
        order = np.argsort(losses, kind="stable")
        order = order[mass[order] > 0]
        return FinitePair(losses[order], mass[order])


@dataclass(frozen=True)
class FoldedNormals(Pair):
    """N(shift, 1) against N(0, 1), mixed and folded: Gaussian noise on a sample of a fixed size."""

    shift: float
    rate: float

    @cached_property
    def base(self) -> NormalPair:
        """The pair without the sample."""
        return NormalPair.shifted(self.shift)

    @property
    def rest(self) -> float:
        """Mass at loss 0: (1 - rate) times the base's delta at epsilon 0."""
        return (1 - self.rate) * math.erf(self.shift / math.sqrt(8))

    def log_delta(self, epsilon: float, tolerance: float = 1e-9) -> Interval:
        return folded_log_delta(self.base, self.rate, epsilon, tolerance)

    def curve(self) -> RenyiCurve:
        """The base is its own mirror too, and dominates: its line lies above."""
        slope = self.shift * self.shift / 2
        return RenyiCurve.each(lambda order: min(self.renyi(order)[1], slope * order), slope)

    def law(self) -> Law:
        pieces = tuple(HalfNormals(self.shift, self.rate, upper) for upper in (True, False))
        return Law(np.zeros(1), np.array([self.rest]), pieces)

    @property
    def max_loss(self) -> float:
        return math.inf

    def tails(self, losses: Array) -> Tails:
        """Past 0 those of the mix; below, the mirror: P(L <= -l) = Q(L > l) where there is no atom."""
        size = np.abs(losses)
        inner = np.where(
            size > FOLDED_FAR,
            size - math.log(self.rate),
            np.log1p(np.expm1(np.minimum(size, FOLDED_FAR)) / self.rate),
        )
        x = inner / self.shift
        q_far = special.ndtr(-x - self.shift / 2)
        p_far = self.rate * special.ndtr(self.shift / 2 - x) + (1 - self.rate) * q_far
        p_near, q_near = 1 - p_far, 1 - q_far
        right = losses >= 0
        return (
            np.where(right, p_far, q_near),
            np.where(right, q_far, p_near),
            np.where(right, p_near, q_far),
            np.where(right, q_near, p_far),
        )

    def swap(self) -> Pair:
        return self
