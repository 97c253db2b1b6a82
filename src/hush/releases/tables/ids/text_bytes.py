"""The bytes of texts in Arrow's buffers, hashed all at once in numpy."""

from __future__ import annotations

from typing import Any

import numpy as np

WORD = 8
MULTIPLIERS = np.array([0xBF58476D1CE4E5B9, 0x94D049BB133111EB], dtype=np.uint64)
"""Those of SplitMix64 (Steele, Lea, Flood 2014): each bit of a word moves about half of the others."""
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def mixed(words: np.ndarray) -> np.ndarray:
    """Each 64-bit word stirred: one to one, so that different words stay different.

    >>> mixed(np.array([0, 1], dtype=np.uint64)).tolist()
    [0, 6238072747940578789]
    """
    found = words ^ (words >> np.uint64(30))
    found *= MULTIPLIERS[0]
    found ^= found >> np.uint64(27)
    found *= MULTIPLIERS[1]
    found ^= found >> np.uint64(31)
    return found


class TextBytes:
    """An Arrow array of texts or bytes (the large kinds, nothing missing), as words of eight bytes."""

    def __init__(self, texts: Any) -> None:
        _, offsets, data = texts.buffers()
        ends = np.frombuffer(offsets, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
        self._starts, self._lengths = ends[:-1], np.diff(ends)
        cells = np.frombuffer(data, dtype=np.uint8) if data is not None else np.empty(0, dtype=np.uint8)
        first, last = (int(ends[0]), int(ends[-1])) if len(texts) else (0, 0)
        self._starts = self._starts - first
        padded = np.concatenate([cells[first:last], np.zeros(WORD, dtype=np.uint8)])
        # a word that begins at each byte
        self._words = np.ndarray((len(padded) - WORD + 1,), dtype="<u8", buffer=padded, strides=(1,))

    def hashes(self, key: int) -> np.ndarray:
        """A 64-bit hash of each text under a key: its words one after the other, then its length."""
        found = np.full(len(self._starts), key, dtype=np.uint64)
        left, place = np.flatnonzero(self._lengths > 0), 0
        while len(left):
            rest = self._lengths.take(left) - place
            word = self._words.take(self._starts.take(left) + place)
            short = np.minimum(rest, WORD).astype(np.uint64)
            word &= np.uint64(2**64 - 1) >> (np.uint64(8) * (np.uint64(WORD) - short))
            found[left] = mixed((found.take(left) + GOLDEN) ^ word)
            left, place = left[rest > WORD], place + WORD
        return mixed(found + GOLDEN * self._lengths.astype(np.uint64))
