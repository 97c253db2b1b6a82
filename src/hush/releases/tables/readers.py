"""Readers of arrays, data frames and files: column names, kinds, and batches of numpy arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hush.errors import InvalidParameter, NotInstalled
from hush.releases.boundary import sealed
from hush.releases.tables.columns import FLOAT, NUMBERS, OBJECT, Column

ONLY = ""
"""The name of the only column of a bare array."""
BATCH = 1 << 18
"""Records that are read from a file at once."""
DECLARED = ("__array__", "__array_interface__", "__array_struct__")
"""What a type has that makes an array of itself, beside a buffer."""
READABLE = "data that can be read: types that are covered, a file that is whole (the fault may show a record: not told)"


class Reader(ABC):
    """What an engine must offer: names, kinds, the number of records where it is known, and batches."""

    names: tuple[str, ...]

    @abstractmethod
    def kind(self, name: str) -> str:
        """By the schema alone, never by the values: see hush.releases.tables.columns."""

    @abstractmethod
    def rows(self) -> int | None:
        """The number of records, where it is known without reading them."""

    @abstractmethod
    def batches(self, names: tuple[str, ...], *, numbers: bool) -> Iterator[tuple[np.ndarray, ...]]:
        """These columns in step, in the table's order, values as they are; with numbers=True the first one as numbers.

        What is missing or no number is then NaN. How one value is read must not depend on the others.
        """

    def dtype(self, name: str) -> np.dtype:
        """By the schema alone: the type in which a user's function gets the column."""
        return FLOAT if self.kind(name) in NUMBERS else OBJECT


class Sealed(Reader):
    """Another reader behind the boundary: what goes wrong in it is told without a value."""

    def __init__(self, reader: Reader, source: str) -> None:
        self._reader, self._source = reader, source
        self.names = reader.names

    def _sealed(self, action: Any) -> Any:
        return sealed(action, who="table", rule=READABLE, source=self._source)

    def kind(self, name: str) -> str:
        return self._sealed(lambda: self._reader.kind(name))

    def rows(self) -> int | None:
        return self._sealed(self._reader.rows)

    def batches(self, names: tuple[str, ...], *, numbers: bool) -> Iterator[tuple[np.ndarray, ...]]:
        found = self._sealed(lambda: iter(self._reader.batches(names, numbers=numbers)))
        while (batch := self._sealed(lambda: next(found, None))) is not None:
            yield batch

    def dtype(self, name: str) -> np.dtype:
        return self._sealed(lambda: self._reader.dtype(name))


class Memory(Reader):
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
        from hush.releases.tables.frames import column_of

        if name not in self._seen:
            self._seen[name] = column_of(self._columns[name])
        return self._seen[name]

    def kind(self, name: str) -> str:
        return self._column(name).kind

    def dtype(self, name: str) -> np.dtype:
        return self._column(name).dtype

    def rows(self) -> int | None:
        return self._rows

    def batches(self, names: tuple[str, ...], *, numbers: bool) -> Iterator[tuple[np.ndarray, ...]]:
        yield tuple(self._column(name).read(numbers=numbers and place == 0) for place, name in enumerate(names))


def require_different(names: Iterable[str]) -> tuple[str, ...]:
    """The names of columns, if no two are the same; they are not told, as the first record may stand for them."""
    found = tuple(names)
    if len(set(found)) < len(found):
        raise InvalidParameter("table", "columns of different names", columns=len(found))
    return found


def open_reader(source: Any) -> Reader:
    """The reader of whatever was given, behind the boundary."""
    shown = str(source) if isinstance(source, str | Path) else type(source).__name__
    return sealed(lambda: Sealed(_opened(source), shown), who="table", rule=READABLE, source=shown)


def _opened(source: Any) -> Reader:
    from hush.releases.tables.frames import PACKAGES, package_of, parts_of

    if isinstance(source, Reader):
        return source
    if isinstance(source, str | Path):
        return _open_file(Path(source))
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


def _open_file(path: Path) -> Reader:
    suffix = path.suffix.lower()
    if suffix not in (".parquet", ".csv"):
        raise InvalidParameter("table", "a file that ends in .parquet or .csv", source=str(path))
    if not path.is_file():
        raise InvalidParameter("table", "a file that exists", source=str(path))
    from hush.releases.tables import files

    return files.Parquet(path) if suffix == ".parquet" else files.Csv(path)


def needs(package: str) -> Any:
    """The package, or an error that says how to get it."""
    import importlib

    try:
        return importlib.import_module(package)
    except ImportError:
        raise NotInstalled("Reading tables", package, "data") from None
