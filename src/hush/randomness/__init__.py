"""Random bits, and exact draws made of them; unaware of privacy."""

from hush.randomness.additive import Noised, add_discrete_laplace, add_gaussian, add_laplace, scale_for
from hush.randomness.grid import Grid
from hush.randomness.noise import discrete_gaussian, discrete_laplace, rounded_gaussian, rounded_laplace

__all__ = [
    "Grid",
    "Noised",
    "add_discrete_laplace",
    "add_gaussian",
    "add_laplace",
    "discrete_gaussian",
    "discrete_laplace",
    "rounded_gaussian",
    "rounded_laplace",
    "scale_for",
]
