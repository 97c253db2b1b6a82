"""What a thing consists of: the steps from an object to all that it holds, and what cannot be looked into."""

from __future__ import annotations

import _thread
import dis
import functools
import gc
import io
import re
import socket
import sys
import sysconfig
import types
import weakref
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from functools import lru_cache
from numbers import Number
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hush.errors import NotCovered
from hush.learning.boundary import quiet
from hush.learning.torch_private import hooks, is_compilers_mark, is_compilers_note, is_of_compiler, tables

MOST = 1_000_000
"""Things that are looked at; a model with more of them cannot be checked."""
_abc_impl = vars(Mapping)["_abc_impl"]
CACHED = type(lru_cache(lambda: None))
"""Functions that remember what they returned."""
PLAIN = frozenset({type(None), bool, int, float, complex, str, bytes, type(...), type(NotImplemented), object, slice})
"""Things that consist of nothing else and cannot be changed."""
FIXED = (
    *(torch.dtype, torch.device, torch.layout, torch.memory_format, torch.qscheme, torch.finfo, torch.iinfo),
    *(np.dtype, np.ufunc, re.Pattern, range, types.CodeType, types.GenericAlias, types.UnionType),
    *(types.WrapperDescriptorType, types.MethodDescriptorType, types.ClassMethodDescriptorType),
    *(types.GetSetDescriptorType, types.MemberDescriptorType, type(_abc_impl)),
)
"""Kinds of things that cannot be changed, or hold nothing of their own."""
OUTSIDE = (io.RawIOBase, io.BufferedReader, io.BufferedWriter, io.BufferedRandom, io.TextIOWrapper, socket.socket)
OUTSIDE += (_thread.LockType, _thread.RLock)
"""Files, sockets and locks: what is written there is not part of the model, and is beyond any check."""
HOLDERS = (list, tuple, dict, OrderedDict, defaultdict, set, frozenset, deque, types.MappingProxyType, np.ndarray)
HOLDERS += Tensor.__mro__[:-1]
"""Kinds whose content is not in attributes, and is looked into."""
DYNAMIC = frozenset({"getattr", "setattr", "vars", "globals", "exec", "eval", "__dict__", "__getattribute__"})
"""Names by which code reaches names that are not written in it."""
INSTALLED = frozenset({"site-packages", "dist-packages"})
"""Names of folders of installed packages, also of the user's own and of those below another environment."""

Steps = Iterator[tuple[str, object]]


def walk(roots: Mapping[str, object]) -> Steps:
    """Every thing below some objects with its path; one that is reached again comes again, but not what is below it."""
    seen: dict[int, object] = {}  # they are kept alive, so that no two have the same number
    left: list[tuple[str, object]] = list(roots.items())
    count = 0
    while left:
        path, value = left.pop()
        count += 1
        if count > MOST:
            raise NotCovered(f"a model that holds more than {MOST} things: whether it keeps rows cannot be seen")
        yield path, value
        if type(value) not in PLAIN and id(value) not in seen:
            seen[id(value)] = value
            steps = _steps(type(value))
            below = steps(value) if steps is not None else (("", _reduced(path, value)), *_of_object(value))
            left += [(path + step, child) for step, child in below]


def named(path: str) -> str:
    """A path by names of attributes, and never of keys: those may be private."""
    return path.split("[")[0].replace("'", "")


@lru_cache(maxsize=4096)
def _steps(kind: type) -> Callable[[Any], Iterable[tuple[str, object]]] | None:
    """How things of a kind are looked into; None if they hide something."""
    if issubclass(kind, FIXED + OUTSIDE) or is_of_compiler(kind):
        return lambda _: ()
    for kinds, steps in STEPS:
        if issubclass(kind, kinds):
            return steps
    leaf = issubclass(kind, Number | str | bytes | bytearray | np.generic)
    return _of_object if leaf or not hides(kind) else None


@lru_cache(maxsize=4096)
def hides(kind: type) -> bool:
    """Whether things of this kind have room besides their attributes: they are made in C, and what is there is unseen.

    A class of Python adds one place for each slot, one for the attributes and one for weak references.
    """
    for part in kind.__mro__:
        if part is object or part in HOLDERS or part.__base__ is None:
            continue
        slots = part.__dict__.get("__slots__", ())
        places = len((slots,) if isinstance(slots, str) else tuple(slots))
        places += ("__dict__" in part.__dict__) + ("__weakref__" in part.__dict__)
        if part.__basicsize__ - part.__base__.__basicsize__ > 8 * places:  # bytes of a pointer
            return True
    return False


def _reduced(path: str, value: Any) -> object:
    """What a thing made in C would be written as, and read from again."""
    if isinstance(value, torch.ScriptObject | torch.jit.ScriptFunction):
        raise NotCovered(f"a scripted or traced function ({named(path)}): give the function itself")
    try:
        with quiet():
            return value.__reduce_ex__(4)
    except Exception:
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        raise NotCovered(
            f"a model that holds what cannot be looked into (here: {named(path)}, of type {kind}): whether it keeps "
            "rows there cannot be seen"
        ) from None


def _of_object(value: Any) -> Steps:
    if isinstance(value, list | tuple | deque) or (isinstance(value, np.ndarray) and value.dtype == object):
        yield from ((f"[{place}]", entry) for place, entry in enumerate(value))
    if isinstance(value, set | frozenset):
        yield from ((f"[{place}]", entry) for place, entry in enumerate(sorted(value, key=_order)))
    if isinstance(value, Mapping):
        for place, pair in enumerate(value.items()):
            yield from ((f"[{place}]", part) for part in pair)
    inside = tables(value) if isinstance(value, nn.Module) else {}
    for name, entry in (attributes(value) or {}).items():
        if name in inside:
            yield from ((f".{inner}", part) for inner, part in dict(entry).items())
        else:
            yield f".{name}", entry
    for name, slot in slots(type(value)):
        try:
            yield f".{name}", slot.__get__(value)
        except AttributeError:  # one without a value
            continue
    if is_own(type(value).__module__):
        yield "", type(value)


def attributes(value: object) -> dict[str, Any] | None:
    """The attributes of an object that are its own."""
    found = getattr(value, "__dict__", None)
    return found if isinstance(found, dict) else None


@lru_cache(maxsize=4096)
def slots(kind: type) -> tuple[tuple[str, Any], ...]:
    """The places of a kind that has them in place of attributes."""
    made = [part for part in kind.__mro__ if "__slots__" in part.__dict__]
    entries = [entry for part in made for entry in part.__dict__.items()]
    return tuple((name, entry) for name, entry in entries if isinstance(entry, types.MemberDescriptorType))


def _order(value: Any) -> str:
    """Entries of a set in an order that does not depend on where they are in memory."""
    if isinstance(value, Tensor):
        return f"{value.dtype} {value.tolist()}" if value.layout == torch.strided and not value.is_meta else "tensor"
    if isinstance(value, str | bytes | Number):
        return f"{type(value).__name__} {value!r}"
    return f"{type(value).__name__} {getattr(value, '__qualname__', '')}"


def _of_tensor(value: Tensor) -> Steps:
    """Besides its numbers: its gradient, its hooks and its attributes."""
    if value.is_leaf and value.grad is not None:
        yield ".grad", value.grad
    yield from (("", entry) for entry in hooks(value))
    yield from (step for step in _of_object(value) if not is_compilers_mark(step[0].removeprefix("."), step[1]))


def _of_class(kind: type) -> Steps:
    if not is_own(kind.__module__):
        return
    for name, entry in list(vars(kind).items()):
        if not name.startswith("__") or isinstance(entry, types.FunctionType):
            yield f".{name}", entry
    yield from (("", base) for base in (*kind.__bases__, type(kind)))


def _of_module(module: types.ModuleType) -> Steps:
    if is_own(module.__name__):
        yield from ((f".{name}", entry) for name, entry in list(vars(module).items()) if not name.startswith("__"))


def _of_function(function: types.FunctionType) -> Steps:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield f".{name}", cell.cell_contents
        except ValueError:  # a variable that has no value yet
            continue
    yield from (("", part) for part in (function.__defaults__, function.__kwdefaults__) if part)
    noted = [(name, entry) for name, entry in vars(function).items() if not is_compilers_note(name)]
    yield from ((f".{name}", entry) for name, entry in noted)  # without the compiler's own
    for scope, names in scopes(function):
        for name in names:
            entry = scope.get(name)
            if name in scope and not isinstance(entry, types.ModuleType):
                yield f".{name}", entry


def scopes(function: types.FunctionType) -> Iterator[tuple[dict[str, Any], list[str]]]:
    """Names outside of a function that its code uses, if it is one's own: in its module, and in those it uses."""
    if not is_own(function.__module__):
        return
    outer, others, imported = _names(function.__code__)
    yield function.__globals__, sorted(outer)
    left = [function.__globals__.get(name) for name in sorted(outer)] + [sys.modules.get(n) for n in sorted(imported)]
    seen: set[int] = set()
    while left:
        module = left.pop()
        if isinstance(module, types.ModuleType) and id(module) not in seen and is_own(module.__name__):
            seen.add(id(module))
            every = bool(DYNAMIC & (outer | others))
            names = [n for n in vars(module) if not n.startswith("__")] if every else sorted(others)
            yield vars(module), names
            left += [vars(module).get(name) for name in names]


@lru_cache(maxsize=4096)
def _names(code: types.CodeType) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Names that some code, or code inside of it, uses: global ones, those of attributes, those of modules."""
    steps = list(dis.get_instructions(code))
    outer = {step.argval for step in steps if step.opname in ("LOAD_GLOBAL", "STORE_GLOBAL", "LOAD_NAME")}
    imported = {step.argval for step in steps if step.opname == "IMPORT_NAME"}
    inner = [_names(part) for part in code.co_consts if isinstance(part, types.CodeType)]
    outer, imported = outer.union(*(part[0] for part in inner)), imported.union(*(part[2] for part in inner))
    return frozenset(outer), frozenset(code.co_names).union(*(part[1] for part in inner)), frozenset(imported)


@lru_cache(maxsize=1024)
def is_own(module: str | None) -> bool:
    """Whether code was written by the user: it is not Python's, nor that of an installed package."""
    if not isinstance(module, str | None):  # as for some kinds made in C
        return False
    root = (module or "").split(".")[0]
    if root in sys.stdlib_module_names or root in ("torch", "hush", "numpy"):
        return root == "__main__"
    file = getattr(sys.modules.get(module or ""), "__file__", None)
    above = Path(file or "").resolve().parents
    places = [Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "purelib", "platlib")]
    return file is None or not (any(place in above for place in places) or INSTALLED & {place.name for place in above})


def _of_cache(value: Any) -> Steps:
    """What a cached function returned before, and the function."""
    yield from (("", entry) for entry in (value.cache_info().currsize, value.__wrapped__))
    for entry in gc.get_referents(value):
        parts = [part for pair in entry.items() for part in pair] if isinstance(entry, dict) else [entry]
        yield from (("", part) for part in parts if type(part).__name__ != "_lru_list_elem")  # the order of use


STEPS: tuple[tuple[Any, Any], ...] = (
    (Tensor, _of_tensor),
    (types.ModuleType, _of_module),
    (type, _of_class),
    (types.FunctionType, _of_function),
    (types.MethodType, lambda value: (("", value.__self__), ("", value.__func__))),
    ((types.BuiltinFunctionType, types.MethodWrapperType), lambda value: (("", value.__self__),)),
    ((staticmethod, classmethod), lambda value: (("", value.__func__),)),
    (property, lambda value: (("", part) for part in (value.fget, value.fset, value.fdel) if part is not None)),
    (functools.partial, lambda value: (("", value.func), ("", value.args), ("", value.keywords))),
    (CACHED, _of_cache),
    (ContextVar, lambda value: (("", value.get(None)),)),
    (weakref.ref, lambda value: (("", value()),)),
)
"""Kinds of things that are looked into in a way of their own."""
