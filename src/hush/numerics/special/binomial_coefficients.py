"""Sums over binomial coefficients, in log-space, for orders to 10^5 and beyond."""

from __future__ import annotations

import math

import numpy as np

from hush.arrays import Array
from hush.numerics.rounding import UNIT
from hush.numerics.work import spend

ENTRIES = 1 << 15
"""Entries of one block of rows: what stays in a processor's cache."""


def stirling_rest(n: Array) -> Array:
    """log n! - (n log n - n + log(2 pi n)/2) for n >= 1, to 1e-16.

    >>> stirling_rest(np.array([1.0, 100.0])).round(15).tolist()
    [0.081061466795327, 0.000833330555635]
    """
    far = np.maximum(n, 16.0)  # from 16 on five terms leave 691/360360 n^-11, 1.1e-16; below there is a table
    y = 1 / (far * far)
    series = (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y / 1188)))) / far
    return np.where(n < 16, _NEAR[np.minimum(n, 16).astype(int)], series)


_NEAR = np.array(
    [0.0]
    + [math.log(math.factorial(n)) - ((n + 0.5) * math.log(n) - n + 0.5 * math.log(2 * math.pi)) for n in range(1, 17)]
)


def log_binomial(n: Array, k: Array, rest_of_n: Array, rest: Array) -> Array:
    """log C(n, k) for 0 < k < n, with an error of a few units in its own last place: the entropy form.

    The rests are stirling_rest at n, and at 0, 1, 2, ... for k and n - k.

    >>> rest = stirling_rest(np.arange(6.0))
    >>> round(math.exp(log_binomial(np.array(5.0), np.array(2.0), rest[5], rest)), 12)
    10.0
    """
    other = n - k
    share = k / n
    entropy = -k * np.log(share) - other * np.log1p(-share)
    rests = rest_of_n - rest[np.asarray(k).astype(int)] - rest[np.asarray(other).astype(int)]
    return entropy + 0.5 * np.log(n / (2 * math.pi * k * other)) + rests


def log_binomial_sums(orders: Array, log_terms: Array, log_errors: Array, log_rest: float, side: int) -> Array:
    """log of sum_{j=2..n} C(n, j) e^{log_terms[j-2]} e^{(n-j) log_rest} at each n; side +1 rounds up, -1 down.

    log_errors bounds the rounding of each term's logarithm. All terms are positive, so nothing cancels.

    >>> terms = np.log([1.0, 1.0])
    >>> np.exp(log_binomial_sums(np.array([2, 3]), terms, np.zeros(2), 0.0, 1)).round(9).tolist()
    [1.0, 4.0]
    """
    orders = np.asarray(orders, dtype=float)
    result = np.empty(len(orders))
    by_size = np.argsort(orders)
    start = 0
    while start < len(by_size):
        rows = by_size[start : start + max(1, int(ENTRIES / orders[by_size[start]]))]
        rows = rows[: max(1, int(2 * ENTRIES / orders[rows[-1]]))]
        result[rows] = _block(orders[rows], log_terms + side * log_errors, log_rest, side)
        start += len(rows)
    return result


def _block(n: Array, log_terms: Array, log_rest: float, side: int) -> Array:
    """Some rows of increasing n, each to its own end."""
    column = n[:, None]
    j = np.arange(2.0, float(n[-1]) + 1)
    spend(12 * len(n) * len(j))
    if n[-1] <= SMALL:
        exponent, error = _from_factorials(n.astype(int), len(j))
    else:
        inside = j < column
        rest = stirling_rest(np.arange(float(n[-1]) + 1))
        exponent = log_binomial(column, np.where(inside, j, 1.0), rest[n.astype(int)][:, None], rest)
        exponent = np.where(inside, exponent, 0.0)
        error = 8 * UNIT * exponent
    if log_rest:
        away = (column - j) * log_rest
        exponent, error = exponent + away, error - 4 * UNIT * away
    exponent = exponent + side * error + log_terms[: len(j)]
    exponent[j > column] = -math.inf
    top = exponent.max(axis=1)
    shift = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore", over="ignore"):
        value = shift + np.log(np.exp(exponent - shift[:, None]).sum(axis=1))
    return np.where(np.isfinite(top), value + side * 64 * UNIT, top)


def _from_factorials(n: Array, count: int) -> tuple[Array, Array]:
    """log C(n, j), j = 2, 3, ..., from a table, and its error (past j = n, anything)."""
    j = np.arange(2, count + 2)
    chosen = _FACTORIALS[n][:, None] - (_FACTORIALS[j] + _FACTORIALS[np.abs(n[:, None] - j)])
    return chosen, 6 * UNIT * _FACTORIALS[n][:, None]


SMALL = 600
"""Up to here a table of log-factorials has digits enough, and costs less."""
_FACTORIALS = np.array([math.lgamma(n + 1.0) for n in range(SMALL + 1)])
