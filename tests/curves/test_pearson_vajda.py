"""Pearson-Vajda divergences: inequalities between binary and ternary, lemmas, identities, limits, and a negative one."""

from __future__ import annotations

import math
from itertools import permutations
from random import Random

import mpmath
import numpy as np
import pytest
from scipy import stats

import hush
from hush.curves.pairs.normal import NormalPair
from hush.curves.pairs.segment import SegmentPair
from hush.curves.renyi.families import laplace
from hush.curves.renyi.pearson_vajda import chi
from tests.formulas import absolute_chi, discrete_derivative, renyi, ternary_chi


def laws(seed: int, count: int) -> list[np.ndarray]:
    random = Random(seed)
    size = random.randint(2, 6)
    weights = np.array([[random.random() ** 3 + 1e-3 for _ in range(size)] for _ in range(count)])
    return list(weights / weights.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("order", [1.0, 2.0, 2.7, 5.0, 12.0])
def test_binary_is_at_most_ternary_is_at_most_four_times_binary(seed: int, order: float) -> None:
    """Wang et al. 2019: the suprema over mutually neighbouring laws, xi^a <= zeta^a <= 4 xi^a."""
    three = laws(seed, 3)
    binary = max(absolute_chi(p, q, order) for p, q in permutations(three, 2))
    triples = [(p, q, r) for p in three for q in three for r in three]
    ternary = max(ternary_chi(p, q, r, order) for p, q, r in triples)
    assert binary * (1 - 1e-12) <= ternary <= 4 * binary * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_sampling_multiplies_ternary_by_its_rate(seed: int) -> None:
    """With the third law sampled as well, zeta(sampled) <= rate zeta, for all orders."""
    with_one, with_other, without = laws(seed, 3)
    rate, order = 0.2, 4.0
    sampled = [rate * with_one + (1 - rate) * without, rate * with_other + (1 - rate) * without]
    worst = max(ternary_chi(with_one, with_other, r, order) for r in (with_one, with_other, without))
    for r in (*sampled, without):
        assert ternary_chi(*sampled, r, order) <= rate**order * worst * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("order", [1.0, 1.5, 3.0, 8.0])
def test_lemmas_16_and_17(seed: int, order: float) -> None:
    """Non-negative X, Y: E|X-Y|^j <= E X^j + E Y^j; where e^-eps Y <= X <= e^eps Y, also <= E Y^j (e^eps - 1)^j."""
    random = Random(seed)
    x = np.array([random.expovariate(1.0) for _ in range(50)])
    y = np.array([random.expovariate(1.0) for _ in range(50)])
    assert np.mean(np.abs(x - y) ** order) <= np.mean(x**order) + np.mean(y**order)
    epsilon = random.choice([0.01, 0.5, 3.0])
    x = y * np.exp(np.array([random.uniform(-epsilon, epsilon) for _ in range(50)]))
    assert np.mean(np.abs(x - y) ** order) <= np.mean(y**order) * math.expm1(epsilon) ** order * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_limits(seed: int) -> None:
    p, q = laws(seed, 2)
    hellinger = float(((np.sqrt(p) - np.sqrt(q)) ** 2).sum())
    assert renyi(p, q, 0.5) == pytest.approx(-2 * math.log(1 - hellinger / 2), rel=1e-12)
    assert renyi(p, q, 1) == pytest.approx(renyi(p, q, 1 + 1e-7), rel=1e-5)
    assert renyi(p, q, 2) == pytest.approx(math.log1p(chi(p, q, 2)), rel=1e-12)
    assert renyi(p, q, math.inf) == pytest.approx(renyi(p, q, 1e4), rel=1e-2)
    assert absolute_chi(p, q, 1) == pytest.approx(float(np.abs(p - q).sum()))
    assert absolute_chi(p, q, 4) == pytest.approx(chi(p, q, 4))


@pytest.mark.parametrize("epsilon", [0.3, 2.0])
@pytest.mark.parametrize("order", [2, 3, 4, 7])
def test_discrete_derivative_of_the_moments(epsilon: float, order: int) -> None:
    """chi^j is the j-th forward difference at 0 of x -> e^{(x-1) eps(x)}, for the pair that attains the curve."""
    mechanism = hush.RandomizedResponse(epsilon=epsilon, relation=hush.Relation.REPLACE)
    value, error = discrete_derivative(mechanism.renyi_curve(), order)
    high = 1 / (1 + math.exp(-epsilon))
    assert abs(value - chi([high, 1 - high], [1 - high, high], order)) <= error + 1e-13 * abs(value)
    assert error < 1e-9 * max(1.0, abs(value))


@pytest.mark.parametrize("curve", [hush.Gaussian(0.8).renyi_curve(), laplace(2.0), laplace(0.7)])
def test_odd_divergences_of_declared_mechanisms_are_not_negative(curve: hush.RenyiCurve) -> None:
    for order in (3, 5, 7, 9):
        value, error = discrete_derivative(curve, order)
        assert value > -error
        assert value > error or order > 5


@pytest.mark.parametrize(
    "mechanism",
    [
        hush.Gaussian(1.0),
        hush.Laplace(1.0),
        hush.DiscreteGaussian(1.0),
        hush.DiscreteLaplace(1.0, 3),
        hush.Skellam(2.0),
        hush.RandomizedResponse(epsilon=1.0, choices=4, relation=hush.Relation.ADD_REMOVE),
    ],
    ids=str,
)
def test_who_declares_mirror_images_has_one_law_of_the_loss_in_both_directions(mechanism: hush.Mechanism) -> None:
    assert mechanism.renyi_curve().mirrored
    pairs = mechanism.pairs()
    for epsilon in (-0.7, 0.1, 0.6):
        ends = [pairs[name].log_delta(epsilon) for name in ("remove", "add")]
        assert ends[0][0] <= ends[1][1] + 1e-12
        assert ends[1][0] <= ends[0][1] + 1e-12


def test_poisson_counts_have_a_negative_odd_divergence() -> None:
    """The counterexample of Nielsen, Nock 2014: so a mechanism must declare the condition."""
    counts = np.arange(40)
    p, q = stats.poisson.pmf(counts, 0.05), stats.poisson.pmf(counts, 0.1)
    # E_q (p/q)^k = exp(l1^k l2^{1-k} - k l1 + (k-1) l2)
    exact = math.exp(0.05**3 / 0.01 - 0.15 + 0.2) - 3 * math.exp(0.05**2 / 0.1) + 2
    assert chi(p, q, 3) == pytest.approx(exact, rel=1e-9)
    assert chi(p, q, 3) < -0.01
    assert chi(p, q, 5) < 0 < chi(q, p, 3)


@pytest.mark.parametrize(("distance", "order"), [(0.2, 2), (0.2, 10), (0.2, 101), (2.0, 20), (0.01, 50), (0.01, 9)])
def test_absolute_chi_of_normals_vs_mpmath(distance: float, order: int) -> None:
    found = float(NormalPair.shifted(distance).log_absolute_chi(np.array([order]))[0])

    def even(j: int) -> mpmath.mpf:
        d = mpmath.mpf(distance)
        terms = [(-1) ** (j - i) * mpmath.binomial(j, i) * mpmath.exp(i * (i - 1) * d * d / 2) for i in range(j + 1)]
        return mpmath.log(mpmath.fsum(terms))

    with mpmath.mp.workdps(250):
        truth = even(order) if order % 2 == 0 else (even(order - 1) + even(order + 1)) / 2
    assert float(truth) <= found <= float(truth) + 1e-10


@pytest.mark.parametrize(("bound", "order"), [(0.5, 3), (2.0, 2), (2.0, 50)])
def test_absolute_chi_of_laplace_vs_mpmath(bound: float, order: int) -> None:
    found = float(SegmentPair.laplace(bound).log_absolute_chi(np.array([order]))[0])
    a = mpmath.mpf(bound)

    def density(t: mpmath.mpf) -> mpmath.mpf:
        return mpmath.exp(-a / 2 - t / 2) / 4 * abs(mpmath.expm1(t)) ** order

    with mpmath.mp.workdps(30):
        atoms = mpmath.exp(-a) * mpmath.expm1(a) ** order / 2 + (-mpmath.expm1(-a)) ** order / 2
        truth = float(mpmath.log(mpmath.quad(density, [-a, 0, a / 2, a]) + atoms))
    assert truth <= found <= truth + 1e-5
