"""Exact draws of noise with polynomial tails, rounded to whole numbers, in plain integers."""

from __future__ import annotations

from fractions import Fraction

from hush.randomness.source import Source


def rounded_student(source: Source, scale: float, degrees: int) -> int:
    """scale * Z rounded to the nearest whole number, Z of density in proportion to (1 + z^2)^(-(degrees+1)/2).

    A uniform point (x, y) of the quarter disc has the ratio x/y of a Cauchy size; kept with probability
    (y^2/(x^2 + y^2))^((degrees-1)/2), it has that of Z. All comparisons are of integers, between which the uniform
    numbers lie; these get more bits until all is decided, so the law is exact. degrees must be odd.

    >>> from hush.randomness.source import SeededSource
    >>> rounded_student(SeededSource(1), 1e-9, 3)
    0
    """
    while True:
        size = _attempt(source, Fraction(scale), (degrees - 1) // 2)
        if size is not None:
            return size if int(source.words(1)[0]) & 1 else -size


def _attempt(source: Source, scale: Fraction, coins: int) -> int | None:
    """The size of one proposal, or None where it is not kept."""
    numbers, bits = [0] * (coins + 2), 0
    while True:
        numbers = [number << 64 | int(word) for number, word in zip(numbers, source.words(coins + 2), strict=True)]
        bits += 64
        kept = _kept(numbers, bits)
        if kept is False:
            return None
        x, y = numbers[:2]
        if kept and y:
            low, high = _nearest(scale * x, y + 1), _nearest(scale * (x + 1), y)
            if low == high:
                return low


def _nearest(numerator: Fraction, denominator: int) -> int:
    return int(numerator / denominator + Fraction(1, 2))


def _kept(numbers: list[int], bits: int) -> bool | None:
    """Whether the point is in the disc and all coins say so; None if these bits do not tell."""
    x, y, *coins = numbers
    whole = 1 << bits
    inside = (x + 1) ** 2 + (y + 1) ** 2 <= whole**2
    if not inside and x**2 + y**2 >= whole**2:
        return False
    sure = inside
    for coin in coins:
        if coin * (x**2 + (y + 1) ** 2) >= (y + 1) ** 2 * whole:
            return False
        sure = sure and (coin + 1) * ((x + 1) ** 2 + y**2) <= y**2 * whole
    return True if sure else None
