"""Noise intervals hold the statistic of what was used, total intervals that of all records, as often as they say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hush
from hush import releases

RUNS = 60
DATA = np.random.default_rng(3).beta(2, 6, 400)
NOISES = [{"epsilon": 1.0}, {"noise_multiplier": 2.0}]
REPLACE = hush.Relation.REPLACE
TRUTHS = {
    "Count": len(DATA),
    "Sum": DATA.sum(),
    "Mean": DATA.mean(),
    "Variance": DATA.var(),
}


def cases() -> list[Any]:
    found: list[Any] = []
    for noise in NOISES:
        found += [
            releases.Count(**noise),
            releases.Sum(bounds=(0, 1), **noise),
            releases.Sum(bounds=(0, 1), relation=REPLACE, **noise),
            releases.Mean(bounds=(0, 1), **noise),
            releases.Mean(bounds=(0, 1), size=400, **noise),
            releases.Mean(bounds=(0, 1), relation=REPLACE, **noise),
            releases.Variance(bounds=(0, 1), **noise),
            releases.Variance(bounds=(0, 1), relation=REPLACE, **noise),
        ]
    return found


def held(query: Any, sampled: bool) -> tuple[int, int]:
    truth, source = TRUTHS[type(query).__name__], hush.SeededSource(8)
    noise = total = 0
    fixed = hush.WithoutReplacement(size=200, population=400)
    scheme = fixed if query.relation is REPLACE else hush.Poisson(rate=0.5)
    runner = query.on(scheme) if sampled else query
    for _ in range(RUNS):
        found = runner.release(DATA, confidence=0.9, source=source)
        noise += truth in found.noise_interval
        total += truth in found.total_interval
        # clamped at the bounds, the value is in its own intervals
        assert found.value in found.noise_interval
        assert found.total_interval.low <= found.value <= found.total_interval.high
    return noise, total


@pytest.mark.parametrize("query", cases(), ids=str)
def test_on_all_records(query: Any) -> None:
    noise, total = held(query, sampled=False)
    assert noise == total >= 0.9 * RUNS - 4 * np.sqrt(0.09 * RUNS)
    if type(query).__name__ in ("Count", "Sum"):  # one noise: the interval is exact
        assert noise <= 0.9 * RUNS + 4 * np.sqrt(0.09 * RUNS)


@pytest.mark.parametrize("query", cases(), ids=str)
def test_on_a_sample(query: Any) -> None:
    _, total = held(query, sampled=True)
    assert total >= 0.9 * RUNS - 4 * np.sqrt(0.09 * RUNS)


def test_each_cell_of_a_histogram() -> None:
    edges = (0, 0.1, 0.3, 1)
    truth = np.histogram(DATA, edges)[0]
    query, source = releases.Histogram(edges=edges, epsilon=1.0), hush.SeededSource(2)
    for runner in (query, query.on(hush.Poisson(rate=0.5))):
        inside = 0
        for _ in range(RUNS):
            whole = runner.release(DATA, confidence=0.9, source=source).total_interval
            inside += bool(np.all((np.array(whole.low) <= truth) & (truth <= np.array(whole.high))))
        assert inside >= 0.9 * RUNS - 4 * np.sqrt(0.09 * RUNS)


def test_sums_of_both_signs_on_a_sample_have_no_total_interval() -> None:
    source = hush.SeededSource(1)
    found = releases.Sum(bounds=(-1, 1), epsilon=1.0).on(hush.Poisson(rate=0.5)).release(DATA, source=source)
    assert found.noise_interval is not None and found.total_interval is None
    below = releases.Sum(bounds=(-1, 0), epsilon=1.0).on(hush.Poisson(rate=0.5)).release(-DATA, source=source)
    assert below.total_interval is not None and -DATA.sum() in below.total_interval
