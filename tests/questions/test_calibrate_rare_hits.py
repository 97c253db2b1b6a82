"""Calibration where steps are many and hits are rare, against values that were found without a transform."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import hush
from hush import Mechanism, calibrate

Case = tuple[Callable[[float], Mechanism], tuple[float, float], float, float, float]


def training(noise: float, rate: float, steps: float) -> Mechanism:
    return hush.Gaussian(noise).on(hush.Poisson(rate=rate)).repeat(int(steps))


CASES: dict[str, Case] = {
    "noise": (lambda noise: training(noise, 1e-4, 1000), (0.1, 100.0), 1.0, 1e-7, 0.5528),
    "rate": (lambda rate: training(0.6, rate, 500), (1e-6, 0.9), 0.5, 1e-6, 2.11e-4),
    "less noise": (lambda noise: training(noise, 1e-5, 1000), (0.1, 100.0), 0.2, 1e-7, 0.5),
    "steps": (lambda steps: training(0.6, 1e-5, steps), (1, 1_000_000), 0.1, 1e-7, 0.0),
}
"""What to build, the range, epsilon, delta, and about the best value where one is known."""


@pytest.mark.parametrize("name", CASES)
def test_the_value_is_the_best(name: str) -> None:
    build, over, epsilon, delta, about = CASES[name]
    found = calibrate(build, over=over, epsilon=epsilon, delta=delta)
    assert build(found.value).epsilon(delta=delta).upper <= epsilon
    assert found.fails_at is not None
    assert build(found.fails_at).delta(epsilon=epsilon).lower > delta
    assert found.fails_at == pytest.approx(found.value, rel=2e-6, abs=1 if name == "steps" else 0)
    if about:
        assert found.value == pytest.approx(about, rel=0.01)
