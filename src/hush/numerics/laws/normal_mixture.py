"""Mixtures of unit normals: log-densities against the standard normal, and the shift given a place."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from hush.arrays import Array

LARGEST_SUM = 600.0
"""Exponents up to which e^x - 1 is summed as such: a sum of thousands is still a float."""
Mixture = tuple[tuple[float, float], ...]
"""(shift, weight) of each component."""


def width(mixture: Mixture) -> float:
    """Distance of the farthest shifts."""
    shifts = [a for a, _ in mixture]
    return max(shifts) - min(shifts)


def crossings(mixture: Mixture) -> list[tuple[float, float]]:
    """Where neighbouring components weigh the same, and the width of the transition there."""
    ordered = sorted(mixture)
    return [((a + b) / 2 + (math.log(w) - math.log(v)) / (b - a), 1 / (b - a)) for (a, w), (b, v) in pairwise(ordered)]


def log_mixture(mixture: Mixture, x: Array) -> Array:
    """log sum_j w_j exp(a_j x - a_j^2/2) with small relative error near 0 and no overflow."""
    if len(mixture) == 1:
        shift = mixture[0][0]
        return shift * (x - shift / 2) if shift else np.zeros_like(x)
    exponents = [(a * (x - a / 2), w) for a, w in mixture]
    top = exponents[0][0]
    for e, _ in exponents[1:]:
        top = np.maximum(top, e)
    if np.max(top, initial=0.0) < LARGEST_SUM:
        total = np.zeros_like(x)
        for e, w in exponents:
            total += w * np.expm1(e)
        near = total > -0.5
        if near.all():
            return np.log1p(total)
    else:
        near = np.zeros(x.shape, dtype=bool)
        total = near
    scaled = np.zeros_like(x)
    for e, w in exponents:
        scaled += w * np.exp(e - top)
    return np.where(near, np.log1p(np.where(near, total, 0.0)), top + np.log(scaled))


def posterior(mixture: Mixture, x: Array) -> tuple[Array, Array]:
    """Mean and variance of the component's shift given x."""
    if len(mixture) == 1:
        return np.full_like(x, mixture[0][0]), np.zeros_like(x)
    exponents = np.array([a * (x - a / 2) + math.log(w) for a, w in mixture])
    share = np.exp(exponents - exponents.max(axis=0))
    share /= share.sum(axis=0)
    shifts = np.array([a for a, _ in mixture])
    mean = shifts @ share
    return mean, np.einsum("jk,jk->k", (shifts[:, None] - mean) ** 2, share)
