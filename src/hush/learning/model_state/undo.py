"""What unusual rows leave behind in a model is undone: nothing of it stays, and no error tells of it."""

from __future__ import annotations

import array
import functools
import io
import random  # noqa: TID251 (nothing is drawn)
import types
from collections import deque
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hush.learning.model_state.memory import equal, plain
from hush.learning.model_state.reachable import CACHED, PLAIN, attributes, is_own, scopes, slots, walk
from hush.learning.torch_private import tables

Undo = Callable[[], object]
MISSING = object()


class Restored:
    """A context after which all that a model and its loss hold is as it was before.

    The check before refuses what it sees a model keep, on random rows. What a model keeps of unusual rows alone is
    undone here, wherever the check would have looked.
    """

    def __init__(self, model: nn.Module, loss: object) -> None:
        self.roots = {"model": model, "loss": loss}

    def __enter__(self) -> Restored:
        found = {id(value): value for _, value in walk(self.roots) if type(value) not in PLAIN}
        self.undo = [undo for value in found.values() for undo in _undone(value)]
        self.alive = found  # so that nothing that is put back was let go
        return self

    def __exit__(self, *error: object) -> None:
        for undo in self.undo:
            undo()
        del self.undo, self.alive


def _undone(value: Any) -> Iterator[Undo]:
    """How to make a thing again what it is now."""
    if isinstance(value, type):
        if is_own(value.__module__):
            yield functools.partial(_put_class, value, dict(vars(value)))
        return
    if isinstance(value, types.FunctionType):
        yield from _of_function(value)
    if isinstance(value, types.ModuleType):
        if is_own(value.__name__):
            yield functools.partial(_put_mapping, vars(value), dict(vars(value)))
        return
    own = attributes(value)
    if own is not None:
        yield functools.partial(_put_mapping, own, own.copy())
    if isinstance(value, nn.Module):  # whose entries are walked, and not these
        yield from (functools.partial(_put_mapping, part, part.copy()) for part in tables(value).values())
    for _, slot in slots(type(value)):
        yield functools.partial(_put_slot, slot, value, _slot(slot, value))
    keep = _keeper(type(value))
    if keep is not None:
        yield keep(value)


@functools.lru_cache(maxsize=4096)
def _keeper(kind: type) -> Callable[[Any], Undo] | None:
    return next((keep for kinds, keep in KEEPERS if issubclass(kind, kinds)), None)


def _of_function(function: types.FunctionType) -> Iterator[Undo]:
    for cell in function.__closure__ or ():
        yield functools.partial(_put_cell, cell, _cell(cell))
    for scope, names in scopes(function):
        yield functools.partial(_put_names, scope, {name: scope.get(name, MISSING) for name in names})


def _cell(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


def _put_cell(cell: types.CellType, before: object) -> None:
    if _cell(cell) is not before:
        if before is MISSING:
            del cell.cell_contents
        else:
            cell.cell_contents = before


def _slot(slot: Any, value: object) -> object:
    try:
        return slot.__get__(value)
    except AttributeError:
        return MISSING


def _put_slot(slot: Any, value: object, before: object) -> None:
    if _slot(slot, value) is not before:
        if before is MISSING:
            slot.__delete__(value)
        else:
            slot.__set__(value, before)


def _put_names(scope: dict[str, Any], before: dict[str, Any]) -> None:
    for name, entry in before.items():
        if scope.get(name, MISSING) is not entry:
            if entry is MISSING:
                del scope[name]
            else:
                scope[name] = entry


def _put_class(kind: type, before: dict[str, Any]) -> None:
    for name, entry in list(vars(kind).items()):
        if not name.startswith("__") and name not in before:
            delattr(kind, name)
        elif not name.startswith("__") and entry is not before[name]:
            setattr(kind, name, before[name])
    for name in before.keys() - vars(kind).keys():
        setattr(kind, name, before[name])


def _put_mapping(now: Any, before: Any) -> None:
    if len(now) != len(before) or any(now.get(key, MISSING) is not value for key, value in before.items()):
        now.clear()
        now.update(before)


def _put_entries(now: Any, before: Any) -> None:
    if list(map(id, now)) != list(map(id, before)):
        now.clear()
        now.extend(before)


def _put_members(now: set[Any], before: set[Any]) -> None:
    if set(map(id, now)) != set(map(id, before)):
        now.clear()
        now.update(before)


def _of_tensor(value: Tensor) -> Undo:
    """Its numbers, in the same place of memory: others may share it; and which gradient it has."""
    gradient = value.grad if value.is_leaf else None
    if value.is_inference() or value.is_meta:  # they cannot change
        return lambda: None
    place, copy = value.data, value.detach().clone()

    def undo() -> None:
        if value.is_leaf and value.grad is not gradient:
            value.grad = gradient
        if not equal(plain(value), plain(copy)):
            try:
                place.copy_(copy)
                value.data = place
            except (RuntimeError, NotImplementedError):  # one that overlaps itself, or is not strided
                value.data = copy

    return undo


def _of_array(value: np.ndarray) -> Undo:
    copy = value.copy()
    return lambda: None if value.tobytes() == copy.tobytes() else np.copyto(value, copy)


def _of_variable(value: ContextVar[Any]) -> Undo:
    before = value.get(None)
    return lambda: None if value.get(None) is before else value.set(before)


def _of_cache(value: Any) -> Undo:
    before = value.cache_info().currsize
    return lambda: None if value.cache_info().currsize == before else value.cache_clear()


KEEPERS: tuple[tuple[Any, Callable[[Any], Undo]], ...] = (
    (Tensor, _of_tensor),
    (np.ndarray, _of_array),
    (dict, lambda value: functools.partial(_put_mapping, value, value.copy())),
    ((list, deque), lambda value: functools.partial(_put_entries, value, value.copy())),
    (set, lambda value: functools.partial(_put_members, value, value.copy())),
    ((bytearray, array.array), lambda value: functools.partial(value.__setitem__, slice(None), value[:])),
    ((io.BytesIO, io.StringIO), lambda value: functools.partial(value.__setstate__, value.__getstate__())),
    (torch.Generator, lambda value: functools.partial(value.set_state, value.get_state())),
    (np.random.BitGenerator, lambda value: functools.partial(setattr, value, "state", value.state)),  # noqa: TID251
    (random.Random, lambda value: functools.partial(value.setstate, value.getstate())),
    (ContextVar, _of_variable),
    (CACHED, _of_cache),
)
"""How things are kept that hold something besides attributes."""
