"""Exact integer noise, many values at once: discrete Laplace and Gaussian, and the continuous ones rounded.

Every draw has exactly the law that its docstring states: the total-variation error is 0. Floats only ever decide
what their rounding error cannot change; the rest is decided by more bits and longer arithmetic.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from hush.arrays import Array
from hush.errors import InvalidParameter
from hush.randomness import exact
from hush.randomness.slots import Shape, Slots
from hush.randomness.source import Source

BLOCK = 1 << 16
"""Values proposed at once: their arrays stay in the cache."""
SMALLEST, LARGEST = 2.0**-30, 2.0**50
"""Scales that are covered, in steps of the grid."""
FARTHEST = 1 << 61
"""Sizes are cut here: at the largest scale, 2^50, the chance of more is below exp(-2048). `additive` cuts earlier."""
SLACK = 2.0**-8
"""Where a coin of 32 bits is nearer than this to 2^32 exp(-t), integers decide. Safe: t and exp(-t) are off by a few
2^-52, so that 2^32 exp(-t) is off by less than 2^-10."""


def discrete_laplace(source: Source, scale: float, size: int) -> Array:
    """Whole numbers with P(k) proportional to exp(-|k|/scale); from 2^61 on they are cut (chance below exp(-2048)).

    >>> from hush.randomness.source import SeededSource
    >>> discrete_laplace(SeededSource(1), 0.01, 3).tolist()
    [0, 0, 0]
    """
    return _noise(source, _laplace(_steps("discrete_laplace", scale=scale), True), size)


def discrete_gaussian(source: Source, sigma: float, size: int) -> Array:
    """Whole numbers with P(k) proportional to exp(-k^2/(2 sigma^2)); cut from 2^61 on.

    >>> from hush.randomness.source import SeededSource
    >>> discrete_gaussian(SeededSource(1), 0.01, 3).tolist()
    [0, 0, 0]
    """
    return _noise(source, _gaussian(_steps("discrete_gaussian", sigma=sigma), True), size)


def rounded_laplace(source: Source, scale: float, size: int) -> Array:
    """Continuous Laplace noise of this scale, rounded to the nearest whole number; cut from 2^61 on.

    >>> from hush.randomness.source import SeededSource
    >>> draws = rounded_laplace(SeededSource(1), 100.0, 10_000)
    >>> bool(abs(abs(draws).mean() - 100) < 5)  # the mean size of Laplace noise is its scale
    True
    """
    return _noise(source, _laplace(_steps("rounded_laplace", scale=scale), False), size)


def rounded_gaussian(source: Source, sigma: float, size: int) -> Array:
    """Continuous Gaussian noise of this deviation, rounded to the nearest whole number; cut from 2^61 on.

    >>> from hush.randomness.source import SeededSource
    >>> draws = rounded_gaussian(SeededSource(1), 100.0, 10_000)
    >>> bool(abs(draws.std() - 100) < 5)
    True
    """
    return _noise(source, _gaussian(_steps("rounded_gaussian", sigma=sigma), False), size)


def delta_of_inexact_draws(*, epsilon: float, draws: int, total_variation: float) -> float:
    """What N draws, each off by a total variation of at most η, add to δ: (1 + e^ε) N η. The draws here have η = 0.

    For a sampler of one's own. (The joint laws of both outputs move by at most N η each.)

    >>> delta_of_inexact_draws(epsilon=1.0, draws=1000, total_variation=2**-64)
    2.0157e-16
    """
    return (1 + math.exp(epsilon)) * draws * total_variation


def in_range(who: str, rule: str, low: float, high: float, **field: Any) -> float:
    """The one keyword as a float from low to high, both above 0 and finite; a bool or a string is no number.

    >>> in_range("Noise", "1 <= scale <= 3", 1, 3, scale=2)
    2.0
    """
    ((name, value),) = field.items()
    known = isinstance(value, int | float | np.floating | np.integer) and not isinstance(value, bool)
    if not known or not low <= value <= high:
        raise InvalidParameter(who, rule, **{name: value})
    return float(value)


def _steps(who: str, **field: Any) -> float:
    return in_range(who, f"2^-30 <= {next(iter(field))} <= 2^50 steps of the grid", SMALLEST, LARGEST, **field)


def _power(width: float, whole: bool) -> int:
    """The largest power of two up to this width, as its exponent; whole numbers need a width of 1 or more."""
    power = math.frexp(width)[1] - 1
    return max(power, 0) if whole else power


@lru_cache(maxsize=64)
def _laplace(scale: float, whole: bool) -> Slots:
    power = _power(scale / 8, whole)
    shape = Shape(1 / Fraction(scale), Fraction(0), power, whole)
    return Slots(shape, last=max(2, min(254, math.ceil(26 / float(shape.rate)))))


@lru_cache(maxsize=64)
def _gaussian(sigma: float, whole: bool) -> Slots:
    power = _power(sigma / 16, whole)
    shape = Shape(Fraction(0), 1 / Fraction(sigma) ** 2, power, whole)
    return Slots(shape, last=max(2, min(254, math.ceil(7.5 / math.sqrt(shape.curve)))))


def _noise(source: Source, slots: Slots, size: int) -> Array:
    """Proposals in blocks, a few more than are needed; spare ones take the places of those that are turned down."""
    made = np.empty(size + size // 16 + 8, dtype=np.int64)
    refused = [start + _propose(source, slots, made[start : start + BLOCK]) for start in range(0, len(made), BLOCK)]
    places = np.concatenate(refused)
    missing = places[: np.searchsorted(places, size)]
    spare = np.setdiff1d(np.arange(size, len(made)), places, assume_unique=True)[: len(missing)]
    made[missing[: len(spare)]] = made[spare]
    if len(spare) < len(missing):
        made[missing[len(spare) :]] = _noise(source, slots, len(missing) - len(spare))
    return made[:size]


def _propose(source: Source, slots: Slots, into: Array) -> Array:
    """Fill in one proposal for each place; the places where it is turned down."""
    shape, count = slots.shape, len(into)
    slot = slots.draw(source, count)
    words = source.words(count)
    part = words << np.uint64(1)  # the first bit is the sign, the others are the place in the slot
    _magnitudes(shape, slot, part, into)
    sign = words.view(np.int64) >> 63
    into ^= sign
    into -= sign
    refused = [np.flatnonzero(slot < 0)] if slot.dtype == np.int64 else []
    if shape.whole:
        refused.append(np.flatnonzero((into | ~sign) == 0))  # else 0 would have two ways to come about
    if shape.power or not shape.whole:
        coin = source.words(-(-count // 2)).view(np.uint32)[:count]
        places = np.flatnonzero(coin >= slots.sure.take(slot, mode="clip"))
        kept = _kept(source, shape, slot[places].astype(np.int64), part[places], coin[places])
        refused.append(places[~kept])
    return refused[0] if len(refused) == 1 else np.unique(np.concatenate(refused))


def _magnitudes(shape: Shape, slot: Array, part: Array, into: Array) -> None:
    """The sizes of slot + part / 2^64 in units of the width: the lower whole number, or the nearest."""
    power = shape.power
    np.copyto(into, slot if slot.dtype == np.uint8 else np.minimum(slot, FARTHEST >> max(power, 0)))
    if power < 0:
        into += 1 << (-power - 1)
        into >>= -power
        return
    into <<= power
    if shape.whole:
        into += (part >> np.uint64(64 - power)).view(np.int64) if power else 0
    else:
        nearest = part >> np.uint64(63 - power)
        nearest += np.uint64(1)
        nearest >>= np.uint64(1)
        into += nearest.view(np.int64)


def _kept(source: Source, shape: Shape, slot: Array, part: Array, coin: Array) -> Array:
    """Coins of probability exp(-drop): by 32 bits, and exactly where these and the floats do not decide."""
    bits = shape.power if shape.whole else 63
    low = part >> np.uint64(64 - bits)
    place = low * 2.0**-bits
    drop = place * (float(shape.rate) + float(shape.curve) * (slot + 0.5 * place))
    margin = np.exp(-drop) * 2.0**32 - coin
    kept = margin >= 1 + SLACK
    for k in np.flatnonzero(np.abs(margin - 0.5) <= 0.5 + SLACK):
        kept[k] = _kept_exactly(source, shape, int(slot[k]), int(low[k]), bits, int(coin[k]))
    return kept


def _kept_exactly(source: Source, shape: Shape, slot: int, low: int, bits: int, coin: int) -> bool:
    """The same coin, its first 32 bits given; the place within the slot gets more bits too unless it is whole."""
    digits = 32
    while True:
        coin, digits = coin << 64 | int(source.words(1)[0]), digits + 64
        near = far = Fraction(low, 1 << bits)
        if not shape.whole:
            low, bits = low << 64 | int(source.words(1)[0]), bits + 64
            near, far = Fraction(low, 1 << bits), Fraction(low + 1, 1 << bits)
        if coin + 1 <= exact.exponential(shape.drop(slot, far), digits)[0]:
            return True
        if coin >= exact.exponential(shape.drop(slot, near), digits)[1]:
            return False
