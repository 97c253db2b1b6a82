"""A composition against each of its parts: whoever sees the whole sees the part, so delta is at least as large."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hush
from hush import Mechanism
from tests.strategies import LAWS, plain

FAR = st.sampled_from([0.3, 1.0, 3.0, 8.0, 30.0, 100.0])
"""Epsilons up to where delta is far below all floats: engines that lose digits there must say so."""
DEEP: list[tuple[Mechanism, float]] = [
    # losses of more mass than delta were left out of the line, at a scale below e^-1000
    (hush.Gaussian(5.27848).on(hush.Poisson(rate=0.00512912)).repeat(524), 1.917181531663433),
    (hush.Gaussian(6.56663).on(hush.Poisson(rate=0.00021673)).repeat(2036), 0.2225093509511054),
    (hush.Gaussian(1.86669).on(hush.Poisson(rate=0.000422347)).repeat(56_609), 5.419636722752043),
]


def check(whole: Mechanism, epsilon: float) -> None:
    """The upper end of the whole is not below the lower end of a part."""
    most = max((part.log_delta(epsilon=epsilon).lower for part, _ in whole.steps_in_sequence), default=-math.inf)
    upper = whole.log_delta(epsilon=epsilon).upper
    assert upper >= most - 1e-12 * abs(most) or upper == most, (upper, most)


@LAWS
@given(plain(depth=2), FAR)
def test_any_composition(whole: Mechanism, epsilon: float) -> None:
    check(whole, epsilon)


@pytest.mark.parametrize(("whole", "epsilon"), DEEP)
def test_far_below_all_floats(whole: Mechanism, epsilon: float) -> None:
    check(whole, epsilon)
