"""Logarithms that keep their digits."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


def log1p(z: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Principal log(1 + z) of complex z with small relative error near 0 (numpy's loses it there).

    >>> log1p(np.array([1e-20 + 1e-20j]))
    array([1.e-20+1.e-20j])
    """
    result = np.empty(z.shape, dtype=complex)
    result.real = 0.5 * np.log1p(z.real * (2 + z.real) + z.imag * z.imag)
    result.imag = np.arctan2(z.imag, 1 + z.real)
    return result


def log_expm1(x: float) -> float:
    """log(e^x - 1) for x > 0, of any size."""
    return x + math.log(-math.expm1(-x))


def log1mexp(x: float) -> float:
    """log(1 - e^x) for x < 0."""
    return math.log(-math.expm1(x)) if x > -math.log(2) else math.log1p(-math.exp(x))
