"""Logarithms that keep their digits."""

from __future__ import annotations

import numpy as np

from hush.arrays import Array


def log1p(z: Array) -> Array:
    """Principal log(1 + z) of complex z != -1 with small relative error near 0 (numpy's loses it there).

    >>> log1p(np.array([1e-20 + 1e-20j]))
    array([1.e-20+1.e-20j])
    """
    result = np.empty(z.shape, dtype=complex)
    size = np.abs(1 + z)
    near = np.abs(z) < 0.5
    small: Array = np.where(near, z, 0.0)
    real, imaginary = np.real(small), np.imag(small)
    result.real = np.where(near, 0.5 * np.log1p(real * (2 + real) + imaginary**2), np.log(size))
    result.imag = np.arctan2(np.imag(z), 1 + np.real(z))
    return result
