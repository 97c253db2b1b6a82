"""Users by their ids: a slot for each, and a keyed hash of what the id is, the same wherever and whenever it is met."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from hush.releases.tables.ids.text_bytes import TextBytes, mixed
from hush.releases.tables.ids.users import UserSlots, id_form
from hush.releases.tables.tallying.codes import keyed_hash

PURPOSE = b"user"
"""What the hash of an id is for: no other hash of the same value is the same."""


class UserIds:
    """Slots of users, batch after batch, and a hash for each slot: that of the id with which it was first met.

    >>> ids = UserIds(b"secret")
    >>> slots = ids.slots(np.array([7, 8, 7]))
    >>> slots[0] == slots[2], ids.hashes[slots[1]] == UserIds(b"secret").hashed(np.array([8]))[0]
    (np.True_, np.True_)
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._key = np.frombuffer(hashlib.blake2b(PURPOSE, key=secret[:64], digest_size=16).digest(), dtype=np.uint64)
        self._users = UserSlots()
        self.hashes = np.empty(0, dtype=np.uint64)

    def slots(self, units: Any) -> np.ndarray:
        """The slot of each record's user; -1 for records of nobody."""
        before, found = self._users.size, self._users.slots(units)
        new = self._users.size - before
        if new:
            rows = np.flatnonzero(found >= before)
            first = np.empty(new, dtype=np.int64)
            first[found[rows[::-1]] - before] = rows[::-1]
            self.hashes = np.concatenate([self.hashes, self.hashed(units.take(first))])
        return found

    def hashed(self, units: Any) -> np.ndarray:
        """Hashes of ids, none of them missing: of numbers by value, of texts by their bytes, of others by `repr`.

        An id has the same one whatever stands beside it: else an odd id would decide what is kept of other users.
        """
        letter, _, ids = id_form(units)
        if letter == "T":
            return self._of_texts(ids)
        if letter == "O":
            return self._of_objects(ids.tolist())
        return self._of_numbers(_words(ids.view(np.float64) if letter == "f" else ids))

    def _of_texts(self, texts: Any) -> np.ndarray:
        return TextBytes(texts).hashes(int(self._key[1]))

    def _of_numbers(self, words: np.ndarray) -> np.ndarray:
        return mixed(mixed(words + self._key[0]) ^ self._key[1])

    def _of_objects(self, ids: list[Any]) -> np.ndarray:
        """Of ids that no array can hold together: texts and numbers as where one does."""
        import pyarrow

        texts = [place for place, unit in enumerate(ids) if type(unit) is str]
        whole = [place for place, unit in enumerate(ids) if type(unit) in (int, bool) and -(2**63) <= unit < 2**64]
        floats = [place for place, unit in enumerate(ids) if type(unit) is float]
        found = np.zeros(len(ids), dtype=np.uint64)
        said = [ids[place].encode(errors="surrogatepass") for place in texts]
        found[texts] = self._of_texts(pyarrow.array(said, pyarrow.large_binary()))
        found[whole] = self._of_numbers(np.array([ids[place] % 2**64 for place in whole], dtype=np.uint64))
        found[floats] = self._of_numbers(_words(np.array([ids[place] for place in floats], dtype=float)))
        for place in set(range(len(ids))).difference(texts, whole, floats):
            found[place] = keyed_hash(self._secret, ids[place], PURPOSE)
        return found


def _words(numbers: np.ndarray) -> np.ndarray:
    """64 bits of each number: a float that is whole has those of the whole number, which is the same user."""
    words = numbers.view(np.uint64)
    if numbers.dtype.kind != "f":
        return words
    whole = (numbers == np.floor(numbers)) & (np.abs(numbers) < 2.0**63)
    words = words.copy()
    words[whole] = numbers[whole].astype(np.int64).view(np.uint64)
    return words
