"""epsilon(delta) and delta(epsilon) are two readings of one curve, which falls."""

from __future__ import annotations

import math

from hypothesis import given

import hush
from tests.strategies import DELTAS, EPSILONS, LAWS, covered


@LAWS
@given(covered(2), DELTAS)
def test_there_and_back(mechanism: hush.Mechanism, delta: float) -> None:
    found = mechanism.epsilon(delta=delta)
    if found.upper < math.inf:
        assert mechanism.log_delta(epsilon=found.upper).lower <= math.log(delta) + 1e-9
    if 0 < found.lower < math.inf:
        # the lower end is attained from below: just before it delta is still too large
        assert mechanism.log_delta(epsilon=found.lower * (1 - 1e-9)).upper >= math.log(delta) - 1e-9


@LAWS
@given(covered(2), EPSILONS, EPSILONS)
def test_delta_falls(mechanism: hush.Mechanism, one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert mechanism.log_delta(epsilon=high).lower <= mechanism.log_delta(epsilon=low).upper + 1e-12


@LAWS
@given(covered(2))
def test_epsilon_falls(mechanism: hush.Mechanism) -> None:
    small, large = mechanism.epsilon(delta=1e-8), mechanism.epsilon(delta=1e-4)
    assert large.lower <= small.upper * (1 + 1e-12)
