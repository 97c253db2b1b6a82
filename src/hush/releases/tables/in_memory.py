"""Columns that are already in memory: arrays, lists, dicts of them, and data frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from hush.errors import InvalidParameter
from hush.releases.tables.columns import Column
from hush.releases.tables.frames import PACKAGES, column_of, package_of, parts_of
from hush.releases.tables.reader import ColumnsReader, require_different

ONLY = ""
"""The name of the only column of a bare array."""
DECLARED = ("__array__", "__array_interface__", "__array_struct__")
"""What a type has that makes an array of itself, beside a buffer."""


class Memory(ColumnsReader):
    """Columns in memory, which become numpy arrays only when they are asked for."""

    def __init__(self, columns: Iterable[tuple[str, Any]]) -> None:
        found = list(columns)
        self.names = require_different(name for name, _ in found)
        self._columns = dict(found)
        lengths = {len(column) for column in self._columns.values()}
        if len(lengths) > 1:
            raise InvalidParameter("table", "columns of one length", columns=len(found))
        self._rows = lengths.pop() if lengths else 0
        self._seen: dict[str, Column] = {}

    def _column(self, name: str) -> Column:
        if name not in self._seen:
            self._seen[name] = column_of(self._columns[name])
        return self._seen[name]

    def rows(self) -> int | None:
        return self._rows

    def batches(self, names: tuple[str, ...], *, numbers: bool) -> Iterator[tuple[np.ndarray, ...]]:
        yield tuple(self._column(name).read(numbers=numbers and place == 0) for place, name in enumerate(names))

    def with_unit(self, names: tuple[str, ...], unit: str, *, numbers: bool) -> Iterator[tuple[Any, ...]]:
        for arrays in self.batches(names, numbers=numbers):
            yield (*arrays, self._column(unit).units())


def in_memory(source: Any) -> Memory:
    """The columns of a dict, a data frame or a series, or a bare array or list as the only one."""
    if isinstance(source, Mapping):
        return Memory((str(k), v if package_of(v) in PACKAGES else _raw(v)) for k, v in source.items())
    return Memory(parts_of(source, ONLY) if package_of(source) in PACKAGES else [(ONLY, _raw(source))])


def _raw(values: Any) -> np.ndarray | list[Any]:
    """An array, whose type is declared, or a plain list, of which the cells must not decide one."""
    if _is_list(values):
        return list(values)
    found = np.ma.asarray(values) if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
    if found.ndim == 0 or found.dtype.kind in "cV":
        raise InvalidParameter("table", "an array, a list, a data frame, or a path", source=type(values).__name__)
    return found


def _is_list(values: Any) -> bool:
    """Whether it is a sequence that declares no type for its cells: numpy would guess one from them."""
    if any(hasattr(values, name) for name in (*DECLARED, "keys")) or isinstance(values, str):
        return False
    try:
        memoryview(values)
        return False
    except TypeError:
        return hasattr(values, "__len__") and hasattr(values, "__getitem__")
