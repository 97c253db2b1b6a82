"""What calibrate returns meets its target by an upper end, and what it says to fail fails by a lower end."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hush
from tests.strategies import LAWS, number


def build(random: Random) -> tuple[Callable[[float], hush.Mechanism], tuple[float, float]]:
    """A noise, a rate or a number of steps to seek in a random training, or the scale of Laplace noise."""
    noise, rate, steps = number(random, 0.7, 3.0), number(random, 0.003, 0.5), random.choice([1, 30, 500, 5000])
    poisson = hush.Poisson(rate=rate)
    kinds: list[tuple[Callable[[float], hush.Mechanism], tuple[float, float]]] = [
        (lambda x: hush.Gaussian(x).on(poisson).repeat(steps), (0.3, 1000.0)),
        (lambda x: hush.Gaussian(noise).on(hush.Poisson(rate=x)).repeat(steps), (1e-5, 1.0)),
        (lambda x: hush.Gaussian(noise).on(poisson).repeat(int(x)), (1, 10**6)),
        (lambda x: hush.Laplace(x).repeat(3), (0.1, 1e4)),
        (lambda x: hush.Gaussian(x).under(hush.Relation.REPLACE).repeat(steps), (0.3, 1e5)),
        (lambda x: hush.RandomizedResponse(epsilon=x, relation=hush.Relation.REPLACE).repeat(50), (1e-4, 10.0)),
    ]
    return random.choice(kinds)


@LAWS
@given(st.randoms(use_true_random=False), st.sampled_from([1e-9, 1e-6, 1e-3]), st.sampled_from([0.0, 0.3, 1.0, 4.0]))
def test_meets_and_just_so(random: Random, delta: float, epsilon: float) -> None:
    make, over = build(random)
    try:
        found = hush.calibrate(make, over=over, epsilon=epsilon, delta=delta)
    except hush.InvalidParameter as error:
        assert "met somewhere in the range" in str(error)
        return
    assert make(found.value).epsilon(delta=delta).upper <= epsilon
    assert found.bound == make(found.value).epsilon(delta=delta)
    if found.fails_at is None:
        assert found.value in over
        return
    missed = make(found.fails_at)
    assert missed.delta(epsilon=epsilon).lower > delta
    if missed.log_delta(epsilon=epsilon).upper - missed.log_delta(epsilon=epsilon).lower < 1e-6:
        step = 1 if isinstance(found.value, int) else 1e-5 * abs(found.value)
        assert math.isclose(found.fails_at, found.value, rel_tol=0.0, abs_tol=step * (1 + 1e-9))


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-9])
def test_the_gap_is_the_tolerance(tolerance: float) -> None:
    found = hush.calibrate(hush.Gaussian, over=(0.1, 100.0), epsilon=1.0, delta=1e-6, tolerance=tolerance)
    assert found.fails_at is not None
    assert 0 < found.value / found.fails_at - 1 <= 1.2 * tolerance
