"""Columns of Arrow: every type has a way that no cell can stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hush.releases.tables.columns import FLOAT, NO_TIME, Column, cell_by_cell, objects, of_times


def of_arrow(column: Any) -> Column:
    """An Arrow array or chunked array."""
    import pyarrow
    from pyarrow import types

    column = _plain(column if isinstance(column, pyarrow.ChunkedArray) else pyarrow.chunked_array([column]))
    kind = column.type
    if types.is_floating(kind):
        return Column("number", column.to_numpy, column.to_numpy, np.dtype(kind.to_pandas_dtype()))
    if types.is_integer(kind) or types.is_boolean(kind):
        return Column(_number_kind(kind), lambda: _whole(column), lambda: _floats(column), FLOAT)
    if types.is_decimal(kind):
        return Column("number", lambda: objects(column.to_pylist()), lambda: _floats(column), FLOAT)
    if _is_text(kind):
        return Column("words", lambda: _texts(column))
    if types.is_temporal(kind) and not types.is_interval(kind):
        return of_times(lambda: _ticks(column), _unit(kind))
    return Column("other" if types.is_null(kind) else "opaque", lambda: _any(column))


def of_type(kind: Any) -> Column:
    """A column of no cells of this type."""
    import pyarrow

    return of_arrow(pyarrow.chunked_array([], type=kind))


def texts_of(cells: list[bytes | None]) -> np.ndarray:
    """Bytes as texts; what is no UTF-8 is replaced, so that no cell can stop the reading."""
    return objects([None if cell is None else cell.decode(errors="replace") for cell in cells])


def _plain(column: Any) -> Any:
    """The same cells without a dictionary, runs, or a type of one's own around them."""
    from pyarrow import BaseExtensionType, types

    if types.is_dictionary(column.type):
        return _plain(_by_chunk(column, lambda chunk: chunk.dictionary_decode(), column.type.value_type))
    if types.is_run_end_encoded(column.type):
        return _plain(_by_chunk(column, _decoded_runs, column.type.value_type))
    if isinstance(column.type, BaseExtensionType):
        return _plain(_by_chunk(column, lambda chunk: chunk.storage, column.type.storage_type))
    return column


def _by_chunk(column: Any, change: Callable[[Any], Any], kind: Any) -> Any:
    import pyarrow

    return pyarrow.chunked_array([change(chunk) for chunk in column.chunks], type=kind)


def _decoded_runs(chunk: Any) -> Any:
    from pyarrow import compute

    return compute.call_function("run_end_decode", [chunk])


def _number_kind(kind: Any) -> str:
    from pyarrow import types

    return "truth" if types.is_boolean(kind) else "number"


def _whole(column: Any) -> np.ndarray:
    """Whole numbers stay whole beside missing ones: a float could no longer be told from its neighbours."""
    return objects(column.to_pylist()) if column.null_count else column.to_numpy()


def _floats(column: Any) -> np.ndarray:
    """As numbers: what is whole is left to whoever needs a float, unless one is missing."""
    import pyarrow
    from pyarrow import types

    if types.is_decimal(column.type) or column.null_count:
        column = column.cast(pyarrow.float64(), safe=False)
    return column.to_numpy()


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def _texts(column: Any) -> np.ndarray:
    """The fast way fails on bytes that are no text; the slow one reads every other cell as the fast one does."""
    import pyarrow
    from pyarrow import types

    try:
        return np.asarray(column.to_numpy(), dtype=object)
    except Exception:
        wide = types.is_large_string(column.type)
        view = pyarrow.binary_view() if types.is_string_view(column.type) else None
        return texts_of(column.cast(view or (pyarrow.large_binary() if wide else pyarrow.binary())).to_pylist())


def _ticks(column: Any) -> np.ndarray:
    """Dates and times as the whole numbers that they are stored as: no calendar is asked."""
    import pyarrow

    stored = pyarrow.int32() if column.type.bit_width == 32 else pyarrow.int64()
    ticks = _by_chunk(column, lambda chunk: chunk.view(stored), stored).cast(pyarrow.int64())
    return ticks.fill_null(NO_TIME).to_numpy()


def _unit(kind: Any) -> str:
    """The numpy type: times of the day are counted from midnight."""
    from pyarrow import types

    if types.is_date(kind):
        return "M8[D]" if types.is_date32(kind) else "M8[ms]"
    return f"{'M8' if types.is_timestamp(kind) else 'm8'}[{kind.unit}]"


def _any(column: Any) -> np.ndarray:
    """Whatever else there is, as Python sees it."""
    try:
        return objects(column.to_pylist())
    except Exception:
        return cell_by_cell(len(column), lambda place: column[place].as_py())
