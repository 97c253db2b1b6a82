"""What unusual rows leave behind in a model is undone: nothing of it stays, and no error tells of it."""

from __future__ import annotations

import array
import contextlib
import functools
import io
import random  # noqa: TID251 (nothing is drawn)
import types
from collections import deque
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from operator import is_not
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hush.learning.model_state.memory import equal, plain
from hush.learning.model_state.reachable import CACHED, PLAIN, attributes, is_own, scopes, slots, walk
from hush.learning.torch_private import hook_tables, put_hook_tables, tables

Undo = Callable[[], bool]
"""Makes a thing again what it was, and says whether it was anything else."""
MISSING = object()


class Restored:
    """A context after which all that a model and its loss hold is as it was before, and which can look in between.

    The check before refuses what it sees a model keep, on random rows. What a model keeps of unusual rows alone is
    undone here, wherever the check would have looked.
    """

    def __init__(self, model: nn.Module, loss: object) -> None:
        self.roots = {"model": model, "loss": loss}
        self.copies: dict[int, Tensor] = {}  # of the last time: fresh memory takes longer than what is written to it

    def __enter__(self) -> Restored:
        found = {id(value): value for _, value in walk(self.roots) if type(value) not in PLAIN}
        tensors = {  # those of inference and of the meta device cannot change
            key: value
            for key, value in found.items()
            if isinstance(value, Tensor) and not (value.is_inference() or value.is_meta)
        }
        self.copies = {key: _copied(value, self.copies.get(key)) for key, value in tensors.items()}
        self.undo = [undo for value in found.values() for undo in _undone(value)]
        self.undo += [_of_tensor(value, self.copies[key]) for key, value in tensors.items()]
        self.alive = found  # so that nothing that is put back was let go
        self.used = False
        return self

    def put_back(self) -> bool:
        """Make all as it was when the context began; whether anything was not."""
        left = any([undo() for undo in self.undo])  # a list: all of them run
        self.used = False
        return left

    def use(self) -> None:
        """Said before the model or the loss runs: until then nothing can have changed since it was put back."""
        self.used = True

    def __exit__(self, *error: object) -> None:
        if self.used:
            self.put_back()
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


def _put_cell(cell: types.CellType, before: object) -> bool:
    if _cell(cell) is before:
        return False
    if before is MISSING:
        del cell.cell_contents
    else:
        cell.cell_contents = before
    return True


def _slot(slot: Any, value: object) -> object:
    try:
        return slot.__get__(value)
    except AttributeError:
        return MISSING


def _put_slot(slot: Any, value: object, before: object) -> bool:
    if _slot(slot, value) is before:
        return False
    if before is MISSING:
        slot.__delete__(value)
    else:
        slot.__set__(value, before)
    return True


def _put_names(scope: dict[str, Any], before: dict[str, Any]) -> bool:
    others = {name: entry for name, entry in before.items() if scope.get(name, MISSING) is not entry}
    for name, entry in others.items():
        if entry is MISSING:
            del scope[name]
        else:
            scope[name] = entry
    return bool(others)


def _put_class(kind: type, before: dict[str, Any]) -> bool:
    now = dict(vars(kind))
    new = [name for name in now if not name.startswith("__") and name not in before]
    others = {
        name: entry
        for name, entry in before.items()
        if name not in now or (not name.startswith("__") and now[name] is not entry)
    }
    for name in new:
        delattr(kind, name)
    for name, entry in others.items():
        setattr(kind, name, entry)
    return bool(new or others)


def _put_mapping(now: Any, before: Any) -> bool:
    if now.keys() == before.keys() and not any(map(is_not, now.values(), before.values())):  # also in their order
        return False
    now.clear()
    now.update(before)
    return True


def _put_entries(now: Any, before: Any) -> bool:
    if list(map(id, now)) == list(map(id, before)):
        return False
    now.clear()
    now.extend(before)
    return True


def _put_members(now: set[Any], before: set[Any]) -> bool:
    if set(map(id, now)) == set(map(id, before)):
        return False
    now.clear()
    now.update(before)
    return True


def _copied(value: Tensor, room: Tensor | None) -> Tensor:
    """A copy, in the memory of an earlier one if that has the same form."""
    own = value.detach()
    if room is None or type(value) not in (Tensor, nn.Parameter) or _form(room) != _form(own):
        return own.clone()
    return room.copy_(own)


def _form(value: Tensor) -> tuple[object, ...]:
    strides = value.stride() if value.layout == torch.strided else None
    return value.layout, value.shape, strides, value.dtype, value.device, value.is_conj(), value.is_neg()


def _of_tensor(value: Tensor, copy: Tensor) -> Undo:
    """Its numbers, in the same place of memory: others may share it; its gradient, its hooks, whether it is trained."""
    gradient = value.grad if value.is_leaf else None
    place, where = value.data, _where(value)
    leaf, trained, hooked = value.is_leaf, value.requires_grad, hook_tables(value)

    def undo() -> bool:
        turned = put_hook_tables(value, hooked)
        turned = (leaf and _put_leaf(value, trained=trained)) or turned
        if value.is_leaf and value.grad is not gradient:
            value.grad = gradient
            turned = True
        if _where(value) == where and equal(plain(value), plain(copy)):
            return turned
        try:
            place.copy_(copy)
            value.data = place
        except (RuntimeError, NotImplementedError):  # one that overlaps itself, or is not strided
            value.data = copy.clone()
        return True

    return undo


def _where(value: Tensor) -> object:
    """Where in memory its numbers are, and in which order."""
    try:
        return value.data_ptr(), value.stride()
    except (RuntimeError, NotImplementedError):  # one that is not strided
        return None


def _put_leaf(value: Tensor, *, trained: bool) -> bool:
    """Cut off the graph that a row's numbers were written with: all of the row is in it."""
    if value.is_leaf and value.requires_grad == trained:
        return False
    if not value.is_leaf:
        with contextlib.suppress(RuntimeError):  # a view, which loses it with what it is a view of
            value.detach_()
    if value.is_leaf:
        value.requires_grad_(trained)
    return True


def _of_array(value: np.ndarray) -> Undo:
    copy, fixed = value.copy(), not value.flags.writeable

    def put(_: object) -> None:
        if not fixed:
            value.flags.writeable = True
        if value.dtype != copy.dtype:
            value.dtype = copy.dtype  # type: ignore[assignment]
        if value.shape != copy.shape:
            value.shape = copy.shape
        np.copyto(value, copy)

    return _put_where_other(lambda: (value.dtype, value.shape, value.flags.writeable, value.tobytes()), put)


def _of_variable(value: ContextVar[Any]) -> Undo:
    before = value.get(None)

    def undo() -> bool:
        other = value.get(None) is not before
        if other:
            value.set(before)
        return other

    return undo


def _put_where_other(get: Callable[[], Any], put: Callable[[Any], object]) -> Undo:
    """For what can be read and written as a whole, and compared."""
    before = get()

    def undo() -> bool:
        other = get() != before
        if other:
            put(before)
        return other

    return undo


def _of_generator(value: torch.Generator) -> Undo:
    before = value.get_state()

    def undo() -> bool:
        other = not torch.equal(value.get_state(), before)
        if other:
            value.set_state(before)
        return other

    return undo


def _of_bits(value: Any) -> Undo:
    """A generator of numpy, whose state is a fresh mapping at every look and may hold arrays."""
    before = value.state

    def undo() -> bool:
        other = _comparable(value.state) != _comparable(before)
        if other:
            value.state = before
        return other

    return undo


def _comparable(state: Any) -> Any:
    """The same, with the bytes of every array in its place."""
    if isinstance(state, dict):
        return {name: _comparable(entry) for name, entry in state.items()}
    return state.tobytes() if isinstance(state, np.ndarray) else state


KEEPERS: tuple[tuple[Any, Callable[[Any], Undo]], ...] = (
    (np.ndarray, _of_array),
    (dict, lambda value: functools.partial(_put_mapping, value, value.copy())),
    ((list, deque), lambda value: functools.partial(_put_entries, value, value.copy())),
    (set, lambda value: functools.partial(_put_members, value, value.copy())),
    (bytearray, lambda value: _put_where_other(lambda: bytes(value), lambda b: value.__setitem__(slice(None), b))),
    (array.array, lambda value: _put_where_other(lambda: value[:], lambda b: value.__setitem__(slice(None), b))),
    ((io.BytesIO, io.StringIO), lambda value: _put_where_other(value.__getstate__, value.__setstate__)),
    (torch.Generator, _of_generator),
    (np.random.BitGenerator, _of_bits),  # noqa: TID251
    (random.Random, lambda value: _put_where_other(value.getstate, value.setstate)),
    (ContextVar, _of_variable),
    (CACHED, lambda value: _put_where_other(lambda: value.cache_info().misses, lambda _: value.cache_clear())),
)
"""How things are kept that hold something besides attributes."""
