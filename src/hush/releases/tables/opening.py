"""The reader of whatever was given: in memory, a file, a database, a query of an engine, or a reader of one's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from hush.errors import InvalidParameter
from hush.releases.boundary import sealed
from hush.releases.tables.arrow_batches import ArrowStream, is_stream
from hush.releases.tables.engines.database_urls import TableUrl, table_url
from hush.releases.tables.engines.duckdb_tables import DuckRelation, open_duckdb
from hush.releases.tables.engines.polars_queries import PolarsQuery
from hush.releases.tables.engines.postgres import Postgres
from hush.releases.tables.engines.spark import SparkFrame
from hush.releases.tables.frames import package_of
from hush.releases.tables.in_memory import in_memory
from hush.releases.tables.many_files import open_files
from hush.releases.tables.reader import READABLE, Reader, Sealed

ENGINES: dict[tuple[str, str], Callable[[Any], Reader]] = {
    ("polars", "LazyFrame"): PolarsQuery,
    ("duckdb", "DuckDBPyRelation"): DuckRelation,
    ("_duckdb", "DuckDBPyRelation"): DuckRelation,
    ("pyspark", "DataFrame"): SparkFrame,
}
"""By package and class: neither is imported before it is needed."""


def open_reader(source: Any, delimiter: str | None = None) -> Reader:
    """The reader of whatever was given, behind the boundary."""
    if delimiter is not None and (
        not isinstance(delimiter, str) or len(delimiter.encode()) != 1 or delimiter in '"\r\n'
    ):
        raise InvalidParameter("table", "a delimiter of one ASCII character", delimiter=delimiter)
    url = table_url(source) if isinstance(source, str) else None
    shown = url.shown if url else str(source) if isinstance(source, str | Path) else type(source).__name__
    return sealed(lambda: Sealed(_opened(source, url, delimiter), shown), who="table", rule=READABLE, source=shown)


def _opened(source: Any, url: TableUrl | None, delimiter: str | None) -> Reader:
    if isinstance(source, Reader):
        return source
    if url is not None:
        return open_duckdb(url) if url.scheme == "duckdb" else Postgres(url)
    if isinstance(source, str | Path):
        return open_files(source, delimiter)
    engine = ENGINES.get((package_of(source), type(source).__name__))
    if engine is not None:
        return engine(source)
    return ArrowStream(source) if is_stream(source) else in_memory(source)
