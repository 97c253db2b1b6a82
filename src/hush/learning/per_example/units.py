"""Units: the layers and modules of a model whose gradients are found on their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from hush.learning.per_example.layers.combined import TiedTable
from hush.learning.per_example.layers.layer_gradients import LayerGradient, Lookup, Outer, PlainRows, Rule
from hush.learning.per_example.layers.recurrent import Unrolled, recurrent
from hush.learning.per_example.layers.rules import rule_of, scale_of

Keys = dict[str, int]
"""Name of a parameter in its unit, to the identity of the parameter."""
Choose = Callable[[nn.Module], Rule | None]
"""The rule of a layer, or none."""


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
    keys: Keys = field(init=False)
    kind: torch.dtype = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(self.parameters))
        object.__setattr__(self, "keys", {name: id(p) for name, p in self.parameters.items()})
        object.__setattr__(self, "kind", next(iter(self.parameters.values())).dtype)


@dataclass(frozen=True)
class Axes:
    """Where the batch lies in the arguments and the results of one call; None where it is not.

    fold: how many consecutive rows of the first result are of one example. lone: that it has one row for all examples.
    """

    arguments: tuple[int | None, ...]
    results: tuple[int | None, ...]
    fold: int
    lone: bool


def trainable(module: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters that are trained, by name; a shared one is listed once."""
    return {name: p for name, p in module.named_parameters() if p.requires_grad}


def whole_model(model: nn.Module) -> list[Unit]:
    """The model as one unit without a rule."""
    return [Unit(model, None, trainable(model))]


def units_of(model: nn.Module) -> list[Unit]:
    """Every layer with a rule on its own; a module without one takes all that is below it."""
    return list(_below(model, set(), rule_of, unroll=False))


def unrolled_units_of(model: nn.Module) -> list[Unit]:
    """The same, with the linear layers that recurrent layers consist of on their own."""
    return list(_below(model, set(), rule_of, unroll=True))


def guessed_units_of(model: nn.Module) -> list[Unit]:
    """The same, where layers of scales and shifts that nobody told of have a rule too."""
    return list(_below(model, set(), _rule_or_guess, unroll=True))


def _rule_or_guess(layer: nn.Module) -> Rule | None:
    return rule_of(layer) or scale_of(layer)


def _below(module: nn.Module, seen: set[int], rule: Choose, *, unroll: bool) -> Iterator[Unit]:
    """The units of a module, each once, though the model may hold one in several places."""
    if not any(p.requires_grad for p in module.parameters(recurse=_computes(module))):
        for child in module.children():
            yield from _below(child, seen, rule, unroll=unroll)
    elif id(module) not in seen:
        seen.add(id(module))
        yield from _at(module, rule, unroll=unroll)


def _computes(module: nn.Module) -> bool:
    """Whether a module computes a weight of its own from parameters in modules below it."""
    return nn.utils.parametrize.is_parametrized(module)


def _at(module: nn.Module, rule: Choose, *, unroll: bool) -> Iterator[Unit]:
    """A module with trainable parameters of its own, as one unit or as its linear layers."""
    plain = next(module.children(), None) is None and "forward" not in module.__dict__
    if not (unroll and plain and recurrent(module)):
        yield Unit(module, rule(module), trainable(module))
        return
    host = Unrolled(module)
    for linear in host.linears():
        if trained := trainable(linear):
            yield Unit(linear, rule(linear), trained, host)


def hosts_of(units: Sequence[Unit]) -> list[Unrolled]:
    """The recurrent layers that run some of the units."""
    return list({id(unit.host): unit.host for unit in units if unit.host is not None}.values())


def grouped(units: Sequence[Unit]) -> list[list[Unit]]:
    """Units that share a parameter, directly or by way of others, together."""
    groups: list[tuple[set[int], list[Unit]]] = []
    for unit in units:
        keys = set(unit.keys.values())
        touching = [group for group in groups if group[0] & keys]
        merged = (keys.union(*(g[0] for g in touching)), [*(u for g in touching for u in g[1]), unit])
        groups = [group for group in groups if group not in touching] + [merged]
    return [members for _, members in groups]


def joint(parts: dict[int, LayerGradient], groups: list[list[Unit]]) -> list[tuple[Keys, LayerGradient]]:
    """The gradients of each group as one: those of a shared parameter are added up before a norm is taken."""
    found: list[tuple[Keys, LayerGradient]] = []
    for group in groups:
        present = [unit for unit in group if id(unit) in parts]
        if len(present) == 1:
            found.append((present[0].keys, parts[id(present[0])]))
        elif present:
            found.append(_added_up([(unit.keys, parts[id(unit)]) for unit in present]))
    return found


def _added_up(parts: list[tuple[Keys, LayerGradient]]) -> tuple[Keys, LayerGradient]:
    """By parameter, whatever its names in the units are."""
    if (tied := _tied_table(parts)) is not None:
        return tied
    total: dict[int, Tensor] = {}
    for keys, part in parts:
        for name, gradients in part.rows().items():
            key = keys[name]
            total[key] = total[key] + gradients if key in total else gradients
    return {str(key): key for key in total}, PlainRows({str(key): value for key, value in total.items()})


def _tied_table(parts: list[tuple[Keys, LayerGradient]]) -> tuple[Keys, LayerGradient] | None:
    """A table that is read once and used as a matrix once, as in most models of language: its sums are not made."""
    reads = [part for _, part in parts if isinstance(part, Lookup)]
    matrices = [part for _, part in parts if isinstance(part, Outer) and part.names == ("weight",) and not part.kernel]
    if not len(parts) == 2 == len(reads) + len(matrices) or len(reads) != 1:
        return None
    return parts[0][0], TiedTable(reads[0], matrices[0])
