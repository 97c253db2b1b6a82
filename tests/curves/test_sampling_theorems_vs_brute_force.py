"""Sampling theorems of a curve against mechanisms with a few outcomes, whose samples are computed exactly."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest
from mpmath import mp

from hush.curves.pairs.finite import FinitePair
from hush.curves.renyi import sampling
from hush.curves.renyi.curve import RenyiCurve
from tests.formulas import renyi

ORDERS = [2.0, 3.0, 4.0, 5.0, 8.0, 15.0, 2.5, 6.5]
ROUNDING = 1e-14
"""Of the brute force: a logarithm of 1 plus little."""
RATES = [0.01, 0.1, 0.4, 0.8]


def law(random: Random, size: int) -> np.ndarray:
    weights = np.array([random.random() ** random.choice([1, 3, 8]) + 1e-4 for _ in range(size)])
    return weights / weights.sum()


def worst(laws: list[np.ndarray]) -> RenyiCurve:
    """The curve of a mechanism whose neighbouring outputs are any two of these."""
    pairs = [(p, q) for p in laws for q in laws if p is not q]
    return RenyiCurve.of(lambda order: max(renyi(p, q, order) for p, q in pairs) if order > 1 else 0.0)


def distributions(random: Random, count: int) -> list[np.ndarray]:
    """A few laws, some of them close to one another."""
    base = law(random, random.randint(2, 5))
    near = random.choice([0.02, 0.3, 1.0])
    return [(1 - near) * base + near * law(random, len(base)) for _ in range(count)]


@pytest.mark.parametrize("seed", range(25))
def test_without_replacement(seed: int) -> None:
    """Outputs with the record, with its replacement and without it are mutually neighbouring."""
    with_one, with_other, without = distributions(Random(seed), 3)
    curve = worst([with_one, with_other, without])
    for rate in RATES:
        p, q = rate * with_one + (1 - rate) * without, rate * with_other + (1 - rate) * without
        bound = sampling.without_replacement(curve, rate)
        for order in ORDERS:
            assert renyi(p, q, order) <= bound(order) * (1 + 1e-12) + ROUNDING


@pytest.mark.parametrize("seed", range(25))
def test_poisson(seed: int) -> None:
    absent, present = distributions(Random(seed), 2)
    curve = worst([absent, present])
    for rate in RATES:
        mixed = (1 - rate) * absent + rate * present
        bound = sampling.poisson(curve, rate)
        for order in ORDERS:
            assert renyi(mixed, absent, order) <= bound(order) * (1 + 1e-12) + ROUNDING
            assert renyi(absent, mixed, order) <= bound(order) * (1 + 1e-12) + ROUNDING


@pytest.mark.parametrize("seed", range(25))
def test_poisson_in_each_direction(seed: int) -> None:
    """Leaving and coming have bounds of their own, without a factor; leaving attains its bound at whole orders."""
    absent, present = distributions(Random(seed), 2)
    curve = worst([absent, present])
    leaves = RenyiCurve.of(lambda order: renyi(present, absent, order) if order > 1 else 0.0)
    for rate in RATES:
        mixed = (1 - rate) * absent + rate * present
        leaving, coming = (sampling.poisson_sample(curve, rate, leaving=way) for way in (True, False))
        exact = sampling.poisson_leaving(leaves, rate)
        for order in ORDERS:
            out, into = renyi(mixed, absent, order), renyi(absent, mixed, order)
            assert out <= leaving(order) * (1 + 1e-12) + ROUNDING
            assert into <= coming(order) * (1 + 1e-12) + ROUNDING
            if order == math.floor(order) and out > 1e-9:
                assert exact(order) == pytest.approx(min(out, leaves(order)), rel=1e-5)


def second_order(rho: float, rate: float, order: int) -> float:
    """X n/(n-2) [(1-q)^(2-n) - 1 - (n-2) q] in 40 digits."""
    with mp.workdps(40):
        q, b = mp.mpf(rate), order - 2
        return float(mp.log1p(mp.expm1(2 * mp.mpf(rho)) * order / b * ((1 - q) ** -b - 1 - b * q)) / (order - 1))


def all_orders(rho: float, rate: float, order: int) -> float:
    """The integral of the second bound by quadrature, in 30 digits."""

    def integrand(s: mp.mpf) -> mp.mpf:
        terms = [
            mp.binomial(order + 1, k) * (1 - s) ** (order + 1 - k) * s**k * mp.expm1(rho * max(k * (k + 1), 2))
            for k in range(order + 2)
        ]
        return (rate - s) * mp.fsum(terms)

    with mp.workdps(30):
        return float(mp.log1p(order * (order - 1) * mp.quad(integrand, [0, rate])) / (order - 1))


ZCDP_CASES = {
    # rho, rate, order: leaving, and the two bounds of coming
    (0.5, 0.1, 4): (0.05867260696008054, 0.037417342770488034, 0.08040495514969635),
    (0.1, 0.2, 3): (0.01372567757991489, 0.01633543064336368, 0.014577066667998266),
    (1.0, 0.5, 3): (1.9917018007696854, 1.1796520677254048, 7.117193291283466),
    (0.5, 0.01, 8): (0.0008936439076060829, 0.0007043227563118769, 0.0009861794684768094),
}


@pytest.mark.parametrize("case", ZCDP_CASES)
def test_sampled_zcdp_vs_reference(case: tuple[float, float, int]) -> None:
    """The reference of the last column is a trapezoid of 2001 points, which is 1e-6 off; quadrature is not."""
    rho, rate, order = case
    leaving, second, every = ZCDP_CASES[case]
    curve = RenyiCurve.linear(rho)
    assert sampling.poisson_leaving(curve, rate)(order) == pytest.approx(leaving, rel=1e-12)
    assert second_order(*case) == pytest.approx(second, rel=1e-12)
    assert all_orders(*case) == pytest.approx(every, rel=2e-6)
    best = min(second_order(*case), all_orders(*case))
    assert sampling.poisson_coming(curve, rate)(order) == pytest.approx(best, rel=1e-11)
    assert sampling.poisson_coming(curve, rate)(order) >= best


LARGEST_KNOWN = {
    # rho, rate, order: what a linear programme over 361 losses finds among all rho-zCDP mechanisms
    "leaving": {(0.5, 0.1, 1.5): 0.01196367, (1.0, 0.5, 1.5): 0.58264775},
    "coming": {(0.5, 0.1, 2.0): 0.01228898, (0.1, 0.2, 3.0): 0.01184827},
}


@pytest.mark.parametrize("direction", LARGEST_KNOWN)
def test_no_zcdp_mechanism_is_above_the_bound(direction: str) -> None:
    """Between whole orders the Gaussian's own formula is below some of them; what hush says is not."""
    for (rho, rate, order), found in LARGEST_KNOWN[direction].items():
        bound = sampling.poisson_sample(RenyiCurve.linear(rho), rate, leaving=direction == "leaving")
        assert found * (1 - 1e-3) <= bound(order)


@pytest.mark.parametrize("rate", [0.0, 1e-9, 1 - 1e-9, 1.0])
@pytest.mark.parametrize("rho", [1e-12, 1.0, 300.0])
def test_directions_at_the_ends(rate: float, rho: float) -> None:
    curve = RenyiCurve.linear(rho)
    orders = [1.0, 1.5, 2.0, 3.0, 50.0, 5000.0, math.inf]
    for leaving in (True, False):
        found = sampling.poisson_sample(curve, rate, leaving=leaving)(orders)
        assert not np.isnan(found).any()
        assert (found >= 0).all()
        assert (found <= np.array(curve(orders)) * (1 + 1e-12)).all()
    if rate < 1:
        ceiling = -math.log1p(-rate)
        assert sampling.poisson_sample(curve, rate, leaving=False)(math.inf) <= ceiling * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(25))
def test_poisson_of_mirror_images(seed: int) -> None:
    """Removing attains the bound at whole orders; adding stays below it."""
    (absent,) = distributions(Random(seed), 1)
    present = absent[::-1]
    curve = worst([absent, present]).declaring(mirrored=True)
    for rate in RATES:
        mixed = (1 - rate) * absent + rate * present
        bound = sampling.poisson_mirrored(curve, rate)
        for order in ORDERS:
            # where the law is nearly its own mirror image, the divergence itself is no more than rounding
            if order == math.floor(order) and renyi(mixed, absent, order) > 1e-9:
                truth = min(renyi(mixed, absent, order), curve(order))
                assert truth == pytest.approx(bound(order), rel=1e-5)
            assert renyi(absent, mixed, order) <= bound(order) * (1 + 1e-9) + 1e-13


@pytest.mark.parametrize("seed", range(10))
def test_without_replacement_where_one_pair_is_worst(seed: int) -> None:
    """Mirror images with the third law between them: the pair of the two dominates."""
    random = Random(seed)
    epsilon = random.choice([0.1, 1.0, 2.0])
    high = 1 / (1 + math.exp(-epsilon))
    laws = [np.array([high, 1 - high]), np.array([1 - high, high]), np.array([0.5, 0.5])]
    pair = FinitePair.of(laws[0], laws[1])
    for rate in RATES:
        bound = sampling.without_replacement_pair(pair, rate)
        for one, other, without in ((0, 1, 2), (0, 1, 0), (0, 1, 1)):
            p = rate * laws[one] + (1 - rate) * laws[without]
            q = rate * laws[other] + (1 - rate) * laws[without]
            for order in ORDERS:
                assert renyi(p, q, order) <= bound(order) * (1 + 1e-12) + ROUNDING
