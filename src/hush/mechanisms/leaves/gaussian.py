"""Gaussian noise, continuous and discrete."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from hush.arrays import Array
from hush.curves.pairs.normal import NormalPair
from hush.curves.pairs.pair import Pair
from hush.curves.relation import Relation
from hush.mechanisms.fields import between, whole
from hush.mechanisms.leaf import Leaf
from hush.mechanisms.neighbours import Counts, Neighbours
from hush.mechanisms.traits import Special
from hush.randomness.float_noise import from_masses, normal
from hush.randomness.source import Source


@dataclass(frozen=True)
class Gaussian(Leaf):
    """Gaussian noise with deviation noise_multiplier times the L2 sensitivity under the mechanism's own relation.

    >>> Gaussian(noise_multiplier=2.0).epsilon(delta=1e-6).upper
    2.2541...
    """

    noise_multiplier: float = field(metadata=between(1e-6, 1e9))
    relation: Relation = Relation.ADD_REMOVE
    attains_curve = mirrored = exact_mixture = True
    theorem = "dominated by N(1/σ, 1) against N(0, 1): Balle, Wang 2018, Thm 8; Dong, Roth, Su 2022, Thm 2.7"
    assumes = "L2 sensitivity 1 when you {self.relation.words}"

    def at(self, removed: int, added: int) -> Pair:
        return NormalPair.shifted(self.steps(removed, added) / self.noise_multiplier)

    def mixture(self, neighbours: Neighbours) -> Pair:
        above, below = self.sides(neighbours, 1 / self.noise_multiplier)
        return NormalPair(tuple(sorted(above.items())), tuple(sorted(below.items())))

    @property
    def special(self) -> Special:
        distance = 1 / self.noise_multiplier if self.relation is Relation.ADD_REMOVE else None
        return replace(super().special, copies=self._copies, distance=distance)

    def _copies(self, counts: Counts) -> Pair:
        unit = self.steps(1, 1) / self.noise_multiplier
        return NormalPair(tuple((unit * k, weight) for k, weight in enumerate(counts) if weight > 0), ((0.0, 1.0),))

    def simulate(self, contributions: Array, source: Source) -> Array:
        return contributions + self.noise_multiplier * normal(source, len(contributions))

    def __str__(self) -> str:
        return f"Gaussian noise of multiplier {self.noise_multiplier:g}"


@dataclass(frozen=True)
class DiscreteGaussian(Leaf):
    """Discrete Gaussian noise (parameter sigma) on one integer whose sensitivity is a whole number.

    For a vector with an L2 sensitivity this pair does not hold: state `ZCDP(rho=sensitivity**2/(2 sigma**2))`.

    >>> DiscreteGaussian(sigma=2.0, sensitivity=1).renyi(orders=[2]).round(12).tolist()
    [0.25]
    """

    sigma: float = field(metadata=between(0.2, 1e4))
    sensitivity: int = field(default=1, metadata=whole(1))
    relation: Relation = Relation.ADD_REMOVE
    attains_curve = mirrored = exact_mixture = True
    theorem = "the exact pair of two shifted discrete Gaussians: Canonne, Kamath, Steinke 2020, Thm 7"
    assumes = "one integer that moves by at most {self.sensitivity} when you {self.relation.words}"

    def at(self, removed: int, added: int) -> Pair:
        return NormalPair.shifted(self.steps(removed, added) * self.sensitivity / self.sigma, 1 / self.sigma)

    def mixture(self, neighbours: Neighbours) -> Pair:
        above, below = self.sides(neighbours, self.sensitivity / self.sigma)
        return NormalPair(tuple(sorted(above.items())), tuple(sorted(below.items())), 1 / self.sigma)

    def simulate(self, contributions: Array, source: Source) -> Array:
        reach = math.ceil(12 * self.sigma) + 12
        values = np.arange(-reach, reach + 1)
        masses = np.exp(-0.5 * (values / self.sigma) ** 2)
        return contributions * self.sensitivity + from_masses(source, values, masses, len(contributions))

    def __str__(self) -> str:
        return f"discrete Gaussian noise of sigma {self.sigma:g} on an integer of sensitivity {self.sensitivity}"
