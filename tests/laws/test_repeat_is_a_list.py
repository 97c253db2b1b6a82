"""m.repeat(n) is m.then(m, ...): by structure where it can be, by numbers always."""

from __future__ import annotations

from hypothesis import given

import hush
from tests.laws.comparison import agree
from tests.strategies import DELTAS, EPSILONS, LAWS, covered, leaves


@LAWS
@given(covered(2), DELTAS, EPSILONS)
def test_three_times_is_a_list_of_three(mechanism: hush.Mechanism, delta: float, epsilon: float) -> None:
    repeated, listed = mechanism.repeat(3), mechanism.then(mechanism, mechanism)
    assert agree(repeated.epsilon(delta=delta), listed.epsilon(delta=delta))
    assert agree(repeated.log_delta(epsilon=epsilon), listed.log_delta(epsilon=epsilon))


@LAWS
@given(leaves())
def test_equal_parts_are_merged_by_structure(mechanism: hush.Mechanism) -> None:
    assert mechanism.then(mechanism, mechanism) == mechanism.repeat(3)
    assert mechanism.repeat(2).then(mechanism) == mechanism.repeat(3)
    assert mechanism.repeat(2).repeat(3) == mechanism.repeat(6)
    assert mechanism.repeat(1) == mechanism


@LAWS
@given(covered(2), DELTAS)
def test_no_times_is_free(mechanism: hush.Mechanism, delta: float) -> None:
    never = mechanism.repeat(0)
    assert (never.epsilon(delta=delta).lower, never.epsilon(delta=delta).upper) == (0.0, 0.0)
    assert never.delta(epsilon=0.0).upper == 0.0
    assert agree(never.then(mechanism).epsilon(delta=delta), mechanism.epsilon(delta=delta))
