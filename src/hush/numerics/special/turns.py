"""Turns e^{ia}, and how far they are from 1."""

from __future__ import annotations

import numpy as np

from hush.arrays import Array


def turned(angle: Array) -> tuple[Array, Array]:
    """Real and imaginary part of e^{ia} - 1, each with a small relative error.

    With t = tan(a/2) they are -2t^2/(1 + t^2) and 2t/(1 + t^2): nothing cancels, and one tangent is much faster than
    a sine and a cosine.

    >>> turned(np.array([0.0, np.pi]))
    (array([-0., -2.]), array([0.0000000e+00, 1.2246468e-16]))
    """
    half = angle / 2
    np.tan(half, out=half)
    imaginary = half * half
    imaginary += 1
    np.divide(half, imaginary, out=imaginary)
    imaginary *= 2
    half *= imaginary
    return np.negative(half, out=half), imaginary
