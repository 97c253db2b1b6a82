"""Poisson sampling: a coin of its own for every record."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from hush.checks import count
from hush.curves.relation import Relation
from hush.errors import NotCovered
from hush.mechanisms.evidence import Evidence
from hush.mechanisms.fields import between
from hush.mechanisms.mechanism import Mechanism, require
from hush.mechanisms.neighbours import NONE, Counts, Neighbours, exactly
from hush.mechanisms.schemes.one_sample import PUBLIC_RATE, OneSample
from hush.mechanisms.schemes.thinning import MOST_SAMPLED, TINY, binomial
from hush.randomness.draws import successes
from hush.randomness.source import Source, source_or_secure


@dataclass(frozen=True)
class Poisson(OneSample):
    """Each record takes part with probability `rate`, independently, and nobody learns which.

    >>> from hush import Gaussian, SeededSource
    >>> Gaussian(1.0).on(Poisson(rate=1.0)) == Gaussian(1.0)
    True
    >>> Poisson(rate=1e-8).draw(10**9, SeededSource(4))[:3]
    array([22207107, 29532204, 62902030])
    """

    rate: float = field(metadata=between(0, 1))
    title: ClassVar[str] = "Poisson"
    why: ClassVar[str] = "each record joins each step by its own secret coin: {exact}, and what most accountants report"
    quick: ClassVar[bool] = True
    streams = True

    @property
    def drawn(self) -> int | None:
        return 0 if self.rate == 0 else None

    @property
    def expected_rate(self) -> float | None:
        return self.rate

    @classmethod
    def for_training(cls, *, examples: int, batch_size: int, epochs: float) -> Poisson:
        return cls(rate=batch_size / examples)

    def applied(self, mechanism: Mechanism) -> Mechanism:
        return require("Poisson", mechanism) if self.rate == 1 else super().applied(mechanism)

    def draw(self, population: int, source: Source | None = None) -> np.ndarray:
        """Indices of the sample, increasing; the law is exact, time and memory are those of the sample."""
        population = count("Poisson.draw", 0, population=population)
        if self.rate == 1:
            return np.arange(population)
        return successes(source_or_secure(source), population, self.rate)

    def evidence(self, inner: Mechanism, neighbours: Neighbours) -> Evidence:
        """More mass under P, or less under Q, reveals more: chances too small for floats are rounded that way."""
        above = neighbours.thin(self._thin_above, self.thin)
        below = neighbours.thin(self.thin, self._thin_above)
        return (
            inner.evidence(above)
            if above == below
            else inner.evidence(above).attained_by(inner.evidence(below).attained)
        )

    def listed(self, records: int, least: float) -> tuple[Counts, float]:
        return self._thin_above(exactly(records)), 0.0

    def thin(self, counts: Counts) -> Counts:
        """How many of the records take part after the sample is drawn: binomial thinning, rounded down."""
        if len(counts) > MOST_SAMPLED + 1:
            raise NotCovered(
                f"a sampled group of more than {MOST_SAMPLED} records: state the guarantee of the group instead"
            )
        if len(counts) <= 2:  # nobody, or one record: what most questions are about
            absent, present, *_ = (*counts, 0.0)
            drawn = present * self.rate
            left = absent + present * (1 - self.rate)
            return (left, drawn) if drawn else (left,)
        kept = np.zeros(len(counts))
        for total, weight in enumerate(counts):
            if weight > 0:
                part = weight * binomial(total, self.rate)
                kept[: total + 1] += np.where(part > TINY, part, 0.0) if total > 1 else part
        return tuple(np.trim_zeros(kept, "b").tolist()) or NONE

    def _thin_above(self, counts: Counts) -> Counts:
        """The same, rounded up: what was left out is at most TINY for each number of records there are."""
        kept = self.thin(counts)
        if len(counts) <= 2 or not 0 < self.rate < 1:
            return kept
        return tuple(chance + len(counts) * TINY for chance in kept + (0.0,) * (len(counts) - len(kept)))

    def theorem(self, relation: Relation) -> tuple[str, str]:
        text = "Zhu, Dong, Wang 2022, Thm 11: remove ((1-q)Q + qP, Q), add (P, (1-q)P + qQ), each composed on its own"
        assumes = f"each record is drawn independently of all else, and the sample stays secret; {PUBLIC_RATE}"
        if relation is Relation.REPLACE:
            text = "each record taken with probability q on either side; joint convexity of the hockey stick"
            assumes = "each record is drawn independently of all else, and the sample stays secret"
        return text, assumes

    def __str__(self) -> str:
        return f"Poisson sampling at rate {self.rate:g}"
