"""Small models of every kind, and gradients of single examples by plain differentiation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

ROWS = 7


class Tied(nn.Module):
    """A language model whose last layer is its table of words, with positions that all examples share."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(11, 8, padding_idx=0), nn.Embedding(6, 8)
        self.middle, self.norm = nn.Linear(8, 8), nn.LayerNorm(8)
        self.last = nn.Linear(8, 11, bias=False)
        self.last.weight = self.words.weight

    def forward(self, tokens: Tensor) -> Tensor:
        hidden = self.words(tokens) + self.places(torch.arange(tokens.shape[1]))
        return self.last(self.norm(F.gelu(self.middle(hidden)))).mean(1)


class Reused(nn.Module):
    """One layer, three times."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.last = nn.Linear(5, 5), nn.Linear(5, 3)

    def forward(self, values: Tensor) -> Tensor:
        for _ in range(3):
            values = torch.tanh(self.layer(values))
        return self.last(values)


class Recurrent(nn.Module):
    """A recurrent layer with time in front of the batch."""

    def __init__(self, kind: type[nn.RNNBase] = nn.GRU) -> None:
        super().__init__()
        self.cells, self.last = kind(5, 6), nn.Linear(6, 3)

    def forward(self, values: Tensor) -> Tensor:
        output, _ = self.cells(values.transpose(0, 1))
        return self.last(output[-1])


class Functional(nn.Module):
    """Parameters that are used outside of their layer, and one of the model's own."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.scale = nn.Embedding(11, 4), nn.Parameter(torch.ones(4))

    def forward(self, tokens: Tensor) -> Tensor:
        return F.linear(self.words(tokens) * self.scale, self.words.weight).mean(1)


class Folded(nn.Module):
    """Layers that see examples and positions in one axis."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(3, 4), nn.Linear(4, 3)

    def forward(self, values: Tensor) -> Tensor:
        rows, length, width = values.shape
        return self.last(torch.relu(self.first(values.reshape(-1, width)))).view(rows, length, -1).mean(1)


class Attention(nn.Module):
    """torch's own encoder, with the batch in the second axis."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 12, dropout=0.0)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.last = nn.Linear(8, 3)

    def forward(self, values: Tensor) -> Tensor:
        return self.last(self.encoder(values.transpose(0, 1)).mean(0))


def _convolutions() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(2, 4, (3, 2), stride=2, padding=1),
        nn.ReLU(inplace=True),
        nn.GroupNorm(2, 4),
        nn.Conv2d(4, 6, 3, groups=2, padding="same"),
        nn.Tanh(),
        nn.Conv2d(6, 2, 2, dilation=2, bias=False),
        nn.Flatten(),
        nn.LazyLinear(3),
    )


def _lines() -> nn.Module:
    return nn.Sequential(nn.Conv1d(2, 3, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(24, 3))


def _perceptron() -> nn.Module:
    return nn.Sequential(nn.Linear(5, 7), nn.ReLU(inplace=True), nn.RMSNorm(7), nn.Linear(7, 3))


def _reals(*shape: int) -> Callable[[], Tensor]:
    return lambda: torch.randn(ROWS, *shape)


def _tokens() -> Tensor:
    return torch.randint(0, 11, (ROWS, 6))


MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[], Tensor]]] = {
    "logistic": (lambda: nn.Linear(5, 3), _reals(5)),
    "perceptron": (_perceptron, _reals(5)),
    "convolutions": (_convolutions, _reals(2, 8, 8)),
    "lines": (_lines, _reals(2, 8)),
    "sequence": (
        lambda: nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2), nn.Flatten(), nn.Linear(12, 3)),
        _reals(6, 3),
    ),
    "transformer": (Attention, _reals(5, 8)),
    "tied": (Tied, _tokens),
    "reused": (Reused, _reals(5)),
    "gru": (Recurrent, _reals(4, 5)),
    "lstm": (lambda: Recurrent(nn.LSTM), _reals(4, 5)),
    "functional": (Functional, _tokens),
    "folded": (Folded, _reals(4, 3)),
    "normalised": (
        lambda: nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(5, 3)), nn.PReLU()),
        _reals(5),
    ),
}


def case(name: str, kind: torch.dtype = torch.float64, seed: int = 5) -> tuple[nn.Module, tuple[Tensor, Tensor]]:
    """A model and a batch for it."""
    torch.manual_seed(seed)
    build, draw = MODELS[name]
    model, inputs = build(), draw()
    model(inputs)  # lazy layers learn their shape
    inputs = inputs.to(kind) if inputs.is_floating_point() else inputs
    return model.to(kind), (inputs, torch.randint(0, 3, (ROWS,)))


def each(output: Tensor, target: Tensor) -> Tensor:
    return F.cross_entropy(output, target, reduction="none")


def gradients_alone(model: nn.Module, batch: Any, loss: Callable[..., Tensor] = each) -> list[dict[str, Tensor]]:
    """The gradient of every example in a batch of its own."""
    parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
    found = []
    for row in range(len(batch[0])):
        value = loss(model(batch[0][row : row + 1]), *(other[row : row + 1] for other in batch[1:])).sum()
        gradients = torch.autograd.grad(value, list(parameters.values()), allow_unused=True, materialize_grads=True)
        found.append(dict(zip(parameters, gradients, strict=True)))
    return found


def clipped_alone(model: nn.Module, batch: Any, max_norm: float) -> dict[str, Tensor]:
    """The sum of the clipped gradients, one example after the other."""
    rows = gradients_alone(model, batch)
    total = {name: torch.zeros_like(value) for name, value in rows[0].items()}
    for row in rows:
        norm = torch.cat([value.flatten() for value in row.values()]).norm()
        for name, value in row.items():
            total[name] += value * min(1.0, max_norm / float(norm))
    return total


def distance(one: dict[str, Tensor], other: dict[str, Tensor]) -> float:
    """Relative distance of two gradients."""
    flat = [torch.cat([part[name].flatten() for name in one]) for part in (one, other)]
    return float((flat[0] - flat[1]).norm() / flat[1].norm())


class Wired(nn.Module):
    """Some modules and parameters, and a function that uses them."""

    def __init__(self, run: Callable[..., Tensor], **parts: Any) -> None:
        super().__init__()
        self.run = run
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.run(self, inputs)
