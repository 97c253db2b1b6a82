"""Where random bits come from: a stream cipher under a secret key, or a seed in tests."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import threading
from abc import ABC, abstractmethod
from functools import cache
from typing import Any, ClassVar

import numpy as np

from hush.arrays import Array
from hush.errors import InvalidParameter

PIECE = 1 << 18
"""Bytes encrypted at once: the zeros, and what is written, stay in the cache."""
RENEW = 1 << 36
"""Bytes given out under one key (2^32 blocks: they are told from uniform bits with an advantage below 2^-65)."""


class Source(ABC):
    """A stream of independent uniform bits."""

    private: bool
    """Whether the bits are secret: a sample or a noise that can be replayed protects nobody."""

    @abstractmethod
    def words(self, count: int) -> Array:
        """So many uniform 64-bit words, as an array of uint64; no word is given out twice."""


class _Keystream(threading.local):
    """The key stream of AES-256 in counter mode, one per thread: they neither wait for each other nor share a word."""

    encryptor: Any = None
    owner: tuple[int, int] = (0, 0)
    left: int = 0

    def fill(self, view: memoryview) -> None:
        """Overwrite these bytes; the key and the first counter come from the operating system, anew after a fork."""
        owner = this_process()
        for start in range(0, len(view), PIECE):
            piece = view[start : start + PIECE]
            if self.owner != owner or self.left < len(piece):
                self.encryptor, self.owner, self.left = _encryptor(), owner, RENEW
            self.left -= len(piece)
            self.encryptor.update_into(_ZEROS[: len(piece)], piece)


def _encryptor() -> Any:
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    return Cipher(algorithms.AES256(os.urandom(32)), modes.CTR(os.urandom(16))).encryptor()


_ZEROS = memoryview(bytes(PIECE))
_KEYSTREAM = _Keystream()
_forks: list[None] = []
"""One entry per fork between the first process and this one: process numbers are used again, this count is not."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _forks.append(None))


def this_process() -> tuple[int, int]:
    """A value that no process forked from this one has."""
    return os.getpid(), len(_forks)


class SecureSource(Source):
    """Secret bits: AES-256 in counter mode, its key from the operating system; what draws use unless told otherwise.

    Each thread has its own key, and a process that was forked takes a new one before its first word. Without the
    package `cryptography` every word comes from `os.urandom`: equally secure, more than ten times slower. A virtual
    machine that is copied while it runs takes its key along: start a new process in the copy.

    >>> SecureSource().words(3).dtype
    dtype('uint64')
    """

    private = True

    def words(self, count: int) -> Array:
        if not _ciphers():
            return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)
        words = np.empty(count, dtype=np.uint64)
        if count:
            _KEYSTREAM.fill(words.data.cast("B"))
        return words

    def __repr__(self) -> str:
        return "SecureSource()"


@cache
def _ciphers() -> bool:
    """Whether `cryptography` is installed."""
    return importlib.util.find_spec("cryptography") is not None


class StreamSource(Source):
    """The bits of SHAKE-256 under a key: the same ones for the same key."""

    purpose: ClassVar[bytes]
    """Hashed before the key, so that sources of two kinds never share a stream."""

    def __init__(self, key: bytes) -> None:
        self._key, self._calls = key, 0

    def words(self, count: int) -> Array:
        """SHAKE-256 of the key and the number of the call."""
        stream = hashlib.shake_256(self.purpose + self._key + self._calls.to_bytes(16, "little"))
        self._calls += 1
        return np.frombuffer(stream.digest(8 * count), dtype="<u8").astype(np.uint64)


class SeededSource(StreamSource):
    """Bits that repeat for the same seed. For tests and simulations only: what is drawn from it is NOT private.

    >>> SeededSource(7).words(2).tolist() == SeededSource(7).words(2).tolist()
    True
    """

    private = False
    purpose = b"hush not private"

    def __init__(self, seed: int) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**128:
            raise InvalidParameter("SeededSource", "a whole number 0 <= seed < 2^128", seed=seed)
        super().__init__(seed.to_bytes(16, "little"))

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
