"""What floats cannot tell from 0 proves nothing: lower ends against values that are known."""

from __future__ import annotations

import math

import pytest

import hush


@pytest.mark.parametrize("rate", [0.3, 0.01, 1e-100])
def test_everything_is_told_only_when_a_record_is_drawn(rate: float) -> None:
    found = hush.ApproxDP(1.0, 1.0).on(hush.Poisson(rate=rate)).group(2).delta(epsilon=1.0)
    truth = rate * (2 - rate)
    assert found.lower <= truth * (1 + 1e-9)
    assert truth * (1 - 1e-9) <= found.upper <= truth * (1 + 1e-6)


@pytest.mark.parametrize(
    "run", [hush.Laplace(0.01), hush.GaussianDP(6.0), hush.Gaussian(0.1)], ids=["Laplace", "GaussianDP", "Gaussian"]
)
def test_the_best_of_many_runs_has_no_infinite_loss(run: hush.Mechanism) -> None:
    found = run.best_of(runs=hush.PoissonRuns(5000.0)).epsilon(delta=0.5)
    assert 0 < found.lower <= found.upper < math.inf


def test_the_best_of_many_runs_keeps_what_is_infinite() -> None:
    found = hush.ApproxDP(1.0, 1e-3).best_of(runs=hush.PoissonRuns(10.0)).delta(epsilon=50.0)
    assert found.lower == pytest.approx(-math.expm1(-0.01), rel=1e-6)


def test_losses_too_near_for_a_lattice() -> None:
    step = hush.Exponential(0.3).repeat(10).on(hush.Poisson(rate=1e-14))
    once, twice = step.log_delta(epsilon=0.0), step.repeat(2).log_delta(epsilon=0.0)
    assert once.lower <= twice.upper
    assert twice.lower <= twice.upper


def test_shuffled_batches_of_what_tells_everything() -> None:
    told = hush.Laplace(1.0).then(hush.ApproxDP(0.0, 1.0)).on(hush.ShuffledBatches(50))
    assert told.epsilon(delta=1e-6).upper == math.inf
