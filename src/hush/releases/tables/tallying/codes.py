"""Codes for what the data hold: keys of groups, ids of users, different values. No Python object per record."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np

from hush.releases.boundary import attempted
from hush.releases.tables.columns import NO_TIME
from hush.releases.tables.tallying.row_values import NULL, Texts, as_texts

LARGE = 2**64
"""Floats and decimals up to this are whole numbers, if they are whole: larger ones are no id."""
DENSE = 1 << 24
"""Whole numbers below this are looked up in an array."""


def keyed_hash(secret: bytes, value: object, purpose: bytes = b"") -> int:
    """64 bits of a keyed hash of what a value holds; the type counts, not its width.

    >>> keyed_hash(b"k", 5) == keyed_hash(b"k", 5), keyed_hash(b"k", 5) == keyed_hash(b"k", "5")
    (True, False)
    """
    said = repr(value).encode(errors="surrogatepass")
    found = hashlib.blake2b(said, key=secret[:64], digest_size=8, person=purpose[:16])
    return int.from_bytes(found.digest(), "little")


class Codes:
    """Numbers from 0 for different values, in the order in which they are first seen; NULL for missing ones.

    >>> codes = Codes()
    >>> codes.of(np.array([7, 9, 7])).tolist(), codes.of(np.array([9, 8])).tolist(), codes.values
    ([0, 1, 0], [1, 2], [7, 9, 8])
    """

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._known: dict[Any, int] = {}
        self._dense = np.full(0, NULL, dtype=np.int64)
        self._hashed = np.empty(0, dtype=np.uint64)

    def __len__(self) -> int:
        return len(self.values)

    def of(self, cells: np.ndarray | Texts) -> np.ndarray:
        """The codes of texts, of whole numbers, or of cells of no declared type."""
        if isinstance(cells, Texts):
            return self._of_texts(cells)
        if cells.dtype.kind == "b":
            cells = cells.astype(np.int8)
            return self._by_value(cells, bool)
        if cells.dtype.kind in "iu":
            return self._of_whole(cells)
        if cells.dtype.kind == "O" and not len(cells):
            return np.empty(0, dtype=np.int64)
        if cells.dtype.kind == "U" or (cells.dtype.kind == "O" and set(map(type, cells)) <= {str, type(None)}):
            return self._of_texts(as_texts(cells))
        if cells.dtype.kind in "mM":
            ticks = cells.view(np.int64)
            return np.where(ticks == NO_TIME, NULL, self._by_value(ticks, int))
        if cells.dtype.kind == "f":
            return self._by_value(cells + 0.0, float)  # -0.0 becomes 0.0: which is met first must not show in a hash
        return np.fromiter((self.known(plain(cell)) for cell in cells), dtype=np.int64, count=len(cells))

    def hashes(self, secret: bytes, purpose: bytes) -> np.ndarray:
        """A hash of each value by its code, always with the same secret; those of new values are added."""
        new = self.values[len(self._hashed) :]
        if new:
            more = np.array([keyed_hash(secret, value, purpose) for value in new], dtype=np.uint64)
            self._hashed = np.concatenate([self._hashed, more])
        return self._hashed

    def known(self, value: Any) -> int:
        """The code of one value that can be looked up; NULL for None."""
        if value is None:
            return NULL
        name = value if type(value) in (str, int) else (type(value), value)  # True is not 1
        place = self._known.setdefault(name, len(self.values))
        if place == len(self.values):
            self.values.append(value)
        return place

    def _of_texts(self, texts: Texts) -> np.ndarray:
        # a word that no record has (an empty text) gets a code too, which no record then has
        present = np.zeros(len(texts.words) + 1, dtype=bool)
        present[texts.codes] = True
        codes = [self.known(word) if there else NULL for word, there in zip(texts.words, present, strict=False)]
        return np.array([*codes, NULL], dtype=np.int64)[texts.codes]

    def _of_whole(self, cells: np.ndarray) -> np.ndarray:
        if not len(cells):
            return np.empty(0, dtype=np.int64)
        low, high = int(cells.min()), int(cells.max())
        if low < 0 or high >= DENSE:
            return self._by_value(cells, int)
        if high >= len(self._dense):
            grown = np.full(min(DENSE, max(2 * high, 1024)), NULL, dtype=np.int64)
            grown[: len(self._dense)] = self._dense
            self._dense = grown
        codes = self._dense[cells]
        unknown = codes == NULL
        if unknown.any():
            # a number may be known from a batch that was not dense
            new = np.unique(cells[unknown])
            self._dense[new] = [self.known(int(value)) for value in new]
            codes = self._dense[cells]
        return codes

    def _by_value(self, cells: np.ndarray, kind: Callable[[Any], Any]) -> np.ndarray:
        different, codes = np.unique(cells, return_inverse=True)
        return np.array([self.known(_comparable(kind(value))) for value in different.tolist()], dtype=np.int64)[codes]


def plain(cell: Any) -> Any:
    """A cell of no declared type as a text, a whole number or a truth value; None for all else."""
    return attempted(lambda: _plain(cell), None)


def _plain(cell: Any) -> Any:
    if isinstance(cell, str):
        return str.__str__(cell) or None
    if isinstance(cell, bool | np.bool_):
        return bool(cell)
    if isinstance(cell, int | np.integer):
        return int(cell)
    if isinstance(cell, bytes):
        return bytes.__bytes__(cell)
    if isinstance(cell, float | np.floating | Decimal):
        return int(cell) if abs(cell) < LARGE and cell == int(cell) else None
    return None


def _comparable(value: Any) -> Any:
    """None for NaN, NaT and the like, which are not equal to themselves."""
    return attempted(lambda: value if value == value else None, None)
