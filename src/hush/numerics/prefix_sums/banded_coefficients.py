"""Coefficients of banded noise: the error of prefix sums that they leave, and those that leave the least.

Steps release X + C^-1 Z, Z of independent normals, C lower triangular with the column c = (c_0, ..., c_{b-1}) on every
diagonal. Prefix sums then have the noise A C^-1 Z, A the matrix of ones. Its rows are partial sums of u = C^-1 1, so
that the variance of prefix sum t, in units of that of Z, is u_0^2 + ... + u_t^2. Losses are times |c|^2, which is what
the largest column of C costs: they do not change with the scale of c.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np
from scipy import optimize, signal

from hush.arrays import Array

Aim: TypeAlias = Literal["mean", "max"]
"""What is made least: the mean of the variances of all prefix sums, or the largest, which is that of the last one."""
TIGHT = 1e-13
"""Relative change of the loss, and size of the gradient of its logarithm, at which the search ends."""
MOST_TRIES = 2000
"""Steps of that search at the most: any coefficients are valid, better ones err less."""


def root_coefficients(count: int) -> Array:
    """The first coefficients of 1/sqrt(1 - x), C(2k, k)/4^k: with all of them C is the root of A.

    They are optimal for the largest error (Fichtenberger, Henzinger, Upadhyay 2022).

    >>> root_coefficients(4).tolist()
    [1.0, 0.5, 0.375, 0.3125]
    """
    places = np.arange(1, count)
    return np.concatenate([[1.0], np.cumprod(1 - 0.5 / places)])[:count]


def buffered_coefficients(decays: Array, weights: Array, count: int) -> Array:
    """1, then sums of geometric rows: sum_j weight_j decay_j^(k-1). Their noise needs one vector per decay.

    Dvijotham, McMahan, Pillutla, Steinke, Thakurta 2024 (buffered linear Toeplitz noise). They are not banded.

    >>> buffered_coefficients(np.array([0.5]), np.array([0.2]), 4).tolist()
    [1.0, 0.2, 0.1, 0.05]
    """
    powers = np.asarray(decays, dtype=float)[:, None] ** np.arange(count - 1)
    return np.concatenate([[1.0], np.asarray(weights, dtype=float) @ powers])[:count]


def responses(coefficients: Array, steps: int) -> Array:
    """u = C^-1 1: what a constant 1 becomes."""
    return signal.lfilter([1.0], coefficients, np.ones(steps))


def importance(steps: int, aim: Aim) -> Array:
    """How much each u_t^2 counts: in how many of the prefix sums it is, or 1."""
    return 1 - np.arange(steps) / steps if aim == "mean" else np.ones(steps)


def prefix_loss(coefficients: Array, steps: int, aim: Aim = "mean") -> float:
    """The mean or the largest variance of the prefix sums of so many steps, in units of the noise that is paid for.

    >>> prefix_loss(np.ones(1), 2000), prefix_loss(np.ones(1), 2000, "max")
    (1000.5, 2000.0)
    """
    c = np.asarray(coefficients, dtype=float)
    return float((c @ c) * (importance(steps, aim) @ responses(c, steps) ** 2))


def column_normalised_loss(coefficients: Array, steps: int) -> float:
    """The mean loss where the last columns, which have fewer coefficients, are scaled up to the norm of the others.

    C = C_0 D^-1 then, D the norms of the columns, so that row j of C^-1 is that of C_0^-1 times norm j.

    >>> round(column_normalised_loss(np.array([0.8, 0.6]), 3), 9) <= round(prefix_loss(np.array([0.8, 0.6]), 3), 9)
    True
    """
    c = np.asarray(coefficients, dtype=float)
    squares = np.cumsum(c * c)
    norms = np.sqrt(squares[np.minimum(np.arange(steps, 0, -1), len(c)) - 1] / squares[-1])
    kernel, inverse = responses(c, steps), signal.lfilter([1.0], c, np.eye(1, steps)[0])
    total = float(importance(steps, "mean") @ kernel**2)
    for row in range(max(steps - len(c) + 1, 0), steps):  # all rows before see whole columns alone
        scaled = np.convolve(norms[row::-1], inverse[: row + 1])[: row + 1]
        total += float(scaled @ scaled - kernel[: row + 1] @ kernel[: row + 1]) / steps
    return total * float(squares[-1])


@lru_cache(maxsize=256)
def best_coefficients(bands: int, steps: int, aim: Aim = "mean") -> tuple[float, ...]:
    """The coefficients of so many bands with the least loss, found by L-BFGS; the first one is 1.

    The gradient comes from the adjoint filter: with v = C^-T (2 w u), d/dc_k of sum w u^2 is -sum_i v_i u_{i-k}.

    >>> round(best_coefficients(2, 2000)[1], 4)
    0.9048
    """
    bands = min(bands, steps)
    if bands == 1:
        return (1.0,)
    weights = importance(steps, aim)

    def log_loss(free: Array) -> tuple[float, Array]:
        c = np.concatenate([[1.0], free])
        u = responses(c, steps)
        square, spread = float(c @ c), float(weights @ (u * u))
        adjoint = signal.lfilter([1.0], c, (2 * weights * u)[::-1])[::-1]
        slopes = np.array([adjoint[k:] @ u[: steps - k] for k in range(1, bands)])
        return math.log(square) + math.log(spread), 2 * free / square - slopes / spread

    found = optimize.minimize(
        log_loss,
        root_coefficients(bands)[1:],
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, 1.0)] * (bands - 1),  # without them the line search runs off at two bands
        options={"maxiter": MOST_TRIES, "maxfun": 2 * MOST_TRIES, "ftol": TIGHT * 1e-2, "gtol": TIGHT, "maxcor": 30},
    )
    return (1.0, *(float(c) for c in found.x))
