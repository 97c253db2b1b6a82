"""Posterior draws against quadrature, exponential families against closed forms, noisy maxima against simulation."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, special, stats

import hush
from hush.curves.renyi.families import exponential_family, log_beta, log_beta_ends


def beta_divergence(p: tuple[float, float], q: tuple[float, float], order: float) -> float:
    def density(x: float) -> float:
        return math.exp(order * stats.beta.logpdf(x, *p) + (1 - order) * stats.beta.logpdf(x, *q))

    return math.log(integrate.quad(density, 0, 1, epsabs=0, epsrel=1e-11, limit=200)[0]) / (order - 1)


@pytest.mark.parametrize("order", [1.5, 3.0, 5.5])
def test_beta_family_vs_quadrature(order: float) -> None:
    for p, q in (((11.0, 9.0), (10.0, 10.0)), ((30.0, 12.0), (29.0, 13.0))):
        assert exponential_family(log_beta, p, q)(order) == pytest.approx(beta_divergence(p, q, order), rel=1e-8)


def test_beta_posterior_is_the_worst_count_of_heads() -> None:
    mechanism, order = hush.BetaPosterior(flips=6, heads=8.0, tails=5.0), 3.0
    worst = 0.0
    for heads in range(6):
        more, less = (8.0 + heads + 1, 5.0 + 6 - heads - 1), (8.0 + heads, 5.0 + 6 - heads)
        worst = max(worst, beta_divergence(more, less, order), beta_divergence(less, more, order))
    assert mechanism.renyi(orders=[order])[0] == pytest.approx(worst, rel=1e-8)
    assert mechanism.renyi(orders=[6.5])[0] == math.inf  # a parameter would leave the natural domain


def test_stronger_priors_protect_more() -> None:
    weak, strong = hush.BetaPosterior(100, 5.0, 5.0), hush.BetaPosterior(100, 50.0, 50.0)
    assert strong.epsilon(delta=1e-5).upper < weak.epsilon(delta=1e-5).upper


def test_gaussian_posterior_vs_its_two_normals() -> None:
    mechanism = hush.GaussianPosterior(records=5, prior_variance=10.0, noise_variance=3.0, data_range=1.0)
    variance = 1 / (1 / 10 + 5 / 3)
    shift = variance / 3
    assert mechanism.renyi(orders=[4.0])[0] == pytest.approx(4 * shift**2 / (2 * variance), rel=1e-12)
    assert mechanism.epsilon(delta=1e-5).upper == pytest.approx(
        hush.Gaussian(math.sqrt(variance) / shift).epsilon(delta=1e-5).upper, rel=1e-9
    )


def test_exponential_family_of_counts() -> None:
    """Poisson laws by their log-rate: A = e^eta, E_q (p/q)^a = exp(l1^a l2^{1-a} - a l1 + (a-1) l2)."""
    draw = hush.exponential_family(lambda eta: np.exp(eta[:, 0]), neighbouring=[((math.log(2.0),), (math.log(3.0),))])
    for order in (2.0, 4.0):
        both = [
            (one**order * other ** (1 - order) - order * one + (order - 1) * other) / (order - 1)
            for one, other in ((2.0, 3.0), (3.0, 2.0))
        ]
        assert draw.renyi(orders=[order])[0] == pytest.approx(max(both), rel=1e-12)
    with pytest.raises(hush.InvalidParameter, match="natural domain"):
        hush.exponential_family(log_beta, neighbouring=[((1.0, 1.0), (0.0, 2.0))])
    with pytest.raises(hush.InvalidParameter, match="one length"):
        hush.exponential_family(log_beta, neighbouring=[((1.0, 1.0), (2.0,))])


def test_noisy_max_is_the_exponential_mechanism() -> None:
    assert hush.ReportNoisyMax(4.0).epsilon(delta=1e-6).upper == hush.Exponential(0.5).epsilon(delta=1e-6).upper
    assert hush.ReportNoisyMax(4.0, monotone=True).epsilon(delta=0).upper == 0.25
    with pytest.raises(hush.InvalidParameter, match="monotone"):
        hush.ReportNoisyMax(4.0, monotone=True, relation=hush.Relation.REPLACE)


@pytest.mark.parametrize("scale", [0.3, 1.1, 3.0, 7.0, 49.0])
@pytest.mark.parametrize("monotone", [False, True])
def test_the_range_of_noisy_max_is_rounded_up(scale: float, monotone: bool) -> None:
    """The nearest float may lie below the quotient."""
    largest = (1 if monotone else 2) / Fraction(repr(scale))
    assert Fraction(repr(hush.ReportNoisyMax(scale, monotone=monotone).epsilon(delta=0).upper)) >= largest


@pytest.mark.parametrize("monotone", [False, True])
def test_noisy_max_vs_softmax(monotone: bool) -> None:
    """Gumbel noise draws from the softmax of the scores; no neighbouring scores are farther apart than the curve."""
    random = np.random.default_rng(1)
    mechanism = hush.ReportNoisyMax(1.5, monotone=monotone)
    for _ in range(200):
        scores = random.normal(size=4)
        moved = scores + random.uniform(0 if monotone else -1, 1, size=4)
        p, q = special.softmax(scores / 1.5), special.softmax(moved / 1.5)
        for order in (1.5, 4.0, 30.0):
            for one, other in ((p, q), (q, p)):
                value = math.log(float((one**order * other ** (1 - order)).sum())) / (order - 1)
                assert value <= mechanism.renyi(orders=[order])[0] * (1 + 1e-9)


@pytest.mark.parametrize(
    ("heads", "tails", "order"),
    [(761807.75, 985.625, 1.125), (350000.0, 20.5, 1.25), (1e6, 1e6, 2.0), (20.0, 12.5, 3.0), (1.1, 2.0, 2.0999999)],
)
def test_beta_posterior_with_a_strong_prior_vs_mpmath(heads: float, tails: float, order: float) -> None:
    """Log-gammas of such numbers lose seven digits when they are subtracted: an upper end was below the truth."""
    with mpmath.workdps(40):
        sides = [(heads + 1, tails), (heads, tails + 1)]
        exact = max(_beta_divergence(above, below, order) for above, below in (sides, sides[::-1]))
        found = hush.BetaPosterior(flips=1, heads=heads, tails=tails).renyi(orders=[order])[0]
        assert exact <= found <= exact * (1 + 1e-6) + 1e-7


def _beta_divergence(above: tuple[float, float], below: tuple[float, float], order: float) -> mpmath.mpf:
    a, (p, q) = mpmath.mpf(order), (tuple(map(mpmath.mpf, side)) for side in (above, below))
    log_beta = lambda s: mpmath.loggamma(s[0]) + mpmath.loggamma(s[1]) - mpmath.loggamma(s[0] + s[1])  # noqa: E731
    middle = tuple(y + a * (x - y) for x, y in zip(p, q, strict=True))
    return (log_beta(middle) - a * log_beta(p) + (a - 1) * log_beta(q)) / (a - 1)


@given(st.floats(-3, 7), st.floats(-3, 7))
def test_log_beta_is_within_its_error(first: float, second: float) -> None:
    a, b = 10**first, 10**second
    (value,), (error,) = log_beta_ends(np.array([[a, b]]))
    with mpmath.workdps(40):
        exact = mpmath.loggamma(a) + mpmath.loggamma(b) - mpmath.loggamma(mpmath.mpf(a) + mpmath.mpf(b))
        assert abs(mpmath.mpf(float(value)) - exact) <= float(error)
