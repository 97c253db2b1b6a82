"""The core types: what a release says of itself, and how uses of one sample add up."""

from __future__ import annotations

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
