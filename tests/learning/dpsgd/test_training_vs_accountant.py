"""What `fit` reports is the accountant's answer for the scheme that drew the batches, in every circumstance."""

from __future__ import annotations

import dataclasses
import json
import math
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

import hush
from hush.learning import FastNoise, PrivateGradient, SecureNoise, fit
from hush.learning.per_example.clipping import CHARGED_ROUNDING

N = 40
POISSON = hush.train_plan(examples=N, batch_size=8, epochs=2, noise_multiplier=1.5, delta=1e-3)


def plan_of(scheme: type = hush.Poisson, epochs: float = 2, batch_size: int = 8) -> hush.TrainPlan:
    return hush.train_plan(
        examples=N, batch_size=batch_size, epochs=epochs, noise_multiplier=1.5, delta=1e-3, scheme=scheme
    )


def data(rows: int = N) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    inputs = torch.randn(rows, 4, generator=generator)
    return inputs, (inputs[:, 0] > 0).long()


def train(plan: hush.TrainPlan, rows: object = None, **options: object):
    torch.manual_seed(1)
    model = nn.Linear(4, 2)
    return fit(model, data() if rows is None else rows, plan, loss=F.cross_entropy, max_norm=1.0, **options)


ACCOUNTED = {
    hush.Poisson: hush.Gaussian(1.5).on(hush.Poisson(rate=8 / N)).repeat(10),
    hush.Allocation: hush.Gaussian(1.5).on(hush.Allocation(steps=5)).repeat(2),
    hush.ShuffledBatches: hush.Gaussian(1.5).on(hush.ShuffledBatches(steps=5)).repeat(2),
    hush.WithoutReplacement: hush.Gaussian(1.5)
    .on(hush.WithoutReplacement(8, N))
    .repeat(10)
    .under(hush.Relation.REPLACE),
}


@pytest.mark.parametrize("scheme", ACCOUNTED)
def test_epsilon_is_that_of_the_scheme_that_drew(scheme: type) -> None:
    plan = plan_of(scheme)
    trained = train(plan)
    assert trained.steps == plan.steps == 10
    assert trained.private
    assert trained.mechanism == ACCOUNTED[scheme]
    assert trained.bound == ACCOUNTED[scheme].epsilon(delta=1e-3)


@pytest.mark.parametrize("scheme", [hush.Poisson, hush.ShuffledBatches])
def test_calibrated_plans_meet_their_target(scheme: type) -> None:
    plan = hush.train_plan(examples=10_000, batch_size=50, epochs=10, epsilon=2.0, delta=1e-5, scheme=scheme)
    assert 1.99 < plan.epsilon <= 2.0
    assert plan.steps == 2000


@pytest.mark.parametrize("scheme", ACCOUNTED)
def test_batches_are_drawn_by_the_scheme(scheme: type) -> None:
    plan = plan_of(scheme)
    batches = list(plan.batches(N, hush.SeededSource(5)))
    assert len(batches) == plan.steps
    if scheme in (hush.Allocation, hush.ShuffledBatches):
        for epoch in (batches[:5], batches[5:]):
            assert sorted(np.concatenate(epoch)) == list(range(N))
    if scheme is hush.WithoutReplacement:
        assert all(len(set(batch)) == 8 for batch in batches)
    if scheme is hush.Poisson:
        same = [hush.Poisson(rate=8 / N).draw(N, source) for source in [hush.SeededSource(5)] for _ in range(10)]
        assert all(np.array_equal(a, b) for a, b in zip(batches, same, strict=True))


@pytest.mark.parametrize("scheme", ACCOUNTED)
@pytest.mark.parametrize("batch_size", [1, 30, N])
def test_every_batch_is_a_row_of_numbers(scheme: type, batch_size: int) -> None:
    """Also where an epoch is one step: a batch with another axis would be taken as a single example."""
    plan = plan_of(scheme, batch_size=batch_size, epochs=1)
    batches = list(plan.batches(N))
    assert len(batches) == plan.steps
    assert all(batch.ndim == 1 and batch.dtype == np.int64 for batch in batches)
    assert all(len(set(batch)) == len(batch) for batch in batches)


def test_a_loader_cannot_be_accounted_as_poisson() -> None:
    loader = DataLoader(TensorDataset(*data()), batch_size=8, shuffle=True)
    with pytest.raises(hush.InvalidParameter, match="sampler=.?RandomSampler"):
        train(POISSON, loader)
    gradient = PrivateGradient(nn.Linear(4, 2), F.cross_entropy, POISSON, max_norm=1.0)
    with pytest.raises(hush.InvalidParameter, match="no other"):
        gradient(tuple(next(iter(loader))))  # type: ignore[arg-type]
    batch = next(gradient.batches(data()))
    gradient(batch)
    with pytest.raises(hush.InvalidParameter, match="once"):
        gradient(batch)


def test_a_dataset_trains_as_its_tensors_do() -> None:
    weights = []
    for rows in (data(), TensorDataset(*data())):
        trained = train(POISSON, rows, noise=SecureNoise(hush.SeededSource(1)), source=hush.SeededSource(2))
        assert not trained.private
        assert trained.statement().startswith("NOT PRIVATE")
        weights.append(trained.model.weight.detach())
    assert torch.allclose(*weights)


def test_empty_batches_are_noised_steps() -> None:
    plan = hush.train_plan(examples=1000, batch_size=1, epochs=0.02, noise_multiplier=1.0, delta=1e-3)
    before = []
    gradient = PrivateGradient(nn.Linear(4, 2), F.cross_entropy, plan, max_norm=1.0)
    for batch in gradient.batches(data(3)):
        gradient(batch)
        before.append(torch.cat([p.grad.flatten() for p in gradient.model.parameters()]).clone())
    assert gradient.steps == plan.steps == 20
    assert all(float(g.norm()) > 0 for g in before)


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_tiny_data(rows: int) -> None:
    assert train(POISSON, data(rows)).steps == 10
    with pytest.raises(hush.InvalidParameter, match="public"):
        train(plan_of(hush.WithoutReplacement), data(rows))


def test_zero_epochs_change_and_cost_nothing() -> None:
    trained = train(plan_of(epochs=0))
    torch.manual_seed(1)
    assert torch.equal(trained.model.weight, nn.Linear(4, 2).weight)
    assert trained.steps == 0 and trained.bound.upper == 0


@pytest.mark.parametrize("noise", ["secure", "fast"])
def test_noise_has_the_planned_deviation(noise: str) -> None:
    """With no rows the gradient is noise alone: deviation noise_multiplier * max_norm over the expected batch."""
    torch.manual_seed(7)
    plan = hush.train_plan(examples=1000, batch_size=10, epochs=0.02, noise_multiplier=2.0, delta=1e-3)
    way = FastNoise() if noise == "fast" else SecureNoise(hush.SeededSource(3))
    gradient = PrivateGradient(nn.Linear(400, 100), F.cross_entropy, plan, max_norm=0.5, noise=way)
    rows = torch.zeros(0, 400), torch.zeros(0, dtype=torch.long)
    drawn = []
    for batch in gradient.batches(rows):
        gradient(batch)
        drawn.append(gradient.model.weight.grad.flatten().clone())
    values = torch.cat(drawn).double() * 10 / (2.0 * 0.5 * (1 + CHARGED_ROUNDING))
    assert len(values) == 80_000
    assert abs(float(values.mean())) < 4 / len(values) ** 0.5
    assert float(values.var()) == pytest.approx(1, abs=4 * (2 / len(values)) ** 0.5)
    assert float((values.abs() > 3).double().mean()) == pytest.approx(0.0027, abs=0.0008)


def test_secure_noise_lies_on_a_grid_around_the_sum() -> None:
    """Replayed on neighbours with the same noise, the sums differ by at most the norm and a rounding."""
    sums = []
    for rows in (data(12), tuple(part[1:] for part in data(12))):
        plan = hush.train_plan(examples=N, batch_size=N, epochs=1, noise_multiplier=1.0, delta=1e-3)
        torch.manual_seed(2)
        gradient = PrivateGradient(
            nn.Linear(4, 2).double(), F.cross_entropy, plan, max_norm=0.3, noise=SecureNoise(hush.SeededSource(4))
        )
        for batch in gradient.batches(tuple(v.double() if v.is_floating_point() else v for v in rows)):
            gradient(batch)
        sums.append(N * torch.cat([p.grad.flatten() for p in gradient.model.parameters()]))
    assert 0 < float((sums[0] - sums[1]).norm()) <= 0.3 * (1 + 1e-5)


def test_resumed_runs_report_the_plan_and_go_on(tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    torch.manual_seed(1)
    model = nn.Linear(4, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)

    run = partial(fit, loss=F.cross_entropy, max_norm=1.0)

    class Stop(Exception):
        pass

    def stop(progress: object) -> None:
        if progress.step == 7:  # type: ignore[attr-defined]
            raise Stop

    with pytest.raises(Stop):
        run(model, data(), POISSON, optimizer=optimizer, save_to=path, save_every=3, on_step=stop)
    assert {name.split(".")[0] for name in load_file(path)} == {"model", "optimizer"}
    fresh = nn.Linear(4, 2)
    again = torch.optim.Adam(fresh.parameters(), lr=0.5)
    seen = []
    trained = run(fresh, data(), POISSON, optimizer=again, resume_from=path, on_step=seen.append)
    assert [progress.step for progress in seen] == [7, 8, 9, 10]
    assert again.param_groups[0]["lr"] == 0.05
    assert trained.steps == 10 and trained.bound == POISSON.bound and trained.private
    assert all(progress.epsilon == POISSON.epsilon and progress.loss is None for progress in seen)


def test_a_checkpoint_is_exact_and_bound_to_its_plan(tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    trained = train(POISSON, save_to=path, noise=FastNoise())
    assert not trained.private
    model = nn.Linear(4, 2)
    options = {"loss": F.cross_entropy, "resume_from": path}
    resumed = fit(model, data(), POISSON, max_norm=1.0, **options)
    assert torch.equal(model.weight, trained.model.weight) and resumed.steps == 10
    assert not resumed.private  # the first part was not
    other = hush.train_plan(examples=N, batch_size=8, epochs=3, noise_multiplier=1.5, delta=1e-3)
    with pytest.raises(hush.InvalidParameter, match="the plan, the max_norm and the unit"):
        fit(model, data(), other, max_norm=1.0, **options)
    with pytest.raises(hush.InvalidParameter, match="the plan, the max_norm and the unit"):
        fit(model, data(), POISSON, max_norm=2.0, **options)
    with pytest.raises(hush.InvalidParameter, match="this model, optimizer"):
        fit(nn.Linear(5, 2), data(), POISSON, max_norm=1.0, **options)


@pytest.mark.parametrize("content", [b"", b"\x80\x04pickle", b"{}"])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.pt"
    path.write_bytes(content)
    with pytest.raises(hush.InvalidParameter, match="safetensors"):
        train(POISSON, resume_from=path)
    save_file({"model.weight": torch.zeros(2, 4)}, path, metadata={"hush": json.dumps({"version": 9})})
    with pytest.raises(hush.InvalidParameter, match="safetensors"):
        train(POISSON, resume_from=path)


def test_epochs_that_are_drawn_as_a_whole_are_saved_as_a_whole(tmp_path: Path) -> None:
    plan = plan_of(hush.Allocation)
    with pytest.raises(hush.InvalidParameter, match="multiple of 5"):
        train(plan, save_to=tmp_path / "a", save_every=3)
    with pytest.raises(hush.InvalidParameter, match="end of an epoch"):
        plan.batches(N, start=3)
    assert train(plan, save_to=tmp_path / "a", save_every=5).steps == 10
    assert train(plan, resume_from=tmp_path / "a").steps == 10


def test_a_shorter_run_is_cheaper_only_if_that_was_fixed() -> None:
    assert POISSON.first(10) == POISSON.mechanism
    assert POISSON.first(4) == hush.Gaussian(1.5).on(hush.Poisson(rate=0.2)).repeat(4)
    assert plan_of(hush.Allocation).first(6) == ACCOUNTED[hush.Allocation]
    with pytest.raises(hush.InvalidParameter):
        POISSON.first(11)


def test_public_loss_is_shown_and_falls() -> None:
    plan = hush.train_plan(examples=400, batch_size=100, epochs=10, noise_multiplier=1.0, delta=1e-3)
    seen: list = []
    train(plan, data(400), public=data(50), on_step=seen.append)
    assert seen[-1].loss < 0.8 * seen[0].loss


def test_models_on_two_devices_are_named() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2, device="meta"))
    with pytest.raises(hush.InvalidParameter, match="one device"):
        fit(model, data(), POISSON, loss=F.cross_entropy, max_norm=1.0)
    with pytest.raises(hush.InvalidParameter, match="of one type"):
        fit(
            nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2).double()),
            data(),
            POISSON,
            loss=F.cross_entropy,
            max_norm=1.0,
        )


@pytest.mark.parametrize(
    "wrong",
    [
        {"examples": 0},
        {"batch_size": 41},
        {"batch_size": 2.5},
        {"epochs": -1},
        {"epochs": math.nan},
        {"delta": 0.0},
        {"delta": 1.0},
        {"epsilon": 0.0},
        {"epsilon": math.inf},
        {"epsilon": 1.0, "noise_multiplier": 1.0},
        {"epsilon": None},
        {"scheme": "poisson"},
        {"scheme": hush.UnequalPoisson},
        {"scheme": hush.Allocation, "epochs": 1.5},
    ],
)
def test_wrong_plans_are_named(wrong: dict) -> None:
    with pytest.raises(hush.InvalidParameter):
        hush.train_plan(**{"examples": N, "batch_size": 8, "epochs": 2, "epsilon": 1.0, "delta": 1e-3, **wrong})


def test_plans_survive_json_and_edits_are_seen() -> None:
    for scheme in (hush.Poisson, hush.Allocation):
        plan = plan_of(scheme)
        assert hush.train_plan_from_json(plan.to_json()) == plan
    edited = json.loads(POISSON.to_json()) | {"noise_multiplier": 3.0}
    with pytest.raises(hush.InvalidParameter, match="mechanism"):
        hush.train_plan_from_json(json.dumps(edited))


@pytest.mark.parametrize(
    "edit", [{"numbers": "x"}, {"groups": 5}, {"numbers": {"optimizer.x.y": 1}}, {"numbers": {"optimizer.1": 1}}]
)
def test_an_edited_header_is_a_named_error_and_words_are_not_private(tmp_path: Path, edit: dict) -> None:
    plan = hush.train_plan(examples=20, batch_size=10, epochs=1, epsilon=3.0, delta=1e-3)
    data = torch.randn(20, 3), torch.zeros(20, dtype=torch.long)

    def run(**given: object) -> object:
        return fit(nn.Linear(3, 2), data, plan, loss=nn.functional.cross_entropy, max_norm=1.0, **given)

    run(save_to=tmp_path / "run")
    with safe_open(tmp_path / "run", framework="pt") as file:
        header = json.loads(file.metadata()["hush"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}
    save_file(tensors, tmp_path / "edited", metadata={"hush": json.dumps({**header, **edit})})
    with pytest.raises(hush.InvalidParameter):
        run(resume_from=tmp_path / "edited")
    save_file(tensors, tmp_path / "edited", metadata={"hush": json.dumps({**header, "private": "no"})})
    assert not run(resume_from=tmp_path / "edited").private


@pytest.mark.parametrize("change", [{"epochs": 50}, {"noise_multiplier": 0.1}, {"batch_size": 20}])
def test_a_plan_with_another_field_is_another_plan(change: dict) -> None:
    """Its epsilon would be that of the old one."""
    with pytest.raises(hush.InvalidParameter, match="belong together"):
        dataclasses.replace(POISSON, **change)


def test_what_keeps_a_run_from_being_saved_is_found_before_it(tmp_path: Path) -> None:
    seen: list = []
    with pytest.raises(hush.InvalidParameter, match="directory"):
        train(POISSON, save_to=tmp_path / "none" / "run", on_step=seen.append)
    model = nn.Linear(4, 2)
    options = {"loss": F.cross_entropy, "max_norm": 1.0, "on_step": seen.append, "save_to": tmp_path / "run"}
    with pytest.raises(hush.InvalidParameter, match="a learning rate is a number"):
        fit(model, data(), POISSON, optimizer=torch.optim.Adam(model.parameters(), lr=torch.tensor(0.1)), **options)
    assert not seen


def test_a_list_of_examples_is_a_dataset() -> None:
    """Not a tuple of columns: each entry is one person's data."""
    inputs, targets = data()
    weights = []
    for rows in (data(), [(inputs[k], targets[k]) for k in range(N)]):
        trained = train(POISSON, rows, noise=SecureNoise(hush.SeededSource(1)), source=hush.SeededSource(2))
        weights.append(trained.model.weight.detach())
    assert torch.allclose(*weights)


def test_arrays_and_other_types_are_named() -> None:
    """No row of a wrong type could be used: without an error the model would train on noise alone."""
    inputs, targets = data()
    with pytest.raises(hush.InvalidParameter, match="from_numpy"):
        train(POISSON, (inputs.numpy(), targets.numpy()))
    for kind in (torch.float64, torch.float16):
        with pytest.raises(hush.InvalidParameter, match="types that the model takes"):
            train(POISSON, (inputs.to(kind), targets))


class Remembering(nn.Linear):
    """It keeps something of its own in its state."""

    def get_extra_state(self) -> dict:
        return {"seen": 1}

    def set_extra_state(self, state: dict) -> None:
        pass


def test_a_state_that_is_no_tensor_is_refused() -> None:
    with pytest.raises(hush.NotCovered, match="get_extra_state"):
        fit(Remembering(4, 2), data(), POISSON, loss=F.cross_entropy, max_norm=1.0)


def test_hardly_any_noise_has_an_epsilon() -> None:
    plan = hush.train_plan(examples=N, batch_size=8, epochs=1, noise_multiplier=1e-3, delta=1e-3)
    assert 1e4 < plan.bound.upper
    assert plan.bound.lower <= plan.bound.upper
