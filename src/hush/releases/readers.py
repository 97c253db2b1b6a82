"""Readers of arrays, data frames and files: column names, kinds, and batches of numpy arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hush.errors import InvalidParameter, NotInstalled

ONLY = ""
"""The name of the only column of a bare array."""
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
        """These columns in step, in the table's order; numbers=True reads numbers out of text, else NaN."""


class Memory(Reader):
    """Columns in memory."""

    def __init__(self, columns: Mapping[str, np.ndarray], kinds: Mapping[str, str] | None = None) -> None:
        self.names = tuple(columns)
        self._columns = dict(columns)
        self._kinds = dict(kinds or {name: kind_of(array) for name, array in columns.items()})
        lengths = {len(array) for array in self._columns.values()}
        if len(lengths) > 1:
            raise InvalidParameter("table", "columns of one length", columns=self.names)
        self._rows = lengths.pop() if lengths else 0

    def kind(self, name: str) -> str:
        return self._kinds[name]

    def rows(self) -> int | None:
        return self._rows

    def batches(self, names: tuple[str, ...], *, numbers: bool) -> Iterator[tuple[np.ndarray, ...]]:
        yield tuple(
            as_numbers(self._columns[n]) if numbers and self._kinds[n] == "text" else self._columns[n] for n in names
        )


def kind_of(array: np.ndarray) -> str:
    """Numbers by their type; objects and words are other."""
    return "number" if array.dtype.kind in "biuf" and array.ndim == 1 else "other"


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
        return Memory({str(name): _array(values) for name, values in source.items()})
    module = type(source).__module__.split(".")[0]
    if module in ("pandas", "polars", "pyarrow"):
        from hush.releases import frames

        return frames.reader_of(source, module)
    return Memory({ONLY: _array(source)})


def _array(values: Any) -> np.ndarray:
    if module_of(values) in ("pandas", "polars", "pyarrow"):
        from hush.releases import frames

        return frames.column_of(values)
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
