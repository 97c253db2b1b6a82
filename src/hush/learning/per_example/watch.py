"""A pass through a model whose layers are watched, and the gradients of each example that it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import GradientEdge

from hush.errors import NotCovered
from hush.learning.per_example.copied_parameters import SHIM, Copies, Shim, at_once, copies_of, one_by_one
from hush.learning.per_example.layers.layer_gradients import LayerGradient, PlainRows, Rule, Scratch
from hush.learning.per_example.layers.rules import is_narrow, narrow, pays
from hush.learning.per_example.units import Axes, Unit, hosts_of
from hush.learning.torch_private import edge_of, gradients_at, is_version, tree_leaves, version_of

LOW_PRECISION = (
    "autocast around or in a model: how a row rounds may then depend on the others, by more than is charged. Nearest: "
    "PrivateGradient(..., autocast=torch.bfloat16), which takes care of it"
)
INFERENCE = "torch.inference_mode: there are no gradients of what is made in it"
SHARED, LONE = -1, -2
"""The axis of a call that does not depend on the batch, such as a table of positions; LONE: its first axis, of one row,
stands for that of the batch."""


@dataclass(eq=False)
class Call:
    """One use of a layer with a rule: its inputs, and where in the graph the gradient of its output arrives."""

    unit: Unit
    rule: Rule
    inputs: tuple[Tensor, ...]
    axis: int
    edge: GradientEdge
    shape: torch.Size
    versions: tuple[object, ...]

    def part(self, left: Tensor, count: int, scratch: Scratch) -> LayerGradient:
        """What the call adds to each of `count` examples, from the gradient of its output."""
        kind = self.unit.kind
        if left.shape != self.shape:
            left = left.reshape(self.shape)
        if self.axis > 0:
            left = left.movedim(self.axis, 0)
        if left.dtype is not kind:
            left = left.to(kind)
        if not all(map(is_version, self.inputs, self.versions)):
            raise NotCovered(f"a model that overwrites the input of its layer {type(self.unit.module).__name__}")
        inputs = tuple([self._in_front(values, count, kind) for values in self.inputs])
        given = inputs[0] if len(inputs) == 1 else inputs
        part = self.rule(self.unit.module, given, left, self.unit.names, scratch)
        return part if left.shape[0] == count else part.folded(count)

    def _in_front(self, values: Tensor, count: int, kind: torch.dtype) -> Tensor:
        """An input with examples in front, in the precision of the parameters."""
        if self.axis < 0:
            values = spread(values, count, self.axis)
        elif self.axis:
            values = values.movedim(self.axis, 0)
        return values.to(kind) if values.dtype is not kind and values.is_floating_point() else values


def spread(values: Tensor, count: int, axis: int) -> Tensor:
    """What all examples share, once for each."""
    lead = values if axis == LONE else values.unsqueeze(0)
    return lead.expand(count, *lead.shape[1:])


class Pass:
    """Passes of some examples each through a model whose layers are watched.

    one_by_one: modules without a rule are run on one example after the other. low_precision: that the pass may compute
    with less than 32 bits; norms and sums are in the precision of the parameters in any case.
    """

    def __init__(self, units: Sequence[Unit], axes: dict[int, list[Axes]], *, one_by_one: bool) -> None:
        self.units, self.axes, self.one_by_one = units, axes, one_by_one
        self.hosts = hosts_of(units)
        self.places = [unit.module.__dict__ for unit in units] + [host.layer.__dict__ for host in self.hosts]
        self.parameters = [p for unit in units for p in unit.parameters.values()]
        self.unruled = [unit for unit in units if unit.rule is None]
        self.saved: list[Any] = []
        self.watched: list[Callable[..., Any]] = []
        self.ones = torch.ones(0)
        self.low_precision = False
        common = Scratch()
        self.scratch = {id(unit): Scratch(common) for unit in units}
        self.begin(0)

    def begin(self, count: int) -> None:
        """Forget what was recorded; the next pass has so many examples."""
        self.count, self.closed = count, False
        self.calls: list[Call] = []
        self.seen: dict[int, int] = {}
        for scratch in self.scratch.values():
            scratch.taken.clear()
        self.copies: dict[int, Copies] = {id(unit): copies_of(unit.parameters, count) for unit in self.unruled}

    def __enter__(self) -> Pass:
        """From here on every unit runs under watch, and a graph is kept.

        Gradients are put away: a layer that runs again on the way back in its own way may add to them, unclipped.
        """
        if torch.is_inference_mode_enabled():
            raise NotCovered(INFERENCE)
        self._prepare()
        for place, forward in zip(self.places, self.watched, strict=True):
            place["forward"] = forward
        self.gradients = [p.grad for p in self.parameters]
        for p in self.parameters:
            p.grad = None
        self.recording = torch.is_grad_enabled()
        torch.set_grad_enabled(True)
        return self

    def __exit__(self, *error: object) -> None:
        torch.set_grad_enabled(self.recording)
        for p, gradient in zip(self.parameters, self.gradients, strict=True):
            p.grad = gradient
        for place, forward in zip(self.places, self.saved, strict=True):
            if forward is None:
                place.pop("forward", None)
            else:
                place["forward"] = forward
        self.calls, self.copies = [], {}  # of the batch only what Scratch holds is kept, until it is written over

    @contextmanager
    def paused(self) -> Iterator[None]:
        """The model without its watch, as it was before; what was found of the last pass stays."""
        self.__exit__()
        try:
            yield
        finally:
            self.__enter__()

    def _prepare(self) -> None:
        """Make the forwards that watch: once, and again where the model's own were replaced."""
        saved = [place.get("forward") for place in self.places]
        if self.watched and saved == self.saved:
            return
        if any(saved[len(self.units) :]):
            raise NotCovered("a recurrent layer whose forward was replaced after it was checked")
        self.saved = saved
        self.watched = [self._copied(u) if u.rule is None else self._tapped(u, u.rule) for u in self.units]
        self.watched += [host.forward for host in self.hosts]

    def _next_axes(self, unit: Unit) -> Axes:
        place = self.seen.get(id(unit), 0)
        self.seen[id(unit)] = place + 1
        known = self.axes.get(id(unit), [])
        if known and unit.host is not None:  # sequences may be longer than the first ones were
            return known[0]
        if place >= len(known):
            raise NotCovered("a model that uses its layers differently from batch to batch")
        return known[place]

    def _tapped(self, unit: Unit, rule: Rule) -> Callable[..., Tensor]:
        """The layer's forward, which also notes its input and where the gradient of its output will arrive."""
        original, layer = unit.module.forward, unit.module
        slim = "forward" not in layer.__dict__ and is_narrow(layer)

        def forward(*arguments: Any, **named: Any) -> Tensor:
            if slim and not named and pays(arguments[0]):
                output = narrow(layer.weight, layer.bias, arguments[0])  # type: ignore[arg-type]
            else:
                output = original(*arguments, **named)
            if self.closed:  # run again on the way back, by a checkpoint: the first time was noted
                return output
            return self._noted(unit, rule, (*arguments, *named.values()), output)

        return forward

    def _noted(self, unit: Unit, rule: Rule, arguments: tuple[Any, ...], output: Tensor) -> Tensor:
        """The output of a call, which is written down together with its input."""
        axes = self._next_axes(unit)
        axis = axes.results[0]
        if output.grad_fn is None:  # where the model itself asks for no gradient
            return output
        if axis is None:
            axis = LONE if axes.lone else SHARED
            output = spread(output, self.count, axis).clone()
        elif output.shape[axis] != self.count * axes.fold and self.count > 1:
            raise ValueError("rows of the batch do not have as many rows in the layer as they had at first")
        output, edge = edge_of(output)
        inputs = tuple([value.detach() for value in arguments if isinstance(value, Tensor)])
        versions = tuple([version_of(values) for values in inputs])
        self.calls.append(Call(unit, rule, inputs, axis, edge, output.shape, versions))
        return output

    def _copied(self, unit: Unit) -> Callable[..., Any]:
        """The module's forward with parameters of its own for each example, so that each has a gradient."""
        shim = Shim(unit.module, unit.module.forward)

        def forward(*arguments: Any, **named: Any) -> Any:
            axes, copies = self._next_axes(unit), self.copies[id(unit)]
            run = one_by_one if self.one_by_one else at_once
            results = run(shim, copies, (arguments, named), axes, self.count)
            for leaf in tree_leaves(results):
                self._check_precision(leaf)
            return results

        return forward

    def parts(self, losses: Tensor) -> dict[int, LayerGradient]:
        """The gradient of each unit, by one backward pass; a unit that was not used has none."""
        targets: list[Any] = [call.edge for call in self.calls]
        targets += [copy for copies in self.copies.values() for copy in copies.values()]
        if not targets or not losses.requires_grad:
            return {}
        self.closed = True
        calls = len(self.calls)
        gradients = gradients_at(targets, losses, self._ones_like(losses))
        found = self._parts_of_calls(gradients[:calls])
        return found | self._parts_of_copies(gradients[calls:]) if self.copies else found

    def _ones_like(self, losses: Tensor) -> Tensor:
        """One for each loss; they are kept, as most passes have the same number of examples."""
        if self.ones.shape != losses.shape or self.ones.dtype != losses.dtype or self.ones.device != losses.device:
            self.ones = torch.ones_like(losses)
        return self.ones

    def _parts_of_calls(self, gradients: Sequence[Tensor | None]) -> dict[int, LayerGradient]:
        """What the rules make of the gradients of outputs; calls of one unit are joined."""
        found: dict[int, list[LayerGradient]] = {}
        for call, left in zip(self.calls, gradients, strict=True):
            if left is not None:
                self._check_precision(left)
                key = id(call.unit)
                found.setdefault(key, []).append(call.part(left, self.count, self.scratch[key]))
        self.calls = []  # the outputs are not needed any more
        return {key: many[0] if len(many) == 1 else many[0].joined(many[1:]) for key, many in found.items()}

    def _check_precision(self, values: Any) -> None:
        floats = isinstance(values, Tensor) and values.is_floating_point()
        if floats and values.element_size() < 4 and not self.low_precision:
            raise NotCovered(LOW_PRECISION)

    def _parts_of_copies(self, gradients: Sequence[Tensor | None]) -> dict[int, LayerGradient]:
        """The gradients of the parameters that each example had of its own."""
        left, found = iter(gradients), {}
        for key, copies in self.copies.items():
            pairs = [(name.removeprefix(SHIM), gradient) for name, gradient in zip(copies, left, strict=False)]
            if rows := {name: gradient for name, gradient in pairs if gradient is not None}:
                found[key] = PlainRows(rows)
        return found
