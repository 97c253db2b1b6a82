"""Calibration where steps are many and hits are rare, against values that were found without a transform."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

import hush
from hush import Mechanism, calibrate
from hush.numerics.engines.levels.telescope import Crowd, Telescope

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


def test_few_levels_are_laid(monkeypatch: pytest.MonkeyPatch) -> None:
    laid: list[float] = []
    lay = Telescope.__init__

    def counted(self: Telescope, crowd: Crowd, epsilon: float, log_delta: float, tolerance: float) -> None:
        laid.append(epsilon)
        lay(self, crowd, epsilon, log_delta, tolerance)

    monkeypatch.setattr(Telescope, "__init__", counted)
    build, over, epsilon, delta, _ = CASES["noise"]
    calibrate(build, over=over, epsilon=epsilon, delta=delta)
    assert 0 < len(laid) <= 3


@pytest.mark.parametrize("seed", range(12))
def test_guesses_are_near(seed: int) -> None:
    random = Random(seed)
    noise, steps = random.uniform(0.4, 1.2), int(10 ** random.uniform(2.5, 5))
    mechanism = training(noise, 10 ** random.uniform(-2, 0.5) / steps, steps)
    found, guess = mechanism.epsilon(delta=1e-6), mechanism.guess(delta=1e-6)
    assert guess == pytest.approx(found.upper, rel=1e-6, abs=1e-12)


def test_no_guess_where_nobody_knows() -> None:
    assert hush.Laplace(scale=1.0).repeat(10).guess(delta=1e-6) is None
