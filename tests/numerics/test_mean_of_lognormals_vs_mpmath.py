"""The Laplace transform of a mean of lognormals, its puts and moments, against 30-digit arithmetic and closed forms."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

from hush.numerics.lognormal_mean.inversion import _across, _beside, out_of_the_money
from hush.numerics.lognormal_mean.moments import log_negative_moment, log_whole_moments, moment_error
from hush.numerics.lognormal_mean.transform import LognormalMean, second_order
from hush.numerics.lognormal_mean.upper_tail import log_jump
from hush.numerics.special.gaussian_profile import gaussian_log_delta

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


def both_coordinates(sigma: float, epsilon: float) -> float:
    """log E(S - K)_+, or log E(K - S)_+ below 1, for t = 2: one coordinate by quadrature, the other in closed form."""
    with mp.workdps(40):
        a, strike = mp.mpf(1) / sigma, 2 * mp.exp(mp.mpf(epsilon))

        def other(x: mp.mpf) -> mp.mpf:
            """E(V - x)_+, or E(x - V)_+ below 1."""
            if x <= 0:
                return 1 - x if epsilon > 0 else mp.mpf(0)
            d = -mp.log(x) / a + a / 2
            return mp.ncdf(d) - x * mp.ncdf(d - a) if epsilon > 0 else x * mp.ncdf(a - d) - mp.ncdf(-d)

        def inner(z: mp.mpf) -> mp.mpf:
            return mp.npdf(z) * other(strike - mp.exp(a * z - a * a / 2)) / 2

        kink = (mp.log(strike) + a * a / 2) / a
        ends = [kink + k for k in (-30, -20, -14, -10, -7, -5, -3, -2, -1, -0.5, 0)]
        ends += [kink + k for k in (0.5, 1, 2, 4, 8, 20)] if epsilon > 0 else []
        return float(mp.log(mp.quad(inner, ends)))


@pytest.mark.parametrize("sigma, epsilon", [(1.0, 1.0), (1.0, 2.5), (2.0, 0.5), (0.7, 3.0), (1.0, 6.0), (1.0, 9.0)])
def test_calls_on_two_vs_quadrature(sigma: float, epsilon: float) -> None:
    """From delta .1 to 1e-20, to ten digits."""
    low, high = out_of_the_money(LognormalMean(1 / sigma, 2), np.array([epsilon]))
    truth = both_coordinates(sigma, epsilon)
    assert low[0] - 1e-13 <= truth <= high[0] + 1e-13
    assert high[0] - low[0] < 1e-10


@pytest.mark.parametrize("sigma, epsilon", [(1.0, -1.0), (1.0, -4.0), (0.5, -6.0), (2.0, -2.0), (1.0, -6.5)])
def test_puts_on_two_vs_quadrature(sigma: float, epsilon: float) -> None:
    """Deep in the lower tail, where the contour crosses the axis in the ten thousands."""
    low, high = out_of_the_money(LognormalMean(1 / sigma, 2), np.array([epsilon]))
    truth = both_coordinates(sigma, epsilon)
    assert low[0] - 1e-13 <= truth <= high[0] + 1e-13
    assert high[0] - low[0] < (1e-5 if truth > -40 else 1.0)


@pytest.mark.parametrize("spread, rho", [(1.0, 0.01), (1.0, 0.2), (2.0, 0.005), (0.5, 0.1)])
def test_jump_across_the_cut_vs_mpmath(spread: float, rho: float) -> None:
    with mp.workdps(30 + int(10 / spread**2)):
        a, step = mp.mpf(spread), mp.mpf(1) / 16
        shift = mp.pi / a

        def term(k: int) -> mp.mpc:
            x = k * step
            return mp.exp(-((x - 1j * shift) ** 2) / 2 - rho * mp.exp(a * x - a * a / 2))

        total = mp.fsum(term(k) for k in range(-16 * 20, int(16 * (20 + a)))) * step / mp.sqrt(2 * mp.pi)
        truth = float(mp.log(-2 * total.imag))
    value, error = log_jump(LognormalMean(spread, 1), np.array([rho + 0j]))
    assert abs(value[0] - truth) <= error[0] + 1e-14
    assert error[0] < 1e-12


@pytest.mark.parametrize("sigma, count", [(1.0, 1000), (0.5, 100), (1.0, 10), (2.0, 1000)])
def test_left_of_zero_vs_right_of_zero(sigma: float, count: int) -> None:
    """Calls by parity and calls across the cut share no contour: their intervals overlap."""
    law = LognormalMean(1 / sigma, count)
    for band in (1, 2, 3):
        excess = law.width * 2.0**band * np.array([1.1, 1.5, 1.9])
        first, second = _beside(law, band, excess), _across(law, band, excess)
        assert np.all(first[0] <= second[1]) and np.all(second[0] <= first[1])
        assert np.all(second[1] - second[0] < 1e-7)


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
