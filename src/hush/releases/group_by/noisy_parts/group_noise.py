"""Noise on totals of many groups at once, and how far it reaches."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from scipy import special

from hush.randomness.additive import add_gaussian, add_laplace, scale_for
from hush.randomness.source import Source
from hush.releases.group_by.contributions import ROUNDED_UP, Reach
from hush.releases.group_by.noisy_parts.parts import NoiseLevel, NoisyGroups

FINE = 20
"""One unit moves the totals by about 2^20 steps, more where it moves many: rounding costs a millionth of the noise."""
AT_ONCE = 1 << 18
"""Totals whose noise is drawn together: what a draw needs on its way is many times what it gives."""
LIMIT = 1 << 60
"""Totals are cut there; so is whatever noise makes of them."""


def noised(totals: list[np.ndarray], reach: Reach, level: NoiseLevel, source: Source) -> NoisyGroups:
    """Totals of large sensitivity are rounded to coarser steps first; then exact noise is added.

    Rounding to steps of s moves a total that moves by D at most D/s + 1, and only totals that move: that is charged.

    >>> from hush.randomness.source import SeededSource
    >>> level = NoiseLevel(500.0, gaussian=False)
    >>> noised([np.array([100, 200])], Reach(1, 1.0, 1), level, SeededSource(1)).totals.tolist()
    [[100.0, 200.0]]
    """
    shift = max(0, reach.l1.bit_length() - FINE - reach.numbers.bit_length())
    l1, l2 = reach.l1, reach.l2
    if shift:
        half = 1 << (shift - 1)
        totals = [(total + half) >> shift for total in totals]
        l1 = (l1 >> shift) + 1 + reach.numbers
        l2 = (math.ldexp(l2, -shift) + math.sqrt(reach.numbers)) * ROUNDED_UP
    whole = np.stack([np.minimum(np.maximum(total, -LIMIT), LIMIT).astype(np.int64) for total in totals])
    if level.gaussian:
        add = partial(add_gaussian, sensitivity=l2, noise_multiplier=1 / level.value, source=source)
    else:
        add = partial(add_laplace, sensitivity=l1, scale=scale_for(level.value), source=source)
    values, noise = np.empty(whole.size), add(whole.reshape(-1)[:AT_ONCE])
    values[:AT_ONCE] = noise.values
    for start in range(AT_ONCE, whole.size, AT_ONCE):
        values[start : start + AT_ONCE] = add(whole.reshape(-1)[start : start + AT_ONCE]).values
    return NoisyGroups(values.reshape(whole.shape), noise.scale, level.gaussian, shift)


def reach_of_one(noise: NoisyGroups, sure: float) -> float:
    """The noise of one total stays within this with the given confidence; the half step is for rounding."""
    if noise.gaussian:
        return noise.scale * float(-special.ndtri((1 - sure) / 2)) + 0.5
    return -noise.scale * math.log1p(-sure) + 0.5


def reach_of_two(noise: NoisyGroups, sure: float) -> float:
    """The same for the sum of two totals: two Laplace draws of scale 1 are beyond t with chance e^{-t}(1 + t/2)."""
    if noise.gaussian:
        return math.sqrt(2) * noise.scale * float(-special.ndtri((1 - sure) / 2)) + 1
    low, high = 0.0, 2000.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if math.exp(-middle) * (1 + middle / 2) > 1 - sure else (low, middle)
    return noise.scale * high + 1
