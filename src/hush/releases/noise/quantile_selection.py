"""The exponential mechanism for a quantile on a lattice, drawn exactly.

A lattice point with B records below it and A above has the loss max(0, B - pn, A - (1-p)n): how many ranks it is
from being a p-quantile. Points between two neighbouring values have the same loss, so they form a cell. A cell is drawn
with weight (its points) exp(-eta loss), then a point of it uniformly. Far cells weigh next to nothing: only the
order statistics near the target rank are looked at, unless the draw cannot be decided without the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import TypeAlias

import numpy as np

from hush.arrays import Array
from hush.numerics.rounding import UNIT
from hush.randomness import exact
from hush.randomness.source import Source
from hush.releases.noise.lattice import Lattice

Window: TypeAlias = Callable[[int, int], Array]
"""Lattice indices of the values of ranks first..last (from 1), in order."""

BLOCK = 4096
"""Weights are added up in blocks, then the blocks: fewer roundings in a row."""


@dataclass(frozen=True, eq=False)
class RankCells:
    """Runs of lattice points of equal loss near the target rank."""

    start: Array
    """The first lattice point of each cell."""
    points: Array
    """How many points it has."""
    low: Array
    high: Array
    """Ranks that a point of the cell has, from low to high, counted from the whole part of the target."""
    apart: Fraction | None
    """The least loss of a point that is in no cell; None if there is no such point."""

    def after(self, known: RankCells) -> RankCells:
        """The same cells, those that were known first and in their order: a uniform number keeps its place in them."""
        by_start = np.argsort(self.start, kind="stable")
        first = by_start[np.searchsorted(self.start[by_start], known.start)]
        more = np.ones(len(self.start), dtype=bool)
        more[first] = False
        order = np.concatenate([first, np.flatnonzero(more)])
        return RankCells(self.start[order], self.points[order], self.low[order], self.high[order], self.apart)

    def losses(self, share: Fraction) -> list[Fraction]:
        """Distance of each cell's ranks from the target, whose fractional part is `share`."""
        ranks = zip(self.low.tolist(), self.high.tolist(), strict=True)
        return [max(Fraction(0), low - share, share - high) for low, high in ranks]


def draw_quantile(source: Source, *, window: Window, size: int, p: Fraction, eta: Fraction, lattice: Lattice) -> int:
    """A lattice index with probability proportional to exp(-eta loss), exactly; without records, a uniform one.

    Floats decide where the first 64 bits of a uniform number leave no doubt, all their errors counted: but for one draw
    in some 10^8. Then more bits, longer integers and more order statistics do.

    >>> from hush.randomness.source import SeededSource
    >>> values = np.array([3, 5, 6])
    >>> draw_quantile(SeededSource(1), window=lambda first, last: values[first - 1 : last], size=3, p=Fraction(1, 2),
    ...               eta=Fraction(100), lattice=Lattice.within((0, 10), step=1.0))
    5
    """
    if size == 0:
        return lattice.first + exact.uniform(source, lattice.points)
    target = p * size
    share = target - math.floor(target)
    word, bits = int(source.words(1)[0]), 64
    cells = _cells(window, size, target, _reach(bits, eta, lattice), lattice)
    chosen = _by_floats(cells, share, eta, lattice, word)
    while chosen is None:
        word, bits = word << 64 | int(source.words(1)[0]), bits + 64
        cells = _cells(window, size, target, _reach(bits, eta, lattice), lattice).after(cells)
        chosen = _by_integers(cells, share, eta, lattice, word, bits)
    return int(cells.start[chosen]) + exact.uniform(source, int(cells.points[chosen]))


def _reach(bits: int, eta: Fraction, lattice: Lattice) -> int:
    """Ranks on either side of the target beyond which all points together weigh less than 2^-bits."""
    return math.ceil((bits + lattice.points.bit_length()) * 0.6932 / float(eta)) + 2


def _cells(window: Window, size: int, target: Fraction, reach: int, lattice: Lattice) -> RankCells:
    """All cells between the values of the ranks within reach; ranks of ties beyond it do not matter to a loss."""
    middle = math.floor(target)
    first, last = max(middle + 1 - reach, 1), min(middle + reach, size)
    values = window(first, last)
    runs = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    known = values[runs]
    low = runs + (first - 1 - middle)
    high = np.append(runs[1:], len(values)) + (first - 1 - middle)
    start, points = [known, known[:-1] + 1], [np.ones_like(known), np.diff(known) - 1]
    ranks = [(low, high), (high[:-1], high[:-1])]
    if first == 1:
        start.append(np.array([lattice.first]))
        points.append(known[:1] - lattice.first)
        ranks.append((low[:1], low[:1]))
    if last == size:
        start.append(known[-1:] + 1)
        points.append(lattice.last - known[-1:])
        ranks.append((high[-1:], high[-1:]))
    parts = (start, points, [r[0] for r in ranks], [r[1] for r in ranks])
    joined = [np.concatenate(part).astype(np.int64) for part in parts]
    filled = joined[1] > 0
    sides = [target - (first - 1)] * (first > 1) + [last - target] * (last < size)
    return RankCells(*(part[filled] for part in joined), apart=min(sides) if sides else None)


def _by_floats(cells: RankCells, share: Fraction, eta: Fraction, lattice: Lattice, word: int) -> int | None:
    """The cell where the uniform number [word, word + 1) / 2^64 of all weight lies, if floats are sure of it."""
    rate, part = float(eta), float(share)
    exponent = rate * np.maximum(np.maximum(cells.low - part, part - cells.high), 0.0)
    weights = cells.points * np.exp(-exponent)
    total = _added_up(weights)
    # roundings: of the exponent (of eta, the share, their difference and product), of the weight, and of the sums
    in_weights = float(np.dot(weights, 4 * exponent + 2 * rate + 8))
    error = 1.01 * UNIT * (in_weights + (BLOCK + len(total) / BLOCK + 64) * total[-1])
    rest = 0.0 if cells.apart is None else 1.01 * lattice.points * math.exp(-float(eta * cells.apart))
    low = (word >> 11) * 2.0**-53 * (total[-1] - error)
    high = ((word >> 11) + 1) * 2.0**-53 * (total[-1] + error + rest)
    place = int(np.searchsorted(total, low))
    if place == len(total) or high > total[place] - error or (place and low < total[place - 1] + error):
        return None
    return place


def _added_up(weights: Array) -> Array:
    """Sums of the first 1, 2, 3, ... weights."""
    if len(weights) <= BLOCK:
        return np.cumsum(weights)
    blocks = np.pad(weights, (0, -len(weights) % BLOCK)).reshape(-1, BLOCK)
    before = np.concatenate([[0.0], np.cumsum(blocks.sum(axis=1))[:-1]])
    return (before[:, None] + np.cumsum(blocks, axis=1)).reshape(-1)[: len(weights)]


def _by_integers(
    cells: RankCells, share: Fraction, eta: Fraction, lattice: Lattice, word: int, bits: int
) -> int | None:
    """The same for [word, word + 1) / 2^bits in integers, each weight between two bounds."""
    around = [exact.exponential(eta * loss, bits + 64) for loss in cells.losses(share)]
    least, most = (
        list(accumulate(count * weight[end] for count, weight in zip(cells.points.tolist(), around, strict=True)))
        for end in (0, 1)
    )
    rest = 0 if cells.apart is None else lattice.points * exact.exponential(eta * cells.apart, bits + 64)[1]
    low, high = word * least[-1], (word + 1) * (most[-1] + rest)
    for place in range(len(least)):
        if high <= least[place] << bits:
            sure = place == 0 or low >= most[place - 1] << bits
            return place if sure else None
    return None
