"""Exact samplers in plain integers, one value at a time (Canonne, Kamath, Steinke 2020): slow, short, the reference.

The fast samplers in `integer_noise` are tested against these, and use them where a float cannot decide.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction

from hush.randomness.source import Source


def uniform(source: Source, below: int) -> int:
    """A uniform whole number 0 <= k < below, of any size, by rejection.

    >>> from hush.randomness.source import SeededSource
    >>> 0 <= uniform(SeededSource(1), 10**30) < 10**30
    True
    """
    bits = (below - 1).bit_length()
    while True:
        value = 0
        for word in source.words(-(-bits // 64)):
            value = value << 64 | int(word)
        value >>= -bits % 64
        if value < below:
            return value


def coin(source: Source, rate: Fraction) -> bool:
    """True with probability exactly `rate`."""
    return uniform(source, rate.denominator) < rate.numerator


def coin_exponential(source: Source, exponent: Fraction) -> bool:
    """True with probability exactly exp(-exponent), exponent >= 0 (their Algorithm 1).

    >>> from hush.randomness.source import SeededSource
    >>> coin_exponential(SeededSource(1), Fraction(0))
    True
    """
    while exponent > 1:
        if not coin_exponential(source, Fraction(1)):
            return False
        exponent -= 1
    count = 1
    while coin(source, exponent / count):
        count += 1
    return count % 2 == 1


def geometric(source: Source, exponent: Fraction) -> int:
    """k >= 0 with P(k) proportional to exp(-k exponent), exponent > 0 (the inner part of their Algorithm 2).

    >>> from hush.randomness.source import SeededSource
    >>> geometric(SeededSource(1), Fraction(100))
    0
    """
    top, bottom = exponent.numerator, exponent.denominator
    while True:
        low = uniform(source, bottom)
        if coin_exponential(source, Fraction(low, bottom)):
            break
    high = 0
    while coin_exponential(source, Fraction(1)):
        high += 1
    return (low + bottom * high) // top


def discrete_laplace(source: Source, scale: Fraction) -> int:
    """k with P(k) proportional to exp(-|k|/scale) (their Algorithm 2)."""
    while True:
        size, negative = geometric(source, 1 / scale), coin(source, Fraction(1, 2))
        if size or not negative:
            return -size if negative else size


def discrete_gaussian(source: Source, sigma: Fraction) -> int:
    """k with P(k) proportional to exp(-k^2/(2 sigma^2)) (their Algorithm 3).

    >>> from hush.randomness.source import SeededSource
    >>> abs(discrete_gaussian(SeededSource(1), Fraction(2))) < 100
    True
    """
    scale = Fraction(math.floor(sigma) + 1)
    while True:
        value = discrete_laplace(source, scale)
        if coin_exponential(source, (abs(value) - sigma * sigma / scale) ** 2 / (2 * sigma * sigma)):
            return value


def exponential(exponent: Fraction, bits: int) -> tuple[int, int]:
    """Whole numbers around 2^bits exp(-exponent), exponent >= 0: the decimal exponential is correctly rounded.

    >>> exponential(Fraction(0), 10), exponential(Fraction(10**9), 64)
    ((1023, 1026), (0, 1))
    """
    if exponent > bits:
        return 0, 1
    digits = bits // 3 + 12
    context = Context(prec=digits)
    quotient = context.divide(Decimal(-exponent.numerator), Decimal(exponent.denominator))
    # The quotient is off by at most bits * 10^-digits, the exponential by 10^-digits more: together below 1/2 unit.
    scaled = context.multiply(context.exp(quotient), Decimal(1 << bits))
    nearest = int(scaled)
    return max(nearest - 1, 0), nearest + 2
