"""PostgreSQL (`postgresql://user@host/database#table`): sums and cells as SQL, all else as Arrow batches.

One read-only transaction sees one state of the database in all passes. A connection that is refused or lost, and any
other fault of the database, has one message, whatever the data hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar
from weakref import finalize

from hush.errors import InvalidParameter
from hush.releases.boundary import attempted, sealed
from hush.releases.tables.arrow import written_number
from hush.releases.tables.engines.arrow_engine import ArrowEngine
from hush.releases.tables.engines.database_urls import TableUrl, quoted
from hush.releases.tables.engines.tally_sql import TallySql
from hush.releases.tables.reader import needs, require_different
from hush.releases.tables.tally import Tallied, Tally

Found = TypeVar("Found")
PLAIN = {
    "boolean": "bool",
    "smallint": "int16",
    "integer": "int32",
    "bigint": "int64",
    "real": "float32",
    "double precision": "float64",
    "text": "string",
    "character varying": "string",
}
"""Types that are read as they are, and Arrow's names of them."""
NUMERIC = "numeric"
"""Read as it is written: in the database a number that is too large for a float would be an error."""
ANSWERS = (
    "a database that answers: it was not found, refused or lost the connection, or stopped (the fault is not told)"
)
COLUMNS = """
    SELECT attname::text, atttypid::regtype::text FROM pg_catalog.pg_attribute
    WHERE attrelid = pg_catalog.to_regclass($1) AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""
SNAPSHOT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"


class Postgres(ArrowEngine):
    """A table or view of PostgreSQL. What is neither number, text nor truth value is read as its text."""

    def __init__(self, url: TableUrl) -> None:
        pyarrow = needs("pyarrow", "postgres")
        needs("adbc_driver_postgresql", "postgres")
        self._url, self._from = url, ".".join(map(quoted, url.table))
        self._connection: Any = None
        self._close: Callable[[], object] = lambda: None
        found = self._rows(COLUMNS, (self._from,))
        if not found:
            raise InvalidParameter("table", "a table of the database that may be read", source=url.shown)
        self._kinds = dict(found)
        self.names = require_different(name for name, _ in found)
        self.schema = pyarrow.schema([(name, self._type(kind)) for name, kind in found])

    def _type(self, kind: str) -> Any:
        import pyarrow

        return (
            written_number()
            if kind == NUMERIC
            else getattr(pyarrow, PLAIN.get(kind, "string").replace("bool", "bool_"))()
        )

    def _sealed(self, action: Callable[[Any], Found]) -> Found:
        """Something done with the connection; whatever goes wrong ends it, so that no half of an answer is used."""
        try:
            return sealed(lambda: action(self._connected()), who="table", rule=ANSWERS, source=self._url.shown)
        except BaseException:
            self._connection = None
            self._close()
            raise

    def _connected(self) -> Any:
        """The connection, made anew where there is none: it is closed when nobody reads the table any more."""
        from adbc_driver_postgresql import dbapi

        if self._connection is None:
            self._connection = dbapi.connect(self._url.address)
            self._close = finalize(self, attempted, self._connection.close, None)
            with self._connection.cursor() as cursor:
                cursor.execute(SNAPSHOT)
        return self._connection

    def _rows(self, sql: str, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
        def action(connection: Any) -> list[tuple[Any, ...]]:
            with connection.cursor() as cursor:
                cursor.execute(sql, values or None)
                found = cursor.fetch_arrow_table()
            return list(zip(*(column.to_pylist() for column in found.columns), strict=True))

        return self._sealed(action)

    def pieces(self, names: tuple[str, ...]) -> Iterator[Any]:
        sql = f"SELECT {', '.join(self._read(name) for name in names)} FROM {self._from}"  # noqa: S608 - quoted
        cursor = self._sealed(lambda connection: connection.cursor())
        try:
            found = self._sealed(lambda _: (cursor.execute(sql), cursor.fetch_record_batch())[1])
            while (batch := self._sealed(lambda _: next(found, None))) is not None:
                yield self._sealed(lambda _, batch=batch: self._typed(batch, names))
        finally:
            self._sealed(lambda _: cursor.close())

    def _read(self, name: str) -> str:
        said = quoted(name)
        return said if self._kinds[name] in PLAIN else f"{said}::text AS {said}"

    def _typed(self, batch: Any, names: tuple[str, ...]) -> Any:
        """The types of the schema."""
        import pyarrow

        columns = [column.cast(self.schema.field(name).type) for name, column in zip(names, batch.columns, strict=True)]
        return pyarrow.table(columns, names=list(names))

    def tally(self, tally: Tally) -> Tallied:
        """In the database, where all of it can be said in SQL with the same meaning; else in this process."""
        kinds = {name: self.kind(name) for name in self.names}
        said = TallySql.of(tally, self._from, self._kinds, kinds)
        return super().tally(tally) if said is None else said.answered(self._rows)
