"""Random bits, and exact draws made of them; unaware of privacy."""

from hush.randomness.additive import NoisyValues, add_discrete_laplace, add_gaussian, add_laplace, scale_for
from hush.randomness.binary_grid import BinaryGrid
from hush.randomness.integer_noise import discrete_gaussian, discrete_laplace, rounded_gaussian, rounded_laplace

__all__ = [
    "BinaryGrid",
    "NoisyValues",
    "add_discrete_laplace",
    "add_gaussian",
    "add_laplace",
    "discrete_gaussian",
    "discrete_laplace",
    "rounded_gaussian",
    "rounded_laplace",
    "scale_for",
]
