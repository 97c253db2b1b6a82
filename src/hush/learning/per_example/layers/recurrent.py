"""Recurrent layers as what they are: one linear layer on the inputs and one on the state, in a loop over time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from hush.errors import NotCovered

State = tuple[Tensor, ...]
"""What a layer remembers: what it puts out and, of an LSTM, its cell."""
Cell = Callable[[Tensor, Tensor, State], State]
"""From the gates of the input, the gates of the state, and the state, to the next state."""


def lstm(inputs: Tensor, states: Tensor, state: State) -> State:
    """The next state of a long short-term memory."""
    enter, forget, new, leave = (inputs + states).chunk(4, -1)
    cell = forget.sigmoid() * state[1] + enter.sigmoid() * new.tanh()
    return leave.sigmoid() * cell.tanh(), cell


def gru(inputs: Tensor, states: Tensor, state: State) -> State:
    """The next state of a gated recurrent unit."""
    (reset, update, new), (reset_state, update_state, new_state) = inputs.chunk(3, -1), states.chunk(3, -1)
    fresh = (new + (reset + reset_state).sigmoid() * new_state).tanh()
    return (fresh + (update + update_state).sigmoid() * (state[0] - fresh),)


def tanh(inputs: Tensor, states: Tensor, _: State) -> State:
    """The next state of a plain recurrent layer."""
    return ((inputs + states).tanh(),)


def relu(inputs: Tensor, states: Tensor, _: State) -> State:
    """The same, cut off at zero."""
    return ((inputs + states).relu(),)


class Track:
    """The linear layers of one direction of one layer; they own its parameters."""

    def __init__(self, layer: nn.Module, ending: str) -> None:
        self.inputs, self.states = (_linear(layer, f"_{part}{ending}") for part in ("ih", "hh"))
        self.projection = _linear(layer, f"_hr{ending}") if hasattr(layer, f"weight_hr{ending}") else None
        self.reverse = ending.endswith("_reverse")

    def linears(self) -> list[nn.Linear]:
        return [self.inputs, self.states] + ([] if self.projection is None else [self.projection])

    def step(self, cell: Cell, gates: Tensor, state: State) -> State:
        state = cell(gates, self.states(state[0]), state)
        return state if self.projection is None else (self.projection(state[0]), *state[1:])

    def run(self, cell: Cell, inputs: Tensor, time: int, state: State) -> tuple[Tensor, State]:
        """What it puts out at all times, and its last state."""
        order = -1 if self.reverse else 1
        outputs = []
        for gates in self.inputs(inputs).unbind(time)[::order]:
            state = self.step(cell, gates, state)
            outputs.append(state[0])
        return torch.stack(outputs[::order], time), state


def _linear(layer: nn.Module, ending: str) -> nn.Linear:
    """A linear layer of parameters that exist."""
    made = nn.Linear(1, 1, device="meta")
    made.weight = getattr(layer, f"weight{ending}")
    made.register_parameter("bias", getattr(layer, f"bias{ending}", None))
    made.out_features, made.in_features = made.weight.shape
    return made


class Unrolled:
    """The forward of a recurrent layer, out of linear layers that can be watched."""

    def __init__(self, layer: nn.Module) -> None:
        self.layer = layer
        if isinstance(layer, nn.RNNBase):
            ways = ("", "_reverse") if layer.bidirectional else ("",)
            self.tracks = [[Track(layer, f"_l{depth}{way}") for way in ways] for depth in range(layer.num_layers)]
        else:
            self.tracks = [[Track(layer, "")]]
        kind = CELLS[type(layer)]
        self.cell = kind if kind is not None else {"tanh": tanh, "relu": relu}[str(layer.nonlinearity)]

    def linears(self) -> list[nn.Linear]:
        """The layers that are run, in the order of the parameters."""
        return [linear for level in self.tracks for track in level for linear in track.linears()]

    def forward(self, input: Any, hx: Any = None) -> Any:  # noqa: A002, RUF100 (torch's own names)
        """The same as the layer's own, to rounding; examples in an axis of their own."""
        layer, inputs, state = self.layer, input, hx
        batched = isinstance(inputs, Tensor) and inputs.dim() == (3 if isinstance(layer, nn.RNNBase) else 2)
        if not batched:
            raise NotCovered(f"{type(layer).__name__} on packed sequences or a single example")
        if not isinstance(layer, nn.RNNBase):
            track = self.tracks[0][0]
            found = track.step(self.cell, track.inputs(inputs), self._first(inputs, len(inputs), track, state))
            return found if self.cell is lstm else found[0]
        time = 1 if layer.batch_first else 0
        ends: list[State] = []
        for depth, level in enumerate(self.tracks):
            if depth and layer.dropout:
                inputs = nn.functional.dropout(inputs, layer.dropout, layer.training)
            outputs = []
            for track in level:
                given = None if state is None else _picked(state, len(ends))
                start = self._first(inputs, inputs.shape[1 - time], track, given)
                output, end = track.run(self.cell, inputs, time, start)
                outputs.append(output)
                ends.append(end)
            inputs = torch.cat(outputs, -1) if len(outputs) > 1 else outputs[0]
        last = tuple(torch.stack(parts) for parts in zip(*ends, strict=True))
        return inputs, last if self.cell is lstm else last[0]

    def _first(self, inputs: Tensor, count: int, track: Track, given: Any) -> State:
        if given is not None:
            return (given,) if isinstance(given, Tensor) else tuple(given)
        state = inputs.new_zeros(count, track.states.in_features)
        return (state, inputs.new_zeros(count, track.states.out_features // 4)) if self.cell is lstm else (state,)


def _picked(state: Any, place: int) -> Any:
    """The state of one track, out of those of all."""
    return state[place] if isinstance(state, Tensor) else tuple(part[place] for part in state)


PARAMETER = re.compile(r"(weight|bias)_(ih|hh|hr)(_l\d+)?(_reverse)?")
CELLS: dict[type[nn.Module], Cell | None] = {
    nn.LSTM: lstm,
    nn.LSTMCell: lstm,
    nn.GRU: gru,
    nn.GRUCell: gru,
    nn.RNN: None,
    nn.RNNCell: None,
}
"""Layers that are loops over linear layers, by what they do with the gates; None: what the layer says itself."""


def recurrent(layer: nn.Module) -> bool:
    """Whether it is exactly such a layer, with parameters of its own: a subclass may compute anything."""
    plain = all(PARAMETER.fullmatch(name) for name, _ in layer.named_parameters())
    return type(layer) in CELLS and plain and not nn.utils.parametrize.is_parametrized(layer)


@contextmanager
def unrolled(hosts: Iterable[Unrolled]) -> Iterator[None]:
    """In here the layers run as loops; they have no forward of their own otherwise."""
    hosts = list(hosts)
    for host in hosts:
        host.layer.__dict__["forward"] = host.forward
    try:
        yield
    finally:
        for host in hosts:
            del host.layer.__dict__["forward"]
