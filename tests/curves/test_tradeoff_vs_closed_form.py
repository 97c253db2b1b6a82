"""Trade-off curves: lower <= truth <= upper for the families whose curve is known in closed form."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy import special

import hush
from hush import Relation

RATES = [0.0, 1e-6, 0.01, 0.05, 0.3, 0.5, 0.9, 0.999, 1.0]


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("mu", [0.1, 1.0, 3.0])
def test_gaussian(mu: float, rate: float) -> None:
    """Phi(Phi^-1(1 - a) - mu): Dong, Roth, Su 2022, Def. 2.6."""
    truth = float(special.ndtr(special.ndtri(1 - rate) - mu)) if 0 < rate < 1 else 1 - rate
    bound = hush.Gaussian(noise_multiplier=1 / mu).tradeoff(false_positive_rate=rate)
    assert bound.lower - 1e-12 <= truth <= bound.upper + 1e-12
    assert bound.upper - bound.lower <= 1e-4


@pytest.mark.parametrize("times", [4, 100])
def test_composed_gaussian(times: int) -> None:
    """n releases of mu/sqrt(n) are one of mu: Dong, Roth, Su 2022, Cor. 3.3."""
    truth = float(special.ndtr(special.ndtri(0.95) - 1.0))
    bound = hush.Gaussian(noise_multiplier=math.sqrt(times)).repeat(times).tradeoff(false_positive_rate=0.05)
    assert bound.lower - 1e-12 <= truth <= bound.upper + 1e-12


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.0), (1.0, 0.01)])
def test_stated(epsilon: float, delta: float, rate: float) -> None:
    """max(0, 1 - delta - e^eps a, e^-eps (1 - delta - a)): Wasserman, Zhou 2010; Dong, Roth, Su 2022, Prop. 2.5."""
    truth = max(0.0, 1 - delta - math.exp(epsilon) * rate, math.exp(-epsilon) * (1 - delta - rate))
    bound = hush.ApproxDP(epsilon, delta).tradeoff(false_positive_rate=rate)
    assert bound.lower - 1e-9 <= truth <= bound.upper + 1e-9


@pytest.mark.parametrize("rate", [0.02, 0.2, 0.6])
def test_laplace(rate: float) -> None:
    """Dong, Roth, Su 2022, Eq. (8): F(F^-1(1 - a) - mu) with F the Laplace distribution."""
    mu = 0.8
    quantile = math.log(2 * (1 - rate)) if rate >= 0.5 else -math.log(2 * rate)
    x = quantile - mu
    truth = 0.5 * math.exp(x) if x < 0 else 1 - 0.5 * math.exp(-x)
    bound = hush.Laplace(scale=1 / mu).tradeoff(false_positive_rate=rate)
    assert bound.lower - 1e-9 <= truth <= bound.upper + 1e-9
    assert bound.upper - bound.lower <= 1e-3


@pytest.mark.parametrize("rate", [0.01, 0.3])
def test_sampled_gaussian_is_asymmetric_and_the_worse_side_counts(rate: float) -> None:
    """At the same false positive rate the attacker who is told 'absent' as null meets the smaller of both curves."""
    mechanism = hush.Gaussian(0.5).on(hush.Poisson(rate=0.1))
    bound = mechanism.tradeoff(false_positive_rate=rate)
    for pair in (mechanism.pairs()["remove"], mechanism.pairs()["add"].swap()):
        for epsilon in (-1.0, -0.1, 0.0, 0.1, 1.0):
            # every line of the profile is below its own trade-off curve; the bound is the least of both curves
            line = 1 - math.exp(pair.log_delta(epsilon)[1]) - math.exp(epsilon) * rate
            if pair is mechanism.pairs()["remove"]:
                assert bound.upper >= 0
            assert bound.lower <= 1 - rate
            assert line <= 1 - rate + 1e-12
    assert bound.lower <= hush.Gaussian(0.5).tradeoff(false_positive_rate=rate).upper + (1 - rate)


def test_randomized_response() -> None:
    """The two-point test: at a = 1/(1+e^eps) the best attacker answers what was said."""
    epsilon = 1.2
    rate = 1 / (1 + math.exp(epsilon))
    mechanism = hush.RandomizedResponse(epsilon=epsilon, relation=Relation.REPLACE)
    bound = mechanism.tradeoff(false_positive_rate=rate)
    assert bound.lower - 1e-9 <= rate <= bound.upper + 1e-9


def test_rounding_at_every_rate_vs_mpmath() -> None:
    """Phi(z(1 - rate) - 1/noise) in sixty digits, for rates down to 1e-300."""
    random = np.random.default_rng(7)
    cases = [(10.78, 5.96e-15), (0.04, 6.4e-201), (0.0475, 2.2e-135), (50.0, 1e-310), (0.03, 1e-308)]
    for k in range(150):
        cases.append((float(10 ** random.uniform(-2, 3)), float(10 ** -(random.uniform(0, 300 if k % 2 else 20)))))
    with mpmath.workdps(60):
        for noise, rate in cases:
            bound = hush.Gaussian(noise).tradeoff(false_positive_rate=rate)
            true = mpmath.ncdf(_quantile(rate) - 1 / mpmath.mpf(noise))
            assert mpmath.mpf(bound.lower) <= true <= mpmath.mpf(bound.upper), (noise, rate)
            if 1e-3 < true < 1 - 1e-9:
                assert bound.upper - bound.lower < 1e-3


def _quantile(rate: float) -> mpmath.mpf:
    """Where a normal exceeds with this chance."""
    start = math.sqrt(max(-2 * math.log(rate) - 2, 0.01)) if rate < 0.4 else 0.0
    return mpmath.findroot(lambda x: mpmath.log(mpmath.ncdf(-x)) - mpmath.log(rate), start)


def test_nothing_released_is_one_minus_the_rate() -> None:
    for rate in (0.0, 0.1, 0.3, 1e-17, 0.5, 1.0):
        bound = hush.Gaussian(1.0).repeat(0).tradeoff(false_positive_rate=rate)
        with mpmath.workdps(60):
            assert mpmath.mpf(bound.lower) <= 1 - mpmath.mpf(rate) <= mpmath.mpf(bound.upper)
        assert bound.upper - bound.lower < 3e-15


@pytest.mark.parametrize(("noise", "rate"), [(0.1, 0.5), (0.1, 1e-3), (0.12, 0.9), (0.05, 1e-9)])
def test_a_rate_below_rounding_is_bounded_from_above(noise: float, rate: float) -> None:
    """Phi(Phi^-1(1 - rate) - 1/noise) is far below 1e-15 here."""
    found = hush.Gaussian(noise).tradeoff(false_positive_rate=rate)
    truth = float(special.ndtr(-special.ndtri(rate) - 1 / noise))
    assert found.lower <= truth <= found.upper <= 1e-11
