"""The check runs on three random rows: what only happens later, on other rows, must still be right or refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import hush
from hush.learning.dpsgd.gradient_noise import FastNoise
from hush.learning.dpsgd.private_gradient import DrawnBatch, PrivateGradient
from hush.learning.per_example.clipped_sum import CheckedModel, clipped_gradient
from tests.learning.models import Wired, clipped_alone, each

NORM = 0.5


def check(model: nn.Module, inputs: Tensor) -> None:
    batch = inputs, torch.randint(0, 3, (len(inputs),))
    expected, found = clipped_alone(model, batch, NORM), clipped_gradient(model, each, batch, NORM)
    size = torch.cat([value.flatten() for value in expected.values()]).norm()
    for name, value in expected.items():
        assert float((found[name] - value).norm()) <= 1e-5 * float(size), name


@pytest.mark.parametrize("rows", [300, 400, 1500])
def test_a_narrow_layer_that_is_overwritten(rows: int) -> None:
    """Its output must not be a view: who overwrites a view gives it another history."""
    torch.manual_seed(1)
    check(nn.Sequential(nn.Linear(100, 12), nn.ReLU(inplace=True), nn.Linear(12, 3)), torch.randn(rows, 100))


@pytest.mark.parametrize("count", [1, 5])
@pytest.mark.parametrize("turned", [False, True])
def test_layers_on_sequences_that_are_overwritten(count: int, turned: bool) -> None:
    torch.manual_seed(1)
    inputs = (
        torch.randn(count, 4, 5).transpose(1, 2).contiguous().transpose(1, 2) if turned else torch.randn(count, 4, 5)
    )
    layers = {"a": nn.Linear(5, 4), "b": nn.Linear(4, 3)}
    check(Wired(lambda s, x: s.b(s.a(x).relu_()).mean(1), **layers), inputs)
    check(Wired(lambda s, x: s.b(s.a(x.transpose(0, 1)).relu_()).mean(0), **layers), inputs)
    check(Wired(lambda s, x: s.b(s.a(x).add_(x[..., :4])).mean(1), **layers), inputs)


@pytest.mark.parametrize("count", [1, 4])
def test_a_table_that_all_rows_share_is_overwritten(count: int) -> None:
    torch.manual_seed(1)

    def run(s: Any, x: Tensor) -> Tensor:
        places = s.table(torch.arange(4).unsqueeze(0))
        places.mul_(0.5)
        return s.last(x + places).mean(1)

    check(Wired(run, table=nn.Embedding(4, 5), last=nn.Linear(5, 3)), torch.randn(count, 4, 5))


def test_positions_that_all_rows_share_and_that_are_one() -> None:
    """A table read at one place only is not a row that stands for all rows."""

    class Trimmed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places, self.last = nn.Embedding(9, 4), nn.Embedding(12, 4), nn.Linear(4, 3)

        def forward(self, words: Tensor) -> Tensor:
            words = words[:, : int((words != 0).any(0).nonzero().max()) + 1]
            hidden = (self.words(words) + self.places(torch.arange(words.shape[1]))).tanh()
            return self.last((hidden * (words != 0).unsqueeze(-1)).sum(1))

    torch.manual_seed(1)
    for width in (1, 5):
        words = torch.zeros(6, 12, dtype=torch.long)
        words[:, :width] = torch.randint(2, 9, (6, width))
        check(Trimmed(), words)


def test_rows_with_more_positions_than_others() -> None:
    """Only positions that are not padding reach the layer: how many belong to a row differs, and is not guessed."""
    torch.manual_seed(1)

    def run(s: Any, x: Tensor) -> Tensor:
        used = x.abs().sum(-1) > 0
        hidden = x.new_zeros(*x.shape[:2], 4)
        hidden[used] = s.a(x[used]).tanh()
        return s.b(hidden.sum(1))

    inputs = torch.zeros(33, 34, 5)
    inputs[1:, 0], inputs[0] = 1e-4 * torch.randn(32, 5), torch.randn(34, 5)
    check(Wired(run, a=nn.Linear(5, 4), b=nn.Linear(4, 3)), inputs)


def test_rows_that_meet_behind_layers_that_begin_at_zero() -> None:
    first, second = nn.Linear(5, 4), nn.Linear(4, 3)
    for layer in (first, second):
        nn.init.zeros_(layer.weight)
    model = Wired(lambda s, x: s.second(s.first(x - x.mean(0))), first=first, second=second)
    with pytest.raises(hush.NotCovered, match="examples of a batch meet"):
        clipped_gradient(model, each, (torch.randn(4, 5), torch.randint(0, 3, (4,))), NORM)


def test_layers_that_run_again_in_their_own_way_add_nothing_to_gradients() -> None:
    """A backward pass inside of one, as in reversible models, must not write unclipped gradients anywhere."""

    class Again(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, inputs: Tensor, layer: nn.Module) -> Tensor:
            ctx.layer = layer
            ctx.save_for_backward(inputs)
            with torch.no_grad():
                return layer(inputs)

        @staticmethod
        def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, None]:
            inputs = ctx.saved_tensors[0].detach().requires_grad_()
            with torch.enable_grad():
                torch.autograd.backward(ctx.layer(inputs), gradients[0])
            return inputs.grad, None

    model = Wired(lambda s, x: s.c(Again.apply(s.a(x), s.b)), a=nn.Linear(5, 5), b=nn.Linear(5, 5), c=nn.Linear(5, 3))
    before = [torch.ones_like(p) for p in model.parameters()]
    for p, gradient in zip(model.parameters(), before, strict=True):
        p.grad = gradient
    try:
        clipped_gradient(model, each, (torch.randn(4, 5), torch.randint(0, 3, (4,))), NORM)
    except hush.NotCovered:
        pass
    assert all(p.grad is gradient for p, gradient in zip(model.parameters(), before, strict=True))
    assert all((gradient == 1).all() for gradient in before)


def test_inference_mode_is_refused_by_name() -> None:
    model = nn.Linear(5, 3)
    batch = torch.randn(4, 5), torch.randint(0, 3, (4,))
    checked = CheckedModel.of(model, each, batch)
    with torch.inference_mode():
        made = torch.randn(4, 5), torch.randint(0, 3, (4,))
        with pytest.raises(hush.NotCovered, match="inference_mode"):
            clipped_gradient(model, each, batch, NORM)
        with pytest.raises(hush.NotCovered, match="inference_mode"):
            checked.add_clipped(checked.room()[1], batch, NORM, hush.learning.per_example.clipping.Flat())
    with pytest.raises(hush.NotCovered, match="inference_mode"):
        clipped_gradient(model, each, made, NORM)
    with torch.no_grad():
        found = clipped_gradient(model, each, batch, NORM)
    assert not torch.is_inference_mode_enabled() and float(found["weight"].norm()) > 0


def step(gradient: PrivateGradient, batch: tuple[Tensor, Tensor]) -> None:
    gradient._drawn = DrawnBatch(0, batch)
    gradient(gradient._drawn)


def test_parameters_that_are_frozen_or_replaced_between_steps() -> None:
    torch.manual_seed(1)
    plan = hush.train_plan(examples=4000, batch_size=4, epochs=1, noise_multiplier=1e-3, delta=1e-6)
    model = nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 3))
    model[0].requires_grad_(False)
    gradient = PrivateGradient(model, F.cross_entropy, plan, max_norm=1.0, noise=FastNoise())
    batch = torch.randn(4, 5), torch.randint(0, 3, (4,))
    step(gradient, batch)
    assert model[0].weight.grad is None and model[2].weight.grad is not None
    model.requires_grad_(True)
    step(gradient, batch)
    assert float(model[0].weight.grad.norm()) > 0.01  # type: ignore[union-attr]
    model.load_state_dict({name: value.clone() for name, value in model.state_dict().items()}, assign=True)
    model.requires_grad_(True)
    step(gradient, batch)
    assert all(p.grad is not None for p in model.parameters())
    layer = model[2]
    layer.forward = lambda inputs: F.linear(inputs, 0 * layer.weight, layer.bias)  # type: ignore[method-assign]
    step(gradient, batch)
    assert float(layer.weight.grad.norm()) < 0.01  # type: ignore[union-attr]
