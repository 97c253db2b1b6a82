"""What one user, or one record, can move: sensitivities of numbers per group, under limits on groups and records.

A user is in at most l0 groups, with at most `each` records in a group and `total` in all. With L = min(each, total),
f = min(l0, total // L) full groups and r records in one more, the worst user has f groups of L records and one of r:
the sum of squares is convex. The proofs are in docs/theory/tables.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from hush.checks import count
from hush.curves.relation import Relation
from hush.errors import InvalidParameter

ROUNDED_UP = 1 + 1e-14
"""A root of a whole number, times a product, is off by less than this."""


@dataclass(frozen=True)
class AtMost:
    """At most so many groups of each user, so many records in each of them, and so many records in all.

    `total` may be left out, and it may stand alone: then it limits the groups, and the records in each, too.

    >>> AtMost(groups=10, each=2, total=5)
    AtMost(groups=10, each=2, total=5)
    """

    groups: int | None = None
    each: int | None = None
    total: int | None = None

    def __post_init__(self) -> None:
        for name in ("groups", "each", "total"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, count("AtMost", 1, **{name: value}))
        if self.total is None and (self.groups is None or self.each is None):
            rule = "groups and each, or total: without a limit one user could add anything"
            raise InvalidParameter("AtMost", rule, groups=self.groups, each=self.each, total=self.total)

    @property
    def l0(self) -> int:
        """The most groups that a user is in."""
        return min(number for number in (self.groups, self.total) if number is not None)

    @property
    def linf(self) -> int:
        """The most records of a user in one group."""
        return min(number for number in (self.each, self.total) if number is not None)

    @property
    def l1(self) -> int:
        """The most records of a user in all groups.

        >>> AtMost(groups=10, each=2, total=5).l1
        5
        """
        most = self.l0 * self.linf
        return most if self.total is None else min(most, self.total)

    @property
    def squares(self) -> int:
        """The largest sum of squares of a user's numbers of records per group: f L^2 + r^2.

        >>> AtMost(groups=10, each=2, total=5).squares, AtMost(groups=3, each=2).squares
        (9, 12)
        """
        if self.total is None:
            return self.l0 * self.linf**2
        full = min(self.l0, self.total // self.linf)
        rest = min(self.total - full * self.linf, self.linf) if full < self.l0 else 0
        return full * self.linf**2 + rest**2

    @property
    def once(self) -> AtMost:
        """The same where a user counts once in each group, however many records there are."""
        return AtMost(groups=self.l0, each=1)

    @property
    def in_one_group(self) -> AtMost:
        """What is left of it within one group."""
        return AtMost(groups=1, each=self.linf)


ONE_RECORD = AtMost(groups=1, each=1)
"""A record is in one group."""


@dataclass(frozen=True)
class Reach:
    """How far one user moves the numbers of all groups together: in L1, in L2, and how many numbers at most."""

    l1: int
    l2: float
    numbers: int


def reach_of(most: AtMost, relation: Relation, *, low: int, high: int, numbers: int = 1, spread: bool = False) -> Reach:
    """The sensitivity of numbers per group, to which each record adds.

    One number per group: each record adds a whole number from low to high. Several numbers (`spread`): each record adds
    numbers >= 0 that sum to at most `high`.

    >>> reach_of(AtMost(groups=10, each=2, total=5), Relation.ADD_REMOVE, low=0, high=1)
    Reach(l1=5, l2=3.0..., numbers=5)
    >>> reach_of(AtMost(groups=3, each=2), Relation.REPLACE, low=-1, high=1).l1
    12
    """
    size = max(abs(low), abs(high))
    l1, norm = most.l1 * size, math.sqrt(most.squares) * size
    touched = most.l0 * numbers
    if relation is Relation.ADD_REMOVE:
        return Reach(l1, norm * ROUNDED_UP, touched)
    if spread or low >= 0 or high <= 0:
        # of two vectors without opposite signs the squares of the difference are at most those of both
        return Reach(2 * l1, math.sqrt(2) * norm * ROUNDED_UP, 2 * touched)
    width = max(high, 0) - min(low, 0)
    apart = most.linf * math.sqrt(most.l0 * max(width**2, 2 * size**2))
    return Reach(2 * l1, min(apart, 2 * norm) * ROUNDED_UP, 2 * touched)
