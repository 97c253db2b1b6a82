"""Batches of Arrow from elsewhere: a pyarrow Dataset, which can be read again, or a RecordBatchReader, which cannot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from hush.errors import InvalidParameter
from hush.releases.tables.arrow import arrays_and_units, arrays_of, of_type
from hush.releases.tables.reader import BATCH, Reader, require_different


class ArrowStream(Reader):
    """Record batches with a schema that is known before any is read."""

    def __init__(self, source: Any) -> None:
        self._source, self._read = source, False
        self.names = require_different(str(name) for name in source.schema.names)
        self.once = not hasattr(source, "to_batches")

    def kind(self, name: str) -> str:
        return of_type(self._source.schema.field(name).type).kind

    def dtype(self, name: str) -> np.dtype:
        return of_type(self._source.schema.field(name).type).dtype

    def whole(self, name: str) -> bool:
        return of_type(self._source.schema.field(name).type).whole

    def rows(self) -> int | None:
        return None

    def batches(self, names: tuple[str, ...], *, numbers: bool) -> Iterator[tuple[np.ndarray, ...]]:
        return (arrays_of(batch, names, numbers=numbers) for batch in self._batches(names))

    def with_unit(self, names: tuple[str, ...], unit: str, *, numbers: bool) -> Iterator[tuple[Any, ...]]:
        return (arrays_and_units(batch, names, unit, numbers=numbers) for batch in self._batches((*names, unit)))

    def _batches(self, names: tuple[str, ...]) -> Iterator[Any]:
        if self._read and self.once:
            raise InvalidParameter("table", "data that can be read again: a stream is read once", source="stream")
        self._read = True
        columns = list(dict.fromkeys(names))
        found = self._source.to_batches(columns=columns, batch_size=BATCH) if not self.once else self._source
        yield from found


def is_stream(source: Any) -> bool:
    """Whether it is a Dataset or a RecordBatchReader of pyarrow."""
    kinds = {kind.__name__ for kind in type(source).__mro__ if kind.__module__.startswith("pyarrow")}
    return bool(kinds & {"Dataset", "RecordBatchReader"})
