"""How often a private search runs: laws of the secret number of runs, which draw it and weigh their best."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from decimal import Context, Decimal
from fractions import Fraction
from typing import ClassVar

import numpy as np

from hush.arrays import Array
from hush.curves.pairs.pair import Pair
from hush.curves.renyi.curve import RenyiCurve
from hush.errors import InvalidParameter
from hush.mechanisms.fields import Checked, between
from hush.numerics.minimum import minimum
from hush.numerics.roots import decreasing_root
from hush.randomness.ratio_law import draw_by_ratios
from hush.randomness.source import Source, source_or_secure

ROUNDING = 1e-13
"""Relative room for the rounding of a mean or a bound: some ten elementary functions."""
FINE = 20_000
"""Cuts between which the weight of a run hardly changes: any number is valid."""
MOST_CUTS = 200_000
"""Cuts at the most; fewer make a wider bound, not a wrong one."""
NEAR_ZERO = 1e-9
"""An eta nearer to 0 must be 0: its formulas would lose their digits."""
GUARD = 40
"""Digits beyond those asked for, so that rounding and what cancels (at most 1/NEAR_ZERO) stay below them."""


class Runs(Checked, ABC):
    """The law of a secret number of runs K, drawn anew for each search and without regard to the data."""

    mean: float
    """The expected number of runs, rounded up."""

    @property
    def none(self) -> float:
        """The chance of no run at all, in which case nothing is released."""
        return 0.0

    @property
    @abstractmethod
    def cuts(self) -> Array:
        """Places x from 0 to 1 between which phi'(1 - x) hardly changes, phi the generating function of K."""

    @abstractmethod
    def log_weight(self, x: Array) -> Array:
        """log phi'(1 - x): how much likelier the best is to be y than one run is, if x of the runs are better."""

    @abstractmethod
    def shift(self, opposite: Pair) -> float:
        """The most that the weights add to a loss, from the pair of a run in the opposite direction."""

    @abstractmethod
    def at_least_one_below(self, x: Array) -> Array:
        """1 - phi(1 - x), with all digits near 0."""

    @abstractmethod
    def all_below(self, s: Array) -> Array:
        """phi(s) - phi(0), with all digits near 0."""

    @abstractmethod
    def renyi(self, order: float, run: RenyiCurve, opposite: RenyiCurve) -> float:
        """A bound on the Rényi divergence of the best, from the curves of one run in both directions."""

    @abstractmethod
    def draw(self, source: Source | None = None) -> int:
        """The number of runs, by its exact law. It must stay secret: it tells of the data as the losing runs do."""


@dataclass(frozen=True)
class NegativeBinomialRuns(Runs):
    """At least one run, k of them with a chance proportional to C(k + eta - 1, k) (1 - gamma)^k.

    eta = 1 is geometric, eta = 0 logarithmic; a smaller eta costs less privacy and has longer tails (Papernot, Steinke
    2022, Def. 1).

    >>> NegativeBinomialRuns(gamma=0.1).mean, NegativeBinomialRuns(gamma=0.1, eta=0.0).mean
    (10.0..., 3.908...)
    """

    gamma: float = field(metadata=between(1e-9, 1 - 1e-9))
    eta: float = field(default=1.0, metadata=between(-0.999, 100))
    word: ClassVar[str] = "best-of-negative-binomial"

    def __post_init__(self) -> None:
        super().__post_init__()
        if 0 < abs(self.eta) < NEAR_ZERO:
            raise InvalidParameter(type(self).__name__, f"eta = 0, or at least {NEAR_ZERO:g} from it", eta=self.eta)

    @property
    def _log_scale(self) -> float:
        """log of what makes the chances sum to 1: phi'(s) = scale (1 - (1-gamma) s)^(-eta-1)."""
        fall = -math.log(self.gamma)
        if self.eta == 0:
            return math.log1p(-self.gamma) - math.log(fall)
        growth = self.eta * fall
        log_growth = growth + math.log(-math.expm1(-growth)) if growth > 0 else math.log(-math.expm1(growth))
        return math.log1p(-self.gamma) + math.log(abs(self.eta)) - log_growth

    @property
    def mean(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        return math.exp(self._log_scale - (self.eta + 1) * math.log(self.gamma)) * (1 + 100 * ROUNDING)

    @property
    def cuts(self) -> Array:
        # equal steps of log(gamma + (1-gamma) x), and of log x where the other direction may rise steeply
        places = (np.geomspace(self.gamma, 1.0, FINE) - self.gamma) / (1 - self.gamma)
        return np.unique(np.concatenate([[0.0], np.clip(places, 0.0, 1.0), np.geomspace(1e-14, 1.0, FINE // 10)]))

    def log_weight(self, x: Array) -> Array:
        return self._log_scale - (self.eta + 1) * np.log(self.gamma + (1 - self.gamma) * np.asarray(x))

    def shift(self, opposite: Pair) -> float:
        """(eta + 1) e, where the opposite direction has delta(e) <= gamma (e^e - 1)/(1 - gamma): best by duality."""
        log_odds = math.log(self.gamma) - math.log1p(-self.gamma)

        def excess(epsilon: float) -> float:
            growth = epsilon + math.log(-math.expm1(-epsilon)) if epsilon > 0 else -math.inf
            return opposite.log_delta(epsilon)[1] - log_odds - growth

        high = 1.0
        while excess(high) > 0:
            high *= 2
        low = high
        while low > 1e-12 and excess(low) <= 0:
            low /= 2
        root = decreasing_root(excess, low, high, 1e-10)[1] if excess(low) > 0 else low
        return (self.eta + 1) * root * (1 + ROUNDING)

    def at_least_one_below(self, x: Array) -> Array:
        rise = np.log1p((1 - self.gamma) / self.gamma * np.asarray(x))
        fall = -math.log(self.gamma)
        return rise / fall if self.eta == 0 else np.expm1(-self.eta * rise) / math.expm1(-self.eta * fall)

    def all_below(self, s: Array) -> Array:
        rise = -np.log1p(-(1 - self.gamma) * np.asarray(s))
        fall = -math.log(self.gamma)
        if self.eta <= 0:
            return rise / fall if self.eta == 0 else np.expm1(self.eta * rise) / math.expm1(self.eta * fall)
        part = np.expm1(-self.eta * rise) / math.expm1(-self.eta * fall)
        return part * np.exp(self.eta * (rise - fall))

    def renyi(self, order: float, run: RenyiCurve, opposite: RenyiCurve) -> float:
        """Papernot, Steinke 2022, Thm 2, over all orders of the opposite direction."""
        fall = -math.log(self.gamma)

        def cost(past: Array) -> Array:
            at = 1 + past
            return (past * opposite(at) + fall) / at

        least = min(minimum(cost)[1], opposite(math.inf))
        rest = math.log(self.mean) / (order - 1)
        return (run(order) + (1 + self.eta) * least + rest) * (1 + ROUNDING)

    def draw(self, source: Source | None = None) -> int:
        stays = 1 - Fraction(self.gamma)
        return draw_by_ratios(
            source_or_secure(source), 1, self._first, lambda k: (k + Fraction(self.eta)) * stays / (k + 1)
        )

    def _first(self, digits: int) -> tuple[Decimal, Decimal]:
        """P(K = 1) = eta (1-gamma) / (gamma^-eta - 1), or (1-gamma)/log(1/gamma)."""
        context = Context(prec=digits + GUARD)
        gamma, eta = Decimal(self.gamma), Decimal(self.eta)
        fall = context.minus(context.ln(gamma))
        stays = context.subtract(Decimal(1), gamma)
        if self.eta == 0:
            return _around(context.divide(stays, fall), digits)
        growth = context.subtract(context.exp(context.multiply(eta, fall)), Decimal(1))
        return _around(context.divide(context.multiply(eta, stays), growth), digits)

    def __str__(self) -> str:
        return f"a negative binomial number of runs, eta {self.eta:g}, gamma {self.gamma:g}, {self.mean:.4g} on average"


@dataclass(frozen=True)
class GeometricRuns(Runs):
    """At least one run; after each one another follows with probability 1 - gamma.

    >>> GeometricRuns(gamma=0.1).mean
    10.0...
    """

    gamma: float = field(metadata=between(1e-9, 1 - 1e-9))
    word: ClassVar[str] = "best-of-geometric"

    @property
    def same(self) -> NegativeBinomialRuns:
        """The same law among the negative binomial ones."""
        return NegativeBinomialRuns(self.gamma, 1.0)

    @property
    def mean(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.same.mean

    @property
    def cuts(self) -> Array:
        return self.same.cuts

    def log_weight(self, x: Array) -> Array:
        return self.same.log_weight(x)

    def shift(self, opposite: Pair) -> float:
        return self.same.shift(opposite)

    def at_least_one_below(self, x: Array) -> Array:
        return self.same.at_least_one_below(x)

    def all_below(self, s: Array) -> Array:
        return self.same.all_below(s)

    def renyi(self, order: float, run: RenyiCurve, opposite: RenyiCurve) -> float:
        return self.same.renyi(order, run, opposite)

    def draw(self, source: Source | None = None) -> int:
        return self.same.draw(source)

    def __str__(self) -> str:
        return f"a geometric number of runs, {self.mean:.4g} on average"


@dataclass(frozen=True)
class PoissonRuns(Runs):
    """A Poisson number of runs with this mean; with probability e^-mean there is none, and nothing is released.

    >>> PoissonRuns(mean=10.0).none
    4.53...e-05
    """

    mean: float = field(metadata=between(1e-6, 1e5))
    word: ClassVar[str] = "best-of-poisson"

    @property
    def none(self) -> float:
        return math.exp(-self.mean) * (1 + ROUNDING)

    @property
    def cuts(self) -> Array:
        many = int(min(max(FINE, 2000 * self.mean), MOST_CUTS))
        return np.unique(np.concatenate([np.linspace(0.0, 1.0, many), np.geomspace(1e-14, 1.0, FINE // 10)]))

    def log_weight(self, x: Array) -> Array:
        return math.log(self.mean) - self.mean * np.asarray(x)

    def shift(self, opposite: Pair) -> float:
        """mean times the total variation: x' - x is at most that."""
        return self.mean * math.exp(opposite.log_delta(0.0)[1]) * (1 + ROUNDING)

    def at_least_one_below(self, x: Array) -> Array:
        return -np.expm1(-self.mean * np.asarray(x))

    def all_below(self, s: Array) -> Array:
        s = np.asarray(s)
        return -np.expm1(-self.mean * s) * np.exp(-self.mean * (1 - s))

    def renyi(self, order: float, run: RenyiCurve, opposite: RenyiCurve) -> float:
        """Papernot, Steinke 2022, Thm 6, with the outcome of no run: e^-m + m e^{(order-1)(run + m delta)}."""
        if order == math.inf:
            return run(order) + self.mean * opposite.delta(epsilon=0.0)
        reached = opposite.delta(epsilon=math.log1p(1 / (order - 1)))
        growth = (order - 1) * (run(order) + self.mean * reached) + math.log(self.mean)
        return max(float(np.logaddexp(-self.mean, growth)), 0.0) / (order - 1) * (1 + ROUNDING)

    def draw(self, source: Source | None = None) -> int:
        mean = Fraction(self.mean)
        return draw_by_ratios(source_or_secure(source), 0, self._first, lambda k: mean / (k + 1))

    def _first(self, digits: int) -> tuple[Decimal, Decimal]:
        context = Context(prec=digits + GUARD)
        return _around(context.exp(context.minus(Decimal(self.mean))), digits)

    def __str__(self) -> str:
        return f"a Poisson number of runs, {self.mean:g} on average"


def _around(value: Decimal, digits: int) -> tuple[Decimal, Decimal]:
    """Bounds that are so many digits apart from the value: far more than the guard digits leave in doubt."""
    context = Context(prec=digits + GUARD)
    room = context.scaleb(value, Decimal(-digits))
    return context.subtract(value, room), context.add(value, room)
