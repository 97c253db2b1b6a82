"""Two neighbouring datasets: how many records each has that the other has not, which a sample makes random.

Whoever writes a leaf meets them in `mixture` and `curve_of`; whoever writes a scheme makes new ones with `thin`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

Counts = tuple[float, ...]
"""Probabilities that 0, 1, 2, ... of the records that differ take part."""

NONE: Counts = (1.0,)


def exactly(records: int) -> Counts:
    """All of so many records take part.

    >>> exactly(2)
    (0.0, 0.0, 1.0)
    """
    return (0.0,) * records + (1.0,)


def settled(counts: Counts) -> int | None:
    """The number of records that take part, where it is certain."""
    ones = [k for k, weight in enumerate(counts) if weight > 0]
    return ones[0] if len(ones) == 1 else None


@dataclass(frozen=True)
class Neighbours:
    """P's data has the removed records, Q's data the added ones instead; each takes part with some probability.

    >>> one = Neighbours.of(removed=1)
    >>> one.settled, one.thin(lambda counts: (0.9, 0.1) if counts == (0.0, 1.0) else counts).leaving
    ((1, 0), 0.1)
    """

    removed: Counts
    added: Counts
    in_place: bool = False
    """Whether a blank record, which adds nothing, stands on the side that lacks one: Relation.ZERO_OUT."""

    @classmethod
    def of(cls, removed: int = 0, added: int = 0, *, in_place: bool = False) -> Neighbours:
        """All of the records that differ take part."""
        return cls(exactly(removed), exactly(added), in_place)

    @classmethod
    def replaced(cls, counts: Counts) -> Neighbours:
        """As many records on one side as on the other: a replacement."""
        return cls(counts, counts)

    @cached_property
    def _sides(self) -> tuple[int | None, int | None]:
        return settled(self.removed), settled(self.added)

    @property
    def settled(self) -> tuple[int, int] | None:
        """How many are removed and how many added, where both are certain."""
        removed, added = self._sides
        return None if removed is None or added is None else (removed, added)

    @property
    def nobody(self) -> bool:
        """Whether the two datasets are the same."""
        return self._sides == (0, 0)

    @property
    def one_way(self) -> bool:
        """Whether records only leave, or only come."""
        return 0 in self._sides

    @property
    def most(self) -> int:
        """The largest number of records that may take part on a side."""
        return max(len(self.removed), len(self.added)) - 1

    @property
    def leaving(self) -> float | None:
        """The chance that the one removed record takes part, where that is all that differs, and not certain."""
        removed, added = self._sides
        return self.removed[1] if added == 0 and removed is None and len(self.removed) == 2 else None

    @property
    def coming(self) -> float | None:
        """The same for one added record."""
        return self.swap().leaving

    @property
    def exchanged(self) -> float | None:
        """The chance that a record takes part which is replaced by another, as likely to be drawn."""
        one = len(self.removed) == 2 and self.removed == self.added and 0 < self.removed[0] < 1
        return self.removed[1] if one else None

    @property
    def sampled(self) -> float | None:
        """The chance that one record takes part which only one of the two datasets has, where it is not certain."""
        return self.coming if self.leaving is None else self.leaving

    @property
    def certain(self) -> Neighbours:
        """The same change where all of the records that may take part do."""
        return Neighbours(exactly(len(self.removed) - 1), exactly(len(self.added) - 1), self.in_place)

    def swap(self) -> Neighbours:
        """The same two datasets, the other one first."""
        return Neighbours(self.added, self.removed, self.in_place)

    def thin(self, removed: Callable[[Counts], Counts], added: Callable[[Counts], Counts] | None = None) -> Neighbours:
        """How many take part on either side after a sample is drawn; the two sides may be rounded in different ways."""
        return Neighbours(removed(self.removed), (added or removed)(self.added), self.in_place)


REMOVED, ADDED, REPLACED = Neighbours.of(removed=1), Neighbours.of(added=1), Neighbours.of(1, 1)
