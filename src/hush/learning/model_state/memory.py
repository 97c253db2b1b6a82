"""What a model keeps: everything that can be reached from it, to see whether a pass leaves anything behind."""

from __future__ import annotations

from collections import deque
from numbers import Number
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hush.errors import NotCovered
from hush.learning.model_state.reachable import named, walk

Memory = dict[str, Any]
"""What there is at each place: a number, a text, the bits of a tensor, or the kind of thing."""


def memory(**roots: object) -> Memory:
    """Everything below some objects: tensors, arrays, numbers, texts, in whatever holds them.

    Attributes of objects, entries of containers, variables of functions, and what a class or a global name holds
    where the code is one's own. Code of Python, torch and installed packages is not looked into; their objects are.
    What is made in C is compared as it would be written to a file, and refused if it cannot be.

    >>> memory(model=[1.0, "two"])
    {'model': 'list 2', 'model[1]': "str 'two'", 'model[0]': 'float 1.0'}
    """
    found: Memory = {}
    for path, value in walk(roots):
        while path in found:
            path += "'"
        bits = _bits(value)
        found[path] = _kind(value) if bits is None else bits
    return found


def difference(one: Memory, other: Memory) -> str | None:
    """A place at which two memories differ, by names of attributes and never of keys; None if there is none."""
    for path in (*one, *other):
        if path not in one or path not in other or not equal(one[path], other[path]):
            return named(path)
    return None


def equal(one: Any, other: Any) -> bool:
    """Whether two values are the same, bit by bit where they are tensors."""
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        bits = {4: torch.int32, 8: torch.int64}.get(one.element_size(), torch.uint8)  # so that NaN equals NaN
        alike = one.dtype == other.dtype and one.shape == other.shape
        return alike and torch.equal(one.reshape(-1).view(bits), other.reshape(-1).view(bits))
    return type(one) is type(other) and bool(one == other)


def _bits(value: object) -> object:
    """The value of a leaf, None for what consists of others."""
    if isinstance(value, Tensor):
        numbers = plain(value)
        return numbers.clone() if isinstance(numbers, Tensor) else numbers
    if isinstance(value, np.ndarray) and value.dtype != object:
        return f"{value.dtype} {value.shape} ".encode() + value.tobytes()
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    if isinstance(value, str | Number | np.generic):
        return f"{type(value).__name__} {value!r}"
    return None


def plain(value: Tensor) -> object:
    """The numbers in a row; not a copy."""
    if value.is_meta:
        return f"{value.dtype} {tuple(value.shape)}"
    try:
        numbers = value.detach() if value.layout == torch.strided else value.detach().to_dense()
        return numbers.resolve_conj().resolve_neg().contiguous()
    except (RuntimeError, NotImplementedError, TypeError):
        raise NotCovered(f"a model that holds a tensor of {value.layout}: it cannot be compared") from None


def _kind(value: object) -> str:
    size = f" {len(value)}" if isinstance(value, list | tuple | dict | deque | set | frozenset) else ""
    return type(value).__name__ + size
