"""Groups of records, and other neighbouring relations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from hush.arrays import Array
from hush.checks import count
from hush.curves.relation import Relation, any_relation
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.evidence import Evidence
from hush.mechanisms.mechanism import ALGEBRA, Mechanism, require_child
from hush.mechanisms.neighbours import Counts, Neighbours
from hush.mechanisms.traits import Scope, Special, Step
from hush.mechanisms.wrapper import Wrapper
from hush.randomness.source import Source

LARGEST = 10_000
"""Records of a group, also of groups of groups: what is known of one takes memory for each of them."""


@dataclass(frozen=True)
class Group(Wrapper):
    """The guarantee for `size` records at once, from the pair at that many records."""

    size: int
    verb: ClassVar[str] = "group"

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", count("group", 1, size=self.size))
        if self.size > LARGEST:
            raise InvalidParameter("group", f"size <= {LARGEST} (in all)", size=self.size)
        super().__post_init__()

    @classmethod
    def of(cls, inner: Mechanism, size: int) -> Mechanism:
        size = count("group", 1, size=size)
        if isinstance(inner, Group):
            return cls(inner.inner, size * inner.size)
        return inner if size == 1 else cls(inner, size)

    @property
    def scope(self) -> Scope:
        inner = self.inner.scope
        return replace(inner, together=frozenset(self.size * records for records in inner.together))

    def _in_all(self, records: int) -> int:
        total = records * self.size
        if total > LARGEST:
            raise NotCovered(f"a group of {total} records in all: covered up to {LARGEST}")
        return total

    def _spread(self, counts: Counts) -> Counts:
        wide = [0.0] * (self._in_all(len(counts) - 1) + 1)
        wide[:: self.size] = counts
        return tuple(wide)

    def knows(self, neighbours: Neighbours) -> Evidence:
        return self.inner.evidence(neighbours.thin(self._spread))

    @property
    def special(self) -> Special:
        return Special(likened=lambda records, alone: self.inner.special.likened(self._in_all(records), alone))

    def derivation(self) -> Step:
        return Step(
            f"for groups of {self.size}",
            "the pair at that many changed records; after sampling, the binomial mixture of how many were drawn",
            f"at most {self.size} records belong together",
            (self.inner.derivation(),),
        )

    def simulate(self, contributions: Array, source: Source) -> Array:
        return self.inner.simulate(contributions * self.size, source)

    def __str__(self) -> str:
        return f"{self.inner}, for groups of {self.size}"


@dataclass(frozen=True)
class Under(Wrapper):
    """The same mechanism, its guarantee stated for another relation."""

    relation: Relation
    verb: ClassVar[str] = "under"

    @property
    def other_contribution(self) -> float:  # type: ignore[override]
        """A record may push the sum up, and the one in its place push it down; a blank one adds nothing."""
        return 0.0 if self._blank else -1.0

    def __post_init__(self) -> None:
        any_relation("under", self.relation)
        inner = require_child(self.verb, self.inner)
        if self.relation is Relation.ADD_REMOVE:
            raise NotCovered(
                f"a guarantee for those who {inner.relation.words} says nothing about adding or removing a record: "
                "state the noise under ADD_REMOVE"
            )

    @classmethod
    def of(cls, inner: Mechanism, relation: Relation) -> Mechanism:
        if inner.relation is relation:
            return inner
        if isinstance(inner, Under) and inner.inner.relation is relation:
            return inner.inner
        return cls(inner, relation)

    def knows(self, neighbours: Neighbours) -> Evidence:
        if self._blank and self.inner.relation is Relation.REPLACE and not neighbours.nobody:
            counts = neighbours.removed if len(neighbours.removed) > 1 else neighbours.added
            return self.inner.evidence(Neighbours.replaced(counts)).attained_by(lambda _: ())
        return self.inner.evidence(neighbours)

    @property
    def _blank(self) -> bool:
        return self.relation is Relation.ZERO_OUT

    @property
    def special(self) -> Special:
        return replace(self.inner.special, distance=None)

    def derivation(self) -> Step:
        theorem, assumes = "replacing is removing one record and adding another: the pair of both changes at once", ""
        if self._blank:
            theorem = "a blank record adds nothing wherever it is drawn: the pair of removal, or of a replacement by it"
            assumes = "a run on records of which some are blank is one on the others alone; samples draw blank ones too"
        return Step(f"stated for: {self.relation.words}", theorem, assumes, (self.inner.derivation(),))

    def simulate(self, contributions: Array, source: Source) -> Array:
        return self.inner.simulate(contributions, source)

    def __str__(self) -> str:
        return f"{self.inner} ({self.relation.words})"


ALGEBRA.group, ALGEBRA.under = Group.of, Under.of
