"""Where records come from: one small interface over arrays, data frames and files, read in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hush.errors import InvalidParameter
from hush.mechanisms.checks import count
from hush.mechanisms.sampling import OneSample, Poisson
from hush.randomness.source import Source
from hush.releases.readers import ONLY, Memory, Reader, floats_of_objects, open_reader
from hush.releases.units import first_of_each

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
                known = ", ".join(map(str, self.reader.names[:20]))
                raise InvalidParameter("table", f"a {name} of the table (it has: {known})", **{name: value})
        if (self.unit is None) != (self.max_contributions is None):
            raise InvalidParameter(
                "table", "unit and max_contributions together", unit=self.unit, max_contributions=self.max_contributions
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
            raise InvalidParameter("A release", "column= one of " + ", ".join(map(str, names[:20])), column=None)
        return names[0]

    def require_column(self, who: str) -> None:
        """Raise where no column was chosen, or records are rows of an array."""
        if self.reader.kind(self.name) == "rows":
            raise InvalidParameter(who, "one column, not an array of rows", column=self.name)

    def require_numbers(self, who: str) -> None:
        """Raise where the column cannot hold numbers."""
        if self.reader.kind(self.name) not in ("number", "text"):
            raise InvalidParameter(who, "a column of numbers", column=self.name)

    def batches(self, *, numbers: bool = False) -> Iterator[np.ndarray]:
        """The column in pieces; with numbers=True text that is no number becomes NaN."""
        for (piece,) in self.pieces((self.name,), numbers=numbers):
            yield piece

    def array(self, *, numbers: bool = False) -> np.ndarray:
        """The whole column at once, in memory."""
        found = list(self.batches(numbers=numbers))
        return found[0] if len(found) == 1 else np.concatenate(found) if found else np.empty(0)

    def rows(self) -> int:
        """How many records there are, after contributions are bounded; this may read the table. It is private."""
        known = self.reader.rows()
        if known is not None and self.unit is None:
            return known
        return sum(len(piece) for piece, *_ in self.pieces((self.unit or self.reader.names[0],)))

    def pieces(self, names: tuple[str, ...], *, numbers: bool = False) -> Iterator[tuple[np.ndarray, ...]]:
        """Several columns in step, contributions bounded."""
        wanted = names if self.unit is None else (*names, self.unit)
        keep = None if self.unit is None else first_of_each(self.max_contributions or 0)
        total, done = self.reader.rows(), 0
        for arrays in self.reader.batches(wanted, numbers=numbers):
            done += len(arrays[0])
            if self.progress is not None:
                self.progress(done, total)
            if keep is None:
                yield tuple(arrays)
            else:
                kept = keep(arrays[-1])
                yield tuple(array[kept] for array in arrays[:-1])

    def drawn(self, scheme: OneSample, source: Source) -> Table:
        """A sample of the records, in memory; one pass over the table, memory for the sample alone."""
        names = (self.column,) if self.column is not None else tuple(n for n in self.reader.names if n != self.unit)
        if isinstance(scheme, Poisson):
            # coins are independent, so each batch may toss its own: the number of records need not be known before
            chosen = [_taken(arrays, scheme.draw(len(arrays[0]), source)) for arrays in self.pieces(names)]
        else:
            chosen = list(self._at(names, np.sort(scheme.draw(self.rows(), source))))
        columns = {}
        for place, name in enumerate(names):
            parts = [arrays[place] for arrays in chosen]
            columns[name] = np.concatenate(parts) if parts else np.empty(0)
        return Table(Memory(columns, {name: self.reader.kind(name) for name in names}), self.column)

    def _at(self, names: tuple[str, ...], places: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
        """The records at these places, which increase."""
        start = 0
        for arrays in self.pieces(names):
            stop = start + len(arrays[0])
            low, high = np.searchsorted(places, (start, stop))
            yield _taken(arrays, places[low:high] - start)
            start = stop

    def whole(self) -> Any:
        """All records at once: the chosen or only column as an array, else a dict of arrays."""
        names = (self.column,) if self.column is not None else tuple(n for n in self.reader.names if n != self.unit)
        pieces = list(self.pieces(names))
        columns = {
            name: np.concatenate([p[k] for p in pieces]) if pieces else np.empty(0) for k, name in enumerate(names)
        }
        numbers = [name for name in names if self.reader.kind(name) == "number"]
        columns |= {name: floats_of_objects(columns[name]) for name in numbers}
        return columns[names[0]] if self.column is not None or names == (ONLY,) else columns


def _taken(arrays: tuple[np.ndarray, ...], places: np.ndarray) -> tuple[np.ndarray, ...]:
    return tuple(array[places] for array in arrays)


def table(
    source: Any,
    *,
    column: str | None = None,
    unit: str | None = None,
    max_contributions: int | None = None,
    progress: Progress | None = None,
) -> Table:
    """Records from an array, a dict of arrays, a pandas, Polars or Arrow table, or a Parquet or CSV file.

    >>> import numpy as np
    >>> table(np.arange(5.0)).rows()
    5
    >>> table({"income": [1.0, 2.0, 9.0], "who": ["a", "b", "a"]}, unit="who", max_contributions=1).array().tolist()
    [1.0, 2.0]
    """
    return Table(open_reader(source), column, unit, max_contributions, progress)


def as_table(data: Any) -> Table:
    """The table that was given, or a table of the data."""
    return data if isinstance(data, Table) else table(data)
