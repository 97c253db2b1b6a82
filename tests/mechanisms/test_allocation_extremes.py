"""Allocation where its transform has no digits: simple bounds, ordered, without a warning, and below no sampling."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special

from hush import Allocation, Gaussian, Poisson
from hush.curves.theorems.allocation import log_geometric, log_values
from hush.numerics.lognormal_mean.moments import high_moments, log_whole_moments
from hush.numerics.lognormal_mean.transform import LognormalMean
from hush.numerics.special.gaussian_profile import gaussian_log_delta


@pytest.mark.parametrize("epochs", [1, 3])
@pytest.mark.parametrize(
    ("noise", "steps"), [(1e-6, 10**9), (0.01, 10**9), (0.2, 100), (50, 4), (60, 10), (1e9, 10**9)]
)
def test_bounds_are_ordered(noise: float, steps: int, epochs: int) -> None:
    bound = Gaussian(noise).on(Allocation(steps=steps)).repeat(epochs).epsilon(delta=1e-5)
    assert 0 <= bound.lower <= bound.upper
    assert math.isfinite(bound.upper)
    assert bound.upper <= Gaussian(noise).repeat(epochs).epsilon(delta=1e-5).upper * (1 + 1e-6)


def conditional(spread: float, strike: float) -> float:
    """E(K - V)_+ of one lognormal of mean 1."""
    if strike <= 0:
        return 0.0
    d = -math.log(strike) / spread
    return strike * special.ndtr(spread / 2 - d) - special.ndtr(-d - spread / 2)


def of_two(spread: float, loss: float) -> float:
    """E(e^l - S)_+ for l < 0, or E(S - e^l)_+ for l > 0, S the mean of two: given the first, the second in closed form.

    The trapezoid rule in the first one's normal is exact to rounding; parity makes a call of a put.
    """
    x = np.arange(-12, 12, 0.005)
    rest = [2 * math.exp(loss) - v for v in np.exp(spread * x - spread**2 / 2)]
    put = 0.005 * sum(
        math.exp(-z * z / 2) * conditional(spread, strike) for z, strike in zip(x.tolist(), rest, strict=True)
    )
    put /= 2 * math.sqrt(2 * math.pi)
    return put if loss < 0 else put + 1 - math.exp(loss)


@pytest.mark.parametrize("spread", [0.003, 0.019])
def test_simple_bounds_vs_quadrature_over_two_steps(spread: float) -> None:
    law = LognormalMean(spread, 2)
    for deviations in (-4.0, -2.0, -0.7, 0.7, 2.0, 4.0):
        loss = deviations * spread / math.sqrt(2)
        low, high = (float(end[0]) for end in log_values(law, np.array([loss])))
        truth = math.log(of_two(spread, loss))
        assert low - 1e-6 <= truth <= high + 1e-6
        assert high - low < 1.5 + 2 * spread * deviations**2


@pytest.mark.parametrize(("spread", "steps"), [(1 / 45, 100), (1 / 40, 5000), (0.15, 30)])
def test_simple_bounds_vs_the_transform(spread: float, steps: int) -> None:
    """Where both can be asked."""
    law = LognormalMean(spread, steps)
    orders, moments = high_moments(law)
    exact = log_whole_moments(law)
    near = orders <= 256
    assert np.all(moments[near] >= exact[orders[near]])
    losses = np.array([-3.0, -1.5, 1.5, 3.0]) * spread / math.sqrt(steps)
    low, high = log_values(law, losses)
    for loss, least, most in zip(losses.tolist(), low.tolist(), high.tolist(), strict=True):
        assert most - least < 1e-6
        if loss < 0:
            assert log_geometric(law, loss) >= least
        else:
            k = orders.astype(float)
            bound = moments + (k - 1) * np.log1p(-1 / k) - np.log(k) - (k - 1) * loss
            assert bound.min() >= least
        assert gaussian_log_delta(abs(loss), spread / math.sqrt(steps))[0] + min(loss, 0.0) <= most


@pytest.mark.parametrize(("noise", "steps", "epochs"), [(50.1, 100, 1), (60, 10, 1), (200, 1000, 1), (100, 1000, 10)])
def test_much_noise_is_close_to_poisson(noise: float, steps: int, epochs: int) -> None:
    bound = Gaussian(noise).on(Allocation(steps=steps)).repeat(epochs).epsilon(delta=1e-6)
    poisson = Gaussian(noise).on(Poisson(rate=1 / steps)).repeat(steps * epochs).epsilon(delta=1e-6).upper
    assert 0.97 * poisson < bound.lower <= bound.upper < 1.3 * poisson
