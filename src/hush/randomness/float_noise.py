"""Random numbers made of floats, for simulations alone.

A million of them tell nobody that they are floats, but their last bits do: noise that protects people is made exactly,
in `additive` and `integer_noise`.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from hush.arrays import Array
from hush.randomness.source import Source


def uniform(source: Source, *shape: int) -> Array:
    """Numbers strictly between 0 and 1."""
    words = source.words(math.prod(shape))
    return ((words >> np.uint64(11)).astype(float) + 0.5).reshape(shape) / 2.0**53


def normal(source: Source, size: int) -> Array:
    """Standard normal numbers."""
    return special.ndtri(uniform(source, size))


def laplace(source: Source, size: int) -> Array:
    """Laplace numbers of scale 1."""
    u = uniform(source, size) - 0.5
    return -np.sign(u) * np.log1p(-2 * np.abs(u))


def from_masses(source: Source, values: Array, masses: Array, size: int) -> Array:
    """Values drawn with probabilities in proportion to their masses."""
    edges = np.cumsum(masses / masses.sum())
    return values[np.minimum(np.searchsorted(edges, uniform(source, size)), len(values) - 1)]


def responses(source: Source, truths: Array, choices: int, own: float) -> Array:
    """Each truth, a whole number below `choices`, with probability `own`; else any other number, all alike."""
    keep, other = uniform(source, 2, len(truths))
    return np.where(keep < own, truths, (truths + 1 + np.floor(other * (choices - 1)).astype(int)) % choices)
