"""Cyclic Poisson sampling: the records in parts, one part after the other, coins within the part."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from hush.arrays import Array
from hush.checks import count
from hush.errors import InvalidParameter
from hush.mechanisms.fields import between, whole
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.schemes.poisson import Poisson
from hush.mechanisms.schemes.spaced.spaced_scheme import SpacedScheme
from hush.randomness.draws import integers
from hush.randomness.source import Source, source_or_secure

MOST_PARTS = 10**6
"""Parts of a cycle at the most."""


def drawn_parts(source: Source, parts: int, population: int) -> Array:
    """A part for every record, uniform and independent of all others.

    Never an even split: that depends on how many records there are, and adding one would move others between parts.
    """
    return integers(source, parts, population)


@dataclass(frozen=True)
class CyclicPoisson(SpacedScheme):
    """One cycle of `parts` steps: step t draws each record of part t with probability `rate`, independently.

    Every record has one part for the whole training, drawn at random; it may be known, the coins may not. So two uses
    of a record are `parts` steps apart, and noise of up to so many bands costs what independent noise would: a cycle is
    one step of Poisson sampling.

    >>> from hush import Gaussian, Poisson
    >>> cycle = Gaussian(1.0).on(CyclicPoisson(rate=0.08, parts=8))
    >>> cycle.repeat(250).epsilon(delta=1e-6) == Gaussian(1.0).on(Poisson(rate=0.08)).repeat(250).epsilon(delta=1e-6)
    True
    """

    rate: float = field(metadata=between(0, 1))
    parts: int = field(metadata=whole(1, MOST_PARTS))
    title: ClassVar[str] = "cyclic Poisson"
    why: ClassVar[str] = "coins within one part of the records at a time, so that noise may be correlated: {exact}"
    quick: ClassVar[bool] = True
    theorem: ClassVar[str] = (
        "a record is touched once per cycle, by one coin, and the noise of its cycles does not overlap: "
        "Choquette-Choo, Ganesh, McKenna, McMahan, Rush, Thakurta, Xu 2023, Thm 4 (proof in "
        "docs/theory/correlated-noise.md)"
    )

    @property
    def steps(self) -> int:  # type: ignore[override]
        """Steps of one cycle."""
        return self.parts

    @property
    def bands(self) -> int:
        return self.parts

    @property
    def step_share(self) -> float:
        return self.rate / self.parts

    def training_steps(self, *, examples: int, batch_size: int, epochs: float) -> int:
        return math.ceil(epochs * examples / batch_size)

    @classmethod
    def for_bands(cls, bands: int, *, examples: int, batch_size: int, epochs: float) -> CyclicPoisson:
        if bands * batch_size > examples:
            rule = f"batches of at most examples / {bands} = {examples // bands} for noise of {bands} bands"
            raise InvalidParameter("train_plan", rule, batch_size=batch_size)
        return cls(rate=bands * batch_size / examples, parts=bands)

    def account(self, mechanism: Mechanism) -> Mechanism:
        return mechanism.on(Poisson(rate=self.rate))

    def draw(self, population: int, source: Source | None = None) -> list[np.ndarray]:
        """The batches of one cycle, with parts drawn for it. A training keeps its parts: see `course`.

        >>> [batch.tolist() for batch in CyclicPoisson(rate=1.0, parts=1).draw(3)]
        [[0, 1, 2]]
        """
        population = count("CyclicPoisson.draw", 0, population=population)
        bits = source_or_secure(source)
        return self._cycle(self._members(population, bits), bits)

    def course(self, population: int, source: Source) -> Iterator[list[np.ndarray]]:
        members = self._members(population, source)
        while True:
            yield self.checked(self._cycle(members, source), population)

    def _members(self, population: int, source: Source) -> list[np.ndarray]:
        """The records of each part."""
        part = drawn_parts(source, self.parts, population)
        return [np.flatnonzero(part == each) for each in range(self.parts)]

    def _cycle(self, members: list[np.ndarray], source: Source) -> list[np.ndarray]:
        coins = Poisson(rate=self.rate)
        return [own[coins.draw(len(own), source)] for own in members]

    def __str__(self) -> str:
        return f"cyclic Poisson sampling at rate {self.rate:g} in {self.parts} parts"
