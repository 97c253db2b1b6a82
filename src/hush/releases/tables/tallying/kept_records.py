"""At most so many groups, and so many records, of each user: chosen by hashes of what the user's own records hold.

What is kept of a user depends on that user's records and a secret alone, in whatever order they come. So adding or
removing a user changes nobody else's records. What is evicted never comes back, so memory is that of what is kept: once
a user has all that is allowed, whatever lies behind it in the order is dropped as it comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from hush.releases.tables.ids.text_bytes import GOLDEN, MULTIPLIERS, mixed
from hush.releases.tables.tally import Limits
from hush.releases.tables.tallying.kept_cells import LAST, KeptCells, few_cells

PENDING = 1 << 21
"""Records that wait, at least, before they are sorted in with what is kept."""


class KeptRecords:
    """Records as columns of whole numbers: user, group, hash of the group for the user, hash of the content, content.

    >>> kept = KeptRecords(Limits(None, groups=1, each=1, total=None, secret=b""), lambda: None)
    >>> kept.add(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([5, 2, 2], dtype=np.uint64), [np.array([7, 8, 9])])
    >>> [(groups.tolist(), content[0].tolist()) for _, groups, content in kept.finished()]
    [([1, 1], [8, 9])]
    """

    def __init__(self, limits: Limits, ranks: Callable[[], np.ndarray | None]) -> None:
        """`ranks` gives each group's place among all in the order of their keys; None where that is its number."""
        self._limits, self._ranks = limits, ranks
        self._cells = KeptCells(limits) if few_cells(limits) else None
        """Where records are kept as long as hashes alone decide."""
        self._columns: list[list[np.ndarray]] = []
        self._waiting, self._kept = 0, 0
        self._last = np.empty(0, dtype=np.uint64)
        """Of each user the hash behind which nothing more is kept: of groups if these are limited, else of records."""

    def within(self, users: np.ndarray, hashes: np.ndarray) -> np.ndarray:
        """Places of the records that may still be kept, by the hashes of (user, group)."""
        found = None if self._cells is None else self._cells.within(users, hashes)
        if found is not None:
            return found
        self._leave_cells()
        return self._before(users, hashes if self._limits.groups is not None else None)

    def _before(self, users: np.ndarray, hashes: np.ndarray | None) -> np.ndarray:
        most = int(users.max()) + 1 if len(users) else 0
        if most > len(self._last):
            more = np.full(max(most, 2 * len(self._last)) - len(self._last), LAST)
            self._last = np.concatenate([self._last, more])
        return np.arange(len(users)) if hashes is None else np.flatnonzero(hashes <= self._last.take(users))

    def add(self, users: np.ndarray, groups: np.ndarray, hashes: np.ndarray, content: Sequence[np.ndarray]) -> None:
        """More records; `hashes` are those of (user, group)."""
        records = record_hash(hashes, content)
        if self._limits.groups is None and self._limits.each is None:
            hashes = np.zeros_like(hashes)  # groups have no order of their own
        columns = [users, groups, hashes, records, *content]
        if self._cells is not None and self._cells.room(users):
            left = self._cells.add(users, groups, hashes, records, content)
            if not len(left):
                return
            columns = [column.take(left) for column in columns]
        self._leave_cells()
        self._wait([*(column.astype(np.int32) for column in columns[:2]), *columns[2:]])

    def _leave_cells(self) -> None:
        """From now on all is kept here."""
        if self._cells is not None:
            cells, self._cells = self._cells, None
            for columns in cells.listed():
                self._wait(columns)

    def _wait(self, columns: list[np.ndarray]) -> None:
        """These records wait to be sorted in with what is kept."""
        chosen = self._before(columns[0], columns[3] if self._limits.groups is None else columns[2])
        if len(chosen) < len(columns[0]):
            columns = [column.take(chosen) for column in columns]
        self._columns = self._columns or [[] for _ in columns]
        for held, new in zip(self._columns, columns, strict=True):
            held.append(new)
        self._waiting += len(columns[0])
        if self._waiting > max(PENDING, self._kept):
            self._shrink()

    def finished(self) -> Iterator[tuple[np.ndarray, np.ndarray, list[np.ndarray]]]:
        """Users, groups and content of the records that are kept; all of a user's come together."""
        if self._cells is None or (self._limits.groups is not None and self._limits.total is not None):
            self._leave_cells()
            if self._columns:
                self._shrink()
        kept = [[held[0] for held in self._columns]] if self._cells is None else self._cells.listed()
        for columns in kept:
            if columns:
                users, groups, _, _, *content = columns
                yield users, groups, content

    def _shrink(self) -> None:
        self._columns = [[np.concatenate(held)] for held in self._columns]
        if self._limits.groups is not None or self._limits.each is not None:
            self._take(self._order(by_group=True))
            self._take(np.flatnonzero(self._allowed()))
        if self._limits.groups is None and self._limits.total is not None:
            self._take(self._order(by_group=False))
            self._take(np.flatnonzero(_places(_starts(self._columns[0][0])) < self._limits.total))
        self._note_last()
        self._waiting, self._kept = 0, len(self._columns[0][0])

    def _take(self, places: np.ndarray) -> None:
        for held in self._columns:  # one after the other, so that only one column is there twice
            held[0] = held[0].take(places)

    def _order(self, *, by_group: bool) -> np.ndarray:
        """By user, then by the group's hash and the record's, or by the record's alone.

        One sort by the first bits of all of them; users for whom these bits are not enough, or whose hashes tie, are
        sorted again by what keys and records hold: numbers of groups must not decide, they depend on other users.
        """
        users, groups, hashes, records, *content = (held[0] for held in self._columns)
        first, second = (hashes, records) if by_group else (records, hashes)
        order = np.argsort(_leading(users, first, second))
        again = _unsettled(order, users, first, second, groups, content)
        if len(again):
            places = np.flatnonzero(np.isin(users.take(order), again))
            rows, ranks = order[places], self._ranks()
            named = groups[rows] if ranks is None else ranks[groups[rows]]
            ties = [column[rows] for column in reversed(content)]
            exact = [*ties, second[rows], named, first[rows], users[rows]]
            order[places] = rows[np.lexsort(exact)]
        return order

    def _allowed(self) -> np.ndarray:
        """Of records in order of the groups' hashes: which are within the limits."""
        users, groups = self._columns[0][0], self._columns[1][0]
        first = _starts(users)
        group = first | _starts(groups)
        kept = np.ones(len(users), dtype=bool)
        if self._limits.groups is not None:
            number = np.cumsum(group)
            kept &= number - number[np.flatnonzero(first)][np.cumsum(first) - 1] < self._limits.groups
        if self._limits.each is not None:
            kept &= _places(group) < self._limits.each
        if self._limits.groups is not None and self._limits.total is not None:
            # places among those that are kept so far
            before = np.cumsum(kept) - kept
            kept &= before - before[np.flatnonzero(first)][np.cumsum(first) - 1] < self._limits.total
        return kept

    def _note_last(self) -> None:
        """Who has all that is allowed keeps nothing behind the last hash that was kept."""
        users, groups, hashes, records, *_ = (held[0] for held in self._columns)
        ends = np.flatnonzero(_starts(users[::-1])[::-1])
        counted = np.diff(ends, prepend=-1)
        full = np.zeros(len(ends), dtype=bool)
        if self._limits.total is not None:
            full |= counted == self._limits.total
        if self._limits.groups is not None:
            runs = np.cumsum(_starts(users) | _starts(groups))[ends]
            full |= np.diff(runs, prepend=0) == self._limits.groups
        behind = hashes if self._limits.groups is not None else records
        self._last[users[ends[full]]] = behind[ends[full]]


def _leading(users: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The user and the first bits of two hashes in one word."""
    bits = max(int(users.max()).bit_length(), 1) if len(users) else 1
    half = (64 - bits) // 2
    rest = 64 - bits - half
    found = users.astype(np.uint64) << np.uint64(64 - bits)
    found |= (first >> np.uint64(64 - half)) << np.uint64(rest)
    found |= second >> np.uint64(64 - rest)
    return found


def _unsettled(
    order: np.ndarray, users: np.ndarray, first: np.ndarray, second: np.ndarray, groups: np.ndarray, content: list
) -> np.ndarray:
    """Users whose records are not in order yet, or in an order that their hashes do not decide."""
    same = _pairs(users, order, np.equal)
    tied = _pairs(first, order, np.equal)
    wrong = _pairs(first, order, np.less)
    places = np.flatnonzero(same & tied)  # records of one group, as a rule
    left, right = order[places], order[places + 1]
    wrong[places] = (second[right] < second[left]) | (groups[right] != groups[left])
    equal = second[right] == second[left]
    for column in content:
        wrong[places[equal]] |= column[right[equal]] != column[left[equal]]
    return np.unique(users[order[1:][same & wrong]])


def _pairs(column: np.ndarray, order: np.ndarray, compare: Callable[..., np.ndarray]) -> np.ndarray:
    """Each record compared with the one before it, in this order."""
    found = column.take(order)
    return compare(found[1:], found[:-1])


def record_hash(hashes: np.ndarray, content: Sequence[np.ndarray]) -> np.ndarray:
    """64 bits for user, group and content; how well they are mixed is a matter of fairness, not of privacy."""
    found = hashes + GOLDEN
    for column in content:
        if column.dtype.itemsize == 1:  # whether a number counts
            found += column.view(np.uint8)
            continue
        found ^= column.astype(np.int64, copy=False).view(np.uint64)
        found *= MULTIPLIERS[0]
        found ^= found >> np.uint64(32)
    return mixed(found)


def _starts(column: np.ndarray) -> np.ndarray:
    found = np.ones(len(column), dtype=bool)
    found[1:] = column[1:] != column[:-1]
    return found


def _places(starts: np.ndarray) -> np.ndarray:
    """How many records lie between each and the last start before it."""
    place = np.arange(len(starts))
    return place - np.maximum.accumulate(np.where(starts, place, 0))
