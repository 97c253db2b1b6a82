"""What ranks do in tests: each function runs in every process."""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

import hush
from hush.arrays import Array
from hush.learning import AdaptiveNorm, Automatic, FastNoise, PrivateGradient, Ranks, SecureNoise, fit
from hush.learning.distributed.split_draws import rank_batches
from hush.ledger import Budget, Ledger
from hush.randomness.source import SECURE

N = 60
PLAN = hush.train_plan(examples=N, batch_size=12, epochs=1, noise_multiplier=1.5, delta=1e-3)
SHUFFLED = hush.train_plan(
    examples=N, batch_size=12, epochs=1, noise_multiplier=1.5, delta=1e-3, scheme=hush.ShuffledBatches
)
TIMEOUT = 200.0


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


BANDED = hush.BandedNoise((0.8, 0.6))


def correlated_noise_alone(folder: Path, size: int) -> torch.Tensor:
    """The gradients of a run with banded noise, on next to no records."""
    ranks = Ranks(timeout=TIMEOUT)
    plan = hush.train_plan(examples=N, batch_size=12, epochs=8, noise_multiplier=1.5, delta=1e-3, noise=BANDED)
    noise = SecureNoise(hush.SeededSource(20 + ranks.rank))
    model = nn.Linear(4, 41)
    gradient = PrivateGradient(model, F.cross_entropy, plan, max_norm=2.0, noise=noise, ranks=ranks)
    found = []
    for batch in gradient.batches(data(0), hush.SeededSource(1)):
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


@dataclass(frozen=True)
class Lost(SecureNoise):
    """Rank 1 gets a signal at the worst moment of its third step: it holds a whole sum, and has not noised it yet."""

    signal: int = signal.SIGKILL
    seen: list[int] = field(default_factory=list)

    def add(self, multiples: Array, deviation: float) -> None:
        self.seen.append(len(multiples))
        if len(self.seen) == 3 and dist.get_rank() == 1:
            os.kill(os.getpid(), self.signal)
        super().add(multiples, deviation)


class LostInForward(nn.Module):
    """Rank 1 gets a signal while it works on the rows of its third step."""

    def __init__(self, signal: int) -> None:
        super().__init__()
        self.inner, self.signal = model_of(seed=5), signal

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        if dist.get_rank() == 1 and STEP[0] == 3:
            os.kill(os.getpid(), self.signal)
        return self.inner(inputs)


STEP = [0]


def lost(folder: Path, sent: int, moment: str, timeout: float) -> Any:
    """Who is named, and what the survivors' model and gradients are, against the last checkpoint."""
    ranks = Ranks(timeout=timeout)
    model = LostInForward(sent) if moment == "rows" else model_of(seed=5)
    noise = Lost(signal=sent) if moment == "sum" else SecureNoise()
    kept: list[torch.Tensor] = [weights(model)]

    def on_step(progress: Any) -> None:
        STEP[0] = progress.step + 1
        kept.append(weights(model))

    options: dict[str, Any] = {"save_to": folder / "last", "save_every": 1, "on_step": on_step, "noise": noise}
    try:
        fit(model, data(), PLAN, loss=F.cross_entropy, max_norm=1.0, ranks=ranks, **options)
    except hush.RankLost as error:
        gradients = [p.grad for p in model.parameters() if p.grad is not None]
        return error.ranks, str(error), len(kept) - 1, torch.equal(weights(model), kept[-1]), len(gradients)
    return None


def wrong_on_one(folder: Path, names: list[str]) -> dict[str, tuple[str, str, int]]:
    """What each mistake of one rank raises here, and whether anything was drawn before."""
    found = {}
    for name in names:
        source = Counting(7 + dist.get_rank())
        ranks = Ranks(sharded=name in SHARDED, timeout=TIMEOUT)
        model, options = model_of(), dict(PROPER, source=source, noise=SecureNoise(hush.SeededSource(dist.get_rank())))
        rows: Any = data()
        with pytest.MonkeyPatch.context() as patch:
            if dist.get_rank() == 1 or name in EVERYWHERE:
                model, rows = WRONG[name](model, rows, options, patch) or (model, rows)
            try:
                fit(model, rows, options.pop("plan"), ranks=ranks, **options)
                found[name] = "none", "", source.asked
            except (hush.HushError, LookupError) as error:
                found[name] = type(error).__name__, str(error), source.asked
    return found


class Counting(hush.SeededSource):
    """A seed that counts how many words were asked for."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.asked = 0

    def words(self, count: int) -> Array:
        self.asked += count
        return super().words(count)


class Odd:
    """It fails in a way of its own, when it is first looked at."""

    @property
    def param_groups(self) -> None:
        raise LookupError("something of its own")


PROPER: dict[str, Any] = {"plan": PLAN, "loss": F.cross_entropy, "max_norm": 1.0}
OTHER = hush.train_plan(examples=N, batch_size=12, epochs=2, noise_multiplier=1.5, delta=1e-3)


def put(**changed: Any) -> Callable[..., None]:
    return lambda model, rows, options, patch: options.update(changed)


def given(rows: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda model, data, options, patch: (model, rows(data))


def instead(made: Callable[[], nn.Module]) -> Callable[..., Any]:
    return lambda model, data, options, patch: (made(), data)


def other_optimizer(model: nn.Module, rows: Any, options: dict[str, Any], patch: pytest.MonkeyPatch) -> None:
    options["optimizer"] = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)


def other_version(model: nn.Module, rows: Any, options: dict[str, Any], patch: pytest.MonkeyPatch) -> None:
    patch.setattr(hush, "__version__", "0.0.1")


WRONG: dict[str, Callable[..., Any]] = {
    "another plan": put(plan=OTHER),
    "no plan": put(plan=3),
    "another max_norm": put(max_norm=2.0),
    "no max_norm": put(max_norm=math.nan),
    "another clipping": put(clipping=Automatic()),
    "torch's noise": put(noise=FastNoise()),
    "secret coins beside seeds": put(noise=SecureNoise()),
    "the same seed of noise": put(noise=SecureNoise(hush.SeededSource(3))),
    "the same seed of draws": put(source=hush.SeededSource(3)),
    "a checkpoint that is not there": put(resume_from="nowhere"),
    "another loss": put(loss=F.multi_margin_loss),
    "a loader": given(lambda rows: DataLoader(TensorDataset(*rows), batch_size=2, shuffle=True)),
    "rows of another shape": given(lambda rows: (rows[0][:, :3], rows[1])),
    "rows of another type": given(lambda rows: (rows[0].double(), rows[1])),
    "targets of another shape": given(lambda rows: (rows[0], F.one_hot(rows[1], 2).float())),
    "fewer rows": given(lambda rows: (rows[0][:7], rows[1][:7])),
    "another model": instead(lambda: nn.Linear(4, 2)),
    "a model elsewhere": instead(lambda: nn.Linear(4, 2, device="meta")),
    "a wrapped model": instead(lambda: DistributedDataParallel(nn.Linear(4, 2))),
    "an optimizer of its own kind": put(optimizer=Odd()),
    "another optimizer": other_optimizer,
    "another version": other_version,
    "a scheme that draws once for all": put(plan=SHUFFLED),
}
SHARDED = {"the same seed of draws", "a scheme that draws once for all"}
EVERYWHERE = {*SHARDED, "the same seed of noise", "a wrapped model"}


def unequal_steps(folder: Path) -> tuple[list[str], int]:
    """A loop of one's own in which rank 1 leaves out a batch."""
    ranks, found = Ranks(timeout=TIMEOUT), []
    gradient = PrivateGradient(model_of(), F.cross_entropy, PLAN, max_norm=1.0, ranks=ranks)
    for batch in gradient.batches(data()):
        if batch.step == 1 and ranks.rank == 1:
            continue
        try:
            gradient(batch)
        except hush.HushError as error:
            found.append(str(error))
            break
    return found, sum(p.grad is not None for p in gradient.model.parameters())


def withheld(folder: Path) -> str:
    """Rank 1 fails on private rows, in a way that nobody may be told of."""
    ranks = Ranks(timeout=TIMEOUT)
    gradient = PrivateGradient(model_of(), F.cross_entropy, PLAN, max_norm=1.0, ranks=ranks)
    for batch in gradient.batches(data()):
        if ranks.rank == 1:
            batch.examples = "no rows"
        try:
            gradient(batch)
        except hush.HushError as error:
            return str(error)
    return ""


def shard_without_rows(folder: Path) -> list[torch.Tensor]:
    """All records are with rank 0; rank 1 has none, and takes part."""
    ranks = Ranks(sharded=True, timeout=TIMEOUT)
    model = model_of()
    done = fit(model, data(0 if ranks.rank else N), PLAN, loss=F.cross_entropy, max_norm=1.0, ranks=ranks)
    assert done.steps == PLAN.steps and done.private
    return [weights(model)]


def coins_of_forks(folder: Path) -> list[bytes]:
    """Words of this process, and of two processes forked from it after it had drawn."""
    SECURE.words(4)
    found = [SECURE.words(4).tobytes()]
    for _ in range(2):
        reads, writes = os.pipe()
        if os.fork() == 0:
            os.write(writes, SECURE.words(4).tobytes())
            os._exit(0)
        os.wait()
        found.append(os.read(reads, 64))
    return found


def user_sums(folder: Path, adaptive: bool) -> tuple[list[list[int]], list[torch.Tensor], float]:
    """Of each step: the users of this rank, and the gradient without noise; and the norm in the end."""
    ranks = Ranks(timeout=TIMEOUT)
    users = [row % 15 for row in range(N)]
    plan = hush.train_plan(examples=15, batch_size=5, epochs=2, noise_multiplier=1.5, delta=1e-2)
    noise, model = Silent(hush.SeededSource(90 + ranks.rank)), model_of()
    norm = AdaptiveNorm(0.3) if adaptive else 0.3
    gradient = PrivateGradient(model, F.cross_entropy, plan, max_norm=norm, noise=noise, ranks=ranks)
    drawn, found = [], []
    for batch in gradient.batches(data(), hush.SeededSource(1), unit=users):
        drawn.append([int(own[0]) for own in batch.examples.places])
        gradient(batch)
        found.append(torch.cat([p.grad.flatten() for p in model.parameters()]))
    return drawn, found, gradient.norms.state


def users_on_shards(folder: Path) -> str:
    """Rows of one user may be with two ranks, and nothing shows it."""
    gradient = PrivateGradient(model_of(), F.cross_entropy, PLAN, max_norm=1.0, ranks=Ranks(sharded=True))
    try:
        next(gradient.batches(data(), unit=[0] * N))
    except hush.NotCovered as error:
        return str(error)
    return ""


def paid_fit(
    folder: Path, epsilon: float, key: str | None, given: str = "all", dies: int = 0, resume: bool = False
) -> Any:
    """A fit that a book pays for: its steps, or the error; how often words were asked for; and what is spent."""
    ranks = Ranks(timeout=TIMEOUT)
    path = folder / "budget.db"
    if ranks.leads and not path.exists():
        Ledger.create(path).add("data", Budget(epsilon=epsilon, delta=1e-2))
    dist.barrier()
    book = Ledger.open(path)
    account = book.account("data", key=key) if key else book
    source, shown = Secret(), []

    def on_step(progress: Any) -> None:
        shown.append(progress.step)
        if progress.step == dies and ranks.rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)

    options: dict[str, Any] = {"save_to": folder / "paid", "save_every": 2, "on_step": on_step} if key else {}
    if resume:
        options["resume_from"] = folder / "paid"
    if given == "all" or ranks.leads:
        options["ledger"] = account
    model = model_of()
    try:
        done = fit(model, data(), PLAN, loss=F.cross_entropy, max_norm=1.0, ranks=ranks, source=source, **options)
        said = "done", str(done.steps)
    except hush.HushError as error:
        said = type(error).__name__, str(error)
    entries = len([entry for entry in book.last_entries(100) if entry.mechanism])
    return said, source.asked, entries, shown, weights(model)


class Secret(Counting):
    """Secret words that are counted."""

    private = True

    def __init__(self) -> None:
        super().__init__(0)

    def words(self, count: int) -> Array:
        self.asked += count
        return SECURE.words(count)
