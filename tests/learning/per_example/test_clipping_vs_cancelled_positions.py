"""A row stays within the norm however its positions cancel; runs, modes and bad values cannot get around the plan."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import hush
from hush.learning import PrivateGradient
from hush.learning.per_example.clipped_sum import clipped_gradient


class Pooled(nn.Module):
    """Tokens through a layer that is trained, their mean through one that is not."""

    def __init__(self, kind: torch.dtype) -> None:
        super().__init__()
        self.layer, self.last = nn.Linear(64, 64, dtype=kind), nn.Linear(64, 2, dtype=kind)
        self.last.requires_grad_(False)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.last(self.layer(tokens).mean(1))


def norm(sums: dict[str, Tensor]) -> float:
    return float(torch.cat([value.flatten() for value in sums.values()]).norm())


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_tokens_that_nearly_cancel_are_clipped(kind: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(0)
    torch.manual_seed(0)
    model = Pooled(kind)
    longest = 0.0
    for exponent in range(2, 12):
        for rest in (1e-2, 1e-3, 1e-4, 1e-6):
            along = F.normalize(torch.randn(64, generator=generator, dtype=kind), dim=0)
            tokens = 10.0**exponent * torch.stack([along, -(1 - rest) * along])[None]
            longest = max(longest, norm(clipped_gradient(model, F.cross_entropy, (tokens, torch.tensor([0])), 1.0)))
    assert 0.99 < longest <= 1 + 2**-10


def test_an_embedding_read_with_opposite_signs_is_clipped() -> None:
    table = nn.Embedding(3, 4)

    class Signed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = table

        def forward(self, places: Tensor, scale: Tensor) -> Tensor:
            return (self.table(places) * scale.unsqueeze(-1)).sum(1)

    scale = 1e7 * torch.tensor([[1.0, -1.0 + 1e-6, 1.0, -1.0]])
    batch = ((torch.tensor([[0, 0, 1, 1]]), scale), torch.zeros(1))
    assert norm(clipped_gradient(Signed(), lambda output, y: output.sum(1) - y, batch, 1.0)) <= 1 + 2**-10


def test_tiny_slopes_on_huge_inputs_are_clipped() -> None:
    model = nn.Linear(2, 1, bias=False)
    batch = (torch.tensor([[1e18, 1e18]]), torch.tensor([1e-21]))
    sums = clipped_gradient(model, lambda output, y: output[:, 0] * y, batch, max_norm=1e-6)
    assert norm(sums) <= 1e-6 * (1 + 2**-10)


def planned() -> tuple[hush.TrainPlan, tuple[Tensor, Tensor]]:
    plan = hush.train_plan(examples=100, batch_size=20, epochs=2, epsilon=3.0, delta=1e-3, scheme=hush.Allocation)
    return plan, (torch.rand(100, 3), torch.zeros(100, dtype=torch.long))


def test_two_runs_at_once_cannot_exceed_the_plan() -> None:
    plan, data = planned()
    gradient = PrivateGradient(nn.Linear(3, 2), F.cross_entropy, plan, max_norm=1.0)
    first, second = gradient.batches(data), gradient.batches(data)
    gradient(next(first))
    with pytest.raises(hush.InvalidParameter):
        gradient(next(second))  # an epoch that has begun is not begun anew
    with pytest.raises(hush.InvalidParameter):
        next(first)


def test_a_batch_that_was_drawn_and_left_out_is_a_step() -> None:
    plan, data = planned()
    gradient = PrivateGradient(nn.Linear(3, 2), F.cross_entropy, plan, max_norm=1.0)
    for place, batch in enumerate(gradient.batches(data)):
        if place % 5:
            gradient(batch)
    assert gradient.steps == plan.steps
    assert not list(gradient.batches(data))


def test_batch_norm_that_is_switched_to_training_is_refused() -> None:
    plan, data = planned()
    model = nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 2)).eval()
    gradient = PrivateGradient(model, F.cross_entropy, plan, max_norm=1.0)
    drawn = gradient.batches(data)
    gradient(next(drawn))
    model.train()
    with pytest.raises(hush.NotCovered):
        gradient(next(drawn))


def test_a_failed_step_leaves_no_sum_without_noise() -> None:
    plan, data = planned()
    model = nn.Linear(3, 2)
    gradient = PrivateGradient(model, F.cross_entropy, plan, max_norm=1.0)
    drawn = gradient.batches(data)
    gradient(next(drawn))

    class Stops(type(gradient.noise)):  # type: ignore[misc]
        def finish(self, *_: object) -> None:
            raise KeyboardInterrupt

    gradient.noise = Stops()
    with pytest.raises(KeyboardInterrupt):
        gradient(next(drawn))
    assert model.weight.grad is None


class Logarithms(nn.Module):
    """Rows meet, and normal numbers make it all NaN."""

    def __init__(self, *, mix: bool) -> None:
        super().__init__()
        self.layer, self.mix = nn.Linear(3, 2), mix

    def forward(self, values: Tensor) -> Tensor:
        logs = values.log()
        return self.layer(logs - logs.mean(0) if self.mix else logs)


def test_a_model_that_is_not_finite_on_normal_numbers_is_checked_on_others() -> None:
    batch = torch.rand(5, 3), torch.zeros(5, dtype=torch.long)
    with pytest.raises(hush.NotCovered):
        clipped_gradient(Logarithms(mix=True), F.cross_entropy, batch, 1.0)
    assert 0 < norm(clipped_gradient(Logarithms(mix=False), F.cross_entropy, batch, 1.0)) <= 5
    with pytest.raises(hush.NotCovered, match="not finite"):
        clipped_gradient(nn.Linear(3, 2), lambda output, y: output.sum(1) * math.nan, batch, 1.0)


def test_labels_out_of_range_and_holes_add_nothing() -> None:
    torch.manual_seed(0)
    model, inputs = nn.Linear(3, 2), torch.rand(4, 3)
    labels = torch.tensor([0, 1, 0, 1])
    wrong = clipped_gradient(model, F.cross_entropy, (inputs, torch.tensor([0, 7, -3, 1])), 1.0)
    right = clipped_gradient(model, F.cross_entropy, (inputs[[0, 3]], labels[[0, 3]]), 1.0)
    assert all(torch.allclose(wrong[name], right[name]) for name in right)
    odds = nn.Sequential(nn.Linear(3, 1), nn.Sigmoid(), nn.Flatten(0))
    inputs[2, 0] = math.nan
    holes = clipped_gradient(odds, F.binary_cross_entropy, (inputs, labels.float()), 1.0)
    whole = clipped_gradient(odds, F.binary_cross_entropy, (inputs[[0, 1, 3]], labels[[0, 1, 3]].float()), 1.0)
    assert all(torch.allclose(holes[name], whole[name]) for name in whole)
