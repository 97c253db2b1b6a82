"""The few records of each user that the limits keep, each in a cell of its own: no sorting, whatever the user has more.

A user has a shelf for each group that may count, and a shelf has a cell for each record. A group that comes before the
last one of its user takes its shelf; a record that comes before the last one of its shelf takes its cell. "Before" is
by hash. What the hashes do not decide is left to `hush.releases.tables.tallying.kept_records`, which takes over all
that is kept here: then it is decided by what keys and records hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from hush.releases.tables.tally import Limits

FEW = 16
"""Cells per user up to which they are worth their memory."""
MANY = 1 << 24
"""Cells from which on at least half must be filled."""
LAST = np.uint64(2**64 - 1)
"""The hash of an empty cell: nothing is behind it."""
NO_GROUP = -1
PIECE = 1 << 16
"""Shelves that are listed at once."""


class Shelves:
    """Shelves of some cells each, which keep the records of least hash.

    >>> shelves = Shelves(cells=1)
    >>> shelves.grow(2)
    >>> at, hashes = np.array([0, 1]), np.array([[5, 7], [4, 8]], dtype=np.uint64)
    >>> shelves.put(at, hashes[0], [np.array([1, 2])]), shelves.put(at, hashes[1], [np.array([3, 4])])
    (True, True)
    >>> shelves.last.tolist(), shelves.content[0].tolist()
    ([4, 7], [3, 2])
    """

    def __init__(self, cells: int) -> None:
        self.cells = cells
        self.hashes = np.empty((0, cells), dtype=np.uint64)
        self.content: list[np.ndarray] = []
        """Of each column one cell after the other, shelf after shelf."""
        self.last = np.empty(0, dtype=np.uint64)
        """The largest hash of each shelf: LAST where there is an empty cell."""
        self._worst = np.empty(0, dtype=np.int8)
        """Which cell has it."""

    def grow(self, more: int) -> None:
        """So many more shelves."""
        self.hashes, self.last = grown(self.hashes, more, LAST), grown(self.last, more, LAST)
        self._worst = grown(self._worst, more, 0)
        self.content = [grown(column, more * self.cells, 0) for column in self.content]

    def clear(self, shelves: np.ndarray) -> None:
        """These shelves lose what they hold."""
        self.hashes[shelves] = self.last[shelves] = LAST
        self._worst[shelves] = 0

    def put(self, shelves: np.ndarray, hashes: np.ndarray, content: Sequence[np.ndarray]) -> bool:
        """One record for each of different shelves; False, and nothing is done, where hashes do not decide."""
        if not self.content:
            self.content = [np.zeros(self.hashes.size, dtype=column.dtype) for column in content]
        held = _columns(self.hashes, shelves)
        if (hashes == LAST).any() or not self._same(shelves, held == hashes, content):
            return False
        enters = np.flatnonzero(hashes < self.last.take(shelves))
        if len(enters) < len(shelves):
            shelves, hashes, held = shelves.take(enters), hashes.take(enters), held.take(enters, axis=1)
            content = [column.take(enters) for column in content]
        cell = self._worst.take(shelves)
        held[cell, np.arange(len(shelves))] = hashes
        place = shelves * self.cells + cell
        self.hashes.reshape(-1)[place] = hashes
        for kept, new in zip(self.content, content, strict=True):
            kept[place] = new
        self.last[shelves], self._worst[shelves] = _largest(held)
        return True

    def _same(self, shelves: np.ndarray, equal: np.ndarray, content: Sequence[np.ndarray]) -> bool:
        """Whether records whose hashes are equal hold the same: then any of them may stand for the others."""
        if not equal.any():
            return True
        cells, rows = np.nonzero(equal)
        place = shelves[rows] * self.cells + cells
        return all(np.array_equal(kept[place], new[rows]) for kept, new in zip(self.content, content, strict=True))

    def filled(self) -> int:
        """How many cells are not empty."""
        return int(np.count_nonzero(self.hashes != LAST))

    def listed(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
        """Shelf, hash and content of the records of some shelves."""
        shelf, cell = np.nonzero(self.hashes[first:last] != LAST)
        place = (shelf + first) * self.cells + cell
        return shelf + first, self.hashes.reshape(-1).take(place), [column.take(place) for column in self.content]


class KeptCells:
    """The shelves of users; without a limit on groups, each user has one shelf for all of them.

    >>> kept = KeptCells(Limits(None, groups=1, each=1, total=None, secret=b""))
    >>> users, groups, hashes = np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([5, 2, 2], dtype=np.uint64)
    >>> kept.within(users, hashes).tolist()
    [0, 1, 2]
    >>> kept.add(users, groups, hashes, hashes, [np.array([7, 8, 9])]).tolist()
    []
    >>> [column.tolist() for columns in kept.listed() for column in columns[:2]]
    [[0, 1], [1, 1]]
    """

    def __init__(self, limits: Limits) -> None:
        self._by_group = limits.groups is not None
        self._groups_each = limits.groups or 1
        self._shelves = Shelves(_in_each(limits))
        self._users = 0
        self._group_hashes = np.empty((0, self._groups_each), dtype=np.uint64)
        self._groups = np.empty((0, self._groups_each), dtype=np.int32)
        self._last_group = np.empty(0, dtype=np.uint64)
        """The largest hash of the groups of each user."""
        self._winner = np.empty(0, dtype=np.int32)

    def within(self, users: np.ndarray, hashes: np.ndarray) -> np.ndarray | None:
        """Places of the records that may still be kept, by the hashes of (user, group); None where there is no room."""
        if not self.room(users):
            return None
        if not self._by_group:
            return np.arange(len(users))
        return np.flatnonzero(hashes <= self._last_group.take(users))

    def room(self, users: np.ndarray) -> bool:
        """Whether there is room for these users; it is made, unless most of it would stay empty."""
        most = int(users.max()) + 1 if len(users) else 0
        if most <= self._users:
            return True
        each = self._groups_each * self._shelves.cells
        more = max(most, min(2 * self._users, self._users + MANY // each)) - self._users
        if (self._users + more) * each > MANY and 2 * self._shelves.filled() < most * each:
            return False
        self._shelves.grow(more * self._groups_each)
        self._winner = grown(self._winner, more, 0)
        if self._by_group:
            self._group_hashes = grown(self._group_hashes, more, LAST)
            self._groups = grown(self._groups, more, NO_GROUP)
            self._last_group = grown(self._last_group, more, LAST)
        self._users += more
        return True

    def add(
        self,
        users: np.ndarray,
        groups: np.ndarray,
        group_hashes: np.ndarray,
        hashes: np.ndarray,
        content: Sequence[np.ndarray],
    ) -> np.ndarray:
        """More records of users that `within` has seen. What is given back: the places of those that are left over.

        `hashes` are those of whole records. As long as nothing is left over, what is kept is what it has to be.
        """
        left = self._may_enter(slice(None), users, groups, group_hashes, hashes)
        content = content if self._by_group else [groups.astype(np.int32), *content]
        while len(left):
            at = users.take(left)
            self._winner[at] = left  # one record of each user at a time
            won = self._winner.take(at) == left
            turn = left[won]
            shelves = (
                at[won] if not self._by_group else self._shelf(at[won], groups.take(turn), group_hashes.take(turn))
            )
            if shelves is None or not self._shelves.put(
                shelves, hashes.take(turn), [column.take(turn) for column in content]
            ):
                return left
            left = left[~won]
            left = left[self._may_enter(left, users, groups, group_hashes, hashes)]
        return left

    def _may_enter(
        self,
        left: np.ndarray | slice,
        users: np.ndarray,
        groups: np.ndarray,
        group_hashes: np.ndarray,
        hashes: np.ndarray,
    ) -> np.ndarray:
        """Which of these records are not behind all of what is kept."""
        at, hashes = users[left], hashes[left]
        if not self._by_group:
            return np.flatnonzero(hashes <= self._shelves.last.take(at))
        near = np.flatnonzero(group_hashes[left] <= self._last_group.take(at))
        at = at.take(near)
        place = _place(_columns(self._groups, at), groups[left].take(near))
        shelf = at * self._groups_each + place  # of a group that has none, the shelf before: its last hash is not asked
        return near[(place < 0) | (hashes.take(near) <= self._shelves.last.take(shelf))]

    def _shelf(self, users: np.ndarray, groups: np.ndarray, group_hashes: np.ndarray) -> np.ndarray | None:
        """The shelf of each group: its own, or that of the last group of the user, which leaves; None for a tie."""
        place = _place(_columns(self._groups, users), groups)
        held = _columns(self._group_hashes, users)
        others = np.arange(self._groups_each)[:, None] != place
        if ((held == group_hashes) & others).any() or (group_hashes == LAST).any():
            return None
        is_new = np.flatnonzero(place < 0)
        place[is_new] = _largest(held.take(is_new, axis=1))[1]
        shelves = users * self._groups_each + place
        self._group_hashes.reshape(-1)[shelves[is_new]] = group_hashes[is_new]
        self._groups.reshape(-1)[shelves[is_new]] = groups[is_new]
        self._shelves.clear(shelves[is_new])
        self._last_group[users[is_new]] = _largest(_columns(self._group_hashes, users[is_new]))[0]
        return shelves

    def listed(self) -> Iterator[list[np.ndarray]]:
        """Users, groups, hashes of (user, group), hashes of records, and content of all that is kept."""
        for first in range(0, len(self._shelves.last), PIECE * self._groups_each):
            shelf, hashes, content = self._shelves.listed(first, first + PIECE * self._groups_each)
            if not len(shelf):
                continue
            users = (shelf // self._groups_each).astype(np.int32)
            if self._by_group:
                groups, of_group = self._groups.reshape(-1).take(shelf), self._group_hashes.reshape(-1).take(shelf)
            else:
                (groups, *content), of_group = content, np.zeros(len(shelf), dtype=np.uint64)
            yield [users, groups, of_group, hashes, *content]


def few_cells(limits: Limits) -> bool:
    """Whether these limits ask for few cells, and for one order: by groups first, or by records alone."""
    if limits.groups is None:
        return limits.each is None and limits.total is not None and limits.total <= FEW
    return (limits.each or limits.total) is not None and limits.groups * _in_each(limits) <= FEW


def _in_each(limits: Limits) -> int:
    """The most records of a group: never more than in all."""
    return min(number for number in (limits.each, limits.total) if number is not None)


def _columns(table: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """These rows of a table of few columns, one column after the other: what is compared then lies side by side."""
    return np.ascontiguousarray(table.take(rows, axis=0).T)


def _place(columns: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The last column that holds what is wanted, row by row; -1 where none does. No branches: they would be guessed."""
    found = np.zeros(columns.shape[1], dtype=np.int8)
    for number, column in enumerate(columns, start=1):
        np.maximum(found, (column == wanted).view(np.int8) * np.int8(number), out=found)
    return found.astype(np.int64) - 1


def _largest(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The largest number of each row, and its place."""
    most = np.maximum.reduce(columns, axis=0)
    return most, _place(columns, most)


def grown(column: np.ndarray, more: int, empty: np.generic | int) -> np.ndarray:
    """The array with so many rows more."""
    found = np.empty((len(column) + more, *column.shape[1:]), dtype=column.dtype)
    found[: len(column)], found[len(column) :] = column, empty
    return found
