"""Whole noise that never goes beyond a bound: for the count that decides which unknown keys are shown.

Noise of weight exp(-epsilon |x|) on -k..k (Desfontaines, Voss, Gipson, Mandayam 2022, section 4). Of a count n and a
count n + 1 the noisy values differ by the factor e^epsilon, but for one value at either end, which only one of them can
have, with the chance of k. So the losses are epsilon, -epsilon and infinite, with the chances that `ApproxDP` has: it
is the mechanism, exactly. A group that is shown from k + 1 on is shown with the chance of k where it has one user.
"""

from __future__ import annotations

import math

import numpy as np

from hush.randomness.additive import add_discrete_laplace, scale_for
from hush.randomness.source import Source

MOST = 1 << 40
"""Bounds beyond this are of no use: no count is that large."""
ROUNDED_UP = 1 + 1e-12
"""More than all roundings of the chance of the bound: of exp, whose exponent is at most 710, and four operations."""


def chance_of_bound(epsilon: float, bound: int) -> float:
    """The chance that the noise is exactly at one end of its range, rounded up.

    >>> chance_of_bound(1.0, 11)
    7.7182118...e-06
    """
    step = 1 / scale_for(epsilon)
    least = math.exp(-step * bound)
    return least * -math.expm1(-step) / (1 + math.exp(-step) - 2 * math.exp(-step) * least) * ROUNDED_UP


def bound_for(epsilon: float, delta: float) -> int:
    """The least bound whose chance is at most delta.

    >>> bound_for(1.0, 1e-5)
    11
    """
    low, high = 0, 1
    while chance_of_bound(epsilon, high) > delta and high < MOST:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if chance_of_bound(epsilon, middle) <= delta else (middle, high)
    return high


def add_bounded(counts: np.ndarray, epsilon: float, bound: int, source: Source) -> np.ndarray:
    """Counts with such noise: discrete Laplace noise, drawn again where it goes beyond the bound.

    >>> from hush.randomness.source import SeededSource
    >>> found = add_bounded(np.zeros(100, dtype=np.int64), 0.1, 2, SeededSource(1))
    >>> int(found.min()), int(found.max())
    (-2, 2)
    """
    noise = np.zeros(len(counts), dtype=np.int64)
    left = np.arange(len(counts))
    while len(left):
        drawn = add_discrete_laplace(noise[left] * 0, sensitivity=1, scale=scale_for(epsilon), source=source)
        inside = np.abs(drawn) <= bound
        noise[left[inside]] = drawn[inside]
        left = left[~inside]
    return counts + noise


def surely_within(epsilon: float, bound: int, sure: float) -> int:
    """The noise stays within this with the given confidence.

    >>> surely_within(1.0, 11, 0.95), surely_within(1.0, 11, 1.0)
    (3, 11)
    """
    step = 1 / scale_for(epsilon)
    beyond = 0.0
    for size in range(bound, 0, -1):
        beyond += 2 * chance_of_bound(epsilon, bound) * math.exp(step * (bound - size))
        if beyond > 1 - sure:
            return size
    return 0
