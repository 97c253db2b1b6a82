"""Clusters that are drawn as a whole, and two stages: clusters first, then records of those."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from hush.checks import count, number
from hush.curves.pairs.pair import Pair
from hush.curves.pairs.public_choice import Blend
from hush.curves.relation import Relation
from hush.curves.theorems.companions import ClusterPair
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.evidence import IDENTITY, Evidence
from hush.mechanisms.fields import between
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.neighbours import ADDED, REMOVED, Counts, Neighbours, exactly
from hush.mechanisms.schemes.one_sample import DATA_INDEPENDENT, OneSample
from hush.mechanisms.schemes.poisson import Poisson
from hush.numerics.rounding import UNIT
from hush.randomness.draws import tosses
from hush.randomness.source import Source, source_or_secure

MEMBERSHIP = "which cluster a record is in is public and fixed, and so are the clusters, an empty one included"

LARGEST = 10_000
"""Companions up to which their own pair is asked for: lists of counts take memory for each of them."""


def checked_sizes(who: str, name: str, sizes: object, least: int) -> tuple[int, ...]:
    """Whole numbers, one per part of the population."""
    if isinstance(sizes, str | bytes) or not isinstance(sizes, Sequence) or not len(sizes):
        raise InvalidParameter(who, f"a list of {name}", **{name: sizes})
    return tuple(count(who, least, **{name: size}) for size in sizes)


class DrawnTogether(OneSample):
    """Records in clusters, in the order of the clusters: the first sizes[0] places are the first cluster, and so on."""

    sizes: tuple[int, ...]
    rate: float
    by_place = True
    design: ClassVar[str] = "clusters"

    def __init__(self, rate: float, sizes: Sequence[int]) -> None:
        who = type(self).__name__
        object.__setattr__(self, "rate", number(who, "0 <= rate <= 1", 0.0, 1.0, rate=rate))
        object.__setattr__(self, "sizes", checked_sizes(who, "sizes", sizes, 1))
        object.__setattr__(self, "places", sum(self.sizes))

    @property
    def drawn(self) -> int | None:
        return 0 if self.rate == 0 else None

    def _members(self, population: int, source: Source) -> np.ndarray:
        """The records of the clusters that were drawn, increasing."""
        who = f"{type(self).__name__}.draw"
        if count(who, 0, population=population) != sum(self.sizes):
            raise InvalidParameter(who, f"the records of the clusters ({sum(self.sizes)})", population=population)
        taken = tosses(source, len(self.sizes), self.rate).astype(bool)
        return np.flatnonzero(np.repeat(taken, self.sizes))

    @property
    def _others(self) -> float:
        """How many others are in the cluster of a record, on average over the records."""
        return sum(size * size for size in self.sizes) / sum(self.sizes) - 1

    def listed(self, records: int, least: float) -> tuple[Counts, float]:
        if records > 1:
            raise NotCovered(f"{self}: several records may be in one cluster")
        return (1 - self.rate, self.rate) if records else exactly(0), 0.0

    def _one(self, neighbours: Neighbours) -> None:
        found = neighbours.settled
        if found is None or max(found) > 1 or neighbours.in_place:
            raise NotCovered(f"{self}: what is known is for one record that is added, removed or replaced for sure")


@dataclass(frozen=True, init=False)
class Clusters(DrawnTogether):
    """Each cluster is drawn as a whole with probability `rate`, by a coin of its own, and nobody learns which.

    Members come together, so the companions of a record tell of it: amplification dies with the size of the clusters.

    >>> from hush import PureDP
    >>> [round(PureDP(1.0).on(Clusters(0.1, [s])).epsilon(delta=0).upper, 3) for s in (1, 2, 6, 50)]
    [0.159, 0.335, 0.963, 1.0]
    """

    rate: float = field(metadata=between(0, 1))
    sizes: tuple[int, ...]

    def draw(self, population: int, source: Source | None = None) -> np.ndarray:
        """Indices of the sample, increasing."""
        return self._members(population, source_or_secure(source))

    def survey(self, between: float) -> tuple[float, float]:
        """1 + (m - 1) rho: members of a cluster are alike (Kish 1965)."""
        return self.rate, 1 + self._others * between

    @property
    def companions(self) -> int:
        """The most others in the cluster of a record."""
        return max(self.sizes) - 1

    def evidence(self, inner: Mechanism, neighbours: Neighbours) -> Evidence:
        plain = Poisson(rate=self.rate).evidence(inner, neighbours)
        if self.companions == 0 or neighbours.nobody:  # a cluster of one record is that record
            return plain
        self._one(neighbours)
        if self.rate == 0:
            return Evidence(lambda: IDENTITY)
        # others may add nothing: then one record is drawn by one coin
        if neighbours.settled == (1, 1):
            known = Evidence.blend([(inner.evidence(neighbours), self.rate)])
            return known.attained_by(plain.attained)
        return Evidence(lambda: self._pair(inner, neighbours.settled == (0, 1)), attained=plain.attained)

    def _pair(self, inner: Mechanism, comes: bool) -> Pair:
        """With the record all s + 1 of a cluster come; without it, the s companions."""
        if self.companions >= LARGEST:  # nothing is gained from the companions then
            return Blend.of([(inner.evidence(ADDED if comes else REMOVED).pair, self.rate)])
        whole = inner.evidence(Neighbours.of(removed=self.companions + 1))
        others = inner.evidence(Neighbours.of(removed=self.companions))
        try:
            far, far_back = whole.pair, others.pair
        except NotCovered:  # no pair of so many records: what holds if the coin were known
            return Blend.of([(inner.evidence(ADDED if comes else REMOVED).pair, self.rate)])
        found = ClusterPair(
            inner.evidence(REMOVED).pair, far, inner.evidence(ADDED).pair, far_back, self.rate, self.companions
        )
        return found.swap() if comes else found

    def theorem(self, relation: Relation) -> tuple[str, str]:
        return (
            "advanced joint convexity with the companions of the record on both sides (Balle, Barthe, Gaboardi 2018, "
            "Thm 2), or as if the cluster's coin were known; bounded losses exactly: proof in docs/theory/surveys.md"
        ), f"{MEMBERSHIP}; the sample stays secret; {DATA_INDEPENDENT}"

    def __str__(self) -> str:
        return f"{len(self.sizes)} clusters of up to {max(self.sizes)} records, each drawn at rate {self.rate:g}"


@dataclass(frozen=True, init=False)
class TwoStage(DrawnTogether):
    """Clusters are drawn with probability `rate`, then each record of those with probability `inside`, by its own coin.

    >>> from hush import PureDP
    >>> PureDP(1.0).on(TwoStage(0.1, [30, 30], inside=0.1)).delta(epsilon=0.1).upper
    0.00179...
    """

    rate: float = field(metadata=between(0, 1))
    sizes: tuple[int, ...]
    inside: float = field(metadata=between(0, 1))
    design: ClassVar[str] = "two stages"

    def __init__(self, rate: float, sizes: Sequence[int], inside: float) -> None:
        super().__init__(rate, sizes)
        object.__setattr__(self, "inside", number("TwoStage", "0 <= inside <= 1", 0.0, 1.0, inside=inside))

    @property
    def drawn(self) -> int | None:
        return 0 if self.rate == 0 or self.inside == 0 else None

    def survey(self, between: float) -> tuple[float, float]:
        return self.rate * self.inside, 1 + self._others * self.inside * between

    def draw(self, population: int, source: Source | None = None) -> np.ndarray:
        """Indices of the sample, increasing."""
        bits = source_or_secure(source)
        members = self._members(population, bits)
        return members[Poisson(rate=self.inside).draw(len(members), bits)]

    def evidence(self, inner: Mechanism, neighbours: Neighbours) -> Evidence:
        own = Poisson(rate=self.inside).evidence(inner, neighbours)
        if neighbours.nobody:
            return own
        self._one(neighbours)
        plain = Poisson(rate=self.rate * self.inside).evidence(inner, neighbours)
        if max(self.sizes) == 1:
            return Poisson(rate=self._chance).evidence(inner, neighbours)
        return Evidence.blend([(own, self.rate)]).attained_by(plain.attained)

    def listed(self, records: int, least: float) -> tuple[Counts, float]:
        if records > 1:
            raise NotCovered(f"{self}: several records may be in one cluster")
        return (1 - self.rate * self.inside, self._chance) if records else exactly(0), 0.0

    @property
    def _chance(self) -> float:
        """The chance of a record, rounded up: a product of two numbers is off by half of 2^-52 of itself."""
        return min(self.rate * self.inside * (1 + 4 * UNIT), 1.0)

    def theorem(self, relation: Relation) -> tuple[str, str]:
        return (
            "as if the cluster's coin were known: delta' = q delta of a Poisson sample of its records (joint "
            "convexity); proof in docs/theory/surveys.md"
        ), f"{MEMBERSHIP}; the sample stays secret; {DATA_INDEPENDENT}"

    def __str__(self) -> str:
        return (
            f"two stages: {len(self.sizes)} clusters of up to {max(self.sizes)} records at rate {self.rate:g}, then "
            f"records at rate {self.inside:g}"
        )
