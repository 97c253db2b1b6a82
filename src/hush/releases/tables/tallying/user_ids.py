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
        """Hashes of ids, none of them missing: of numbers by value, of texts by their bytes, of others by `repr`."""
        letter, _, ids = id_form(units)
        if letter == "T":
            return TextBytes(ids).hashes(int(self._key[1]))
        if letter == "O":
            return np.array([keyed_hash(self._secret, unit, PURPOSE) for unit in ids.tolist()], dtype=np.uint64)
        return mixed(mixed(ids.view(np.uint64) + self._key[0]) ^ self._key[1])
