"""Conversions of Rényi divergences, against the two-point pairs that decide what is possible."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hush
from hush.curves.pairs.finite import FinitePair
from hush.curves.renyi.convert import (
    renyi_to_epsilon,
    renyi_to_epsilon_mironov,
    renyi_to_log_delta,
    renyi_to_log_delta_mironov,
    renyi_to_tradeoff,
)
from hush.curves.renyi.convert_optimal import renyi_to_epsilon_optimal, renyi_to_log_delta_optimal

POINTS = [(2.0, 0.1), (1.5, 2.0), (20.0, 0.3), (3.0, 5.0), (100.0, 0.01), (1.01, 3.0), (8.0, 1e-4), (1000.0, 0.5)]


def largest_hit(order: float, divergence: float, miss: np.ndarray) -> np.ndarray:
    """Largest p for each q with D_a((p, 1-p) || (q, 1-q)) <= divergence."""
    low, high = miss.copy(), np.ones_like(miss)
    for _ in range(80):
        middle = (low + high) / 2
        with np.errstate(divide="ignore"):
            moment = np.logaddexp(
                order * np.log(middle) - (order - 1) * np.log(miss),
                order * np.log1p(-middle) - (order - 1) * np.log1p(-miss),
            )
        fits = moment <= (order - 1) * divergence
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    return low


@pytest.mark.parametrize(("order", "divergence"), POINTS)
@pytest.mark.parametrize("epsilon", [0.0, 0.2, 1.0])
def test_optimal_delta_is_attained_by_a_two_point_pair(order: float, divergence: float, epsilon: float) -> None:
    miss = np.concatenate([np.geomspace(1e-14, 0.5, 4_001), np.linspace(0.5, 1 - 1e-9, 1_001)])
    attained = float((largest_hit(order, divergence, miss) - math.exp(epsilon) * miss).max())
    found = math.exp(renyi_to_log_delta_optimal(order, divergence, epsilon))
    assert found >= attained * (1 - 1e-9)
    assert found <= max(attained, 0.0) * 1.001 + 1e-13  # p - e^eps q is rounded near 0


@pytest.mark.parametrize(("order", "divergence"), POINTS)
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.01, 0.3])
def test_each_conversion_is_at_most_the_older_one(order: float, divergence: float, delta: float) -> None:
    log_delta = math.log(delta)
    optimal = renyi_to_epsilon_optimal(order, divergence, log_delta)
    improved = renyi_to_epsilon(order, divergence, log_delta)
    assert 0 <= optimal <= improved <= max(renyi_to_epsilon_mironov(order, divergence, log_delta), 0) * (1 + 1e-12)
    if optimal > 1e-6:  # and they are inverse to each other
        assert renyi_to_log_delta_optimal(order, divergence, optimal) == pytest.approx(log_delta, abs=1e-4)
        assert renyi_to_log_delta(order, divergence, improved) == pytest.approx(log_delta, abs=1e-9)
    assert renyi_to_log_delta_mironov(order, divergence, improved) >= renyi_to_log_delta(order, divergence, improved)


def test_arrays_and_floats_agree() -> None:
    orders = np.array([1.5, 2.0, 30.0])
    for function in (renyi_to_epsilon, renyi_to_epsilon_mironov, renyi_to_epsilon_optimal):
        together = function(orders, 0.1 * orders, math.log(1e-5))
        assert together == pytest.approx([function(a, 0.1 * a, math.log(1e-5)) for a in orders.tolist()])
    for function in (renyi_to_log_delta, renyi_to_log_delta_optimal):
        together = function(orders, 0.1 * orders, 1.0)
        assert together == pytest.approx([function(a, 0.1 * a, 1.0) for a in orders.tolist()])


@pytest.mark.parametrize("function", [renyi_to_epsilon, renyi_to_epsilon_mironov, renyi_to_epsilon_optimal])
def test_orders_must_exceed_one(function: object) -> None:
    with pytest.raises(hush.InvalidParameter, match="order"):
        function(1.0, 0.1, -5.0)  # type: ignore[operator]


@pytest.mark.parametrize(
    "mechanism",
    [hush.Gaussian(1.0), hush.Laplace(0.7), hush.DiscreteLaplace(1.0, 2)],
    ids=str,
)
def test_a_whole_curve_lies_above_the_exact_answer(mechanism: hush.Mechanism) -> None:
    curve = mechanism.renyi_curve()
    for delta in (1e-8, 1e-3, 0.1):
        exact = mechanism.epsilon(delta=delta).lower
        assert exact <= curve.optimal_epsilon(delta=delta) * (1 + 1e-12) <= curve.epsilon(delta=delta) * (1 + 1e-9)
    exact = mechanism.log_delta(epsilon=0.5).lower
    assert exact <= curve.optimal_log_delta(epsilon=0.5) <= curve.log_delta(epsilon=0.5) + 1e-9
    for rate in (0.0, 0.05, 1.0):
        bound = mechanism.tradeoff(false_positive_rate=rate)
        assert curve.tradeoff(false_positive_rate=rate) <= bound.upper + 1e-12


@pytest.mark.parametrize(("order", "divergence"), POINTS)
@pytest.mark.parametrize("rate", [1e-9, 0.01, 0.3, 0.9])
def test_tradeoff_is_the_two_point_pair(order: float, divergence: float, rate: float) -> None:
    hit = float(largest_hit(order, divergence, np.array([rate]))[0])
    found = renyi_to_tradeoff(order, divergence, rate)
    assert found <= 1 - hit + 1e-15
    assert found == pytest.approx(1 - hit, rel=1e-6, abs=1e-12)


def test_max_divergence_is_pure_differential_privacy() -> None:
    curve = hush.Laplace(1.0).renyi_curve()
    assert curve.epsilon(delta=0.0) == 1.0
    assert curve.log_delta(epsilon=1.0) == -math.inf
    assert curve.optimal_log_delta(epsilon=1.0) == -math.inf
    assert renyi_to_tradeoff(math.inf, 1.0, 0.05) == pytest.approx(1 - math.e * 0.05)


def test_a_max_divergence_past_all_floats_protects_no_rate() -> None:
    """e^710 * 1e-306 is above 1, though neither factor is a float that tells."""
    assert renyi_to_tradeoff(math.inf, 710.0, 1e-306) == pytest.approx(0.0, abs=1e-300)
    assert renyi_to_tradeoff(math.inf, math.inf, 1e-306) == 0.0
    assert hush.RenyiCurve.constant(710.0).tradeoff(false_positive_rate=1e-306) == pytest.approx(0.0, abs=1e-300)
    assert renyi_to_tradeoff(math.inf, 690.0, 1e-306) == pytest.approx(1 - math.exp(690.0) * 1e-306)


@pytest.mark.parametrize("reach", [1e-12, 1e-9, 1e-6, 1e-3, 1.0])
def test_tables_of_narrow_profiles_keep_their_digits(reach: float) -> None:
    """A table's mean loss counts n times in a composition: points a billionth apart must not make one of rounding."""
    epsilons = reach * np.linspace(-1.1, 1.1, 301)
    for share in (0.0, 1e-3):
        deltas = -np.expm1(np.minimum(epsilons, 0.0)) + share * reach * np.exp(-np.abs(epsilons) / reach)
        pair = FinitePair.from_profile(epsilons, deltas)
        assert float(pair.mass.sum()) + pair.at_infinity == pytest.approx(1.0, abs=1e-13)
        assert float(pair.q_mass.sum()) + pair.at_minus_infinity == pytest.approx(1.0, abs=1e-13)
        # all but the atom at 0 is what exceeds max(1 - t, 0)
        apart = np.abs(pair.losses) > 1e-3 * reach
        assert float(pair.mass[apart].sum()) <= 5 * share
