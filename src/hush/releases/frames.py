"""Data frames of pandas, Polars and Arrow, already in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from hush.errors import InvalidParameter
from hush.releases.readers import ONLY, Memory, Reader, kind_of


def reader_of(source: Any, module: str) -> Reader:
    """A frame's columns, or a series as the only column."""
    if type(source).__name__ in ("Series", "ChunkedArray") or (module == "pyarrow" and hasattr(source, "null_count")):
        return Memory({ONLY: column_of(source)})
    if type(source).__name__ in ("DataFrame", "Table", "RecordBatch"):
        return Frame(source, module)
    raise InvalidParameter("table", "a data frame or a series", source=type(source).__name__)


class Frame(Reader):
    """A data frame: columns become numpy arrays only when they are asked for."""

    def __init__(self, frame: Any, module: str) -> None:
        names = frame.schema.names if module == "pyarrow" else frame.columns
        self.names = tuple(str(name) for name in names)
        if len(set(self.names)) < len(self.names):
            raise InvalidParameter("table", "columns of different names", columns=self.names)
        self._frame = frame
        self._own = dict(zip(self.names, names, strict=True))

    def _column(self, name: str) -> Any:
        own = self._own[name]
        return (
            self._frame.column(own)
            if hasattr(self._frame, "schema") and hasattr(self._frame, "num_rows")
            else self._frame[own]
        )

    def kind(self, name: str) -> str:
        return kind_of(column_of(self._column(name)[:0]))

    def rows(self) -> int | None:
        return len(self._frame) if not hasattr(self._frame, "num_rows") else self._frame.num_rows

    def batches(self, names: tuple[str, ...], *, numbers: bool) -> Iterator[tuple[np.ndarray, ...]]:
        yield tuple(column_of(self._column(name)) for name in names)


def column_of(series: Any) -> np.ndarray:
    """One column as a numpy array; missing numbers are NaN."""
    module = type(series).__module__.split(".")[0]
    if module == "pandas":
        return _pandas(series)
    if module == "polars":
        found = series.to_numpy()
        return found if series.dtype.is_numeric() or found.dtype.kind == "b" else found.astype(object)
    return arrow_column(series)


def _pandas(series: Any) -> np.ndarray:
    """Extension types hold missing values beside the numbers: those become NaN."""
    kind = getattr(series.dtype, "kind", "O")
    if isinstance(series.dtype, np.dtype):
        return series.to_numpy()
    if kind in "biuf":
        return series.to_numpy(dtype=float, na_value=np.nan)
    return series.to_numpy(dtype=object, na_value=None)


def arrow_column(column: Any) -> np.ndarray:
    """An Arrow array or chunked array; by its type, not by whether values are missing."""
    import pyarrow

    plain = column.type.value_type if pyarrow.types.is_dictionary(column.type) else column.type
    numeric = pyarrow.types.is_floating(plain) or pyarrow.types.is_integer(plain) or pyarrow.types.is_boolean(plain)
    decimal = pyarrow.types.is_decimal(plain)
    if decimal or (numeric and column.null_count and not pyarrow.types.is_floating(plain)):
        column = column.cast(pyarrow.float64(), safe=False)
    found = column.to_numpy() if isinstance(column, pyarrow.ChunkedArray) else column.to_numpy(zero_copy_only=False)
    return np.asarray(found) if numeric or decimal else np.asarray(found, dtype=object)
