"""DuckDB: relations, and tables of database files (`duckdb://file.db#table`), read as Arrow batches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from hush.errors import InvalidParameter
from hush.releases.tables.arrow import typed, with_written
from hush.releases.tables.engines.arrow_engine import ArrowEngine
from hush.releases.tables.engines.database_urls import TableUrl, quoted
from hush.releases.tables.reader import BATCH, needs, require_different

PLAIN = ("BOOLEAN", "FLOAT", "DOUBLE", "VARCHAR")
WHOLE = tuple(f"{sign}{width}" for sign in ("", "U") for width in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT"))
"""Types that are read as they are; decimals are too."""
DECIMAL = re.compile(r"DECIMAL\(\d+,\s*\d+\)")
LONG = ("HUGEINT", "UHUGEINT", "BIGNUM")
"""Whole numbers that Arrow has no type for: they are read as they are written."""

TABLES = """
    SELECT table_schema, table_name FROM information_schema.tables
    WHERE table_catalog = current_database() AND lower(table_schema) = lower(?) AND lower(table_name) = lower(?)
"""
"""A name that is not there would be looked for among files, and among variables of this program."""


class DuckRelation(ArrowEngine):
    """A relation of DuckDB. What is neither number, text nor truth value is read as its text.

    >>> import duckdb
    >>> DuckRelation(duckdb.sql("select 1 as x, date '2020-01-01' as day")).kind("day")
    'words'
    """

    def __init__(self, relation: Any, anew: Callable[[], Any] | None = None) -> None:
        """`anew` gives the same relation on a connection of its own; without it there can be one pass at a time."""
        needs("pyarrow")
        self._anew = anew or (lambda: relation)
        self.names = require_different(relation.columns)
        self._said = {name: _read(name, str(kind)) for name, kind in zip(self.names, relation.types, strict=True)}
        self.schema = relation.limit(0).project(", ".join(self._said.values())).to_arrow_table().schema
        self._long = [name for name, kind in zip(self.names, relation.types, strict=True) if str(kind) in LONG]
        self.schema = with_written(self.schema, self._long)

    def pieces(self, names: tuple[str, ...]) -> Iterator[Any]:
        found = self._anew().project(", ".join(self._said[name] for name in names)).to_arrow_reader(BATCH)
        try:
            yield from (typed(batch, self.schema) if self._long else batch for batch in found)
        finally:
            found.close()


def _read(name: str, kind: str) -> str:
    """How a column is asked for."""
    said = quoted(name)
    if kind in PLAIN or kind in WHOLE or DECIMAL.fullmatch(kind):
        return said
    return f"CAST({said} AS VARCHAR) AS {said}"


def open_duckdb(url: TableUrl) -> DuckRelation:
    """A table of a database file, which is opened to be read alone: nobody can write to it meanwhile."""
    duckdb = needs("duckdb")
    if not url.path.is_file():
        raise InvalidParameter("table", "a database file that exists", source=url.shown)
    connection = duckdb.connect(str(url.path), read_only=True)
    found = connection.execute(TABLES, ("main", *url.table)[-2:]).fetchall()
    if not found:
        raise InvalidParameter("table", "a table of the database", source=url.shown)
    said = f"SELECT * FROM {'.'.join(map(quoted, found[0]))}"  # noqa: S608 - quoted
    return DuckRelation(connection.sql(said), lambda: connection.cursor().sql(said))
