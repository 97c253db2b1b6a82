"""The one place that touches names of torch with a leading underscore.

They may be gone in another version of torch. Then what stands here falls back on public names, with the same gradients.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge

from hush.learning import nested

try:
    from torch.utils import _pytree
except ImportError:
    _pytree = nested

_engine: Any = getattr(torch.autograd.graph, "_engine_run_backward", None)
_writes: Any = attrgetter("_version") if hasattr(Tensor, "_version") else None
_base: Any = attrgetter("_base") if hasattr(Tensor, "_base") else None
_uses: Any = getattr(getattr(torch, "_C", None), "_storage_Use_Count", None)
_address: Any = attrgetter("_cdata")
_normalised: Any = getattr(nn.utils.parametrizations, "_WeightNorm", None)
_COMPILERS = "torch._"
_BINDINGS = "torch._C"
_COMPILERS_MARK, _COMPILERS_MARKS = "_dynamo_static_input_type", ("guarded", "unguarded")
_COMPILERS_NOTE = "_torchdynamo"
_TABLES = "_parameters", "_buffers", "_modules"
_HOOKS = "_backward_hooks", "_post_accumulate_grad_hooks"

# Containers, nested in one another, of tensors.


def tree_flatten(tree: Any) -> tuple[list[Any], Any]:
    """The leaves of nested containers, and how to put them together."""
    return _pytree.tree_flatten(tree)


def tree_unflatten(leaves: Iterable[Any], nesting: Any) -> Any:
    """The containers of these leaves."""
    return _pytree.tree_unflatten(leaves, nesting)


def tree_leaves(tree: Any) -> list[Any]:
    """The leaves of nested containers."""
    return _pytree.tree_leaves(tree)


def tree_map(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """The same containers with the function's results in place of the leaves."""
    return _pytree.tree_map(function, tree, *others)


# The way back through a graph.


def gradients_at(targets: Sequence[Any], losses: Tensor, weights: Tensor) -> Sequence[Tensor | None]:
    """Gradients of the weighted losses at tensors or edges of the graph; None where they do not depend on one.

    The engine is called directly: torch.autograd.grad checks its arguments for longer than a small graph runs.
    """
    if _engine is None:
        return torch.autograd.grad((losses,), targets, (weights,), allow_unused=True)
    return _engine((losses,), (weights,), False, False, tuple(targets), True, accumulate_grad=False)


def edge_of(output: Tensor) -> tuple[Tensor, GradientEdge]:
    """An output, and where in the graph its gradient arrives, also if the output is overwritten later.

    Overwriting a view gives it a new place in the graph. The tensor that it is a view of keeps its own, so that place
    is taken if both hold the same numbers; if not, or if views cannot be told, a copy of the output is used.
    """
    place, stays = output, _base is not None
    base = _base(output) if stays else None
    if base is not None:
        same = base.numel() == output.numel() and base.is_contiguous() and output.is_contiguous()
        place, stays = base, same and base.grad_fn is not None
    if not stays:
        output = place = output.clone()
    if place.grad_fn is None:
        raise ValueError("an output that has no gradient")
    return output, GradientEdge(place.grad_fn, place.output_nr)


def version_of(values: Tensor) -> object:
    """What tells whether a tensor is overwritten later: torch's count of writes, or else the numbers themselves."""
    return values.detach().clone() if _writes is None else _writes(values)


def is_version(values: Tensor, version: object) -> bool:
    """Whether a tensor is as it was when `version_of` saw it."""
    if not isinstance(version, Tensor):
        return _writes(values) == version
    if values.shape != version.shape:
        return False
    equal = (values == version) | ((values != values) & (version != version))  # NaN is not equal to itself
    return bool(equal.all())


def unshared(values: Tensor) -> bool:
    """Whether no other tensor, nor what was made of one, has any of this one's memory; False where torch cannot tell.

    A tensor that was given away under another name is not seen: give away views. Memory that other processes may read
    is shared; on other devices than the CPU torch says that of all memory, and it is not asked.
    """
    if _uses is None or (values.device.type == "cpu" and values.is_shared()):
        return False
    return _holders(values) == _holders(torch.empty(1))


def _holders(values: Tensor) -> tuple[int, int]:
    """How often the memory is held: as an object of Python, of which there is one, and by tensors."""
    storage = values.untyped_storage()
    return sys.getrefcount(storage), _uses(_address(storage))


# Functions that are mapped over examples.


@contextmanager
def mapping() -> Iterator[None]:
    """In here torch.func.vmap says nothing of what it maps one by one: that is right, if slow."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "There is a performance drop")
        yield


# Weights that are computed.


def is_weight_norm(made_by: nn.Module) -> bool:
    """Whether a list of parametrizations is torch's weight normalisation alone, of each line of a weight."""
    steps = list(made_by.children())
    return len(steps) == 1 and type(steps[0]) is _normalised and getattr(steps[0], "dim", None) == 0


# What modules, tensors and compilers keep.


def tables(module: nn.Module) -> dict[str, dict[str, Any]]:
    """The dictionaries in which a module keeps its parameters, buffers and modules, by their names.

    A dictionary of another name is an attribute like any other, and found as such.
    """
    return {name: entry for name in _TABLES if isinstance(entry := vars(module).get(name), dict)}


def hooks(values: Tensor) -> list[object]:
    """The hooks of a tensor. Where they cannot be told, none: a private pass runs no hook of a tensor of the model."""
    return [entry for entry in hook_tables(values) if entry]


def hook_tables(values: Tensor) -> list[object]:
    """The dictionaries in which a tensor keeps its hooks, of which there is none until it has one."""
    return [getattr(values, name, None) for name in _HOOKS]


def put_hook_tables(values: Tensor, before: Sequence[object]) -> bool:
    """Give a tensor the dictionaries that it had, and say whether it had others."""
    others = [(name, old) for name, old, new in zip(_HOOKS, before, hook_tables(values), strict=True) if old is not new]
    for name, old in others:
        setattr(values, name, old)
    return bool(others)


def is_of_compiler(kind: type) -> bool:
    """Whether things of this kind are a compiler's own, and not a module that it runs."""
    module = str(kind.__module__)  # of some kinds made in C it is no text
    return module.startswith(_COMPILERS) and not module.startswith(_BINDINGS) and not issubclass(kind, nn.Module)


def is_compilers_note(name: str) -> bool:
    """Whether a compiler left an attribute of this name on a function."""
    return name.startswith(_COMPILERS_NOTE)


def is_compilers_mark(name: str, value: object) -> bool:
    """Whether an attribute of a tensor is the compiler's word on how it treats it: one of two constants, and no data.

    Which parameters get it depends on what was compiled before in this process.
    """
    return name == _COMPILERS_MARK and type(value) is str and value in _COMPILERS_MARKS


# Processes.


def shared_store() -> Any:
    """The table of names and texts that all processes of torch.distributed share; None where it cannot be told."""
    module = getattr(torch.distributed, "distributed_c10d", None)
    found = getattr(module, "_get_default_store", None)
    return None if found is None else found()
