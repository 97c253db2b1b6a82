"""Profiles of pairs, mixed and swapped, against direct integration of the definition."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate

from hush.curves.pairs.finite import FinitePair
from hush.curves.pairs.normal import NormalPair
from hush.curves.pairs.pair import Pair
from hush.curves.pairs.segment import SegmentPair
from tests.curves.integration import Density, blend, laplace, normal, profile
from tests.strategies import LAWS

SCALE = 0.7
RATE = 0.2

BASES: dict[str, tuple[Pair, Density, Density]] = {
    "gaussian": (NormalPair.shifted(1.3), normal(1.3), normal(0.0)),
    "laplace": (SegmentPair.laplace(1 / SCALE), laplace(1.0, SCALE), laplace(0.0, SCALE)),
}
EPSILONS = [-1.5, -0.4, -0.1, 0.0, 0.05, 0.3, 1.0, 1.3]


def contains(pair: Pair, epsilon: float, truth: float) -> None:
    low, high = (math.exp(x) for x in pair.log_delta(epsilon, 1e-10))
    # the quadrature is asked for 1e-13 on each of its few intervals
    assert low <= truth + 1e-11
    assert high >= truth - 1e-11
    assert high - low <= 1e-9


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", BASES)
def test_plain_and_swapped(name: str, epsilon: float) -> None:
    pair, p, q = BASES[name]
    contains(pair, epsilon, profile(p, q, epsilon))
    contains(pair.swap(), epsilon, profile(q, p, epsilon))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", BASES)
def test_mixed(name: str, epsilon: float) -> None:
    """Remove ((1-q)Q + qP, Q), add (P, (1-q)P + qQ), and their mirrors: Zhu, Dong, Wang 2022, Thm 11."""
    pair, p, q = BASES[name]
    contains(pair.mix(RATE), epsilon, profile(blend(p, RATE, q), q, epsilon))
    contains(pair.swap().mix(RATE).swap(), epsilon, profile(p, blend(q, RATE, p), epsilon))
    contains(pair.mix(RATE).swap(), epsilon, profile(q, blend(p, RATE, q), epsilon))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", BASES)
def test_mixed_twice(name: str, epsilon: float) -> None:
    """What mixing after a swap and mixing again makes: both sides are mixtures."""
    pair, p, q = BASES[name]
    first = blend(p, 0.6, q)
    contains(pair.mix(0.6).swap().mix(0.5).swap(), epsilon, profile(first, blend(q, 0.5, first), epsilon))
    contains(pair.mix(0.6).mix(0.5), epsilon, profile(blend(p, 0.3, q), q, epsilon))


@pytest.mark.parametrize("epsilon", [-0.5, 0.0, 0.2, 0.6, 2.0])
def test_replaced_and_grouped_normals(epsilon: float) -> None:
    replaced = NormalPair(((0.0, 0.8), (1.0, 0.2)), ((-1.0, 0.2), (0.0, 0.8)))
    p, q = blend(normal(1.0), 0.2, normal(0.0)), blend(normal(-1.0), 0.2, normal(0.0))
    contains(replaced, epsilon, profile(p, q, epsilon))
    group = NormalPair(((0.0, 0.25), (1.0, 0.5), (2.0, 0.25)), ((0.0, 1.0),))
    p = blend(blend(normal(2.0), 0.5, normal(0.0)), 0.5, normal(1.0))
    contains(group, epsilon, profile(p, normal(0.0), epsilon))


@pytest.mark.parametrize("epsilon", [-0.5, 0.0, 0.3, 0.9])
def test_bounded_range_vs_supremum(epsilon: float) -> None:
    """The envelope is the largest profile over all two-point pairs of that range: Dong, Durfee, Rogers 2020, Lemma 3.1."""
    bound = 1.0
    best = 0.0
    for t in np.linspace(1e-9, bound - 1e-9, 20_001):
        # losses t and t - bound; P and Q each sum to one
        q_high = math.expm1(t - bound) / math.expm1(-bound) * math.exp(-t)
        q = np.array([q_high, 1 - q_high])
        p = q * np.exp([t, t - bound])
        best = max(best, float(np.maximum(p - math.exp(epsilon) * q, 0).sum()))
    low, high = (math.exp(x) for x in SegmentPair.bounded_range(bound).log_delta(epsilon))
    assert high >= best - 1e-12
    assert low <= best + 1e-7  # the scan over t has 20001 points


TABLE = st.lists(st.integers(0, 9), min_size=2, max_size=6).filter(lambda w: sum(w) > 0)


@settings(LAWS, max_examples=200)
@given(TABLE, TABLE, st.floats(0.05, 1.0), st.floats(-2.0, 2.0))
def test_tables(first: list[int], second: list[int], rate: float, epsilon: float) -> None:
    size = min(len(first), len(second))
    p, q = np.array(first[:size], float), np.array(second[:size], float)
    if not (p.sum() > 0 and q.sum() > 0 and ((p > 0) & (q > 0)).any()):
        return
    p, q = p / p.sum(), q / q.sum()

    def direct(one: np.ndarray, other: np.ndarray) -> float:
        return float(np.maximum(one - math.exp(epsilon) * other, 0).sum())

    pair = FinitePair.of(p, q)
    mixed = rate * p + (1 - rate) * q
    mirrored = rate * q + (1 - rate) * p
    for found, truth in (
        (pair, direct(p, q)),
        (pair.swap(), direct(q, p)),
        (pair.mix(rate), direct(mixed, q)),
        (pair.swap().mix(rate).swap(), direct(p, mirrored)),
    ):
        low, high = (math.exp(x) for x in found.log_delta(epsilon))
        assert low - 1e-14 <= truth <= high + 1e-14


@pytest.mark.parametrize("name", ["gaussian", "laplace"])
@pytest.mark.parametrize("order", [1.0, 1.5, 3.0, 9.0])
def test_renyi_vs_integration(name: str, order: float) -> None:
    """log E_Q (p/q)^order / (order - 1), and the Kullback-Leibler divergence at order 1."""
    pair, p, q = BASES[name]
    for found, one, other in ((pair, p, q), (pair.mix(RATE), blend(p, RATE, q), q), (pair.swap(), q, p)):

        def integrand(x: float, one: Density = one, other: Density = other) -> float:
            ratio = one(x) / other(x)
            return one(x) * math.log(ratio) if order == 1 else other(x) * ratio**order

        points = [-30.0, -10.0, -3.0, 0.0, 1.0, 4.0, 10.0, 20.0, 36.0]
        total = sum(
            integrate.quad(integrand, a, b, limit=200, epsabs=1e-13, epsrel=1e-12)[0]
            for a, b in itertools.pairwise(points)
        )
        truth = total if order == 1 else math.log(total) / (order - 1)
        low, high = found.renyi(order)
        assert low <= truth * (1 + 1e-9)
        assert high >= truth * (1 - 1e-9)
        assert high - low <= 1e-9 * truth
