"""What a bound says to people."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import hush
from hush import Bound


def test_what_to_report() -> None:
    mechanism = hush.Gaussian(1.0).on(hush.Poisson(rate=0.1)).repeat(10)
    found = mechanism.epsilon(delta=1e-5)
    assert (found.epsilon, found.delta) == (found.upper, 1e-5)
    assert replace(found, lower=0.0, upper=9.0).epsilon == 9.0
    found = mechanism.delta(epsilon=1.0)
    assert (found.epsilon, found.delta) == (1.0, found.upper)
    found = mechanism.log_delta(epsilon=1.0)
    assert found.epsilon == 1.0
    assert found.delta == pytest.approx(math.exp(found.upper))
    found = hush.Gaussian(1.0).log_delta(epsilon=100.0)
    assert found.delta == math.ulp(0.0) > 0
    assert (mechanism.advantage().epsilon, mechanism.tradeoff(false_positive_rate=0.1).delta) == (None, None)


@pytest.mark.parametrize(
    ("lower", "upper", "shown"),
    [
        (13345.37, 13349.9, "13345.3 to 13349.9"),
        (13345.37, 13345.39, "13345.3"),
        (123456.0, 123457.0, "123456 to 123457"),
        (0.99999, 1.00001, "0.99999 to 1.00001"),
        (5.9912, 20.5623, "5.99 to 20.6"),
        (0.00012345, 0.00012346, "0.0001234"),
        (0.0, 2.0, "<= 2"),
        (-12.345, -12.344, "-12.34"),
        (-12.345, -11.0, "-12.4 to -11"),
        (3.0, math.inf, "3 to inf"),
    ],
)
def test_digits(lower: float, upper: float, shown: str) -> None:
    assert Bound(lower, upper).digits == shown


def test_digits_never_leave_the_interval() -> None:
    random = np.random.default_rng(1)
    for _ in range(3000):
        lower = float(10 ** random.uniform(-8, 18))
        bound = Bound(lower, lower * (1 + float(10 ** random.uniform(-15, 0.5))))
        parts = [float(part) for part in bound.digits.split(" to ")]
        if len(parts) == 2:
            assert parts[0] <= bound.lower <= bound.upper <= parts[1]
        elif bound.lower < bound.upper:  # digits that go on: the ends begin with them
            shown = bound.digits
            unit = 10.0 ** -len(shown.partition(".")[2])
            assert parts[0] <= bound.lower * (1 + 1e-15)
            assert bound.upper <= (parts[0] + unit) * (1 + 1e-15)


def test_wide_bounds_are_reported_as_intervals() -> None:
    assert Bound(5.9912, 20.5623).reported(4) == "= 20.57 (certified: 5.991 to 20.57)"
    assert Bound(0.0, 20.5623).reported(4) == "<= 20.57 (an upper bound only)"
    assert Bound(20.5622, 20.5623).reported(4) == "= 20.57"
