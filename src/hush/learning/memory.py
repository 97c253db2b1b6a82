"""What a model keeps: everything that can be reached from it, to see whether a pass leaves anything behind."""

from __future__ import annotations

import dis
import sys
import sysconfig
from collections import deque
from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from numbers import Number
from pathlib import Path
from types import CodeType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hush.errors import NotCovered

MOST = 1_000_000
"""Things that are looked at; a model with more of them cannot be checked."""

Memory = dict[str, Any]
"""What there is at each place: a number, a text, the bits of a tensor, or the kind of thing."""


def memory(**roots: object) -> Memory:
    """Everything below some objects: tensors, arrays, numbers, texts, in whatever holds them.

    Attributes of objects, entries of containers, variables of functions, and what a class or a global name holds
    where the code is one's own. Code of Python, torch and installed packages is not looked into; their objects are.

    >>> memory(model=[1.0, "two"])
    {'model': 'list 2', 'model[1]': "str 'two'", 'model[0]': 'float 1.0'}
    """
    found: Memory = {}
    seen: dict[int, object] = {}  # they are kept alive, so that no two have the same number
    left: list[tuple[str, object]] = list(roots.items())
    while left:
        path, value = left.pop()
        while path in found:
            path += "'"
        found[path] = _bits(value)
        if found[path] is None:
            found[path] = _kind(value)
            if id(value) not in seen:
                seen[id(value)] = value
                left += [(path + step, child) for step, child in _below(value)]
        if len(found) > MOST:
            raise NotCovered(f"a model that holds more than {MOST} things: whether it keeps rows cannot be seen")
    return found


def difference(one: Memory, other: Memory) -> str | None:
    """A place at which two memories differ, by names of attributes and never of keys; None if there is none."""
    for path in (*one, *other):
        if path not in one or path not in other or not _equal(one[path], other[path]):
            return path.split("[")[0].replace("'", "")
    return None


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return one.dtype == other.dtype and one.shape == other.shape and bool(torch.equal(_raw(one), _raw(other)))
    return type(one) is type(other) and bool(one == other)


def _raw(value: Tensor) -> Tensor:
    """The bits, so that NaN equals NaN."""
    return value.reshape(-1).view(torch.uint8)


def _bits(value: object) -> object:
    """The value of a leaf, None for what consists of others or cannot be looked into."""
    if isinstance(value, Tensor):
        plain = _plain(value)
        return plain.clone() if isinstance(plain, Tensor) else plain
    if isinstance(value, np.ndarray) and value.dtype != object:
        return f"{value.dtype} {value.shape} ".encode() + value.tobytes()
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    if isinstance(value, str | Number | np.generic):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, set | frozenset):
        return f"set {len(value)} {sorted(repr(v) for v in value if isinstance(v, str | bytes | Number | tuple))}"
    return None


def _plain(value: Tensor) -> object:
    """The numbers in a row; not a copy."""
    if value.is_meta:
        return f"{value.dtype} {tuple(value.shape)}"
    try:
        plain = value.detach() if value.layout == torch.strided else value.detach().to_dense()
        return plain.resolve_conj().resolve_neg().contiguous()
    except (RuntimeError, NotImplementedError, TypeError):
        raise NotCovered(f"a model that holds a tensor of {value.layout}: it cannot be compared") from None


def _kind(value: object) -> str:
    size = f" {len(value)}" if isinstance(value, list | tuple | dict | deque) else ""
    return type(value).__name__ + size


def _below(value: object) -> Iterator[tuple[str, object]]:
    """What a thing consists of."""
    if isinstance(value, ModuleType) or type(value).__module__.startswith("torch._"):  # compilers' own
        return
    if isinstance(value, type):
        yield from _of_class(value)
    elif isinstance(value, FunctionType):
        yield from _of_function(value)
    elif isinstance(value, MethodType):
        yield from (("", value.__self__), ("", value.__func__))
    elif isinstance(value, staticmethod | classmethod):
        yield "", value.__func__
    elif isinstance(value, property):
        yield from (("", part) for part in (value.fget, value.fset) if part is not None)
    elif isinstance(value, partial):
        yield from (("", value.func), ("", value.args), ("", value.keywords))
    else:
        yield from _of_object(value)


def _of_object(value: Any) -> Iterator[tuple[str, object]]:
    if isinstance(value, list | tuple | deque) or (isinstance(value, np.ndarray) and value.ndim):
        yield from ((f"[{place}]", entry) for place, entry in enumerate(value))
    if isinstance(value, Mapping) and not isinstance(value, MappingProxyType):
        for place, pair in enumerate(value.items()):
            yield from ((f"[{place}]", part) for part in pair)
    for name, entry in getattr(value, "__dict__", {}).items():
        if name in ("_parameters", "_buffers", "_modules") and isinstance(value, nn.Module):
            yield from ((f".{inner}", part) for inner, part in dict(entry).items())
        else:
            yield f".{name}", entry
    if isinstance(value, torch.jit.ScriptModule):
        yield from ((f".{name}", part) for name, part in value.named_buffers(recurse=False))
    for kind in type(value).__mro__:
        names = kind.__dict__.get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            if isinstance(name, str) and not name.startswith("__") and hasattr(value, name):
                yield f".{name}", getattr(value, name)
    if is_own(type(value).__module__):
        yield "", type(value)


def _of_class(kind: type) -> Iterator[tuple[str, object]]:
    if not is_own(kind.__module__):
        return
    for name, entry in list(vars(kind).items()):
        if name == "__call__" or not name.startswith("__"):
            yield f".{name}", entry
    yield from (("", base) for base in kind.__bases__)


def _of_function(function: FunctionType) -> Iterator[tuple[str, object]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield f".{name}", cell.cell_contents
        except ValueError:  # a variable that has no value yet
            continue
    yield from (("", part) for part in (function.__defaults__, function.__kwdefaults__) if part)
    yield from ((f".{name}", entry) for name, entry in vars(function).items())
    if is_own(function.__module__):
        for name in sorted(_names(function.__code__)):
            if name in function.__globals__:
                yield f".{name}", function.__globals__[name]


def _names(code: CodeType) -> set[str]:
    """Global names that some code, or code inside of it, uses."""
    inner = (_names(part) for part in code.co_consts if isinstance(part, CodeType))
    own = {step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "STORE_GLOBAL")}
    return own.union(*inner)


@lru_cache(maxsize=1024)
def is_own(module: str | None) -> bool:
    """Whether code was written by the user: it is not Python's, nor that of an installed package."""
    root = (module or "").split(".")[0]
    if root in sys.stdlib_module_names or root in ("torch", "hush", "numpy"):
        return root == "__main__"
    file = getattr(sys.modules.get(module or ""), "__file__", None)
    places = [Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "purelib", "platlib")]
    return file is None or not any(place in Path(file).resolve().parents for place in places)


OF_TORCH = frozenset(vars(nn.Module())) - {"_buffers"}
"""Attributes that every module has, besides its buffers."""


class Kept:
    """The attributes and buffers of a model, put back as they were when it is left.

    The check before refuses what it sees a model keep, on random rows. What a model keeps of unusual rows alone is
    undone here: nothing of it stays, and no error tells of it.
    """

    def __init__(self, model: nn.Module) -> None:
        self.model = model

    def __enter__(self) -> Kept:
        self.places: list[Any] = []
        for module in self.model.modules():
            own = [entry for name, entry in module.__dict__.items() if name not in OF_TORCH]
            self.places += [module.__dict__, *(entry for entry in own if isinstance(entry, dict | list | set | deque))]
        self.before = [place.copy() for place in self.places]
        entries = [e for place in self.before for e in (place.values() if isinstance(place, dict) else place)]
        held = {id(e): e for e in entries if isinstance(e, Tensor) and not isinstance(e, nn.Parameter)}
        self.copies = [(t, t.detach().clone()) for t in held.values() if not t.is_inference()]  # those cannot change
        return self

    def __exit__(self, *error: object) -> None:
        for place, before in zip(self.places, self.before, strict=True):
            if isinstance(place, list | deque) and list(map(id, place)) != list(map(id, before)):
                place.clear()
                place.extend(before)
            elif isinstance(place, dict | set) and not _same(place, before):
                place.clear()
                place.update(before)
        for tensor, copy in self.copies:
            if not _equal(_plain(tensor), _plain(copy)):
                tensor.data = copy
        del self.places, self.before, self.copies


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, set):
        return one == other
    return len(one) == len(other) and all(key in one and one[key] is value for key, value in other.items())
