"""Parallel composition: mechanisms on disjoint parts of the data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from hush.arrays import Array, columns
from hush.curves.pairs.pair import Pair
from hush.curves.pairs.pointwise import Largest
from hush.curves.relation import Relation
from hush.curves.renyi.curve import RenyiCurve
from hush.errors import NotCovered
from hush.mechanisms.evidence import Evidence, chosen
from hush.mechanisms.mechanism import ALGEBRA, Mechanism, require, require_child, same_relation
from hush.mechanisms.neighbours import NONE, Neighbours
from hush.mechanisms.traits import Step
from hush.randomness.source import Source

Ask = Callable[[Mechanism, Neighbours, bool], tuple[Pair, ...]]
"""Pairs of a part, for what changes in it, alone or not."""


@dataclass(frozen=True)
class Parallel(Mechanism):
    """Mechanisms on disjoint parts of the data; a record is in one part, which may change between rounds."""

    parts: tuple[Mechanism, ...]
    relation: Relation = field(init=False, default=Relation.ADD_REMOVE)

    def __post_init__(self) -> None:
        if same_relation("beside", [require_child("beside", part) for part in self.parts]) is not Relation.ADD_REMOVE:
            raise NotCovered(
                "side by side under replace-one a record can move between parts: "
                "state the parts under ADD_REMOVE and write .under(Relation.REPLACE) on the whole"
            )

    @classmethod
    def of(cls, mechanisms: Iterable[Mechanism]) -> Mechanism:
        given = [require("beside", m) for m in mechanisms]
        flat = [p for m in given for p in (m.parts if isinstance(m, Parallel) else (m,))]
        distinct = tuple(sorted(dict.fromkeys(flat), key=str))
        return distinct[0] if len(distinct) == 1 and len(given) == 1 else cls(distinct)

    @property
    def children(self) -> tuple[Mechanism, ...]:
        return self.parts

    def knows(self, neighbours: Neighbours) -> Evidence:
        if neighbours.in_place:
            raise NotCovered("side by side, a blanked record: the blank one may be in another part")
        if neighbours.one_way and neighbours.most <= 1:
            parts = [part.evidence(neighbours) for part in self.parts]
            return Evidence(
                lambda: Largest.of(part.pair for part in parts),
                lambda: RenyiCurve.largest(part.curve for part in parts),
                lambda alone: self._attained(neighbours, alone),
                curve_says_more=any(part.curve_says_more for part in parts),
            )
        if neighbours.settled != (1, 1):
            raise NotCovered("side by side, several records changed: a group may be spread over the parts in any way")
        return Evidence(
            lambda: Largest.of(self._options(neighbours, lambda part, n, _: (part.evidence(n).pair,), False)),
            _no_curve,
            lambda alone: self._attained(neighbours, alone),
        )

    def _options(self, neighbours: Neighbours, ask: Ask, alone: bool) -> list[Pair]:
        """The record stays in one part, or (replaced) leaves one and enters another."""
        options = [pair for part in self.parts for pair in ask(part, neighbours, alone)]
        if not neighbours.one_way:
            out, into = Neighbours(neighbours.removed, NONE), Neighbours(NONE, neighbours.added)
            for one in self.parts:
                for other in self.parts:
                    options += chosen([(ask(one, out, False), 1), (ask(other, into, False), 1)])
        return options

    def _attained(self, neighbours: Neighbours, alone: bool) -> tuple[Pair, ...]:
        options = self._options(neighbours, lambda part, n, alone: part.evidence(n).attained(alone), alone)
        return (Largest.of(options),) if alone and options else tuple(dict.fromkeys(options))

    def derivation(self) -> Step:
        return Step(
            f"{len(self.parts)} kinds of release on disjoint parts",
            "the pointwise largest profile of the parts (McSherry 2009, Thm 4, for profiles)",
            "the parts are disjoint, and which part a record is in does not depend on other records",
            tuple(part.derivation() for part in self.parts),
        )

    def simulate(self, contributions: Array, source: Source) -> Array:
        """The record is in the first part."""
        nothing = np.zeros(len(contributions))
        others = [part.simulate(nothing, source) for part in self.parts[1:]]
        return columns([self.parts[0].simulate(contributions, source), *others])

    def __str__(self) -> str:
        return " beside ".join(str(part) for part in self.parts)


def _no_curve() -> RenyiCurve:
    raise NotCovered("a Rényi bound side by side is known for one record added or removed")


ALGEBRA.parallel = Parallel.of
