"""Recurrent layers run as loops over linear layers: the same function, and each example's gradient by a rule."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from hush.errors import NotCovered
from hush.learning.per_example.clipped_sum import CheckedModel, clipped_gradient
from hush.learning.per_example.clipping import Flat
from hush.learning.per_example.layers.recurrent import Unrolled
from tests.learning.models import clipped_alone, each

COUNT, STEPS, WIDTH, NORM = 6, 4, 5, 0.3


def options() -> list[tuple[type[nn.RNNBase], dict[str, Any]]]:
    found: list[tuple[type[nn.RNNBase], dict[str, Any]]] = []
    for layers, first, both, bias in itertools.product((1, 2), (False, True), (False, True), (False, True)):
        shared = {"num_layers": layers, "batch_first": first, "bidirectional": both, "bias": bias}
        found += [(nn.LSTM, shared), (nn.LSTM, {**shared, "proj_size": 3}), (nn.GRU, shared)]
        found += [(nn.RNN, {**shared, "nonlinearity": kind}) for kind in ("tanh", "relu")]
    return found


class Sequences(nn.Module):
    """A recurrent layer; what it puts out and what it remembers both matter."""

    def __init__(self, kind: type[nn.RNNBase], given: bool = False, **options: Any) -> None:
        super().__init__()
        self.layer, self.given = kind(WIDTH, 4, **options), given
        self.last = nn.Linear((2 if self.layer.bidirectional else 1) * (self.layer.proj_size or 4), 3)

    def start(self, inputs: Tensor) -> Any:
        """A first state that depends on the example."""
        lines = self.layer.num_layers * (2 if self.layer.bidirectional else 1)
        level = inputs.mean((1, 2)).view(1, -1, 1).expand(lines, -1, 4)
        state = level[..., : self.layer.proj_size or 4].contiguous()
        return (state, level.cos()) if isinstance(self.layer, nn.LSTM) else state

    def forward(self, inputs: Tensor) -> Tensor:
        rows_first = self.layer.batch_first
        state = self.start(inputs) if self.given else None
        outputs, end = self.layer(inputs if rows_first else inputs.transpose(0, 1), state)
        ends = end if isinstance(end, tuple) else (end,)
        return self.last(outputs.mean(1 if rows_first else 0)) + sum(e.sum((0, 2)) for e in ends).unsqueeze(1)


class Stepped(nn.Module):
    """A cell, in a loop of one's own."""

    def __init__(self, kind: type[nn.RNNCellBase], **options: Any) -> None:
        super().__init__()
        self.cell, self.last = kind(WIDTH, 4, **options), nn.Linear(4, 3)

    def forward(self, inputs: Tensor) -> Tensor:
        state: Any = None
        for step in inputs.unbind(1):
            state = self.cell(step, state)
        return self.last(state[0] if isinstance(state, tuple) else state)


def batch(steps: int = STEPS) -> tuple[Tensor, Tensor]:
    return torch.randn(COUNT, steps, WIDTH, dtype=torch.double), torch.randint(0, 3, (COUNT,))


def check(model: nn.Module, data: tuple[Tensor, Tensor]) -> None:
    expected, found = clipped_alone(model, data, NORM), clipped_gradient(model, each, data, NORM)
    for name, value in expected.items():
        assert torch.allclose(found[name], value, rtol=1e-8, atol=1e-10), name


@pytest.mark.parametrize(("kind", "chosen"), options())
@pytest.mark.parametrize("given", [False, True])
def test_clipped_sums_by_rules_alone(kind: type[nn.RNNBase], chosen: dict[str, Any], given: bool) -> None:
    torch.manual_seed(7)
    model, data = Sequences(kind, given, **chosen).double(), batch()
    assert all(unit.rule is not None for unit in CheckedModel.of(model, each, data).run.units)
    check(model, data)


@pytest.mark.parametrize(
    ("kind", "chosen"),
    [(nn.LSTMCell, {}), (nn.GRUCell, {"bias": False}), (nn.RNNCell, {}), (nn.RNNCell, {"nonlinearity": "relu"})],
)
def test_cells(kind: type[nn.RNNCellBase], chosen: dict[str, Any]) -> None:
    torch.manual_seed(7)
    model, data = Stepped(kind, **chosen).double(), batch()
    assert all(unit.rule is not None for unit in CheckedModel.of(model, each, data).run.units)
    check(model, data)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_dropout_between_layers_is_the_layer_s_own(kind: type[nn.RNNBase]) -> None:
    layer = kind(WIDTH, 4, num_layers=3, dropout=0.4).double()
    inputs = torch.randn(STEPS, COUNT, WIDTH, dtype=torch.double)
    results = []
    for forward in (layer.forward, Unrolled(layer).forward):
        torch.manual_seed(5)
        results.append(forward(inputs)[0])
    assert torch.allclose(*results)


def test_sequences_may_be_longer_than_the_first_ones() -> None:
    torch.manual_seed(7)
    model = Sequences(nn.GRU).double()
    checked = CheckedModel.of(model, each, batch(steps=2))
    data = batch(steps=5)
    found = checked.room()[1]
    checked.add_clipped(found, data, NORM, Flat())
    for name, value in clipped_alone(model, data, NORM).items():
        assert torch.allclose(found[name], value), name


def test_frozen_weights_and_a_layer_that_is_used_twice() -> None:
    torch.manual_seed(7)
    model = Sequences(nn.LSTM).double()
    model.layer.weight_hh_l0.requires_grad_(False)
    check(model, batch())

    class Twice(Sequences):
        def forward(self, inputs: Tensor) -> Tensor:
            return super().forward(inputs) + super().forward(inputs.flip(1))

    check(Twice(nn.LSTM).double(), batch())


def test_packed_sequences_take_another_way() -> None:
    class Packed(Sequences):
        def forward(self, inputs: Tensor) -> Tensor:
            packed = pack_padded_sequence(inputs.transpose(0, 1), torch.full((len(inputs),), STEPS))
            return self.last(self.layer(packed)[1][0][-1])

    torch.manual_seed(7)
    check(Packed(nn.LSTM).double(), batch())


def test_a_forward_that_is_put_in_place_later_is_refused() -> None:
    model, data = Sequences(nn.GRU).double(), batch()
    checked = CheckedModel.of(model, each, data)
    forward = model.layer.forward
    model.layer.forward = lambda *arguments: forward(*arguments)  # type: ignore[method-assign]
    with pytest.raises(NotCovered, match="replaced"):
        checked.add_clipped(checked.room()[1], data, NORM, Flat())
    check(model, data)  # checked anew, it takes another way


def test_arguments_by_name_and_weights_that_are_not_parameters() -> None:
    class Named(Sequences):
        def forward(self, inputs: Tensor) -> Tensor:
            return self.last(self.layer(input=inputs.transpose(0, 1), hx=self.start(inputs))[0].mean(0))

    torch.manual_seed(7)
    check(Named(nn.LSTM).double(), batch())
    model = Sequences(nn.LSTM).double()
    nn.utils.spectral_norm(model.layer, "weight_hh_l0")
    with pytest.raises(NotCovered):
        clipped_gradient(model, each, batch(), NORM)


def test_a_subclass_is_not_taken_for_its_base() -> None:
    class Doubled(nn.GRU):
        def forward(self, *arguments: Any) -> Any:  # type: ignore[override]
            outputs, end = super().forward(*arguments)
            return 2 * outputs, end

    torch.manual_seed(7)
    check(Sequences(Doubled).double(), batch())
