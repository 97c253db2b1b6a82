"""One record in one of two releases: reference values, exact laws, adaptive second releases, edges."""

from __future__ import annotations

import math
from itertools import product
from random import Random

import mpmath
import numpy as np
import pytest

import hush
from hush import InvalidParameter, NotCovered, Relation
from hush.curves.pairs.finite import FinitePair
from tests.mechanisms.test_schemes_vs_brute_force import EPSILONS, stick

SPLIT = {
    # chance, mu of tuning, mu of training, epsilon: remove, add
    (0.1, 1.0, 0.5, 0.5): (0.043889595851627106, 0.04236964048527317),
    (0.5, 1.0, 1.0, 0.5): (0.14917752313649746, 0.142686965824678),
    (0.1, 3.0, 0.5, 0.5): (0.1032357490, 0.0660332123),
}


@pytest.mark.parametrize("case", SPLIT)
def test_reference(case: tuple[float, float, float, float]) -> None:
    chance, tune, train, epsilon = case
    pairs = hush.Either(hush.Gaussian(1 / tune), hush.Gaussian(1 / train), chance).pairs()
    for name, truth in zip(("remove", "add"), SPLIT[case], strict=True):
        low, high = (math.exp(end) for end in pairs[name].log_delta(epsilon))
        assert low <= truth * (1 + 1e-9)
        assert truth <= high * (1 + 1e-9)
        assert high - low < 2e-5 * high


def test_equal_parts_are_an_allocation() -> None:
    both = hush.Either(hush.Gaussian(1.0), hush.Gaussian(1.0), 0.5).epsilon(delta=1e-6)
    exact = hush.Gaussian(1.0).on(hush.Allocation(2)).epsilon(delta=1e-6)
    assert both.lower <= exact.upper
    assert exact.lower <= both.upper
    assert both.upper == pytest.approx(exact.upper, rel=1e-4)


def law(random: Random, size: int) -> np.ndarray:
    weights = np.array([random.random() ** 2 + 0.01 for _ in range(size)])
    return weights / weights.sum()


@pytest.mark.parametrize("seed", range(20))
def test_an_adaptive_second_release_is_not_above(seed: int) -> None:
    """For each output of the first another post-processing of the second: merged, or as it is."""
    random = Random(seed)
    chance = random.choice([0.05, 0.5, 0.9])
    p1, q1 = law(random, 3), law(random, 3)
    p2, q2 = law(random, 3), law(random, 3)
    one, two = FinitePair.of(p1, q1), FinitePair.of(p2, q2)
    found = hush.Either(hush.FromPair(one, one.swap()), hush.FromPair(two, two.swap()), chance).pairs()
    kernels = [random.choice([np.eye(3), np.array([[1, 0], [1, 0], [0, 1]])]) for _ in range(3)]
    with_it = [chance * p1[k] * (q2 @ kernels[k]) + (1 - chance) * q1[k] * (p2 @ kernels[k]) for k in range(3)]
    without = [q1[k] * (q2 @ kernels[k]) for k in range(3)]
    p, q = np.concatenate(with_it), np.concatenate(without)
    for epsilon in EPSILONS:
        assert stick(p, q, epsilon) <= math.exp(found["remove"].log_delta(epsilon)[1]) * (1 + 1e-9) + 1e-13
        assert stick(q, p, epsilon) <= math.exp(found["add"].log_delta(epsilon)[1]) * (1 + 1e-9) + 1e-13


def test_it_is_met_without_adaptivity() -> None:
    one, two = FinitePair.of([0.7, 0.3], [0.4, 0.6]), FinitePair.of([0.8, 0.2, 0.0], [0.3, 0.5, 0.2])
    pair = hush.Either(hush.FromPair(one, one.swap()), hush.FromPair(two, two.swap()), 0.3).pairs()["remove"]
    p = 0.3 * np.outer([0.7, 0.3], [0.3, 0.5, 0.2]) + 0.7 * np.outer([0.4, 0.6], [0.8, 0.2, 0.0])
    q = np.outer([0.4, 0.6], [0.3, 0.5, 0.2])
    for epsilon in EPSILONS:
        low, high = (math.exp(end) for end in pair.log_delta(epsilon))
        truth = stick(p.ravel(), q.ravel(), epsilon)
        assert low - 1e-12 <= truth <= high + 1e-12
        assert high - low < 1e-9


def test_what_is_covered() -> None:
    search = hush.PureDP(0.5).best_of(runs=hush.GeometricRuns(0.2))
    both = hush.Either(search, hush.Gaussian(2.0), 0.1)
    assert both.epsilon(delta=1e-6).upper < search.then(hush.Gaussian(2.0)).epsilon(delta=1e-6).upper
    assert hush.from_json(hush.to_json(both)) == both
    assert "docs/theory/selection.md" in both.explain(delta=1e-6)
    with pytest.raises(NotCovered, match="one record"):
        both.group(2).epsilon(delta=1e-6)
    with pytest.raises(NotCovered, match="ADD_REMOVE"):
        hush.Either(hush.Gaussian(1.0, Relation.REPLACE), hush.Gaussian(1.0, Relation.REPLACE), 0.5)
    for chance in (0.0, 1.0, -1.0, math.nan):
        with pytest.raises(InvalidParameter, match="chance"):
            hush.Either(hush.Gaussian(1.0), hush.Gaussian(1.0), chance)


@pytest.mark.parametrize("chance", [1e-9, 0.3, 1 - 1e-9])
@pytest.mark.parametrize("epsilon", [3.0, 1e-8, 1e-17])
def test_a_small_share_does_not_blow_up_rounding(chance: float, epsilon: float) -> None:
    """The level that is left for the second release is divided by its chance: with 1e-9 an upper end was 1e-8 too low."""
    answer = hush.PureDP(epsilon)
    found = hush.Either(answer, answer, chance)
    with mpmath.workdps(60):
        high = 1 / (1 + mpmath.exp(-mpmath.mpf(epsilon)))
        quiet, share = [1 - high, high], mpmath.mpf(chance)
        ratios = [high / (1 - high), (1 - high) / high]
        laws = [
            (quiet[i] * quiet[j] * (share * ratios[i] + (1 - share) * ratios[j]), quiet[i] * quiet[j])
            for i, j in product(range(2), repeat=2)
        ]
        for part in (0.0, 0.3, 0.9):
            level = mpmath.exp(mpmath.mpf(part * epsilon))
            truth = max(mpmath.fsum(max(p - level * q, 0) for p, q in side) for side in (laws, [l[::-1] for l in laws]))
            bound = found.delta(epsilon=part * epsilon)
            assert bound.lower <= truth <= bound.upper
