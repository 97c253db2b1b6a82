"""Laplace noise, continuous and discrete."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

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

CELL_ROUNDING = 1e-12
"""Relative rounding error of the chance of one cell: an exponential, a difference, and a sum over the group."""


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
        x, step = self._classes([0, shift]), 1 / self.scale
        while Fraction(repr(shift * step)) < shift / Fraction(repr(self.scale)):  # the largest loss is promised
            step = math.nextafter(step, math.inf)
        return FinitePair((2 * x - shift) * step, self._masses({shift: 1.0}, x), lattice=2 * step)

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
        distance = self.steps(removed, added) / Fraction(repr(self.scale))  # the largest loss is promised
        if distance > 500:
            raise NotCovered(f"{self} at {float(distance):g} times its scale: more than 500 is not covered")
        return SegmentPair.laplace(distance)

    def mixture(self, neighbours: Neighbours) -> Pair:
        """Above that of discrete noise of the same scale on a fine lattice, for records that only leave or only come.

        An exponential variable is a geometric one plus an independent rest below one step; so Laplace noise is discrete
        Laplace noise plus an independent rest, for all whole shifts at once.
        """
        if self.relation is Relation.REPLACE or not neighbours.one_way:
            return super().mixture(neighbours)
        return DiscreteLaplace(self.scale * self._fine, self._fine).mixture(neighbours)

    @property
    def _fine(self) -> int:
        """Steps of that lattice per unit of sensitivity."""
        fine = 2 ** max(0, min(12, math.ceil(math.log2(512 / self.scale))))
        if self.scale * fine > 1e6:
            raise NotCovered(f"{self} on a sample, for groups: covered up to a scale of a million")
        return fine

    def attained(self, neighbours: Neighbours, alone: bool) -> tuple[Pair, ...] | None:
        """Of a group's mixture, what is left when the output is rounded to that lattice: the cells' own masses."""
        if neighbours.settled is not None or neighbours.most <= 1:
            return super().attained(neighbours, alone)
        if self.relation is Relation.REPLACE or not neighbours.one_way:
            return ()
        above, below = self.sides(neighbours, 1.0)
        places = [*above, *below]
        if max(places) - min(places) > min(500 * self.scale, 1e6 / self._fine):  # the mixture is not covered either
            return ()
        edges = np.arange(round(min(places)) * self._fine, round(max(places)) * self._fine + 1) / self._fine
        p, q = (
            np.sum([w * self._cells(edges - shift) for shift, w in side.items()], axis=0) for side in (above, below)
        )
        # what rounding may have added to P and taken from Q is taken off again: the pair must stay below
        return (FinitePair.of(p * (1 - CELL_ROUNDING), q * (1 + CELL_ROUNDING)),)

    def _cells(self, edges: Array) -> Array:
        """Chances of the noise to lie before the edges (an increasing lattice that has 0), between them, past them."""
        z = edges / self.scale
        tail = 0.5 * np.exp(-np.abs(z))
        inside = np.minimum(tail[1:], tail[:-1]) * np.expm1(np.diff(z))
        first = tail[0] if z[0] <= 0 else 1 - tail[0]
        last = tail[-1] if z[-1] >= 0 else 1 - tail[-1]
        return np.concatenate([[first], inside, [last]])

    def simulate(self, contributions: Array, source: Source) -> Array:
        return contributions + self.scale * laplace(source, len(contributions))

    def __str__(self) -> str:
        return f"Laplace noise of scale {self.scale:g}"
