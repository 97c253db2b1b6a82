"""A secret sample never costs more than all the data, and a smaller sample never more than a larger one."""

from __future__ import annotations

import math

from hypothesis import assume, given
from hypothesis import strategies as st

import hush
from hush import Poisson
from tests.laws.comparison import agree
from tests.strategies import DELTAS, EPSILONS, LAWS, RATES, covered, is_covered

MECHANISM = covered(2)


def attempt(mechanism: hush.Mechanism, rate: float) -> hush.Mechanism:
    """The sampled mechanism; examples without a theorem, or for one number of records alone, are passed over."""
    assume(not mechanism.scope.populations and not mechanism.scope.no_secret_sample)
    sampled = mechanism.on(Poisson(rate=rate))
    assume(is_covered(sampled))
    return sampled


@LAWS
@given(MECHANISM, RATES, DELTAS, EPSILONS)
def test_upper_bounds(mechanism: hush.Mechanism, rate: float, delta: float, epsilon: float) -> None:
    sampled = attempt(mechanism, rate)
    assert sampled.epsilon(delta=delta).upper <= mechanism.epsilon(delta=delta).upper * (1 + 1e-6) + 1e-9
    whole = mechanism.log_delta(epsilon=epsilon).upper
    assert sampled.log_delta(epsilon=epsilon).upper <= whole + 1e-6 * max(
        1.0, abs(whole) if math.isfinite(whole) else 1
    )


@LAWS
@given(MECHANISM, st.floats(1e-3, 1.0), st.floats(1e-3, 1.0), DELTAS)
def test_less_is_less(mechanism: hush.Mechanism, one: float, other: float, delta: float) -> None:
    small, large = attempt(mechanism, min(one, other)), attempt(mechanism, max(one, other))
    assert small.epsilon(delta=delta).lower <= large.epsilon(delta=delta).upper * (1 + 1e-9)


@LAWS
@given(MECHANISM, st.floats(1e-3, 1.0), st.floats(1e-3, 1.0), EPSILONS)
def test_a_sample_of_a_sample(mechanism: hush.Mechanism, one: float, other: float, epsilon: float) -> None:
    """Two samples in a row are one sample at the product of the rates."""
    twice = attempt(attempt(mechanism, one), other)
    once = attempt(mechanism, one * other)
    assert agree(twice.log_delta(epsilon=epsilon), once.log_delta(epsilon=epsilon))


@LAWS
@given(MECHANISM, DELTAS)
def test_ends(mechanism: hush.Mechanism, delta: float) -> None:
    """Rate 0 costs nothing, rate 1 is the mechanism itself."""
    assert mechanism.on(Poisson(rate=1)) == mechanism
    nothing = mechanism.on(Poisson(rate=0)).epsilon(delta=delta)
    assert (nothing.lower, nothing.upper) == (0.0, 0.0)
