"""Groups whose keys only the data know: each is shown where its own noisy number of users reaches a threshold."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from hush.curves.composition.product import Product
from hush.curves.pairs.pair import Pair
from hush.curves.pairs.pointwise import Largest
from hush.curves.pairs.unmistakable import Unmistakable
from hush.curves.relation import Relation
from hush.curves.renyi.curve import RenyiCurve
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.evidence import NO_CURVE
from hush.mechanisms.fields import between, instance, whole
from hush.mechanisms.leaf import Leaf
from hush.mechanisms.mechanism import Mechanism, require_child
from hush.mechanisms.neighbours import ADDED, REMOVED, REPLACED, Neighbours
from hush.mechanisms.traits import Special, Step
from hush.numerics.rounding import UNIT

TOLD_ROUNDING = 64 * UNIT
"""Relative error of a chance: two elementary functions and a product; expm1 does not enlarge the error of its input."""
MOST_CASES = 12
"""Up to so many groups of a user each split into new and old ones is a case of its own; beyond, some are bracketed."""
MOST_REPLACED = 4
"""Groups of a user who is replaced: cases grow with the third power."""


@dataclass(frozen=True)
class UnknownKeys(Leaf):
    """All that is released of groups whose keys only the data know, where a user is in at most so many groups.

    `inner` is what is released of one group (all statistics, the noisy number of users too), for one user. A group is
    shown where that noisy number reaches a threshold; `shown` is the chance that one user alone gets a group shown.
    If j of the user's groups are new, any of them shows the user: with probability 1 - (1 - shown)^j. Else what is seen
    is the others. So P is an unmistakable outcome of that probability, beside the product over the old groups; the
    largest profile over j counts.

    >>> import hush
    >>> UnknownKeys(hush.Gaussian(10.0), groups=5, shown=4.8e-9).delta(epsilon=0.8).upper
    1.42023...e-05
    """

    inner: Mechanism = field(metadata=instance(Mechanism, "a mechanism: what is released of one group"))
    groups: int = field(metadata=whole(1, 100_000))
    shown: float = field(metadata=between(0, 1))
    relation: Relation = field(init=False, default=Relation.ADD_REMOVE)
    word: ClassVar[str] = "unknown-keys"

    def __post_init__(self) -> None:
        super().__post_init__()
        if require_child("UnknownKeys", self.inner).relation is Relation.REPLACE:
            rule = "a mechanism for added or removed users (state the whole .under(hush.Relation.REPLACE))"
            raise InvalidParameter("UnknownKeys", rule, relation=self.inner.relation.name)

    @property
    def children(self) -> tuple[Mechanism, ...]:
        return (self.inner,)

    def at(self, removed: int, added: int) -> Pair:
        if (removed, added) == (1, 0):
            return Largest.of(self._leaving())
        if (removed, added) == (0, 1):
            return Largest.of(self._leaving()).swap()
        if (removed, added) == (1, 1):
            return Largest.of(self._replaced())
        raise NotCovered(f"{self}: it answers for one user, who is added, removed or replaced")

    def _leaving(self) -> Iterator[Pair]:
        """One pair for each number of new groups; where there are many, each stands for all from `fewest` to `most`."""
        old = self.inner.evidence(REMOVED).pair
        for fewest, most in _brackets(self.groups):
            yield _beside(Product.of([(old, self.groups - fewest)]), self._told(most), 0.0)

    def _replaced(self) -> Iterator[Pair]:
        """Each user has new groups of their own, old ones of their own, and groups that both are in."""
        if self.groups > MOST_REPLACED:
            raise NotCovered(f"{self}: a user replaced by another is covered for up to {MOST_REPLACED} groups per user")
        gone, come, both = (self.inner.evidence(n).pair for n in (REMOVED, ADDED, REPLACED))
        for shared in range(self.groups + 1):
            own = self.groups - shared
            for out in range(own + 1):
                for into in range(own + 1):
                    old = Product.of([(both, shared), (gone, own - out), (come, own - into)])
                    yield _beside(old, self._told(out), self._told(into))

    def _told(self, groups: int) -> float:
        """The chance that some of so many new groups is shown, rounded up."""
        if self.shown in (0.0, 1.0) or groups == 0:
            return self.shown if groups else 0.0
        return min(-math.expm1(groups * math.log1p(-self.shown)) * (1 + TOLD_ROUNDING), 1.0)

    def curve_of(self, neighbours: Neighbours) -> RenyiCurve | None:
        """None of its divergences is finite where a user may show; the pair says all."""
        return NO_CURVE if self.shown > 0 else super().curve_of(neighbours)

    def attained(self, neighbours: Neighbours, alone: bool) -> tuple[Pair, ...] | None:
        """All groups old, or all of them new."""
        if neighbours.leaving is not None:
            return tuple(pair.mix(neighbours.leaving) for pair in self._ends())
        if neighbours.coming is not None:
            return tuple(pair.mix(neighbours.coming).swap() for pair in self._ends())
        if neighbours not in (REMOVED, ADDED):
            return ()
        return tuple(pair if neighbours == REMOVED else pair.swap() for pair in self._ends())

    def _ends(self) -> list[Pair]:
        old = [Product.of([(pair, self.groups)]) for pair in self.inner.evidence(REMOVED).attained(False)]
        return [*old, Unmistakable(Product.of([]), self._told(self.groups) * (1 - 4 * TOLD_ROUNDING), 0.0)]

    @property
    def special(self) -> Special:
        return Special()

    def derivation(self) -> Step:
        return Step(
            str(self),
            "any group that is new with the user shows them, else the product over the old ones: the largest profile "
            "over the number of new groups (the proof is in docs/theory/tables.md)",
            f"a user is in at most {self.groups} groups; a group is shown by the same noisy number of users that is "
            f"released; one user alone gets a group shown with probability at most {self.shown:g}",
            (self.inner.derivation(),),
        )

    def __str__(self) -> str:
        return f"{self.inner}, in each of {self.groups} groups whose keys are shown above a threshold"


def _beside(old: Pair, told: float, other: float) -> Pair:
    """What old groups reveal, beside new ones of the one user and of the other."""
    return old if told == other == 0 else Unmistakable(old, told, other)


def _brackets(groups: int) -> Iterator[tuple[int, int]]:
    """Numbers of new groups, from and to: each alone for few groups, in runs that grow for many."""
    start, width = 0, 1
    while start <= groups:
        most = min(start + width - 1, groups)
        yield start, most
        start = most + 1
        width = 1 if groups <= MOST_CASES else max(1, start // 4)
