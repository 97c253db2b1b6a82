"""Clipping norms that follow a quantile or a schedule, and noise that changes: what is released is what is accounted."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

import hush
from hush.learning import AdaptiveNorm, FastNoise, NormSchedule, PrivateGradient, SecureNoise, fit
from hush.learning.dpsgd.clip_norms import AdaptiveRun
from tests.learning.dpsgd.test_users_vs_plain_gradients import NoNoise

N = 400
PLAN = hush.train_plan(examples=N, batch_size=100, epochs=10, noise_multiplier=1.5, delta=1e-3)


def rows(count: int = N) -> tuple[torch.Tensor, torch.Tensor]:
    inputs = torch.randn(N, 4, generator=torch.Generator().manual_seed(3))
    return inputs[:count], (inputs[:count, 0] > 0).long()


def linear(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """A loss whose gradient is the row itself, so that norms are known."""
    return outputs[:, 0] + 0 * targets


def run(max_norm: object, noise: object = None, plan: hush.TrainPlan = PLAN, count: int = N):
    model = nn.Linear(4, 1, bias=False)
    gradient = PrivateGradient(model, linear, plan, max_norm=max_norm, noise=noise)  # type: ignore[arg-type]
    for batch in gradient.batches(rows(count), hush.SeededSource(1)):
        gradient(batch)
        yield gradient


@given(
    noise=st.floats(0.1, 50.0),
    extra=st.floats(1.01, 1e4),
    norm=st.floats(1e-6, 1e6),
    batch=st.integers(1, 10**6),
)
def test_gradient_and_count_are_one_gaussian_of_the_planned_noise(
    noise: float, extra: float, norm: float, batch: int
) -> None:
    """Andrew et al. 2021, Thm 1: z^-2 = z_gradient^-2 + (2 count_noise)^-2, of the noise that is really there."""
    asked = extra * noise / 2
    step = AdaptiveRun(AdaptiveNorm(norm, count_noise=asked), 1 / batch).at(0, noise)
    deviation = noise * step.sensitivity
    on_gradient, on_count = deviation / (norm / batch), deviation / (2 * step.unit)
    assert math.isclose(on_gradient**-2 + (2 * on_count) ** -2, noise**-2, rel_tol=1e-9)
    assert asked * (1 - 1e-9) <= on_count <= 2.001 * asked


@pytest.mark.parametrize("count_noise", [0.8, 5.0, None])
def test_one_example_moves_gradient_and_count_by_what_noise_is_charged_for(count_noise: float | None) -> None:
    """Every row left out in turn, hostile ones among them: the whole released vector moves by at most the sensitivity."""
    everyone = hush.train_plan(examples=20, batch_size=20, epochs=0.05, noise_multiplier=1.5, delta=1e-3)
    seen: list[torch.Tensor] = []

    class Kept(NoNoise):
        def finish(self, flat: torch.Tensor, noise_multiplier: float, max_norm: float) -> None:
            seen.append(torch.cat([flat.double(), torch.tensor([max_norm, noise_multiplier]).double()]))
            super().finish(flat, noise_multiplier, max_norm)

    inputs, targets = rows(20)
    inputs[:5] = torch.tensor([1e-30, 1e3, torch.nan, torch.inf, 0.0]).unsqueeze(1)
    for left_out in [*range(20), None]:
        kept = [place for place in range(20) if place != left_out]
        gradient = PrivateGradient(
            nn.Linear(4, 1, bias=False),
            linear,
            everyone,
            max_norm=AdaptiveNorm(0.5, count_noise=count_noise),
            noise=Kept(),
        )
        for batch in gradient.batches((inputs[kept], targets[kept])):
            gradient(batch)
    whole = seen.pop()
    moved = [float((whole - one)[:-2].norm()) for one in seen]
    assert max(moved) <= float(whole[-2]) * (1 + 2**-10)
    assert max(moved) >= 0.9 * float(whole[-2])
    assert float(whole[-1]) == 1.5


def test_the_norm_goes_to_the_quantile() -> None:
    norms = rows()[0].norm(dim=1)
    plan = hush.train_plan(examples=N, batch_size=200, epochs=40, noise_multiplier=1.5, delta=1e-3)
    for start, quantile in ((0.01, 0.5), (300.0, 0.5), (1.0, 0.9)):
        *_, last = run(AdaptiveNorm(start, quantile=quantile), SecureNoise(hush.SeededSource(2)), plan)
        share = float((norms <= last.norms.state).float().mean())
        assert abs(share - quantile) < 0.15


@pytest.mark.parametrize("noise", ["secure", "fast"])
def test_the_count_has_its_noise(noise: str) -> None:
    """Without rows the norm moves by noise alone: log C goes by rate times the noise of the count over the batch."""
    torch.manual_seed(1)
    source = SecureNoise(hush.SeededSource(1)) if noise == "secure" else FastNoise()
    plan = hush.train_plan(examples=N, batch_size=100, epochs=100, noise_multiplier=1.5, delta=1e-3)
    before, moves = 1.0, []
    for gradient in run(AdaptiveNorm(1.0, quantile=0.5, rate=0.1, count_noise=20.0), source, plan, count=0):
        moves.append(math.log(gradient.norms.state / before) / 0.1 * 100)
        before = gradient.norms.state
    spread = float(torch.tensor(moves).std())
    assert 20 * 0.88 <= spread <= 40 * 1.12  # between the noise that was asked for and twice that


@pytest.mark.parametrize("count_noise", [1e-9, 0.1, 0.75])
def test_a_count_that_the_plan_cannot_pay_for_is_refused(count_noise: float) -> None:
    with pytest.raises(hush.InvalidParameter, match="count_noise above half"):
        next(run(AdaptiveNorm(1.0, count_noise=count_noise)))
    louder = hush.train_plan(
        examples=N, batch_size=100, epochs=10, noise_multiplier=0.5, delta=1e-3, noise_schedule=((0, 1.0), (10, 30.0))
    )
    with pytest.raises(hush.InvalidParameter, match="count_noise above half"):
        next(run(AdaptiveNorm(1.0, count_noise=6.0), plan=louder))


@pytest.mark.parametrize(
    "made",
    [
        lambda: AdaptiveNorm(0.0),
        lambda: AdaptiveNorm(math.nan),
        lambda: AdaptiveNorm(1.0, quantile=1.5),
        lambda: AdaptiveNorm(1.0, rate=0.0),
        lambda: AdaptiveNorm(1.0, count_noise=-1.0),
        lambda: NormSchedule(()),
        lambda: NormSchedule(((1, 1.0),)),
        lambda: NormSchedule(((0, 1.0), (0, 2.0))),
        lambda: NormSchedule(((0, -1.0),)),
        lambda: NormSchedule(3),
    ],
)
def test_norms_that_are_none(made: object) -> None:
    with pytest.raises(hush.InvalidParameter):
        made()


def test_noise_follows_both_schedules() -> None:
    """Without rows the gradient is noise: its deviation is norm times noise multiplier of the step."""
    plan = hush.train_plan(
        examples=N, batch_size=100, epochs=5, noise_multiplier=2.0, delta=1e-3, noise_schedule=((0, 1.0), (10, 0.5))
    )
    model = nn.Linear(4, 300)
    norms = NormSchedule(((0, 1.0), (5, 3.0)))
    gradient = PrivateGradient(model, F.cross_entropy, plan, max_norm=norms, noise=SecureNoise(hush.SeededSource(1)))
    for batch in gradient.batches(rows(0)):
        gradient(batch)
        expected = (1.0 if batch.step < 5 else 3.0) * (2.0 if batch.step < 10 else 1.0) / 100
        assert abs(float(model.weight.grad.std()) / expected - 1) < 0.1
    step = hush.Poisson(rate=0.25)
    assert plan.mechanism == hush.sequence(
        hush.Gaussian(2.0).on(step).repeat(10), hush.Gaussian(1.0).on(step).repeat(10)
    )


def test_a_planned_schedule_meets_its_target_and_is_read_back() -> None:
    fading = ((0, 1.5), (50, 0.7))
    plan = hush.train_plan(examples=1000, batch_size=20, epochs=2, epsilon=2.0, delta=1e-5, noise_schedule=fading)
    assert 1.99 < plan.epsilon <= 2.0
    assert hush.train_plan_from_json(plan.to_json()) == plan
    assert plan.first(50) == hush.Gaussian(plan.noise_at(0)).on(plan.scheme).repeat(50)
    with pytest.raises(hush.InvalidParameter, match="between epochs"):
        hush.train_plan(
            examples=100,
            batch_size=10,
            epochs=2,
            noise_multiplier=1.0,
            delta=1e-3,
            scheme=hush.ShuffledBatches,
            noise_schedule=((0, 1.0), (3, 2.0)),
        )


def test_an_adaptive_norm_goes_on_from_a_checkpoint(tmp_path: Path) -> None:
    model = nn.Linear(4, 2)
    options = {"loss": F.cross_entropy, "save_to": tmp_path / "run", "save_every": 1}

    def stop(progress: object) -> None:
        if progress.step == 30:  # type: ignore[attr-defined]
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(model, rows(), PLAN, max_norm=AdaptiveNorm(50.0), on_step=stop, **options)
    with pytest.raises(hush.InvalidParameter, match="resume_from"):
        fit(model, rows(), PLAN, max_norm=AdaptiveNorm(49.0), resume_from=tmp_path / "run", **options)
    trained = fit(model, rows(), PLAN, max_norm=AdaptiveNorm(50.0), resume_from=tmp_path / "run", **options)
    assert trained.steps == PLAN.steps
    gradient = PrivateGradient(model, F.cross_entropy, PLAN, max_norm=AdaptiveNorm(50.0))
    from hush.learning.dpsgd.checkpoint import Checkpoint

    Checkpoint(model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), PLAN, gradient.norms).load(
        tmp_path / "run"
    )
    assert gradient.norms.state < 25.0
