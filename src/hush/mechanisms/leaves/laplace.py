"""Laplace noise, continuous and discrete."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from hush.arrays import Array
from hush.curves.pairs.finite import FinitePair
from hush.curves.pairs.pair import Pair
from hush.curves.pairs.segment import SegmentPair
from hush.curves.relation import Relation
from hush.errors import NotCovered
from hush.mechanisms.fields import between, whole
from hush.mechanisms.leaf import Leaf
from hush.mechanisms.neighbours import Neighbours
from hush.randomness.float_noise import laplace, uniform
from hush.randomness.source import Source


@dataclass(frozen=True)
class DiscreteLaplace(Leaf):
    """Discrete Laplace (geometric) noise of this scale on one integer whose sensitivity is a whole number.

    >>> DiscreteLaplace(scale=2.0, sensitivity=3).epsilon(delta=0).upper
    1.5
    """

    scale: float = field(metadata=between(0.002, 1e6))
    sensitivity: int = field(default=1, metadata=whole(1, 100_000))
    relation: Relation = Relation.ADD_REMOVE
    attains_curve = mirrored = exact_mixture = True
    theorem = "the exact pair of two shifted geometric laws: Ghosh, Roughgarden, Sundararajan 2012"
    assumes = "one integer that moves by at most {self.sensitivity} when you {self.relation.words}"

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
        up, down = self.sides(neighbours, self.sensitivity)
        above, below = ({round(shift): w for shift, w in side.items()} for side in (up, down))
        x = self._classes([*above, *below])
        return FinitePair.of(self._masses(above, x), self._masses(below, x))

    def simulate(self, contributions: Array, source: Source) -> Array:
        up, down = np.floor(-np.log(uniform(source, 2, len(contributions))) * self.scale)
        return contributions * self.sensitivity + up - down

    def __str__(self) -> str:
        return f"discrete Laplace noise of scale {self.scale:g} on an integer of sensitivity {self.sensitivity}"


@dataclass(frozen=True)
class Laplace(Leaf):
    """Laplace noise with scale in units of the L1 sensitivity.

    >>> Laplace(scale=2.0).epsilon(delta=0).upper
    0.5
    """

    scale: float = field(metadata=between(0.002, 1e9))
    relation: Relation = Relation.ADD_REMOVE
    attains_curve = mirrored = True
    theorem = "dominated by the one-dimensional shift: Dwork et al. 2006; Zhu, Dong, Wang 2022, Prop. 9"
    assumes = "L1 sensitivity 1 when you {self.relation.words}"

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

    def simulate(self, contributions: Array, source: Source) -> Array:
        return contributions + self.scale * laplace(source, len(contributions))

    def __str__(self) -> str:
        return f"Laplace noise of scale {self.scale:g}"
