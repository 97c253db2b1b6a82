"""Skellam noise: the difference of two Poisson counts, the integer noise of secure aggregation."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy import special

from hush.arrays import Array
from hush.curves.pairs.finite import FinitePair
from hush.curves.pairs.pair import Pair
from hush.curves.relation import Relation
from hush.curves.renyi.curve import RenyiCurve
from hush.curves.renyi.families import finite, skellam_vector
from hush.curves.renyi.sampling import poisson_sample
from hush.errors import NotCovered
from hush.mechanisms.fields import between, whole
from hush.mechanisms.leaf import Leaf
from hush.mechanisms.neighbours import Neighbours
from hush.numerics.special.skellam_law import log_masses, log_ratios
from hush.numerics.work import remembered, room
from hush.randomness.float_noise import from_masses
from hush.randomness.source import Source

CUT = 1e-290
"""Mass beyond the table is charged as if it revealed everything; deltas as small as this get no lower bound."""
DEEPEST, FAINT = 680.0, 1e-4
"""The table ends where masses are below e^-680 = 5e-296, and masses below 1e-294 are left out. They fall faster than a
normal law does, so there are some hundred of them at the largest variance: together they are far below CUT."""
LOSS_ROUNDING = 1e-13
"""Relative error of a loss, a sum of logarithms of ratios that are off by 3e-15 at the most. The least losses are off
by more of themselves (5e-9 at variance 10^6), but in turns: deltas at epsilon 0 agree with the exact law to 2e-15."""

MOST = 2e5
"""Past this order times shift the sum is too long, and the bound of Agarwal, Kairouz, Liu 2021 stands for it."""


@dataclass(frozen=True)
class Skellam(Leaf):
    """Skellam noise of this variance on one integer whose sensitivity is a whole number.

    It is log-concave, so its loss is monotone and the largest shift is worst. For a vector state the Rényi bound of
    Agarwal, Kairouz, Liu 2021: `RenyiDP(function=skellam_vector(...))` from hush.curves.renyi.families.

    >>> Skellam(variance=10.0).renyi(orders=[2]).round(9).tolist()
    [0.099654438]
    """

    variance: float = field(metadata=between(0.01, 1e6))
    sensitivity: int = field(default=1, metadata=whole(1, 10_000))
    relation: Relation = Relation.ADD_REMOVE
    attains_curve = mirrored = True
    theorem = (
        "the exact pair of two shifted Skellam laws (log-concave, so the loss is monotone); vectors: Agarwal, "
        "Kairouz, Liu 2021, Thm 3.5"
    )
    assumes = "one integer that moves by at most {self.sensitivity} when you {self.relation.words}"

    def at(self, removed: int, added: int) -> Pair:
        shift = self._shift(removed, added)
        loss, log_q = _outcomes(self.variance, shift, 0.0, DEEPEST)
        mass = np.exp(loss + log_q)
        kept = mass > FAINT * CUT
        return FinitePair(loss[kept], mass[kept], CUT, CUT, blur=LOSS_ROUNDING, cut=True)

    def curve_of(self, neighbours: Neighbours) -> RenyiCurve:
        """The sum at each order; samples by the theorem for mirror images: the pair ends where high orders go."""
        if neighbours.settled is not None:
            return _curve(self.variance, self._shift(*neighbours.settled))
        if neighbours.sampled is not None and self.relation is Relation.ADD_REMOVE:
            return poisson_sample(
                _curve(self.variance, self.sensitivity), neighbours.sampled, leaving=neighbours.leaving is not None
            )
        raise NotCovered(f"{self} sampled with several records changed, or replaced: no Rényi bound is known")

    def _shift(self, removed: int, added: int) -> int:
        shift = self.steps(removed, added) * self.sensitivity
        if shift > 100_000:
            raise NotCovered(f"{self}: a shift of {shift} is beyond 100000")
        return shift

    def simulate(self, contributions: Array, source: Source) -> Array:
        reach = math.ceil(12 * math.sqrt(self.variance)) + 30
        values = np.arange(-reach, reach + 1)
        masses = special.ive(np.abs(values), self.variance)
        return contributions * self.sensitivity + from_masses(source, values, masses, len(contributions))

    def __str__(self) -> str:
        return f"Skellam noise of variance {self.variance:g} on an integer of sensitivity {self.sensitivity}"


def _curve(variance: float, shift: int) -> RenyiCurve:
    """Exact at every order: the sum over all outcomes that matter there."""

    def divergence(order: float) -> float:
        if order == math.inf:
            return math.inf
        if order * shift > MOST:
            return skellam_vector(variance, shift, shift)(order)
        loss, log_q = _outcomes(variance, shift, order, 80.0)
        # log_q is a running sum of up to 10^5 logarithms: 1e-12 of itself covers its rounding
        return finite(loss, log_q)(order) * (1 + 1e-11)

    return RenyiCurve.each(divergence).declaring(attained=True, mirrored=True)


def _outcomes(variance: float, shift: int, order: float, depth: float) -> tuple[Array, Array]:
    """Losses in increasing order and log Q of the outcomes -top..top; what is beyond weighs less than e^-depth.

    The weight is P, or r^order Q. Right of its mode it falls ever faster, so the rest is below a geometric series; to
    the left both factors fall.
    """
    top = int(60 + 12 * math.sqrt(variance) + 2 * shift)
    while True:
        room(2 * top + shift, 10 if shift > 64 else 6 + shift / 4)
        ratio = _ratios(variance, top + shift)
        log_f = log_masses(variance, ratio)
        x = np.arange(-top, top + 1)
        log_q = log_f[np.abs(x)]
        up = np.concatenate([ratio[: top + shift][::-1], -ratio[:top]])  # log f(k-1) - log f(k), k = 1-top-shift..top
        sums = np.concatenate([[0.0], np.cumsum(up)])
        loss = sums[shift:] - sums[:-shift] if shift > 64 else sliding_window_view(up, shift).sum(axis=1)
        weight = log_q + max(order, 1.0) * loss
        fall = float(weight[-1] - weight[-2])
        if fall < 0 and weight[-1] - math.log(-math.expm1(fall)) < min(float(weight.max()), 0.0) - depth:
            return loss, log_q
        top *= 2


@remembered(64)
def _ratios(variance: float, count: int) -> Array:
    return log_ratios(variance, count)
