"""A mechanism known by a dominating pair that the user supplies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hush.curves.pairs.finite import FinitePair
from hush.curves.pairs.pair import Pair
from hush.curves.pairs.pointwise import Largest
from hush.curves.relation import Relation, checked_relation
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.leaf import Leaf


@dataclass(frozen=True)
class FromPair(Leaf):
    """A mechanism known by a dominating pair that the user supplies: probabilities under P and Q, or any Pair.

    `remove` is the pair for removing a record (P has it); `add` the one for adding, its mirror unless given.
    It answers for one record.

    >>> FromPair.of([0.75, 0.25], [0.25, 0.75]).epsilon(delta=0).upper
    1.0986...
    """

    remove: Pair
    add: Pair
    relation: Relation = Relation.ADD_REMOVE
    theorem = "dominating pairs: Zhu, Dong, Wang 2022, Def. 7"
    assumes = "the pair dominates, as stated"

    def __post_init__(self) -> None:
        for name in ("remove", "add"):
            if not isinstance(getattr(self, name), Pair):
                raise InvalidParameter("FromPair", "hush.curves.pairs.pair.Pair values", **{name: getattr(self, name)})
            getattr(self, name).checked()
        checked_relation("FromPair", self.relation)

    @classmethod
    def of(cls, p: Sequence[float], q: Sequence[float], *, relation: Relation = Relation.ADD_REMOVE) -> FromPair:
        """From the probabilities of each outcome with the record (p) and without it (q)."""
        arrays = []
        for name, values in (("p", p), ("q", q)):
            try:
                array = np.asarray(values, dtype=float)
            except (TypeError, ValueError):
                raise InvalidParameter("FromPair", "probabilities", **{name: values}) from None
            if array.ndim != 1 or not len(array) or not np.all(array >= 0) or not abs(float(array.sum()) - 1) < 1e-9:
                raise InvalidParameter("FromPair", "probabilities that are >= 0 and sum to 1", **{name: values})
            arrays.append(array / math.fsum(array))
        if len(arrays[0]) != len(arrays[1]):
            raise InvalidParameter(
                "FromPair", "as many outcomes under p as under q", p=len(arrays[0]), q=len(arrays[1])
            )
        pair = FinitePair.of(arrays[0], arrays[1])
        return cls(pair, pair.swap(), relation)

    def at(self, removed: int, added: int) -> Pair:
        if self.relation is Relation.REPLACE and removed == added == 1:
            return Largest.of((self.remove, self.add))  # either of the two datasets may come first
        if self.relation is Relation.ADD_REMOVE and removed + added == 1:
            return self.remove if removed else self.add
        raise NotCovered(f"{self} answers for one record; supply the pair of the group or of the replacement")

    def __str__(self) -> str:
        return "a mechanism with a supplied dominating pair"
