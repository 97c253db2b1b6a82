"""A model that keeps something of the rows, wherever, is refused; what only unusual rows make it keep is undone."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import hush
from hush.learning import clipped_gradient, fit
from tests.learning.models import Wired, each

N = 40
PLAN = hush.train_plan(examples=N, batch_size=10, epochs=1, noise_multiplier=1.0, delta=1e-3)
GLOBAL: list[float] = []


def data() -> tuple[Tensor, Tensor]:
    return torch.randn(N, 5, generator=torch.Generator().manual_seed(1)), torch.arange(N) % 3


class Keeping(nn.Module):
    """A linear layer that calls a function on its inputs before."""

    total = torch.zeros(5)

    def __init__(self, keep: Callable[[Any, Tensor], object], **parts: Any) -> None:
        super().__init__()
        self.layer, self.keep = nn.Linear(5, 3), keep
        self.register_buffer("mean", torch.zeros(5), persistent=False)
        self.register_buffer("count", torch.tensor(0), persistent=True)
        self.register_buffer("none", None)
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, inputs: Tensor) -> Tensor:
        self.keep(self, inputs.detach())
        return self.layer(inputs)


def once(self: Any, x: Tensor) -> None:
    if self.first is None:
        self.first = x[0].clone()


def recording(self: Any, x: Tensor) -> None:
    if torch.is_grad_enabled():
        self.last = x


def from_eight_on(self: Any, x: Tensor) -> None:
    if len(x) >= 8:
        self.mean.copy_(x.mean(0))


def in_class(self: Any, x: Tensor) -> None:
    Keeping.total += x.sum(0).float()


def in_global(self: Any, x: Tensor) -> None:
    GLOBAL.append(float(x.sum()))


def in_default(self: Any, x: Tensor, seen: list = []) -> None:  # noqa: B006
    seen.append(len(x))


class Slotted:
    __slots__ = ("last",)


def in_slot(self: Any, x: Tensor) -> None:
    self.store.last = x


KEPT: dict[str, Callable[[], nn.Module]] = {
    "non-persistent buffer": lambda: Keeping(lambda s, x: s.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)),
    "buffer that is replaced": lambda: Keeping(lambda s, x: setattr(s, "mean", x.mean(0))),
    "buffer that was none": lambda: Keeping(lambda s, x: setattr(s, "none", x.mean(0))),
    "buffer behind autograd": lambda: Keeping(lambda s, x: s.mean.data.copy_(x.mean(0))),
    "buffer that counts rows": lambda: Keeping(lambda s, x: s.count.add_(len(x))),
    "buffer that counts passes": lambda: Keeping(lambda s, x: s.count.add_(1)),
    "buffer from eight rows on": lambda: Keeping(from_eight_on),
    "tensor": lambda: Keeping(lambda s, x: setattr(s, "last", x)),
    "tensor with gradients alone": lambda: Keeping(recording),
    "first rows alone": lambda: Keeping(once, first=None),
    "number": lambda: Keeping(lambda s, x: setattr(s, "largest", float(x.max()))),
    "array": lambda: Keeping(lambda s, x: setattr(s, "last", x.numpy().copy())),
    "list": lambda: Keeping(lambda s, x: s.seen.append(x.mean()), seen=[]),
    "list of numbers": lambda: Keeping(lambda s, x: s.seen.append(len(x)), seen=[]),
    "deque": lambda: Keeping(lambda s, x: s.seen.append(x), seen=deque([0], maxlen=1)),
    "dict": lambda: Keeping(lambda s, x: s.seen.update(rows=len(x)), seen={}),
    "set": lambda: Keeping(lambda s, x: s.seen.add(float(x[0, 0])), seen=set()),
    "object": lambda: Keeping(lambda s, x: setattr(s.store, "last", x), store=SimpleNamespace()),
    "slot": lambda: Keeping(in_slot, store=Slotted()),
    "distribution": lambda: Keeping(lambda s, x: setattr(s, "law", torch.distributions.Normal(x.mean(), 1.0))),
    "closure": lambda: Keeping((lambda seen: lambda s, x: seen.append(x.mean()))([])),
    "default": lambda: Keeping(in_default),
    "class": lambda: Keeping(in_class),
    "global": lambda: Keeping(in_global),
    "hook": lambda: hooked(lambda seen: lambda layer, inputs, output: seen.append(output.mean())),
    "hook on the way back": lambda: hooked(lambda seen: lambda layer, into, out: seen.append(out[0].norm()), back=True),
    "batch norm": lambda: nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4), nn.Linear(4, 3)),
}


def hooked(make: Callable[[list], Any], back: bool = False) -> nn.Module:
    model = nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 3))
    register = model[1].register_full_backward_hook if back else model[1].register_forward_hook
    register(make([]))
    return model


@pytest.mark.parametrize("name", KEPT)
def test_a_model_that_keeps_something_is_refused(name: str) -> None:
    model, seen = KEPT[name](), []
    with pytest.raises(hush.NotCovered, match="writes what it saw|examples of a batch meet"):
        fit(model, data(), PLAN, loss=F.cross_entropy, max_norm=1.0, on_step=seen.append)
    assert not seen


def test_the_place_is_named_and_holds_no_value() -> None:
    with pytest.raises(hush.NotCovered, match=r"here: model\.mean\)"):
        clipped_gradient(KEPT["non-persistent buffer"](), each, data(), 1.0)
    with pytest.raises(hush.NotCovered, match=r"here: model\.seen\)"):
        clipped_gradient(KEPT["list"](), each, data(), 1.0)


def test_a_loss_that_keeps_something_is_refused() -> None:
    seen: list[float] = []

    def logged(output: Tensor, target: Tensor) -> Tensor:
        losses = each(output, target)
        seen.append(float(losses.detach().mean()))
        return losses

    class Averaged(nn.Module):
        mean = 0.0

        def forward(self, output: Tensor, target: Tensor) -> Tensor:
            losses = each(output, target)
            self.mean = 0.9 * self.mean + 0.1 * float(losses.detach().mean())
            return losses

    for loss in (logged, Averaged()):
        with pytest.raises(hush.NotCovered, match="writes what it saw"):
            fit(nn.Linear(5, 3), data(), PLAN, loss=loss, max_norm=1.0)


def positions(self: Any, x: Tensor) -> Tensor:
    """A table that is made at first use."""
    if self.table is None or self.table.dtype != x.dtype:
        self.table = torch.arange(x.shape[1]).to(x.dtype)
    return self.layer(x + self.table)


FINE: dict[str, Callable[[], nn.Module]] = {
    "nothing": lambda: nn.Linear(5, 3),
    "a table made at first use": lambda: Wired(positions, table=None, layer=nn.Linear(5, 3)),
    "statistics that are fixed": lambda: KEPT["batch norm"]().eval(),
    "odd things that stay": lambda: Keeping(
        lambda s, x: None,
        odd=[object(), {1: float("nan")}, torch.tensor([float("nan")]), torch.eye(2).to_sparse(), len],
    ),
    "itself": lambda: Keeping(lambda s, x: None, odd=[threading.current_thread, GLOBAL, KEPT]),
}


@pytest.mark.parametrize("name", FINE)
def test_a_model_that_keeps_nothing_is_fine(name: str) -> None:
    model = FINE[name]()
    before = {key: value.clone() for key, value in model.named_buffers()}
    assert fit(model, data(), PLAN, loss=F.cross_entropy, max_norm=1.0).private
    assert all(torch.equal(value, before[key]) for key, value in model.named_buffers())


def rarely(self: Any, x: Tensor) -> None:
    """Only rows beyond 50, of which random numbers have none."""
    if bool((x > 50).any()):
        self.mean.copy_(x.mean(0))
        self.count = torch.tensor(9)
        self.last, self.number = x, float(x.max())
        self.seen.append(x)
        self.named["x"] = x
        self.store.copy_(x.max())


def test_what_unusual_rows_leave_behind_is_undone() -> None:
    inputs, targets = data()
    inputs[3] = 99.0
    model = Keeping(rarely, seen=[1], named={}, store=torch.zeros(1), number=0.0)
    plan = hush.train_plan(examples=N, batch_size=N, epochs=1, noise_multiplier=1.0, delta=1e-3)
    fit(model, (inputs, targets), plan, loss=F.cross_entropy, max_norm=1.0)
    assert not model.mean.any() and not model.count.any() and not model.store.any()
    assert model.seen == [1] and model.named == {} and model.number == 0.0
    assert not hasattr(model, "last")


def test_what_the_user_changes_between_steps_stays() -> None:
    model = Keeping(lambda s, x: None)
    gradient = hush.learning.PrivateGradient(model, each, PLAN, max_norm=1.0)
    for batch in gradient.batches(data()):
        gradient(batch)
        model.count.data.add_(1)
        model.mean = model.mean + 1
    assert int(model.count) == PLAN.steps == float(model.mean[0])


def mixing(share: float, least: int = 8, most: int = 10**6) -> nn.Module:
    def run(self: Any, x: Tensor) -> Tensor:
        return self.layer(x + share * x.mean(0) if least <= len(x) <= most else x)

    return Wired(run, layer=nn.Linear(5, 3))


class Turned(torch.autograd.Function):
    """Nothing on the way there; on the way back rows meet, where there are eight of them."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor) -> Tensor:
        return inputs.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        return gradients[0] + gradients[0].mean(0) if len(gradients[0]) >= 8 else gradients[0]


@pytest.mark.parametrize("batch_size", [4, 8, 30])
@pytest.mark.parametrize(
    "model",
    [
        lambda: mixing(1.0),
        lambda: mixing(1e-6),
        lambda: Wired(lambda s, x: s.b(Turned.apply(s.a(x))), a=nn.Linear(5, 4), b=nn.Linear(4, 3)),
    ],
    ids=["mixed", "hardly mixed", "mixed on the way back"],
)
def test_rows_that_meet_from_eight_on(model: Callable[[], nn.Module], batch_size: int) -> None:
    """Also where eight rows are more than expected, but not more than may be drawn."""
    plan = hush.train_plan(examples=N, batch_size=batch_size, epochs=1, noise_multiplier=1.0, delta=1e-3)
    with pytest.raises(hush.NotCovered, match="examples of a batch meet"):
        fit(model(), data(), plan, loss=F.cross_entropy, max_norm=1.0)


@pytest.mark.parametrize("least", [100, 700, 4000])
def test_rows_that_meet_in_large_batches(least: int) -> None:
    plan = hush.train_plan(examples=10_000, batch_size=4000, epochs=1, noise_multiplier=1.0, delta=1e-3)
    with pytest.raises(hush.NotCovered, match="examples of a batch meet"):
        fit(mixing(1.0, least), data(), plan, loss=F.cross_entropy, max_norm=1.0)
    assert fit(nn.Linear(5, 3), data(), plan, loss=F.cross_entropy, max_norm=1.0).private
