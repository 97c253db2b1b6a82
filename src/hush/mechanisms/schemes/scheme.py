"""Sampling schemes: each is a value that draws and that knows its theorem."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hush.arrays import Array
from hush.checks import count, number
from hush.curves.pairs.pair import Pair
from hush.curves.relation import Relation
from hush.curves.renyi.curve import RenyiCurve
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.mechanism import NONE, Counts, Mechanism, Step, columns, exactly, require, require_child
from hush.randomness.draws import coins, successes
from hush.randomness.source import Source, source_or_secure

DATA_INDEPENDENT = "the scheme and its parameters do not depend on the data, and each step draws a fresh sample"

PUBLIC_RATE = "the rate does not come from a private count of the data"
"""Adding or removing a record changes that count, and with it a rate made of a batch size."""

MOST_SAMPLED = 200
"""Records of a group that is sampled one by one."""
FEW_RECORDS = 10
"""What a simulation draws from, where any number of records will do."""
NEGLIGIBLE = 1e-30
"""Numbers of copies less likely than this may be counted as a certain loss."""
FAINT = 1e-300
"""Below it a listed probability may have been rounded up; lists that may be cut go no further down."""
TINY = 2.3e-308
"""Below it floats lose digits, then vanish: such a probability is this much in upper bounds, and 0 in lower ones."""


def binomial(trials: int, rate: float) -> Array:
    """Probabilities of 0, 1, ..., trials: from the most likely one outwards, so that none vanishes on the way.

    >>> binomial(2, 0.25).tolist()
    [0.5625, 0.375, 0.0625]
    """
    k = np.arange(trials + 1)
    if trials < 2 or rate in (0, 1):
        return np.where(k == 0, 1 - rate, rate) if trials else np.ones(1)
    top = min(int((trials + 1) * rate), trials)
    odds = rate / (1 - rate)
    steps = (trials - k[:-1]) / (k[:-1] + 1.0)
    most = math.comb(trials, top) * rate**top * (1 - rate) ** (trials - top)
    below = np.cumprod(1 / (steps[:top][::-1] * odds))[::-1]
    return most * np.concatenate([below, [1.0], np.cumprod(steps[top:] * odds)])


def raised(weights: Array) -> Array:
    """Upper bounds on probabilities that are all positive, though floats may not hold them."""
    return np.maximum(weights, TINY)


def surely(weights: Counts) -> Counts:
    """Lower bounds on them, without those that floats do not hold."""
    return tuple(weight if weight > FAINT else 0.0 for weight in weights)


class Scheme(ABC):
    """A way to draw a random sample, or the batches of an epoch."""

    population: int | None = None
    """How many records it is accounted for; None where any number will do."""
    steps: int = 1
    """Steps that one draw makes: 1, or those of an epoch."""

    @property
    def one_sample(self) -> bool:
        """Whether it draws one sample for one mechanism, and not the batches of an epoch."""
        return False

    @property
    def by_place(self) -> bool:
        """Whether the chance of a record depends on its place, so that one that is added before it changes it."""
        return False

    @property
    def places(self) -> int | None:
        """How many places there are, where the chance of a record depends on its place."""
        return None

    @property
    def expected_rate(self) -> float | None:
        """The expected share of the records in one sample; None where it is not the same for every record."""
        return None

    @property
    def streams(self) -> bool:
        """Whether a record's coin does not depend on how many records there are: then they can be drawn in a stream."""
        return False

    @abstractmethod
    def applied(self, mechanism: Mechanism) -> Mechanism:
        """The mechanism on a sample drawn so."""

    @abstractmethod
    def draw(self, population: int, source: Source | None = None) -> Any:
        """Draw from records 0..population-1, with secure randomness unless a source is given."""

    @property
    def most_drawn(self) -> int:
        """The place of a record that is drawn as often as any."""
        return 0

    def simulate(self, inner: Mechanism, contributions: Array, source: Source) -> Array:
        """Outputs of the mechanism on samples drawn so, the record with these contributions being drawn most."""
        population = self.population or self.places or (FEW_RECORDS if self.one_sample else self.steps)
        taken = np.zeros((len(contributions), self.steps))
        for run in range(len(contributions)):
            drawn = self.draw(population, source)
            batches = [drawn] if self.one_sample else drawn
            taken[run] = [np.count_nonzero(batch == self.most_drawn) for batch in batches]
        outputs = [inner.simulate(contributions * taken[:, step], source) for step in range(self.steps)]
        return outputs[0] if self.one_sample else columns(outputs)


class OneSample(Scheme):
    """A scheme that hands one random sample to one mechanism, with the theorem of each relation that it covers."""

    keeps_curve = False
    """Whether the Rényi curve comes from that of the mechanism, not from the pair."""

    @property
    def one_sample(self) -> bool:
        return True

    @property
    def drawn(self) -> int | None:
        """How many records a sample has, where that is certain."""
        return None

    @property
    def secret(self) -> bool:
        """Whether the theorem needs a sample that nobody learns, and that may exchange its records."""
        return True

    def applied(self, mechanism: Mechanism) -> Mechanism:
        return Sampled(mechanism, self)

    def fitting(self, mechanism: Mechanism) -> Mechanism:
        """The mechanism, if what it promises holds on such a sample."""
        who = type(self).__name__
        inner = require(who, mechanism)
        if self.drawn == 0:  # nothing ran
            return inner
        if inner.populations - {self.drawn}:
            rule = "a mechanism that holds for any number of records, as the size of its sample is random"
            if self.drawn is not None:
                rule = f"a mechanism stated for as many records as it draws ({self.drawn})"
            raise InvalidParameter(who, rule, stated_for=sorted(inner.populations), mechanism=str(inner))
        if self.secret and inner.no_secret_sample:
            raise NotCovered(f"{inner} on {self}: {inner.no_secret_sample}")
        return inner

    def population_of(self, inner: Mechanism) -> frozenset[int]:
        """How many records there must be to draw from."""
        return frozenset()

    def likened(self, inner: Mechanism, records: int, alone: bool) -> tuple[Pair, ...]:
        """See Mechanism.likened; nothing, where others that are drawn or not would blur what is seen."""
        return ()

    @abstractmethod
    def pair(self, inner: Mechanism, removed: Counts, added: Counts) -> Pair:
        """The dominating pair of the mechanism on the sample."""

    @abstractmethod
    def curve(self, inner: Mechanism, removed: Counts, added: Counts) -> RenyiCurve:
        """The Rényi curve of the mechanism on the sample."""

    @abstractmethod
    def attained(self, inner: Mechanism, removed: Counts, added: Counts, alone: bool) -> tuple[Pair, ...]:
        """See Mechanism.attained."""

    @abstractmethod
    def listed(self, records: int, least: float) -> tuple[Counts, float]:
        """How often the places of so many given records are drawn in all, from above, for the records drawn most.

        Upper bounds on the probabilities of 0, 1, 2, ..., and on that of all numbers past the list, which is cut where
        this is at most `least`. Whoever uses the list must charge that rest too.
        """

    def takes(self, records: int) -> Counts:
        """Probabilities that the places of so many given records are drawn 0, 1, 2, ... times in all, the likely ones.

        >>> [round(chance, 3) for chance in Poisson(rate=0.1).takes(2)]
        [0.81, 0.18, 0.01]
        """
        return self.listed(records, NEGLIGIBLE)[0]

    @abstractmethod
    def theorem(self, relation: Relation) -> tuple[str, str]:
        """What is proven under the relation, and what it assumes."""


@dataclass(frozen=True)
class Sampled(Mechanism):
    """A mechanism on a random sample. The pair of a sampled group is a mixture over counts, not the mix of its pair."""

    inner: Mechanism
    scheme: OneSample
    relation: Relation = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.scheme, OneSample):
            raise InvalidParameter("Sampled", "a scheme that draws one sample", scheme=self.scheme)
        object.__setattr__(self, "relation", self.scheme.fitting(require_child("on", self.inner)).relation)

    @property
    def children(self) -> tuple[Mechanism, ...]:
        return (self.inner,)

    def pair(self, removed: Counts, added: Counts) -> Pair:
        return self.scheme.pair(self.inner, removed, added)

    def curve(self, removed: Counts, added: Counts) -> RenyiCurve:
        return self.scheme.curve(self.inner, removed, added)

    @property
    def curve_beats_pair(self) -> bool:
        return self.scheme.keeps_curve and self.inner.curve_beats_pair

    def attained(self, removed: Counts, added: Counts, alone: bool) -> tuple[Pair, ...]:
        return self.scheme.attained(self.inner, removed, added, alone)

    def likened(self, records: int, alone: bool) -> tuple[Pair, ...]:
        return self.scheme.likened(self.inner, records, alone)

    @property
    def populations(self) -> frozenset[int]:
        return self.scheme.population_of(self.inner)

    @property
    def together(self) -> frozenset[int]:
        return self.inner.together

    @property
    def no_secret_sample(self) -> str:
        return self.inner.no_secret_sample if self.scheme.secret else "who was drawn is known, from the first sample on"

    def derivation(self) -> Step:
        theorem, assumes = self.scheme.theorem(self.relation)
        return Step(f"on a sample: {self.scheme}", theorem, assumes, (self.inner.derivation(),))

    def simulate(self, contributions: Array, source: Source) -> Array:
        return self.scheme.simulate(self.inner, contributions, source)

    def __str__(self) -> str:
        return f"{self.inner} on {self.scheme}"


@dataclass(frozen=True)
class Poisson(OneSample):
    """Each record takes part with probability `rate`, independently, and nobody learns which.

    >>> from hush import Gaussian, SeededSource
    >>> Gaussian(1.0).on(Poisson(rate=1.0)) == Gaussian(1.0)
    True
    >>> Poisson(rate=1e-8).draw(10**9, SeededSource(4))[:3]
    array([22207107, 29532204, 62902030])
    """

    rate: float
    keeps_curve = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", number("Poisson", "0 <= rate <= 1", 0.0, 1.0, rate=self.rate))

    @property
    def drawn(self) -> int | None:
        return 0 if self.rate == 0 else None

    @property
    def expected_rate(self) -> float | None:
        return self.rate

    @property
    def streams(self) -> bool:
        return True

    def applied(self, mechanism: Mechanism) -> Mechanism:
        return require("Poisson", mechanism) if self.rate == 1 else super().applied(mechanism)

    def draw(self, population: int, source: Source | None = None) -> np.ndarray:
        """Indices of the sample, increasing; the law is exact, time and memory are those of the sample."""
        population = count("Poisson.draw", 0, population=population)
        if self.rate == 1:
            return np.arange(population)
        return successes(source_or_secure(source), population, self.rate)

    def pair(self, inner: Mechanism, removed: Counts, added: Counts) -> Pair:
        """More mass under P, or less under Q, reveals more: so go the probabilities that floats do not hold."""
        return inner.pair(self._thin_above(removed), self.thin(added))

    def curve(self, inner: Mechanism, removed: Counts, added: Counts) -> RenyiCurve:
        return inner.curve(self._thin_above(removed), self.thin(added))

    def attained(self, inner: Mechanism, removed: Counts, added: Counts, alone: bool) -> tuple[Pair, ...]:
        return inner.attained(self.thin(removed), self._thin_above(added), alone)

    def listed(self, records: int, least: float) -> tuple[Counts, float]:
        return self._thin_above(exactly(records)), 0.0

    def thin(self, counts: Counts) -> Counts:
        """How many of the records take part after the sample is drawn: binomial thinning, rounded down."""
        if len(counts) > MOST_SAMPLED + 1:
            raise NotCovered(
                f"a sampled group of more than {MOST_SAMPLED} records: state the guarantee of the group instead"
            )
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


@dataclass(frozen=True)
class UnequalPoisson(OneSample):
    """Record i takes part with probability rates[i], independently; the rates are fixed without looking at the data.

    A guarantee for everybody is that of the largest rate.

    >>> from hush import Gaussian
    >>> scheme = UnequalPoisson(rates=[0.01, 0.05, 0.2])
    >>> Gaussian(1.0).on(scheme).epsilon(delta=1e-5) == Gaussian(1.0).on(scheme.largest).epsilon(delta=1e-5)
    True
    """

    rates: tuple[float, ...]
    keeps_curve = True

    def __init__(self, rates: Sequence[float]) -> None:
        if isinstance(rates, str | bytes) or not hasattr(rates, "__len__") or not len(rates):
            raise InvalidParameter("UnequalPoisson", "a list of rates, one a record", rates=rates)
        rule = "0 <= rate <= 1 for every record"
        checked = tuple(number("UnequalPoisson", rule, 0.0, 1.0, rate=rate) for rate in rates)
        object.__setattr__(self, "rates", checked)

    @property
    def by_place(self) -> bool:
        return True

    @property
    def places(self) -> int | None:
        return len(self.rates)

    @property
    def most_drawn(self) -> int:
        return int(np.argmax(self.rates))

    @property
    def largest(self) -> Poisson:
        """The same for everybody at the largest rate: a smaller rate is that sample, thinned again."""
        return Poisson(rate=max(self.rates))

    def draw(self, population: int, source: Source | None = None) -> np.ndarray:
        """Indices of the sample, increasing."""
        population = count("UnequalPoisson.draw", 0, population=population)
        if population != len(self.rates):
            raise InvalidParameter(
                "UnequalPoisson.draw", f"a rate for each record ({len(self.rates)})", population=population
            )
        return np.flatnonzero(coins(source_or_secure(source), np.array(self.rates)))

    def population_of(self, inner: Mechanism) -> frozenset[int]:
        return frozenset([len(self.rates)])

    def pair(self, inner: Mechanism, removed: Counts, added: Counts) -> Pair:
        return self.largest.pair(inner, removed, added)

    def curve(self, inner: Mechanism, removed: Counts, added: Counts) -> RenyiCurve:
        return self.largest.curve(inner, removed, added)

    def attained(self, inner: Mechanism, removed: Counts, added: Counts, alone: bool) -> tuple[Pair, ...]:
        """One record has the largest rate; of a group, the others may all be known to be out."""
        if max(len(removed), len(added)) <= 2:
            return self.largest.attained(inner, removed, added, alone)
        return ()

    def listed(self, records: int, least: float) -> tuple[Counts, float]:
        """The records with the largest rates: a sum of unlike coins."""
        if records > MOST_SAMPLED:
            raise NotCovered(f"a sampled group of more than {MOST_SAMPLED} records")
        rates = [rate for rate in sorted(self.rates, reverse=True)[:records] if rate > 0]
        certain = rates.count(1.0)
        chances = np.ones(1)
        for rate in rates[certain:]:
            chances = np.convolve(chances, [1 - rate, rate])
            chances = raised(chances) if len(chances) > 2 else chances
        return (0.0,) * certain + tuple(chances.tolist()), 0.0

    def theorem(self, relation: Relation) -> tuple[str, str]:
        text, assumes = self.largest.theorem(relation)
        return f"at the largest rate, of which smaller ones are a post-processing; {text}", (
            f"{assumes}; the rates do not depend on the data (a sampler with weights from the data is not covered)"
        )

    def __str__(self) -> str:
        return f"Poisson sampling at {len(self.rates)} given rates, the largest {max(self.rates):g}"
