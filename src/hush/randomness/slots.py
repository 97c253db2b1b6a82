"""Slots of equal width under a falling density, drawn by comparing bits with thresholds that are known exactly.

The magnitude of a noise value is y = (slot + v) width with v in [0, 1). A slot is proposed with probability
proportional to the density at its left end; v is uniform; the proposal is kept with the ratio of the density at y to
the density at the left end. All slots from `last` on are one proposal, settled by an exact sampler.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from hush.arrays import Array
from hush.randomness import exact
from hush.randomness.source import Source

OPEN = 255
"""In the guide, a table by the first 16 bits: these do not decide the slot."""


@dataclass(frozen=True)
class Shape:
    """The density exp(-linear y - square y^2 / 2) of y >= 0, at whole numbers or on the half-line.

    Widths are powers of two, so that `rate` (linear * width) and `curve` (square * width^2) are exact fractions.
    """

    linear: Fraction
    square: Fraction
    power: int
    whole: bool

    @property
    def width(self) -> Fraction:
        return Fraction(2) ** self.power

    @cached_property
    def rate(self) -> Fraction:
        return self.linear * self.width

    @cached_property
    def curve(self) -> Fraction:
        return self.square * self.width**2

    def drop(self, slot: int, part: Fraction) -> Fraction:
        """By how much the depth grows from the left end of a slot to a part of it."""
        return self.rate * part + self.curve * part * (2 * slot + part) / 2


class Slots:
    """The slots of one shape: a guide by 16 bits, thresholds of 64 bits, and more bits where those tie.

    >>> from hush.randomness.source import SeededSource
    >>> slots = Slots(Shape(Fraction(1), Fraction(0), 0, whole=True), last=20)
    >>> slots.draw(SeededSource(1), 4).shape
    (4,)
    """

    def __init__(self, shape: Shape, last: int) -> None:
        self.shape, self.last = shape, last
        self.step = shape.rate + shape.curve * last  # slope of the tail's envelope, a geometric law
        self._floors = np.array(self._floors_of_64_bits(), dtype=np.uint64)
        self.guide = self._guide()
        self.sure = np.array([*map(self._sure, range(last)), 0], dtype=np.uint32)

    def _floors_of_64_bits(self) -> list[int]:
        """The first 64 bits of every threshold, computed with as many more as it takes to be sure of them."""
        bits, top = 96, (1 << 64) - 1
        while True:
            lows, highs = ([min(end >> (bits - 64), top) for end in ends] for ends in self.thresholds(bits))
            if lows == highs:
                return lows
            bits += 64

    def thresholds(self, bits: int) -> tuple[list[int], list[int]]:
        """Bounds, times 2^bits, of the probability of the slots below c, for c = 1, ..., last."""
        fine = bits + 40
        parts = self._densities(fine)
        miss, unit = exact.exponential(self.step, fine), 1 << fine
        low, high = parts[-1]
        parts[-1] = (low * unit) // (unit - miss[0]), -(-high * unit // (unit - miss[1]))
        rest_low, rest_high = sum(low for low, _ in parts), sum(high for _, high in parts)
        below_low = below_high = 0
        lows, highs = [], []
        for low, high in parts[:-1]:
            below_low, below_high = below_low + low, below_high + high
            rest_low, rest_high = rest_low - low, rest_high - high
            lows.append((below_low << bits) // (below_low + rest_high))
            highs.append(min(-(-(below_high << bits) // (below_high + rest_low)), 1 << bits))
        return lows, highs

    def _densities(self, fine: int) -> list[tuple[int, int]]:
        """Bounds, times 2^fine, of the density at the left ends: products of ratios, which are a geometric sequence."""
        low, high = 1 << fine, 1 << fine
        ratio_low, ratio_high = exact.exponential(self.shape.rate + self.shape.curve / 2, fine)
        fall_low, fall_high = exact.exponential(self.shape.curve, fine)
        parts = [(low, high)]
        for _ in range(self.last):
            low, high = low * ratio_low >> fine, (high * ratio_high >> fine) + 1
            ratio_low, ratio_high = ratio_low * fall_low >> fine, (ratio_high * fall_high >> fine) + 1
            parts.append((low, high))
        return parts

    def _sure(self, slot: int) -> int:
        """First 32 bits of a coin below this keep any place in the slot: 1 - t is at most exp(-t)."""
        return min(max(math.floor((1 - self.shape.drop(slot, Fraction(1))) * (1 << 32)), 0), (1 << 32) - 1)

    def _guide(self) -> Array:
        cells = np.arange(1 << 16, dtype=np.uint64) << np.uint64(48)
        guide = np.searchsorted(self._floors, cells, side="right")
        guide[(self._floors >> np.uint64(48)).astype(np.int64)] = OPEN
        guide[guide >= self.last] = OPEN
        return guide.astype(np.uint8)

    def draw(self, source: Source, count: int) -> Array:
        """So many slots, each proposed with its exact probability; -1 where the tail's own proposal was turned down.

        They are bytes, or integers where one is in the tail.
        """
        first = source.words(-(-count // 4)).view(np.uint16)[:count]
        slots = self.guide.take(first)
        undecided = np.flatnonzero(slots == OPEN)
        if len(undecided):
            settled = self._settle(source, first[undecided])
            if not 0 <= settled.min() <= settled.max() < self.last:
                slots = slots.astype(np.int64)
            slots[undecided] = settled
        return slots

    def _settle(self, source: Source, first: Array) -> Array:
        """The slots of numbers whose first 16 bits are given."""
        words = (first.astype(np.uint64) << np.uint64(48)) | (source.words(len(first)) >> np.uint64(16))
        slots = np.searchsorted(self._floors, words, side="right")
        ties = np.flatnonzero(self._floors[np.maximum(slots - 1, 0)] == words)
        for k in ties:
            slots[k] = self._settle_exactly(source, int(words[k]))
        for k in np.flatnonzero(slots == self.last):
            slots[k] = self._tail(source)
        return slots

    def _settle_exactly(self, source: Source, word: int) -> int:
        """The slot of a number whose first 64 bits are given, by as many more as it takes."""
        bits = 64
        while True:
            bits += 64
            word = word << 64 | int(source.words(1)[0])
            lows, highs = self.thresholds(bits)
            # The number lies in [word, word + 1) / 2^bits.
            above = sum(high <= word for high in highs)
            below = sum(low >= word + 1 for low in lows)
            if above + below == self.last:
                return above

    def _tail(self, source: Source) -> int:
        """A slot from `last` on, or -1: geometric, kept with the ratio of the density to its envelope."""
        beyond = exact.geometric(source, self.step)
        if not exact.coin_exponential(source, self.shape.curve * beyond * beyond / 2):
            return -1
        return min(self.last + beyond, 1 << 62)
