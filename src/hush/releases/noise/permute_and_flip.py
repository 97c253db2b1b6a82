"""Permute and flip (McKenna, Sheldon 2020): a choice by epsilon alone, never worse than the exponential mechanism.

Options are looked at in random order, and each is taken with probability exp(-eta (its loss - the least loss)).
Flipping all coins first changes nothing: the option taken is a uniform one of those whose coins show heads. If one unit
moves each loss by at most c, this is (2 c eta)-private (their Theorem 1). Only differences count, so changes
that lie within an interval of length 2c do as well. It says no more than that about its privacy loss, while that of the
exponential mechanism has a small range: where many releases are composed at some delta, that one is better.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hush.arrays import Array
from hush.numerics.rounding import UNIT
from hush.randomness import exact
from hush.randomness.source import Source

PIECE = 1 << 16
"""Options whose coins are flipped at once."""
TIES, NEAR = 2, 8
"""In units of 1/eta: how much ties may add to a loss, and how far from the target rank they count."""
NAMED = "a choice by permute and flip"
PUBLISHED = "permute and flip: McKenna, Sheldon 2020, Theorem 1"


def flipped_option(source: Source, losses: Sequence[int], eta: Fraction) -> int:
    """One of few options, the least loss being 0.

    >>> from hush.randomness.source import SeededSource
    >>> flipped_option(SeededSource(1), [5, 0, 9], Fraction(1000))
    1
    """
    heads = [place for place, loss in enumerate(losses) if exact.coin_exponential(source, eta * loss)]
    return heads[exact.uniform(source, len(heads))]


@dataclass(frozen=True)
class TiedRanks:
    """How far a point is from being a p-quantile, where many records may be equal to it.

    With B records below a point, B + E at it or below, and n in all, its ranks go from B - pn to B + E - pn. It is a
    quantile where 0 is between these; else it is off by the nearer one: so many records. Its middle, where p of the
    E lie below, tells more: of two points that are both near, that with 0 near its middle is likelier nearest to the
    quantile of the population. So the loss is the distance of the middle, but no more than `ties` above the ranks that
    it is off, and of a point with very many records only those within `near` of the target count. One record more or
    less moves either end, and the middle, by at most max(p, 1 - p): so does cutting them, and the larger or smaller one
    of two such losses.
    """

    p: Fraction
    share: Fraction
    """The fractional part of the target pn; ranks are counted from its whole part."""
    ties: Fraction
    near: Fraction

    def exactly(self, low: int, high: int) -> Fraction:
        """The loss of one point.

        >>> TiedRanks(Fraction(1, 2), Fraction(0), Fraction(9), Fraction(40)).exactly(-1, 5)
        Fraction(2, 1)
        """
        first, last = low - self.share, high - self.share
        off = max(Fraction(0), first, -last)
        first, last = (min(max(end, -self.near), self.near) for end in (first, last))
        return max(off, min(abs((1 - self.p) * first + self.p * last), off + self.ties))

    def in_floats(self, low: Array, high: Array) -> tuple[Array, Array]:
        """The losses of many points, and how far each may be off by rounding.

        At most twelve roundings, each of a number no larger than the ends and the two constants together.
        """
        p, near, ties = float(self.p), float(self.near), float(self.ties)
        first, last = low - float(self.share), high - float(self.share)
        off = np.maximum(np.maximum(first, -last), 0.0)
        middle = (1 - p) * np.clip(first, -near, near) + p * np.clip(last, -near, near)
        error = 16 * UNIT * (np.maximum(np.abs(first), np.abs(last)) + (near + ties + 2))
        return np.maximum(off, np.minimum(np.abs(middle), off + ties)), error


def flipped_quantile(source: Source, *, upto: Array, p: Fraction, eta: Fraction) -> int:
    """The place of a p-quantile among points; `upto` says how many records are at each point or below.

    >>> from hush.randomness.source import SeededSource
    >>> flipped_quantile(SeededSource(1), upto=np.array([0, 1, 5, 6]), p=Fraction(1, 2), eta=Fraction(100))
    2
    """
    target = p * int(upto[-1])
    middle = math.floor(target)
    loss = TiedRanks(p, target - middle, TIES / eta, NEAR / eta)
    least, best = _least(loss, upto, middle)
    heads = [
        start + _heads(source, loss, low, high, best, eta * least, eta) for start, low, high in _pieces(upto, middle)
    ]
    places = np.concatenate(heads)
    return int(places[exact.uniform(source, len(places))])


def extra_ranks(eta: Fraction) -> float:
    """By how many ranks the choice may be further off than what the quantile itself is never charged for."""
    return float(TIES / eta)


def _pieces(upto: Array, middle: int) -> Iterator[tuple[int, Array, Array]]:
    """The ranks of the points from the whole part of the target, some thousand points at a time."""
    for start in range(0, len(upto), PIECE):
        high = upto[start : start + PIECE] - middle
        low = np.concatenate([[upto[start - 1] - middle if start else -middle], high[:-1]])
        yield start, low, high


def _least(loss: TiedRanks, upto: Array, middle: int) -> tuple[Fraction, set[tuple[int, int]]]:
    """The least loss, exactly, and the ranks of the points that have it."""
    most, close = math.inf, set[tuple[int, int]]()
    for _, low, high in _pieces(upto, middle):
        losses, error = loss.in_floats(low, high)
        most = min(most, float((losses + error).min()))
        ranks = np.stack([low, high], axis=1)[losses - error <= most]
        ranks = ranks[np.any(np.diff(ranks, axis=0, prepend=ranks[:1] - 1) != 0, axis=1)]  # in order: each once
        close |= set(map(tuple, ranks.tolist()))
    exactly = {ranks: loss.exactly(*ranks) for ranks in close}
    least = min(exactly.values())
    return least, {ranks for ranks, found in exactly.items() if found == least}


def _heads(
    source: Source,
    loss: TiedRanks,
    low: Array,
    high: Array,
    best: set[tuple[int, int]],
    least: Fraction,
    eta: Fraction,
) -> Array:
    """The points whose coins show heads. A uniform number below the weight is heads: floats decide where they are sure
    of that, more bits where they are not. `least` is eta times the least loss."""
    losses, error = loss.in_floats(low, high)
    exponent = np.maximum(float(eta) * losses - float(least), 0.0)
    weight = np.exp(-exponent)
    # roundings of eta, of the product, of the least and of the difference; of the exponential and of what follows
    off = float(eta) * (error + 4 * UNIT * losses) + 4 * UNIT * float(least)
    margin = np.where(off < 1, weight * (2 * off + 16 * UNIT) + 1e-300, np.inf)
    words = source.words(len(low))
    drawn = (words >> np.uint64(11)) * 2.0**-53
    heads = drawn + 2.0**-53 <= weight - margin
    for place in np.flatnonzero(~heads & (drawn < weight + margin)).tolist():
        ranks = int(low[place]), int(high[place])
        heads[place] = ranks in best or _heads_by_bits(source, eta * loss.exactly(*ranks) - least, int(words[place]))
    return np.flatnonzero(heads)


def _heads_by_bits(source: Source, exponent: Fraction, word: int) -> bool:
    """Whether a uniform number whose first 64 bits are known is below exp(-exponent)."""
    bits = 64
    while True:
        least, most = exact.exponential(exponent, bits + 64)
        if (word + 1) << 64 <= least:
            return True
        if word << 64 >= most:
            return False
        word, bits = word << 64 | int(source.words(1)[0]), bits + 64
