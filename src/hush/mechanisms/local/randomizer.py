"""Local randomizers: each person's report is private before it leaves their hands; and reports in random order."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from hush.arrays import Array
from hush.checks import count
from hush.curves.composition.product import Product
from hush.curves.pairs.pair import Pair
from hush.curves.relation import Relation
from hush.curves.theorems.shuffling.multiset import Multiset, Plain, clone
from hush.curves.theorems.shuffling.shuffled import HoeffdingBlanket, Named, ShuffledPair
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.leaf import Leaf
from hush.mechanisms.leaves.from_pair import FromPair
from hush.mechanisms.neighbours import Neighbours
from hush.mechanisms.stated_epsilon import EpsilonField
from hush.mechanisms.traits import Scope, Special, Step
from hush.randomness.source import Source


class LocalRandomizer(Leaf):
    """What one person runs on their own value before anything is sent; neighbours replace one person's value.

    Asked by itself it answers for reports that carry their sender's name. `shuffled` answers for the anonymous ones.
    """

    relation: Relation

    @abstractmethod
    def report(self) -> Pair:
        """The pair of one report for the two values that are easiest to tell apart."""

    @property
    @abstractmethod
    def largest(self) -> float:
        """The local epsilon: the largest loss of one report (infinity where it has no bound)."""

    @abstractmethod
    def above(self, people: int) -> Named:
        """Bounds on what the shuffled reports of so many people reveal, by the theorems that cover this randomizer."""

    @abstractmethod
    def below(self, people: int) -> Named:
        """What is attained by some data (and, for a stated guarantee, by some randomizer)."""

    @abstractmethod
    def bit(self) -> tuple[float, float]:
        """(chance among others and for Q, chance for P) of one bit of a report, for lower bounds on compositions."""

    def told(self, people: int) -> Multiset | None:
        """What is attained where everyone else holds a third value, for lower bounds on compositions; None: nothing."""
        return None

    def listed(self, people: int) -> Named:
        """Bounds that hold, too, but are no better: they are shown for comparison."""
        e = self.largest
        return (("clone", clone(e, people)), ("blanket, Hoeffding", HoeffdingBlanket(e, people)))

    def shuffled(self, *, people: int) -> Shuffled:
        """The reports of so many people in random order, without names.

        >>> from hush import KaryResponse
        >>> KaryResponse(epsilon=2.0, choices=8).shuffled(people=10_000).epsilon(delta=1e-6).upper
        0.08558...
        """
        return Shuffled(self, people)

    @property
    def scope(self) -> Scope:
        named = "its reports carry their senders' names, which show who was drawn: write .shuffled(people=...) first"
        return Scope(no_secret_sample=named)

    def at(self, removed: int, added: int) -> Pair:
        return Product.of([(self.report(), self.steps(removed, added))])


class PureRandomizer(LocalRandomizer):
    """A randomizer that states its local epsilon."""

    epsilon: EpsilonField  # pyright: ignore[reportIncompatibleMethodOverride]

    @property
    def largest(self) -> float:
        return float(self.epsilon)


@lru_cache(maxsize=32)
def _pair(randomizer: LocalRandomizer, people: int) -> ShuffledPair:
    alone: Named = (("unshuffled", Plain(randomizer.report())),)  # one report has no others to hide among
    return ShuffledPair(
        above=randomizer.above(people) if people > 1 else alone,
        below=randomizer.below(people) if people > 1 else alone,
        listed=randomizer.listed(people) if people > 1 else (),
        largest=randomizer.largest,
        report=randomizer.report(),
        people=people,
        bit=randomizer.bit(),
        told=randomizer.told(people) if people > 1 else None,
    )


@dataclass(frozen=True)
class Shuffled(Leaf):
    """The reports of so many `people`, each from the same local randomizer, in an order that tells nothing.

    >>> from hush import LocalDP
    >>> Shuffled(LocalDP(epsilon=2.0), people=10_000).epsilon(delta=1e-6).upper
    0.15504...
    """

    randomizer: LocalRandomizer
    people: int
    relation: Relation = field(init=False, default=Relation.REPLACE)

    def __post_init__(self) -> None:
        if not isinstance(self.randomizer, LocalRandomizer):
            rule = "a local randomizer such as hush.KaryResponse or hush.LocalDP"
            raise InvalidParameter("shuffled", rule, randomizer=self.randomizer)
        object.__setattr__(self, "people", count("shuffled", 1, people=self.people))

    def at(self, removed: int, added: int) -> Pair:
        if (removed, added) != (1, 1):
            raise NotCovered(
                f"{self}: covered for one person whose value is replaced; the number of reports is public, and for "
                "groups no clone theorem is built in"
            )
        return _pair(self.randomizer, self.people)

    @property
    def scope(self) -> Scope:
        return Scope(populations=frozenset([self.people]))

    curve_says_more = True

    def attained(self, neighbours: Neighbours, alone: bool) -> tuple[Pair, ...] | None:
        """Alone, the lower end of the pair; else everyone else elsewhere, or alike: one law, which composes."""
        return None if alone else self._witnessed(neighbours, _pair(self.randomizer, self.people).witnesses)

    def _witnessed(self, neighbours: Neighbours, witnesses: tuple[Pair, ...]) -> tuple[Pair, ...]:
        return tuple(FromPair(w, w, Relation.REPLACE).evidence(neighbours).pair for w in witnesses)

    @property
    def special(self) -> Special:
        """One bit of every report, everyone else alike: the pair may be worst among people unlike either value."""

        def likened(records: int, alone: bool) -> tuple[Pair, ...]:  # noqa: ARG001
            return self._witnessed(Neighbours.of(records, records), (_pair(self.randomizer, self.people).witness,))

        return Special(likened=likened)

    def derivation(self) -> Step:
        names = ", ".join(name for name, _ in _pair(self.randomizer, self.people).above)
        return Step(
            f"the reports of {self.people} people, shuffled",
            f"{names}: Feldman, McMillan, Talwar 2021 (clones); Balle, Bell, Gascón, Nissim 2019 (privacy blanket)",
            "the shuffler tells nobody who sent what, everyone keeps to the protocol, the number of people is public",
            (self.randomizer.derivation(),),
        )

    def simulate(self, contributions: Array, source: Source) -> Array:
        """The reports in order of size, which is what is left when nobody knows whose they are; the others hold 0."""
        nothing = np.zeros(len(contributions))
        others = [self.randomizer.simulate(nothing, source) for _ in range(self.people - 1)]
        reports = np.stack([self.randomizer.simulate(contributions, source), *others], axis=-1)
        return np.sort(reports, axis=-1).reshape(len(contributions), -1)

    def __str__(self) -> str:
        return f"{self.randomizer}, {self.people} people shuffled"
