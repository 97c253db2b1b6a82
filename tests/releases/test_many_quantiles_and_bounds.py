"""Many quantiles at once, private bounds, and private intervals: laws on neighbours, coverage, and bad input."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hush
from hush import releases
from hush.releases.noise.lattice import Lattice
from hush.releases.statistics import many_quantiles
from hush.releases.statistics.ordered_records import Sorted

ADD_REMOVE, REPLACE = hush.Relation.ADD_REMOVE, hush.Relation.REPLACE


def loss(values: np.ndarray, y: np.ndarray, p: float) -> np.ndarray:
    below, above = (values < y[:, None]).sum(axis=1), (values > y[:, None]).sum(axis=1)
    return np.maximum(0, np.maximum(below - p * len(values), above - (1 - p) * len(values)))


def law(values: np.ndarray, first: int, last: int, p: float, half: float) -> np.ndarray:
    weights = np.exp(-half / max(p, 1 - p) * loss(values, np.arange(first, last + 1), p))
    return weights / weights.sum()


def joint(values: np.ndarray, last: int, epsilon: float, parts: int) -> np.ndarray:
    """Exact law of three quartiles by the recursion, on whole numbers 0..last, without random low bits."""
    half = epsilon / 2 / 2 / parts
    table = np.zeros((last + 1,) * 3)
    for y, weight in enumerate(law(values, 0, last, 0.5, half)):
        low = law(values[values <= y], 0, y, 0.5, half)
        start = min(y + 1, last)
        high = law(np.maximum(values[values > y], start), start, last, 0.5, half)
        table[: y + 1, y, start:] = weight * low[:, None] * high[None, :]
    return table


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(0, 6), max_size=7),
    st.integers(0, 6),
    st.floats(0.1, 4),
    st.sampled_from([ADD_REMOVE, REPLACE]),
)
def test_joint_law_on_neighbours_vs_epsilon(
    values: list[int], new: int, epsilon: float, relation: hush.Relation
) -> None:
    x = np.array(values, dtype=int)
    other = np.append(x if relation is ADD_REMOVE else x[1:], new)
    if relation is REPLACE and not len(x):
        return
    parts = 2 if relation is REPLACE else 1
    a, b = (joint(d, 6, epsilon, parts) for d in (x, other))
    seen = a > 0
    assert np.array_equal(seen, b > 0) and a.sum() == pytest.approx(1)
    ratio = np.log(a[seen]) - np.log(b[seen])
    assert np.abs(ratio).max() <= epsilon * (1 + 1e-9)


def test_draws_vs_joint_law() -> None:
    x, lattice, size = np.array([0, 1, 1, 4, 6]), Lattice.within((0, 6), step=1.0), 1500
    source, shares = hush.SeededSource(3), (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
    records = many_quantiles._Part(Sorted(x), 0, len(x))
    counts = np.zeros((7, 7, 7))
    for _ in range(size):
        counts[
            tuple(many_quantiles._split(source, records, shares, (Fraction(0), Fraction(1)), Fraction(1, 2), lattice))
        ] += 1
    expected = joint(x, 6, 2.0, 1) * size
    for axes in ((1, 2), (0, 2), (0, 1)):
        found, truth = counts.sum(axis=axes), expected.sum(axis=axes)
        able = truth > 0
        assert found[~able].sum() == 0
        assert ((found - truth)[able] ** 2 / truth[able]).sum() < 40  # 6 degrees: below 1e-6


def test_many_quantiles_vs_truth_on_long_data() -> None:
    x = np.random.default_rng(1).normal(100, 15, 200_000)
    shares = tuple(k / 16 for k in range(1, 16))
    query = releases.Quantiles(ps=shares, bounds=(0, 200), epsilon=1.0)
    found = query.release(x)
    assert found.mechanism == hush.Exponential(0.25).repeat(4)
    assert list(found.value) == sorted(found.value)
    assert np.abs([np.mean(x <= v) - p for v, p in zip(found.value, shares, strict=True)]).max() < 0.005


def test_ties_split_evenly() -> None:
    ages = np.repeat([30.0, 40.0], [9000, 1000])
    found = releases.quantiles(ages, (0.25, 0.5, 0.75), bounds=(0, 128), epsilon=1.0, step=1.0).value
    assert found == (30.0, 30.0, 30.0)


@pytest.mark.parametrize("values", [[], [math.nan] * 3, [math.inf, -math.inf], [7.0] * 50, [1e308]])
def test_hostile_data_never_raise(values: list[float]) -> None:
    data = np.array(values)
    for query in (
        releases.Quantiles(ps=(0.0, 0.3, 1.0), bounds=(-5, 10), epsilon=1.0, relation=REPLACE),
        releases.Quantiles(ps=(0.5,), bounds=(1e15, 1e15 + 1), epsilon=1.0),
        releases.QuantileInterval(p=0.5, bounds=(-5, 10), epsilon=1.0, size=100),
        releases.QuantileInterval(p=0.5, bounds=(-5, 10), epsilon=1.0, relation=REPLACE),
    ):
        value = query.release(data, source=hush.SeededSource(1)).value
        for number in np.atleast_1d(value):
            assert query.bounds[0] <= number <= query.bounds[1]
    low, high = releases.private_bounds(data, epsilon=1.0).value
    assert low < high


@pytest.mark.parametrize(
    "fault",
    [{"ps": ()}, {"ps": (0.5, 0.5)}, {"ps": (0.9, 0.1)}, {"ps": "0.5"}, {"ps": (2,)}, {"epsilon": 0}, {"step": 0.1}],
)
def test_faults_of_quantiles_are_named(fault: dict[str, object]) -> None:
    with pytest.raises(hush.InvalidParameter, match=next(iter(fault))):
        releases.Quantiles(**({"ps": (0.5,), "bounds": (0, 1), "epsilon": 1.0} | fault))  # type: ignore[arg-type]


# -- intervals ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize("sampled", [False, True])
def test_interval_covers_the_median(relation: hush.Relation, sampled: bool) -> None:
    x = np.random.default_rng(2).lognormal(5, 0.5, 20_001)
    truth, source = np.median(x), hush.SeededSource(8)
    size = len(x) if relation is ADD_REMOVE else None
    query = releases.QuantileInterval(p=0.5, bounds=(0, 2000), epsilon=3.0, size=size, relation=relation)
    scheme = hush.Poisson(rate=0.2) if size else hush.WithoutReplacement(size=4000, population=len(x))
    runs = [(query.on(scheme) if sampled else query).release(x, confidence=0.8, source=source) for _ in range(60)]
    inside = [truth in found.total_interval for found in runs if found.total_interval is not None]
    assert len(inside) == 60 and np.mean(inside) >= 0.8
    width = np.mean([found.total_interval.high - found.total_interval.low for found in runs if found.total_interval])
    assert width < (25 if sampled else 6)


def test_interval_needs_a_public_size() -> None:
    with pytest.raises(hush.InvalidParameter, match="size"):
        releases.QuantileInterval(p=0.5, bounds=(0, 1), epsilon=1.0)
    with pytest.raises(hush.InvalidParameter, match="size"):
        releases.QuantileInterval(p=0.5, bounds=(0, 1), epsilon=1.0, size=10, relation=REPLACE)


def test_short_data_have_the_bounds_as_interval() -> None:
    found = releases.median_interval([1.0, 2.0], bounds=(0, 10), epsilon=1.0, size=2)
    assert found.noise_interval is not None
    assert (found.noise_interval.low, found.noise_interval.high) == (0.0, 10.0)


# -- bounds ------------------------------------------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(st.floats(width=64), st.integers(1, 80))
def test_each_number_is_in_the_range_of_its_bin(value: float, powers: int) -> None:
    query = releases.Bounds(epsilon=1.0, powers=powers)
    low, high = query._edges(int(query._bins(np.array([value]))[0]))
    number = 0.0 if math.isnan(value) else min(max(value, -(2.0**powers)), 2.0**powers)
    assert low <= number <= high


def test_bounds_vs_data() -> None:
    x, source = np.concatenate([np.full(1000, -3.0), np.full(1000, 0.4), [1e9]]), hush.SeededSource(1)
    for relation in (ADD_REMOVE, REPLACE):
        query = releases.Bounds(epsilon=1.0, relation=relation)
        assert query.release(x, source=source).value == (-4.0, 0.5)
        assert 0.99 < query.mechanism.epsilon(delta=0).upper <= 1.0 + 1e-12
    assert releases.private_bounds([5.0], epsilon=1.0, source=source).value == (-(2.0**64), 2.0**64)
    assert releases.private_bounds(np.zeros(1000), epsilon=1.0, source=source).value == (-(2.0**-65), 2.0**-65)


def test_neighbours_change_one_count_by_one() -> None:
    query, rng = releases.Bounds(epsilon=1.0), np.random.default_rng(5)
    x = rng.standard_cauchy(100) * 10.0 ** rng.integers(-30, 30, 100)
    counts = [np.bincount(query._bins(d), minlength=4 * 64 + 3) for d in (x, np.append(x, math.nan))]
    assert np.abs(counts[0] - counts[1]).sum() == 1


@pytest.mark.parametrize("fault", [{"epsilon": 0}, {"powers": 0}, {"powers": 2.5}, {"failure": 0}, {"failure": 1}])
def test_faults_of_bounds_are_named(fault: dict[str, float]) -> None:
    with pytest.raises(hush.InvalidParameter, match=next(iter(fault))):
        releases.Bounds(**({"epsilon": 1.0} | fault))  # type: ignore[arg-type]
