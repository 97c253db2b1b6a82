"""What most training loops do: shuffle the records, then cut them into batches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from hush.checks import count
from hush.curves.pairs.pair import Pair
from hush.curves.relation import Relation
from hush.curves.theorems.allocation import AllocationPair
from hush.curves.theorems.shuffled_batches import LoudestNormals, loudest_losses
from hush.errors import NotCovered
from hush.mechanisms.evidence import IDENTITY, Evidence
from hush.mechanisms.fields import whole
from hush.mechanisms.mechanism import Mechanism, require
from hush.mechanisms.neighbours import Counts, Neighbours, exactly
from hush.mechanisms.schemes.allocation import steps_per_epoch
from hush.mechanisms.schemes.one_sample import DATA_INDEPENDENT, OneSample
from hush.randomness.draws import order
from hush.randomness.source import Source, source_or_secure


@dataclass(frozen=True)
class ShuffledBatches(OneSample):
    """An epoch of `steps` batches: the records in a random order, cut into equal parts. It makes the whole epoch.

    No theorem gives it the epsilon of Poisson sampling, and an attack shows that none can: which batch a record is in
    is one secret for the whole epoch, so the batches betray each other. Proven is that each record is used once.

    >>> from hush import Gaussian, Poisson
    >>> Gaussian(1.0).on(ShuffledBatches(steps=100)).epsilon(delta=1e-6)
    Bound(epsilon=4.68 to 4.89, lower=4.6809..., upper=4.88655..., delta=1e-06)
    >>> Gaussian(1.0).on(Poisson(rate=0.01)).repeat(100).epsilon(delta=1e-6).upper
    0.9542...
    """

    steps: int = field(metadata=whole(1))
    one_sample = False
    title: ClassVar[str] = "shuffled batches"
    why: ClassVar[str] = "one order for the whole epoch: the batches betray each other, so nothing is gained for sure"
    gains: ClassVar[bool] = False
    no_sample_around: ClassVar[str] = "the sizes of its batches depend on how many records there are, which are random"

    @classmethod
    def for_training(cls, *, examples: int, batch_size: int, epochs: float) -> ShuffledBatches:
        return cls(steps=steps_per_epoch(cls.__name__, examples, batch_size, epochs))

    def applied(self, mechanism: Mechanism) -> Mechanism:
        return require("ShuffledBatches", mechanism) if self.steps == 1 else super().applied(mechanism)

    def draw(self, population: int, source: Source | None = None) -> list[np.ndarray]:
        """The batches of one epoch, their sizes as equal as can be."""
        population = count("ShuffledBatches.draw", 0, population=population)
        return np.array_split(order(source_or_secure(source), population), self.steps)

    def fitting(self, mechanism: Mechanism) -> Mechanism:
        return require("ShuffledBatches", mechanism)

    @property
    def public_size(self) -> bool:
        return True

    def population_of(self, inner: Mechanism) -> frozenset[int]:
        return frozenset(self.steps * batch for batch in inner.scope.populations)

    def likened(self, inner: Mechanism, records: int, alone: bool) -> tuple[Pair, ...]:
        """The loudest step, the other records like the new one."""
        return tuple(
            LoudestNormals(pair.distance, 0.0, self.steps)
            if pair.distance is not None
            else loudest_losses(pair, self.steps)
            for pair in inner.special.likened(records, alone)
        )

    def evidence(self, inner: Mechanism, neighbours: Neighbours) -> Evidence:
        """Above, what every step on all records reveals; below, the attack on the loudest step."""
        found = neighbours.settled
        if found is None or max(found) > 1:
            raise NotCovered(
                "shuffled batches: what is known is for one record that is in the data for sure; a group may fall "
                "into several batches. Nearest: hush.Poisson, which covers groups and nested samples"
            )
        return inner.evidence(neighbours).attained_by(lambda alone: self._attained(inner, neighbours, alone))

    def _attained(self, inner: Mechanism, neighbours: Neighbours, alone: bool) -> tuple[Pair, ...]:
        if neighbours.nobody:
            return (IDENTITY,)
        if neighbours.settled == (0, 1):
            return tuple(self._attacks(inner, neighbours.swap(), alone, mirrored=True))
        return tuple(self._attacks(inner, neighbours, alone, mirrored=False))

    def _attacks(self, inner: Mechanism, neighbours: Neighbours, alone: bool, *, mirrored: bool) -> Iterator[Pair]:
        """The loudest step; and, where the other records add nothing, one record in one random step: an allocation."""
        leaves = neighbours.one_way
        for pair in inner.evidence(neighbours).attained(alone):
            if pair.distance is None:
                yield loudest_losses(pair, self.steps, mirrored=mirrored)
                continue
            # the other records pull the other way: by as much again, or (replaced) by half of the distance
            loud = 2 * pair.distance if leaves else pair.distance
            for attack in (LoudestNormals(loud, loud / 2, self.steps), LoudestNormals(pair.distance, 0.0, self.steps)):
                yield attack.swap() if mirrored else attack
        distance = inner.special.distance
        if leaves and distance is not None:
            pair = AllocationPair(distance, self.steps)
            yield pair.swap() if mirrored else pair

    def listed(self, records: int, least: float) -> tuple[Counts, float]:
        if records > 1:
            raise NotCovered("shuffled batches: a group may fall into several batches")
        return exactly(records), 0.0

    def theorem(self, relation: Relation) -> tuple[str, str]:
        return (
            "above: each record is in one batch of the epoch, which is then as good as not sampled at all (joint "
            "convexity over the orders); below: the attack of Chua et al. 2024, on the loudest step. "
            "Poisson's epsilon does not apply: the batches share one secret, where each record is"
        ), (
            f"one fresh uniform order per epoch; {DATA_INDEPENDENT}; batch sizes are fixed"
            + (
                ""
                if relation is Relation.REPLACE
                else ", a record that is removed leaves its place empty (contributes zero)"
            )
        )

    def __str__(self) -> str:
        return f"shuffled batches, {self.steps} per epoch"
