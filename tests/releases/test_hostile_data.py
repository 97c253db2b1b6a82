"""Bad parameters are named errors before any draw; whatever is in the data gets fixed, public handling."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import hush
from hush import releases

REPLACE = hush.Relation.REPLACE


class Untouchable(hush.Source):
    """No draw may happen before an error."""

    private = True

    def words(self, count: int) -> Any:
        raise AssertionError("randomness was drawn before the error")


NUMERIC = [releases.Sum, releases.Mean, releases.Variance]
BAD_NOISE: list[dict] = [
    *({"epsilon": e} for e in (math.nan, math.inf, -1.0, 0.0, 5e-324, 701, True, "1", 1 + 0j, None)),
    *({"epsilon": 1.0, "delta": d} for d in (math.nan, -0.1, 0.0, 1.0, "1e-5", True)),
    *({"noise_multiplier": z} for z in (0.0, -1.0, math.nan, math.inf, "1", True)),
    *({"rho": r} for r in (0.0, -1.0, math.nan, math.inf)),
    {"epsilon": 1.0, "rho": 1.0},
    {"noise_multiplier": 1.0, "delta": 1e-5},
    {"epsilon": 1.0, "relation": "replace"},
]
BAD_BOUNDS = [None, (1.0,), (2.0, 1.0), (1.0, 1.0), (0.0, math.inf), (math.nan, 1.0), ("0", "1"), (False, True), "01"]


@pytest.mark.parametrize("options", BAD_NOISE, ids=str)
@pytest.mark.parametrize("make", [lambda **o: releases.Count(**o), lambda **o: releases.Sum(bounds=(0, 1), **o)])
def test_bad_noise(make: Any, options: dict) -> None:
    with pytest.raises(hush.InvalidParameter, match="needs"):
        make(**options)


@pytest.mark.parametrize("bounds", BAD_BOUNDS, ids=str)
@pytest.mark.parametrize("query", NUMERIC)
def test_bad_bounds(query: Any, bounds: Any) -> None:
    with pytest.raises(hush.InvalidParameter, match="bounds"):
        query(bounds=bounds, epsilon=1.0)


WORDS = ["secret-4711", "b"]


@pytest.mark.parametrize("query", NUMERIC)
@pytest.mark.parametrize(
    "data",
    [np.array(WORDS), np.array(WORDS, dtype=object), np.array([1.0, "secret-4711"], dtype=object), np.ones((2, 2))],
)
def test_words_in_a_column_of_numbers(query: Any, data: Any) -> None:
    with pytest.raises(hush.InvalidParameter, match="numbers") as error:
        query(bounds=(0, 1), epsilon=1.0).release(data, source=Untouchable())
    assert "4711" not in str(error.value)


def test_errors_before_any_draw() -> None:
    table = {"a": [1.0], "b": [2.0]}
    for data in (table, 7.0, "nothing.txt", "missing.parquet", {1.0, 2.0}, b"12", np.ones((2, 2))):
        with pytest.raises(hush.InvalidParameter):
            releases.sum(data, bounds=(0, 1), epsilon=1.0, source=Untouchable())
    for confidence in (0.0, 1.0, math.nan, "95%"):
        with pytest.raises(hush.InvalidParameter, match="confidence"):
            releases.sum([1.0], bounds=(0, 1), epsilon=1.0, confidence=confidence, source=Untouchable())
    with pytest.raises(hush.InvalidParameter, match="unit"):
        releases.table(table, unit="a")
    with pytest.raises(hush.InvalidParameter, match="column"):
        releases.table(table, column="c")
    with pytest.raises(hush.NotCovered, match="public"):
        releases.Count(epsilon=1.0, relation=REPLACE)
    with pytest.raises(hush.InvalidParameter):
        releases.Histogram(epsilon=1.0)
    for categories in ((), ("a", "a"), (math.nan,), "ab", ([],)):
        with pytest.raises(hush.InvalidParameter):
            releases.Histogram(categories=categories, epsilon=1.0)


HOSTILE = {
    "empty": [],
    "one row": [5.0],
    "all equal": [3.0] * 50,
    "NaN": [math.nan] * 50,
    "infinities": [math.inf, -math.inf] * 25,
    "huge": [1e308, -1e308] * 25,
    "integers beyond floats": [2**62, -(2**62)],
    "subnormal": [5e-324] * 50,
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("relation", [hush.Relation.ADD_REMOVE, hush.Relation.REPLACE])
@pytest.mark.parametrize("bounds", [(0.0, 10.0), (-1e308, 1e308), (0.0, 1e-310)])
def test_no_value_raises(data: list, relation: hush.Relation, bounds: tuple[float, float]) -> None:
    for query in NUMERIC:
        found = query(bounds=bounds, epsilon=5.0, relation=relation).release(data)
        assert math.isfinite(found.value)
        assert found.noise_interval is not None and found.noise_interval.low <= found.noise_interval.high
    mean = releases.mean(data, bounds=bounds, epsilon=5.0, relation=relation)
    assert bounds[0] <= mean.value <= bounds[1]


def test_fixed_places_of_odd_values() -> None:
    """NaN counts as the lower bound, infinities as the nearer one, in sums and means alike."""
    low_noise = {"bounds": (2.0, 6.0), "epsilon": 500.0, "relation": REPLACE}
    for values, mean in (([math.nan] * 9, 2.0), ([math.inf] * 9, 6.0), ([-math.inf] * 9, 2.0), ([4, 99] * 5, 5.0)):
        assert releases.mean(values, **low_noise).value == pytest.approx(mean, abs=0.2)
        assert releases.sum(values, **low_noise).value == pytest.approx(mean * len(values), abs=0.5)


def test_unseen_categories_are_dropped_or_other() -> None:
    values = np.array(["a", "b", None, "c", "c", ["list"], 3.5], dtype=object)
    kept = releases.histogram(values, categories=("a", "c"), epsilon=500.0).value
    assert kept == {"a": 1, "c": 2}
    assert releases.histogram(values, categories=("a", "c"), other=True, epsilon=500.0).value == kept | {"other": 4}
    bins = releases.histogram([0, 1, 2, 5, 9, -1, math.nan], edges=(0, 1, 5), other=True, epsilon=500.0).value
    assert list(bins.values()) == [1, 3, 3]


def test_sums_do_not_overflow() -> None:
    """Beyond the largest float the answer is cut there; sums of integers never wrap around."""
    found = releases.sum(np.full(10_000, 1e304), bounds=(0, 1e304), epsilon=10.0)
    assert found.value == pytest.approx(1e308, rel=1e-2)
    assert releases.sum(np.full(10, 1e308), bounds=(0, 1e308), epsilon=100.0).value == math.nextafter(math.inf, 0)
    whole = np.full(1000, 2**62, dtype=np.int64)
    assert releases.sum(whole, bounds=(0, 2**62), epsilon=10.0).value == pytest.approx(1000 * 2.0**62, rel=0.01)


def test_designs_without_a_theorem_or_an_estimate() -> None:
    query = releases.Mean(bounds=(0, 1), epsilon=1.0, size=100)
    unequal = hush.UnequalPoisson(rates=[0.1, 0.2])
    with pytest.raises(hush.NotCovered):
        query.on(hush.WithoutReplacement(size=10, population=100))
    with pytest.raises(hush.NotCovered, match="same probability"):
        query.on(unequal)
    with pytest.raises(hush.NotCovered, match="same probability"):
        releases.Sample([1.0, 2.0], unequal, source=Untouchable()).release(query)
    with pytest.raises(hush.InvalidParameter, match="rate > 0"):
        query.on(hush.Poisson(rate=0))
    with pytest.raises(hush.InvalidParameter, match="scheme"):
        query.on(0.1)  # type: ignore[arg-type]
    stated = hush.PureDP(1.0).under(REPLACE)
    largest = releases.Sample([1.0, 2.0], unequal).apply(len, guarantee=stated)
    assert largest.mechanism.epsilon(delta=0) == stated.on(hush.Poisson(rate=0.2)).epsilon(delta=0)
