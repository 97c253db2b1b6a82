"""A sampled group under Laplace noise: the pair is above the exact binomial mixture, and close to it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import integrate

import hush


def exact(scale: float, rate: float, size: int, epsilon: float, removed: bool) -> float:
    """The hockey stick of the binomial mixture of shifts against no shift, by quadrature."""
    weights = [math.comb(size, j) * rate**j * (1 - rate) ** (size - j) for j in range(size + 1)]

    def density(x: float) -> float:
        mixed = sum(w * math.exp(-abs(x - j) / scale) for j, w in enumerate(weights))
        plain = math.exp(-abs(x) / scale)
        first, second = (mixed, plain) if removed else (plain, mixed)
        return max(first - math.exp(epsilon) * second, 0.0) / (2 * scale)

    ends = [-60 * scale, *range(size + 1), size + 60 * scale]
    return sum(integrate.quad(density, a, b, limit=200)[0] for a, b in itertools.pairwise(ends))


@pytest.mark.parametrize(("scale", "rate", "size"), [(1.0, 0.1, 3), (0.5, 0.02, 5), (3.0, 0.5, 4)])
@pytest.mark.parametrize("epsilon", [0.01, 0.2, 0.8])
def test_delta_vs_integration(scale: float, rate: float, size: int, epsilon: float) -> None:
    group = hush.Laplace(scale).on(hush.Poisson(rate=rate)).group(size)
    truth = max(exact(scale, rate, size, epsilon, removed) for removed in (True, False))
    found = group.delta(epsilon=epsilon)
    assert truth * (1 - 1e-7) <= found.upper <= truth * (1 + 1e-3) + 1e-9
    assert found.lower <= truth * (1 + 1e-7)


def test_different_cells_are_no_worse_than_one() -> None:
    """Two users' records in two cells of a histogram: the mixture of vectors stays below that of one cell."""
    rate, epsilon, x = 0.3, 0.2, np.linspace(-25, 26, 2041)
    step = x[1] - x[0]
    one, none = np.exp(-np.abs(x - 1)) / 2, np.exp(-np.abs(x)) / 2
    sides = (1 - rate) * none + rate * one
    spread = np.maximum(np.outer(sides, sides) - math.exp(epsilon) * np.outer(none, none), 0).sum() * step**2
    together = hush.Laplace(1.0).on(hush.Poisson(rate=rate)).group(2).delta(epsilon=epsilon).upper
    assert spread < together
