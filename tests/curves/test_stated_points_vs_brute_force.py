"""The worst pair of a stated guarantee against all small pairs that meet it, and against its own points."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hush.curves.pairs.finite import FinitePair
from hush.curves.pairs.worst_case import stated_points
from tests.strategies import LAWS

MANY = settings(LAWS, max_examples=100)

POINTS = st.lists(
    st.tuples(st.sampled_from([0.0, 0.1, 0.3, 0.5, 1.0, 2.0]), st.sampled_from([0.0, 1e-9, 1e-4, 0.01, 0.05, 0.2])),
    min_size=1,
    max_size=4,
    unique_by=lambda point: point[0],
)


def delta(pair: FinitePair, epsilon: float) -> tuple[float, float]:
    low, high = pair.log_delta(epsilon)
    return math.exp(low), math.exp(high)


@MANY
@given(POINTS)
def test_it_is_a_pair(points: list[tuple[float, float]]) -> None:
    """P and Q are probabilities, and the two are mirror images."""
    pair = stated_points([e for e, _ in points], [d for _, d in points])
    assert np.all(pair.mass >= 0)
    assert math.isclose(float(pair.mass.sum()) + pair.at_infinity, 1.0, rel_tol=1e-9)
    assert math.isclose(float(pair.q_mass.sum()) + pair.at_minus_infinity, 1.0, rel_tol=1e-9)
    for epsilon in (-1.0, -0.2, 0.0, 0.2, 0.7, 1.5):
        assert delta(pair, epsilon)[1] == pytest.approx(delta(pair.swap(), epsilon)[1], abs=1e-12)


@MANY
@given(POINTS)
def test_it_meets_its_points(points: list[tuple[float, float]]) -> None:
    pair = stated_points([e for e, _ in points], [d for _, d in points])
    for epsilon, least in points:
        assert delta(pair, epsilon)[0] <= least + 1e-12


@MANY
@given(POINTS, st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.05, 0.2, 0.6, 1.2, 2.5]))
def test_no_pair_that_meets_them_is_worse(points: list[tuple[float, float]], seed: int, epsilon: float) -> None:
    """Random three-outcome pairs, mixed towards equality until both directions meet every point."""
    random = np.random.default_rng(seed)
    worst = stated_points([e for e, _ in points], [d for _, d in points])
    for _ in range(50):
        p, q = random.dirichlet([0.5] * 3), random.dirichlet([0.5] * 3)
        low, high = 0.0, 1.0
        for _ in range(40):
            middle = (low + high) / 2
            a, b = _towards(p, q, middle)
            low, high = (middle, high) if _meets(a, b, points) else (low, middle)
        a, b = _towards(p, q, low)
        assert _direct(a, b, epsilon) <= delta(worst, epsilon)[1] + 1e-9


def _towards(p: np.ndarray, q: np.ndarray, far: float) -> tuple[np.ndarray, np.ndarray]:
    middle = (p + q) / 2
    return middle + far * (p - middle), middle + far * (q - middle)


def _direct(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def _meets(p: np.ndarray, q: np.ndarray, points: list[tuple[float, float]]) -> bool:
    return all(_direct(p, q, e) <= d and _direct(q, p, e) <= d for e, d in points)


@MANY
@given(st.sampled_from([0.1, 0.5, 2.0]), st.sampled_from([0.0, 1e-6, 0.1]), st.floats(0.0, 3.0))
def test_one_point_vs_closed_form(epsilon: float, stated: float, at: float) -> None:
    """Kairouz, Oh, Viswanath 2015: delta(at) = stated + (1 - stated) (e^eps - e^at)_+ / (1 + e^eps)."""
    pair = stated_points([epsilon], [stated])
    truth = stated + (1 - stated) * max(math.exp(epsilon) - math.exp(at), 0.0) / (1 + math.exp(epsilon))
    low, high = delta(pair, at)
    assert low - 1e-14 <= truth <= high + 1e-14


def test_a_useless_point_changes_nothing() -> None:
    """A larger epsilon with a larger delta says nothing new."""
    alone, both = stated_points([0.1146], [3e-7]), stated_points([0.1146, 0.2909], [3e-7, 0.03774])
    for epsilon in np.linspace(-0.5, 0.5, 21):
        assert delta(both, float(epsilon))[1] == pytest.approx(delta(alone, float(epsilon))[1], abs=1e-12)


def test_many_points_down_to_tiny_deltas_keep_both_masses() -> None:
    """A mass of 1e-17 too much at a loss of -35 would be a Q-mass of 8%."""
    epsilons = np.geomspace(2.5, 38.0, 39)
    pair = stated_points(epsilons, np.exp(-0.5 * (epsilons / 1.8) ** 2))
    assert pair.mass.sum() + pair.at_infinity == pytest.approx(1, abs=1e-12)
    assert pair.q_mass.sum() + pair.at_minus_infinity == pytest.approx(1, abs=1e-12)
