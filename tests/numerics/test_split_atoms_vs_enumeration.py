"""Atoms split onto a lattice, against every outcome, and against every count of three outcomes in hundreds of steps."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

import hush
from hush.curves.composition.routes import DirectRoute, SplitRoute
from hush.curves.pairs.finite import FinitePair
from hush.curves.pairs.normal import NormalPair
from hush.numerics.engines.split_atoms import all_atoms, split_sum
from tests.numerics.enumeration import enumerated

weights = st.lists(st.floats(1e-6, 1.0), min_size=4, max_size=4)
SIZES = (1 << 9, 1 << 12, 1 << 15)


def counted(p: np.ndarray, q: np.ndarray, times: int, epsilon: float) -> float:
    """delta of so many equal steps of three outcomes, summed over all counts of them."""
    a, b = np.meshgrid(np.arange(times + 1), np.arange(times + 1), indexing="ij")
    a, b = a[a + b <= times], b[a + b <= times]
    counts = np.array([a, b, times - a - b])
    ways = special.gammaln(times + 1) - special.gammaln(counts + 1).sum(axis=0)
    gap = (np.log(p) - np.log(q)) @ counts - epsilon
    past = gap > 0
    return float((np.exp(ways + np.log(p) @ counts)[past] * -np.expm1(-gap[past])).sum())


@settings(max_examples=30, deadline=None)
@given(above=weights, below=weights, times=st.integers(2, 5), epsilon=st.floats(0.0, 4.0), other=weights)
def test_tables(above: list[float], below: list[float], times: int, epsilon: float, other: list[float]) -> None:
    p, q, r = (np.array(some) / sum(some) for some in (above, below, other))
    truth = enumerated([(p, q)] * times + [(r, q)], epsilon)
    laws = ((FinitePair.of(p, q).law(), times), (FinitePair.of(r, q).law(), 1))
    log_delta = math.log(max(truth, 1e-12))
    for ceiling in (math.inf, epsilon, epsilon + 0.1):
        found = split_sum(all_atoms(laws, log_delta), 1 << 11, ceiling, log_delta)
        assert math.exp(found.log_delta(epsilon, -1)) <= truth * (1 + 1e-9) + 1e-15, ceiling
        assert math.exp(found.log_delta(epsilon, 1)) >= truth * (1 - 1e-9) - 1e-15, ceiling


@pytest.mark.parametrize("rare", [1e-2, 1e-5, 1e-8])
@pytest.mark.parametrize("gain", [1.5, 40.0, 1e4])
def test_hundreds_of_steps_with_a_rare_hit(rare: float, gain: float) -> None:
    """Steps of three outcomes, one of them rare and telling: both ends, at every size of lattice."""
    times = 300
    p = np.array([0.83, 0.17 - rare, rare])
    q = np.array([0.0, 0.1702, rare / gain])
    q[0] = 1 - q[1] - q[2]
    losses = np.log(p) - np.log(q)
    law = FinitePair.of(p, q).law()
    for epsilon in (0.5 * float(losses[2]), float(losses[2]) * 0.99, float(losses[2]) * 1.5 + 1e-3, 0.004):
        truth = counted(p, q, times, epsilon)
        if truth < 1e-30:
            continue
        goal = math.log(truth)
        for size in SIZES:
            for ceiling in (epsilon, 1.2 * epsilon, math.inf):
                found = split_sum(all_atoms([(law, times)], goal), size, ceiling, goal)
                low, high = found.log_delta(epsilon, -1), found.log_delta(epsilon, 1)
                assert low <= goal + 1e-9 and high >= goal - 1e-9, (epsilon, size, ceiling, low - goal, high - goal)
        if truth > 1e-12:
            low, high = SplitRoute(((law, times),)).log_delta(epsilon, 1e-9)
            assert low - 1e-9 <= goal <= high + 1e-9
            assert high - low < 1e-3, (epsilon, low - goal, high - goal)


@pytest.mark.parametrize("swapped", [False, True])
def test_direct_convolution_meets_it(swapped: bool) -> None:
    """A sampled discrete Gaussian, few enough times that the direct convolution answers."""
    pair = NormalPair.shifted(1.25, 1.25).mix(1e-3)
    pair = pair.swap() if swapped else pair
    split = SplitRoute(((pair.law(), 60),)).epsilon(math.log(1e-6), 1e-7)
    direct = DirectRoute(((pair, 60),)).epsilon(math.log(1e-6), 1e-6)
    assert split[0] <= direct[1] and direct[0] <= split[1]
    assert split[1] - split[0] < 1e-4 * split[1]


def test_rare_hits_are_narrow() -> None:
    mechanism = hush.DiscreteGaussian(0.5).on(hush.Poisson(rate=1e-5)).repeat(1000)
    found = mechanism.epsilon(delta=1e-7)
    assert 0.192201917 < found.lower <= found.upper < 0.192201918
    assert found.upper - found.lower < 1e-7 * found.upper
