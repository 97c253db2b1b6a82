"""Additive noise: continuous and discrete Gaussian and Laplace."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from hush.arrays import Array
from hush.checks import count, number
from hush.curves.pairs.finite import FinitePair
from hush.curves.pairs.normal import NormalPair
from hush.curves.pairs.pair import Pair
from hush.curves.pairs.segment import SegmentPair
from hush.curves.relation import Relation, checked_relation
from hush.curves.theorems.allocation import AllocationPair
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.leaf import Leaf
from hush.mechanisms.neighbours import Counts, Neighbours
from hush.mechanisms.traits import Special, Step
from hush.randomness.float_noise import from_masses, laplace, normal, uniform
from hush.randomness.source import Source


def _sides(leaf: Leaf, neighbours: Neighbours, unit: float) -> tuple[dict[float, float], dict[float, float]]:
    """Weights of the shifts under P (removed records push up) and under Q (added records push down)."""
    if leaf.relation is Relation.REPLACE:
        raise NotCovered(
            f"{leaf}, sensitivity stated for replace-one, on a sample: where the sum lies without the record is not "
            "known. State the noise under ADD_REMOVE (each record's norm) and write .under(Relation.REPLACE)"
        )
    up, down = enumerate(neighbours.removed), enumerate(neighbours.added)
    return {unit * k: w for k, w in up if w > 0}, {-unit * k: w for k, w in down if w > 0}


@dataclass(frozen=True)
class Gaussian(Leaf):
    """Gaussian noise with deviation noise_multiplier times the L2 sensitivity under the mechanism's own relation.

    >>> Gaussian(noise_multiplier=2.0).epsilon(delta=1e-6).upper
    2.2541...
    """

    noise_multiplier: float
    relation: Relation = Relation.ADD_REMOVE
    attains_curve: ClassVar[bool] = True
    mirrored: ClassVar[bool] = True

    def __post_init__(self) -> None:
        rule = "1e-6 <= noise_multiplier <= 1e9"
        value = number("Gaussian", rule, 1e-6, 1e9, noise_multiplier=self.noise_multiplier)
        object.__setattr__(self, "noise_multiplier", value)
        checked_relation("Gaussian", self.relation)

    exact_mixture = True

    def at(self, removed: int, added: int) -> Pair:
        return NormalPair.shifted(self.steps(removed, added) / self.noise_multiplier)

    def mixture(self, neighbours: Neighbours) -> Pair:
        above, below = _sides(self, neighbours, 1 / self.noise_multiplier)
        return NormalPair(tuple(sorted(above.items())), tuple(sorted(below.items())))

    @property
    def special(self) -> Special:
        allocated = self._allocated if self.relation is Relation.ADD_REMOVE else None
        return replace(super().special, copies=self._copies, allocated=allocated)

    def _copies(self, counts: Counts) -> Pair:
        unit = self.steps(1, 1) / self.noise_multiplier
        return NormalPair(tuple((unit * k, weight) for k, weight in enumerate(counts) if weight > 0), ((0.0, 1.0),))

    def _allocated(self, steps: int) -> Pair:
        return AllocationPair(1 / self.noise_multiplier, steps)

    def derivation(self) -> Step:
        return Step(
            str(self),
            "dominated by N(1/σ, 1) against N(0, 1): Balle, Wang 2018, Thm 8; Dong, Roth, Su 2022, Thm 2.7",
            f"L2 sensitivity 1 when you {self.relation.words}",
        )

    def simulate(self, contributions: Array, source: Source) -> Array:
        return contributions + self.noise_multiplier * normal(source, len(contributions))

    def __str__(self) -> str:
        return f"Gaussian noise of multiplier {self.noise_multiplier:g}"


@dataclass(frozen=True)
class Laplace(Leaf):
    """Laplace noise with scale in units of the L1 sensitivity.

    >>> Laplace(scale=2.0).epsilon(delta=0).upper
    0.5
    """

    scale: float
    relation: Relation = Relation.ADD_REMOVE
    attains_curve: ClassVar[bool] = True
    mirrored: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", number("Laplace", "0.002 <= scale <= 1e9", 0.002, 1e9, scale=self.scale))
        checked_relation("Laplace", self.relation)

    def at(self, removed: int, added: int) -> Pair:
        distance = self.steps(removed, added) / self.scale
        if distance > 500:
            raise NotCovered(f"{self} at {distance:g} times its scale: more than 500 is not covered")
        return SegmentPair.laplace(distance)

    def mixture(self, neighbours: Neighbours) -> Pair:
        """Above that of discrete noise of the same scale on a fine lattice, for records that only leave or only come.

        An exponential variable is a geometric one plus an independent rest below one step; so Laplace noise is discrete
        Laplace noise plus an independent rest, for all whole shifts at once.
        """
        if self.relation is Relation.REPLACE or not neighbours.one_way:
            return super().mixture(neighbours)
        fine = 2 ** max(0, min(12, math.ceil(math.log2(512 / self.scale))))
        if self.scale * fine > 1e6:
            raise NotCovered(f"{self} on a sample, for groups: covered up to a scale of a million")
        return DiscreteLaplace(self.scale * fine, fine).mixture(neighbours)

    def attained(self, neighbours: Neighbours, alone: bool) -> tuple[Pair, ...] | None:
        """The lattice of a group's mixture is a bound only."""
        unsettled = neighbours.settled is None
        return () if unsettled and neighbours.most > 1 else super().attained(neighbours, alone)

    def derivation(self) -> Step:
        return Step(
            str(self),
            "dominated by the one-dimensional shift: Dwork et al. 2006; Zhu, Dong, Wang 2022, Prop. 9",
            f"L1 sensitivity 1 when you {self.relation.words}",
        )

    def simulate(self, contributions: Array, source: Source) -> Array:
        return contributions + self.scale * laplace(source, len(contributions))

    def __str__(self) -> str:
        return f"Laplace noise of scale {self.scale:g}"


@dataclass(frozen=True)
class DiscreteGaussian(Leaf):
    """Discrete Gaussian noise (parameter sigma) on one integer whose sensitivity is a whole number.

    For a vector with an L2 sensitivity this pair does not hold: state `ZCDP(rho=sensitivity**2/(2 sigma**2))`.

    >>> DiscreteGaussian(sigma=2.0, sensitivity=1).renyi(orders=[2]).round(12).tolist()
    [0.25]
    """

    sigma: float
    sensitivity: int = 1
    relation: Relation = Relation.ADD_REMOVE
    attains_curve: ClassVar[bool] = True
    mirrored: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "sigma", number("DiscreteGaussian", "0.2 <= sigma <= 10000", 0.2, 1e4, sigma=self.sigma)
        )
        object.__setattr__(self, "sensitivity", count("DiscreteGaussian", 1, sensitivity=self.sensitivity))
        checked_relation("DiscreteGaussian", self.relation)

    exact_mixture = True

    def at(self, removed: int, added: int) -> Pair:
        return NormalPair.shifted(self.steps(removed, added) * self.sensitivity / self.sigma, 1 / self.sigma)

    def mixture(self, neighbours: Neighbours) -> Pair:
        above, below = _sides(self, neighbours, self.sensitivity / self.sigma)
        return NormalPair(tuple(sorted(above.items())), tuple(sorted(below.items())), 1 / self.sigma)

    def derivation(self) -> Step:
        return Step(
            str(self),
            "the exact pair of two shifted discrete Gaussians: Canonne, Kamath, Steinke 2020, Thm 7",
            f"one integer that moves by at most {self.sensitivity} when you {self.relation.words}",
        )

    def simulate(self, contributions: Array, source: Source) -> Array:
        reach = math.ceil(12 * self.sigma) + 12
        values = np.arange(-reach, reach + 1)
        masses = np.exp(-0.5 * (values / self.sigma) ** 2)
        return contributions * self.sensitivity + from_masses(source, values, masses, len(contributions))

    def __str__(self) -> str:
        return f"discrete Gaussian noise of sigma {self.sigma:g} on an integer of sensitivity {self.sensitivity}"


@dataclass(frozen=True)
class DiscreteLaplace(Leaf):
    """Discrete Laplace (geometric) noise of this scale on one integer whose sensitivity is a whole number.

    >>> DiscreteLaplace(scale=2.0, sensitivity=3).epsilon(delta=0).upper
    1.5
    """

    scale: float
    sensitivity: int = 1
    relation: Relation = Relation.ADD_REMOVE
    attains_curve: ClassVar[bool] = True
    mirrored: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "scale", number("DiscreteLaplace", "0.002 <= scale <= 1e6", 0.002, 1e6, scale=self.scale)
        )
        object.__setattr__(self, "sensitivity", count("DiscreteLaplace", 1, sensitivity=self.sensitivity))
        if self.sensitivity > 100_000:
            raise InvalidParameter("DiscreteLaplace", "sensitivity <= 100000", sensitivity=self.sensitivity)
        checked_relation("DiscreteLaplace", self.relation)

    exact_mixture = True

    def at(self, removed: int, added: int) -> Pair:
        shift = self.steps(removed, added) * self.sensitivity
        x = self._classes([0, shift])
        return FinitePair((2 * x - shift) / self.scale, self._masses({shift: 1.0}, x), lattice=2 / self.scale)

    def _classes(self, places: list[int]) -> np.ndarray:
        """The integers from the lowest to the highest shift; the ends stand for all beyond them."""
        if max(places) - min(places) > min(500 * self.scale, 1e6):
            raise NotCovered(f"{self} at more than 500 times its scale, or a million steps, is not covered")
        return np.arange(min(places), max(places) + 1)

    def _masses(self, mixture: dict[int, float], x: np.ndarray) -> np.ndarray:
        tail = 1 / (1 + math.exp(-1 / self.scale))
        mass = np.zeros(len(x))
        for shift, weight in mixture.items():
            part = math.tanh(0.5 / self.scale) * np.exp(-np.abs(x - shift) / self.scale)
            part[0] = tail * math.exp(-(shift - int(x[0])) / self.scale)
            part[-1] = tail * math.exp(-(int(x[-1]) - shift) / self.scale)
            mass += weight * part
        return mass

    def mixture(self, neighbours: Neighbours) -> Pair:
        up, down = _sides(self, neighbours, self.sensitivity)
        above, below = ({round(shift): w for shift, w in side.items()} for side in (up, down))
        x = self._classes([*above, *below])
        return FinitePair.of(self._masses(above, x), self._masses(below, x))

    def derivation(self) -> Step:
        return Step(
            str(self),
            "the exact pair of two shifted geometric laws: Ghosh, Roughgarden, Sundararajan 2012",
            f"one integer that moves by at most {self.sensitivity} when you {self.relation.words}",
        )

    def simulate(self, contributions: Array, source: Source) -> Array:
        up, down = np.floor(-np.log(uniform(source, 2, len(contributions))) * self.scale)
        return contributions * self.sensitivity + up - down

    def __str__(self) -> str:
        return f"discrete Laplace noise of scale {self.scale:g} on an integer of sensitivity {self.sensitivity}"
