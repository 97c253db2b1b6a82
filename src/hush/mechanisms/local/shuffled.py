"""Local reports in random order, without names."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from hush.arrays import Array
from hush.checks import count
from hush.curves.pairs.pair import Pair
from hush.curves.relation import Relation
from hush.curves.theorems.shuffling.multiset import Plain
from hush.curves.theorems.shuffling.shuffled import Named, ShuffledPair
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.leaf import Leaf
from hush.mechanisms.leaves.stated import FromPair
from hush.mechanisms.local.randomizer import LocalRandomizer
from hush.mechanisms.neighbours import Neighbours
from hush.mechanisms.traits import Scope, Special, Step
from hush.randomness.source import Source


@lru_cache(maxsize=32)
def _pair(randomizer: LocalRandomizer, people: int) -> ShuffledPair:
    alone: Named = (("unshuffled", Plain(randomizer.report())),)  # one report hides among none
    return ShuffledPair(
        above=randomizer.above(people) if people > 1 else alone,
        below=randomizer.below(people) if people > 1 else alone,
        listed=randomizer.listed(people) if people > 1 else (),
        largest=randomizer.largest,
        report=randomizer.report(),
        people=people,
        bit=randomizer.bit(),
    )


@dataclass(frozen=True)
class Shuffled(Leaf):
    """The reports of `people` persons, each from the same local randomizer, in an order that tells nothing.

    >>> from hush.mechanisms.local.randomizer import LocalDP
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
        """Alone, the lower end of the pair; else one bit of every report, everyone else alike: that composes."""
        if alone:
            return None
        witness = _pair(self.randomizer, self.people).witness
        return (FromPair(witness, witness, Relation.REPLACE).evidence(neighbours).pair,)

    @property
    def special(self) -> Special:
        """That bit: the pair itself may be worst among people unlike either value."""
        return Special(likened=lambda records, _: self.evidence(Neighbours.of(records, records)).attained(False))

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
