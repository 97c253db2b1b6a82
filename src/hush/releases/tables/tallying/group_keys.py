"""Which group each record is in: given keys in their order, or whatever keys the data hold."""

from __future__ import annotations

import math
import re
from functools import cached_property
from typing import Any

import numpy as np

from hush.releases.row_wise.row_constants import NUMBER, TEXT, TRUTH
from hush.releases.row_wise.row_expressions import ColumnOf, Expression
from hush.releases.tables.columns import objects
from hush.releases.tables.tally import Key, key_order
from hush.releases.tables.tallying.codes import DENSE, Codes, keyed_hash, plain
from hush.releases.tables.tallying.row_values import NULL, RowValues, Texts, missing

WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
"""A whole number in a cell of text."""
LONG = 2**63
TEXTS = {str, type(None)}
GROUPS = b"group"
"""What the hash of a key is for: no other hash of the same value is the same."""


def column_keys(batch: RowValues, expression: Expression, members: tuple[Any, ...] | None) -> np.ndarray | Texts:
    """The keys of a column as texts, truth values, or cells: whole numbers, or objects of no declared type."""
    given = batch.gives(expression)
    if given == TEXT:
        return batch.texts(expression)
    if given == TRUTH:
        return objects([False, True, None])[batch.truths(expression)]
    if not isinstance(expression, ColumnOf):
        return objects([None if math.isnan(v) else int(v) for v in batch.numbers(expression)])
    cells = batch.column(expression.name)
    if given == NUMBER:
        return cells
    if members is not None and any(isinstance(member, int) for member in members):
        return objects([_whole(cell) for cell in cells])
    return (
        cells if cells.dtype.kind != "O" or set(map(type, cells)) <= TEXTS else objects([_key(cell) for cell in cells])
    )


def _key(cell: Any) -> Any:
    """A cell of no declared type as a key: a text, a truth value, or a whole number of 64 bits."""
    found = plain(cell)
    return None if isinstance(found, bytes) or (isinstance(found, int) and not -LONG <= found < LONG) else found


def _whole(cell: Any) -> Any:
    """A cell of no declared type as what a whole number or truth value is compared with."""
    found = _key(cell)
    return int(found) if isinstance(found, str) and WHOLE.fullmatch(found) else found


class GivenKeys:
    """Keys that were given, in their order; records of other keys are left out.

    >>> from hush.releases.row_wise.row_expressions import col
    >>> keys = GivenKeys((col("region"),), (("N",), ("S",)))
    >>> batch = RowValues({"region": np.array(["S", "N", "X"])}, {"region": "words"}, 3)
    >>> keys.codes(batch).tolist()
    [1, 0, -1]
    """

    def __init__(self, keys: tuple[Expression, ...], domain: tuple[Key, ...]) -> None:
        self._keys, self._domain = keys, domain
        one = len(keys) == 1  # each key is one member, in the same order
        self._columns = [_Members([key[place] for key in domain], different=one) for place in range(len(keys))]
        self._hashes: np.ndarray | None = None
        self._place = np.empty(0, dtype=np.int64) if one else self._of_members()

    def _of_members(self) -> np.ndarray:
        """The place in the domain of each combination of members; NULL where it has none."""
        found = np.full([len(column.values) for column in self._columns] or [1], NULL, dtype=np.int64)
        for place, key in enumerate(self._domain):
            found[tuple(column.places[_typed(part)] for column, part in zip(self._columns, key, strict=True))] = place
        return found

    def __len__(self) -> int:
        return len(self._domain)

    def codes(self, batch: RowValues) -> np.ndarray:
        """The place of each record's key; NULL where it is none of them."""
        if not self._keys:
            return np.zeros(batch.size, dtype=np.int64)
        if len(self._keys) == 1:
            return self._column(batch, 0)  # each key is one member, in the same order
        found = [self._column(batch, place) for place in range(len(self._keys))]
        inside = np.all([codes != NULL for codes in found], axis=0)
        return np.where(inside, self._place[tuple(np.where(inside, codes, 0) for codes in found)], NULL)

    def _column(self, batch: RowValues, place: int) -> np.ndarray:
        column = self._columns[place]
        cells = column_keys(batch, self._keys[place], column.values)
        if not isinstance(cells, Texts) and cells.dtype.kind in "iu":
            return column.whole.of(cells)
        known = column.places
        null = known.get(NULL_KEY, NULL)
        if isinstance(cells, Texts):
            found = cells.mapped({word: known.get(_typed(word), NULL) for word in cells.words}, NULL, np.int64)
            return np.where(cells.codes == NULL, null, found)
        codes = (null if missing(cell) else known.get(_typed(plain(cell)), NULL) for cell in cells)
        return np.fromiter(codes, dtype=np.int64, count=len(cells))

    def hashes(self, secret: bytes) -> np.ndarray:
        """A hash of each key, always with the same secret."""
        if self._hashes is None:
            self._hashes = np.array([keyed_hash(secret, key, GROUPS) for key in self._domain], dtype=np.uint64)
        return self._hashes

    def order(self) -> np.ndarray | None:
        """Groups are numbered in the order that was given."""
        return None

    def groups(self) -> tuple[tuple[Key, ...], np.ndarray]:
        """The keys, and the number of each."""
        return self._domain, np.arange(len(self._domain))


class FoundKeys:
    """Keys of the data, numbered as they come; they leave in the order of what they are."""

    def __init__(self, keys: tuple[Expression, ...]) -> None:
        self._keys = keys
        self._columns = [Codes() for _ in keys]
        self._joined = Codes()
        self._hashes = np.empty(0, dtype=np.uint64)

    def __len__(self) -> int:
        return len(self._joined)

    def codes(self, batch: RowValues) -> np.ndarray:
        """The number of each record's key; NULL where a part of it is missing."""
        parts = [codes.of(column_keys(batch, key, None)) for codes, key in zip(self._columns, self._keys, strict=True)]
        inside = np.all([codes != NULL for codes in parts], axis=0)
        if len(parts) == 1:
            joined = parts[0]
        else:
            rows, joined = np.unique(np.stack(parts, axis=1), axis=0, return_inverse=True)
            joined = joined.reshape(-1)
            known = [self._joined.known(tuple(row)) if min(row) != NULL else NULL for row in rows.tolist()]
            joined = np.array([*known, NULL], dtype=np.int64)[joined]
        if len(parts) == 1:
            self._joined = self._columns[0]
        return np.where(inside, joined, NULL)

    def keys(self) -> list[Key]:
        """All keys so far, by number."""
        if len(self._keys) == 1:
            return [(value,) for value in self._joined.values]
        columns = [codes.values for codes in self._columns]
        return [tuple(v[c] for v, c in zip(columns, row, strict=True)) for row in self._joined.values]

    def hashes(self, secret: bytes) -> np.ndarray:
        """A hash of each key, those of new ones added."""
        if len(self._hashes) < len(self):
            new = self.keys()[len(self._hashes) :]
            more = np.array([keyed_hash(secret, key, GROUPS) for key in new], dtype=np.uint64)
            self._hashes = np.concatenate([self._hashes, more])
        return self._hashes

    def order(self) -> np.ndarray | None:
        """The place of each number among all keys in their order."""
        _, numbers = self.groups()
        ranks = np.empty(len(numbers), dtype=np.int64)
        ranks[numbers] = np.arange(len(numbers))
        return ranks

    def groups(self) -> tuple[tuple[Key, ...], np.ndarray]:
        """The keys in their order, and the number of each."""
        keys = self.keys()
        numbers = sorted(range(len(keys)), key=lambda number: key_order(keys[number]))
        return tuple(keys[number] for number in numbers), np.array(numbers, dtype=np.int64)


NULL_KEY = ("null", None)
"""A key that stands for records without one."""


def _typed(value: Any) -> tuple[str, Any]:
    """A key with its type, so that 1 is not True."""
    return NULL_KEY if value is None else (type(value).__name__, value)


class _Members:
    """The different values of one key column, in the order in which they are given."""

    def __init__(self, values: list[Any], *, different: bool) -> None:
        if different:
            self.values = tuple(values)
        else:
            self.values = tuple(value for _, value in dict.fromkeys(map(_typed, values)))

    @cached_property
    def places(self) -> dict[tuple[str, Any], int]:
        """The place of each, by type and value."""
        return {_typed(value): place for place, value in enumerate(self.values)}

    @cached_property
    def whole(self) -> _WholePlaces:
        """The places of those that are whole numbers."""
        return _WholePlaces(self.values)


class _WholePlaces:
    """Places of whole numbers among given ones, exactly: by their distance from the first where they follow one another
    in order, by an array where they are small, else by a search."""

    def __init__(self, members: tuple[Any, ...]) -> None:
        places = np.flatnonzero(np.fromiter((type(value) is int for value in members), dtype=bool, count=len(members)))
        values = np.array([value for value in members if type(value) is int], dtype=np.int64)
        self._in_order = len(values) == len(members) and bool(np.all(values[1:] == values[:-1] + 1))
        order = slice(None) if self._in_order else np.argsort(values, kind="stable")
        self._values, self._places = values[order], places[order]
        self._dense = np.empty(0, dtype=np.int64)
        if not self._in_order and len(values) and self._values[0] >= 0 and self._values[-1] < DENSE:
            self._dense = np.full(int(self._values[-1]) + 1, NULL, dtype=np.int64)
            self._dense[self._values] = self._places

    def of(self, cells: np.ndarray) -> np.ndarray:
        """The place of each cell; NULL where it is none of them."""
        if not len(self._values) or not len(cells):
            return np.full(len(cells), NULL, dtype=np.int64)
        low, high = int(cells.min()), int(cells.max())
        first, last = int(self._values[0]), int(self._values[-1])
        if self._in_order and first <= low and high <= last:
            return cells.astype(np.int64) - first if first else cells.astype(np.int64)
        if len(self._dense) and low >= 0 and high < len(self._dense):
            return self._dense[cells]
        if cells.dtype.kind == "u":  # those beyond 2^63 are none of the given ones
            outside = cells > np.uint64(2**63 - 1)
            return np.where(outside, NULL, self.of(np.where(outside, 0, cells).astype(np.int64)))
        found = np.minimum(np.searchsorted(self._values, cells), len(self._values) - 1)
        return np.where(self._values[found] == cells, self._places[found], NULL)
