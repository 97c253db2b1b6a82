"""Columns of pandas, Polars and Arrow, already in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hush.errors import InvalidParameter
from hush.releases.tables.arrow import of_arrow, valid_texts
from hush.releases.tables.columns import FLOAT, NO_TIME, Column, objects, of_array, of_list, of_masked, of_times

PACKAGES = ("pandas", "polars", "pyarrow")


def package_of(value: Any) -> str:
    """The package that a value's type comes from."""
    return type(value).__module__.split(".")[0]


def parts_of(source: Any, only: str) -> list[tuple[str, Any]]:
    """The columns of a frame with their names, or a series as the only column."""
    package, name = package_of(source), type(source).__name__
    if name in ("Series", "ChunkedArray") or (package == "pyarrow" and hasattr(source, "null_count")):
        return [(only, source)]
    if name not in ("DataFrame", "Table", "RecordBatch"):
        raise InvalidParameter("table", "a data frame or a series", source=name)
    if package == "pyarrow":
        return [(str(name), source.column(place)) for place, name in enumerate(source.schema.names)]
    column: Callable[[int], Any] = (lambda k: source.iloc[:, k]) if package == "pandas" else source.to_series
    return [(str(name), column(place)) for place, name in enumerate(source.columns)]


def column_of(raw: Any) -> Column:
    """A column of any library, an array or a plain list."""
    package = package_of(raw)
    if package == "pandas":
        return _of_pandas(raw)
    if package == "polars":
        return _of_polars(raw)
    if package == "pyarrow":
        return of_arrow(raw)
    if isinstance(raw, np.ma.MaskedArray):
        return of_masked(raw)
    return of_array(raw) if isinstance(raw, np.ndarray) else of_list(raw)


def _of_pandas(series: Any) -> Column:
    """Types of its own hold missing values beside the others."""
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        return of_array(series.to_numpy())
    name, kind = type(dtype).__name__, getattr(dtype, "kind", "O")
    if name == "ArrowDtype" or getattr(dtype, "storage", None) == "pyarrow":
        return of_arrow(series.array.__arrow_array__())
    if name == "SparseDtype":
        return of_array(np.asarray(series.array))
    if name == "CategoricalDtype":
        return Column("other", lambda: _of_categories(series))
    if name == "DatetimeTZDtype":
        unit = f"M8[{dtype.unit}]"
        return of_times(lambda: series.to_numpy(dtype=unit).view(np.int64), unit)
    values = lambda: series.to_numpy(dtype=object, na_value=None)  # noqa: E731
    if name == "StringDtype":
        return Column("words", values)
    if kind not in "biuf":
        return Column("opaque", values)
    width = dtype.numpy_dtype if kind == "f" else FLOAT  # a short float is compared as a short one
    numbers = lambda: series.to_numpy(dtype=width, na_value=np.nan)  # noqa: E731
    said = "truth" if kind == "b" else "number"
    return Column(said, numbers if kind == "f" else values, numbers, width, kind in "iu")


def _of_categories(series: Any) -> np.ndarray:
    """By their codes: whole numbers would become floats where one is missing. Short floats stay short."""
    categories = series.cat.categories
    width = getattr(categories.dtype, "numpy_dtype", categories.dtype)
    short = getattr(width, "kind", "O") == "f"
    names = objects([*(categories.to_numpy(dtype=width) if short else categories.astype(object)), None])
    return names[series.cat.codes.to_numpy()]  # the code of a missing one is -1


def _of_polars(series: Any) -> Column:
    dtype = series.dtype
    name = str(dtype.base_type())
    if dtype.is_float():
        return Column("number", series.to_numpy, series.to_numpy, series[:0].to_numpy().dtype)
    if dtype.is_numeric() or name == "Boolean":
        kind = "truth" if name == "Boolean" else "number"
        return Column(kind, lambda: _whole(series), lambda: _floats(series), FLOAT, dtype.is_integer())
    if name in ("String", "Categorical", "Enum"):
        return Column(
            "words", lambda: objects(series.cast(str).to_list()), texts=lambda: valid_texts(series.cast(str).to_arrow())
        )
    if dtype.is_temporal():
        unit = {"Date": "D", "Time": "ns"}.get(name) or dtype.time_unit
        return of_times(lambda: _ticks(series), f"{'M8' if name.startswith('Date') else 'm8'}[{unit}]")
    if dtype.is_nested():  # Polars would stop at a date that has no calendar day
        return of_arrow(series.to_arrow())
    return Column("opaque" if name == "Binary" else "other", lambda: objects(series.to_list()))


def _whole(series: Any) -> np.ndarray:
    """Whole numbers and decimals as they are, beside missing ones too."""
    return series.to_numpy() if _is_plain(series) else objects(series.to_list())


def _floats(series: Any) -> np.ndarray:
    """As numbers: what is whole is left to whoever needs a float, unless one is missing."""
    return series.to_numpy() if _is_plain(series) else series.cast(float).to_numpy()


def _ticks(series: Any) -> np.ndarray:
    return series.to_physical().cast(int).fill_null(NO_TIME).to_numpy()


def _is_plain(series: Any) -> bool:
    """Whether numpy has the type, and all cells."""
    return not (series.null_count() or series.dtype.is_decimal() or str(series.dtype).endswith("128"))
