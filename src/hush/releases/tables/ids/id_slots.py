"""Ids of users, or of anything else, as small whole numbers: a hash table in numpy, without a Python object per id."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from hush.releases.tables.ids.text_bytes import TextBytes

FULL = 3
"""A table has at least so many cells per id: most ids are then found in the first one that is looked at."""
FIRST = 10
"""A table begins with 2^10 cells."""
SMALL = 1 << 24
"""Numbers below this need no hash: an array has a place for each."""
NEW = -1
"""What a cell without an id holds."""


class WholeSlots:
    """64-bit numbers as slots 0, 1, 2, ...: open addressing, all numbers of a batch at once.

    Each number has a home cell, by a hash under a key of this process, so that no choice of ids makes a table slow. A
    number that finds another one there looks into the next cell. Of several that want one empty cell one wins,
    and the others look again.

    >>> table = WholeSlots()
    >>> slots = table.slots(np.array([7, 2**62, 7, -1]))
    >>> len(set(slots.tolist())), bool(slots[0] == slots[2] == table.slots(np.array([7]))[0])
    (3, True)
    """

    def __init__(self) -> None:
        self._factors = np.frombuffer(os.urandom(16), dtype=np.uint64) | np.uint64(1)
        self.size = 0
        self._direct: np.ndarray | None = np.full(1 << FIRST, NEW, dtype=np.int32)
        """The slot of each number from 0 on, as long as all of them are small."""
        self._make(FIRST)

    def _make(self, bits: int) -> None:
        self._bits = bits
        self._keys = np.zeros(1 << bits, dtype=np.int64)
        self._slots = np.full(1 << bits, NEW, dtype=np.int32)

    def keys(self) -> np.ndarray:
        """The numbers, in the order of their slots."""
        slots = self._slots if self._direct is None else self._direct
        filled = np.flatnonzero(slots != NEW)
        found = np.empty(self.size, dtype=np.int64)
        found[slots[filled]] = filled if self._direct is not None else self._keys[filled]
        return found

    def slots(self, keys: np.ndarray) -> np.ndarray:
        """The slots of these int64 numbers; a number that is new gets the next one."""
        if self._direct is not None and len(keys):
            most = int(keys.view(np.uint64).max())  # numbers below 0 are the largest
            if most < SMALL:
                return self._of_small(keys, most + 1)
            known, self._direct = self.keys(), None
            self._rebuild(known, len(known))
        place = self._home(keys)
        found = self._slots.take(place)
        left = np.flatnonzero((self._keys.take(place) != keys) | (found == NEW))
        if len(left):
            rest = keys.take(left)
            self._grow(self.size + len(left))
            found[left] = self._search(rest, self._home(rest))
        return found

    def _of_small(self, keys: np.ndarray, most: int) -> np.ndarray:
        """By a look into the array of all small numbers."""
        direct = self._direct
        assert direct is not None  # noqa: S101
        if most > len(direct):
            more = np.full(min(SMALL, max(most, 2 * len(direct))) - len(direct), NEW, dtype=np.int32)
            self._direct = direct = np.concatenate([direct, more])
        found = direct.take(keys)
        left = np.flatnonzero(found == NEW)
        if len(left):
            new = keys.take(left)
            direct[new] = left  # of equal numbers one wins
            new = new[direct.take(new) == left]
            direct[new] = np.arange(self.size, self.size + len(new), dtype=np.int32)
            self.size += len(new)
            found[left] = direct.take(keys.take(left))
        return found

    def _home(self, keys: np.ndarray) -> np.ndarray:
        mixed = keys.view(np.uint64) * self._factors[0]
        mixed ^= mixed >> np.uint64(32)
        mixed *= self._factors[1]
        mixed >>= np.uint64(64 - self._bits)
        return mixed.view(np.int64)

    def _grow(self, most: int) -> None:
        """Room for so many ids: all of them move, their slots stay."""
        if (FULL * most - 1).bit_length() > self._bits:
            self._rebuild(self.keys(), most)

    def _rebuild(self, known: np.ndarray, most: int) -> None:
        """A table for so many ids with these in it, in the order of their slots."""
        self.size = 0
        self._make(max(FIRST, (FULL * most - 1).bit_length()))
        order = self._search(known, self._home(known))
        self._slots[self._slots != NEW] = np.argsort(order)[self._slots[self._slots != NEW]]

    def _search(self, keys: np.ndarray, place: np.ndarray) -> np.ndarray:
        """Cell after cell, for all numbers at once."""
        found, left = np.full(len(keys), NEW, dtype=np.int32), np.arange(len(keys), dtype=np.int32)
        while len(left):
            at = place.take(left)
            free = np.flatnonzero(self._slots.take(at) == NEW)
            if len(free):
                self._claim(at.take(free), keys.take(left.take(free)))
            hit = self._keys.take(at) == keys.take(left)
            found[left[hit]] = self._slots.take(at[hit])
            left = left[~hit]
            place[left] = (place.take(left) + 1) & (len(self._keys) - 1)
        return found

    def _claim(self, cells: np.ndarray, keys: np.ndarray) -> None:
        """Empty cells for these numbers: one number gets each."""
        who = np.arange(len(cells), dtype=np.int32)
        self._slots[cells] = who
        won = np.flatnonzero(self._slots.take(cells) == who)
        taken = cells.take(won)
        self._keys[taken] = keys.take(won)
        self._slots[taken] = np.arange(self.size, self.size + len(won), dtype=np.int32)
        self.size += len(won)


class TextSlots:
    """Texts as slots 0, 1, 2, ...: by a 64-bit hash of their bytes; each text is then compared with the one it met.

    >>> import pyarrow
    >>> slots = TextSlots().slots(pyarrow.array(["ann", "bob", "ann"], pyarrow.large_string())).tolist()
    >>> slots[0] == slots[2], sorted(slots[:2])
    (True, [0, 1])
    """

    def __init__(self) -> None:
        import pyarrow

        self._table = WholeSlots()
        self._key = int.from_bytes(os.urandom(8), "little")
        self._known = pyarrow.array([], pyarrow.large_string())
        self._others: dict[str, int] = {}
        """Texts whose hash another text had before: next to never any."""
        self._of_hash = np.empty(0, dtype=np.int32)

    @property
    def size(self) -> int:
        """How many texts are known."""
        return len(self._known)

    def keys(self) -> list[str]:
        """The texts, in the order of their slots."""
        return self._known.to_pylist()

    def slots(self, texts: Any) -> np.ndarray:
        """The slots of the texts of an Arrow array of large strings without missing ones."""
        encoded = texts.dictionary_encode()
        return self._distinct(encoded.dictionary).take(encoded.indices.to_numpy())

    def _distinct(self, texts: Any) -> np.ndarray:
        import pyarrow
        from pyarrow import compute

        hashed = self._table.slots(TextBytes(texts).hashes(self._key).view(np.int64))
        before = len(self._of_hash)
        # of texts that are new and have one hash the first one takes it
        new, first = np.unique(hashed[hashed >= before], return_index=True)
        first = np.flatnonzero(hashed >= before)[first]
        self._of_hash = np.concatenate([self._of_hash, np.empty(len(new), dtype=np.int32)])
        self._of_hash[new] = np.arange(self.size, self.size + len(new))
        if len(first):
            self._known = pyarrow.concat_arrays([self._known, texts.take(pyarrow.array(first))])
        found = self._of_hash.take(hashed)
        same = compute.call_function("equal", [self._known.take(pyarrow.array(found)), texts])
        for place in np.flatnonzero(~same.to_numpy(zero_copy_only=False)):
            found[place] = self._other(texts[int(place)].as_py())
        return found

    def _other(self, text: str) -> int:
        import pyarrow

        if text not in self._others:
            self._others[text] = self.size
            self._known = pyarrow.concat_arrays([self._known, pyarrow.array([text], pyarrow.large_string())])
        return self._others[text]
