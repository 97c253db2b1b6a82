"""Cyclic allocation: one step per epoch for every record, always at the same place of a cycle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from hush.arrays import Array
from hush.checks import count
from hush.errors import InvalidParameter
from hush.mechanisms.fields import whole
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.schemes.allocation import MOST_STEPS, Allocation, by_place, steps_per_epoch
from hush.mechanisms.schemes.spaced.cyclic_poisson import drawn_parts
from hush.mechanisms.schemes.spaced.spaced_scheme import SpacedScheme
from hush.randomness.draws import integers
from hush.randomness.source import Source, source_or_secure


@dataclass(frozen=True)
class CyclicAllocation(SpacedScheme):
    """An epoch of `steps` steps; a record of part r is in one random step among r, r + parts, r + 2 parts, ...

    Every record has one part for the whole training, drawn at random, and draws its step anew in every epoch. So two
    uses of a record are `parts` steps apart or more, and noise of up to so many bands costs what independent noise
    would. Unlike cyclic Poisson sampling it uses every record once per epoch.

    >>> from hush import Gaussian
    >>> Gaussian(2.0).on(CyclicAllocation(steps=64, parts=4)).repeat(4).epsilon(delta=1e-6).upper
    1.1482...
    """

    steps: int = field(metadata=whole(1, MOST_STEPS))
    parts: int = field(metadata=whole(1))
    title: ClassVar[str] = "cyclic allocation"
    why: ClassVar[str] = "one secret step of each epoch, far from the next, so that noise may be correlated: {exact}"
    theorem: ClassVar[str] = (
        "a record is touched once per epoch, in one of steps/parts blocks of rows that do not overlap, chosen at "
        "random: random allocation to so many steps (proof in docs/theory/correlated-noise.md)"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.steps % self.parts:
            raise InvalidParameter("CyclicAllocation", "parts that divides steps", parts=self.parts, steps=self.steps)

    @property
    def bands(self) -> int:
        return self.parts

    @classmethod
    def for_bands(cls, bands: int, *, examples: int, batch_size: int, epochs: float) -> CyclicAllocation:
        steps = steps_per_epoch(cls.__name__, examples, batch_size, epochs)
        if steps % bands:
            rule = f"bands that divide the {steps} steps of an epoch"
            raise InvalidParameter("train_plan", rule, bands=bands)
        return cls(steps=steps, parts=bands)

    def account(self, mechanism: Mechanism) -> Mechanism:
        return mechanism.on(Allocation(steps=self.steps // self.parts))

    def draw(self, population: int, source: Source | None = None) -> list[np.ndarray]:
        """The batches of one epoch, with parts drawn for it. A training keeps its parts: see `course`.

        >>> sorted(np.concatenate(CyclicAllocation(steps=4, parts=2).draw(5)).tolist())
        [0, 1, 2, 3, 4]
        """
        population = count("CyclicAllocation.draw", 0, population=population)
        bits = source_or_secure(source)
        return self._epoch(drawn_parts(bits, self.parts, population), bits)

    def course(self, population: int, source: Source) -> Iterator[list[np.ndarray]]:
        part = drawn_parts(source, self.parts, population)
        while True:
            yield self.checked(self._epoch(part, source), population)

    def _epoch(self, part: Array, source: Source) -> list[np.ndarray]:
        cycle = integers(source, self.steps // self.parts, len(part))
        return by_place(cycle * self.parts + part, self.steps)

    def __str__(self) -> str:
        return f"cyclic allocation to one of {self.steps} steps in {self.parts} parts"
