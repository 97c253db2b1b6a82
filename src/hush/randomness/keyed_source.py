"""Bits from a key: they can be drawn again by whoever has it, in a second pass or after a task was lost."""

from __future__ import annotations

import hashlib
import hmac

from hush.randomness.source import Source, StreamSource

KEY = 32
"""Bytes of a key: 256 bits."""


class KeyedSource(StreamSource):
    """The bits of SHAKE-256 under a secret key, the same in every process; as secret as the key is.

    >>> from hush.randomness.source import SECURE
    >>> key = KeyedSource.of(SECURE)
    >>> key.part(3).words(2).tolist() == key.part(3).words(2).tolist()
    True
    """

    purpose = b"hush keyed"

    def __init__(self, key: bytes, *, private: bool) -> None:
        super().__init__(key)
        self.private = private

    @classmethod
    def of(cls, source: Source) -> KeyedSource:
        """A key drawn from another source."""
        return cls(source.words(KEY // 8).tobytes(), private=source.private)

    def part(self, number: int) -> KeyedSource:
        """The source of one part of the records: HMAC-SHA-256 of its number. No attempt, no clock is in it."""
        key = hmac.new(self._key, b"hush part" + number.to_bytes(8, "little"), hashlib.sha256).digest()
        return KeyedSource(key, private=self.private)

    def __repr__(self) -> str:
        return "KeyedSource()"
