"""Poisson sampling into batches of bounded size: memory is fixed, and a full batch drops records at random."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from hush.checks import count
from hush.curves.interval import Interval
from hush.curves.pairs.pair import Pair
from hush.curves.pairs.pointwise import Largest
from hush.curves.pairs.public_choice import Blend
from hush.curves.relation import Relation
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.evidence import IDENTITY, Evidence
from hush.mechanisms.fields import between, whole
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.neighbours import ADDED, REMOVED, REPLACED, Counts, Neighbours, exactly
from hush.mechanisms.schemes.one_sample import DATA_INDEPENDENT, OneSample
from hush.mechanisms.schemes.poisson import Poisson
from hush.mechanisms.schemes.thinning import FAINT
from hush.numerics.rounding import UNIT
from hush.numerics.special.binomial_tails import tail_bounds
from hush.randomness.draws import subset
from hush.randomness.source import Source, source_or_secure

MOST_RECORDS = 10**9
"""Up to here the sum of a binomial tail takes milliseconds."""
ROOM = 5
"""Deviations above its mean at which a batch for training is cut: so few are, that it costs nothing."""
NUMBERS = (-4, -2, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3, 4, 6)
"""Numbers of records at which a batch of any of them is looked at: how far the mean batch is above the cap, in roots of
the cap. Any list is valid."""


@dataclass(frozen=True)
class CappedPoisson(OneSample):
    """Each record is drawn with probability `rate`; of more than `cap` drawn, a uniform subset of `cap` is kept.

    A full batch is not a Poisson sample: the record then takes the place of another one, at twice the distance. The
    number of records counts, `population` in the dataset that has the record. Without it the answer holds for all.

    >>> from hush import Gaussian, Poisson
    >>> Gaussian(1.0).on(CappedPoisson(rate=0.1, cap=12, population=100)).delta(epsilon=0.5).upper
    0.0086693...
    >>> Gaussian(1.0).on(Poisson(rate=0.1)).delta(epsilon=0.5).upper
    0.0020325...
    """

    rate: float = field(metadata=between(0, 1))
    cap: int = field(metadata=whole(0))
    population: int | None = None
    title: ClassVar[str] = "Poisson, capped"
    listed_exactly: ClassVar[bool] = False
    why: ClassVar[str] = "Poisson batches of bounded size: in a full one a record displaces another, which is charged"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.population is not None and count("CappedPoisson", 1, population=self.population) > MOST_RECORDS:
            raise InvalidParameter("CappedPoisson", f"population <= {MOST_RECORDS}", population=self.population)

    @classmethod
    def for_training(cls, *, examples: int, batch_size: int, epochs: float) -> CappedPoisson:
        rate = batch_size / examples
        cap = math.ceil(batch_size + ROOM * math.sqrt(batch_size * (1 - rate)))
        return cls(rate=rate, cap=min(cap, examples), population=examples)

    def survey(self, between: float) -> tuple[float, float]:
        return self.kept, 1.0

    @property
    def drawn(self) -> int | None:
        return 0 if self.rate == 0 or self.cap == 0 else None

    def draw(self, population: int, source: Source | None = None) -> np.ndarray:
        """Indices of the sample, increasing."""
        population = count("CappedPoisson.draw", 0, population=population)
        if self.population not in (None, population):
            rule = f"the population that is accounted for ({self.population})"
            raise InvalidParameter("CappedPoisson.draw", rule, population=population)
        bits = source_or_secure(source)
        found = Poisson(rate=self.rate).draw(population, bits)
        return found if len(found) <= self.cap else found[subset(bits, len(found), self.cap)]

    @property
    def full(self) -> tuple[Interval, Interval]:
        """Bounds on the chance that the others fill the batch, and on that of the record to be in it as well.

        With J ~ Bin(n-1, q) others drawn it is kept with chance q cap/(J+1), and E[1/(J+1); J >= cap] is
        P(Bin(n, q) > cap)/(n q).
        """
        if self.population is None:
            return (0.0, 1.0), (0.0, self._most)
        return self._full_of(self.population)

    def _full_of(self, population: int) -> tuple[Interval, Interval]:
        """The same of so many records."""
        low, high = tail_bounds(population, self.rate, self.cap + 1)
        share = self.cap / population
        room = 4 * UNIT
        return tail_bounds(population - 1, self.rate, self.cap), (low * share * (1 - room), high * share * (1 + room))

    def _chance(self, population: int) -> float:
        """How likely the record is in the batch if the others fill it, from above: it falls in their number."""
        (least, _), (_, both) = self._full_of(population)
        return min(both / least * (1 + 4 * UNIT), self._most) if least > FAINT else self._most

    @property
    def _most(self) -> float:
        """The largest chance of the record to be in a batch that the others fill."""
        return self.rate * self.cap / (self.cap + 1)

    @property
    def kept(self) -> float:
        """The chance of one record to be in the batch, from below, for some number of records."""
        if self.population is None:
            return self.rate
        filled, both = self.full
        return min(max(self.rate * (1 - filled[1]) + both[0], 0.0) * (1 - 8 * UNIT), self.rate)

    def evidence(self, inner: Mechanism, neighbours: Neighbours) -> Evidence:
        if neighbours.nobody or self.drawn == 0:
            return Evidence(lambda: IDENTITY)
        found = neighbours.settled
        if found is None or max(found) > 1:
            raise NotCovered(
                f"{self}: what is known is for one record that is in the data for sure; several records displace "
                "several others. Nearest: hush.Poisson, which covers groups and nested samples"
            )
        free = Poisson(rate=self.rate).evidence(inner, neighbours)
        if self.population is not None and self.population <= self.cap:
            return free
        return Evidence(
            lambda: self._pair(free.pair, inner, neighbours),
            attained=Poisson(rate=self.kept).evidence(inner, neighbours).attained,
        )

    def _pair(self, free: Pair, inner: Mechanism, neighbours: Neighbours) -> Pair:
        """The cap others that are kept are a uniform subset, however many were drawn: one chance stands for all."""
        if self.population is None:
            return self._any_number(free, inner, neighbours)
        (least, filled), _ = self.full
        displaced = _displacing(inner, neighbours, self._chance(self.population))
        return Blend.of([(free, 1 - least), (displaced, max(filled, FAINT))])

    @cached_property
    def _cases(self) -> tuple[list[float], list[float]]:
        """Chances of the record to be in a full batch, and of the batch to be full, between numbers of records.

        With more records a full batch is likelier, and one record less likely to be in it: the chance of one number
        and the fullness of the next hold between them.
        """
        spread = math.sqrt(self.cap + 1)
        means = (self.cap + steps * spread for steps in NUMBERS)
        numbers = sorted({max(math.ceil(min(mean / self.rate, MOST_RECORDS)), self.cap + 1) for mean in means})
        chances = [self._most, *(self._chance(number) for number in numbers)]
        return chances, [*(max(self._full_of(number)[0][1], FAINT) for number in numbers), 1.0]

    def _any_number(self, free: Pair, inner: Mechanism, neighbours: Neighbours) -> Pair:
        """The largest over all numbers of records."""
        displaced = (_displacing(inner, neighbours, chance) for chance in self._cases[0])
        blends = (Blend.of([(free, 1 - w), (pair, w)]) for pair, w in zip(displaced, self._cases[1], strict=True))
        return Largest.of((free, *blends))

    def listed(self, records: int, least: float) -> tuple[Counts, float]:
        if records > 1:
            raise NotCovered(f"{self}: several records displace several others")
        return (1 - self.kept, self.rate) if records else exactly(0), 0.0

    def theorem(self, relation: Relation) -> tuple[str, str]:
        return (
            "joint convexity over whether the others fill the batch: while they do not, Poisson sampling; else the "
            "record takes the place of another one, a replacement that is drawn with its own chance; proof in "
            "docs/theory/sampling.md"
        ), (
            f"the sample stays secret; {DATA_INDEPENDENT}; "
            + (
                "the number of records may be any, and need not be known"
                if self.population is None
                else f"the number of records is public: {self.population} with the record"
            )
            + (", and a removed record leaves its place to others" if relation is Relation.ADD_REMOVE else "")
        )

    def __str__(self) -> str:
        of = "" if self.population is None else f" of {self.population} records"
        return f"Poisson sampling at rate {self.rate:g}{of}, at most {self.cap} at a time"


def _displacing(inner: Mechanism, neighbours: Neighbours, kept: float) -> Pair:
    """R against R with one record exchanged, the exchange made with this chance; blank records are exchanged too."""
    exchanged = inner.evidence(REPLACED).pair
    if neighbours.settled == (1, 1):
        return exchanged.mix_both(kept)
    if neighbours.in_place:
        others = (inner.evidence(way).pair for way in (REMOVED, ADDED))
        return Largest.of((exchanged, *others)).mix_both(kept)
    return exchanged.mix(kept) if neighbours.settled == (1, 0) else exchanged.swap().mix(kept).swap()
