"""Random allocation: every record takes part in a fixed number of the steps of an epoch, drawn at random."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from hush.arrays import Array
from hush.checks import count
from hush.curves.composition.product import Product
from hush.curves.pairs.pair import Pair
from hush.curves.relation import Relation
from hush.curves.theorems.allocation import AllocationPair
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.fields import instance, whole
from hush.mechanisms.mechanism import Mechanism, require
from hush.mechanisms.neighbours import Neighbours
from hush.mechanisms.scheme import Scheme
from hush.mechanisms.traits import Scope, Step
from hush.mechanisms.wrapper import Wrapper
from hush.randomness.draws import integers
from hush.randomness.source import Source, source_or_secure

MOST_STEPS = 10**9


def steps_per_epoch(who: str, examples: int, batch_size: int, epochs: float) -> int:
    """Batches of an epoch that is drawn as a whole, so that there must be whole epochs of them."""
    if epochs != math.floor(epochs):
        raise InvalidParameter("train_plan", f"whole epochs for {who}", epochs=epochs)
    return max(1, round(examples / batch_size))


def by_place(place: Array, steps: int) -> list[np.ndarray]:
    """The records of each step, from the step of each record.

    >>> [batch.tolist() for batch in by_place(np.array([1, 0, 1]), 3)]
    [[1], [0, 2], []]
    """
    ordered = np.argsort(place, kind="stable")
    return np.split(ordered, np.searchsorted(place[ordered], np.arange(1, steps)))


@dataclass(frozen=True)
class Allocation(Scheme):
    """An epoch of `steps` steps, in `times` rounds of equal length; each record is in one step of each round.

    Which step is uniform and independent for every record and every round, and nobody learns it. The scheme makes the
    whole epoch: `step.on(Allocation(steps=1000)).repeat(10)` is ten epochs of a thousand steps.

    >>> from hush import Gaussian
    >>> Gaussian(1.0).on(Allocation(steps=1000)).epsilon(delta=1e-6)
    Bound(epsilon=0.1717..., delta=1e-06)
    """

    steps: int = field(metadata=whole(1, MOST_STEPS))
    times: int = field(default=1, metadata=whole(1))
    title: ClassVar[str] = "random allocation"
    why: ClassVar[str] = "each record joins one secret step of each epoch, on its own: {exact}, and easy to run"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.steps % self.times:
            raise InvalidParameter(
                "Allocation",
                "times that divides steps (so many rounds of equal length)",
                times=self.times,
                steps=self.steps,
            )

    @classmethod
    def for_training(cls, *, examples: int, batch_size: int, epochs: float) -> Allocation:
        return cls(steps=steps_per_epoch(cls.__name__, examples, batch_size, epochs))

    @property
    def round(self) -> int:
        """Steps of one round."""
        return self.steps // self.times

    def applied(self, mechanism: Mechanism) -> Mechanism:
        inner = require("Allocation", mechanism)
        return inner.repeat(self.times) if self.round == 1 else Allocated(inner, self)

    def draw(self, population: int, source: Source | None = None) -> list[np.ndarray]:
        """The batches of one epoch, in order: `steps` arrays of record numbers 0..population-1, each increasing.

        >>> batches = Allocation(steps=4, times=2).draw(6)
        >>> [sorted(np.concatenate(batches[:2]).tolist()), sorted(np.concatenate(batches[2:]).tolist())]
        [[0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5]]
        """
        population = count("Allocation.draw", 0, population=population)
        bits = source_or_secure(source)
        batches: list[np.ndarray] = []
        for _ in range(self.times):
            batches += by_place(integers(bits, self.round, population), self.round)
        return batches

    def __str__(self) -> str:
        rounds = "" if self.times == 1 else f", in {self.times} rounds"
        return f"random allocation to {self.times} of {self.steps} steps{rounds}"


@dataclass(frozen=True)
class Allocated(Wrapper):
    """An epoch of steps, each record in as many of them as its allocation says."""

    scheme: Allocation = field(metadata=instance(Allocation, "a hush.Allocation"))
    verb: ClassVar[str] = "Allocated"

    @property
    def scope(self) -> Scope:
        return Scope(together=self.inner.scope.together)

    def at(self, removed: int, added: int) -> Pair:
        if self.relation is Relation.ADD_REMOVE and (removed, added) == (1, 0):
            distance = self.inner.special.distance
            if distance is None:
                raise NotCovered(
                    f"{self.inner} under random allocation: the pair is known for Gaussian noise, its sensitivity "
                    "stated for adding or removing one record. Nearest: hush.Poisson"
                )
            return Product.of([(AllocationPair(distance, self.scheme.round), self.scheme.times)])
        if self.relation is Relation.ADD_REMOVE and (removed, added) == (0, 1):
            return self.at(1, 0).swap()
        raise self._not_covered()

    def mixture(self, neighbours: Neighbours) -> Pair:
        raise self._not_covered()

    def _not_covered(self) -> NotCovered:
        return NotCovered(
            f"{self.scheme} for groups, or where a record is replaced: no pair is known. Covered: one record added or "
            "removed. Nearest: hush.Poisson, which covers groups and replacement"
        )

    def derivation(self) -> Step:
        return Step(
            f"an epoch: {self.scheme}",
            "the mean of N(e_i/σ, I) over the steps i, against N(0, I), dominates: Chua et al. 2025 (balls and bins), "
            "Feldman, Shenfeld 2025; its likelihood ratio is a mean of lognormals, whose calls and puts are computed "
            "from its Laplace transform; rounds and epochs are composed",
            "each record's step is uniform, independent of all else, and stays secret; the number of steps does not "
            "come from a private count of the data",
            (self.inner.derivation(),),
        )

    def simulate(self, contributions: Array, source: Source) -> Array:
        return self.scheme.simulate(self.inner, contributions, source)

    def __str__(self) -> str:
        return f"{self.inner} on {self.scheme}"
