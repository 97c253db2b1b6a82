"""The curve of the best attacker: convex and falling, around each answer at one rate, and delta(epsilon) read another way."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given

import hush
from tests.strategies import LAWS, RATES, covered

SLACK = 1e-12
"""Several roundings of numbers below 1."""


@LAWS
@given(covered(2), RATES)
def test_curve_holds_the_answer_at_one_rate(mechanism: hush.Mechanism, rate: float) -> None:
    try:
        curve, bound = mechanism.roc(), mechanism.tradeoff(false_positive_rate=rate)
    except hush.NotCovered:
        return
    assert np.all(curve.lower <= curve.upper)
    assert np.all(curve.upper <= np.nextafter(1 - curve.false_positive_rates, 2))
    assert np.all(np.diff(curve.lower) <= SLACK)
    assert np.all(np.diff(curve.upper) <= SLACK)
    found = curve.at(rate)
    assert found.lower <= bound.lower + SLACK
    assert bound.upper <= found.upper + SLACK
    assert np.interp(rate, curve.false_positive_rates, curve.upper) >= bound.lower - SLACK  # chords lie above


@LAWS
@given(covered(2))
def test_each_test_is_convex_and_dual_to_delta(mechanism: hush.Mechanism) -> None:
    """delta(eps) = sup over rates of 1 - f(rate) - e^eps rate: Dong, Roth, Su 2022, Prop. 2.12."""
    for _, neighbours in mechanism.directions():
        evidence = mechanism.evidence(neighbours)
        if not evidence.has_pair:
            continue
        tests = evidence.tested().tests
        rates = np.unique(np.concatenate([[0.0, 1.0], np.clip(tests.bends, 0.0, 1.0)]))
        lower, upper = tests.at(rates)
        share = np.diff(rates)[:-1] / (rates[2:] - rates[:-2])
        assert np.all(lower[1:-1] <= (1 - share) * lower[:-2] + share * lower[2:] + SLACK)
        for epsilon in (-1.0, -0.1, 0.0, 0.3, 2.0):
            low, high = (math.exp(end) for end in evidence.pair.log_delta(epsilon, 1e-6))
            assert np.max(1 - upper - math.exp(epsilon) * rates) <= high + SLACK
            if len(tests.bends) != 257:  # of two normals the curve is no polygon, and bends nowhere
                assert np.max(1 - lower - math.exp(epsilon) * rates) >= low - SLACK


@LAWS
@given(covered(1))
def test_the_whole_curve_is_dual_to_delta(mechanism: hush.Mechanism) -> None:
    """Absence may be the null or presence: the larger of both is delta, asked directly."""
    try:
        curve = mechanism.roc()
    except hush.NotCovered:
        return
    x, y = curve.false_positive_rates, curve.upper
    for epsilon in (0.0, 0.5, 2.0):
        t = math.exp(epsilon)
        attained = max(np.max(1 - y - t * x), np.max(1 - x - t * y))
        assert attained <= mechanism.delta(epsilon=epsilon).upper + SLACK
