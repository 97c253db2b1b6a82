"""More releases never reveal less."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

import hush
from tests.strategies import DELTAS, EPSILONS, LAWS, covered, plain


@LAWS
@given(plain(0), st.integers(1, 200), st.integers(1, 200), DELTAS)
def test_epsilon(mechanism: hush.Mechanism, times: int, more: int, delta: float) -> None:
    few, many = mechanism.repeat(times), mechanism.repeat(times + more)
    assert few.epsilon(delta=delta).lower <= many.epsilon(delta=delta).upper * (1 + 1e-9)


@LAWS
@given(covered(1), covered(1), EPSILONS)
def test_another_release_never_lowers_delta(one: hush.Mechanism, other: hush.Mechanism, epsilon: float) -> None:
    if one.relation is other.relation:
        together = one.then(other).log_delta(epsilon=epsilon).upper
        assert one.log_delta(epsilon=epsilon).lower <= together + 1e-9
        assert other.log_delta(epsilon=epsilon).lower <= together + 1e-9


@LAWS
@given(plain(0), st.integers(2, 50))
def test_epsilons_at_delta_zero_add(mechanism: hush.Mechanism, times: int) -> None:
    """Basic composition (Dwork et al. 2006) is exact at delta 0 for a product of pairs."""
    one, many = mechanism.epsilon(delta=0.0), mechanism.repeat(times).epsilon(delta=0.0)
    assert many.upper >= times * one.lower * (1 - 1e-12)
    assert many.lower <= times * one.upper * (1 + 1e-12)


@LAWS
@given(covered(1), covered(1), DELTAS)
def test_lower_ends_grow_too(one: hush.Mechanism, other: hush.Mechanism, delta: float) -> None:
    """What one release attains alone, it attains beside another: to forget a release is post-processing."""
    if one.relation is other.relation:
        together = one.then(other).epsilon(delta=delta)
        for part in (one, other):
            assert together.lower >= part.epsilon(delta=delta).lower * (1 - 2e-3)
