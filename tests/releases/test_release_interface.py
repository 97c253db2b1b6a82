"""The core types: what a release says of itself, and how uses of one sample add up."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import hush
from hush import releases

POISSON = hush.Poisson(rate=0.1)


def test_seeded_releases_are_labelled_and_refused() -> None:
    found = releases.count(np.arange(10), epsilon=1.0, source=hush.SeededSource(1))
    assert not found.private and "NOT PRIVATE" in str(found)
    with pytest.raises(hush.InvalidParameter):
        found.require_private()
    secure = releases.count(np.arange(10), epsilon=1.0)
    assert secure.require_private() is secure and "NOT PRIVATE" not in str(secure)


def test_two_uses_of_a_sample_vs_one_sample_of_both() -> None:
    query = releases.Mean(bounds=(0, 1), epsilon=1.0)
    sample = releases.sample(np.linspace(0, 1, 100), POISSON)
    first, second = sample.release(query), query.release(sample)
    assert first.mechanism == query.mechanism.on(POISSON)
    assert second.mechanism == hush.sequence(query.mechanism, query.mechanism).on(POISSON) == sample.mechanism
    fresh = query.mechanism.on(POISSON).repeat(2)
    assert second.mechanism.epsilon(delta=0).upper > 1.2 * fresh.epsilon(delta=0).upper


def test_formula_and_design_are_tied() -> None:
    without = hush.WithoutReplacement(size=10, population=100)
    with pytest.raises(hush.NotCovered):
        releases.Sum(bounds=(0, 1), epsilon=1.0).on(without)
    with pytest.raises(hush.NotCovered):
        releases.Sum(bounds=(0, 1), epsilon=1.0, relation=hush.Relation.REPLACE).on(POISSON)
    with pytest.raises(hush.NotCovered):
        releases.Sum(bounds=(0, 1), epsilon=1.0).on(hush.Allocation(steps=5))
    replaced = releases.Sum(bounds=(0, 1), epsilon=1.0, relation=hush.Relation.REPLACE).on(without)
    assert replaced.mechanism.epsilon(delta=0).upper == pytest.approx(np.log1p(0.1 * np.expm1(1)))


def test_batches_of_an_epoch_are_no_sample() -> None:
    for scheme in (hush.Allocation(steps=5), hush.ShuffledBatches(steps=5), hush.Revealed(hush.ShuffledBatches(5))):
        with pytest.raises(hush.NotCovered, match="batches of an epoch"):
            releases.Median(bounds=(0, 1), epsilon=1.0).on(scheme)
        with pytest.raises(hush.NotCovered, match="batches of an epoch"):
            releases.sample(np.arange(10.0), scheme)


SHORT_FORMS = [
    releases.count,
    releases.sum,
    releases.mean,
    releases.variance,
    releases.histogram,
    releases.median,
    releases.quantile,
    releases.smooth_median,
    releases.smooth_quantile,
    releases.quantiles,
    releases.median_interval,
    releases.private_bounds,
]


@pytest.mark.parametrize("short", SHORT_FORMS, ids=lambda short: short.__name__)
def test_options_of_short_forms_have_names(short: Callable[..., releases.Release]) -> None:
    kinds = {p.name: p.kind for p in inspect.signature(short).parameters.values()}
    assert (
        inspect.Parameter.VAR_KEYWORD not in kinds.values() and inspect.Parameter.VAR_POSITIONAL not in kinds.values()
    )
    assert {"column", "source", "epsilon"} <= {n for n, k in kinds.items() if k is inspect.Parameter.KEYWORD_ONLY}
    with pytest.raises(TypeError, match="stepp"):
        short([0.0], epsilon=1.0, stepp=3)


def test_short_forms_have_the_options_of_their_queries() -> None:
    queries = {
        releases.count: releases.Count,
        releases.sum: releases.Sum,
        releases.mean: releases.Mean,
        releases.variance: releases.Variance,
        releases.histogram: releases.Histogram,
        releases.median: releases.Median,
        releases.quantile: releases.Quantile,
        releases.quantiles: releases.Quantiles,
        releases.private_bounds: releases.Bounds,
    }
    for short, query in queries.items():
        ours, theirs = (inspect.signature(called).parameters for called in (short, query))
        assert set(ours) - set(theirs) <= {"data", "column", "confidence", "source", "ledger"}
        for name, parameter in theirs.items():
            assert ours[name].default == parameter.default, (short, name)


def test_a_sample_cannot_be_copied() -> None:
    sample = releases.sample(np.arange(10.0), POISSON)
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(hush.InvalidParameter, match="neither copied nor stored"):
            attempt(sample)


def test_uses_from_many_threads_are_all_accounted() -> None:
    sample = releases.sample(np.arange(1000.0), POISSON)
    query = releases.Count(epsilon=0.1)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: sample.release(query), range(24)))
    assert len(sample.uses) == 24
    assert sample.mechanism == query.mechanism.repeat(24).on(POISSON)


def test_a_failing_function_is_spent_and_a_refused_one_is_not() -> None:
    sample = releases.sample(np.arange(10.0), POISSON)
    with pytest.raises(hush.InvalidParameter, match="raises nothing"):
        sample.apply(lambda records: 1 / 0, guarantee=hush.PureDP(1.0))
    assert len(sample.uses) == 1
    with pytest.raises(hush.InvalidParameter):
        sample.release(releases.Count(epsilon=1.0), confidence=2)
    with pytest.raises(hush.InvalidParameter):
        sample.apply(len, guarantee=1.0)  # type: ignore[arg-type]
    with pytest.raises(hush.InvalidParameter, match="one of them|relation"):
        sample.apply(len, guarantee=hush.PureDP(1.0, relation=hush.Relation.REPLACE))
    assert len(sample.uses) == 1


def test_rates_that_do_not_fit_tell_nothing_about_the_table() -> None:
    sample = releases.sample(np.arange(4711.0), hush.UnequalPoisson(rates=[0.1, 0.2]))
    with pytest.raises(hush.InvalidParameter, match="one rate") as error:
        sample.apply(len, guarantee=hush.PureDP(1.0).under(hush.Relation.REPLACE))
    assert "4711" not in str(error.value) and not sample.uses


def test_maps_keep_the_mechanism() -> None:
    found = releases.mean(np.arange(10.0), bounds=(0, 9), epsilon=1.0)
    doubled = found.map(lambda value: -2 * value, monotone=True)
    assert doubled.mechanism is found.mechanism and doubled.private
    assert doubled.noise_interval is not None and found.noise_interval is not None
    assert doubled.noise_interval.low == -2 * found.noise_interval.high
    assert found.map(round).noise_interval is None
