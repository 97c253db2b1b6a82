"""A sampled group under a stated epsilon: above every mechanism that meets it, and exact for the largest loss."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import hush

POISSON = hush.Poisson(rate=0.2)


@pytest.mark.parametrize(("epsilon", "size"), [(0.5, 2), (1.0, 3), (2.0, 5)])
def test_largest_loss_in_closed_form(epsilon: float, size: int) -> None:
    for leaf in (hush.PureDP(epsilon), hush.Exponential(epsilon=epsilon)):
        found = leaf.on(POISSON).group(size)
        assert found.epsilon(delta=0).upper == pytest.approx(size * math.log1p(0.2 * math.expm1(epsilon)), rel=1e-9)
    assert hush.PureDP(epsilon).on(POISSON).group(1) == hush.PureDP(epsilon).on(POISSON)


@pytest.mark.parametrize(("epsilon", "size"), [(0.5, 2), (1.0, 3), (2.0, 5)])
@pytest.mark.parametrize("at", [0.0, 0.1, 0.5, 1.0])
def test_above_geometric_and_laplace_noise(epsilon: float, size: int, at: float) -> None:
    stated = hush.PureDP(epsilon).on(POISSON).group(size).delta(epsilon=at).upper
    for leaf in (hush.DiscreteLaplace(scale=1 / epsilon), hush.Laplace(1 / epsilon)):
        assert leaf.on(POISSON).group(size).delta(epsilon=at).upper <= stated * (1 + 1e-9) + 1e-12


def test_above_random_mechanisms() -> None:
    """Random tables of outputs for every subset of three records, each step within the epsilon."""
    random, epsilon, rate = np.random.default_rng(4), 0.8, 0.3
    subsets = [frozenset(s) for n in range(4) for s in itertools.combinations(range(3), n)]
    bound = hush.PureDP(epsilon).on(hush.Poisson(rate=rate)).group(3)
    for _ in range(60):
        steps = random.uniform(-1, 1, (3, 6))
        laws = {}
        for subset in subsets:
            # weights exp(epsilon/2 * sum of utilities in [-1, 1]) are epsilon-private for each record
            weights = np.exp(epsilon / 2 * sum((steps[k] for k in subset), np.zeros(6)))
            laws[subset] = weights / weights.sum()
        mixed = sum(rate ** len(s) * (1 - rate) ** (3 - len(s)) * law for s, law in laws.items())
        none = laws[frozenset()]
        for at in (0.0, 0.2, 0.6):
            for p, q in ((mixed, none), (none, mixed)):
                truth = float(np.maximum(p - math.exp(at) * q, 0).sum())
                assert truth <= bound.delta(epsilon=at).upper + 1e-12
