"""A source that records its words and plays them back: the same randomness on neighbouring data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import hush
from hush.releases.noise import noisy_query


class RecordingSource(hush.Source):
    """Hands out seeded words and keeps a note of every request."""

    private = False

    def __init__(self, seed: int) -> None:
        self._inner = hush.SeededSource(seed)
        self.tape: list[np.ndarray] = []

    def words(self, count: int) -> Any:
        self.tape.append(self._inner.words(count))
        return self.tape[-1]


class ReplaySource(hush.Source):
    """Plays a tape back; asking for anything else than the first run did is a failure."""

    private = False

    def __init__(self, tape: list[np.ndarray]) -> None:
        self._tape, self._place = tape, 0

    def words(self, count: int) -> Any:
        assert self._place < len(self._tape), "more randomness than on the neighbouring data"
        words = self._tape[self._place]
        assert len(words) == count, "another amount of randomness than on the neighbouring data"
        self._place += 1
        return words

    @property
    def finished(self) -> bool:
        return self._place == len(self._tape)


@dataclass
class Seen:
    """What the noise was added to, how much was declared, and what came out."""

    kind: str
    multiples: np.ndarray
    sensitivity: float
    values: np.ndarray
    scale: float


def watched(monkeypatch: pytest.MonkeyPatch, run: Callable[[], Any]) -> tuple[Any, list[Seen]]:
    """The result of a run, and every addition of noise in it."""
    seen: list[Seen] = []

    def spy(kind: str, add: Callable[..., Any]) -> Callable[..., Any]:
        def spied(multiples: np.ndarray, *, sensitivity: float, **rest: Any) -> Any:
            found = add(multiples, sensitivity=sensitivity, **rest)
            seen.append(Seen(kind, multiples.copy(), sensitivity, found.values.copy(), found.scale))
            return found

        return spied

    with monkeypatch.context() as patched:
        patched.setattr(noisy_query, "add_laplace", spy("laplace", noisy_query.add_laplace))
        patched.setattr(noisy_query, "add_gaussian", spy("gaussian", noisy_query.add_gaussian))
        return run(), seen
