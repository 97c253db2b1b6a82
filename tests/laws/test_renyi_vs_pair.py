"""What follows from the Rényi curve is never below what the pair attains."""

from __future__ import annotations

import math

from hypothesis import given

import hush
from tests.strategies import DELTAS, EPSILONS, LAWS, covered


@LAWS
@given(covered(2), DELTAS, EPSILONS)
def test_curve_is_above_the_pair(mechanism: hush.Mechanism, delta: float, epsilon: float) -> None:
    for _, neighbours in mechanism.directions():
        evidence = mechanism.evidence(neighbours)
        try:
            pair, curve = evidence.pair, evidence.curve
        except hush.NotCovered:
            continue
        if pair.infinite > 0:
            continue  # every Rényi divergence is infinite
        for member in evidence.attained(alone=False):
            assert curve.epsilon(delta=delta) >= member.epsilon(math.log(delta), 1e-6)[0] * (1 - 1e-9)
            assert curve.log_delta(epsilon=epsilon) >= member.log_delta(epsilon, 1e-6)[0] - 1e-9


@LAWS
@given(covered(2))
def test_divergences_add(mechanism: hush.Mechanism) -> None:
    """Mironov 2017, Prop. 1."""
    orders = [1.5, 4.0, 32.0]
    for one, five in zip(mechanism.renyi(orders=orders), mechanism.repeat(5).renyi(orders=orders), strict=True):
        assert five <= 5 * one * (1 + 1e-9) + 1e-15
        # each is the largest over directions, and so is the other
        assert five >= 5 * one * (1 - 1e-9) - 1e-15 or not math.isfinite(five)
