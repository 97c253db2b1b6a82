"""The layers of a model that own trainable parameters, and how a pass through the model is watched."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge
from torch.nn.attention import SDPBackend, sdpa_kernel

from hush.errors import NotCovered
from hush.learning.per_example.parts import LayerGradient, PlainRows, Scratch
from hush.learning.per_example.recurrent import Unrolled, recurrent
from hush.learning.per_example.rules import Rule, is_narrow, narrow, pays, rule_of
from hush.learning.torch_private import edge_of, gradients_at, is_version, tree_flatten, tree_unflatten, version_of

LOW_PRECISION = (
    "mixed precision (autocast): how a row rounds may depend on the others, by more than is charged. Nearest: float32"
)
INFERENCE = "torch.inference_mode: there are no gradients of what is made in it"
SHARED, LONE = -1, -2
"""The axis of a call that does not depend on the batch, such as a table of positions; LONE: its first axis, of one row,
stands for that of the batch."""


@dataclass(frozen=True, eq=False)
class Unit:
    """A layer with a rule, or any module at all, with the trainable parameters below it by their local names.

    host: the recurrent layer that runs it, as often as there are steps of time.
    """

    module: nn.Module
    rule: Rule | None
    parameters: dict[str, nn.Parameter]
    host: Unrolled | None = None
    names: tuple[str, ...] = field(init=False)
    keys: dict[str, int] = field(init=False)
    kind: torch.dtype = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(self.parameters))
        object.__setattr__(self, "keys", {name: id(p) for name, p in self.parameters.items()})
        object.__setattr__(self, "kind", next(iter(self.parameters.values())).dtype)


def units_of(model: nn.Module) -> list[Unit]:
    """Every layer with a rule on its own; a module without one takes all that is below it."""
    return _units(model, unroll=False)


def unrolled_units_of(model: nn.Module) -> list[Unit]:
    """The same, with the linear layers that recurrent layers consist of on their own."""
    return _units(model, unroll=True)


def _units(model: nn.Module, unroll: bool) -> list[Unit]:
    found: dict[int, Unit] = {}
    loops: set[int] = set()

    def visit(module: nn.Module) -> None:
        own = [p for p in module.parameters(recurse=False) if p.requires_grad]
        plain = next(module.children(), None) is None and "forward" not in module.__dict__
        rule = rule_of(module) if plain else None
        if not own:
            for child in module.children():
                visit(child)
        elif unroll and plain and recurrent(module):
            host = Unrolled(module)
            for linear in host.linears() if id(module) not in loops else []:
                if trained := trainable(linear):
                    found[id(linear)] = Unit(linear, rule_of(linear), trained, host)
            loops.add(id(module))
        elif id(module) not in found:
            found[id(module)] = Unit(module, rule, trainable(module))

    visit(model)
    return list(found.values())


def trainable(module: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters that are trained, by name; a shared one is listed once."""
    return {name: p for name, p in module.named_parameters() if p.requires_grad}


@dataclass(frozen=True)
class Axes:
    """Where the batch lies in the arguments and the results of one call; None where it is not.

    fold: how many consecutive rows of the first result are of one example. lone: that it has one row for all examples.
    """

    arguments: tuple[int | None, ...]
    results: tuple[int | None, ...]
    fold: int
    lone: bool


@dataclass(eq=False)
class Call:
    """One use of a layer with a rule: its input, and where in the graph the gradient of its output arrives."""

    unit: Unit
    rule: Rule
    inputs: Tensor
    axis: int
    edge: GradientEdge
    shape: torch.Size
    version: object

    def part(self, left: Tensor, count: int, scratch: Scratch) -> LayerGradient:
        """What the call adds to each of `count` examples, from the gradient of its output."""
        inputs, axis = self.inputs, self.axis
        if left.shape != self.shape:
            left = left.reshape(self.shape)
        if not is_version(inputs, self.version):
            raise NotCovered(f"a model that overwrites the input of its layer {type(self.unit.module).__name__}")
        if axis < 0:
            inputs = spread(inputs, count, axis)
        elif axis:
            inputs, left = inputs.movedim(axis, 0), left.movedim(axis, 0)
        kind = self.unit.kind
        if inputs.dtype is not kind and inputs.is_floating_point():
            inputs = inputs.to(kind)
        if left.dtype is not kind:
            if left.element_size() < 4:
                raise NotCovered(LOW_PRECISION)
            left = left.to(kind)
        part = self.rule(self.unit.module, inputs, left, self.unit.names, scratch)
        return part if inputs.shape[0] == count else part.folded(count)


def spread(values: Tensor, count: int, axis: int) -> Tensor:
    """What all examples share, once for each."""
    lead = values if axis == LONE else values.unsqueeze(0)
    return lead.expand(count, *lead.shape[1:])


def hosts_of(units: Sequence[Unit]) -> list[Unrolled]:
    """The recurrent layers that run some of the units."""
    return list({id(unit.host): unit.host for unit in units if unit.host is not None}.values())


class Pass:
    """Passes of some examples each through a model whose layers are watched.

    loops: units that are run one example after the other.
    """

    def __init__(self, units: Sequence[Unit], axes: dict[int, list[Axes]], loops: frozenset[int]) -> None:
        self.units, self.axes, self.loops = units, axes, loops
        self.hosts = hosts_of(units)
        self.places = [unit.module.__dict__ for unit in units] + [host.layer.__dict__ for host in self.hosts]
        self.parameters = [p for unit in units for p in unit.parameters.values()]
        self.unruled = [unit for unit in units if unit.rule is None]
        self.saved: list[Any] = []
        self.watched: list[Callable[..., Any]] = []
        self.ones = torch.ones(0)
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
        self.copies = {id(unit): _copies(unit, count) for unit in self.unruled}

    def __enter__(self) -> Pass:
        """From here on every unit runs under watch, and a graph is kept.

        Gradients are put away: a layer that runs again on the way back in its own way may add to them, unclipped.
        """
        if torch.is_inference_mode_enabled():
            raise NotCovered(INFERENCE)
        saved = [place.get("forward") for place in self.places]
        if not self.watched or saved != self.saved:
            if any(saved[len(self.units) :]):
                raise NotCovered("a recurrent layer whose forward was replaced after it was checked")
            self.saved = saved
            self.watched = [self._expanded(u) if u.rule is None else self._tapped(u, u.rule) for u in self.units]
            self.watched += [host.forward for host in self.hosts]
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
            inputs = arguments[0].detach()
            self.calls.append(Call(unit, rule, inputs, axis, edge, output.shape, version_of(inputs)))
            return output

        return forward

    def _expanded(self, unit: Unit) -> Callable[..., Any]:
        """The module's forward with parameters of its own for each example, so that each has a gradient."""
        shim = _Shim(unit.module, unit.module.forward)

        def forward(*arguments: Any, **named: Any) -> Any:
            axes, copies = self._next_axes(unit), self.copies[id(unit)]
            if id(unit) in self.loops:
                return looped(shim, copies, (arguments, named), axes, self.count)
            return mapped(shim, copies, (arguments, named), axes)

        return forward

    def parts(self, losses: Tensor) -> dict[int, LayerGradient]:
        """The part of each unit, its calls joined, by one backward pass; a unit that was not used has none."""
        leaves = [(unit, name) for unit in self.unruled for name in self.copies[id(unit)]]
        targets: Any = [call.edge for call in self.calls] + [self.copies[id(unit)][name] for unit, name in leaves]
        if not targets or not losses.requires_grad:
            return {}
        self.closed = True
        if self.ones.shape != losses.shape or self.ones.dtype != losses.dtype or self.ones.device != losses.device:
            self.ones = torch.ones_like(losses)
        gradients = gradients_at(targets, losses, self.ones)
        found: dict[int, list[LayerGradient]] = {}
        for call, left in zip(self.calls, gradients, strict=False):
            if left is not None:
                found.setdefault(id(call.unit), []).append(call.part(left, self.count, self.scratch[id(call.unit)]))
        rows: dict[int, dict[str, Tensor]] = {}
        for (unit, name), gradient in zip(leaves, gradients[len(self.calls) :], strict=True):
            if gradient is not None:
                rows.setdefault(id(unit), {})[name.removeprefix("inner.")] = gradient
        found |= {key: [PlainRows(gradients)] for key, gradients in rows.items()}
        self.calls = []  # the outputs are not needed any more
        return {key: many[0] if len(many) == 1 else many[0].joined(many[1:]) for key, many in found.items()}


def _copies(unit: Unit, count: int) -> dict[str, Tensor]:
    """The parameters of a unit once for each example, in no more memory; gradients arrive for each."""
    return {
        f"inner.{name}": p.detach().unsqueeze(0).expand(count, *p.shape).requires_grad_()
        for name, p in unit.parameters.items()
    }


class _Shim(nn.Module):
    """A module by its own forward, under a name that parameters can be swapped at."""

    def __init__(self, inner: nn.Module, forward: Any) -> None:
        super().__init__()
        self.inner, self.run = inner, forward

    def forward(self, *arguments: Any, **named: Any) -> Any:
        return self.run(*arguments, **named)


def mapped(shim: nn.Module, copies: dict[str, Tensor], arguments: Any, axes: Axes) -> Any:
    """The module on every example with its own parameters, all at once."""
    leaves, spec = tree_flatten(arguments)
    shape: list[Any] = []

    def one(parameters: dict[str, Tensor], *values: Any) -> tuple[Tensor, ...]:
        rows = [v if axis is None else v.unsqueeze(axis) for v, axis in zip(values, axes.arguments, strict=True)]
        placed, named = tree_unflatten(rows, spec)
        results, result_spec = tree_flatten(torch.func.functional_call(shim, parameters, placed, named))
        shape[:] = [results, result_spec]
        pairs = zip(results, axes.results, strict=True)
        return tuple(result.squeeze(axis) for result, axis in pairs if axis is not None)

    outputs = [axis for axis in axes.results if axis is not None]
    run = torch.func.vmap(one, in_dims=(0, *axes.arguments), out_dims=tuple(outputs), randomness="different")
    with warnings.catch_warnings(), sdpa_kernel(SDPBackend.MATH):  # the fused kernels cannot be mapped
        warnings.filterwarnings("ignore", "There is a performance drop")  # mapped one by one is right, if slow
        values = iter(run(copies, *leaves))
    results, result_spec = shape
    merged = [result if axis is None else next(values) for result, axis in zip(results, axes.results, strict=True)]
    return tree_unflatten(merged, result_spec)


def looped(shim: nn.Module, copies: dict[str, Tensor], arguments: Any, axes: Axes, count: int) -> Any:
    """The module on one example after the other: for what cannot be mapped."""
    leaves, spec = tree_flatten(arguments)
    collected: list[list[Any]] = []
    result_spec: Any = None
    for row in range(count):
        rows = [v if axis is None else v.narrow(axis, row, 1) for v, axis in zip(leaves, axes.arguments, strict=True)]
        placed, named = tree_unflatten(rows, spec)
        parameters = {name: copy[row] for name, copy in copies.items()}
        results, result_spec = tree_flatten(torch.func.functional_call(shim, parameters, placed, named))
        collected.append(results)
    merged = [
        values[0] if axis is None else torch.cat(values, axis)
        for values, axis in zip(zip(*collected, strict=True), axes.results, strict=True)
    ]
    return tree_unflatten(merged, result_spec)
