"""Mixtures of unit normals: log-densities against the standard normal, and the shift given a place."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from scipy import special

from hush.arrays import Array

FEW_COMPONENTS, BLOCK = 8, 512
"""Of more components than this, those that matter are picked for each block of so many places."""
NEGLIGIBLE = 45.0
"""A component below e^-45 = 3e-20 of the heaviest does not matter: hundreds of them are below rounding."""
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
    if len(mixture) > FEW_COMPONENTS:
        return np.concatenate([_log_sum(*_near(mixture, block), block) for block in _blocks(x)])
    return _log_sum(mixture, 0.0, x)


def _log_sum(mixture: Mixture, left_out: float, x: Array) -> Array:
    """The log of the sum over the components, where others of so much weight are left out as negligible."""
    if len(mixture) == 1 and not left_out:
        shift = mixture[0][0]
        return shift * (x - shift / 2) if shift else np.zeros_like(x)
    exponents = [(a * (x - a / 2), w) for a, w in mixture if a]  # without shift the exponent is 0
    total: Array | None = None
    if max((float(e.max(initial=0.0)) for e, _ in exponents), default=0.0) < LARGEST_SUM:
        total = np.full(x.shape, -left_out)
        for e, w in exponents:
            total += w * np.expm1(e)
        if total.min(initial=0.0) > -0.5:
            return np.log1p(total)
    still = math.fsum(w for a, w in mixture if not a)
    top = np.zeros_like(x) if still else exponents[0][0]
    for e, _ in exponents:
        top = np.maximum(top, e)
    scaled = still * np.exp(-top)
    for e, w in exponents:
        scaled += w * np.exp(e - top)
    far = top + np.log(scaled)
    if total is None:
        return far
    near = total > -0.5
    return np.where(near, np.log1p(np.where(near, total, 0.0)), far)


def _blocks(x: Array) -> list[Array]:
    """The places, a few hundred at a time."""
    return [x[start : start + BLOCK] for start in range(0, max(len(x), 1), BLOCK)]


def _near(mixture: Mixture, x: Array) -> tuple[Mixture, float]:
    """The components that matter at some of the places, and the weight of the others, each below e^-45 of the sum.

    Exponents are linear in x. So against that of the heaviest component in the middle, each is largest at an end.
    """
    if not len(x):
        return mixture, 0.0
    shifts, weights = (np.array(column) for column in zip(*mixture, strict=True))
    low, high = float(x.min()), float(x.max())
    middle, half = (low + high) / 2, (high - low) / 2
    log_size = shifts * (middle - shifts / 2) + np.log(weights)
    heaviest = int(np.argmax(log_size))
    keep = log_size - log_size[heaviest] + np.abs(shifts - shifts[heaviest]) * half > -NEGLIGIBLE
    kept = tuple(part for part, near in zip(mixture, keep.tolist(), strict=True) if near)
    return kept, float(weights[~keep].sum())


def posterior(mixture: Mixture, x: Array) -> tuple[Array, Array]:
    """Mean and variance of the component's shift given x."""
    if len(mixture) > FEW_COMPONENTS:
        found = [_posterior(_near(mixture, block)[0], block) for block in _blocks(x)]
        mean, variance = (np.concatenate(column) for column in zip(*found, strict=True))
        return mean, variance
    return _posterior(mixture, x)


def _posterior(mixture: Mixture, x: Array) -> tuple[Array, Array]:
    if len(mixture) == 1:
        return np.full_like(x, mixture[0][0]), np.zeros_like(x)
    if len(mixture) == 2:
        (a, w), (b, v) = mixture
        odds = b * (x - b / 2) - a * (x - a / 2) + (math.log(v) - math.log(w))
        share, rest = special.expit(odds), special.expit(-odds)
        return a * rest + b * share, (b - a) ** 2 * (share * rest)
    exponents = np.array([a * (x - a / 2) + math.log(w) for a, w in mixture])
    share = np.exp(exponents - exponents.max(axis=0))
    share /= share.sum(axis=0)
    shifts = np.array([a for a, _ in mixture])
    mean = shifts @ share
    return mean, np.einsum("jk,jk->k", (shifts[:, None] - mean) ** 2, share)
