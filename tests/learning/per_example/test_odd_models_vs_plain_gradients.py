"""Layers and habits that loops of others stumble over: clipped sums still equal those of rows alone."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations
from torch.utils.checkpoint import checkpoint

from hush.learning.per_example.clipped_sum import clipped_gradient
from tests.learning.models import Wired, each

COUNT, NORM = 7, 0.7


class Doubled(nn.Linear):
    """A subclass that computes something else than its base."""

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, 2 * self.weight, self.bias)


def tied() -> nn.Module:
    model = nn.Sequential(nn.Linear(5, 5), nn.Tanh(), nn.Linear(5, 5), nn.Linear(5, 3))
    model[2].weight, model[2].bias = model[0].weight, model[0].bias
    return model


def half_frozen() -> nn.Module:
    model = nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 3))
    model[0].weight.requires_grad_(False)
    return model


def hooked(kind: str) -> nn.Module:
    model = nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 3))
    if kind == "before":
        model[0].register_forward_pre_hook(lambda layer, inputs: (2 * inputs[0],))
    elif kind == "after":
        model[0].register_forward_hook(lambda layer, inputs, output: 2 * output)
    else:  # it would mix rows if it saw several at once
        model[1].register_full_backward_hook(lambda layer, into, out: (into[0] / into[0].norm(),))
    return model


def routed(self: Any, inputs: Tensor) -> Tensor:
    """Rows go through one of two layers: some batches leave one of them without rows."""
    made, first = inputs.new_zeros(len(inputs), 5), inputs[:, 0] > 0
    made[first], made[~first] = self.one(inputs[first]), self.two(inputs[~first])
    return self.last(made)


def vectors() -> Tensor:
    return torch.randn(COUNT, 5)


def sequences() -> Tensor:
    return torch.randn(COUNT, 6, 5)


def images() -> Tensor:
    return torch.randn(COUNT, 3, 8, 8)


def words() -> Tensor:
    return torch.randint(0, 11, (COUNT, 6))


def text(embedding: nn.Module, pooled: bool = False) -> nn.Module:
    run = (lambda s, t: s.last(s.table(t))) if pooled else (lambda s, t: s.last(s.table(t).mean(1)))
    return Wired(run, table=embedding, last=nn.Linear(4, 3))


@torch.no_grad()
def without_gradient(layer: nn.Module, inputs: Tensor) -> Tensor:
    return layer(inputs)


def checkpointed(use_reentrant: bool) -> nn.Module:
    return Wired(
        lambda s, x: s.last(checkpoint(s.first, x, use_reentrant=use_reentrant)),
        first=nn.Sequential(nn.Linear(5, 5), nn.Tanh(), nn.Linear(5, 5), nn.ReLU(inplace=True)),
        last=nn.Linear(5, 3),
    )


def recurrent(kind: type[nn.RNNBase]) -> nn.Module:
    """Time in front of rows, two layers, both directions."""
    layer = kind(5, 4, num_layers=2, bidirectional=True)
    return Wired(lambda s, x: s.last(s.layer(x.transpose(0, 1))[0][-1]), layer=layer, last=nn.Linear(8, 3))


MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[], Tensor]]] = {
    "tied layers": (tied, vectors),
    "a frozen weight": (half_frozen, vectors),
    "a subclass": (lambda: nn.Sequential(Doubled(5, 4), nn.Linear(4, 3)), vectors),
    "hook before": (lambda: hooked("before"), vectors),
    "hook after": (lambda: hooked("after"), vectors),
    "hook on the way back": (lambda: hooked("back"), vectors),
    "parameters without a layer, one unused": (
        lambda: Wired(
            lambda s, x: s.last(x @ s.some[0]),
            some=nn.ParameterList([torch.randn(5, 4), torch.randn(2)]),
            last=nn.Linear(4, 3),
        ),
        vectors,
    ),
    "routed rows": (lambda: Wired(routed, one=nn.Linear(5, 5), two=nn.Linear(5, 5), last=nn.Linear(5, 3)), vectors),
    "checkpointed": (lambda: checkpointed(use_reentrant=False), vectors),
    "a parameter of whole numbers": (
        lambda: Wired(
            lambda s, x: s.last(x * s.some),
            some=nn.Parameter(torch.arange(5), requires_grad=False),
            last=nn.Linear(5, 3),
        ),
        vectors,
    ),
    "a layer without gradients": (
        lambda: Wired(lambda s, x: s.last(without_gradient(s.first, x)), first=nn.Linear(5, 5), last=nn.Linear(5, 3)),
        vectors,
    ),
    "checkpointed, by a second backward pass": (lambda: checkpointed(use_reentrant=True), vectors),
    "weight norm": (
        lambda: nn.Sequential(parametrizations.weight_norm(nn.Linear(5, 4)), nn.Tanh(), nn.Linear(4, 3)),
        vectors,
    ),
    "in place": (
        lambda: Wired(lambda s, x: s.b(s.a(x).mul_(2).relu_()), a=nn.Linear(5, 4), b=nn.Linear(4, 3)),
        vectors,
    ),
    "data parallel": (lambda: nn.DataParallel(nn.Linear(5, 3)), vectors),
    "sparse embedding": (lambda: text(nn.Embedding(11, 4, sparse=True)), words),
    "embedding scaled by frequency": (lambda: text(nn.Embedding(11, 4, scale_grad_by_freq=True)), words),
    "embedding bag": (lambda: text(nn.EmbeddingBag(11, 4, mode="max"), pooled=True), words),
    "LSTM": (lambda: recurrent(nn.LSTM), sequences),
    "GRU": (lambda: recurrent(nn.GRU), sequences),
    "instance norm": (
        lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.InstanceNorm2d(4, affine=True), nn.Flatten(), nn.Linear(144, 3)),
        images,
    ),
    "channels last": (
        lambda: nn.Sequential(nn.Conv2d(3, 4, 3, stride=2, padding=1), nn.Flatten(), nn.Linear(64, 3)),
        lambda: images().to(memory_format=torch.channels_last),
    ),
    "strided rows": (lambda: nn.Linear(5, 3), lambda: torch.randn(5, 2 * COUNT).T[::2]),
}


def plain(model: nn.Module, batch: tuple[Tensor, Tensor]) -> dict[str, Tensor]:
    """Clipped gradients of one row after the other, by backward passes of a copy."""
    model = copy.deepcopy(model)
    total = {name: torch.zeros_like(p) for name, p in model.named_parameters() if p.requires_grad}
    for row in range(COUNT):
        model.zero_grad()
        each(model(batch[0][row : row + 1]), batch[1][row : row + 1]).sum().backward()
        found = {n: p.grad.to_dense() for n, p in model.named_parameters() if p.requires_grad and p.grad is not None}
        size = torch.cat([gradient.flatten() for gradient in found.values()]).norm()
        for name, gradient in found.items():
            total[name] += gradient * min(1.0, NORM / float(size))
    return total


@pytest.mark.filterwarnings("ignore:.*requires_grad=True. Gradients will be None", "ignore:.*use_reentrant")
@pytest.mark.parametrize("name", MODELS)
def test_clipped_sum_of_odd_models(name: str) -> None:
    torch.manual_seed(3)
    build, draw = MODELS[name]
    model, batch = build(), (draw(), torch.randint(0, 3, (COUNT,)))
    expected, found = plain(model, batch), clipped_gradient(model, each, batch, NORM)
    assert found.keys() == expected.keys()
    size = torch.cat([value.flatten() for value in expected.values()]).norm()
    for key, value in expected.items():
        assert float((found[key] - value).norm()) <= 1e-5 * float(size), key


def test_a_forward_that_was_put_in_place_is_what_runs() -> None:
    """A method set on the object, as wrappers do, is no longer the rule's layer; the copy that is checked shares it."""
    torch.manual_seed(3)
    layer = nn.Linear(5, 3)
    batch = torch.randn(COUNT, 5), torch.randint(0, 3, (COUNT,))
    doubled = Doubled(5, 3)
    doubled.load_state_dict(layer.state_dict())
    expected = clipped_gradient(doubled, each, batch, 100.0)
    layer.forward = lambda inputs: F.linear(inputs, 2 * layer.weight, layer.bias)  # type: ignore[method-assign]
    found = clipped_gradient(layer, each, batch, 100.0)
    assert all(torch.allclose(found[name], expected[name], atol=1e-6) for name in expected)
