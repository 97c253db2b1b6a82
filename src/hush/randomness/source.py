"""Where random bits come from: the operating system, or a seed in tests."""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from typing import Any, TypeAlias

import numpy as np

from hush.errors import InvalidParameter

Words: TypeAlias = Any
"""A numpy array of uint64."""


class Source(ABC):
    """A stream of independent uniform bits."""

    private: bool
    """Whether the bits are secret: a sample or a noise that can be replayed protects nobody."""

    @abstractmethod
    def words(self, count: int) -> Words:
        """So many uniform 64-bit words; no word is given out twice."""


class SecureSource(Source):
    """The operating system's generator: what every draw uses unless told otherwise.

    >>> SecureSource().words(3).dtype
    dtype('uint64')
    """

    private = True

    def words(self, count: int) -> Words:
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)

    def __repr__(self) -> str:
        return "SecureSource()"


class SeededSource(Source):
    """Bits that repeat for the same seed. For tests and simulations only: what is drawn from it is NOT private.

    >>> SeededSource(7).words(2).tolist() == SeededSource(7).words(2).tolist()
    True
    """

    private = False

    def __init__(self, seed: int) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**128:
            raise InvalidParameter("SeededSource", "a whole number 0 <= seed < 2^128", seed=seed)
        self._key = seed.to_bytes(16, "little")
        self._calls = 0

    def words(self, count: int) -> Words:
        """SHAKE-256 of the seed and the number of the call."""
        stream = hashlib.shake_256(b"hush not private" + self._key + self._calls.to_bytes(16, "little"))
        self._calls += 1
        return np.frombuffer(stream.digest(8 * count), dtype="<u8").astype(np.uint64)

    def __repr__(self) -> str:
        return "SeededSource(not private)"


SECURE = SecureSource()


def source_or_secure(source: object) -> Source:
    """The source that was given, or the secure one; anything else is an error."""
    if source is None:
        return SECURE
    if not isinstance(source, Source):
        raise InvalidParameter("A draw", "a hush.Source, such as hush.SeededSource(1) in tests", source=source)
    return source
