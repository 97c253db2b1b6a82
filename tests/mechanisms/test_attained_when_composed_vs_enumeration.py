"""What groups of Laplace noise and shuffled reports attain when they are composed, against integrals and multisets."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy.integrate import quad

import hush
from hush.curves.theorems.shuffling.multiset import others_elsewhere
from hush.curves.theorems.shuffling.shuffled import table_below
from hush.mechanisms.neighbours import Neighbours


def laplace_group(scale: float, weights: list[float], epsilon: float) -> float:
    """delta of a mixture of shifted Laplace laws against the one that is not shifted."""

    def excess(x: float) -> float:
        p = sum(w * math.exp(-abs(x - j) / scale) for j, w in enumerate(weights)) / (2 * scale)
        return max(p - math.exp(epsilon - abs(x) / scale) / (2 * scale), 0.0)

    points = [float(j) for j in range(len(weights))]
    return sum(
        quad(excess, a, b, limit=200)[0] for a, b in zip([-40 * scale, *points], [*points, 60 * scale], strict=True)
    )


@pytest.mark.parametrize(("scale", "rate", "size"), [(2.0, 0.5, 3), (0.7, 0.2, 2), (5.0, 0.9, 4)])
def test_sampled_groups_of_laplace_noise(scale: float, rate: float, size: int) -> None:
    weights = [math.comb(size, j) * rate**j * (1 - rate) ** (size - j) for j in range(size + 1)]
    mechanism = hush.Laplace(scale).on(hush.Poisson(rate=rate)).group(size)
    for epsilon in (0.0, 0.2):
        truth = laplace_group(scale, weights, epsilon)
        (attained,) = mechanism.evidence(Neighbours.of(removed=1)).attained(False)
        assert math.exp(attained.log_delta(epsilon)[0]) <= truth * (1 + 1e-8)
        found = mechanism.delta(epsilon=epsilon)
        assert found.lower <= truth * (1 + 1e-8)
        assert found.upper >= truth * (1 - 1e-8)
        assert found.upper - found.lower <= 1e-4 * found.upper
    composed = mechanism.repeat(5).epsilon(delta=1e-5)
    assert composed.upper - composed.lower <= 1e-3 * composed.upper


def test_groups_too_far_apart_claim_nothing() -> None:
    mechanism = hush.Laplace(0.002).on(hush.Poisson(rate=0.5)).group(3)
    assert mechanism.evidence(Neighbours.of(removed=1)).members(True) == ()


def multisets(epsilon0: float, choices: int, people: int) -> tuple[np.ndarray, np.ndarray]:
    """Laws of the counts of answers where one person holds 0 (P) or 1 (Q) and all others 2."""
    other = 1 / (math.exp(epsilon0) + choices - 1)
    chance = {value: np.full(choices, other) for value in (0, 1, 2)}
    for value, row in chance.items():
        row[value] = 1 - other * (choices - 1)
    laws = []
    for held in (0, 1):
        law: dict[tuple[int, ...], float] = {}
        for reports in product(range(choices), repeat=people):
            counts = tuple(np.bincount(reports, minlength=choices).tolist())
            weight = chance[held][reports[0]] * math.prod(chance[2][r] for r in reports[1:])
            law[counts] = law.get(counts, 0.0) + weight
        laws.append(law)
    return np.array(list(laws[0].values())), np.array([laws[1][k] for k in laws[0]])


@pytest.mark.parametrize(("epsilon0", "choices", "people"), [(1.0, 3, 5), (2.0, 4, 4)])
def test_composed_shuffled_responses_vs_multisets(epsilon0: float, choices: int, people: int) -> None:
    p, q = multisets(epsilon0, choices, people)
    mechanism = hush.KaryResponse(epsilon=epsilon0, choices=choices).shuffled(people=people)
    table = table_below(others_elsewhere(epsilon0, 1 / (math.exp(epsilon0) + choices - 1), people), epsilon0)
    for epsilon in (0.0, 0.1, 0.5):
        truth = float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())
        assert math.exp(table.log_delta(epsilon)[0]) <= truth * (1 + 1e-9)
    above, below = np.multiply.outer(p, p), np.multiply.outer(q, q)
    for epsilon in (0.1, 0.5):
        truth = float(np.maximum(above - math.exp(epsilon) * below, 0.0).sum())
        assert mechanism.repeat(2).delta(epsilon=epsilon).upper >= truth * (1 - 1e-9)
        composed = hush.FromPair(table, table).repeat(2).delta(epsilon=epsilon)
        assert 0.9 * truth <= composed.lower <= truth * (1 + 1e-9)


@pytest.mark.parametrize(("epsilon0", "choices", "people"), [(1.0, 8, 1_000), (2.0, 8, 100_000), (4.0, 100, 10**7)])
def test_composed_shuffled_responses_are_narrow(epsilon0: float, choices: int, people: int) -> None:
    mechanism = hush.KaryResponse(epsilon=epsilon0, choices=choices).shuffled(people=people)
    found = mechanism.repeat(10).epsilon(delta=1e-6)
    assert found.upper - found.lower <= 1e-3 * found.upper
