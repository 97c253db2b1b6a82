"""What a mechanism of the declaration attains is never above what is promised to all of them."""

from __future__ import annotations

import math

from hypothesis import assume, given, settings

import hush
from hush.numerics.work import Exhausted, question
from tests.strategies import DELTAS, EPSILONS, LAWS, covered

MECHANISM = covered(2)


@settings(LAWS, max_examples=20)
@given(MECHANISM, EPSILONS, DELTAS)
def test_attained_below_promised(mechanism: hush.Mechanism, epsilon: float, delta: float) -> None:
    try:
        with question():  # as every question does: what overflows has no answer, and another way is asked
            check(mechanism, epsilon, delta)
    except Exhausted:
        assume(False)  # too much work for one question: no answer, and none that could be wrong


def check(mechanism: hush.Mechanism, epsilon: float, delta: float) -> None:
    for _, neighbours in mechanism.directions():
        evidence = mechanism.evidence(neighbours)
        if not evidence.has_pair:
            continue
        pair = evidence.pair
        for alone in (True, False):
            for member in evidence.attained(alone):
                assert member.log_delta(epsilon, 1e-6)[0] <= pair.log_delta(epsilon, 1e-6)[1] + 1e-9
                promised = pair.epsilon(math.log(delta), 1e-6)[1]
                assert member.epsilon(math.log(delta), 1e-6)[0] <= promised * (1 + 1e-9) + 1e-12


def test_an_envelope_whose_curve_is_not_covered_still_answers() -> None:
    """Its Rényi curve may beat the pair, but none is known for a replaced record side by side."""
    mechanism = hush.Exponential(1.0).beside(hush.Exponential(0.5)).on(hush.Revealed(hush.Poisson(rate=0.5)))
    bound = mechanism.under(hush.Relation.REPLACE).repeat(2).epsilon(delta=1e-6)
    assert 0 < bound.lower <= bound.upper < 4.1
