"""The contour engine against the same integral in thirty digits, and against closed forms."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

from hush.curves.pairs.normal import NormalPair
from hush.numerics.engines import contour
from hush.numerics.engines.saddle import Orders
from hush.numerics.special.gaussian_profile import gaussian_log_delta
from tests.numerics.precise import DIGITS, inverted, normal_moment

TIMES = 50


def sampled(sigma: float, rate: float, direction: str) -> NormalPair:
    base = NormalPair.shifted(1 / sigma)
    return base.mix(rate) if direction == "remove" else base.swap().mix(rate).swap()


@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize(("sigma", "rate", "epsilon"), [(1.0, 0.2, 1.0), (1.0, 0.2, 6.0), (2.0, 0.3, 0.0)])
def test_poisson_gaussian(sigma: float, rate: float, epsilon: float, direction: str) -> None:
    pair = sampled(sigma, rate, direction)
    lower, upper = contour.log_delta_bounds([(pair.law(), TIMES)], epsilon, 1e-9)
    with mp.workdps(DIGITS):
        # any c gives the same integral; period 60 with c = 2 makes the aliases e^{-120}
        moment = lambda s: normal_moment(pair.above, pair.below, s, step="0.125", reach=16)  # noqa: E731
        truth = float(mp.log(inverted(moment, TIMES, epsilon, c=2.0, period=60.0)))
    assert lower <= truth <= upper
    assert upper - lower <= 1e-8


@pytest.mark.parametrize("times", [20, 1000, 10**6])
@pytest.mark.parametrize("depth", [0.5, 3.0, 8.0])
def test_many_gaussians_are_one(times: int, depth: float) -> None:
    """A sum of normal losses is normal: Dong, Roth, Su 2022, Cor. 3.3. The engine is not told."""
    shift = 2.0 / math.sqrt(times)
    epsilon = 2.0**2 / 2 + depth * 2.0
    lower, upper = contour.log_delta_bounds([(NormalPair.shifted(shift).law(), times)], epsilon, 1e-8)
    low, high = gaussian_log_delta(epsilon, 2.0)
    assert lower <= high
    assert upper >= low
    assert upper - lower <= 1e-7


@pytest.mark.parametrize("log_delta", [-3.0, -30.0, -300.0])
def test_epsilon_is_the_inverse(log_delta: float) -> None:
    parts = [(sampled(1.0, 0.05, "remove").law(), 2000)]
    low, high = contour.epsilon_bounds(parts, log_delta, 1e-9)
    assert 0 < low <= high <= low * (1 + 1e-8)
    assert contour.log_delta_bounds(parts, low, 1e-10)[1] >= log_delta - 1e-12
    assert contour.log_delta_bounds(parts, high, 1e-10)[0] <= log_delta + 1e-12


def test_markov_orders_are_upper_bounds() -> None:
    """K(c) - c eps + log sup_L (1 - e^{eps-L}) e^{-c(L-eps)} is above log delta at every order c."""
    parts = [(sampled(1.0, 0.1, "remove").law(), 100)]
    orders = Orders.of(parts, np.geomspace(0.1, 30, 20))
    lower, _ = contour.log_delta_bounds(parts, 3.0, 1e-9)
    assert np.all(orders.exponent() - orders.c * 3.0 >= lower)
