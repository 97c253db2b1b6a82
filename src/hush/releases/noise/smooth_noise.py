"""Noise in proportion to a smooth sensitivity, and what it guarantees, proved for every shift and dilation.

Data x get the answer f(x) + (S(x)/alpha) Z. For neighbours |f(x) - f(x')| <= min(S(x), S(x')) and |log S(x)/S(x')| <=
beta, so the two laws are Z and lambda Z + s, or the reverse, with 1 <= lambda <= e^beta and |s| <= alpha: a shift in
units of the smaller scale. docs/theory/order-statistics.md has the proofs.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from hush.checks import delta_in_range, number
from hush.curves.relation import Relation
from hush.curves.theorems.smooth_sensitivity import (
    LARGEST_BETA,
    LEAST_ALPHA,
    LEAST_BETA,
    SAFE,
    evenly_spread,
    laplace_alpha,
    laplace_delta,
    least_noise,
    student_alpha,
)
from hush.errors import InvalidParameter
from hush.mechanisms.leaves.stated import ApproxDP, PureDP
from hush.mechanisms.mechanism import Mechanism
from hush.randomness import integer_noise
from hush.randomness.source import Source
from hush.releases.noise.student import rounded_student

POINTS = 40
"""Points of the profile that a mechanism states."""


class SmoothNoise(ABC):
    """A law of noise with its alpha and beta."""

    epsilon: float
    """What it was made for."""
    alpha: float
    """The noise is S/alpha times the law."""
    beta: float
    """How smooth S must be."""

    @property
    @abstractmethod
    def mechanism(self) -> Mechanism:
        """What is guaranteed when one record is replaced."""

    @property
    @abstractmethod
    def deviation(self) -> float:
        """Standard deviation of the noise at S = 1 (infinite for heavy tails)."""

    @abstractmethod
    def draw(self, source: Source, scale: float) -> int:
        """One value of the law times the scale, rounded to a whole number, exactly."""

    def __str__(self) -> str:
        return f"{type(self).__name__} with epsilon {self.epsilon:g}"


@dataclass(frozen=True)
class SmoothLaplace(SmoothNoise):
    """Laplace noise that meets (epsilon, delta) over the whole box of shifts and dilations.

    A public rule chooses beta unless it is given: where the data are spread evenly near the quantile, S is in
    proportion to max over k of (k+1) exp(-beta k), and the noise, that over alpha, is least. No data is looked at.

    >>> found = SmoothLaplace(epsilon=1.0, delta=1e-6)
    >>> found.alpha, found.beta
    (0.546..., 0.0486...)
    >>> found.mechanism.epsilon(delta=1e-6).upper <= 1.0
    True
    """

    epsilon: float
    delta: float
    alpha: float = field(init=False)
    beta: float

    def __init__(self, *, epsilon: float, delta: float, beta: float | None = None) -> None:
        who = "SmoothLaplace"
        epsilon = number(who, "0 < epsilon <= 500", 0.0, 500.0, low_open=True, epsilon=epsilon)
        delta = number(who, "0 < delta < 1", 0.0, 1.0, low_open=True, high_open=True, delta=delta)
        alpha, chosen = _chosen(who, beta, lambda given: laplace_alpha(epsilon, delta, given))
        for name, value in (("epsilon", epsilon), ("delta", delta), ("alpha", alpha), ("beta", chosen)):
            object.__setattr__(self, name, value)

    @property
    def mechanism(self) -> Mechanism:
        """The profile at many epsilons, so that it composes well."""
        least = max(self.alpha, self.beta + self.alpha * math.exp(-self.beta)) / SAFE
        width = math.expm1(self.beta)
        most = min(500.0, least + 600 * width)
        epsilons = sorted(
            {*(least + (most - least) * np.linspace(0, 1, POINTS) ** 2).tolist(), max(self.epsilon, least)}
        )
        deltas = [laplace_delta(e, alpha=self.alpha, beta=self.beta) / SAFE for e in epsilons]
        points = [(e, min(d, 1 - 1e-9)) for e, d in zip(epsilons, deltas, strict=True) if e <= 500 and d > 0]
        return ApproxDP(points=points or [(500.0, 1e-300)], relation=Relation.REPLACE)

    @property
    def deviation(self) -> float:
        return math.sqrt(2) / self.alpha

    def draw(self, source: Source, scale: float) -> int:
        return int(integer_noise.rounded_laplace(source, scale, 1)[0])


@dataclass(frozen=True)
class SmoothStudent(SmoothNoise):
    """Noise with density in proportion to (1 + z^2)^(-(degrees+1)/2), degrees 1, 3, 5, ...: pure epsilon, heavy tails.

    From three degrees on the variance is finite: 1/(degrees - 2). Beta by the same public rule as SmoothLaplace.

    >>> SmoothStudent(epsilon=1.0).mechanism.epsilon(delta=0).upper
    1.0
    """

    epsilon: float
    degrees: int
    alpha: float = field(init=False)
    beta: float

    def __init__(self, *, epsilon: float, degrees: int = 3, beta: float | None = None) -> None:
        who = "SmoothStudent"
        epsilon = number(who, "0 < epsilon <= 500", 0.0, 500.0, low_open=True, epsilon=epsilon)
        if isinstance(degrees, bool) or not isinstance(degrees, int) or degrees % 2 == 0 or not 1 <= degrees <= 99:
            raise InvalidParameter(who, "an odd whole number 1 <= degrees <= 99", degrees=degrees)
        alpha, chosen = _chosen(who, beta, lambda given: student_alpha(epsilon, degrees, given))
        for name, value in (("epsilon", epsilon), ("degrees", degrees), ("alpha", alpha), ("beta", chosen)):
            object.__setattr__(self, name, value)

    @property
    def mechanism(self) -> Mechanism:
        return PureDP(epsilon=self.epsilon, relation=Relation.REPLACE)

    @property
    def deviation(self) -> float:
        return math.sqrt(1 / (self.degrees - 2)) / self.alpha if self.degrees > 1 else math.inf

    def draw(self, source: Source, scale: float) -> int:
        return rounded_student(source, scale, self.degrees)


def smooth_noise(*, epsilon: float, delta: float = 0.0) -> SmoothNoise:
    """The noise of the least deviation on evenly spread data: Student noise, or Laplace noise where delta is larger.

    The rule is public: it looks at epsilon and delta alone. Student noise has the same epsilon, and needs no delta.

    >>> type(smooth_noise(epsilon=1.0, delta=1e-6)).__name__, type(smooth_noise(epsilon=1.0, delta=0.01)).__name__
    ('SmoothStudent', 'SmoothLaplace')
    """
    delta = delta_in_range("smooth_noise", delta)
    able: list[SmoothNoise] = [SmoothStudent(epsilon=epsilon), SmoothStudent(epsilon=epsilon, degrees=5)]
    if delta > 0:
        able.append(SmoothLaplace(epsilon=epsilon, delta=delta))
    return min(able, key=lambda noise: noise.deviation * evenly_spread(noise.beta))


def _chosen(who: str, beta: float | None, alpha_of: Callable[[float], float]) -> tuple[float, float]:
    """alpha and beta: the given one, or that of the least noise on evenly spread data."""
    if beta is None:
        alpha, given = least_noise(alpha_of)
    else:
        rule = f"{LEAST_BETA:g} <= beta <= {LARGEST_BETA:g}"
        given = number(who, rule, LEAST_BETA, LARGEST_BETA, beta=beta)
        alpha = alpha_of(given)
    if alpha < LEAST_ALPHA:
        raise InvalidParameter(who, "an epsilon, delta and beta that leave alpha >= 2^-12", beta=beta, alpha=alpha)
    return alpha, given
