"""Groups under stated guarantees: no chain of finite laws that meets them does better, and one does as well."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog

import hush
from hush.curves.pairs.finite import FinitePair
from hush.curves.pairs.worst_case import stated_points
from hush.curves.theorems.groups import along
from hush.mechanisms.neighbours import REMOVED, REPLACED, exactly

REPLACE = hush.Relation.REPLACE
POINTS = [
    [(1.0, 0.0)],
    [(0.1, 0.0)],
    [(0.5, 1e-3)],
    [(1.0, 0.1)],
    [(0.0, 0.2)],
    [(0.5, 0.05), (1.5, 0.002)],
    [(0.0, 0.3), (0.7, 0.04), (2.0, 0.0)],
]


def worst(points: list[tuple[float, float]]) -> FinitePair:
    return stated_points([e for e, _ in points], [d for _, d in points])


def best_chain(points: list[tuple[float, float]], weights: list[float], epsilon: float, outcomes: int) -> float:
    """The largest P(E) - e^eps P_0(E), E the first half of the outcomes, over all chains P_0, ..., P_k of laws on them
    whose neighbours meet the points; P draws j with probability weights[j]. One linear program."""
    k = len(weights) - 1
    laws, event = (k + 1) * outcomes, outcomes // 2
    sides = [(i, i + 1) for i in range(k)] + [(i + 1, i) for i in range(k)]
    count = laws + len(sides) * len(points) * outcomes
    gain = np.zeros(count)
    for j, weight in enumerate(weights):
        gain[j * outcomes : j * outcomes + event] += weight
    gain[:event] -= math.exp(epsilon)
    rows, limits, slack = [], [], laws
    for first, second in sides:
        for e, d in points:
            for o in range(outcomes):
                row = np.zeros(count)
                row[first * outcomes + o], row[second * outcomes + o], row[slack + o] = 1, -math.exp(e), -1
                rows.append(row)
                limits.append(0.0)
            row = np.zeros(count)
            row[slack : slack + outcomes] = 1
            rows.append(row)
            limits.append(d)
            slack += outcomes
    whole = np.zeros((k + 1, count))
    for j in range(k + 1):
        whole[j, j * outcomes : (j + 1) * outcomes] = 1
    found = linprog(-gain, np.array(rows), limits, whole, np.ones(k + 1), method="highs")
    return -found.fun


@pytest.mark.parametrize("points", POINTS)
@pytest.mark.parametrize("size", [2, 3])
def test_a_group_vs_the_best_chain(points: list[tuple[float, float]], size: int) -> None:
    pair = along(worst(points), exactly(size))
    for epsilon in (-0.7, 0.0, 0.4, 1.1):
        truth = best_chain(points, list(exactly(size)), epsilon, 2 * (size * len(points) + 2))
        low, high = (math.exp(end) for end in pair.log_delta(epsilon))
        assert low <= truth + 1e-9 and truth <= high + 1e-9


@pytest.mark.parametrize("points", POINTS)
def test_a_sampled_group_vs_the_best_chain(points: list[tuple[float, float]]) -> None:
    weights = (0.49, 0.42, 0.09)
    pair = along(worst(points), weights)
    for epsilon in (-0.7, 0.0, 0.4, 1.1):
        truth = best_chain(points, list(weights), epsilon, 2 * (2 * len(points) + 2))
        low, high = (math.exp(end) for end in pair.log_delta(epsilon))
        assert low <= truth + 1e-9 and truth <= high + 1e-9
        sampled = hush.ApproxDP(points=points).on(hush.Poisson(rate=0.3)).group(2).evidence(REMOVED).pair
        assert sampled.log_delta(epsilon) == pytest.approx(pair.log_delta(epsilon), rel=1e-9)


@pytest.mark.parametrize("points", POINTS)
@pytest.mark.parametrize("size", [2, 7, 40])
def test_a_group_vs_the_curve_applied_again_and_again(points: list[tuple[float, float]], size: int) -> None:
    """g itself, at many places: delta(eps) = max over x of g^k(x) - e^eps x."""

    def g(x: np.ndarray) -> np.ndarray:
        bounds = [np.minimum(d + math.exp(e) * x, 1 - math.exp(-e) * (1 - d - x)) for e, d in points]
        return np.minimum(np.min(bounds, axis=0), 1.0)

    x = np.unique(np.concatenate([[0.0], np.geomspace(1e-30, 0.5, 4000), np.linspace(0, 1, 4000)]))
    y = x
    for _ in range(size):
        y = g(y)
    pair = along(worst(points), exactly(size))
    for epsilon in (-1.0, 0.0, 0.3, 1.0, 3.0):
        truth = float((y - math.exp(epsilon) * x).max())
        low, high = (math.exp(end) for end in pair.log_delta(epsilon))
        assert truth <= high * (1 + 1e-12)
        assert low == pytest.approx(truth, rel=1e-2, abs=1e-12)
    assert pair.swap().log_delta(0.3) == pytest.approx(pair.log_delta(0.3), rel=1e-9)


@pytest.mark.parametrize("size", [2, 3, 4, 9])
def test_pure_groups_are_the_truncated_geometric_mechanism(size: int) -> None:
    """Ghosh, Roughgarden, Sundararajan 2012: answers 0..k, what lies outside moved to the ends; any two neighbours
    are exactly epsilon apart."""
    epsilon = 0.6
    outcomes = np.arange(size + 1)

    def law(centre: int) -> np.ndarray:
        mass = math.tanh(epsilon / 2) * np.exp(-epsilon * np.abs(outcomes - centre))
        ends = np.exp(-epsilon * np.abs(outcomes - centre)) / (1 + math.exp(-epsilon))
        mass[[0, -1]] = ends[[0, -1]]
        return mass

    laws = [law(centre) for centre in outcomes]
    for p, q in itertools.pairwise(laws):
        assert np.abs(np.log(p / q)).max() == pytest.approx(epsilon)
    truth, claimed = FinitePair.of(laws[size], laws[0]), hush.PureDP(epsilon).group(size)
    for at in (0.0, 0.5, 1.0, (size - 0.5) * epsilon):
        found = claimed.log_delta(epsilon=at)
        assert found.lower == pytest.approx(truth.log_delta(at)[1], rel=1e-10)
        assert found.upper == pytest.approx(found.lower, rel=1e-12)


REFERENCE = {
    # (epsilon, records, times, delta): bounds on epsilon of the composition, by the explicit pair
    "group-0.1-2-100": ((0.1, 2, 100, 1e-6), (10.3721839322685, 10.372202741903639)),
    "group-1.0-2-10": ((1.0, 2, 10, 1e-6), (19.99997703661147, 19.999977095030637)),
}


@pytest.mark.parametrize("name", REFERENCE)
def test_composed_groups_vs_reference(name: str) -> None:
    (epsilon, size, times, delta), (low, high) = REFERENCE[name]
    found = hush.PureDP(epsilon).group(size).repeat(times).epsilon(delta=delta)
    assert low * (1 - 1e-6) <= found.lower <= found.upper <= high * (1 + 1e-6)


PROFILES = {
    "agroup-0.5-2": ((0.5, 1e-3, 2), 0.0026487212707001283, 0.24667374374130543),
    "agroup-1.0-4": ((1.0, 1e-6, 4), 3.119287485057735e-05, 0.4621288024807797),
}


@pytest.mark.parametrize("name", PROFILES)
def test_profiles_of_groups_vs_reference(name: str) -> None:
    (epsilon, delta, size), infinite, value = PROFILES[name]
    group = hush.ApproxDP(epsilon, delta).group(size)
    assert group.evidence(REMOVED).pair.infinite == pytest.approx(infinite, rel=1e-13)
    found = group.delta(epsilon=(size - 1) * epsilon)
    assert found.lower == pytest.approx(value, rel=1e-12)
    assert found.upper == pytest.approx(value, rel=1e-12)


def test_replaced_records() -> None:
    """One record leaves and another comes: two steps of the chain."""
    assert hush.PureDP(1.0).group(2).delta(epsilon=0).upper == pytest.approx(1 - 1 / math.e, rel=1e-12)
    assert hush.PureDP(1.0).under(REPLACE).epsilon(delta=0.5).upper == pytest.approx(0.84817767, rel=1e-7)
    assert hush.PureDP(0.1).under(REPLACE).repeat(100).epsilon(delta=1e-5).upper == pytest.approx(9.47695, rel=1e-6)
    assert hush.ApproxDP(1.0, 1e-3).group(2).delta(epsilon=0).upper <= 0.63286
    assert hush.PureDP(0.3).under(REPLACE).group(3).evidence(REPLACED).pair == along(worst([(0.3, 0.0)]), exactly(6))


def test_replaced_groups_on_a_sample_are_a_bound_only() -> None:
    """Joint convexity: no lower end is claimed, and the upper one is above a mechanism that meets the guarantee."""
    stated = hush.PureDP(0.5).on(hush.Poisson(rate=0.3)).under(REPLACE).group(2).delta(epsilon=0.2)
    noise = hush.DiscreteLaplace(scale=2.0).on(hush.Poisson(rate=0.3)).under(REPLACE).group(2).delta(epsilon=0.2)
    assert stated.lower == 0
    assert noise.lower <= stated.upper < hush.PureDP(0.5).under(REPLACE).group(2).delta(epsilon=0.2).upper


def test_large_groups_cost_little() -> None:
    assert hush.PureDP(0.01).group(10_000).epsilon(delta=0).upper == pytest.approx(100)
    assert hush.ApproxDP(0.01, 1e-9).group(10_000).delta(epsilon=1.0).upper == 1
    many = hush.from_profile(np.linspace(0, 2, 200).tolist(), np.geomspace(0.1, 1e-9, 200).tolist())
    found = many.group(9_999).delta(epsilon=1.0)  # past the limit of work: a bound that claims nothing from below
    assert (found.lower, found.upper) == (0, 1)
    with pytest.raises(hush.NotCovered):
        hush.PureDP(1.0).group(10_000).epsilon(delta=1e-6)
    with pytest.raises(hush.InvalidParameter):
        many.group(100).group(100).group(100)
