"""Data frames of pandas, Polars and Arrow, already in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from hush.errors import InvalidParameter
from hush.releases.readers import ONLY, Reader, kind_of, one_length, require_different


def reader_of(source: Any, module: str) -> Reader:
    """A frame's columns, or a series as the only column."""
    if type(source).__name__ in ("Series", "ChunkedArray") or (module == "pyarrow" and hasattr(source, "null_count")):
        return Frame({ONLY: source})
    if type(source).__name__ not in ("DataFrame", "Table", "RecordBatch"):
        raise InvalidParameter("table", "a data frame or a series", source=type(source).__name__)
    names = tuple(source.schema.names if module == "pyarrow" else source.columns)
    require_different(str(name) for name in names)
    if module == "pyarrow":
        return Frame({name: source.column(place) for place, name in enumerate(names)})
    return Frame({str(name): source[name] for name in names})


class Frame(Reader):
    """Columns in memory, each of its own library: they become numpy arrays only when they are asked for."""

    def __init__(self, columns: Mapping[str, Any]) -> None:
        self.names = tuple(columns)
        self._columns = dict(columns)
        self._rows = one_length(self._columns)

    def kind(self, name: str) -> str:
        return kind_of(column_of(self._columns[name][:0], numbers=True))

    def rows(self) -> int | None:
        return self._rows

    def batches(self, names: tuple[str, ...], *, numbers: bool) -> Iterator[tuple[np.ndarray, ...]]:
        first, *others = (self._columns[name] for name in names)
        yield column_of(first, numbers=numbers), *(column_of(other, numbers=False) for other in others)


def column_of(series: Any, *, numbers: bool) -> np.ndarray:
    """One column as a numpy array: numbers, missing ones NaN; or else the values as they are, missing ones None.

    A whole number that became a float where another one is missing could no longer be told from its neighbours: what
    one record counts as would depend on the others.
    """
    module = type(series).__module__.split(".")[0]
    if module == "pandas":
        return _pandas(series, numbers)
    if module == "polars":
        return _polars(series, numbers)
    return arrow_column(series, numbers=numbers) if module == "pyarrow" else series


def _pandas(series: Any, numbers: bool) -> np.ndarray:
    """Extension types hold missing values beside the numbers."""
    kind = getattr(series.dtype, "kind", "O")
    if isinstance(series.dtype, np.dtype):
        return series.to_numpy()
    if kind == "f" or (kind in "biu" and numbers):
        return series.to_numpy(dtype=float, na_value=np.nan)
    return series.to_numpy(dtype=object, na_value=None)


def _polars(series: Any, numbers: bool) -> np.ndarray:
    numeric = series.dtype.is_numeric() or str(series.dtype) == "Boolean"
    if not numeric:
        return series.to_numpy().astype(object)
    if series.dtype.is_float() or not (series.null_count() or series.dtype.is_decimal()):
        return series.to_numpy()
    if numbers:
        return series.cast(float).to_numpy()
    return _objects(series.to_list())


def arrow_column(column: Any, *, numbers: bool) -> np.ndarray:
    """An Arrow array or chunked array; by its type, not by whether values are missing."""
    import pyarrow

    if pyarrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    floating, decimal = pyarrow.types.is_floating(column.type), pyarrow.types.is_decimal(column.type)
    whole = pyarrow.types.is_integer(column.type) or pyarrow.types.is_boolean(column.type)
    if decimal or (whole and column.null_count):
        if not numbers:
            return _objects(column.to_pylist())
        column = column.cast(pyarrow.float64(), safe=False)
    found = column.to_numpy() if isinstance(column, pyarrow.ChunkedArray) else column.to_numpy(zero_copy_only=False)
    return np.asarray(found) if floating or whole or decimal else np.asarray(found, dtype=object)


def _objects(values: list[Any]) -> np.ndarray:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found
