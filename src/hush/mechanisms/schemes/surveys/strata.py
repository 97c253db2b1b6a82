"""Strata of public sizes with samples of fixed sizes, and every k-th record of a public order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from hush.checks import count
from hush.curves.relation import Relation
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.evidence import Evidence
from hush.mechanisms.fields import whole
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.neighbours import Counts, Neighbours, exactly
from hush.mechanisms.schemes.fixed_size import WithoutReplacement
from hush.mechanisms.schemes.one_sample import DATA_INDEPENDENT, OneSample
from hush.mechanisms.schemes.poisson import Poisson
from hush.mechanisms.schemes.surveys.clusters import checked_sizes
from hush.numerics.rounding import UNIT
from hush.randomness.draws import integers, subset
from hush.randomness.source import Source, source_or_secure

FROM_DATA = (
    "sizes that follow the data: where a private number of records decides how many are drawn, one record can move the "
    "size for sure, and all of the loss is kept (proportional allocation, rounded); from private spreads it moves the "
    "sizes of all strata at once, and privacy can be worse than without a sample (Bun, Drechsler, Gaboardi, McMillan, "
    "Sarathy 2022). Give public sizes, or draw by hush.UnequalPoisson with a rate per stratum"
)


@dataclass(frozen=True, init=False)
class Stratified(OneSample):
    """sizes[h] different records of the populations[h] of stratum h, and nobody learns which; replaced records only.

    A record that is replaced stays in its stratum. Records come in the order of the strata.

    >>> from hush import Gaussian, Relation, WithoutReplacement
    >>> scheme = Stratified(sizes=[10, 40], populations=[1000, 500])
    >>> step = Gaussian(2.0).under(Relation.REPLACE)
    >>> step.on(scheme).epsilon(delta=1e-6) == step.on(WithoutReplacement(40, 500)).epsilon(delta=1e-6)
    True
    >>> Stratified(sizes="neyman", populations=[1000, 500])
    Traceback (most recent call last):
    hush.errors.NotCovered: sizes that follow the data: ...
    """

    sizes: tuple[int, ...]
    populations: tuple[int, ...]
    by_place = True
    covers: ClassVar[Relation] = Relation.REPLACE

    def __init__(self, sizes: Sequence[int] | str, populations: Sequence[int]) -> None:
        if sizes in ("proportional", "neyman"):
            raise NotCovered(FROM_DATA)
        object.__setattr__(self, "sizes", checked_sizes("Stratified", "sizes", sizes, 0))
        object.__setattr__(self, "populations", checked_sizes("Stratified", "populations", populations, 1))
        if len(self.sizes) != len(self.populations):
            raise InvalidParameter("Stratified", "a size per stratum", sizes=len(self.sizes))
        for size, population in zip(self.sizes, self.populations, strict=True):
            if size > population:
                raise InvalidParameter("Stratified", f"size <= population of the stratum ({population})", size=size)
        object.__setattr__(self, "population", sum(self.populations))

    @property
    def drawn(self) -> int | None:
        return sum(self.sizes)

    def survey(self, between: float) -> tuple[float, float]:
        """n sum of W^2/m over the strata, of the variance within them: 1 - between for proportional sizes."""
        if not all(self.sizes):
            raise NotCovered(f"the design effect of {self}: a stratum is not drawn at all")
        total, taken = sum(self.populations), sum(self.sizes)
        spread = sum((n / total) ** 2 / m for m, n in zip(self.sizes, self.populations, strict=True))
        return taken / total, taken * spread * (1 - between)

    @property
    def worst(self) -> WithoutReplacement:
        """The stratum of which the largest share is drawn, by itself."""
        shares = [size / population for size, population in zip(self.sizes, self.populations, strict=True)]
        place = int(np.argmax(shares))
        return WithoutReplacement(self.sizes[place], self.populations[place])

    @property
    def most_drawn(self) -> int:
        shares = [size / population for size, population in zip(self.sizes, self.populations, strict=True)]
        return int(sum(self.populations[: int(np.argmax(shares))]))

    def draw(self, population: int, source: Source | None = None) -> np.ndarray:
        """Indices of the sample, increasing."""
        if count("Stratified.draw", 0, population=population) != sum(self.populations):
            rule = f"the records of the strata ({sum(self.populations)})"
            raise InvalidParameter("Stratified.draw", rule, population=population)
        bits, start, parts = source_or_secure(source), 0, []
        for size, records in zip(self.sizes, self.populations, strict=True):
            parts.append(start + subset(bits, records, size))
            start += records
        return np.concatenate(parts)

    def evidence(self, inner: Mechanism, neighbours: Neighbours) -> Evidence:
        if neighbours.settled not in ((0, 0), (1, 1)):
            raise NotCovered(
                f"{self}: covered for one record replaced by another of its stratum. A record more or less changes a "
                f"stratum's population: {FROM_DATA}"
            )
        return self.worst.evidence(inner, neighbours)

    def listed(self, records: int, least: float) -> tuple[Counts, float]:
        if records > 1:
            raise NotCovered(f"{self}: several records may be in several strata")
        return self.worst.listed(records, least)

    def theorem(self, relation: Relation) -> tuple[str, str]:
        text, assumes = self.worst.theorem(relation)
        return (
            f"given the samples of the other strata, which are independent: the stratum with the largest share; {text}",
            f"{assumes}; strata and their sizes are public, and a replaced record stays in its stratum",
        )

    def __str__(self) -> str:
        return f"{sum(self.sizes)} of {sum(self.populations)} records in {len(self.sizes)} strata"


@dataclass(frozen=True)
class Systematic(OneSample):
    """Every `step`-th record of a public order, from a random start: one of `step` samples that everybody can list.

    Nothing is gained in epsilon, delta becomes a share of 1/step; replaced records only, as one more shifts all places.

    >>> from hush import Gaussian, Relation
    >>> Gaussian(1.0, Relation.REPLACE).on(Systematic(step=100, population=10_000)).delta(epsilon=1.0).upper
    0.00126936...
    """

    step: int = field(metadata=whole(1))
    population: int = field(metadata=whole(1))  # pyright: ignore[reportIncompatibleVariableOverride]
    by_place = True
    covers: ClassVar[Relation] = Relation.REPLACE

    def survey(self, between: float) -> tuple[float, float]:
        """As a simple random sample, which it is where the order has nothing to do with the values."""
        return 1 / self.step, 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.step > self.population:
            raise InvalidParameter("Systematic", f"step <= population ({self.population})", step=self.step)

    @property
    def drawn(self) -> int | None:
        return self.population // self.step if self.population % self.step == 0 else None

    def draw(self, population: int, source: Source | None = None) -> np.ndarray:
        """Indices of the sample, increasing."""
        if count("Systematic.draw", 0, population=population) != self.population:
            rule = f"the population that is accounted for ({self.population})"
            raise InvalidParameter("Systematic.draw", rule, population=population)
        start = int(integers(source_or_secure(source), self.step, 1)[0])
        return np.arange(start, population, self.step)

    def evidence(self, inner: Mechanism, neighbours: Neighbours) -> Evidence:
        if neighbours.settled not in ((0, 0), (1, 1)):
            raise NotCovered(
                f"{self}: covered for one replaced record. One more or less shifts the places of all behind it, and "
                "with them who is drawn. Nearest: hush.Poisson"
            )
        rate = 1 / self.step
        plain = Poisson(rate=rate).evidence(inner, neighbours)
        if neighbours.nobody or self.step == 1:
            return plain
        above = rate * (1 + 4 * UNIT)  # the quotient is off by half of 2^-52 of itself
        return Evidence.blend([(inner.evidence(neighbours), above)]).attained_by(plain.attained)

    def listed(self, records: int, least: float) -> tuple[Counts, float]:
        if records > 1:
            raise NotCovered(f"{self}: several records may be in one sample")
        return (1 - 1 / self.step, 1 / self.step) if records else exactly(0), 0.0

    def theorem(self, relation: Relation) -> tuple[str, str]:
        return (
            "one of `step` disjoint samples, as if it were known which: delta' = delta/step (joint convexity)"
        ), f"one record is replaced in its place, the order and the number of records are public; {DATA_INDEPENDENT}"

    def __str__(self) -> str:
        return f"every {self.step}th of {self.population} records, from a random start"
