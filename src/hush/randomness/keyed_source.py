"""Bits from a key: they can be drawn again by whoever has it, in a second pass or after a task was lost."""

from __future__ import annotations

import hashlib
import hmac

import numpy as np

from hush.arrays import Array
from hush.randomness.source import Source

KEY = 32
"""Bytes of a key: 256 bits."""


class KeyedSource(Source):
    """The bits of SHAKE-256 under a secret key, the same in every process; as secret as the key is.

    >>> from hush.randomness.source import SECURE
    >>> key = KeyedSource.of(SECURE)
    >>> key.part(3).words(2).tolist() == key.part(3).words(2).tolist()
    True
    """

    def __init__(self, key: bytes, *, private: bool) -> None:
        self._key, self.private = key, private
        self._calls = 0

    @classmethod
    def of(cls, source: Source) -> KeyedSource:
        """A key drawn from another source."""
        return cls(source.words(KEY // 8).tobytes(), private=source.private)

    def part(self, number: int) -> KeyedSource:
        """The source of one part of the records: HMAC-SHA-256 of its number. No attempt, no clock is in it."""
        key = hmac.new(self._key, b"hush part" + number.to_bytes(8, "little"), hashlib.sha256).digest()
        return KeyedSource(key, private=self.private)

    def words(self, count: int) -> Array:
        """SHAKE-256 of the key and the number of the call."""
        stream = hashlib.shake_256(b"hush keyed" + self._key + self._calls.to_bytes(16, "little"))
        self._calls += 1
        return np.frombuffer(stream.digest(8 * count), dtype="<u8").astype(np.uint64)

    def __repr__(self) -> str:
        return "KeyedSource()"
