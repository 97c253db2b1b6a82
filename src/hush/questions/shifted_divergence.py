"""Shifted Rényi divergences: what noise hides of a difference that is already there.

D^(z)(P || Q) is the least divergence of order a from Q of a law that differs from P by moving every outcome by at most
z (Feldman, Mironov, Talwar, Thakurta 2018, Sec. 3). It measures how far apart two runs are when a distance of z is
forgiven. Noise forgives a distance, at the price R(noise, distance): that is the shift-reduction lemma, from which
privacy amplification by iteration follows (docs/theory/iteration.md).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hush.arrays import Array
from hush.checks import count, listed, number, positive
from hush.curves.renyi import shifted, transport
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.leaves.gaussian import DiscreteGaussian
from hush.mechanisms.leaves.laplace import DiscreteLaplace

MOST_SHIFTS = 1000
"""Whole shifts that are tried one by one."""
NEAR = 1e-12
"""Relative room for the rounding of distances."""
TOTAL = 1e-9
"""How far the masses of a law may be from 1 in all: what rounding makes of a long list."""


class LineLaw(ABC):
    """The law of one number: normal, Laplace, or on the integers."""

    @abstractmethod
    def noise_cost(self, *, order: float, shift: float) -> float:
        """The largest divergence of this noise from itself, moved by at most the shift."""

    def shifted_divergence(self, other: LineLaw, *, order: float, shift: float) -> float:  # noqa: ARG002
        """D^(shift)(self || other)."""
        raise NotCovered(
            f"the shifted divergence of a {type(self).__name__} and a {type(other).__name__}; covered: two normal laws "
            "of one deviation, two laws on the integers"
        )

    def wasserstein(self, other: LineLaw) -> float:
        """The infinity-Wasserstein distance: how far mass must be moved, at most, to turn one law into the other."""
        raise NotCovered(
            f"the infinity-Wasserstein distance of a {type(self).__name__} and a {type(other).__name__}; covered: two "
            "normal laws, two laws with finitely many points"
        )

    def plus(self, noise: LineLaw) -> LineLaw:
        """The law of an outcome with independent noise added."""
        raise NotCovered(
            f"the sum of a {type(self).__name__} and a {type(noise).__name__}; covered: two normal laws, two laws on "
            "the integers"
        )


@dataclass(frozen=True)
class NormalLaw(LineLaw):
    """A normal law; in more dimensions, its mean along the line that joins the two means.

    >>> NormalLaw(0.0, 3.0).plus(NormalLaw(1.0, 4.0))
    NormalLaw(mean=1.0, deviation=5.0)
    """

    mean: float
    deviation: float

    def __post_init__(self) -> None:
        rule = "-infinity < mean < infinity"
        number("NormalLaw", rule, -math.inf, math.inf, low_open=True, high_open=True, mean=self.mean)
        positive("NormalLaw", deviation=self.deviation)

    def shifted_divergence(self, other: LineLaw, *, order: float, shift: float) -> float:
        if not isinstance(other, NormalLaw) or other.deviation != self.deviation:
            return super().shifted_divergence(other, order=order, shift=shift)
        return shifted.gaussian_shifted_divergence(order, abs(self.mean - other.mean), self.deviation, shift)

    def wasserstein(self, other: LineLaw) -> float:
        """Equal quantiles of two normals of different deviations are as far apart as one likes."""
        if not isinstance(other, NormalLaw):
            return super().wasserstein(other)
        return abs(self.mean - other.mean) if self.deviation == other.deviation else math.inf

    def noise_cost(self, *, order: float, shift: float) -> float:
        return shifted.gaussian_noise_cost(order, self.deviation, shift)

    def plus(self, noise: LineLaw) -> LineLaw:
        if not isinstance(noise, NormalLaw):
            return super().plus(noise)
        return NormalLaw(self.mean + noise.mean, math.hypot(self.deviation, noise.deviation))


@dataclass(frozen=True)
class LaplaceLaw(LineLaw):
    """Laplace noise about 0, density e^{-|x|/scale}/(2 scale): its cost is known, its sums are not.

    >>> round(LaplaceLaw(1.0).noise_cost(order=2.0, shift=1.0), 6)
    0.619124
    """

    scale: float

    def __post_init__(self) -> None:
        positive("LaplaceLaw", scale=self.scale)

    def noise_cost(self, *, order: float, shift: float) -> float:
        return shifted.laplace_noise_cost(order, self.scale, shift)


@dataclass(frozen=True)
class IntegerLaw(LineLaw):
    """A law on the integers: the probabilities of first, first + 1, first + 2, ...

    >>> IntegerLaw([0.5, 0.5]).plus(IntegerLaw([0.5, 0.5], first=-1))
    IntegerLaw(masses=(0.25, 0.5, 0.25), first=-1)
    """

    masses: tuple[float, ...]
    first: int

    def __init__(self, masses: Sequence[float] | Array, first: int = 0) -> None:
        rule = "probabilities >= 0 that sum to 1"
        found = tuple(
            number("IntegerLaw", rule, 0.0, 1.0 + TOTAL, masses=mass)
            for mass in listed("IntegerLaw", rule, masses=masses)
        )
        if not abs(math.fsum(found) - 1) <= TOTAL:
            raise InvalidParameter("IntegerLaw", rule, total=math.fsum(found))
        place = number("IntegerLaw", "a whole number first", -1e15, 1e15, first=first)
        if place != math.floor(place):
            raise InvalidParameter("IntegerLaw", "a whole number first", first=first)
        object.__setattr__(self, "masses", found)
        object.__setattr__(self, "first", int(place))

    def shifted_divergence(self, other: LineLaw, *, order: float, shift: float) -> float:
        if not isinstance(other, IntegerLaw):
            return super().shifted_divergence(other, order=order, shift=shift)
        start = min(self.first, other.first)
        stop = max(law.first + len(law.masses) for law in (self, other))
        p, q = (_between(law, start, stop) for law in (self, other))
        return shifted.lattice_shifted_divergence(order, p, q, count("A shift on the integers", 0, shift=shift))

    def wasserstein(self, other: LineLaw) -> float:
        if not isinstance(other, IntegerLaw):
            return super().wasserstein(other)
        laws = [np.array(law.masses) for law in (self, other)]
        return transport.line_wasserstein(*laws, *(law.first + np.arange(len(law.masses)) for law in (self, other)))

    def noise_cost(self, *, order: float, shift: float) -> float:
        whole = count("A shift on the integers", 0, shift=shift)
        return shifted.lattice_noise_cost(order, np.array(self.masses), whole)

    def plus(self, noise: LineLaw) -> LineLaw:
        if not isinstance(noise, IntegerLaw):
            return super().plus(noise)
        return IntegerLaw(np.convolve(self.masses, noise.masses), self.first + noise.first)


@dataclass(frozen=True)
class DiscreteNoise(LineLaw):
    """Noise on all integers, by the mechanism that adds it: hush.DiscreteLaplace or hush.DiscreteGaussian.

    >>> from hush import DiscreteLaplace
    >>> round(DiscreteNoise(DiscreteLaplace(2.0)).noise_cost(order=2.0, shift=1), 6)
    0.227336
    """

    mechanism: DiscreteLaplace | DiscreteGaussian

    def __post_init__(self) -> None:
        if not isinstance(self.mechanism, DiscreteLaplace | DiscreteGaussian):
            rule = "a hush.DiscreteLaplace or a hush.DiscreteGaussian"
            raise InvalidParameter("DiscreteNoise", rule, mechanism=str(self.mechanism))

    def noise_cost(self, *, order: float, shift: float) -> float:
        """The worst whole shift up to this one, rounded up."""
        whole = count("A shift on the integers", 0, shift=shift)
        if whole > MOST_SHIFTS:
            raise InvalidParameter("A shift on the integers", f"shift <= {MOST_SHIFTS}", shift=shift)
        moved = (replace(self.mechanism, sensitivity=k) for k in range(1, whole + 1))
        return max((float(each.renyi(orders=[order])[0]) for each in moved), default=0.0)


@dataclass(frozen=True)
class FiniteLaw(LineLaw):
    """A law with finitely many points of the line, the plane, or any space with the Euclidean norm.

    >>> square = FiniteLaw([(0, 0), (0, 1)], [0.5, 0.5])
    >>> square.wasserstein(FiniteLaw([(1, 0)], [1.0]))
    1.4142135623730951
    """

    points: tuple[tuple[float, ...], ...]
    masses: tuple[float, ...]

    def __init__(self, points: Sequence[Any], masses: Sequence[float] | Array) -> None:
        who, rule = "FiniteLaw", "points of one space, and as many probabilities >= 0 that sum to 1"
        chances = tuple(number(who, rule, 0.0, 1.0 + TOTAL, masses=m) for m in listed(who, rule, masses=masses))
        places = tuple(tuple(float(x) for x in np.atleast_1d(p)) for p in listed(who, rule, points=points))
        if len(places) != len(chances) or not abs(math.fsum(chances) - 1) <= TOTAL or len({*map(len, places)}) != 1:
            raise InvalidParameter(who, rule, points=len(places), masses=len(chances), total=math.fsum(chances))
        if not all(math.isfinite(x) for place in places for x in place):
            raise InvalidParameter(who, "finite points", points=len(places))
        object.__setattr__(self, "points", places)
        object.__setattr__(self, "masses", chances)

    def _distances(self, other: FiniteLaw) -> Array:
        first, second = np.array(self.points), np.array(other.points)
        if first.shape[1] != second.shape[1]:
            rule = "two laws on one space"
            raise InvalidParameter("FiniteLaw", rule, dimensions=(first.shape[1], second.shape[1]))
        return np.linalg.norm(first[:, None] - second[None], axis=2)

    def shifted_divergence(self, other: LineLaw, *, order: float, shift: float) -> float:
        """Mass may be moved to points of the other law alone: anywhere else the divergence is infinite."""
        if not isinstance(other, FiniteLaw):
            return super().shifted_divergence(other, order=order, shift=shift)
        shifted.gaussian_noise_cost(order, 1.0, shift)  # checks both
        allowed = self._distances(other) <= shift * (1 + NEAR)
        return transport.least_divergence(order, np.array(self.masses), np.array(other.masses), allowed)

    def wasserstein(self, other: LineLaw) -> float:
        if not isinstance(other, FiniteLaw):
            return super().wasserstein(other)
        return transport.wasserstein_infinity(np.array(self.masses), np.array(other.masses), self._distances(other))

    def noise_cost(self, *, order: float, shift: float) -> float:
        """Noise with finitely many points hides no shift that may be as small as one likes."""
        return 0.0 if shifted.gaussian_noise_cost(order, 1.0, shift) == 0 else math.inf

    def plus(self, noise: LineLaw) -> LineLaw:
        if not isinstance(noise, FiniteLaw):
            return super().plus(noise)
        self._distances(noise)
        both: dict[tuple[float, ...], float] = {}
        for place, mass in zip(self.points, self.masses, strict=True):
            for move, chance in zip(noise.points, noise.masses, strict=True):
                key = tuple(x + y for x, y in zip(place, move, strict=True))
                both[key] = both.get(key, 0.0) + mass * chance
        return FiniteLaw(list(both), list(both.values()))


def wasserstein_distance(first: LineLaw, second: LineLaw) -> float:
    """W_infinity: the least z such that one law becomes the other when every bit of mass is moved by at most z.

    >>> wasserstein_distance(IntegerLaw([0.5, 0.5]), IntegerLaw([0.25, 0.5, 0.25], first=1))
    2.0
    >>> wasserstein_distance(NormalLaw(0.0, 1.0), NormalLaw(3.0, 1.0))
    3.0
    """
    who = "wasserstein_distance"
    return _law(who, first=first).wasserstein(_law(who, second=second))


def _between(law: IntegerLaw, start: int, stop: int) -> Array:
    """Its masses from start up to stop, with zeros where it has none."""
    return np.pad(np.array(law.masses), (law.first - start, stop - law.first - len(law.masses)))


def shifted_divergence(first: LineLaw, second: LineLaw, *, order: float, shift: float) -> float:
    """D^(shift)(first || second): the Rényi divergence that is left when the first may be moved by up to the shift.

    For two normals it is order * max(distance - shift, 0)^2 / (2 deviation^2); on the integers it is found as the
    shortest string through a tube, so it is exact too, but for rounding.

    >>> shifted_divergence(NormalLaw(0.0, 1.0), NormalLaw(3.0, 1.0), order=2.0, shift=1.0)
    4.0
    >>> round(shifted_divergence(IntegerLaw([1, 0, 0]), IntegerLaw([0, 0.5, 0.5]), order=2.0, shift=1), 9)
    0.693147181
    """
    return _law("shifted_divergence", first=first).shifted_divergence(
        _law("shifted_divergence", second=second), order=order, shift=shift
    )


def noise_cost(noise: LineLaw, *, order: float, shift: float) -> float:
    """R(noise, shift), the price of hiding a shift with this noise: its largest divergence from itself, moved so far.

    >>> noise_cost(NormalLaw(0.0, 2.0), order=2.0, shift=1.0)
    0.25
    """
    return _law("noise_cost", noise=noise).noise_cost(order=order, shift=shift)


@dataclass(frozen=True)
class ShiftReduction:
    """Both sides of the shift-reduction lemma: divergence <= bound."""

    divergence: float
    """D^(shift) of the two laws with noise added."""
    before: float
    """D^(shift + spent) of the two laws themselves."""
    cost: float
    """R(noise, spent)."""

    @property
    def bound(self) -> float:
        """What the lemma promises."""
        return self.before + self.cost


def shift_reduction(
    first: LineLaw, second: LineLaw, noise: LineLaw, *, order: float, shift: float = 0, spent: float
) -> ShiftReduction:
    """D^(z)(P * noise || Q * noise) <= D^(z + a)(P || Q) + R(noise, a), z the shift and a what is spent.

    Feldman, Mironov, Talwar, Thakurta 2018, Lemma 20: noise that costs R hides a shift of a. For normals the two sides
    meet where the distance is spent in proportion to the variances.

    >>> found = shift_reduction(NormalLaw(0.0, 3.0), NormalLaw(5.0, 3.0), NormalLaw(0.0, 4.0), order=2.0, spent=3.2)
    >>> round(found.divergence, 9), round(found.before, 9), round(found.cost, 9), round(found.bound, 9)
    (1.0, 0.36, 0.64, 1.0)
    """
    who = "shift_reduction"
    first, second, noise = _law(who, first=first), _law(who, second=second), _law(who, noise=noise)
    number(who, "0 <= shift < infinity", 0.0, math.inf, high_open=True, shift=shift)
    number(who, "0 <= spent < infinity", 0.0, math.inf, high_open=True, spent=spent)
    return ShiftReduction(
        first.plus(noise).shifted_divergence(second.plus(noise), order=order, shift=shift),
        first.shifted_divergence(second, order=order, shift=shift + spent),
        noise.noise_cost(order=order, shift=spent),
    )


def _law(who: str, **field: LineLaw) -> LineLaw:
    ((name, value),) = field.items()
    if not isinstance(value, LineLaw):
        raise InvalidParameter(
            who, "a law such as a NormalLaw, a LaplaceLaw, an IntegerLaw or a FiniteLaw", **{name: value}
        )
    return value
