"""The records of a table in the order of their values: windows of ranks, of files too in bounded memory.

Few records are kept and sorted. Of many, a first pass counts how many fall into each cell of a coarse division of the
lattice. Then a window of ranks concerns few cells, and a further pass keeps what falls into these. Where a cell holds
too many, it is divided again, down to single points, of which the count says all. So a window is what it would be in
memory, value by value, and whoever draws from it has the same law.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from hush.arrays import Array
from hush.errors import InvalidParameter
from hush.releases.noise.lattice import Lattice
from hush.releases.statistics.order_statistics import order_statistics
from hush.releases.tables.table import Table

HELD = 1 << 22
"""Records that are kept at once: 32 MiB of them."""
CELLS = 16
"""A division has 2^16 cells."""

CHANGED = "data that stay as they are while they are read several times"

Read = Callable[[Callable[[Iterator[Array]], Any]], list[Any]]
"""One pass: what a function makes of the lattice indices of all records, part by part; each time of the same ones."""


class OrderedRecords(ABC):
    """Lattice indices of records, in order."""

    size: int

    @abstractmethod
    def window(self, first: int, last: int) -> Array:
        """Those of ranks first..last (from 1)."""


class InMemory(OrderedRecords):
    """Values that are all in memory, of which a lattice is asked for only where they are needed.

    >>> InMemory(np.array([5.0, 1.0, 3.0]), Lattice.within((0, 10), step=1.0)).window(2, 3).tolist()
    [3, 5]
    """

    def __init__(self, values: Array, lattice: Lattice) -> None:
        self._values, self._lattice = values, lattice
        self.size = len(values)

    def window(self, first: int, last: int) -> Array:
        return self._lattice.indices(order_statistics(self._values, first, last))


class Sorted(OrderedRecords):
    """Indices that are all in memory, sorted once: for many windows.

    >>> Sorted(np.array([5, 1, 3])).window(2, 3).tolist()
    [3, 5]
    """

    def __init__(self, indices: Array) -> None:
        self._indices = np.sort(indices)
        self.size = len(indices)

    def window(self, first: int, last: int) -> Array:
        return self._indices[first - 1 : last]


@dataclass(frozen=True)
class Stretch:
    """Points of the lattice from `start` on, with so many records in them and before them."""

    start: int
    points: int
    before: int
    records: int

    @property
    def heavy(self) -> bool:
        """Whether too many records are in it to be kept, though it could still be divided."""
        return self.records > HELD // 2 and self.points > 1

    @property
    def last(self) -> int:
        """Its last point."""
        return self.start + self.points - 1


class Counted(OrderedRecords):
    """Records that are read again for every window.

    >>> values = [np.array([5, 1]), np.array([3])]
    >>> Counted(lambda function: [function(iter(values))], first=0, last=10).window(2, 3).tolist()
    [3, 5]
    """

    def __init__(self, read: Read, *, first: int, last: int) -> None:
        self._read = read
        self._counts: dict[tuple[int, int], Array] = {}
        self._whole = Stretch(first, 1 << (last - first).bit_length(), 0, 0)
        self._divide([self._whole])
        self.size = int(self._counts[first, self._whole.points].sum())

    def window(self, first: int, last: int) -> Array:
        low, high = self._whole, self._whole
        while True:
            low, high = self._of_rank(low, first), self._of_rank(high, last)
            heavy = [cell for cell in (low, high) if cell.heavy]
            if not heavy:
                break
            self._divide(heavy)
        if low == high and low.points == 1:
            return np.full(last - first + 1, low.start)
        # of a single point the count says all
        start, before = (low.last + 1, low.before + low.records) if low.points == 1 else (low.start, low.before)
        end, until = (high.start - 1, high.before) if high.points == 1 else (high.last, high.before + high.records)
        found = self._between(start, end, until - before)
        under, over = max(before - first + 1, 0), max(last - until, 0)
        inner = found[max(first - 1 - before, 0) : len(found) - max(until - last, 0)]
        return np.concatenate([np.full(under, low.start), inner, np.full(over, high.start)])

    def _of_rank(self, cell: Stretch, rank: int) -> Stretch:
        """The smallest known cell within this one that the rank falls into."""
        while (counts := self._counts.get((cell.start, cell.points))) is not None:
            points = _divided(cell.points)
            upto = cell.before + np.cumsum(counts)
            part = int(np.searchsorted(upto, rank))
            records = int(counts[part])
            cell = Stretch(cell.start + part * points, points, int(upto[part]) - records, records)
        return cell

    def _divide(self, cells: list[Stretch]) -> None:
        """One pass: how many records fall into each part of these cells."""
        asked = [(cell.start, cell.points) for cell in cells]
        parts = self._read(lambda batches: _counts_within(batches, asked))
        for place, cell in enumerate(cells):
            counts = np.sum([part[place] for part in parts], axis=0)
            if cell != self._whole and counts.sum() != cell.records:
                raise InvalidParameter("table", CHANGED, passes=2)
            self._counts[cell.start, cell.points] = counts

    def _between(self, start: int, end: int, records: int) -> Array:
        """One pass: the records at these points, in order."""
        parts = self._read(lambda batches: _kept_within(batches, start, end, records)) if records else []
        kept = np.concatenate([np.empty(0, dtype=np.int64), *parts])
        if len(kept) != records:
            raise InvalidParameter("table", CHANGED, passes=2)
        kept.sort()
        return kept


def _counts_within(batches: Iterator[Array], cells: list[tuple[int, int]]) -> list[Array]:
    found = [np.zeros(points // _divided(points), dtype=np.int64) for _, points in cells]
    for indices in batches:
        for (start, points), counts in zip(cells, found, strict=True):
            places = indices - start
            places = places[(places >= 0) & (places < points)] // _divided(points)
            counts += np.bincount(places, minlength=len(counts))
    return found


def _kept_within(batches: Iterator[Array], start: int, end: int, most: int) -> Array:
    """No more than one beyond what was counted: then the records are not those that were."""
    found, size = [np.empty(0, dtype=np.int64)], 0
    for indices in batches:
        found.append(indices[(indices >= start) & (indices <= end)])
        size += len(found[-1])
        if size > most:
            break
    return np.concatenate(found)


def _divided(points: int) -> int:
    """The points of a part of a cell of so many, a power of two."""
    return max(points >> CELLS, 1)


def held(table: Table) -> Array | None:
    """The numbers of the table's column where they are in memory or few; None where they are many."""
    found, count = [], 0
    for piece in table.batches(numbers=True):
        found.append(piece)
        count += len(piece)
        if len(found) > 1 and count > HELD and not table.reader.once:
            return None
    return found[0] if len(found) == 1 else np.concatenate(found) if found else np.empty(0)


def ordered_records(table: Table, lattice: Lattice) -> OrderedRecords:
    """The numbers of the table's column, moved to a lattice."""
    values = None if table.reader.spread else held(table)
    if values is not None:
        return InMemory(without_nan(values, lattice), lattice)
    moved = lambda batches: (lattice.indices(without_nan(piece, lattice)) for piece in batches)  # noqa: E731
    read: Read = lambda function: table.partials(lambda found: function(moved(found)), numbers=True)  # noqa: E731
    return Counted(read, first=lattice.first, last=lattice.last)


def without_nan(values: Array, lattice: Lattice) -> Array:
    """Numbers that can be ordered: NaN counts as the least value that can come out."""
    if values.dtype.kind not in "fiub":
        values = values.astype(float)
    if values.dtype.kind == "f":
        missing = np.isnan(values)
        if missing.any():
            return np.where(missing, lattice.value(lattice.first), values.astype(float))
    return values
