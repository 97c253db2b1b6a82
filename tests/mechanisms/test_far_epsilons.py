"""Epsilons and parameters near the ends of the floats: an answer without a warning (warnings are errors here)."""

from __future__ import annotations

import math

import pytest

import hush
from hush import Relation

MECHANISMS = [
    hush.Gaussian(1.0),
    hush.Gaussian(1.0).on(hush.Poisson(rate=0.1)),
    hush.Gaussian(1.0).on(hush.Poisson(rate=0.1)).repeat(10),
    hush.Gaussian(1e6).on(hush.Poisson(rate=0.1)).repeat(10),
    hush.Gaussian(1.0).repeat(3).on(hush.Poisson(rate=0.1)),
    hush.Gaussian(1.0).then(hush.Laplace(1.0)),
    hush.Gaussian(1.0).beside(hush.Laplace(1.0)).repeat(2),
    hush.Gaussian(1.0).on(hush.Allocation(steps=5)),
    hush.Gaussian(1.0).on(hush.ShuffledBatches(steps=5)),
    hush.Gaussian(1.0, Relation.REPLACE).on(hush.WithoutReplacement(10, 100)).repeat(3),
    hush.ZCDP(1.0),
    hush.ZCDP(1.0).on(hush.Poisson(rate=0.1)).repeat(3),
    hush.TCDP(1.0, 20),
    hush.RenyiDP(function=lambda order: order),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_far_epsilons(mechanism: hush.Mechanism) -> None:
    """The true delta is positive: its logarithm is never minus infinity, and falls with epsilon."""
    last = 0.0
    for epsilon in (1e3, 1e6, 1e8, 1e10, 1e17, 1e160, 1e300, 1.7e308):
        found = mechanism.log_delta(epsilon=epsilon)
        assert found.lower <= found.upper
        assert -math.inf < found.upper <= last
        last = found.upper
        assert 0 < mechanism.delta(epsilon=epsilon).upper < 1e-10


@pytest.mark.parametrize("rho", [1e308, 1e-308, 1e150])
def test_stated_curves_at_the_ends_of_the_floats(rho: float) -> None:
    for mechanism in (hush.ZCDP(rho), hush.ZCDP(rho).repeat(10), hush.ZCDP(rho).on(hush.Poisson(rate=0.1))):
        assert mechanism.epsilon(delta=1e-5).upper >= (rho if rho > 1 else 0)
        assert mechanism.log_delta(epsilon=1.0).upper <= 0
        mechanism.renyi(orders=[1.0, 2.0, 1e300, math.inf])
        mechanism.tradeoff(false_positive_rate=0.01)


@pytest.mark.parametrize("mechanism", [hush.DiscreteGaussian(2.0), hush.PureDP(1.0).repeat(3), *MECHANISMS], ids=str)
def test_far_orders(mechanism: hush.Mechanism) -> None:
    values = mechanism.renyi(orders=[2.0, 1e3, 1e15, 1e300, math.inf])
    assert (values[1:] >= values[:-1] * (1 - 1e-9)).all()


def test_depth_vs_closed_form() -> None:
    """-(epsilon - rho)^2/(4 rho) is what many losses tend to: Gaussian noise attains it but for a factor."""
    for epsilon in (1e7, 1e9, 1e50):
        found = hush.Gaussian(1.0).on(hush.Poisson(rate=0.9)).repeat(2).log_delta(epsilon=epsilon).upper
        plain = hush.Gaussian(1.0).repeat(2).log_delta(epsilon=epsilon).upper
        assert found == pytest.approx(plain, rel=1e-5)
        assert found >= plain + 4 * math.log(0.9) - 1e-8 * abs(plain)
