"""Events of dp_accounting: what they mean against its own accountants, there and back, and what has no equivalent."""

from __future__ import annotations

import math
from typing import Any

import dp_accounting as dp
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

import hush
from hush.interop import DpEventAccountant, from_dp_event, to_dp_event

ADD, REPLACE = dp.NeighboringRelation.ADD_OR_REMOVE_ONE, dp.NeighboringRelation.REPLACE_ONE
DELTA = 1e-5
GAUSS = dp.GaussianDpEvent(1.0)


def poisson(rate: float, event: Any) -> Any:
    return dp.PoissonSampledDpEvent(rate, event)


NOISY = {
    "gaussian": dp.SelfComposedDpEvent(dp.GaussianDpEvent(4.0), 9),
    "laplace": dp.SelfComposedDpEvent(dp.LaplaceDpEvent(3.0), 4),
    "discrete laplace": dp.SelfComposedDpEvent(dp_event.DiscreteLaplaceDpEvent(0.25, 2), 5),
    "mixture of normals": dp_event.MixtureOfGaussiansDpEvent(2.0, [0.0, 1.0, 2.0], [0.5, 0.3, 0.2]),
    "sampled gaussian": dp.SelfComposedDpEvent(poisson(0.01, GAUSS), 1000),
    "sampled laplace": dp.SelfComposedDpEvent(poisson(0.1, dp.LaplaceDpEvent(1.0)), 50),
    "phases": dp.ComposedDpEvent(
        [dp.SelfComposedDpEvent(poisson(0.01, GAUSS), 500), dp.NoOpDpEvent(), dp.LaplaceDpEvent(5.0)]
    ),
}


@pytest.mark.parametrize("name", NOISY)
def test_the_same_number_as_a_pessimistic_grid(name: str) -> None:
    """Its grid rounds upwards: its epsilon is above what is certainly needed, and near what suffices."""
    step = 1e-3 if name == "mixture of normals" else 1e-4  # a fine grid of mixtures takes half a minute
    theirs = PLDAccountant(ADD, value_discretization_interval=step).compose(NOISY[name]).get_epsilon(DELTA)
    bound = from_dp_event(NOISY[name]).epsilon(delta=DELTA)
    assert bound.lower <= theirs * (1 + 1e-9)
    assert bound.upper == pytest.approx(theirs, rel=20 * step)
    assert DpEventAccountant().compose(NOISY[name]).get_epsilon(DELTA) == bound.upper


def test_a_replaced_record_is_read_as_the_caller_says() -> None:
    """dp_accounting's own accountants disagree: 9.9973 doubles the sensitivity, 4.7285 (from 4.3772) takes it as stated."""
    doubled = from_dp_event(GAUSS, relation=hush.Relation.REPLACE, replaced="doubled").epsilon(delta=DELTA)
    stated = from_dp_event(GAUSS, relation=hush.Relation.REPLACE, replaced="stated").epsilon(delta=DELTA)
    assert PLDAccountant(REPLACE).compose(GAUSS).get_epsilon(DELTA) == pytest.approx(doubled.upper, rel=1e-3)
    theirs = RdpAccountant(neighboring_relation=REPLACE).compose(GAUSS).get_epsilon(DELTA)
    assert (round(doubled.upper, 4), round(stated.upper, 4)) == (9.9973, 4.3772)
    assert stated.upper < theirs < 4.73
    for how, bound in (("doubled", doubled), ("stated", stated)):
        assert DpEventAccountant(REPLACE, replaced=how).compose(GAUSS).get_epsilon(DELTA) == bound.upper


def test_nobody_guesses_what_a_replaced_record_does() -> None:
    with pytest.raises(hush.InvalidParameter, match="replaced='stated'.*replaced='doubled'"):
        from_dp_event(GAUSS, relation=hush.Relation.REPLACE)
    with pytest.raises(hush.InvalidParameter, match="replaced"):
        DpEventAccountant(REPLACE)
    with pytest.raises(hush.InvalidParameter, match="REPLACE alone"):
        from_dp_event(GAUSS, replaced="stated")
    with pytest.raises(hush.NotCovered, match="relation"):
        DpEventAccountant("REPLACE_ONE")  # type: ignore[arg-type]


def test_samples_under_replacement() -> None:
    event = dp.SelfComposedDpEvent(poisson(0.05, dp.GaussianDpEvent(2.0)), 100)
    ours = from_dp_event(event, relation=hush.Relation.REPLACE, replaced="doubled").epsilon(delta=DELTA)
    assert ours.upper == pytest.approx(PLDAccountant(REPLACE).compose(event).get_epsilon(DELTA), rel=2e-3)
    fixed = dp.SampledWithoutReplacementDpEvent(1000, 10, dp.GaussianDpEvent(2.0))
    stated = from_dp_event(fixed, relation=hush.Relation.REPLACE, replaced="stated").repeat(50).epsilon(delta=DELTA)
    theirs = RdpAccountant(neighboring_relation=REPLACE).compose(fixed, 50).get_epsilon(DELTA)
    assert 0 < stated.lower <= stated.upper <= theirs


def test_randomized_response() -> None:
    event = dp.RandomizedResponseDpEvent(0.5, 4)
    for how in ("stated", "doubled"):
        found = from_dp_event(event, relation=hush.Relation.REPLACE, replaced=how)
        assert found.epsilon(delta=0).upper == pytest.approx(math.log(1 + 4 * 0.5 / 0.5), rel=1e-12)
        theirs = PLDAccountant(REPLACE).compose(event, 1).get_epsilon(0.1)
        assert found.epsilon(delta=0.1).upper == pytest.approx(theirs, rel=2e-3)
    with pytest.raises(hush.NotCovered, match="RandomizedResponseDpEvent"):
        from_dp_event(event)


# -- what is at the edges ------------------------------------------------------------------------------------------

NOTHING = {
    "no operation": dp.NoOpDpEvent(),
    "no events": dp.ComposedDpEvent([]),
    "no times": dp.SelfComposedDpEvent(GAUSS, 0),
    "nobody is drawn": poisson(0.0, GAUSS),
    "nobody is drawn, and no noise": poisson(0.0, dp.GaussianDpEvent(0.0)),
    "no sensitivity": dp_event.MixtureOfGaussiansDpEvent(1.0, [0.0], [1.0]),
    "a promise of nothing": dp.ZCDpEvent(0.0),
}
EVERYTHING = {
    "not private": dp.NonPrivateDpEvent(),
    "no normal noise": dp.GaussianDpEvent(0.0),
    "no Laplace noise": dp.LaplaceDpEvent(0.0),
    "no discrete noise": dp_event.DiscreteLaplaceDpEvent(0.0, 1),
    "no noise of a mixture": dp_event.MixtureOfGaussiansDpEvent(0.0, [0.0, 1.0], [0.5, 0.5]),
    "one of many": dp.ComposedDpEvent([GAUSS, dp.NonPrivateDpEvent()]),
    "on a sample": poisson(0.01, dp.GaussianDpEvent(0.0)),
}


@pytest.mark.parametrize("name", NOTHING)
def test_what_reveals_nothing(name: str) -> None:
    assert from_dp_event(NOTHING[name]).epsilon(delta=0).upper == 0
    assert from_dp_event(dp.ComposedDpEvent([NOTHING[name], GAUSS])) == hush.Gaussian(1.0)
    if name != "no times":  # their own ledger refuses it
        assert DpEventAccountant().compose(NOTHING[name]).get_delta(0.0) == 0


@pytest.mark.parametrize("name", EVERYTHING)
def test_what_reveals_everything(name: str) -> None:
    assert from_dp_event(EVERYTHING[name]).epsilon(delta=DELTA).upper == math.inf
    assert DpEventAccountant().compose(EVERYTHING[name]).get_epsilon(DELTA) == math.inf
    assert DpEventAccountant().compose(EVERYTHING[name]).get_delta(1.0) >= 0.01


def test_rates_of_one_and_nested_samples() -> None:
    assert from_dp_event(poisson(1.0, GAUSS)) == hush.Gaussian(1.0)
    nested = from_dp_event(poisson(0.5, poisson(0.2, GAUSS)))
    once = from_dp_event(poisson(0.1, GAUSS))
    assert nested.epsilon(delta=DELTA).upper == pytest.approx(once.epsilon(delta=DELTA).upper, rel=1e-9)
    # one sample for several steps is not a sample for each
    together = from_dp_event(poisson(0.1, dp.SelfComposedDpEvent(GAUSS, 2))).epsilon(delta=DELTA)
    apart = from_dp_event(dp.SelfComposedDpEvent(poisson(0.1, GAUSS), 2)).epsilon(delta=DELTA)
    assert together.lower > apart.upper


def test_zcdp_with_and_without_an_offset() -> None:
    assert from_dp_event(dp.ZCDpEvent(0.1)) == hush.ZCDP(0.1)
    assert from_dp_event(dp.ZCDpEvent(0.0, 0.3)) == hush.PureDP(0.3)
    found = from_dp_event(dp.ZCDpEvent(0.1, 0.2))
    assert found.renyi(orders=[2, 10]).tolist() == pytest.approx([0.4, 1.2])
    theirs = RdpAccountant().compose(dp.ZCDpEvent(0.1, 0.2)).get_epsilon(DELTA)
    assert found.epsilon(delta=DELTA).upper <= theirs * (1 + 1e-9)
    accountant = DpEventAccountant()
    for _ in range(3):
        accountant.compose(dp.ZCDpEvent(0.1, 0.2))
    assert accountant.mechanism.renyi(orders=[2]).tolist() == pytest.approx([1.2])


class OwnEvent(dp.GaussianDpEvent):
    """An event of somebody else, which may mean anything."""


UNKNOWN = [
    dp.UnsupportedDpEvent(),
    dp_event.RepeatAndSelectDpEvent(GAUSS, 10.0, 1.0),
    dp.SingleEpochTreeAggregationDpEvent(1.0, 8),
    dp.SampledWithoutReplacementDpEvent(100, 10, GAUSS),
    dp.SampledWithReplacementDpEvent(100, 10, GAUSS),
]


@pytest.mark.parametrize("event", UNKNOWN, ids=lambda event: type(event).__name__)
def test_what_has_no_equivalent_is_named(event: Any) -> None:
    with pytest.raises(hush.NotCovered) as raised:
        from_dp_event(dp.ComposedDpEvent([GAUSS, event])).epsilon(delta=DELTA)
    assert type(event).__name__.removesuffix("DpEvent").removeprefix("Sampled") in str(raised.value)
    accountant = DpEventAccountant()
    assert not accountant.supports(event) and accountant.supports(GAUSS)
    with pytest.raises(dp.UnsupportedEventError):
        accountant.compose(event)
    assert accountant.get_epsilon(DELTA) == 0  # nothing was composed


@pytest.mark.parametrize(
    "event",
    [
        dp.GaussianDpEvent(-1.0),
        dp.GaussianDpEvent(math.nan),
        poisson(1.5, GAUSS),
        dp.SelfComposedDpEvent(GAUSS, -1),
        dp.SelfComposedDpEvent(GAUSS, 1.5),
        dp.ZCDpEvent(-0.1),
        dp_event.MixtureOfGaussiansDpEvent(1.0, [0.0, 1.0], [0.5]),
        dp_event.MixtureOfGaussiansDpEvent(1.0, [0.0, -1.0], [0.5, 0.5]),
        dp_event.MixtureOfGaussiansDpEvent(1.0, [0.0, 1.0], [0.5, 0.6]),
        OwnEvent(1.0),
        "GaussianDpEvent(1.0)",
        None,
    ],
)
def test_bad_events_are_refused(event: Any) -> None:
    with pytest.raises(hush.InvalidParameter):
        from_dp_event(event)


def test_events_far_inside_each_other() -> None:
    event = GAUSS
    for _ in range(5000):
        event = dp.SelfComposedDpEvent(event, 1)
    with pytest.raises(hush.InvalidParameter, match="inside each other"):
        from_dp_event(event)


# -- there and back ------------------------------------------------------------------------------------------------

amounts = st.floats(0.3, 50.0)
leaves = st.one_of(
    st.builds(dp.GaussianDpEvent, amounts),
    st.builds(dp.LaplaceDpEvent, amounts),
    st.builds(dp_event.DiscreteLaplaceDpEvent, st.floats(0.02, 3.0), st.integers(1, 3)),
    st.builds(dp.ZCDpEvent, st.floats(0.001, 1.0)),
    st.builds(lambda c: dp_event.MixtureOfGaussiansDpEvent(1.0, [0.0, c], [0.75, 0.25]), st.floats(0.1, 3.0)),
)
events = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(dp.SelfComposedDpEvent, inner, st.integers(1, 100)),
        st.builds(lambda parts: dp.ComposedDpEvent(parts), st.lists(inner, min_size=1, max_size=3)),
        st.builds(poisson, st.floats(0.01, 1.0), inner),
    ),
    max_leaves=3,
)


@settings(max_examples=150, deadline=None)
@given(events)
def test_events_there_and_back(event: Any) -> None:
    """The mechanism is the same one, but for the last digits of 1/scale."""
    found = from_dp_event(event)
    again = from_dp_event(to_dp_event(found))
    assert str(again) == str(found)
    orders = [1.5, 2.0, 8.0]
    try:
        before = found.renyi(orders=orders)
    except hush.NotCovered:
        return
    assert again.renyi(orders=orders).tolist() == pytest.approx(before.tolist(), rel=1e-9)
    assert (again.renyi(orders=orders) >= before * (1 - 1e-13)).all()  # never less than before


@settings(max_examples=60, deadline=None)
@given(amounts, st.floats(0.01, 1.0), st.integers(1, 1000), st.sampled_from(["stated", "doubled"]))
def test_replaced_records_there_and_back(noise: float, rate: float, times: int, replaced: str) -> None:
    event = dp.SelfComposedDpEvent(dp.GaussianDpEvent(noise), times + 1)
    if replaced == "doubled" and rate < 1:
        event = dp.SelfComposedDpEvent(poisson(rate, dp.GaussianDpEvent(noise)), times + 1)
    found = from_dp_event(event, relation=hush.Relation.REPLACE, replaced=replaced)
    assert to_dp_event(found, replaced=replaced) == event
    other = {"stated": "doubled", "doubled": "stated"}[replaced]
    with pytest.raises(hush.NotCovered, match="not meant so"):
        to_dp_event(found, replaced=other)
    with pytest.raises(hush.InvalidParameter, match="replaced"):
        to_dp_event(found)


def test_a_restated_run_is_written_as_one() -> None:
    run = hush.Gaussian(1.0).on(hush.Poisson(rate=0.1)).repeat(10).under(hush.Relation.REPLACE)
    event = to_dp_event(run, replaced="doubled")
    again = from_dp_event(event, relation=hush.Relation.REPLACE, replaced="doubled")
    assert again.epsilon(delta=DELTA).upper == pytest.approx(run.epsilon(delta=DELTA).upper, rel=1e-9)
    with pytest.raises(hush.NotCovered, match="not restated"):
        to_dp_event(hush.ZCDP(0.1).under(hush.Relation.REPLACE), replaced="doubled")


@pytest.mark.parametrize(
    ("mechanism", "name"),
    [
        (hush.PureDP(1.0), "epsilon, delta"),
        (hush.ApproxDP(1.0, 1e-6), "epsilon, delta"),
        (hush.GaussianDP(1.0), "GaussianDP"),
        (hush.Gaussian(1.0).group(2), "Group"),
        (hush.Gaussian(1.0).on(hush.Allocation(steps=10)), "Allocated"),
        (hush.FromPair.of([0.75, 0.25], [0.25, 0.75]), "supplied pair"),
    ],
)
def test_mechanisms_without_an_event_are_named(mechanism: hush.Mechanism, name: str) -> None:
    with pytest.raises(hush.NotCovered, match=name):
        to_dp_event(hush.Laplace(1.0).then(mechanism))


# -- the accountant where theirs are used --------------------------------------------------------------------------


def test_calibration_by_their_function_and_our_accountant() -> None:
    """The noise for epsilon = 3 of 15 epochs in batches of 256 out of 60,000."""
    rate, steps = 256 / 60_000, math.ceil(15 * 60_000 / 256)
    found = dp.calibrate_dp_mechanism(
        DpEventAccountant,
        lambda noise: dp.SelfComposedDpEvent(poisson(rate, dp.GaussianDpEvent(noise)), steps),
        3.0,
        DELTA,
        dp.ExplicitBracketInterval(0.5, 2.0),
        tol=1e-4,
    )
    ours = hush.train_plan(examples=60_000, batch_size=256, epochs=15, epsilon=3.0, delta=DELTA)
    assert found == pytest.approx(ours.noise_multiplier, rel=1e-3)


def test_the_ledger_of_the_accountant_is_theirs() -> None:
    accountant = DpEventAccountant().compose(GAUSS, 3).compose(dp.LaplaceDpEvent(2.0)).compose(GAUSS)
    assert accountant.mechanism == hush.Gaussian(1.0).repeat(4).then(hush.Laplace(2.0))
    assert from_dp_event(accountant.ledger) == accountant.mechanism
    assert accountant.get_delta(2.0) == accountant.mechanism.delta(epsilon=2.0).upper
