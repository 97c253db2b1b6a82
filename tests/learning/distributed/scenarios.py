"""What ranks do in tests: each function runs in every process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

import hush
from hush.arrays import Array
from hush.learning import PrivateGradient, Ranks, SecureNoise, fit
from hush.learning.distributed.split_draws import rank_batches

N = 60
PLAN = hush.train_plan(examples=N, batch_size=12, epochs=1, noise_multiplier=1.5, delta=1e-3)
SHUFFLED = hush.train_plan(
    examples=N, batch_size=12, epochs=1, noise_multiplier=1.5, delta=1e-3, scheme=hush.ShuffledBatches
)
TIMEOUT = 60.0


@dataclass(frozen=True)
class Silent(SecureNoise):
    """No noise at all, so that sums can be compared."""

    def add(self, multiples: Array, deviation: float) -> None:
        pass


def data(rows: int = N) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows whose last column is their own number."""
    inputs = torch.randn(N, 4, generator=torch.Generator().manual_seed(3))
    inputs[:, 3] = torch.arange(N) / N
    return inputs[:rows], (inputs[:rows, 0] > 0).long()


def model_of(seed: int = 1) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2))


def shard_of(ranks: Ranks) -> tuple[torch.Tensor, torch.Tensor]:
    return tuple(column[ranks.rank :: ranks.size] for column in data())  # type: ignore[return-value]


def sums(folder: Path, sharded: bool, plan: hush.TrainPlan = PLAN) -> list[tuple[list[int], torch.Tensor]]:
    """Of each step: the records that this rank drew, and the gradient that it got; without noise."""
    ranks = Ranks(sharded=sharded, timeout=TIMEOUT)
    coins = hush.SeededSource(10 + ranks.rank)
    noise = Silent(hush.SeededSource(90 + ranks.rank))
    model = model_of(seed=ranks.rank)  # which differ at first
    gradient = PrivateGradient(model, F.cross_entropy, plan, max_norm=0.3, noise=noise, ranks=ranks)
    found = []
    for batch in gradient.batches(shard_of(ranks) if sharded else data(), coins):
        drawn = (batch.examples[0][:, 3] * N).round().long().tolist()
        gradient(batch)
        found.append((drawn, torch.cat([p.grad.flatten() for p in model.parameters()])))
    return found


def noise_alone(folder: Path, rows: int, steps: int, width: int) -> torch.Tensor:
    """The gradients of a run on next to no records: noise, from seeds that differ."""
    ranks = Ranks(timeout=TIMEOUT)
    plan = hush.train_plan(examples=N, batch_size=12, epochs=steps / 5, noise_multiplier=1.5, delta=1e-3)
    noise = SecureNoise(hush.SeededSource(20 + ranks.rank))
    model = nn.Linear(4, width)
    gradient = PrivateGradient(model, F.cross_entropy, plan, max_norm=2.0, noise=noise, ranks=ranks)
    found = []
    for batch in gradient.batches(data(rows), hush.SeededSource(1)):
        gradient(batch)
        found.append(torch.cat([p.grad.flatten() for p in model.parameters()]))
    return torch.stack(found)


def draws(folder: Path, steps: int, sharded: bool) -> list[list[int]]:
    """The records that this rank works on, by their numbers in the whole data, in each of many steps."""
    ranks = Ranks(sharded=sharded, timeout=TIMEOUT)
    plan = hush.train_plan(examples=N, batch_size=12, epochs=steps / 5, noise_multiplier=1.5, delta=1e-3)
    own = len(range(ranks.rank, N, ranks.size)) if sharded else N
    found = rank_batches(plan, own, hush.SeededSource(40 + ranks.rank), start=0, ranks=ranks)
    return [(batch * ranks.size + ranks.rank if sharded else batch).tolist() for batch in found]


def trained(folder: Path, name: str, resume: str = "", stop: int = 0, plan: hush.TrainPlan = PLAN) -> Any:
    """A fit with real noise, saved after every step; it stops after so many of them, where a number is given."""
    ranks = Ranks(timeout=TIMEOUT)
    shown: list[int] = []

    def on_step(progress: Any) -> None:
        shown.append(progress.step)
        if progress.step == stop:
            raise StopIteration

    options: dict[str, Any] = {"save_to": folder / name, "save_every": plan.epoch_steps, "on_step": on_step}
    if resume:
        options["resume_from"] = folder / resume
    model = model_of(seed=5)
    try:
        done = fit(model, data(), plan, loss=F.cross_entropy, max_norm=1.0, ranks=ranks, **options)
    except StopIteration:
        return shown, None
    return shown, (
        done.steps,
        done.epsilon if hasattr(done, "epsilon") else done.bound.upper,
        done.private,
        weights(model),
    )


def weights(model: nn.Module) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in model.parameters()])
