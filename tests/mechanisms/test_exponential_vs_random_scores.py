"""The exponential mechanism on Poisson samples, one record replaced, against many choices of scores."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hush


def choices(log_weights: np.ndarray) -> np.ndarray:
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def worst(above: np.ndarray, below: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(above - math.exp(epsilon) * below, 0).sum(axis=1).max())


def scores(size: float) -> tuple[np.ndarray, list[np.ndarray]]:
    """Choices without either record, and with a record that moves two scores as far apart as it may."""
    base = np.stack([np.linspace(-12, 12, 4001), np.zeros(4001)], axis=1)
    return choices(base), [choices(base + side * size / 2 * np.array([1, -1])) for side in (1, -1)]


@pytest.mark.parametrize("rate", [0.01, 0.3, 0.9])
@pytest.mark.parametrize("size", [0.1, 1.0, 4.0])
def test_replaced_on_a_sample_vs_scores(size: float, rate: float) -> None:
    mechanism = hush.Exponential(size).on(hush.Poisson(rate=rate)).under(hush.Relation.REPLACE)
    rest, (up, down) = scores(size)
    more, less = (1 - rate) * rest + rate * up, (1 - rate) * rest + rate * down
    random = np.random.default_rng(7)
    base = 2 * random.normal(size=(5000, 4))
    signs = random.choice([-1, 1], size=(2, *base.shape))
    one, other = ((1 - rate) * choices(base) + rate * choices(base + size / 2 * sign) for sign in signs)
    for share in (0.0, 0.1, 0.5, 0.9, 1.05):
        epsilon = share * math.log1p(rate * math.expm1(size))
        bound = mechanism.delta(epsilon=epsilon)
        assert bound.upper * (1 + 1e-9) >= max(worst(more, less, epsilon), worst(one, other, epsilon))
        attained = max(worst(more, rest, epsilon), worst(rest, more, epsilon), worst(more, less, epsilon))
        assert bound.lower <= attained * (1 + 1e-5) + 1e-12
    assert mechanism.epsilon(delta=1e-6).lower <= mechanism.epsilon(delta=1e-6).upper <= 2 * size


def test_replaced_on_a_sample_composed_vs_products_of_scores() -> None:
    size, rate, epsilon = 1.0, 0.3, 0.2
    rest, (up, down) = scores(size)
    row = 2000  # even odds
    p, q = ((1 - rate) * rest[row] + rate * side[row] for side in (up, down))
    product = float(np.maximum(np.outer(p, p) - math.exp(epsilon) * np.outer(q, q), 0).sum())
    mechanism = hush.Exponential(size).on(hush.Poisson(rate=rate)).under(hush.Relation.REPLACE).repeat(2)
    assert mechanism.delta(epsilon=epsilon).upper >= product
