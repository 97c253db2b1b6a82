"""Where records come from: one small interface over arrays, data frames and files, read in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hush.checks import count
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.scheme import Scheme
from hush.randomness.source import Source
from hush.releases.tables.columns import NUMBERS, numbers_in
from hush.releases.tables.ids.users import first_of_each
from hush.releases.tables.in_memory import ONLY
from hush.releases.tables.opening import open_reader
from hush.releases.tables.reader import Part, Reader

Progress = Callable[[int, int | None], None]
"""Called with the records read so far, and how many there are in all where that is known."""


@dataclass(frozen=True)
class Table:
    """Records to release from: a reader, the column that is asked about, and whom a guarantee protects.

    With `unit` a guarantee protects all records that share a value of that column; at most `max_contributions` of them
    are kept, the first ones in the order of the table, and records without a unit (missing or empty) are left out.
    That takes memory for every unit.

    >>> table({"income": [1.0, 2.0, 3.0], "who": ["a", "a", "b"]}, column="income", unit="who", max_contributions=1)
    Table(column='income', unit='who', max_contributions=1)
    """

    reader: Reader = field(repr=False)
    column: str | None = None
    unit: str | None = None
    max_contributions: int | None = None
    progress: Progress | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name in ("column", "unit"):
            value = getattr(self, name)
            if value is not None and value not in self.reader.names:
                raise InvalidParameter("table", f"a {name} of the table ({self._listed})", **{name: value})
        if self.unit is not None and self.reader.kind(self.unit) == "rows":
            raise InvalidParameter("table", "a unit of one column, not an array of rows", unit=self.unit)
        if (self.unit is None) != (self.max_contributions is None):
            raise InvalidParameter(
                "table", "unit and max_contributions together", unit=self.unit, max_contributions=self.max_contributions
            )
        if self.unit is not None and not self.reader.again:
            raise NotCovered(
                "the first records of each user where an engine keeps no order. Covered: releases.GroupBy(unit=...), "
                "which chooses by what the records hold"
            )
        if self.max_contributions is not None:
            object.__setattr__(self, "max_contributions", count("table", 1, max_contributions=self.max_contributions))

    def of(self, column: str | None) -> Table:
        """The same records, asked about another column (None: as it is)."""
        return self if column is None else replace(self, column=column)

    @property
    def name(self) -> str:
        """The column that is asked about: the chosen one, or the only one."""
        if self.column is not None:
            return self.column
        names = [name for name in self.reader.names if name != self.unit]
        if len(names) != 1:
            raise InvalidParameter("A release", f"column= the name of one column ({self._listed})", column=None)
        return names[0]

    @property
    def _listed(self) -> str:
        """How to list the names. No message has them: in a file without a header they are a record."""
        return f"it has {len(self.reader.names)}; hush.releases.table(data).reader.names lists them"

    def require_column(self, who: str) -> None:
        """Raise where no column was chosen, or records are rows of an array."""
        if self.reader.kind(self.name) == "rows":
            raise InvalidParameter(who, "one column, not an array of rows", column=self.column)

    def require_numbers(self, who: str) -> None:
        """Raise where the column cannot hold numbers."""
        if self.reader.kind(self.name) not in (*NUMBERS, "text", "list"):
            raise InvalidParameter(who, "a column of numbers", column=self.column)

    def batches(self, *, numbers: bool = False) -> Iterator[np.ndarray]:
        """The column in pieces; with numbers=True text that is not a number becomes NaN."""
        for (piece,) in self.pieces((self.name,), numbers=numbers):
            yield piece

    def array(self, *, numbers: bool = False) -> np.ndarray:
        """The whole column at once, in memory."""
        found = list(self.batches(numbers=numbers))
        return found[0] if len(found) == 1 else np.concatenate(found) if found else np.empty(0)

    def partials(self, function: Callable[[Iterator[np.ndarray]], Part], *, numbers: bool = False) -> list[Part]:
        """What a function makes of the column, part by part where the records are spread over several.

        >>> table([3.0, 4.0]).partials(lambda batches: sum(float(batch.sum()) for batch in batches), numbers=True)
        [7.0]
        """
        if not self.reader.spread:
            return [function(self.batches(numbers=numbers))]
        return self.reader.partials((self.name,), lambda found: function(piece for (piece,) in found), numbers=numbers)

    def added(self, function: Callable[[Iterator[np.ndarray]], list[int]], *, numbers: bool = False) -> list[int]:
        """Lists of whole numbers that a function makes of the column, added up over all parts."""
        parts = self.partials(function, numbers=numbers)
        return [sum(column) for column in zip(*parts, strict=True)]

    def rows(self) -> int:
        """How many records there are, after contributions are bounded; this may read the table. It is private."""
        known = self.reader.rows()
        if known is not None and self.unit is None:
            return known
        if self.reader.spread:
            return sum(self.reader.partials(self.counted, lambda found: sum(len(p) for (p,) in found), numbers=False))
        return sum(len(piece) for piece, *_ in self.pieces(self.counted))

    @property
    def counted(self) -> tuple[str, ...]:
        """The column that is read where records are only counted."""
        return (self.unit or self.reader.names[0],)

    def pieces(self, names: tuple[str, ...], *, numbers: bool = False) -> Iterator[tuple[np.ndarray, ...]]:
        """Several columns in step, contributions bounded."""
        total, done = self.reader.rows(), 0
        if self.unit is None:
            keep, found = None, self.reader.batches(names, numbers=numbers)
        else:
            keep, found = (
                first_of_each(self.max_contributions or 0),
                self.reader.with_unit(names, self.unit, numbers=numbers),
            )
        for arrays in found:
            done += len(arrays[0])
            if self.progress is not None:
                self.progress(done, total)
            if keep is None:
                yield tuple(arrays)
            else:
                kept = keep(arrays[-1])
                yield tuple(array[kept] for array in arrays[:-1])

    def drawn(self, scheme: Scheme, source: Source, names: tuple[str, ...] = (), *, numbers: bool = False) -> Table:
        """A sample of the records: these columns in memory, the first one as numbers if told; others when asked for.

        One pass over the table where the scheme allows it, memory for the sample alone.
        """
        if not self.reader.again:
            if not scheme.streams:
                raise NotCovered(f"{scheme} where an engine keeps no order: each record needs a coin of its own")
            return Table(self.reader.sampled(scheme, source), self.column)
        reader = Drawn(self)
        if scheme.streams and (self.unit is not None or self.reader.rows() is None):
            # coins are independent, so each batch may toss its own: the number of records need not be known before
            reader.toss(lambda count: scheme.batches(count, source)[0], names, numbers)
        else:
            reader.places = np.sort(scheme.batches(self.rows(), source)[0])
        reader.load(names, numbers=numbers)
        return Table(reader, self.column)

    def at(self, names: tuple[str, ...], places: np.ndarray, *, numbers: bool) -> list[tuple[np.ndarray, ...]]:
        """The records at these places, which do not decrease."""
        start, found = 0, []
        for arrays in self.pieces(names, numbers=numbers):
            stop = start + len(arrays[0])
            low, high = np.searchsorted(places, (start, stop))
            found.append(taken(arrays, places[low:high] - start))
            start = stop
        if len(places) and places[-1] >= start:
            raise InvalidParameter("table", "as many records as it had when the sample was drawn", column=self.column)
        return found

    def load(self, names: tuple[str, ...], *, numbers: bool) -> None:
        """Read these columns of a sample now, where what is wrong with them is still free."""
        for _ in self.pieces(names, numbers=numbers) if names else ():
            pass

    @property
    def handed(self) -> tuple[str, ...]:
        """The columns that a function gets: the chosen one, or all."""
        return (self.column,) if self.column is not None else tuple(n for n in self.reader.names if n != self.unit)

    def whole(self) -> Any:
        """All records at once: the chosen or only column as an array, else a dict of arrays, typed by the schema."""
        columns = {name: self._typed(name) for name in self.handed}
        return columns[self.handed[0]] if self.column is not None or self.handed == (ONLY,) else columns

    def _typed(self, name: str) -> np.ndarray:
        numbers, dtype = self.reader.kind(name) in NUMBERS, self.reader.dtype(name)
        found = [piece.astype(dtype, copy=False) for (piece,) in self.pieces((name,), numbers=numbers)]
        return np.concatenate(found) if found else np.empty(0, dtype)


class Drawn(Reader):
    """The records of a table at the drawn places. A column is read when it is first asked for, and kept."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.names = tuple(name for name in table.reader.names if name != table.unit)
        self.places = np.empty(0, dtype=np.int64)
        self._read: dict[tuple[str, bool], np.ndarray] = {}

    def toss(self, draw: Callable[[int], np.ndarray], names: tuple[str, ...], numbers: bool) -> None:
        """Draw the places batch by batch, and keep these columns on the way."""
        start, places, kept = 0, [self.places], []
        for arrays in self._table.pieces(names or self._table.counted, numbers=numbers and not self._is_text(names)):
            chosen = draw(len(arrays[0]))
            places.append(chosen + start)
            kept.append(taken(arrays, chosen) if names else ())
            start += len(arrays[0])
        self.places = np.concatenate(places)
        self._keep(names, numbers, kept)

    def load(self, names: tuple[str, ...], *, numbers: bool) -> None:
        """Read these columns, the first one as numbers if told, unless they are known."""
        if any((name, numbers and place == 0) not in self._read for place, name in enumerate(names)):
            typed = numbers and not self._is_text(names)
            self._keep(names, numbers, self._table.at(names, self.places, numbers=typed))

    def _keep(self, names: tuple[str, ...], numbers: bool, parts: list[tuple[np.ndarray, ...]]) -> None:
        for place, name in enumerate(names):
            pieces = [part[place] for part in parts]
            found = np.concatenate(pieces) if pieces else np.empty(0, self.dtype(name))
            wanted = numbers and place == 0
            self._read[name, wanted] = numbers_in(found) if wanted and self._is_text(names) else found

    def _is_text(self, names: tuple[str, ...]) -> bool:
        """Whether numbers are read of texts: then only of those that were drawn."""
        return bool(names) and self.kind(names[0]) == "text"

    def kind(self, name: str) -> str:
        return self._table.reader.kind(name)

    def dtype(self, name: str) -> np.dtype:
        return self._table.reader.dtype(name)

    def whole(self, name: str) -> bool:
        return self._table.reader.whole(name)

    def rows(self) -> int | None:
        return len(self.places)

    def batches(self, names: tuple[str, ...], *, numbers: bool) -> Iterator[tuple[np.ndarray, ...]]:
        self.load(names, numbers=numbers)
        yield tuple(self._read[name, numbers and place == 0] for place, name in enumerate(names))


def taken(arrays: tuple[np.ndarray, ...], places: np.ndarray) -> tuple[np.ndarray, ...]:
    """The rows at these places."""
    return tuple(array[places] for array in arrays)


def table(
    source: Any,
    *,
    column: str | None = None,
    unit: str | None = None,
    max_contributions: int | None = None,
    progress: Progress | None = None,
    delimiter: str | None = None,
) -> Table:
    """Records from an array, a dict of arrays, a pandas, Polars or Arrow table, or Parquet or CSV files.

    Files may be given by a pattern (data/*.parquet) or a folder, whose folders may hold columns (region=N). CSV files
    may be compressed (.csv.gz) and have another `delimiter`. A pyarrow Dataset or RecordBatchReader will do, too,
    and so will a LazyFrame of Polars, a relation of DuckDB, a DataFrame of Spark, and the address of a table in a
    database (duckdb://file.db#table, postgresql://host/database#table).

    >>> import numpy as np
    >>> table(np.arange(5.0)).rows()
    5
    >>> table({"income": [1.0, 2.0, 9.0], "who": ["a", "b", "a"]}, unit="who", max_contributions=1).array().tolist()
    [1.0, 2.0]
    """
    return Table(open_reader(source, delimiter), column, unit, max_contributions, progress)


def as_table(data: Any) -> Table:
    """The table that was given, or a table of the data."""
    return data if isinstance(data, Table) else table(data)
