"""Local reports in random order, without names."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from hush.checks import count
from hush.curves.pairs.pair import Pair
from hush.curves.relation import Relation
from hush.curves.theorems.shuffling.multiset import Plain
from hush.curves.theorems.shuffling.shuffled import Named, ShuffledPair
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.leaf import Leaf
from hush.mechanisms.leaves.stated import FromPair
from hush.mechanisms.local.randomizer import LocalRandomizer
from hush.mechanisms.mechanism import Counts, Step, exactly


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
    )


@dataclass(frozen=True)
class Shuffled(Leaf):
    """The reports of so many `people`, each from the same local randomizer, in an order that tells nothing.

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
    def populations(self) -> frozenset[int]:
        return frozenset([self.people])

    @property
    def curve_beats_pair(self) -> bool:
        return True

    def attained(self, removed: Counts, added: Counts, alone: bool) -> tuple[Pair, ...]:
        """Alone, the lower end of the pair; else one bit of every report, everyone else alike: that composes."""
        if alone:
            return (self.pair(removed, added),)
        witness = _pair(self.randomizer, self.people).witness
        return (FromPair(witness, witness, Relation.REPLACE).pair(removed, added),)

    def likened(self, records: int, alone: bool) -> tuple[Pair, ...]:
        """That bit: the pair itself may be worst among people unlike either value."""
        return self.attained(exactly(records), exactly(records), False)

    def derivation(self) -> Step:
        names = ", ".join(name for name, _ in _pair(self.randomizer, self.people).above)
        return Step(
            f"the reports of {self.people} people, shuffled",
            f"{names}: Feldman, McMillan, Talwar 2021 (clones); Balle, Bell, Gascón, Nissim 2019 (privacy blanket)",
            "the shuffler tells nobody who sent what, everyone keeps to the protocol, the number of people is public",
            (self.randomizer.derivation(),),
        )

    def __str__(self) -> str:
        return f"{self.randomizer}, {self.people} people shuffled"
