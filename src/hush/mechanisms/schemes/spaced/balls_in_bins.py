"""Balls in bins: every record has one place in the epoch, the same in all epochs."""

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
class BallsInBins(SpacedScheme):
    """`epochs` epochs of `bins` steps; each record is in one random step, the same in all epochs. It makes all epochs.

    Easy to run: the data are put in order once. With noise of up to `bands` bands it is bounded by comparison. Which
    of the bins modulo `bands` a record is in is taken as known, and what is left is an allocation to bins/bands steps.
    With one band that is exact. Fresh places (hush.CyclicAllocation) are better.

    >>> from hush import Gaussian
    >>> Gaussian(2.0).on(BallsInBins(bins=64, epochs=4, bands=4)).epsilon(delta=1e-6).upper
    2.2255...
    """

    bins: int = field(metadata=whole(1, MOST_STEPS))
    epochs: int = field(metadata=whole(1, MOST_STEPS))
    bands: int = field(default=1, metadata=whole(1))  # type: ignore[assignment]
    title: ClassVar[str] = "balls in bins"
    why: ClassVar[str] = "one secret step, the same in all epochs, so that noise may be correlated: {exact}"
    theorem: ClassVar[str] = (
        "joint convexity over the bins modulo the bands, within which the uses of two bins have no row in common: "
        "the comparison of docs/theory/correlated-noise.md, after Choquette-Choo, Ganesh, Haque, Steinke, Thakurta 2025"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bins % self.bands:
            raise InvalidParameter("BallsInBins", "bands that divide the bins", bands=self.bands, bins=self.bins)

    @property
    def steps(self) -> int:  # type: ignore[override]
        """Steps of all epochs."""
        return self.bins * self.epochs

    @property
    def step_share(self) -> float:
        return 1 / self.bins

    def training_steps(self, *, examples: int, batch_size: int, epochs: float) -> int:
        return self.steps if epochs else 0

    @classmethod
    def for_bands(cls, bands: int, *, examples: int, batch_size: int, epochs: float) -> BallsInBins:
        bins = steps_per_epoch(cls.__name__, examples, batch_size, epochs)
        if bins % bands:
            raise InvalidParameter("train_plan", f"bands that divide the {bins} steps of an epoch", bands=bands)
        return cls(bins=bins, epochs=max(round(epochs), 1), bands=bands)

    def account(self, mechanism: Mechanism) -> Mechanism:
        return mechanism.repeat(self.epochs).on(Allocation(steps=self.bins // self.bands))

    def shown(self, mechanism: Mechanism) -> Mechanism:
        """With independent noise, and nothing known of a record's bin."""
        return mechanism.repeat(self.epochs).on(Allocation(steps=self.bins))

    def draw(self, population: int, source: Source | None = None) -> list[np.ndarray]:
        """The batches of all epochs.

        >>> batches = BallsInBins(bins=2, epochs=2).draw(5)
        >>> all((batches[k] == batches[k + 2]).all() for k in range(2))
        True
        """
        population = count("BallsInBins.draw", 0, population=population)
        bits = source_or_secure(source)
        return self._epochs(drawn_parts(bits, self.bands, population), bits)

    def course(self, population: int, source: Source) -> Iterator[list[np.ndarray]]:
        """Other bins in every draw, but the same ones modulo the bands: uses stay apart from draw to draw too."""
        part = drawn_parts(source, self.bands, population)
        while True:
            yield self.checked(self._epochs(part, source), population)

    def _epochs(self, part: Array, source: Source) -> list[np.ndarray]:
        cycle = integers(source, self.bins // self.bands, len(part))
        return by_place(cycle * self.bands + part, self.bins) * self.epochs

    def __str__(self) -> str:
        return f"one of {self.bins} bins, the same in {self.epochs} epochs, bands up to {self.bands}"
