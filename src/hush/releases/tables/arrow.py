"""Columns of Arrow: every type has a way that no cell can stop."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np

from hush.releases.tables.columns import FLOAT, NO_TIME, Column, cell_by_cell, numbers_in, objects, of_times

WRITTEN = "hush.written_number"
"""The name of the type of numbers that are written out, because Arrow has no type that holds them all."""


@cache
def written_number() -> Any:
    """The type of numbers that are written out: as numbers they are floats, as ids of users they keep all digits."""
    import pyarrow

    class Written(pyarrow.ExtensionType):
        def __init__(self) -> None:
            super().__init__(pyarrow.large_string(), WRITTEN)

        def __arrow_ext_serialize__(self) -> bytes:
            return b""

        @classmethod
        def __arrow_ext_deserialize__(cls, storage_type: Any, serialized: bytes) -> Any:
            return cls()

    return Written()


def with_written(schema: Any, names: Iterable[str]) -> Any:
    """The schema with these columns, texts, as numbers that are written out."""
    for name in names:
        place = schema.get_field_index(name)
        schema = schema.set(place, schema.field(place).with_type(written_number()))
    return schema


def typed(piece: Any, schema: Any) -> Any:
    """A table or batch of some columns of a schema, with its types."""
    import pyarrow

    return piece.cast(pyarrow.schema([schema.field(name) for name in piece.schema.names]))


def _of_written(column: Any) -> Column:
    floats = lambda: numbers_in(objects(column.to_pylist()))  # noqa: E731
    decimals = lambda: objects([None if cell is None else Decimal(cell) for cell in column.to_pylist()])  # noqa: E731
    return Column("number", floats, floats, FLOAT, ids=decimals)


def of_arrow(column: Any) -> Column:
    """An Arrow array or chunked array."""
    import pyarrow
    from pyarrow import types

    column = column if isinstance(column, pyarrow.ChunkedArray) else pyarrow.chunked_array([column])
    if getattr(column.type, "extension_name", "") == WRITTEN:
        return _of_written(_plain(column))
    column = _plain(column)
    kind = column.type
    if types.is_floating(kind):
        floats = lambda: _fixed(column)  # noqa: E731
        return Column("number", floats, floats, np.dtype(kind.to_pandas_dtype()))
    if types.is_integer(kind) or types.is_boolean(kind):
        whole = types.is_integer(kind)
        return Column(_number_kind(kind), lambda: _whole(column), lambda: _floats(column), FLOAT, whole)
    if types.is_decimal(kind):
        return Column("number", lambda: objects(column.to_pylist()), lambda: _floats(column), FLOAT)
    if _is_text(kind):
        ids = lambda: texts_of(_as_bytes(column), "surrogateescape")  # noqa: E731
        return Column("words", lambda: _texts(column), texts=lambda: valid_texts(column), ids=ids)
    if types.is_temporal(kind) and not types.is_interval(kind):
        return of_times(lambda: _ticks(column), _unit(kind))
    return Column("other" if types.is_null(kind) else "opaque", lambda: _any(column))


def arrays_of(piece: Any, names: tuple[str, ...], *, numbers: bool) -> tuple[np.ndarray, ...]:
    """These columns of an Arrow table, the first one as numbers if told."""
    return tuple(of_arrow(piece.column(name)).read(numbers=numbers and place == 0) for place, name in enumerate(names))


def arrays_and_units(piece: Any, names: tuple[str, ...], unit: str, *, numbers: bool) -> tuple[Any, ...]:
    """The same, and after them the units."""
    return (*arrays_of(piece, names, numbers=numbers), of_arrow(piece.column(unit)).units())


def of_type(kind: Any) -> Column:
    """A column of no cells of this type."""
    import pyarrow

    return of_arrow(pyarrow.chunked_array([], type=kind))


def texts_of(cells: list[bytes | None], errors: str = "replace") -> np.ndarray:
    """Bytes as texts; what is not UTF-8 is replaced, so that no cell can stop the reading. Ids escape it instead.

    >>> len(set(texts_of([b"\\xff", b"\\xfe"]))), len(set(texts_of([b"\\xff", b"\\xfe"], "surrogateescape")))
    (1, 2)
    """
    return objects([None if cell is None else cell.decode(errors=errors) for cell in cells])


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
    return objects(column.to_pylist()) if column.null_count else _fixed(column)


def _fixed(column: Any) -> np.ndarray:
    """Numbers, where none is missing, as they lie in memory: not copied, if they are in one piece."""
    from pyarrow import types

    if column.null_count or types.is_boolean(column.type):
        return column.to_numpy()
    kind = np.dtype(column.type.to_pandas_dtype())
    found = [
        np.frombuffer(c.buffers()[1], dtype=kind, count=len(c), offset=c.offset * kind.itemsize)
        for c in column.chunks
        if len(c)
    ]
    return found[0] if len(found) == 1 else np.concatenate(found) if found else np.empty(0, dtype=kind)


def _floats(column: Any) -> np.ndarray:
    """As numbers: what is whole is left to whoever needs a float, unless one is missing."""
    import pyarrow
    from pyarrow import types

    if types.is_decimal(column.type) or column.null_count:
        column = column.cast(pyarrow.float64(), safe=False)
    return _fixed(column)


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def _texts(column: Any) -> np.ndarray:
    """The fast way fails on bytes that are no text; the slow one reads every other cell as the fast one does."""
    try:
        return np.asarray(column.to_numpy(), dtype=object)
    except Exception:
        return texts_of(_as_bytes(column))


def _as_bytes(column: Any) -> list[bytes | None]:
    import pyarrow
    from pyarrow import types

    wide = types.is_large_string(column.type)
    view = pyarrow.binary_view() if types.is_string_view(column.type) else None
    return column.cast(view or (pyarrow.large_binary() if wide else pyarrow.binary())).to_pylist()


def valid_texts(column: Any) -> Any:
    """One Arrow array of large strings; raises where bytes are no text."""
    import pyarrow

    found = column.cast(pyarrow.large_string())
    found = found.combine_chunks() if isinstance(found, pyarrow.ChunkedArray) else found
    found.validate(full=True)
    return found


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
