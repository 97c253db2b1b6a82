"""Rényi curves as values: their algebra, their ends, their straight pieces, and the best real order."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import hush
from hush.curves.renyi.convert import renyi_to_epsilon
from hush.curves.renyi.curve import ZERO, RenyiCurve
from hush.curves.renyi.families import bounded_range, laplace
from hush.mechanisms.neighbours import REMOVED
from tests.strategies import LAWS, add_remove, is_covered

ORDERS = np.array([1.0, 1.0 + 1e-6, 1.5, 2.0, 7.3, 64.0, 1e4, math.inf])

CURVES = {
    "gaussian": hush.Gaussian(2.0).renyi_curve(),
    "laplace": hush.Laplace(0.7).renyi_curve(),
    "randomized response": hush.RandomizedResponse(epsilon=1.0, relation=hush.Relation.REPLACE).renyi_curve(),
    "discrete gaussian": hush.DiscreteGaussian(1.3).renyi_curve(),
    "discrete laplace": hush.DiscreteLaplace(1.3, 2).renyi_curve(),
    "skellam": hush.Skellam(4.0).renyi_curve(),
    "exponential": hush.Exponential(1.0).renyi_curve(),
    "sampled": hush.Gaussian(1.0).on(hush.Poisson(rate=0.1)).renyi_curve(),
    "posterior": hush.BetaPosterior(20, 5.0, 5.0).renyi_curve(),
}


@pytest.mark.parametrize("name", CURVES)
def test_grows_with_the_order_and_takes_arrays(name: str) -> None:
    curve = CURVES[name]
    values = curve(ORDERS)
    assert values.tolist() == pytest.approx([curve(order) for order in ORDERS.tolist()], rel=1e-12)
    # just above 1 a moment is 1 plus little: its rounding is divided by order - 1
    assert np.all(values[1:] >= values[:-1] * (1 - 1e-7))
    assert curve(ORDERS.reshape(2, 4)).shape == (2, 4)


@pytest.mark.parametrize("name", CURVES)
def test_order_one_is_the_limit(name: str) -> None:
    assert CURVES[name](1.0) == pytest.approx(CURVES[name](1 + 1e-5), rel=1e-3)


@pytest.mark.parametrize("name", ["laplace", "randomized response", "discrete laplace", "exponential"])
def test_infinity_is_the_limit(name: str) -> None:
    assert CURVES[name](1e7) == pytest.approx(CURVES[name](math.inf), rel=1e-4)


def test_kullback_leibler_of_laplace() -> None:
    for bound in (1e-6, 0.1, 3.0):
        assert laplace(bound)(1.0) == pytest.approx(bound - 1 + math.exp(-bound), rel=1e-12, abs=1e-16)


def test_laplace_keeps_its_digits_for_small_bounds() -> None:
    # Mironov 2017, Prop. 6, expanded: a bound^2/2 (1 - bound (2a-1)/(3 (2a-1)) ...) ~ a bound^2/2 at first order
    assert laplace(1e-7)(3.0) == pytest.approx(3 * 1e-14 / 2, rel=1e-6)


def test_bounded_range_is_a_supremum_of_two_point_pairs() -> None:
    for range_, order in ((0.01, 1.3), (0.5, 2.0), (3.0, 20.0)):
        t = np.linspace(0, range_, 20_001)
        q = np.expm1(t - range_) / np.expm1(-range_) * np.exp(-t)
        value = np.log(q * np.exp(order * t) + (1 - q) * np.exp(order * (t - range_))) / (order - 1)
        assert bounded_range(range_)(order) == pytest.approx(float(value.max()), rel=1e-7)
        assert bounded_range(range_)(order) <= order * range_**2 / 8


@LAWS
@given(add_remove(1).filter(is_covered), st.integers(0, 9))
def test_algebra(mechanism: hush.Mechanism, times: int) -> None:
    try:
        curve = mechanism.renyi_curve()
    except hush.NotCovered:
        assume(False)
    orders = np.array([1.5, 2.0, 10.0])
    assert (times * curve)(orders) == pytest.approx(times * curve(orders) if times else 0 * orders)
    assert (curve + curve)(orders) == pytest.approx((2 * curve)(orders))
    assert (curve + ZERO)(orders) == pytest.approx(curve(orders))
    assert RenyiCurve.largest([curve, ZERO])(orders) == pytest.approx(curve(orders))
    assert RenyiCurve.least([curve, 2 * curve])(orders) == pytest.approx(curve(orders))


def test_refuses_what_is_no_order_and_no_count() -> None:
    with pytest.raises(hush.InvalidParameter, match="orders from 1"):
        ZERO(0.5)
    with pytest.raises(hush.InvalidParameter, match="times"):
        -1 * ZERO
    with pytest.raises(hush.InvalidParameter, match="delta"):
        ZERO.epsilon(delta=1.0)


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("omega", [1.5, 4.0, 100.0])
def test_tcdp_fits_tightly_above(name: str, omega: float) -> None:
    curve = CURVES[name]
    rho = curve.to_tcdp(omega=omega)
    orders = np.concatenate([[1.0], 1 + np.geomspace(1e-6, omega * (1 - 1e-9) - 1, 100)])
    ratio = curve(orders) / orders
    if math.isinf(rho):
        assert math.isinf(ratio.max())
    else:
        assert ratio.max() <= rho * (1 + 1e-9) <= ratio.max() * 1.01


def test_zcdp_of_bounded_and_of_straight_curves() -> None:
    assert hush.Gaussian(2.0).renyi_curve().to_zcdp() == 0.125
    orders = np.geomspace(1, 1e6, 10_000)
    curve = laplace(2.0)
    assert curve.to_zcdp() == pytest.approx(float((curve(orders) / orders).max()), rel=1e-4)
    assert hush.RenyiDP(points=[(2.0, 1.0)]).renyi_curve().to_zcdp() == math.inf


BEST = [
    (1.0, 0.01, 10_000, 1e-5, 6.71227),
    (0.8, 0.004, 15_000, 1e-5, 4.8179),
    (2.0, 0.05, 2_000, 1e-6, 6.5403),
    (10.0, 0.5, 500, 1e-8, 6.9448),
    (0.5, 0.001, 1_000, 1e-6, 5.3195),
    (1.0, 0.01, 1_000, 1e-15, 5.2834),
    (1.0, 1e-4, 1_000_000, 1e-10, 1.3142),
    (0.3, 0.01, 1_000, 1e-5, 78.375),
]
"""(noise, rate, steps, delta, epsilon at the best real order): continuous minimisation at high precision."""


@pytest.mark.parametrize(("noise", "rate", "steps", "delta", "epsilon"), BEST)
def test_best_order_is_the_continuous_optimum(
    noise: float, rate: float, steps: int, delta: float, epsilon: float
) -> None:
    curve = hush.Gaussian(noise).on(hush.Poisson(rate=rate)).repeat(steps).evidence(REMOVED).curve
    digits = 5 if epsilon == 6.71227 else 3 if epsilon > 50 else 4
    assert round(curve.epsilon(delta=delta), digits) == epsilon


@pytest.mark.parametrize("slope", [1e-14, 1e-6, 0.5, 1e4, 1e10])
def test_best_order_at_all_scales(slope: float) -> None:
    """zCDP has a known optimum near 1 + sqrt(log(1/delta)/rho); no order on a fine grid about it does better."""
    curve = RenyiCurve.linear(slope)
    around = 1 + math.sqrt(math.log(1e8) / slope) * np.geomspace(0.2, 2, 20_001)
    around = around[around > 1]
    grid = renyi_to_epsilon(around, curve(around), math.log(1e-8))
    assert float(grid.min()) * (1 - 1e-7) <= curve.epsilon(delta=1e-8) <= float(grid.min()) * (1 + 1e-12)


@pytest.mark.parametrize("value", [math.nan, None, "1", True, [1.0], 1j])
def test_what_is_no_number_is_refused(value: Any) -> None:
    curve = hush.RenyiCurve.linear(1.0)
    asks = [
        lambda: curve.delta(epsilon=value),
        lambda: curve.log_delta(epsilon=value),
        lambda: curve.optimal_log_delta(epsilon=value),
        lambda: curve.epsilon(delta=value),
        lambda: curve.optimal_epsilon(delta=value),
        lambda: curve.best_order(delta=value),
        lambda: curve.tradeoff(false_positive_rate=value),
        lambda: curve.to_tcdp(omega=value),
    ]
    for ask in asks:
        with pytest.raises(hush.InvalidParameter):
            ask()


def test_delta_is_from_0_to_1_and_never_rounded_to_0() -> None:
    curve = hush.RenyiCurve.linear(1.0)
    assert all(0 < curve.delta(epsilon=e) <= 1 for e in (-1e6, -3.0, 0.0, 1.0, 100.0, 1e6))
    assert math.exp(curve.optimal_log_delta(epsilon=0.0)) <= 1


@pytest.mark.parametrize("given", [[], [1.0], 5])
def test_the_largest_and_the_least_need_curves(given: Any) -> None:
    for choose in (hush.RenyiCurve.largest, hush.RenyiCurve.least):
        with pytest.raises(hush.InvalidParameter, match="at least one curve"):
            choose(given)
