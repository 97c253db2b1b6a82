"""One of several options with weights exp(-eta loss), drawn exactly."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

from hush.randomness import exact
from hush.randomness.source import Source


def draw_option(source: Source, losses: Sequence[int], eta: Fraction) -> int:
    """The place of an option, each with probability proportional to exp(-eta loss), losses >= 0.

    A uniform number is placed among the weights, which are known between two whole numbers each; where that leaves a
    doubt, more bits decide.

    >>> from hush.randomness.source import SeededSource
    >>> draw_option(SeededSource(1), [5, 0, 7], Fraction(100))
    1
    """
    word, bits = 0, 0
    while True:
        word, bits = word << 64 | int(source.words(1)[0]), bits + 64
        chosen = _placed(losses, eta, word, bits)
        if chosen is not None:
            return chosen


def _placed(losses: Sequence[int], eta: Fraction, word: int, bits: int) -> int | None:
    """The option where [word, word + 1) / 2^bits of all weight lies, if that is certain."""
    known: dict[int, tuple[int, int]] = {loss: exact.exponential(eta * loss, bits + 64) for loss in set(losses)}
    least, most = (list(accumulate(known[loss][end] for loss in losses)) for end in (0, 1))
    low, high = word * least[-1], (word + 1) * most[-1]
    for place in range(len(losses)):
        if high <= least[place] << bits:
            return place if place == 0 or low >= most[place - 1] << bits else None
    return None
