"""Random vectors that are exact to a known error, and noise that hides such an error."""

from __future__ import annotations

import numpy as np

from hush.arrays import Array
from hush.learning.linear.method import GENEROUS
from hush.randomness import integer_noise
from hush.randomness.additive import add_laplace
from hush.randomness.source import Source

FLOAT_ERROR = 1e-11
"""Relative error of a random vector that is made in floats. Its direction is rounded to a grid of 2^-49 and no shorter
than 0.01, and each operation rounds by 2^-53: both together stay far below."""
FINE = 2.0**48
"""Steps that one standard deviation of continuous noise is cut into."""
SPARED = 1 - 1e-9
"""Share of an epsilon that noise is drawn for: the rest covers rounding where the parts of a budget are added up."""


def normal_noise(source: Source, shape: tuple[int, ...]) -> Array:
    """Standard normal numbers, each within 2^-49 of an ideal one (they are rounded to a grid)."""
    return integer_noise.rounded_gaussian(source, FINE, int(np.prod(shape))).reshape(shape) / FINE


def spherical_laplace(source: Source, size: int) -> Array:
    """A vector with density proportional to exp(-|b|): a uniform direction and a length that is Gamma(size).

    Sums of absolute Laplace noise are the length; floats and the grid move the vector by less than FLOAT_ERROR of it.
    """
    direction = np.zeros(size)
    while not (direction**2).sum() > 1e-4:  # the direction does not depend on it, and its floats are then good
        direction = normal_noise(source, (size,))
    length = np.abs(integer_noise.rounded_laplace(source, FINE, size) / FINE).sum()
    return direction * (length / np.sqrt((direction**2).sum()))


def float_error(dimensions: int) -> float:
    """How far a random vector of unit scale may be from an ideal one: no length beyond this many units ever occurs."""
    return FLOAT_ERROR * (10 * dimensions + 1000)


def concealed(weights: Array, *, radius: float, epsilon: float, source: Source) -> Array:
    """Weights that are within `radius` of those of the proof, with noise that hides the difference: epsilon-private.

    Given the ideal weights, two datasets give vectors at most 2 radius apart: L1 distance 2 radius sqrt(dimensions).
    """
    distance = 2 * radius * np.sqrt(weights.size) * GENEROUS
    return add_laplace(weights, sensitivity=float(distance), scale=1 / (epsilon * SPARED), source=source).values
