"""Smooth sensitivity by the fast search, against the definition and against all neighbouring data sets."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hush.curves.theorems.smooth_sensitivity import evenly_spread
from hush.errors import InvalidParameter
from hush.releases.statistics.sensitivity import (
    global_sensitivity,
    local_sensitivity,
    rank_of,
    sensitivity_at_distance,
    sensitivity_chart,
    smooth_sensitivity,
)
from hush.releases.statistics.smooth_sensitivity import smooth_of_sorted


def by_definition(x: list[float], m: int, beta: float, low: float, high: float) -> float:
    def at(i: int) -> float:
        return low if i < 1 else high if i > len(x) else x[i - 1]

    terms = (max(at(m + t) - at(m + t - k - 1) for t in range(k + 2)) * math.exp(-beta * k) for k in range(len(x) + 2))
    return max(terms)


tied = st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.25, 0.5, 1.0])), min_size=1, max_size=14)


@settings(max_examples=150, deadline=None)
@given(tied, st.floats(0.002, 8), st.data())
def test_fast_search_vs_definition(values: list[float], beta: float, data: st.DataObject) -> None:
    x = sorted(values)
    m = data.draw(st.integers(1, len(x)))
    truth = by_definition(x, m, beta, 0.0, 1.0)
    assert smooth_of_sorted(np.array(x), rank=m, beta=beta, bounds=(0.0, 1.0)) == pytest.approx(truth, rel=1e-13)


def test_long_data_vs_definition_by_columns() -> None:
    """2,001 values: every (i, j) at once."""
    x = np.sort(np.random.default_rng(1).lognormal(5, 0.5, 2001)).clip(0, 2000)
    padded = np.concatenate([[0.0], x, [2000.0]])
    for m in (1, 500, 1001, 2001):
        down, up = padded[m::-1], padded[m:]
        moved = np.arange(len(down))[:, None] + np.arange(len(up))[None, :]
        for beta in (1e-4, 0.01, 0.5):
            every = np.where(moved > 0, (up[None, :] - down[:, None]) * np.exp(-beta * (moved - 1.0)), 0.0)
            found = smooth_of_sorted(x, rank=m, beta=beta, bounds=(0.0, 2000.0))
            assert found == pytest.approx(every.max(), rel=1e-13)


def test_distance_vs_all_data_sets() -> None:
    """On the grid 0, 1, 2, 3 with three records: the largest move of the median one replacement away from distance k."""
    grid = list(itertools.combinations_with_replacement(range(4), 3))

    def apart(a: tuple[int, ...], b: tuple[int, ...]) -> int:
        return len(a) - sum(min(a.count(v), b.count(v)) for v in set(a))

    for p, place in ((0.5, 1), (0.3, 0), (0.9, 2)):
        local = {a: max(abs(a[place] - b[place]) for b in grid if apart(a, b) <= 1) for a in grid}
        for a in grid:
            found = sensitivity_at_distance(a, distances=range(4), bounds=(0, 3), p=p)
            assert found.tolist() == [max(local[b] for b in grid if apart(a, b) <= k) for k in range(4)]
            assert local_sensitivity(a, bounds=(0, 3), p=p) == local[a]
            smooth = max(math.exp(-0.4 * k) * value for k, value in enumerate(found))
            assert smooth_sensitivity(a, beta=0.4, bounds=(0, 3), p=p) == pytest.approx(smooth, rel=1e-14)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-0.5, 1.5), min_size=1, max_size=12), st.floats(0, 1), st.floats(0.01, 3), st.floats(0, 1))
def test_smooth_over_neighbours(values: list[float], new: float, beta: float, p: float) -> None:
    other = [new, *values[1:]]
    first, second = (smooth_sensitivity(x, beta=beta, bounds=(0, 1), p=p) for x in (values, other))
    assert first <= second * math.exp(beta) * (1 + 1e-12)
    place = rank_of(len(values), p) - 1
    moved = abs(np.sort(np.clip(values, 0, 1))[place] - np.sort(np.clip(other, 0, 1))[place])
    assert moved <= min(first, second) * (1 + 1e-12)


def test_hostile_values_have_fixed_handling() -> None:
    values = [math.nan, math.inf, -math.inf, 1e308, 0.5]
    assert 0 < smooth_sensitivity(values, beta=0.1, bounds=(0, 1)) <= global_sensitivity(bounds=(0, 1))
    assert smooth_sensitivity([], beta=0.1, bounds=(0, 1)) == 1.0
    assert smooth_sensitivity([0.5] * 9, beta=0.1, bounds=(0, 1)) == pytest.approx(math.exp(-0.9))
    assert smooth_sensitivity([0.5] * 100_000, beta=1.0, bounds=(0, 1)) == 0.0


@pytest.mark.parametrize("bounds", [(1, 1), (2, 1), (0, math.inf), (math.nan, 1), 3, (0, 1, 2), ("0", 1)])
def test_bad_bounds_are_named(bounds: object) -> None:
    with pytest.raises(InvalidParameter, match="bounds"):
        global_sensitivity(bounds=bounds)  # type: ignore[arg-type]


def test_chart_holds_the_smooth_sensitivity() -> None:
    x = np.random.default_rng(2).uniform(0, 100, 51)
    chart = sensitivity_chart(x, betas=[0.2], bounds=(0, 100))
    smooth = smooth_sensitivity(x, beta=0.2, bounds=(0, 100))
    assert max(chart.line("times exp(-0.2 k)").y) == pytest.approx(smooth, rel=1e-12)
    assert chart.line("global").y == (100.0, 100.0)


def test_ten_million_even_values_vs_closed_form() -> None:
    x = np.linspace(0, 2000, 10_000_000)
    beta = 1 / (2 * math.log(2e6))
    found = smooth_of_sorted(x, rank=5_000_000, beta=beta, bounds=(0.0, 2000.0))
    assert found == pytest.approx((x[1] - x[0]) * evenly_spread(beta), rel=1e-6)
