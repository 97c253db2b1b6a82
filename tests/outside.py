"""A leaf and a scheme that hush does not have: a program may define its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar

from hush import Mechanism, Relation
from hush.curves.pairs.normal import NormalPair
from hush.curves.pairs.pair import Pair
from hush.mechanisms.leaf import Leaf
from hush.mechanisms.scheme import Scheme
from hush.mechanisms.traits import Step


class Hand(Enum):
    """Left or right."""

    LEFT = 1
    RIGHT = 2


@dataclass(frozen=True)
class WobblyNoise(Leaf):
    """A leaf with a field of every type that has a JSON form."""

    noise: float
    units: int = 1
    hand: Hand = Hand.LEFT
    sure: bool = True
    limit: float | None = None
    name: str = "x"
    places: tuple[int, ...] = ()
    child: Mechanism | None = None
    note: object = field(default=None, compare=False)
    relation: Relation = Relation.ADD_REMOVE

    def at(self, removed: int, added: int) -> Pair:
        return NormalPair.shifted(self.steps(removed, added) * self.units / self.noise)

    def derivation(self) -> Step:
        return Step(str(self), "a test")

    def __str__(self) -> str:
        return f"wobbly noise {self.noise:g}"


@dataclass(frozen=True)
class Everyone(Scheme):
    """A scheme that hands all records to the mechanism, so many times."""

    times: int
    word: ClassVar[str] = "all-records"

    def applied(self, mechanism: Mechanism) -> Mechanism:
        return mechanism.repeat(self.times)

    def draw(self, population: int, source: object = None) -> range:
        return range(population)
