"""REPLACE_SPECIAL, which jax_privacy states its trainings for: what it means here, and the events that come with it."""

from __future__ import annotations

from typing import Any

import dp_accounting as dp
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant

import hush
from hush.interop import DpEventAccountant, from_dp_event, to_dp_event

SPECIAL = dp.NeighboringRelation.REPLACE_SPECIAL
BLANK = hush.Relation.ZERO_OUT
DELTA = 1e-5
GAUSS = dp.GaussianDpEvent(1.0)
CUT = dp_event.TruncatedSubsampledGaussianDpEvent(1000, 0.02, 40, 1.0)


@pytest.mark.parametrize(
    "event",
    [
        GAUSS,
        dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.01, GAUSS), 1000),
        dp.ComposedDpEvent([dp.LaplaceDpEvent(2.0), dp.PoissonSampledDpEvent(0.1, dp.LaplaceDpEvent(1.0))]),
        dp.SelfComposedDpEvent(CUT, 10),
    ],
    ids=["noise", "sampled", "phases", "truncated"],
)
def test_a_blanked_record_vs_their_grid(event: Any) -> None:
    theirs = PLDAccountant(SPECIAL, value_discretization_interval=1e-3).compose(event).get_epsilon(DELTA)
    accountant = DpEventAccountant(SPECIAL).compose(event)
    found = from_dp_event(event, relation=BLANK).epsilon(delta=DELTA)
    assert accountant.get_epsilon(DELTA) == found.upper
    # in a cut sample a blank record takes a place too, which ours charges for: half a percent here
    assert theirs * 0.95 <= found.upper <= theirs * (1.005 if "Truncated" in str(event) else 1 + 1e-9)
    assert accountant.mechanism.relation is BLANK
    again = from_dp_event(to_dp_event(from_dp_event(event, relation=BLANK)), relation=BLANK)
    assert again == from_dp_event(event, relation=BLANK)


@pytest.mark.parametrize(("steps", "levels"), [(1, 1), (2, 2), (3, 2), (4, 3), ([3, 8, 0], 4)])
def test_a_tree_is_one_noise_per_level(steps: Any, levels: int) -> None:
    event = dp.SingleEpochTreeAggregationDpEvent(5.0, steps)
    found = DpEventAccountant(SPECIAL).compose(event, 2)
    exact = hush.Gaussian(5.0).repeat(2 * levels).epsilon(delta=DELTA)
    assert found.get_epsilon(DELTA) == pytest.approx(exact.upper, rel=1e-9)
    assert found.get_epsilon(DELTA) >= exact.lower
    theirs = RdpAccountant(neighboring_relation=SPECIAL).compose(event, 2).get_epsilon(DELTA)
    assert found.get_epsilon(DELTA) <= theirs


def test_truncated_samples_where_records_are_added_or_replaced() -> None:
    for relation, how in ((hush.Relation.ADD_REMOVE, None), (hush.Relation.REPLACE, "doubled")):
        found = from_dp_event(CUT, relation=relation, replaced=how)
        assert to_dp_event(found, replaced=how) == CUT
    mine = hush.Gaussian(1.0).on(hush.CappedPoisson(rate=0.02, cap=40, population=1000))
    assert from_dp_event(CUT) == mine
    for nobody in ((0, 0.1, 5, 1.0), (10, 0.0, 5, 1.0), (10, 0.1, 0, 0.0)):
        assert from_dp_event(dp_event.TruncatedSubsampledGaussianDpEvent(*nobody)).epsilon(delta=0).upper == 0


@pytest.mark.parametrize(
    "inner",
    [
        dp.ZCDpEvent(0.1),
        dp_event.MixtureOfGaussiansDpEvent(1.0, [0.0, 1.0], [0.5, 0.5]),
        dp.SingleEpochTreeAggregationDpEvent(1.0, 8),
        dp.SelfComposedDpEvent(dp.ZCDpEvent(0.1), 3),
        CUT,
    ],
    ids=lambda event: type(event).__name__,
)
def test_what_says_nothing_about_removing_a_record_is_not_amplified(inner: Any) -> None:
    assert DpEventAccountant(SPECIAL).compose(inner).get_epsilon(DELTA) > 0
    with pytest.raises(hush.NotCovered, match="on a sample|but for a blanked record"):
        from_dp_event(dp.PoissonSampledDpEvent(0.1, inner), relation=BLANK)
    assert not DpEventAccountant(SPECIAL).supports(dp.PoissonSampledDpEvent(0.1, inner))


@pytest.mark.parametrize(
    "event",
    [
        dp.RandomizedResponseDpEvent(0.5, 3),
        dp.SampledWithoutReplacementDpEvent(100, 10, GAUSS),
        dp.SampledWithReplacementDpEvent(100, 10, GAUSS),
    ],
    ids=lambda event: type(event).__name__,
)
def test_what_is_not_known_of_a_blanked_record(event: Any) -> None:
    assert not DpEventAccountant(SPECIAL).supports(event)


def test_noise_for_replaced_records_is_not_written_for_blanked_ones() -> None:
    """It would be read as noise for removed ones, which on a sample gives away less."""
    mine = hush.Gaussian(1.0, relation=hush.Relation.REPLACE).under(BLANK)
    with pytest.raises(hush.NotCovered, match="blanked"):
        to_dp_event(mine)
    with pytest.raises(hush.InvalidParameter, match="REPLACE alone"):
        DpEventAccountant(SPECIAL, replaced="stated")


def test_every_event_of_theirs_is_read_or_refused_by_name() -> None:
    """Whichever events a version of dp_accounting has: one that it brings anew is refused too."""
    from hush.interop.events_read import EVENTS, UNKNOWN

    theirs = {
        name
        for name, kind in vars(dp_event).items()
        if isinstance(kind, type) and issubclass(kind, dp_event.DpEvent) and kind is not dp_event.DpEvent
    }
    assert theirs - set(EVENTS) == set(UNKNOWN)
    assert not set(EVENTS) & set(UNKNOWN)
    with pytest.raises(hush.NotCovered, match="RepeatAndSelectDpEvent.*best_of"):
        from_dp_event(dp_event.RepeatAndSelectDpEvent(GAUSS, 10.0, 1.0))
