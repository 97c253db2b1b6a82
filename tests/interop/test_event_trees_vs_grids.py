"""Random trees of events, between the two grids of dp_accounting: one rounds every loss upwards, the other downwards."""

from __future__ import annotations

from functools import reduce
from typing import Any

import dp_accounting as dp
from dp_accounting import dp_event
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

import hush
from hush.interop import from_dp_event

STEP = 1e-2
"""The width of a cell of their grids: losses are rounded by at most so much per event."""
ADD, SPECIAL, REPLACE = (
    dp.NeighboringRelation.ADD_OR_REMOVE_ONE,
    dp.NeighboringRelation.REPLACE_SPECIAL,
    dp.NeighboringRelation.REPLACE_ONE,
)
OURS = {ADD: hush.Relation.ADD_REMOVE, SPECIAL: hush.Relation.ZERO_OUT, REPLACE: hush.Relation.REPLACE}

noises = st.floats(1.5, 20.0)
gauss = st.builds(dp.GaussianDpEvent, noises)
laplace = st.builds(dp.LaplaceDpEvent, noises)
discrete = st.builds(dp_event.DiscreteLaplaceDpEvent, st.floats(0.05, 1.0), st.integers(1, 3))
sampled = st.builds(dp.PoissonSampledDpEvent, st.floats(0.01, 1.0), st.one_of(gauss, laplace))


def trees(leaves: Any) -> Any:
    """Composed, and composed with themselves, as deep as it comes."""
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(dp.SelfComposedDpEvent, inner, st.integers(1, 6)),
            st.builds(dp.ComposedDpEvent, st.lists(inner, min_size=1, max_size=3)),
        ),
        max_leaves=3,
    )


def grid(event: Any, relation: Any, upwards: bool) -> Any:
    """The distribution of the loss of a tree, every loss rounded upwards or downwards."""
    kind, how = type(event).__name__, {"value_discretization_interval": STEP, "pessimistic_estimate": upwards}
    if kind == "ComposedDpEvent":
        return reduce(lambda a, b: a.compose(b), [grid(part, relation, upwards) for part in event.events])
    if kind == "SelfComposedDpEvent":
        return grid(event.event, relation, upwards).self_compose(event.count)
    if kind == "DiscreteLaplaceDpEvent":
        return pld.from_discrete_laplace_mechanism(event.noise_parameter, event.sensitivity, **how)
    rate, noise = (event.sampling_probability, event.event) if kind == "PoissonSampledDpEvent" else (1.0, event)
    if isinstance(noise, dp.LaplaceDpEvent):
        return pld.from_laplace_mechanism(noise.noise_multiplier, sampling_prob=rate, use_connect_dots=False, **how)
    return pld.from_gaussian_mechanism(
        noise.noise_multiplier, sampling_prob=rate, neighboring_relation=relation, use_connect_dots=False, **how
    )


def between(event: Any, relation: Any, delta: float) -> None:
    """Ours is certified, so not below the grid that rounds downwards; and not above the one that rounds upwards."""
    how = "doubled" if relation is REPLACE else None
    found = from_dp_event(event, relation=OURS[relation], replaced=how).epsilon(delta=delta)
    low, high = (grid(event, relation, upwards).get_epsilon_for_delta(delta) for upwards in (False, True))
    assert low <= found.upper * (1 + 1e-6) + 1e-9
    assert found.lower <= high * (1 + 1e-6) + 1e-9
    assert found.upper <= high * (1 + 1e-5) + 1e-9


@settings(max_examples=8, deadline=None)
@given(trees(st.one_of(gauss, laplace, discrete, sampled)), st.sampled_from([ADD, SPECIAL]), st.floats(-8, -2))
def test_trees_where_a_record_is_added_or_blanked(event: Any, relation: Any, exponent: float) -> None:
    between(event, relation, 10.0**exponent)


@settings(max_examples=5, deadline=None)
@given(trees(st.one_of(gauss, st.builds(dp.PoissonSampledDpEvent, st.floats(0.01, 1.0), gauss))), st.floats(-8, -2))
def test_trees_where_a_record_is_replaced(event: Any, exponent: float) -> None:
    between(event, REPLACE, 10.0**exponent)


@settings(max_examples=20, deadline=None)
@given(
    trees(st.one_of(gauss, laplace, st.builds(dp.ZCDpEvent, st.floats(1e-3, 0.3)))),
    st.sampled_from([ADD, SPECIAL, REPLACE]),
    st.floats(-8, -2),
)
def test_trees_under_their_sum_of_renyi_curves(event: Any, relation: Any, exponent: float) -> None:
    """Which takes a sensitivity as it is stated, and a conversion that ours is never worse than."""
    delta = 10.0**exponent
    how = "stated" if relation is REPLACE else None
    found = from_dp_event(event, relation=OURS[relation], replaced=how).epsilon(delta=delta)
    theirs = RdpAccountant(neighboring_relation=relation).compose(event).get_epsilon(delta)
    assert found.upper <= theirs * (1 + 1e-9)
