"""The declared worst neighbours against all others: whatever the records contribute, no profile is above the pair's.

Contributions are numbers in [-1, 1]; the sum of the rest is 0 without loss of generality.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hush
from hush import Mechanism, Poisson, Relation
from hush.mechanisms.neighbours import Neighbours
from tests.strategies import LAWS

GRID = np.linspace(-14.0, 14.0, 28_001)
"""Outcomes, 0.001 apart: the integral of a positive part on it is good to 1e-6, and is compared with that slack."""
SLACK = 2e-6
CONTRIBUTIONS = [-1.0, -0.6, 0.0, 0.3, 0.8, 1.0]
EPSILONS = [-0.5, -0.1, 0.0, 0.05, 0.2, 0.7, 1.5]


def density(noise: str, scale: float, weights: Iterable[tuple[float, float]]) -> np.ndarray:
    """Density of the noisy sum: (shift, probability) of what the sampled records contribute."""
    total = np.zeros(len(GRID))
    for shift, weight in weights:
        x = (GRID - shift) / scale
        total += weight * (
            np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi) if noise == "gaussian" else 0.5 * np.exp(-np.abs(x))
        )
    return total / scale


def profile(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return float(np.trapezoid(np.maximum(p - math.exp(epsilon) * q, 0.0), GRID))


def drawn(contributions: tuple[float, ...], rate: float) -> list[tuple[float, float]]:
    """(sum, probability) over which of the records are sampled."""
    rows = []
    for taken in itertools.product((0, 1), repeat=len(contributions)):
        count = sum(taken)
        total = sum(c for c, t in zip(contributions, taken, strict=True) if t)
        rows.append((total, rate**count * (1 - rate) ** (len(taken) - count)))
    return rows


def leaf(noise: str, scale: float) -> Mechanism:
    return hush.Gaussian(scale) if noise == "gaussian" else hush.Laplace(scale)


def above(mechanism: Mechanism, removed: int, added: int, epsilon: float) -> float:
    """The pair's certified delta for so many records removed and added."""
    pair = mechanism.evidence(Neighbours.of(removed, added)).pair
    return math.exp(pair.log_delta(epsilon, 1e-9)[1])


@pytest.mark.parametrize("rate", [0.05, 0.5, 1.0])
@pytest.mark.parametrize(("noise", "scale"), [("gaussian", 0.5), ("gaussian", 1.5), ("laplace", 0.7)])
def test_one_record(noise: str, scale: float, rate: float) -> None:
    mechanism = leaf(noise, scale).on(Poisson(rate=rate))
    without = density(noise, scale, [(0.0, 1.0)])
    for contribution in CONTRIBUTIONS:
        with_it = density(noise, scale, drawn((contribution,), rate))
        for epsilon in EPSILONS:
            assert profile(with_it, without, epsilon) <= above(mechanism, 1, 0, epsilon) + SLACK
            assert profile(without, with_it, epsilon) <= above(mechanism, 0, 1, epsilon) + SLACK


@pytest.mark.parametrize("rate", [0.05, 0.4, 1.0])
@pytest.mark.parametrize("scale", [0.5, 1.5])
def test_replaced_record(scale: float, rate: float) -> None:
    """One record's contribution is exchanged for any other: the pair of -1 against 1 is the worst."""
    mechanism = hush.Gaussian(scale).on(Poisson(rate=rate)).under(Relation.REPLACE)
    for old, new in itertools.product(CONTRIBUTIONS, repeat=2):
        p, q = (density("gaussian", scale, drawn((c,), rate)) for c in (old, new))
        for epsilon in EPSILONS:
            assert profile(p, q, epsilon) <= above(mechanism, 1, 1, epsilon) + SLACK, (old, new, epsilon)


@pytest.mark.parametrize("rate", [0.05, 0.4])
@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_sampled_group(scale: float, rate: float) -> None:
    """Three records that belong together, whatever each contributes."""
    mechanism = hush.Gaussian(scale).on(Poisson(rate=rate)).group(3)
    without = density("gaussian", scale, [(0.0, 1.0)])
    for contributions in itertools.combinations_with_replacement([-1.0, -0.5, 0.4, 1.0], 3):
        with_them = density("gaussian", scale, drawn(contributions, rate))
        for epsilon in EPSILONS:
            assert profile(with_them, without, epsilon) <= above(mechanism, 1, 0, epsilon) + SLACK, contributions
            assert profile(without, with_them, epsilon) <= above(mechanism, 0, 1, epsilon) + SLACK, contributions


@settings(LAWS, max_examples=100)
@given(st.integers(1, 3), st.integers(0, 3), st.sampled_from([0.3, 0.6, 1.0, 3.0]), st.sampled_from(EPSILONS))
def test_discrete_noise_with_a_smaller_shift(sensitivity: int, shift: int, scale: float, epsilon: float) -> None:
    """An integer that moves by less than its sensitivity."""
    x = np.arange(-200, 201)
    for mechanism, weight in (
        (hush.DiscreteGaussian(scale, sensitivity), lambda k: np.exp(-0.5 * (k / scale) ** 2)),
        (hush.DiscreteLaplace(scale, sensitivity), lambda k: np.exp(-np.abs(k) / scale)),
    ):
        total = weight(x).sum()
        p, q = weight(x - min(shift, sensitivity)) / total, weight(x) / total
        direct = float(np.maximum(p - math.exp(epsilon) * q, 0).sum())
        assert direct <= above(mechanism, 1, 0, epsilon) + 1e-12
        assert direct <= above(mechanism, 0, 1, epsilon) + 1e-12


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 1.9])
def test_records_in_different_parts(epsilon: float) -> None:
    """Two records that belong together may lie in different parts: both parts change."""
    answer = hush.RandomizedResponse(epsilon=1.0, relation=Relation.ADD_REMOVE)
    other = hush.RandomizedResponse(epsilon=1.0, choices=3, relation=Relation.ADD_REMOVE)
    least = answer.then(other).delta(epsilon=epsilon).lower
    try:
        found = answer.beside(other).group(2).delta(epsilon=epsilon).upper
    except hush.NotCovered:
        return
    assert found >= least


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_a_replaced_record_may_move_between_parts(epsilon: float) -> None:
    one, other = hush.Gaussian(1.0), hush.Laplace(1.0)
    whole = one.beside(other).under(Relation.REPLACE)
    moved = one.then(other).delta(epsilon=epsilon).lower
    assert whole.delta(epsilon=epsilon).upper >= moved * (1 - 1e-9)


def test_replaced_and_sampled_under_its_own_relation_is_not_guessed() -> None:
    """Where the rest of the sum lies is not known: with both contributions far from 0 nothing is amplified."""
    with pytest.raises(hush.NotCovered, match="ADD_REMOVE"):
        hush.Gaussian(1.0, Relation.REPLACE).on(Poisson(rate=0.1)).epsilon(delta=1e-5)
