"""Logarithms that keep their digits."""

from __future__ import annotations

import numpy as np

from hush.arrays import Array


def log1p(z: Array) -> Array:
    """Principal log(1 + z) of complex z != -1 with small relative error near 0 (numpy's loses it there).

    >>> log1p(np.array([1e-20 + 1e-20j]))
    array([1.e-20+1.e-20j])
    """
    result: Array = np.empty(z.shape, dtype=complex)
    size = np.abs(1 + z)
    near = np.abs(z) < 0.5
    small: Array = np.where(near, z, 0.0)
    result.real = np.where(near, 0.5 * np.log1p(small.real * (2 + small.real) + small.imag**2), np.log(size))
    result.imag = np.arctan2(z.imag, 1 + z.real)
    return result
