"""Users are drawn and protected, not rows: each one's gradient is that of all her rows, clipped as a whole."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

import hush
from hush.arrays import Array
from hush.learning import Automatic, Clipping, Flat, PerLayer, PrivateGradient, RowUsers, SecureNoise, fit

USERS, ROWS, NORM = 12, 60, 0.2
FLAT = Flat()
PLAN = hush.train_plan(examples=USERS, batch_size=6, epochs=3, noise_multiplier=1.5, delta=1e-2)


@dataclass(frozen=True)
class NoNoise(SecureNoise):
    """Nothing is added, so that sums can be compared."""

    def add(self, multiples: Array, deviation: float) -> None:
        pass


def data(rows: int = ROWS) -> tuple[torch.Tensor, torch.Tensor]:
    inputs = torch.randn(rows, 4, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    return inputs, (inputs[:, 0] > 0).long()


def ids(rows: int = ROWS) -> list[int]:
    """Some users have one row, one has a third of all."""
    owner = np.random.default_rng(1).integers(0, USERS, rows)
    owner[: rows // 3] = 5
    owner[-USERS:] = range(USERS)
    return owner.tolist()


def model_of() -> nn.Module:
    torch.manual_seed(2)
    return nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2)).double()


def steps_of(unit: object, rows: object, plan: hush.TrainPlan = PLAN, **options: object) -> list[torch.Tensor]:
    """The gradient of every step, without noise, at the same weights."""
    model = model_of()
    gradient = PrivateGradient(model, F.cross_entropy, plan, max_norm=NORM, noise=NoNoise(), **options)
    found = []
    for batch in gradient.batches(rows, hush.SeededSource(4), unit=unit):
        gradient(batch)
        found.append(torch.cat([p.grad.flatten() for p in model.parameters()]))
    return found


def expected(owners: list[int], gradient: str, clipping: str) -> list[torch.Tensor]:
    """The same by plain differentiation, user by user."""
    model, (inputs, targets) = model_of(), data()
    users = list(dict.fromkeys(owners))
    found = []
    for drawn in PLAN.batches(USERS, hush.SeededSource(4)):
        total = [torch.zeros_like(p) for p in model.parameters()]
        for user in drawn:
            own = [place for place, owner in enumerate(owners) if owner == users[user]]
            loss = F.cross_entropy(model(inputs[own]), targets[own], reduction=gradient)
            parts = torch.autograd.grad(loss, list(model.parameters()))
            for layer in (parts,) if clipping == "flat" else (parts[:2], parts[2:]):
                norm = torch.cat([part.flatten() for part in layer]).norm()
                kept = min(1.0, NORM / (1 if clipping == "flat" else 2**0.5) / float(norm))
                for place, part in enumerate(parts):
                    if any(part is one for one in layer):
                        total[place] += kept * part
        found.append(torch.cat([part.flatten() for part in total]) / PLAN.expected_batch)
    return found


@pytest.mark.parametrize("gradient", ["mean", "sum"])
@pytest.mark.parametrize("clipping", ["flat", "layers"])
def test_gradients_of_users_vs_plain_ones(gradient: str, clipping: str) -> None:
    unit = RowUsers(ids(), gradient=gradient)  # type: ignore[arg-type]
    kind = {"flat": Flat(), "layers": PerLayer()}[clipping]
    pairs = zip(steps_of(unit, data(), clipping=kind), expected(ids(), gradient, clipping), strict=True)
    for found, wanted in pairs:
        assert float((found - wanted).abs().max()) < 1e-6  # the grid's step


@pytest.mark.parametrize("gradient", ["mean", "sum"])
@pytest.mark.parametrize("clipping", [Flat(), PerLayer(), Automatic()])
def test_a_user_moves_the_sum_by_one_norm_however_many_rows_she_has(gradient: str, clipping: Clipping) -> None:
    one_user_moves_one_norm(gradient, clipping)


def one_user_moves_one_norm(gradient: str, clipping: Clipping = FLAT) -> None:
    """Hundreds of rows, some of them hostile, in several micro-batches."""
    everyone = hush.train_plan(examples=2, batch_size=2, epochs=1, noise_multiplier=1.0, delta=1e-2)
    inputs, targets = data(900)
    inputs[:5] *= torch.tensor([1e3, 1e30, torch.nan, torch.inf, 1e-300]).double().unsqueeze(1)
    for other in (1, 300, 899):
        owners = ["a"] * other + ["b"] * (900 - other)
        rest = [owner if owner == "b" else None for owner in owners]
        both, one = (
            steps_of(RowUsers(unit, gradient=gradient), (inputs, targets), everyone, clipping=clipping)[0]  # type: ignore[arg-type]
            for unit in (owners, rest)
        )
        moved = float((both - one).norm()) * everyone.expected_batch
        assert moved <= NORM * (1 + 2**-10)
    assert moved > 0.5 * NORM


@pytest.mark.parametrize("kind", [torch.tensor, np.array, list, tuple, lambda ids: [f"user {i}" for i in ids]])
def test_ids_of_any_kind(kind: object) -> None:
    pairs = zip(steps_of(kind(ids()), data()), steps_of(ids(), data()), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)


def test_rows_without_an_id_are_left_out() -> None:
    owners = ids()
    holes: list[object] = [None if place % 3 == 0 else owner for place, owner in enumerate(owners)]
    kept = [place for place in range(ROWS) if place % 3]
    alone = steps_of([owners[place] for place in kept], tuple(column[kept] for column in data()))
    for hole in (None, float("nan"), [], np.datetime64("NaT")):
        given = [hole if owner is None else owner for owner in holes]
        assert all(torch.equal(a, b) for a, b in zip(steps_of(given, data()), alone, strict=True))


@pytest.mark.parametrize("unit", [["Ann", "Bob"], 7, "Ann", {"Ann": 1}, [["Ann"] * ROWS], ["Ann"] * (ROWS - 1)])
def test_no_id_is_in_a_message(unit: object) -> None:
    with pytest.raises(hush.InvalidParameter, match="one id per row") as error:
        steps_of(unit, data())
    assert "Ann" not in str(error.value) and "59" not in str(error.value)


def test_the_plan_is_one_of_users() -> None:
    model = model_of()
    exact = hush.train_plan(
        examples=USERS, batch_size=6, epochs=1, noise_multiplier=1.0, delta=1e-2, scheme=hush.WithoutReplacement
    )
    trained = fit(model, data(), exact, loss=F.cross_entropy, max_norm=1.0, unit=ids())
    assert trained.steps == exact.steps and "every single user" in trained.statement()
    with pytest.raises(hush.InvalidParameter, match="planned number"):
        fit(model, data(), exact, loss=F.cross_entropy, max_norm=1.0)
    with pytest.raises(hush.InvalidParameter, match="gradient='mean' or 'sum'"):
        RowUsers(ids(), gradient="median")  # type: ignore[arg-type]
