"""Samples of a fixed size, without and with replacement: they hide a replaced record, not how many there are."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar

import numpy as np

from hush.checks import count
from hush.curves.pairs.finite import CERTAIN_LOSS
from hush.curves.pairs.pair import Pair
from hush.curves.pairs.pointwise import Lowest
from hush.curves.pairs.public_choice import Blend
from hush.curves.relation import Relation
from hush.curves.renyi.curve import RenyiCurve
from hush.curves.renyi.sampling import max_divergence, without_replacement
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.evidence import IDENTITY, Evidence
from hush.mechanisms.fields import whole
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.neighbours import REPLACED, Counts, Neighbours, exactly
from hush.mechanisms.schemes.one_sample import DATA_INDEPENDENT, OneSample
from hush.mechanisms.schemes.thinning import FAINT, MOST_SAMPLED, NEGLIGIBLE, binomial, raised, surely
from hush.randomness.draws import integers, subset
from hush.randomness.source import Source, source_or_secure

T = TypeVar("T")
MOST_COPIES = 400
"""Draws of which all numbers of copies are listed; of more, as many as it takes, and the rest is charged."""
CAPS = (1e-18, 1e-14, 1e-11, 1e-8)
"""Shares of the hits that may be given up as a certain loss: each makes another pair, and the best one wins."""
ROUNDING = 1e-12
"""Relative error of a probability of copies, made of at most a few hundred products."""


def replaced(who: str, neighbours: Neighbours) -> int:
    """How many records are replaced; any other change is not covered by samples of a fixed size."""
    found = neighbours.settled
    if found is None or found[0] != found[1]:
        raise NotCovered(
            f"{who}: a theorem is known for replaced records only, which leave the size of the data as it is. Write "
            ".under(hush.Relation.REPLACE) on the whole, or sample with hush.Poisson, which covers adding and removing"
        )
    return found[0]


@dataclass(frozen=True)
class FixedSize(OneSample):
    """A sample of `size` out of `population` records.

    With probability h some of the places that differ are drawn, k of them with probability w_k. Advanced joint
    convexity, and the coupling that exchanges the k places for others, give delta'(log(1 + h(e^eps - 1))) <=
    sum_k w_k delta_k(eps) for eps >= 0 (Balle, Barthe, Gaboardi 2018, Thms 9 and 10); both orders of two neighbours
    are neighbours, so below 0 the mirror of that holds, and the profile has a pair (Zhu, Dong, Wang 2022, Prop. 30).
    """

    size: int = field(metadata=whole(0))
    # narrower than in Scheme, which is safe as it is frozen
    population: int = field(metadata=whole(1))  # pyright: ignore[reportIncompatibleVariableOverride]
    covers: ClassVar[Relation] = Relation.REPLACE

    def _checked(self, population: int) -> None:
        who = f"{type(self).__name__}.draw"
        if count(who, 0, population=population) != self.population:
            raise InvalidParameter(
                who, f"the population that is accounted for ({self.population})", population=population
            )

    @property
    def drawn(self) -> int | None:
        return self.size

    @property
    def expected_rate(self) -> float | None:
        return self.size / self.population

    def evidence(self, inner: Mechanism, neighbours: Neighbours) -> Evidence:
        return Evidence(
            lambda: self._pair(inner, self._replaced(neighbours)),
            lambda: self._curve(inner, self._replaced(neighbours)),
            lambda alone: self._attained(inner, self._replaced(neighbours), alone),
        )

    def _replaced(self, neighbours: Neighbours) -> int:
        return replaced(type(self).__name__, neighbours)

    def _pair(self, inner: Mechanism, records: int) -> Pair:
        weights, rest = self.listed(records, NEGLIGIBLE)
        if len(weights) == 1 and rest == 0:
            return IDENTITY
        if len(weights) == 2 and rest == 0:
            return inner.evidence(REPLACED).pair.mix_both(weights[1])
        hit = min((math.fsum(weights[1:]) + rest) * (1 + ROUNDING), 1.0)
        found = by_copies(lambda counts: inner.evidence(Neighbours.replaced(counts)).pair, weights, rest, CERTAIN_LOSS)
        parts = [(pair, (1 + ROUNDING) * weight / hit) for pair, weight in found]
        return Lowest.of(Blend.of(capped(parts, most)).mix_both(hit) for most in (0.0, *CAPS))

    def _curve(self, inner: Mechanism, records: int) -> RenyiCurve:
        """The curve of the pair; a scheme that has a theorem of its own for curves uses that too."""
        return self._pair(inner, records).curve()

    def _attained(self, inner: Mechanism, records: int, alone: bool) -> tuple[Pair, ...]:
        """Datasets in which all other records are like the new record, like the old one, or add nothing.

        A query that asks only whether the record is in the sample makes the mix; noise on a sum sees every copy.
        """
        weights, rest = self.listed(records, NEGLIGIBLE)
        if len(weights) == 1:
            return (IDENTITY,)
        if alone and len(weights) == 2 and rest == 0:
            pair = inner.evidence(REPLACED).pair
            if inner.special.likened(1, True) == (pair,):
                return (pair.mix_both(weights[1]),)
        # either of the two may be the one that is like the others
        found = [side for pair in self.likened(inner, records, False) for side in _both(pair)]
        sure = Neighbours.replaced(surely(weights))
        return tuple(dict.fromkeys([*found, *inner.evidence(sure).members(alone=False)]))

    def likened(self, inner: Mechanism, records: int, alone: bool) -> tuple[Pair, ...]:
        """A query that asks only whether a record is in the sample, and noise on a sum, which sees every copy."""
        weights = surely(self.listed(records, NEGLIGIBLE)[0])
        if len(weights) == 1:
            return (IDENTITY,)
        hit = min(math.fsum(weights[1:]), 1.0)
        special = inner.special
        asked = [pair.mix(hit) for pair in special.likened(1, False)]
        copies = [special.copies(weights)] if special.copies else []
        return tuple(dict.fromkeys([*asked, *copies]))

    def theorem(self, relation: Relation) -> tuple[str, str]:
        text = (
            "Balle, Barthe, Gaboardi 2018, Thms 9 and 10, as a pair both ways: Zhu, Dong, Wang 2022, Prop. 30; "
            "an upper bound, not attained when composed. The lower end: datasets whose other records are all alike"
        )
        return (
            text,
            f"one record is replaced, the number of records is public, the sample stays secret; {DATA_INDEPENDENT}",
        )


def by_copies(ask: Callable[[Counts], T], weights: Counts, rest: float, nothing: T) -> Iterator[tuple[T, float]]:
    """What is known of each number of copies, with its probability; `nothing` from the first unknown one on."""
    for copies, weight in enumerate(weights):
        if copies == 0 or weight == 0:
            continue
        try:
            found = ask(exactly(copies))
        except NotCovered:
            if copies == 1:
                raise
            rest += math.fsum(weights[copies:])
            break
        yield found, weight
    if rest > 0:
        yield nothing, rest


def capped(parts: list[tuple[Pair, float]], most: float) -> list[tuple[Pair, float]]:
    """The parts, but for the last ones whose shares sum to at most so much: those are counted as a certain loss.

    Many copies are rare and give heavy tails, which no exponential moment follows; at a larger delta they are better
    given up.
    """
    kept, lost = list(parts), 0.0
    while len(kept) > 1 and lost + kept[-1][1] <= most:
        lost += kept.pop()[1]
    return [*kept, (CERTAIN_LOSS, lost)] if lost > 0 else kept


def _both(pair: Pair) -> tuple[Pair, ...]:
    return pair, pair.swap()


@dataclass(frozen=True)
class WithoutReplacement(FixedSize):
    """`size` different records out of `population`, every subset alike, and nobody learns which; replace-one only.

    The answer is an interval: the upper end is proven, the lower one attained, the truth between is not known.

    >>> from hush import Gaussian, Relation
    >>> step = Gaussian(2.0).on(WithoutReplacement(size=100, population=10_000))
    >>> step.under(Relation.REPLACE).repeat(1000).epsilon(delta=1e-5)
    Bound(epsilon=1.82 to 2.2, lower=1.828236..., upper=2.198909..., delta=1e-05)
    """

    title: ClassVar[str] = "without replacement"
    why: ClassVar[str] = "batches of a fixed size, drawn afresh: proven from above, not known to be attained"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size > self.population:
            raise InvalidParameter("WithoutReplacement", f"size <= population ({self.population})", size=self.size)

    @classmethod
    def for_training(cls, *, examples: int, batch_size: int, epochs: float) -> WithoutReplacement:
        return cls(size=batch_size, population=examples)

    def applied(self, mechanism: Mechanism) -> Mechanism:
        return self.fitting(mechanism) if self.size == self.population else super().applied(mechanism)

    def draw(self, population: int, source: Source | None = None) -> np.ndarray:
        """Indices of the sample, increasing; time and memory are those of the sample."""
        self._checked(population)
        return subset(source_or_secure(source), self.population, self.size)

    def _curve(self, inner: Mechanism, records: int) -> RenyiCurve:
        """The least of what the pair says, of Wang, Balle, Kasiviswanathan 2019, Thm 9, and of the max divergence."""
        if records != 1:
            return super()._curve(inner, records)
        rate, plain = self.size / self.population, inner.evidence(REPLACED).curve
        found = [without_replacement(plain, rate), max_divergence(plain, rate)]
        try:
            found.append(self._pair(inner, records).curve())
        except NotCovered:
            pass
        return RenyiCurve.least(found)

    def listed(self, records: int, least: float) -> tuple[Counts, float]:
        """Hypergeometric: C(t,k) times k factors (m-i)/(n-i) and t-k factors (n-m-j)/(n-k-j), in an order that never
        passes below the result."""
        n, m = self.population, self.size
        if records > min(n, MOST_SAMPLED):
            raise NotCovered(
                f"a group of more than {MOST_SAMPLED} records, or than there are: state the guarantee of the group"
            )
        fewest = max(records - (n - m), 0)
        weights = []
        for k in range(fewest, min(records, m) + 1):
            into = math.prod((records - i) * (m - i) / ((i + 1) * (n - i)) for i in range(k))
            weights.append(math.prod(((n - m - j) / (n - k - j) for j in range(records - k)), start=into))
        return (0.0,) * fewest + tuple(raised(np.array(weights)).tolist()), 0.0

    def __str__(self) -> str:
        return f"{self.size} of {self.population} records without replacement"


@dataclass(frozen=True)
class WithReplacement(FixedSize):
    """`size` draws from `population` records, uniform and independent, so a record may come twice; replace-one only.

    >>> from hush import Laplace, Relation
    >>> step = Laplace(1.0, Relation.REPLACE).on(WithReplacement(size=100, population=1000))
    >>> step.delta(epsilon=0.06).upper
    0.0224925...
    """

    def draw(self, population: int, source: Source | None = None) -> np.ndarray:
        """Indices in the order in which they were drawn; some may be equal."""
        self._checked(population)
        return integers(source_or_secure(source), self.population, self.size)

    def listed(self, records: int, least: float) -> tuple[Counts, float]:
        """Binomial: each of the draws hits one of the places."""
        if records > self.population:
            raise NotCovered("a group of more records than there are")
        rate = records / self.population
        if self.size == 0 or rate == 0:
            return (1.0,), 0.0
        if rate == 1:
            return (exactly(self.size) if self.size <= MOST_COPIES else self._too_many()), 0.0
        if self.size * rate > MOST_COPIES / 4:
            self._too_many()
        if self.size <= MOST_COPIES:
            weights, rest = raised(binomial(self.size, rate)).tolist(), 0.0
        else:
            weights, rest = self._first(rate, max(least, FAINT))
        while len(weights) > 2 and rest + weights[-1] <= least:
            rest += weights.pop()
        return tuple(weights), rest

    def _first(self, rate: float, least: float) -> tuple[list[float], float]:
        """As many as it takes; ratios of neighbours fall, so what follows is less than a geometric series."""
        weights, rest = [math.exp(self.size * math.log1p(-rate))], 1.0
        while rest > least:
            k = len(weights)
            weights.append(weights[-1] * (self.size - k + 1) / k * rate / (1 - rate))
            ratio = (self.size - k) / (k + 1) * rate / (1 - rate)
            rest = weights[-1] * ratio / (1 - ratio) if ratio < 1 else 1.0
        return weights, rest

    def _too_many(self) -> Counts:
        raise NotCovered(
            f"{self}: a record comes more than {MOST_COPIES // 4} times on average, so sampling hides little. "
            "Covered: fewer draws, or hush.WithoutReplacement"
        )

    def __str__(self) -> str:
        return f"{self.size} draws from {self.population} records with replacement"
