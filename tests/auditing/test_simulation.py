"""Mechanisms and schemes say themselves how they run, so that those of users can be audited too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import hush
from hush.auditing import distinguish, simulated
from hush.curves.pairs.pair import Pair
from hush.mechanisms.leaf import Leaf
from hush.mechanisms.scheme import Scheme
from hush.mechanisms.traits import Step
from hush.randomness.draws import coins

SOURCE = hush.SeededSource(3)


@dataclass(frozen=True)
class Rounded(Leaf):
    """Laplace noise, rounded: post-processing, with the pair of what is rounded."""

    relation: hush.Relation = hush.Relation.ADD_REMOVE

    def at(self, removed: int, added: int) -> Pair:
        return hush.Laplace(1.0).at(removed, added)

    def derivation(self) -> Step:
        return Step(str(self), "post-processing")

    def simulate(self, contributions: Any, source: hush.Source) -> Any:
        return np.round(hush.Laplace(1.0).simulate(contributions, source), 1)

    def __str__(self) -> str:
        return "rounded Laplace noise"


@dataclass(frozen=True)
class AllOrNone(Scheme):
    """A fair coin for all records at once."""

    one_sample = True

    def applied(self, mechanism: hush.Mechanism) -> hush.Mechanism:
        return mechanism

    def draw(self, population: int, source: hush.Source | None = None) -> Any:
        return np.arange(population * int(coins(source or SOURCE, np.array([0.5]))[0]))


def test_a_leaf_from_outside_is_audited() -> None:
    report = distinguish(*simulated(Rounded(), source=SOURCE), claim=hush.PureDP(1.0), samples=20_000)
    assert report.survives
    assert report.lower_bound > 0.8


def test_a_scheme_from_outside_is_drawn_from() -> None:
    outputs = AllOrNone().simulate(hush.Gaussian(0.01), np.ones(1_000), SOURCE)
    assert outputs.shape == (1_000,)
    assert 400 < np.count_nonzero(outputs > 0.5) < 600


def test_the_record_at_the_largest_rate_is_the_one_that_differs() -> None:
    outputs = hush.Gaussian(0.01).on(hush.UnequalPoisson([0.0, 1.0, 0.0])).simulate(np.ones(100), SOURCE)
    assert np.all(outputs > 0.5)


@pytest.mark.parametrize("scheme", [hush.ShuffledBatches(steps=4), hush.Allocation(steps=4)])
def test_an_epoch_has_a_column_per_step_and_the_record_in_one_of_them(scheme: Scheme) -> None:
    outputs = hush.Gaussian(0.01).on(scheme).simulate(np.ones(200), SOURCE)
    assert outputs.shape == (200, 4)
    assert np.all(np.count_nonzero(outputs > 0.5, axis=1) == 1)


def test_a_replaced_record_pushes_the_other_way() -> None:
    present, absent = simulated(hush.Laplace(2.0).under(hush.Relation.REPLACE), source=SOURCE)
    assert np.median(present(20_000)) - np.median(absent(20_000)) == pytest.approx(2.0, abs=0.1)


def test_what_only_states_a_guarantee_cannot_be_run() -> None:
    with pytest.raises(hush.NotCovered, match="nothing that could be run"):
        simulated(hush.PureDP(1.0))[0](100)
