"""Exact draws from uniform words: integers, coins, subsets, orders, and the places of successes in a long row of coins.

Every draw has exactly the law that its docstring states, given uniform words: where floats cannot decide, more
bits and longer arithmetic do.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal

import numpy as np

from hush.arrays import Array
from hush.randomness.source import Source

TWO_64 = 2.0**64
"""A word is a number below this; products with it are exact."""
CHUNK = 1 << 16
"""Words taken from a source at once: their arrays stay in the cache."""
ROW = 1 << 18
"""Coins of one rate tossed at once, each by 16 bits."""
DENSE = 0.04
"""From this rate on a coin is tossed for every place; below it, the gaps between successes are drawn."""

LEAST = 1e-280
"""Below this rate floats cannot hold the gaps."""


def integers(source: Source, below: int, count: int) -> Array:
    """So many independent uniform whole numbers 0 <= k < below, by rejection of the bits that do not fit.

    >>> from hush.randomness.source import SeededSource
    >>> integers(SeededSource(1), 6, 4).shape
    (4,)
    """
    bits = (below - 1).bit_length()
    if bits == 0:
        return np.zeros(count, dtype=np.int64)
    found, have = [], 0
    while have < count:
        wanted = math.ceil(1.1 * (count - have) * 2.0**bits / below) + 8
        words = source.words(min(CHUNK, wanted)) >> np.uint64(64 - bits)
        words = words[words < below].astype(np.int64)
        found.append(words)
        have += len(words)
    return np.concatenate(found)[:count] if found else np.empty(0, dtype=np.int64)


def coins(source: Source, rates: Array) -> Array:
    """Independent coins, coin i true with probability exactly rates[i] (each a float in [0, 1], taken at its value).

    >>> from hush.randomness.source import SeededSource
    >>> coins(SeededSource(1), np.array([0.0, 1.0])).tolist()
    [False, True]
    """
    rates = np.asarray(rates, dtype=float)
    if len(rates) > CHUNK:
        return np.concatenate([coins(source, rates[k : k + CHUNK]) for k in range(0, len(rates), CHUNK)])
    words = source.words(len(rates))
    # rate * 2^64 is exact: a change of exponent. Its whole part is the threshold; on a tie its fraction decides.
    scaled = rates * TWO_64
    whole = np.floor(scaled)
    certain = rates >= 1
    threshold = np.where(certain, 0.0, whole).astype(np.uint64)
    result = certain | (words < threshold)
    fraction = scaled - whole
    ties = np.flatnonzero((words == threshold) & (fraction > 0))
    if len(ties):
        result[ties] = coins(source, fraction[ties])
    return result


def tosses(source: Source, count: int, rate: float) -> Array:
    """So many independent coins of one rate (a float in [0, 1], taken at its value): 16 bits per coin, more on a tie.

    >>> from hush.randomness.source import SeededSource
    >>> tosses(SeededSource(1), 3, 1.0).tolist()
    [True, True, True]
    """
    if rate >= 1:
        return np.ones(count, dtype=bool)
    whole = math.floor(rate * 65536.0)
    fraction = rate * 65536.0 - whole
    result = np.empty(count, dtype=bool)
    for start in range(0, count, ROW):
        row = result[start : start + ROW]
        bits = source.words(-(-len(row) // 4)).view(np.uint16)[: len(row)]
        np.less(bits, np.uint16(whole), out=row)
        if fraction > 0:
            ties = np.flatnonzero(bits == np.uint16(whole))
            row[ties] = coins(source, np.full(len(ties), fraction))
    return result


def subset(source: Source, population: int, size: int) -> Array:
    """A uniform subset of `size` of the numbers 0..population-1, in increasing order; time and memory O(size).

    Independent coins give a subset of about this size. By symmetry it stays uniform when what is too many is removed,
    or what is missing is added, uniformly. For more than half, the rest is drawn instead.

    >>> from hush.randomness.source import SeededSource
    >>> subset(SeededSource(1), 5, 5).tolist()
    [0, 1, 2, 3, 4]
    """
    if size == 0:
        return np.empty(0, dtype=np.int64)
    if 2 * size > population:
        keep = np.ones(population, dtype=bool)
        keep[subset(source, population, population - size)] = False
        return np.flatnonzero(keep)
    chosen = successes(source, population, size / population)
    if len(chosen) > size:
        return np.delete(chosen, _few(source, len(chosen), len(chosen) - size, chosen[:0]))
    if len(chosen) < size:
        return np.sort(np.concatenate([chosen, _few(source, population, size - len(chosen), chosen)]), kind="stable")
    return chosen


def _few(source: Source, population: int, size: int, taken: Array) -> Array:
    """A uniform subset of the numbers that are not taken (a sorted array): the first different ones of a sequence."""
    share = 1 - len(taken) / population
    found = np.empty(0, dtype=np.int64)
    while len(found) < size:
        more = integers(source, population, math.ceil(1.2 * (size - len(found)) / share) + 8)
        if len(taken):
            more = more[taken[np.minimum(np.searchsorted(taken, more), len(taken) - 1)] != more]
        values, first = np.unique(np.concatenate([found, more]), return_index=True)
        found = values[np.argsort(first, kind="stable")][:size]
    return found


def order(source: Source, count: int) -> Array:
    """A uniform order of 0..count-1: ranks of random keys, drawn again in the rare case that two keys agree.

    >>> from hush.randomness.source import SeededSource
    >>> sorted(order(SeededSource(1), 4).tolist())
    [0, 1, 2, 3]
    """
    while True:
        keys = np.concatenate([source.words(min(CHUNK, count - k)) for k in range(0, count, CHUNK)] or [np.empty(0)])
        ranked = np.argsort(keys, kind="stable")
        ordered = keys[ranked]
        if not np.any(ordered[1:] == ordered[:-1]):
            return ranked.astype(np.int64)


def successes(source: Source, count: int, rate: float) -> Array:
    """Places of the successes among `count` independent coins of this rate; time and memory O(successes), exact law.

    >>> from hush.randomness.source import SeededSource
    >>> len(successes(SeededSource(1), 10**9, 1e-6))
    1031
    """
    if rate <= 0 or count == 0:
        return np.empty(0, dtype=np.int64)
    if rate >= DENSE:
        rows = range(0, count, ROW)
        return np.concatenate([k + np.flatnonzero(tosses(source, min(ROW, count - k), rate)) for k in rows])
    found, place = [], -1
    while place < count:
        expected = (count - place) * rate
        gaps = _gaps(source, rate, min(CHUNK, math.ceil(expected + 4 * math.sqrt(expected)) + 4), count)
        places = place + np.cumsum(gaps + 1)
        found.append(places[places < count])
        place = int(places[-1])
    return np.concatenate(found)


def _gaps(source: Source, rate: float, size: int, most: int) -> Array:
    """Failures before each next success: floor(log U / log(1 - rate)), U uniform, larger ones cut to `most`.

    U lies in [w, w + 1) / 2^64. Where both ends, moved by the rounding error of floats, give the same floor, that is
    the answer; else U gets more bits and the logarithms more digits until they do.
    """
    words = source.words(size)
    if rate < LEAST:
        return np.array([min(_gap_exactly(source, rate, int(word)), most) for word in words[:1]], dtype=np.int64)
    scale = -1 / math.log1p(-rate)
    u = words.astype(float)
    with np.errstate(divide="ignore"):
        high = np.where(u > 0, scale * (64 * math.log(2) - np.log(np.maximum(u, 1.0))), math.inf)
        low = scale * np.maximum(64 * math.log(2) - np.log(u + 1.0), 0.0)
    # Rounding: of the word to a float 2^-53, of log, log1p, their difference (of size 64 log 2 = 44.4) and product.
    slack = 1e-13 * scale + 2e-15 * np.where(np.isfinite(high), high, 0.0)
    low, high = np.maximum(np.floor(low - slack), 0.0), np.floor(high + slack)
    gaps = np.minimum(low, float(most)).astype(np.int64)
    for k in np.flatnonzero((low != high) & (low < most)):
        gaps[k] = min(_gap_exactly(source, rate, int(words[k])), most)
    return gaps


def _gap_exactly(source: Source, rate: float, word: int) -> int:
    """The same floor for one U whose first 64 bits are given, in decimal arithmetic of growing length."""
    bits, digits = 64, 40 - 2 * math.floor(math.log10(rate))
    while True:
        bits += 64
        word = (word << 64) | int(source.words(1)[0])
        digits += 20
        context = Context(prec=digits)
        unit = Decimal(1).scaleb(8 - digits)  # far more than the error of a few operations
        keep = context.ln(context.subtract(Decimal(1), Decimal(rate)))
        scale = context.power(Decimal(2), Decimal(bits))
        ends = []
        for numerator, sign in ((word + 1, -1), (word, 1)):
            if numerator == 0:
                break
            ratio = context.divide(context.ln(context.divide(Decimal(numerator), scale)), keep)
            blur = context.multiply(unit, context.divide(context.add(ratio, Decimal(1)), Decimal(rate)))
            ends.append(math.floor(max(context.add(ratio, context.multiply(Decimal(sign), blur)), Decimal(0))))
        if len(ends) == 2 and ends[0] == ends[1]:
            return ends[0]
