"""Clipped sums equal those of gradients taken one example at a time, for every kind of model."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import hush
from hush.learning.per_example import clipped_sum
from hush.learning.per_example.clipped_sum import CheckedModel, clipped_gradient
from hush.learning.per_example.clipping import Automatic, PerLayer
from tests.learning.models import MODELS, ROWS, case, clipped_alone, distance, each, gradients_alone


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("kind", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])
def test_flat_clipping(name: str, kind: torch.dtype, tolerance: float) -> None:
    model, batch = case(name, kind)
    for max_norm in (0.3, 1e3):
        assert (
            distance(clipped_gradient(model, each, batch, max_norm), clipped_alone(model, batch, max_norm)) < tolerance
        )


@pytest.mark.parametrize("name", ["perceptron", "convolutions", "transformer", "tied"])
def test_against_vmap_of_grad(name: str) -> None:
    model, (inputs, targets) = case(name)
    parameters = {key: p.detach() for key, p in model.named_parameters()}

    def one(values: dict, row: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return each(torch.func.functional_call(model, values, row.unsqueeze(0)), target.unsqueeze(0)).sum()

    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        rows = torch.func.vmap(torch.func.grad(one), in_dims=(None, 0, 0))(parameters, inputs, targets)
    norms = torch.stack([row.flatten(1).square().sum(1) for row in rows.values()]).sum(0).sqrt()
    weights = (0.5 / norms).clamp(max=1)
    expected = {key: torch.tensordot(weights, row, 1) for key, row in rows.items()}
    assert distance(clipped_gradient(model, each, (inputs, targets), 0.5), expected) < 1e-10


def test_most_models_are_not_taken_as_a_whole() -> None:
    """The fallback is for what has no rule, and only for that."""
    found = {}
    for name in MODELS:
        model, batch = case(name)
        found[name] = CheckedModel.of(model, each, batch)
    slow = {name for name, checked in found.items() if any(unit.rule is None for unit in checked.run.units)}
    assert slow == {"transformer", "functional"}
    assert {name for name in slow if found[name].run.units[0].module is found[name].model} == {"functional"}


def test_micro_batches_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("convolutions", "tied", "gru"):
        model, batch = case(name)
        whole = clipped_gradient(model, each, batch, 0.5)
        monkeypatch.setattr(clipped_sum, "FEWEST", 2)
        monkeypatch.setattr(clipped_sum, "CACHE", 1)
        assert distance(clipped_gradient(model, each, batch, 0.5), whole) < 1e-12
        monkeypatch.undo()


def test_the_model_is_left_as_it_was() -> None:
    model, batch = case("gru")
    model.last.bias.requires_grad_(False)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    found = clipped_gradient(model, each, batch, 0.5)
    assert "last.bias" not in found
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert [p.requires_grad for p in model.parameters()] == [True] * 5 + [False]
    assert all(p.grad is None for p in model.parameters())
    assert not any(module._forward_hooks or "forward" in vars(module) for module in model.modules())


def test_per_layer_clipping() -> None:
    model, batch = case("perceptron")
    found = clipped_gradient(model, each, batch, 0.4, clipping=PerLayer())
    layers = [["0.weight", "0.bias"], ["2.weight"], ["3.weight", "3.bias"]]
    total = {name: torch.zeros_like(p) for name, p in model.named_parameters()}
    for row in gradients_alone(model, batch):
        for names in layers:
            norm = torch.cat([row[name].flatten() for name in names]).norm()
            for name in names:
                total[name] += row[name] * min(1.0, 0.4 / 3**0.5 / float(norm))
    assert distance(found, total) < 1e-10


def test_automatic_clipping() -> None:
    model, batch = case("perceptron")
    found = clipped_gradient(model, each, batch, 0.4, clipping=Automatic(stability=0.1))
    total = {name: torch.zeros_like(p) for name, p in model.named_parameters()}
    for row in gradients_alone(model, batch):
        norm = torch.cat([value.flatten() for value in row.values()]).norm()
        for name, value in row.items():
            total[name] += value * 0.4 / (float(norm) + 0.1)
    assert distance(found, total) < 1e-10


def test_ghost_norms_and_made_gradients_agree() -> None:
    """Few positions and wide layers take the Gram matrices, many positions and narrow ones the gradients."""
    for length, width in ((2, 9), (9, 2)):
        torch.manual_seed(1)
        model = nn.Sequential(nn.Linear(width, width), nn.Flatten(), nn.Linear(length * width, 3)).double()
        batch = torch.randn(ROWS, length, width).double(), torch.randint(0, 3, (ROWS,))
        assert distance(clipped_gradient(model, each, batch, 0.3), clipped_alone(model, batch, 0.3)) < 1e-10


def test_losses_of_torch_are_taken_example_by_example() -> None:
    model, batch = case("logistic")
    expected = clipped_gradient(model, each, batch, 0.5)
    assert distance(clipped_gradient(model, F.cross_entropy, batch, 0.5), expected) == 0
    assert distance(clipped_gradient(model, nn.CrossEntropyLoss(reduction="none"), batch, 0.5), expected) == 0
    with pytest.raises(hush.InvalidParameter, match="reduction='none'"):
        clipped_gradient(model, nn.CrossEntropyLoss(), batch, 0.5)
    with pytest.raises(hush.InvalidParameter, match="one value per example"):
        clipped_gradient(model, lambda output, target: each(output, target).sum(), batch, 0.5)


def test_dropout_is_drawn_once_an_example() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Dropout(0.5), nn.Linear(4, 1, bias=False))
    found = clipped_gradient(model, lambda output, _: output[:, 0], (torch.ones(500, 4), torch.zeros(500)), 100.0)
    kept = found["1.weight"] / 2
    assert torch.equal(kept, kept.round()) and 400 < float(kept.sum()) / 2 < 600


@pytest.mark.parametrize("bias", [True, False])
def test_narrow_layers_by_the_transposed_product(bias: bool) -> None:
    torch.manual_seed(5)
    model = nn.Linear(20, 7, bias=bias).double()
    batch = torch.randn(2500, 20, dtype=torch.float64), torch.randint(0, 7, (2500,))
    found = clipped_gradient(model, F.cross_entropy, batch, 0.5)
    left = torch.autograd.functional.jacobian(
        lambda out: F.cross_entropy(out, batch[1], reduction="sum"), model(batch[0])
    )
    inputs = torch.cat([batch[0], torch.ones(2500, 1)], 1) if bias else batch[0]
    norms = left.norm(dim=1) * inputs.norm(dim=1)
    total = (left * (0.5 / norms).clamp(max=1).unsqueeze(1)).T @ inputs
    expected = {"weight": total[:, :20]} | ({"bias": total[:, 20]} if bias else {})
    assert distance(found, expected) < 1e-12


class Twice(nn.Module):
    """One layer over positions and one convolution, each used twice in a pass, with gradients that are made."""

    def __init__(self) -> None:
        super().__init__()
        self.line, self.image = nn.Linear(6, 6), nn.Conv2d(1, 1, 3, padding=1)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        values = torch.tanh(self.line(torch.tanh(self.line(inputs))))
        return self.image(torch.tanh(self.image(values.unsqueeze(1)))).flatten(1)


def test_memory_that_is_kept_is_not_shared_by_two_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(6)
    model = Twice().double()
    checked = CheckedModel.of(model, F.mse_loss, (torch.randn(2, 30, 6).double(), torch.randn(2, 180).double()))
    assert all(unit.rule is not None for unit in checked.run.units)
    monkeypatch.setattr(clipped_sum, "FEWEST", 3)
    monkeypatch.setattr(clipped_sum, "CACHE", 1)
    for count in (4, 11, 5):
        batch = torch.randn(count, 30, 6).double(), torch.randn(count, 180).double()
        found = checked.room()[1]
        checked.add_clipped(found, batch, 0.05, hush.learning.per_example.clipping.Flat())
        expected = {name: torch.zeros_like(p) for name, p in model.named_parameters()}
        for row in range(count):
            loss = F.mse_loss(model(batch[0][row : row + 1]), batch[1][row : row + 1])
            gradients = dict(zip(expected, torch.autograd.grad(loss, list(model.parameters())), strict=True))
            norm = math.sqrt(sum(float(g.square().sum()) for g in gradients.values()))
            expected = {name: value + min(1.0, 0.05 / norm) * gradients[name] for name, value in expected.items()}
        assert distance(found, expected) < 1e-10
