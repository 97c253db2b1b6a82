"""How far one record can move C X when it is used a few times, with a number of steps between two uses."""

from __future__ import annotations

import math

import numpy as np
from scipy import linalg

from hush.arrays import Array

ROUNDED_UP = 1 + 1e-12
"""Room for the rounding of sums of some thousand squares."""


def sensitivity_squared(coefficients: Array, steps: int, separation: int, uses: int) -> float:
    """Upper bound on max |C u|^2 over vectors u of norm at most 1 at up to `uses` steps, `separation` or more apart.

    That is at most the sum of |X_ij| over the steps of the pattern, X = C^T C, and equal to it where X >= 0.
    Three ways, of which the least is taken. No more bands than the separation: columns do not meet, and their norms add
    up. Coefficients that fall: the pattern 0, s, 2s, ... is the worst (Kalinin, Lampert 2024, Thm 2); others are raised
    until they fall, which raises |X|. And any C: the best pattern of each row, then the best pattern of rows.

    >>> round(sensitivity_squared(np.array([0.3, 0.1, 1.0]), 8, 1, 2), 9)
    2.8
    """
    c = np.abs(np.asarray(coefficients, dtype=float))[:steps]
    uses = min(uses, -(-steps // separation))
    if len(c) <= separation:
        return _best_pattern(_column_squares(c, steps)[None], separation, uses)[0] * ROUNDED_UP
    raised = np.maximum.accumulate(c[::-1])[::-1]
    pattern = np.zeros(steps)
    pattern[: uses * separation : separation] = 1.0
    evenly = float(np.square(np.convolve(pattern, raised)[:steps]).sum())
    return min(evenly, math.inf if (raised == c).all() else _by_rows(c, steps, separation, uses)) * ROUNDED_UP


def _column_squares(c: Array, steps: int) -> Array:
    """The squared norm of each column: the last ones have fewer coefficients."""
    return np.cumsum(c * c)[np.minimum(np.arange(steps, 0, -1), len(c)) - 1]


def _best_pattern(values: Array, separation: int, uses: int) -> Array:
    """For each row of values >= 0, the largest sum over a pattern: f[i] = max(f[i+1], value_i + f'[i+s])."""
    rows, steps = values.shape
    best = np.zeros((rows, steps + separation))
    for _ in range(uses):
        fewer, best = best, np.zeros_like(best)
        for place in range(steps - 1, -1, -1):
            best[:, place] = np.maximum(best[:, place + 1], values[:, place] + fewer[:, place + separation])
    return best[:, 0]


def _by_rows(c: Array, steps: int, separation: int, uses: int) -> float:
    """The same for banded columns, by rows."""
    columns = linalg.toeplitz(np.pad(c, (0, steps - len(c))), np.zeros(steps))
    return worst_pattern(columns.T @ columns, separation, uses)


def worst_pattern(products: Array, separation: int, uses: int) -> float:
    """Upper bound on the sum of |X_ij| over a pattern, for any X: the best pattern of each row, then that of rows.

    >>> worst_pattern(np.eye(5), 2, 2)
    2.0
    """
    rows = _best_pattern(np.abs(products), separation, uses)
    return float(_best_pattern(rows[None], separation, uses)[0])
