"""Binomial probabilities, tails and windows, with bounds on their rounding errors."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from hush.arrays import Array
from hush.numerics.rounding import UNIT
from hush.numerics.work import spend

_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)
_SMALL = np.arange(1, 16)
"""Counts below 16 have a table: past it five terms of Stirling's series leave 691/360360 n^-11, at most 1.1e-16."""
_SMALL_ERROR = np.concatenate(
    [
        [0.0],
        special.gammaln(_SMALL + 1.0) - (_SMALL + 0.5) * np.log(_SMALL) + _SMALL - _HALF_LOG_TWO_PI,
    ]
)


def stirling_error(n: Array) -> Array:
    """log n! minus Stirling's formula (n + 1/2) log n - n + log(2 pi)/2, for whole n >= 0 (0 at 0).

    >>> stirling_error(np.array([1.0, 100.0])).round(12).tolist()
    [0.081061466795, 0.000833330556]
    """
    n = np.asarray(n, dtype=float)
    square = np.maximum(n, 16.0) ** -2
    series = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188)))) * np.sqrt(square)
    return np.where(n < 16, _SMALL_ERROR[np.minimum(n, 15.0).astype(int)], series)


def deviance(x: Array | float, mean: Array | float) -> Array:
    """x log(x/mean) + mean - x without cancellation (Loader 2000, bd0)."""
    x, mean = np.broadcast_arrays(np.asarray(x, dtype=float), np.asarray(mean, dtype=float))
    v = (x - mean) / (x + mean)
    near = np.abs(v) < 0.1  # eleven terms of the series: the next is v^24/25, past all digits
    square = np.where(near, v * v, 0.0)
    series = sum(square**j / (2 * j + 1) for j in range(1, 12))
    close = (x - mean) * v + 2 * x * v * series
    far = x * np.log(np.maximum(x, 1e-300) / np.maximum(mean, 1e-300)) + mean - x
    return np.where(near, close, far)


def log_pmf(count: Array | float, chance: Array | float, successes: Array | float) -> Array:
    """log of the binomial probability by Loader's saddle-point form; -inf outside 0 .. count.

    The error is a few units in the last place of 1 + deviance, and what rounding of count * chance does:
    4 UNIT |successes - count * chance|; see `pmf_slack`.

    >>> np.exp(log_pmf(np.array([10.0]), 0.5, np.array([5.0]))).round(12).tolist()
    [0.24609375]
    """
    n, x = np.broadcast_arrays(np.asarray(count, dtype=float), np.asarray(successes, dtype=float))
    inside = (x > 0) & (x < n)
    a, b = np.where(inside, x, 1.0), np.where(inside, n - x, 1.0)
    m = np.where(inside, n, 2.0)
    body = (
        stirling_error(m)
        - stirling_error(a)
        - stirling_error(b)
        - deviance(a, m * chance)
        - deviance(b, m * (1 - chance))
        + 0.5 * (np.log(m) - np.log(a) - np.log(b))
        - _HALF_LOG_TWO_PI
    )
    with np.errstate(divide="ignore"):
        ends = np.where(x == 0, n * np.log1p(-chance), n * np.log(chance))
    ends = np.where((n == 0) & (x == 0), 0.0, ends)
    return np.where(inside, body, np.where((x == 0) | (x == n), ends, -np.inf))


def pmf_slack(count: float, chance: float, successes: Array) -> Array:
    """Bound on the relative error of exp(log_pmf): some hundred roundings, and what rounding of the mean does."""
    far = np.abs(np.asarray(successes) - count * chance)
    return 1e-13 + 8 * UNIT * (far + far * far / max(count * chance * (1 - chance), 1.0))


def window(count: int, chance: float, log_cut: float) -> tuple[int, int]:
    """Whole numbers low <= high with P(X < low) and P(X > high) each at most e^log_cut (Chernoff).

    >>> window(100, 0.5, -700.0)
    (0, 100)
    """
    if count == 0 or chance <= 0 or chance >= 1:
        at = 0 if chance <= 0 else count
        return at, at
    mean = count * chance

    def divergence(x: float) -> float:
        return float(deviance(x, mean) + deviance(count - x, count - mean))

    def edge(inside: float, outside: float) -> float:
        if divergence(outside) < -log_cut:
            return outside
        while abs(outside - inside) > 0.5:
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if divergence(middle) < -log_cut else (inside, middle)
        return outside

    return max(math.floor(edge(mean, 0.0)), 0), min(math.ceil(edge(mean, float(count))), count)


def tail_bounds(count: int, chance: float, least: int) -> tuple[float, float]:
    """Bounds on P(X >= least) of binomial X, as a sum of probabilities: few roundings apart, far into the tail.

    >>> tail_bounds(2, 0.5, 1)
    (0.7499..., 0.7500...)
    """
    if least <= 0:
        return 1.0, 1.0
    if least > count or chance == 0:
        return 0.0, 0.0
    low, high = window(count, chance, LOG_CUT)
    if least <= low:
        return 1 - math.exp(LOG_CUT / 2), 1.0
    if least > high:
        return 0.0, math.exp(LOG_CUT)
    k = np.arange(least, high + 1)
    spend(30 * len(k))
    mass, slack = np.exp(log_pmf(float(count), chance, k)), pmf_slack(float(count), chance, k)
    total = mass.sum(), (mass * slack).sum()
    rounding = 64 * UNIT  # of pairwise sums of up to 2^30 numbers
    beyond = math.exp(LOG_CUT) if high < count else 0.0
    up, down = (total[0] + total[1]) * (1 + rounding) + beyond, (total[0] - total[1]) * (1 - rounding)
    return float(max(down, 0.0)), float(min(up, 1.0))


LOG_CUT = -700.0
"""What a tail may leave out, in logarithms: the smallest that floats still add."""

TAIL_SLACK = 2e-11
"""Relative error granted to scipy's incomplete beta function for counts up to 2e6 (measured: 2e-12)."""
FAR_TAIL_SLACK = 1e-9
"""The same for counts up to 1e10 (measured: 2e-11)."""


def excess(count: Array, chance: float, level: Array) -> tuple[Array, Array]:
    """E(X - level)_+ of binomial X, and a bound on its absolute error.

    De Moivre: E[X - np; X >= m] = m (1-p) b(m). So the excess is m (1-p) b(m) - (level - np) P(X >= m): two numbers
    that cancel only to a share of 1/z^2, z the level in deviations.

    >>> value, error = excess(np.array([2.0]), 0.5, np.array([1.0]))
    >>> round(float(value[0]), 12)
    0.25
    """
    n, level = np.broadcast_arrays(np.asarray(count, dtype=float), np.asarray(level, dtype=float))
    m = np.maximum(np.floor(level) + 1, 0.0)
    possible = m <= n
    safe = np.where(possible, m, 0.0)
    density = np.exp(log_pmf(n, chance, safe))
    tail = np.where(safe > 0, special.betainc(np.maximum(safe, 1.0), np.maximum(n - safe, 0.0) + 1, chance), 1.0)
    first, second = safe * (1 - chance) * density, (level - n * chance) * tail
    spread = np.sqrt(n * chance * (1 - chance))
    slack = TAIL_SLACK if float(n.max(initial=0.0)) <= 2e6 else FAR_TAIL_SLACK
    far = np.abs(level - n * chance) / np.maximum(spread, 1.0)
    error = slack * (first + np.abs(second)) + 16 * UNIT * (spread * far + far * far) * first + 8 * UNIT * n * tail
    # Where rounding put the level on the wrong side of a whole number, b(m) times the rounding of the level is missed.
    error = error + 8 * UNIT * np.abs(level) * density
    return np.where(possible, np.maximum(first - second, 0.0), 0.0), np.where(possible, error, 0.0)
