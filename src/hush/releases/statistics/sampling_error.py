"""How far a sample may be from the whole: bounds that hold for any bounded data, and need no look at it."""

from __future__ import annotations

import math
from collections.abc import Callable


def mean_range(low: float, high: float, records: float, failure: float) -> tuple[float, float]:
    """Where the mean of a population of numbers in [0, 1] lies, if a sample of so many has its mean in [low, high].

    {m: n kl(sample mean, m) <= log(2/failure)}: Hoeffding 1963, Theorem 1 for independent draws and section 6 for draws
    without replacement; given its size, a Poisson sample is one without replacement.

    >>> mean_range(0.1, 0.1, 1000, 0.05)
    (0.076..., 0.127...)
    """
    if records < 1:
        return 0.0, 1.0
    most = math.log(2 / failure) / records
    low, high = min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)
    return _edge(low, 0.0, lambda m: _kl(low, m) <= most), _edge(high, 1.0, lambda m: _kl(high, m) <= most)


def total_range(low: float, high: float, rate: float, failure: float) -> tuple[float, float]:
    """Where the total of numbers in [0, 1] lies, if that of a sample at this rate lies in [low, high].

    A sum of independent (or without replacement) numbers in [0, 1] of mean m reaches s with probability at most
    exp(-(m - s + s log(s/m))): Hoeffding 1963, by 1 + m(e^t - 1) <= exp(m(e^t - 1)).

    >>> total_range(100, 100, 0.1, 0.05)
    (752.395..., 1296.749...)
    """
    most = math.log(2 / failure)

    def near(s: float, m: float) -> bool:
        if m <= 0:
            return s <= 0
        return m - s + (s * math.log(s / m) if s > 0 else 0.0) <= most

    low, high = max(low, 0.0), max(high, 0.0)
    far = high + most + math.sqrt(most * most + 4 * most * (high + 1)) + 1
    return _edge(low, 0.0, lambda m: near(low, m)) / rate, _edge(high, far, lambda m: near(high, m)) / rate


def expansion_reach(records: float, half: float, rate: float, failure: float) -> float:
    """How far (1/rate) times the total of a Poisson sample is from that of all records, each at most `half` from 0.

    Bernstein's inequality: variance at most records half^2 (1-rate)/rate, each term within half/rate.

    >>> expansion_reach(10_000, 1.0, 0.1, 0.05)
    827.249...
    """
    variance, term, most = records * half * half * (1 - rate) / rate, half / rate, math.log(2 / failure)
    return term * most / 3 + math.sqrt((term * most / 3) ** 2 + 2 * variance * most)


def _kl(a: float, b: float) -> float:
    """The Kullback-Leibler divergence of two coins."""
    if a == b:
        return 0.0
    if b <= 0 or b >= 1:
        return math.inf
    head = a * math.log(a / b) if a > 0 else 0.0
    return head + ((1 - a) * math.log((1 - a) / (1 - b)) if a < 1 else 0.0)


def _edge(inside: float, outside: float, holds: Callable[[float], bool]) -> float:
    """The end of the range where the condition holds, on the side of `outside`, rounded outwards."""
    for _ in range(100):
        middle = (inside + outside) / 2
        if holds(middle):
            inside = middle
        else:
            outside = middle
    return outside
