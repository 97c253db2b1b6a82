"""LazyFrames of Polars: run anew for every pass, a batch at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hush.releases.tables.arrow import typed, with_written
from hush.releases.tables.engines.arrow_engine import ArrowEngine
from hush.releases.tables.reader import BATCH, needs, require_different

LONG = ("Int128", "UInt128")
"""Whole numbers that Arrow has no type for: they are read as they are written."""


class PolarsQuery(ArrowEngine):
    """A LazyFrame: only the columns that are asked for are computed.

    >>> import polars
    >>> PolarsQuery(polars.LazyFrame({"x": [1.5, None]})).kind("x")
    'number'
    """

    def __init__(self, frame: Any) -> None:
        needs("pyarrow")
        polars = needs("polars")
        schema = frame.collect_schema()
        self.names = require_different(schema.names())
        self._long = long = [name for name, kind in schema.items() if str(kind) in LONG]
        self._frame = frame.with_columns(polars.col(name).cast(polars.String) for name in long) if long else frame
        self.schema = with_written(self._frame.head(0).collect().to_arrow().schema, long)

    def pieces(self, names: tuple[str, ...]) -> Iterator[Any]:
        for frame in self._frame.select(names).collect_batches(chunk_size=BATCH, engine="streaming"):
            found = frame.to_arrow()
            yield typed(found, self.schema) if self._long else found
