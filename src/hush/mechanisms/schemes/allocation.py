"""Random allocation: every record takes part in a fixed number of the steps of an epoch, drawn at random."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from hush.arrays import Array
from hush.checks import count
from hush.curves.composition.product import Product
from hush.curves.pairs.pair import Pair
from hush.curves.relation import Relation
from hush.curves.theorems.allocation import AllocationPair
from hush.curves.theorems.any_allocation import AnyAllocation
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.evidence import Evidence
from hush.mechanisms.fields import instance, whole
from hush.mechanisms.mechanism import Mechanism, require, require_any_number
from hush.mechanisms.neighbours import REMOVED, Neighbours
from hush.mechanisms.scheme import Scheme
from hush.mechanisms.traits import Scope, Step
from hush.mechanisms.wrapper import Wrapper
from hush.randomness.draws import integers
from hush.randomness.source import Source, source_or_secure

MOST_STEPS = 10**9
"""Steps of an epoch at the most."""


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
    """An epoch of `steps` steps, in `times` rounds of (almost) equal length; each record is in one step of each round.

    Which step is uniform and independent for every record and every round, and nobody learns it. The scheme makes the
    whole epoch: `step.on(Allocation(steps=1000)).repeat(10)` is ten epochs of a thousand steps. With Gaussian noise it
    is at least as good as Poisson sampling at rate 1/steps, with other noise it may be worse.

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
        if self.times > self.steps:
            raise InvalidParameter("Allocation", f"times <= steps = {self.steps}", times=self.times)

    @classmethod
    def for_training(cls, *, examples: int, batch_size: int, epochs: float) -> Allocation:
        return cls(steps=steps_per_epoch(cls.__name__, examples, batch_size, epochs))

    @property
    def rounds(self) -> tuple[int, ...]:
        """Steps of each round: as equal as can be, the longer ones first.

        >>> Allocation(steps=7, times=3).rounds
        (3, 2, 2)
        """
        short, longer = divmod(self.steps, self.times)
        return (short + 1,) * longer + (short,) * (self.times - longer)

    def applied(self, mechanism: Mechanism) -> Mechanism:
        inner = require("Allocation", mechanism)
        return inner.repeat(self.times) if self.steps == self.times else Allocated(inner, self)

    def draw(self, population: int, source: Source | None = None) -> list[np.ndarray]:
        """The batches of one epoch, in order: `steps` arrays of record numbers 0..population-1, each increasing.

        >>> batches = Allocation(steps=4, times=2).draw(6)
        >>> [sorted(np.concatenate(batches[:2]).tolist()), sorted(np.concatenate(batches[2:]).tolist())]
        [[0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5]]
        """
        population = count("Allocation.draw", 0, population=population)
        bits = source_or_secure(source)
        batches: list[np.ndarray] = []
        for steps in self.rounds:
            batches += by_place(integers(bits, steps, population), steps)
        return batches

    def __str__(self) -> str:
        rounds = "" if self.times == 1 else f", in {self.times} rounds"
        return f"random allocation to {self.times} of {self.steps} steps{rounds}"


def allocated(pair: Pair, steps: int) -> Pair:
    """The pair of one round: by the transform for normals, on a lattice for all others."""
    if steps == 1:
        return pair
    return AnyAllocation(pair, steps) if pair.distance is None else AllocationPair(pair.distance, steps)


@dataclass(frozen=True)
class Allocated(Wrapper):
    """An epoch of steps, each record in as many of them as its allocation says."""

    scheme: Allocation = field(metadata=instance(Allocation, "a hush.Allocation"))
    verb: ClassVar[str] = "Allocated"

    @property
    def scope(self) -> Scope:
        return Scope(together=self.inner.scope.together)

    @property
    def _step(self) -> Evidence:
        """Of a step that the record takes part in, and that it leaves."""
        require_any_number(self.inner, self.scheme)
        return self.inner.evidence(REMOVED)

    def at(self, removed: int, added: int) -> Pair:
        if self.relation is Relation.ADD_REMOVE and (removed, added) == (1, 0):
            pair, rounds = self._step.pair, Counter(self.scheme.rounds)
            return Product.of((allocated(pair, steps), times) for steps, times in sorted(rounds.items()))
        if self.relation is Relation.ADD_REMOVE and (removed, added) == (0, 1):
            return self.at(1, 0).swap()
        raise self._not_covered()

    def attained(self, neighbours: Neighbours, alone: bool) -> tuple[Pair, ...] | None:
        """What every step attains, all steps attain together: the same two datasets, step by step."""
        return None if self._step.members(False) == (self._step.pair,) else ()

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
            "from its Laplace transform; for other noise the mean of the ratios of its steps dominates (proof in "
            "docs/theory/allocation.md; Feldman, Shenfeld 2026), and is summed on a lattice; rounds and epochs are "
            "composed",
            "each record's step is uniform, independent of all else, and stays secret; the number of steps does not "
            "come from a private count of the data",
            (self.inner.derivation(),),
        )

    def simulate(self, contributions: Array, source: Source) -> Array:
        return self.scheme.simulate(self.inner, contributions, source)

    def __str__(self) -> str:
        return f"{self.inner} on {self.scheme}"
