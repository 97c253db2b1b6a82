"""Runs of which only the last iterate is released, and what that is worth against releasing them all."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from hush.mechanisms.mechanism import Mechanism

LEAST_GAIN = 1e-9
"""Relative: a smaller difference between two guarantees is rounding, and no gain."""


class HiddenIterates(Mechanism):
    """A run that can say, place by place, what hiding all iterates but the last one is worth."""

    unit: ClassVar[str] = "step"
    """What the places count: steps, epochs or records."""

    @abstractmethod
    def composed(self) -> Mechanism:
        """The guarantee if every iterate were released."""

    @abstractmethod
    def places(self) -> list[int]:
        """The places that a table shows."""

    @abstractmethod
    def at_place(self, place: int) -> tuple[Mechanism, Mechanism]:
        """The guarantee of the last iterate at a place, and the one if every iterate were released."""

    @abstractmethod
    def gains_from(self) -> int | None:
        """The first place that can gain; None where there is none."""

    @abstractmethod
    def gain_in_words(self, first: int | None) -> str:
        """Who gains, in a sentence; `first` is the first place with a gain."""


def checkpoints(length: int) -> list[int]:
    """1, 10, 100, ... and the end.

    >>> checkpoints(250)
    [1, 10, 100, 250]
    """
    return [*(10**k for k in range(len(str(length))) if 10**k < length), length]
