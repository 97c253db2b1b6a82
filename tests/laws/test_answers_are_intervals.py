"""Every answer is an interval of the right range, and every expression has one or says that it is not covered."""

from __future__ import annotations

import itertools
import math

from hypothesis import given
from hypothesis import strategies as st

import hush
from tests.strategies import DELTAS, EPSILONS, LAWS, any_expression, covered


@LAWS
@given(covered(3), DELTAS)
def test_epsilon(mechanism: hush.Mechanism, delta: float) -> None:
    bound = mechanism.epsilon(delta=delta)
    assert 0 <= bound.lower <= bound.upper
    assert not math.isnan(bound.upper)
    assert bound.relation is mechanism.relation


@LAWS
@given(covered(3), EPSILONS)
def test_delta(mechanism: hush.Mechanism, epsilon: float) -> None:
    bound, log_bound = mechanism.delta(epsilon=epsilon), mechanism.log_delta(epsilon=epsilon)
    assert 0 <= bound.lower <= bound.upper <= 1
    assert log_bound.lower <= log_bound.upper <= 0
    alone = mechanism.upper_log_delta(epsilon=epsilon)
    assert alone == log_bound.upper or math.isclose(alone, log_bound.upper, rel_tol=1e-9, abs_tol=1e-9)


@LAWS
@given(covered(2))
def test_pure_epsilon(mechanism: hush.Mechanism) -> None:
    """At delta 0 the answer is the largest loss; infinity is honest, and no smaller delta is then free."""
    bound = mechanism.epsilon(delta=0.0)
    assert 0 <= bound.lower <= bound.upper
    if bound.upper < math.inf:
        assert mechanism.delta(epsilon=bound.upper * (1 + 1e-9)).lower <= 1e-12
        assert mechanism.epsilon(delta=1e-9).lower <= bound.upper * (1 + 1e-12)


@LAWS
@given(covered(2), st.lists(st.floats(1.0, 200.0), min_size=2, max_size=4))
def test_renyi_grows_with_the_order(mechanism: hush.Mechanism, orders: list[float]) -> None:
    values = mechanism.renyi(orders=sorted(orders)).tolist()
    assert all(value >= 0 for value in values)
    # upper bounds: each certifies its own order, and the true curve is increasing
    assert all(a <= b * (1 + 1e-6) + 1e-12 for a, b in itertools.pairwise(values))


@LAWS
@given(covered(1), st.floats(0.0, 1.0))
def test_tradeoff(mechanism: hush.Mechanism, rate: float) -> None:
    try:
        bound = mechanism.tradeoff(false_positive_rate=rate)
    except hush.NotCovered:
        return
    assert 0 <= bound.lower <= bound.upper <= math.nextafter(1 - rate, 2)  # 1 - rate may be no float


@LAWS
@given(any_expression(4), DELTAS)
def test_answer_or_not_covered(mechanism: hush.Mechanism, delta: float) -> None:
    """Nothing that can be written down crashes: a number comes back, or the name of what is missing."""
    try:
        assert mechanism.epsilon(delta=delta).upper >= 0
    except hush.NotCovered as error:
        assert len(str(error).split()) > 3
    assert str(mechanism)
    assert mechanism.derivation().what
    assert hash(mechanism) == hash(mechanism)
