"""Schemes that hand one random sample to one mechanism, and the mechanism on that sample."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

from hush.arrays import Array
from hush.curves.pairs.pair import Pair
from hush.curves.relation import Relation
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.evidence import Evidence
from hush.mechanisms.fields import instance
from hush.mechanisms.mechanism import Mechanism, require
from hush.mechanisms.neighbours import Counts, Neighbours
from hush.mechanisms.scheme import Scheme
from hush.mechanisms.schemes.thinning import NEGLIGIBLE
from hush.mechanisms.traits import Scope, Special, Step
from hush.mechanisms.wrapper import Wrapper
from hush.randomness.source import Source

DATA_INDEPENDENT = "the scheme and its parameters do not depend on the data, and each step draws a fresh sample"

PUBLIC_RATE = "the rate does not come from a private count of the data"
"""Adding or removing a record changes that count, and with it a rate made of a batch size."""


class OneSample(Scheme):
    """A scheme that hands one random sample to one mechanism, with the theorem of each relation that it covers.

    To write one, make a frozen dataclass that gives `draw`, `evidence`, `listed`, `theorem` and `__str__`. Mostly the
    evidence is that of the inner mechanism on thinned neighbours: those of the records that differ which are drawn.
    Optional are `drawn`, `secret`, `population_of` and `likened`, and all that `Scheme` leaves open.

    >>> from dataclasses import dataclass
    >>> import hush
    >>> @dataclass(frozen=True)
    ... class TwoCoins(hush.OneSample):
    ...     "A record takes part where both of its coins, each with this chance, come up."
    ...     chance: float
    ...
    ...     @property
    ...     def same(self):
    ...         return hush.Poisson(rate=self.chance**2)
    ...
    ...     def draw(self, population, source=None):
    ...         return self.same.draw(population, source)
    ...
    ...     def evidence(self, inner, neighbours):
    ...         return inner.evidence(neighbours.thin(self.same.thin))
    ...
    ...     def listed(self, records, least):
    ...         return self.same.listed(records, least)
    ...
    ...     def theorem(self, relation):
    ...         return "two independent coins are one of the product of their chances", "the coins stay secret"
    ...
    ...     def __str__(self):
    ...         return f"two coins of chance {self.chance:g} per record"
    >>> hush.Laplace(1.0).on(TwoCoins(0.1)).epsilon(delta=0).upper
    0.0170368...
    """

    one_sample = True
    secret: bool = True
    """Whether the theorem needs a sample that nobody learns, and that may exchange its records."""

    @property
    def drawn(self) -> int | None:
        """How many records a sample has, where that is certain."""
        return None

    def applied(self, mechanism: Mechanism) -> Mechanism:
        return Sampled(mechanism, self)

    no_sample_around: ClassVar[str] = ""
    """Why what ran on such batches may not itself be on a secret sample; empty where it may."""
    listed_exactly: ClassVar[bool] = True
    """Whether `listed` gives the chances themselves, and not bounds above them."""

    def fitting(self, mechanism: Mechanism) -> Mechanism:
        """The mechanism, if what it promises holds on such a sample."""
        who = type(self).__name__
        inner = require(who, mechanism)
        if self.drawn == 0:  # nothing ran
            return inner
        if inner.scope.populations - {self.drawn}:
            rule = "a mechanism that holds for any number of records, as the size of its sample is random"
            if self.drawn is not None:
                rule = f"a mechanism stated for as many records as it draws ({self.drawn})"
            raise InvalidParameter(who, rule, stated_for=sorted(inner.scope.populations), mechanism=str(inner))
        if self.secret and inner.scope.no_secret_sample:
            raise NotCovered(f"{inner} on {self}: {inner.scope.no_secret_sample}")
        return inner

    def population_of(self, inner: Mechanism) -> frozenset[int]:
        """How many records there must be to draw from; no number where any will do."""
        return frozenset(number for number in (self.population, self.places) if number is not None)

    def likened(self, inner: Mechanism, records: int, alone: bool) -> tuple[Pair, ...]:
        """See `Special.likened`; nothing where it is random which others are drawn, as that blurs what is seen."""
        return ()

    @abstractmethod
    def evidence(self, inner: Mechanism, neighbours: Neighbours) -> Evidence:
        """What is known of the mechanism on the sample."""

    @abstractmethod
    def listed(self, records: int, least: float) -> tuple[Counts, float]:
        """How often the places of so many given records are drawn in all, from above, for the records drawn most.

        Upper bounds on the probabilities of 0, 1, 2, ..., and on that of all numbers past the list, which is cut where
        this is at most `least`. Whoever uses the list must charge that rest too.
        """

    def survey(self, between: float) -> tuple[float, float]:
        """The expected share of the records in a sample, and the design effect: the variance of its mean over that of a
        simple random sample of as many, where this share of the variance lies between strata or clusters."""
        rate = self.expected_rate
        if not rate:
            raise NotCovered(f"the design effect of {self}")
        return rate, 1.0

    def takes(self, records: int) -> Counts:
        """Probabilities that the places of so many given records are drawn 0, 1, 2, ... times in all, the likely ones.

        >>> import hush
        >>> [round(chance, 3) for chance in hush.Poisson(rate=0.1).takes(2)]
        [0.81, 0.18, 0.01]
        """
        return self.listed(records, NEGLIGIBLE)[0]

    @abstractmethod
    def theorem(self, relation: Relation) -> tuple[str, str]:
        """What is proven under the relation, and what it assumes."""


@dataclass(frozen=True)
class Sampled(Wrapper):
    """A mechanism on a random sample. The pair of a sampled group is a mixture over counts, not the mix of its pair."""

    scheme: OneSample = field(metadata=instance(OneSample, "a scheme that draws one sample"))
    verb: ClassVar[str] = "on"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.scheme.fitting(self.inner)

    def knows(self, neighbours: Neighbours) -> Evidence:
        return self.scheme.evidence(self.inner, neighbours)

    @property
    def special(self) -> Special:
        return Special(likened=lambda records, alone: self.scheme.likened(self.inner, records, alone))

    @property
    def scope(self) -> Scope:
        inner = self.inner.scope
        known = "" if self.scheme.secret else "who was drawn is known, from the first sample on"
        why = known or self.scheme.no_sample_around or inner.no_secret_sample
        return Scope(self.scheme.population_of(self.inner), inner.together, why)

    def derivation(self) -> Step:
        theorem, assumes = self.scheme.theorem(self.relation)
        return Step(f"on a sample: {self.scheme}", theorem, assumes, (self.inner.derivation(),))

    def simulate(self, contributions: Array, source: Source) -> Array:
        return self.scheme.simulate(self.inner, contributions, source)

    def __str__(self) -> str:
        return f"{self.inner} on {self.scheme}"
