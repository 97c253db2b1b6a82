"""Readers of arrays, data frames and files: column names, kinds, and batches of numpy arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hush.errors import InvalidParameter, NotInstalled

ONLY = ""
"""The name of the only column of a bare array."""
FRAMES = ("pandas", "polars", "pyarrow")
"""Packages whose columns are read by `frames`."""
BATCH = 1 << 18
"""Records that are read from a file at once."""


class Reader(ABC):
    """What an engine must offer: names, kinds, the number of records where it is known, and batches."""

    names: tuple[str, ...]

    @abstractmethod
    def kind(self, name: str) -> str:
        """By the schema alone, never by the values: "number"; "text", of which numbers may be read; or "other"."""

    @abstractmethod
    def rows(self) -> int | None:
        """The number of records, where it is known without reading them."""

    @abstractmethod
    def batches(self, names: tuple[str, ...], *, numbers: bool) -> Iterator[tuple[np.ndarray, ...]]:
        """These columns in step, in the table's order, values as they are; with numbers=True the first one as numbers.

        What is missing or no number is then NaN. How one value is read must not depend on the others.
        """


class Memory(Reader):
    """Columns in memory."""

    def __init__(self, columns: Mapping[str, np.ndarray], kinds: Mapping[str, str] | None = None) -> None:
        self.names = tuple(columns)
        self._columns = dict(columns)
        self._kinds = dict(kinds or {name: kind_of(array) for name, array in columns.items()})
        self._rows = one_length(self._columns)

    def kind(self, name: str) -> str:
        return self._kinds[name]

    def rows(self) -> int | None:
        return self._rows

    def batches(self, names: tuple[str, ...], *, numbers: bool) -> Iterator[tuple[np.ndarray, ...]]:
        first, *others = (self._columns[name] for name in names)
        if numbers:
            first = as_numbers(first) if self._kinds[names[0]] == "text" else floats_of_objects(first)
        yield first, *others


def one_length(columns: Mapping[str, Any]) -> int:
    """How many records the columns have."""
    lengths = {len(column) for column in columns.values()}
    if len(lengths) > 1:
        raise InvalidParameter("table", "columns of one length", columns=tuple(columns))
    return lengths.pop() if lengths else 0


def require_different(names: Iterable[str]) -> tuple[str, ...]:
    """The names of columns, if no two are the same."""
    found = tuple(names)
    if len(set(found)) < len(found):
        raise InvalidParameter("table", "columns of different names", columns=found)
    return found


def kind_of(array: np.ndarray) -> str:
    """Numbers by their type; objects and words are other; arrays of more than one dimension have rows."""
    if array.ndim > 1:
        return "rows"
    return "number" if array.dtype.kind in "biuf" else "other"


def floats_of_objects(array: np.ndarray) -> np.ndarray:
    """Whole numbers beside missing ones as floats, None as NaN; other arrays as they are."""
    return array.astype(float) if array.dtype.kind == "O" else array


def as_numbers(words: np.ndarray) -> np.ndarray:
    """Numbers out of text; what is none becomes NaN, like a missing value."""
    pandas = needs("pandas")
    return np.asarray(pandas.to_numeric(pandas.Series(words, dtype=object), errors="coerce"), dtype=float)


def open_reader(source: Any) -> Reader:
    """The reader of whatever was given."""
    if isinstance(source, Reader):
        return source
    if isinstance(source, str | Path):
        return _open_file(Path(source))
    if isinstance(source, Mapping):
        columns = {
            str(name): values if module_of(values) in FRAMES else _array(values) for name, values in source.items()
        }
        if any(module_of(values) in FRAMES for values in columns.values()):
            from hush.releases import frames

            return frames.Frame(columns)
        return Memory(columns)
    if module_of(source) in FRAMES:
        from hush.releases import frames

        return frames.reader_of(source, module_of(source))
    return Memory({ONLY: _array(source)})


def _array(values: Any) -> np.ndarray:
    if isinstance(values, np.ma.MaskedArray) and values.dtype.kind in "biuf":
        return np.where(np.ma.getmaskarray(values), np.nan, np.ma.getdata(values).astype(float))
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):
        raise InvalidParameter("table", "rows of one length", source=type(values).__name__) from None
    if array.ndim == 0 or array.dtype.kind in "cV":
        raise InvalidParameter("table", "an array, a data frame, or a path", source=type(values).__name__)
    return array.astype(float) if not len(array) and array.dtype.kind == "O" else array


def module_of(value: Any) -> str:
    """The package that a value's type comes from."""
    return type(value).__module__.split(".")[0]


def _open_file(path: Path) -> Reader:
    suffix = path.suffix.lower()
    if suffix not in (".parquet", ".csv"):
        raise InvalidParameter("table", "a file that ends in .parquet or .csv", source=str(path))
    if not path.is_file():
        raise InvalidParameter("table", "a file that exists", source=str(path))
    from hush.releases import files

    return files.Parquet(path) if suffix == ".parquet" else files.Csv(path)


def needs(package: str) -> Any:
    import importlib

    try:
        return importlib.import_module(package)
    except ImportError:
        raise NotInstalled("Reading tables", package, "data") from None
