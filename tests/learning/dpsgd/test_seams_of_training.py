"""Where parts of a training meet: units, buffers and counts that one example or user must not move by more than one norm."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import Dataset

import hush
from hush.learning import AdaptiveNorm, PrivateGradient, RowUsers, fit
from hush.learning.dpsgd.gradient_noise import GradientNoise

PLAN = hush.train_plan(examples=20, batch_size=20, epochs=1, noise_multiplier=1.0, delta=1e-3)


def loss(output: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return output[:, 0] - targets


class NoNoise(GradientNoise):
    """Keeps the sum, and what noise would be charged for."""

    private = False

    def begin(self, flat: torch.Tensor, noise_multiplier: float, max_norm: float) -> None: ...

    def finish(self, flat: torch.Tensor, noise_multiplier: float, max_norm: float) -> None:
        self.flat, self.charged = flat.clone(), max_norm


def summed(data: Any, model: nn.Module | None = None, **given: Any) -> NoNoise:
    noise, model = NoNoise(), model or nn.Linear(4, 1, bias=False)
    gradient = PrivateGradient(model, loss, PLAN, max_norm=1.0, noise=noise)
    for batch in gradient.batches(data, **given):
        gradient(batch)
    return noise


class Reused(Dataset[Any]):
    """Rows that are written into one buffer."""

    def __init__(self, rows: torch.Tensor) -> None:
        self.rows, self.buffer = rows, torch.zeros(4)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: int) -> Any:
        self.buffer.copy_(self.rows[place])
        return self.buffer, torch.zeros(())


def test_rows_in_one_buffer_are_rows_of_their_own() -> None:
    rows = torch.eye(4).repeat(5, 1)
    plain = summed((rows, torch.zeros(20)))
    reused = summed(Reused(rows), collate_fn=lambda given: (given[0][0][None], given[0][1][None]))
    assert torch.allclose(plain.flat, reused.flat)


@pytest.mark.parametrize(
    "given",
    [list, tuple, lambda ids: [i.numpy() for i in ids], lambda ids: ids],
    ids=["list", "tuple", "arrays", "tensor"],
)
def test_equal_ids_are_one_user_however_they_are_given(given: Any) -> None:
    found = summed((torch.full((20, 4), 5.0), torch.zeros(20)), unit=given(torch.zeros(20, dtype=torch.long)))
    assert float(found.flat.norm()) <= 1.001 * found.charged


def test_what_compares_by_its_place_is_no_id() -> None:
    assert RowUsers([object(), object(), 1]).places(3)[0].tolist() == [2]


class Remembers(nn.Module):
    """Rows beyond 50, of which random numbers have none, turn all that come after them."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 1, bias=False)
        self.register_buffer("seen", torch.ones(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if bool((x.abs() > 50).any()):
            self.seen.fill_(-1.0)
        return self.layer(x * self.seen)


def test_what_a_user_leaves_in_a_model_moves_no_other_user() -> None:
    rows, ids = torch.rand(20, 4) + 0.5, [place // 2 for place in range(20)]
    rows[0] = 1000.0
    without = [None if user == 0 else user for user in ids]
    every, others = (summed((rows, torch.zeros(20)), Remembers(), unit=unit) for unit in (ids, without))
    assert float((every.flat - others.flat).norm()) <= 1.001 * every.charged


def test_rows_that_fill_a_pass_are_not_counted() -> None:
    with pytest.raises(hush.NotCovered, match="AdaptiveNorm with autocast"):
        PrivateGradient(nn.Linear(4, 1), loss, PLAN, max_norm=AdaptiveNorm(1.0), autocast=torch.bfloat16)


def test_a_checkpoint_is_bound_to_its_unit(tmp_path: Path) -> None:
    data, model = (torch.randn(20, 4), torch.zeros(20)), nn.Linear(4, 1)
    fit(model, data, PLAN, loss=loss, max_norm=1.0, save_to=tmp_path / "run")
    with pytest.raises(hush.InvalidParameter, match="unit"):
        fit(model, data, PLAN, loss=loss, max_norm=1.0, resume_from=tmp_path / "run", unit=[0] * 20)


def test_a_plan_has_the_bound_of_its_mechanism() -> None:
    with pytest.raises(ValueError, match="bound"):
        replace(PLAN, bound=hush.Bound(0.0, 0.1, quantity="epsilon", delta=PLAN.delta))
    assert replace(PLAN, delta=1e-5).bound == PLAN.mechanism.epsilon(delta=1e-5)


def test_users_are_charged_to_a_budget_of_users(tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy")
    from hush.ledger import Budget, Ledger

    book = Ledger.create(tmp_path / "budget.db")
    book.add("records", Budget(epsilon=50.0, delta=1e-3))
    book.add("users", Budget(epsilon=50.0, delta=1e-3, unit="user"))
    data, ids = (torch.randn(20, 4), torch.zeros(20)), list(range(20))
    with pytest.raises(hush.HushError, match="unit"):
        fit(nn.Linear(4, 1), data, PLAN, loss=loss, max_norm=1.0, unit=ids, ledger=book.account("records"))
    fit(nn.Linear(4, 1), data, PLAN, loss=loss, max_norm=1.0, unit=ids, ledger=book.account("users"))
