"""What an extreme row leaves in a model moves no other row's gradient: not in its pass, nor in those after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from hush.learning import clipped_gradient
from hush.learning.dpsgd.clip_norms import NormStep
from hush.learning.model_state.undo import Restored
from hush.learning.per_example import clipped_sum
from hush.learning.per_example.clipping import Flat
from tests.learning.models import Wired

FEW = 4
"""Rows of a micro-batch, so that a batch has many."""


def loss(output: Tensor, targets: Tensor) -> Tensor:
    return output[:, 0] - targets


def remembered(self: Any, x: Tensor) -> Tensor:
    """Rows beyond 50, of which random numbers have none, turn all that come after them."""
    if bool((x.abs() > 50).any()):
        self.seen.fill_(-1.0)
    return self.layer(x * self.seen)


def in_a_list(self: Any, x: Tensor) -> Tensor:
    if bool((x.abs() > 50).any()):
        self.kept.append(-1.0)
    return self.layer(x * self.kept[-1])


def then_fails(self: Any, x: Tensor) -> Tensor:
    if bool((x.abs() > 50).any()):
        self.kept.append(-1.0)
        raise ValueError
    return self.layer(x * self.kept[-1])


def given_to_a_layer(self: Any, x: Tensor) -> Tensor:
    """A buffer is the input of a layer: its gradient is as long as what the buffer holds."""
    if bool((x.abs() > 50).any()):
        self.seen.mul_(1e-6)
        x = x / 1000
    return self.layer(x) + self.other(self.seen.expand(len(x), 1))


def shortened(self: Any, x: Tensor) -> Tensor:
    """The gradient of a weight's direction is as long as the weight."""
    if bool((x.abs() > 50).any()):
        self.layer.parametrizations.weight.original0.data.mul_(1e-6)
        x = x / 1000
    return self.layer(x)


def long_weight() -> nn.Module:
    layer = nn.utils.parametrizations.weight_norm(nn.Linear(4, 1, bias=False))
    nn.init.constant_(layer.parametrizations.weight.original0, 1000.0)  # type: ignore[union-attr, index, arg-type]
    return Wired(shortened, layer=layer)


def first_use(self: Any, x: Tensor) -> Tensor:
    """A table that ordinary rows make too."""
    if self.table is None:
        self.table = torch.ones(4, dtype=x.dtype)
    return remembered(self, x * self.table.to(x.dtype))


def wired(run: Callable[[Any, Tensor], Tensor], **parts: Any) -> nn.Module:
    model = Wired(run, layer=nn.Linear(4, 1, bias=False), **parts)
    model.register_buffer("seen", torch.ones(1))
    return model


def long_buffer() -> nn.Module:
    model = wired(given_to_a_layer, other=nn.Linear(1, 1, bias=False))
    model.get_buffer("seen").fill_(1000.0)
    return model


def quantised() -> nn.Module:
    """Observers of torch whose range ordinary rows do not leave."""
    from torch.ao.quantization import FakeQuantize, MinMaxObserver

    fake = FakeQuantize(observer=MinMaxObserver, quant_min=0, quant_max=255, dtype=torch.quint8)
    fake(torch.tensor([-20.0, 20.0]))
    return nn.Sequential(fake, nn.Linear(4, 1, bias=False))


MODELS: dict[str, Callable[[], nn.Module]] = {
    "buffer": lambda: wired(remembered),
    "list": lambda: wired(in_a_list, kept=[1.0]),
    "list before an error": lambda: wired(then_fails, kept=[1.0]),
    "besides a table made at first use": lambda: wired(first_use, table=None),
    "observer": quantised,
    "buffer that a layer reads": long_buffer,
    "length of a weight": long_weight,
}


@pytest.mark.filterwarnings("ignore")  # that quantisation moves to another package
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("most", [1, FEW, 64])
def test_one_row_moves_the_sum_by_one_norm(name: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clipped_sum, "LARGEST", most)
    torch.manual_seed(3)
    model = MODELS[name]()
    rows = torch.rand(12, 4) + 0.5
    extreme = torch.cat([rows[:2], torch.full((1, 4), 1000.0), rows[2:]])
    sums = [clipped_gradient(model, loss, (x, torch.zeros(len(x))), 1.0) for x in (rows, extreme)]
    moved = torch.cat([(one - other).flatten() for one, other in zip(sums[0].values(), sums[1].values(), strict=True)])
    assert float(moved.norm()) <= 1.0 + 1e-5


def grown_into_the_graph(model: Any) -> None:
    model.seen.mul_(1).add_(0 * model.layer(torch.ones(4)))  # the same numbers, with the row behind them


def written_in_another_shape(model: Any) -> None:
    model.known.shape = 3, 2
    model.known[0] = 5
    model.known.flags.writeable = False


LEFT: dict[str, tuple[Callable[[Any], object], Callable[[Any], object]]] = {
    "not trained": (
        lambda model: model.layer.weight.requires_grad_(False),
        lambda model: model.layer.weight.requires_grad,
    ),
    "trained": (lambda model: model.seen.requires_grad_(True), lambda model: model.seen.requires_grad),
    "graph": (grown_into_the_graph, lambda model: (model.seen.is_leaf, model.seen.requires_grad)),
    "hook": (lambda model: model.layer.weight.register_hook(id), lambda model: model.layer.weight._backward_hooks),
    "equal numbers elsewhere": (
        lambda model: setattr(model.seen, "data", model.seen.data.clone()),
        lambda model: model.seen.data_ptr(),
    ),
    "order in memory": (
        lambda model: setattr(model.square, "data", model.square.data.mT),
        lambda model: model.square.stride(),
    ),
    "array": (
        written_in_another_shape,
        lambda model: (model.known.shape, model.known.tobytes(), model.known.flags.writeable),
    ),
}


@pytest.mark.parametrize("kind", LEFT)
def test_what_is_left_beside_numbers_is_put_back(kind: str) -> None:
    model = wired(remembered, known=np.ones((2, 3)))
    model.register_buffer("square", torch.ones(2, 2))
    leave, look = LEFT[kind]
    before = look(model)
    with Restored(model, loss) as restored:
        leave(model)
        assert look(model) != before
        assert restored.put_back()
    assert look(model) == before


def test_a_model_that_leaves_nothing_runs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that made a table at first use: it was made on random rows."""
    model, passes = wired(first_use, table=None), []
    run = clipped_sum.CheckedModel._gradients
    monkeypatch.setattr(
        clipped_sum.CheckedModel, "_gradients", lambda self, rows, count: passes.append(count) or run(self, rows, count)
    )
    clipped_gradient(model, loss, (torch.rand(12, 4), torch.zeros(12)), 1.0)
    assert passes == [clipped_sum.ROWS, 12]


def test_one_row_is_counted_once() -> None:
    """By a norm that adapts: rows of a pass that does not count are not counted either."""
    rows = torch.rand(12, 4) + 0.5
    rows[2] = 1000.0
    batch, step = (rows, torch.zeros(12)), NormStep(norm=1e-6, share=1.0, unit=1.0)
    checked = clipped_sum.CheckedModel.of(wired(remembered), loss, batch)
    flat, named = checked.room(1)
    checked.add_clipped(named, batch, step.norm, step.clipping(Flat()))
    step.put_count(flat)
    assert float(flat[-1]) == -12.0  # none of them is within the norm
