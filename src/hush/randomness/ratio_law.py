"""Exact draws of whole numbers whose chances have rational ratios: only the first chance needs more digits."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from hush.randomness.source import Source

BITS, DIGITS = 192, 60
"""Bits of the uniform number, and decimal digits of the first chance, to begin with; where they cannot decide, more."""
GUARD = 64
"""Further bits of all sums, so that their rounding decides nothing."""


def draw_by_ratios(
    source: Source, start: int, first: Callable[[int], tuple[Decimal, Decimal]], ratio: Callable[[int], Fraction]
) -> int:
    """A whole number k >= start of chance p(start) ratio(start) ... ratio(k-1), exactly.

    `first(digits)` encloses p(start) to so many digits. A uniform number is compared with bounds on the sums of the
    chances; where it falls between two bounds, it gets more bits and they more digits.

    >>> from hush.randomness.source import SeededSource
    >>> half = Decimal("0.5"), Decimal("0.5")
    >>> 1 <= draw_by_ratios(SeededSource(3), 1, lambda digits: half, lambda k: Fraction(1, 2)) < 60
    True
    """
    bits, digits, word = BITS, DIGITS, _word(source, BITS)
    while True:
        found = _located(word << GUARD, 1 << GUARD, bits + GUARD, start, first(digits), ratio)
        if found is not None:
            return found
        word = (word << BITS) | _word(source, BITS)
        bits, digits = bits + BITS, digits + DIGITS


def _word(source: Source, bits: int) -> int:
    return int.from_bytes(source.words(bits // 64).tobytes(), "little")


def _located(
    place: int, width: int, bits: int, start: int, first: tuple[Decimal, Decimal], ratio: Callable[[int], Fraction]
) -> int | None:
    """The number at this place of the scale of 2^bits; None where the bounds cannot tell."""
    low, high = (Fraction(end) * (1 << bits) for end in first)
    down, up = low.numerator // low.denominator, -(-high.numerator // high.denominator)
    below, above, k = 0, 0, start
    while True:
        below, above = below + down, above + up
        if place + width <= below:
            return k
        if place < above:
            return None
        step = ratio(k)
        down, up = down * step.numerator // step.denominator, -(-up * step.numerator // step.denominator)
        k += 1
