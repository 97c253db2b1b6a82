"""Schedulers, averages, metrics, callbacks and views: each is made of noised weights, or is clipped as one example."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import hush
from hush.learning import FastNoise, PrivateGradient, SecureNoise, fit
from hush.learning.dpsgd import private_gradient
from hush.learning.per_example.batch import AveragedViews
from hush.learning.per_example.clipped_sum import CheckedModel, clipped_gradient
from tests.learning.models import distance, gradients_alone
from tests.learning.per_example.test_layers_vs_rows_alone import clipped
from tests.learning.told import told

N = 20
PLAN = hush.train_plan(examples=N, batch_size=5, epochs=2, noise_multiplier=2.0, delta=1e-3)
DECAY = 0.7


def data() -> tuple[Tensor, Tensor]:
    inputs = torch.randn(N, 4, generator=torch.Generator().manual_seed(3))
    return inputs, (inputs[:, 0] > 0).long()


def parts() -> tuple[nn.Module, torch.optim.Optimizer, Any]:
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(4, 5), nn.Dropout(0.5), nn.Tanh(), nn.Linear(5, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    return model, optimizer, torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)


def train(model: nn.Module, **options: Any) -> Any:
    noise, source = SecureNoise(hush.SeededSource(1)), hush.SeededSource(2)
    given: dict[str, Any] = {"loss": F.cross_entropy, "max_norm": 1.0, "noise": noise, "source": source} | options
    return fit(model, data(), PLAN, **given)


def state(model: nn.Module) -> Tensor:
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def test_the_average_is_that_of_the_weights_after_each_step() -> None:
    model, optimizer, scheduler = parts()
    seen: list[Tensor] = []
    options: dict[str, Any] = {"optimizer": optimizer, "scheduler": scheduler, "ema": DECAY}
    trained = train(model, on_step=lambda _: seen.append(state(model)), **options)
    average = seen[0]
    for now in seen[1:]:
        average = DECAY * average + (1 - DECAY) * now
    assert len(seen) == PLAN.steps and torch.allclose(state(trained.average), average, atol=1e-6)
    assert not torch.allclose(state(model), average)
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.5 * 0.5**PLAN.steps)
    assert [p.grad for p in trained.average.parameters()] == [None] * 4
    assert train(parts()[0]).average is None


def test_the_average_hides_as_much_as_the_weights_do() -> None:
    """On neighbouring data with fresh noise the averages differ by noise: they are not those of the sums."""
    finals = []
    for seed in range(8):
        model, optimizer, _ = parts()
        noise = SecureNoise(hush.SeededSource(seed))
        finals.append(state(train(model, optimizer=optimizer, ema=DECAY, noise=noise).average))
    spread = torch.stack(finals).std(0).mean()
    # the last step alone moves the average by (1 - decay) lr sigma / batch
    assert float(spread) > 0.5 * (1 - DECAY) * 0.5 * 2.0 / 5


def test_a_checkpoint_has_schedule_and_average(tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    one, optimizer, scheduler = parts()
    stopped: list[int] = []

    def stop(progress: Any) -> None:
        stopped.append(progress.step)
        if progress.step == 4:
            raise KeyboardInterrupt

    options: dict[str, Any] = {"ema": DECAY, "save_to": path, "save_every": 2, "noise": FastNoise()}
    with pytest.raises(KeyboardInterrupt):
        train(one, optimizer=optimizer, scheduler=scheduler, on_step=stop, **options)
    model, optimizer, scheduler = parts()
    averages: list[float] = []
    trained = train(
        model,
        optimizer=optimizer,
        scheduler=scheduler,
        resume_from=path,
        on_step=lambda progress: averages.append(progress.step),
        **options,
    )
    assert averages[0] == 5 and trained.steps == PLAN.steps
    assert scheduler.last_epoch == PLAN.steps
    model, optimizer, scheduler = parts()
    with pytest.raises(hush.InvalidParameter, match="scheduler and ema"):
        train(model, optimizer=optimizer, resume_from=path)


@pytest.mark.parametrize("name", ["of another", "of a plateau", "not one"])
def test_a_scheduler_that_cannot_be_used_is_named(name: str) -> None:
    model, optimizer, scheduler = parts()
    wrong = {
        "of another": lambda: parts()[2],
        "of a plateau": lambda: torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer),
        "not one": lambda: "cosine",
    }[name]()
    with pytest.raises(hush.InvalidParameter, match="scheduler"):
        train(model, optimizer=optimizer, scheduler=wrong)
    with pytest.raises(hush.InvalidParameter, match="ema"):
        train(model, ema=1.5)
    assert scheduler.last_epoch == 0


def test_metrics_are_of_public_rows_without_dropout() -> None:
    model, *_ = parts()
    seen: list[Any] = []

    def accuracy(output: Tensor, targets: Tensor) -> Tensor:
        return (output.argmax(1) == targets).float().mean()

    train(model, public=data(), metrics={"accuracy": accuracy}, on_step=[seen.append, lambda _: None])
    assert len(seen) == PLAN.steps and model.training and model[1].training
    model.eval()
    with torch.no_grad():
        output = model(data()[0])
    assert seen[-1].metrics == {"accuracy": pytest.approx(float(accuracy(output, data()[1])))}
    assert seen[-1].loss == pytest.approx(float(F.cross_entropy(output, data()[1])))
    assert seen[-1].way == "layer by layer, with guessed scales"
    with pytest.raises(hush.InvalidParameter, match="public="):
        train(model, metrics={"accuracy": accuracy})


def test_a_callback_sees_no_gradient_without_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    sums: list[Tensor] = []
    add = CheckedModel.add_clipped

    def kept(self: Any, named: Any, *others: Any) -> None:
        add(self, named, *others)
        sums.append(torch.cat([part.flatten() for part in named.values()]).clone())

    monkeypatch.setattr(private_gradient.CheckedModel, "add_clipped", kept)
    model, *_ = parts()
    seen: list[Tensor] = []
    train(model, on_step=lambda _: seen.append(torch.cat([p.grad.flatten() for p in model.parameters()])))
    assert len(seen) == len(sums) == PLAN.steps
    for shown, bare in zip(seen, sums, strict=True):
        assert float((shown - bare).norm()) > 0.5 * 2.0 / 5  # noise in 37 coordinates, of deviation 0.4 each


# -- views of an example -----------------------------------------------------------------------------------------


def shifted(inputs: Tensor) -> Tensor:
    return inputs + torch.randint(0, 3, ()).to(inputs.dtype)


@pytest.mark.parametrize("views", [1, 3])
def test_views_are_averaged_before_they_are_clipped(views: int) -> None:
    torch.manual_seed(2)
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2)).double()
    inputs, targets = data()
    inputs, targets = 5 * inputs[:7].double(), targets[:7]
    torch.manual_seed(9)
    found = clipped_gradient(model, AveragedViews(F.cross_entropy, shifted, views), (inputs, targets), 0.3)
    torch.manual_seed(9)  # the same views again, one after the other
    seen = [torch.stack([shifted(row) for _ in range(views)]) for row in inputs]
    rows = []
    for row, target in zip(seen, targets, strict=True):
        alone = gradients_alone(model, (row, target.expand(views)))
        rows.append({name: torch.stack([one[name] for one in alone]).mean(0) for name in alone[0]})
    assert distance(found, clipped(rows, 0.3)) < 1e-10


def test_views_train_and_their_errors_stay(capsys: pytest.CaptureFixture[str]) -> None:
    def refusing(inputs: Tensor) -> Tensor:
        if bool((inputs == 777.25).any()):
            raise KeyError(f"row {float(inputs[0])}")
        return inputs

    inputs, targets = data()
    hostile = inputs.clone()
    hostile[4] = 777.25
    whole = hush.train_plan(examples=N, batch_size=N, epochs=1, noise_multiplier=1.0, delta=1e-3)

    def run(rows: Any) -> Tensor:
        torch.manual_seed(1)
        model = nn.Linear(4, 2)
        noise, source = SecureNoise(hush.SeededSource(1)), hush.SeededSource(2)
        given: dict[str, Any] = {"augment": refusing, "views": 2, "noise": noise, "source": source}
        fit(model, rows, whole, loss=F.cross_entropy, max_norm=1.0, **given)
        return state(model)

    kept = torch.arange(N) != 4
    found, result = told(lambda: run((hostile, targets)), capsys)
    assert found == ["", ""] and torch.allclose(result, run((inputs[kept], targets[kept])), atol=1e-6)


def test_views_that_remember_or_do_not_fit_are_refused() -> None:
    last: list[Tensor] = []

    def mixing(inputs: Tensor) -> Tensor:
        last.append(inputs)
        return (inputs + last[-2]) / 2 if len(last) > 1 else inputs

    model = nn.Linear(4, 2)
    with pytest.raises(hush.NotCovered, match="writes what it saw"):
        train(model, augment=mixing, views=2)
    with pytest.raises(hush.InvalidParameter, match="augment="):
        train(model, views=2)
    with pytest.raises(hush.InvalidParameter, match="a view of them"):
        train(model, augment="flip")


def test_a_model_that_runs_row_by_row_says_so() -> None:
    class Ragged(nn.Module):
        """What a row does depends on a number that is read off it."""

        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(4, 2))

        def forward(self, inputs: Tensor) -> Tensor:
            rows = [row[: 1 + int(row[0] > 0)] @ self.weight[: 1 + int(row[0] > 0)] for row in inputs]
            return torch.stack(rows)

    gradient = PrivateGradient(Ragged(), F.cross_entropy, PLAN, max_norm=1.0)
    with pytest.warns(UserWarning, match="row by row"):
        next(gradient.batches(data()))
    assert gradient.way is not None and gradient.way.slow and len(gradient.way.refused) >= 2
    assert str(gradient.way) == "layer by layer, modules without a rule row by row (no rule: Ragged)"
