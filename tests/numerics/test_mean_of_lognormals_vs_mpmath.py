"""The Laplace transform of a mean of lognormals, its puts and moments, against 30-digit arithmetic and closed forms."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

from hush.curves.normal import gaussian_log_delta
from hush.numerics.inversion import out_of_the_money
from hush.numerics.lognormal_mean import LognormalMean, second_order
from hush.numerics.moments_of_mean import log_negative_moment, log_whole_moments, moment_error

LAWS = [(1.0, 2), (1.0, 100), (2.0, 1000), (0.5, 10_000), (0.2, 100), (0.05, 100), (1 / 0.3, 50), (1.0, 10**6)]
PLACES = [0.5, 1 + 3j, 6j, -1 + 2j]
"""In units of one over the standard deviation."""


def precise(spread: float, count: int, z: complex) -> complex:
    """t log E e^{-z(V-1)/t} by the trapezoid rule on a line that is turned all the way."""
    with mp.workdps(60):
        a, w = mp.mpf(spread), mp.mpc(z) / count
        shift = mp.arg(w) / a if spread >= 0.1 else mp.mpf(0)
        step = mp.mpf(1) / 12

        def term(k: int) -> mp.mpc:
            x = k * step - 1j * shift
            return mp.exp(-x * x / 2 - w * (mp.exp(a * x - a * a / 2) - 1))

        total = mp.fsum(term(k) for k in range(-12 * 16, int(12 * (16 + a)))) * step / mp.sqrt(2 * mp.pi)
        return complex(count * mp.log(total))


@pytest.mark.parametrize("spread, count", LAWS)
def test_transform_vs_mpmath(spread: float, count: int) -> None:
    law = LognormalMean(spread, count)
    deviation = math.sqrt(math.expm1(spread**2) / count)
    z = np.array(PLACES) / deviation
    values, errors = law.log_transform(z)
    for place, value, error in zip(z, values, errors, strict=True):
        gap = complex(value) - precise(spread, count, complex(place))
        gap -= 2j * math.pi * count * round(gap.imag / (2 * math.pi * count))
        assert abs(gap) <= error + 1e-18
        assert error < 1e-9 * (1 + abs(value))


@pytest.mark.parametrize("spread, count", LAWS)
def test_real_transform_is_the_complex_one(spread: float, count: int) -> None:
    law = LognormalMean(spread, count)
    c = np.array([0.01, 0.3, 1.0, 4.0]) / law.width
    real, error = law.log_laplace(c)
    full, other = law.log_transform(c.astype(complex))
    assert np.all(np.abs(full - real) <= error + other)


@pytest.mark.parametrize("sigma", [0.5, 1.0, 3.0])
def test_one_lognormal_is_the_gaussian_mechanism(sigma: float) -> None:
    """For t = 1 calls and puts are those of Black and Scholes; the transform does not know that."""
    epsilons = np.array([0.1, 0.7, 1.5]) / sigma
    for sign in (1.0, -1.0):
        low, high = out_of_the_money(LognormalMean(1 / sigma, 1), sign * epsilons)
        for k, epsilon in enumerate(epsilons):
            least, most = gaussian_log_delta(float(epsilon), 1 / sigma)
            assert low[k] <= most + min(sign, 0.0) * epsilon + 1e-14
            assert high[k] >= least + min(sign, 0.0) * epsilon - 1e-14
            assert high[k] - low[k] < 1e-8


def both_coordinates(sigma: float, strike: float) -> float:
    """E(S - K)_+ for t = 2: one coordinate by quadrature, the other by Black and Scholes."""
    with mp.workdps(25):
        a = mp.mpf(1) / sigma

        def call(x: mp.mpf) -> mp.mpf:
            if x <= 0:
                return 1 - x
            d = -mp.log(x) / a + a / 2
            return mp.ncdf(d) - x * mp.ncdf(d - a)

        def inner(z: mp.mpf) -> mp.mpf:
            return mp.npdf(z) * call(2 * mp.mpf(strike) - mp.exp(a * z - a * a / 2)) / 2

        kink = (mp.log(2 * mp.mpf(strike)) + a * a / 2) / a
        return float(mp.quad(inner, [-12, -4, 0, kink / 2, kink, kink + 2, kink + 12]))


@pytest.mark.parametrize("sigma, epsilon", [(1.0, 1.0), (1.0, 2.5), (2.0, 0.5), (0.7, 3.0)])
def test_two_steps_vs_quadrature(sigma: float, epsilon: float) -> None:
    low, high = out_of_the_money(LognormalMean(1 / sigma, 2), np.array([epsilon]))
    truth = math.log(both_coordinates(sigma, math.exp(epsilon)))
    assert low[0] <= truth + 1e-11
    assert truth - 1e-11 <= high[0] <= low[0] + 1e-7


@pytest.mark.parametrize("sigma, count", [(1.0, 100), (0.7, 20), (2.0, 1000)])
def test_parity(sigma: float, count: int) -> None:
    """At K = 1 the call is the put; both sides of it are computed by contours of their own."""
    law = LognormalMean(1 / sigma, count)
    near = 1e-9 * law.width
    low, high = out_of_the_money(law, np.array([-near, near]))
    assert np.all(np.abs(low[::-1] - high) < 1e-8)


@pytest.mark.parametrize("spread, count", [(1.0, 10), (0.5, 1000), (1.5, 3)])
def test_whole_moments_vs_exact_sums(spread: float, count: int) -> None:
    """E S^2 and E S^3 by counting equal indices."""
    law = LognormalMean(spread, count)
    moments = log_whole_moments(law)
    m2, m3 = math.exp(spread**2), math.exp(3 * spread**2)
    second = (m2 + count - 1) / count
    third = (m3 + 3 * (count - 1) * m2 + (count - 1) * (count - 2)) / count**2
    for order, truth in ((2, second), (3, third)):
        assert abs(moments[order] - math.log(truth)) <= moment_error(law, order, float(moments[order])) + 1e-15


def test_negative_moments_vs_simulation() -> None:
    generator = np.random.default_rng(5)
    sample = np.exp(generator.standard_normal((200_000, 5)) - 0.5).mean(axis=1)
    for order in (0.5, 1.0, 3.0):
        powers = sample**-order
        low, high = log_negative_moment(LognormalMean(1.0, 5), order)
        noise = 5 * powers.std() / math.sqrt(len(powers)) / powers.mean()
        assert abs(math.log(powers.mean()) - (low + high) / 2) < noise
        assert high - low < 1e-11


def test_second_order_keeps_its_digits() -> None:
    x = np.array([1e-9, 1e-3 + 1e-3j, 0.24j, 0.26, -3.0])
    with mp.workdps(40):
        truth = [complex(mp.exp(mp.mpc(v)) - 1 - mp.mpc(v)) for v in x]
    assert np.allclose(second_order(x.astype(complex)), truth, rtol=1e-14, atol=0)
