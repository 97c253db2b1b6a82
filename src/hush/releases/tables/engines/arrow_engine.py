"""Engines that hand out batches of Arrow: what they have in common.

An engine gives its schema and its records, part by part; all else follows. Sums, cells and samples are made by the same
code as for files, of the same batches, so the whole numbers are the same; where an engine does it by itself (SQL), it
has to give the same ones. Coins of a sample come from a key of its own for each part, so that a part that is read again
after a failure draws the same records.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

from hush.mechanisms.scheme import Scheme
from hush.randomness.keyed_source import KeyedSource
from hush.randomness.source import Source
from hush.releases.tables.arrow import arrays_and_units, arrays_of
from hush.releases.tables.in_memory import in_memory
from hush.releases.tables.reader import BATCH, ArrowReader, Part, Reader

Found = TypeVar("Found")
Work = Callable[[int, Iterator[Any]], Found]
"""What is done with a part: its number and its Arrow tables become one small value."""


class ArrowEngine(ArrowReader):
    """Records in Arrow batches, without an order that could be relied on."""

    again = False

    @abstractmethod
    def pieces(self, names: tuple[str, ...]) -> Iterator[Any]:
        """These columns of all records in Arrow tables or batches."""

    def parts(self, names: tuple[str, ...], work: Work[Found]) -> list[Found]:
        """What work makes of each part; here all records are one."""
        return [work(0, self.pieces(names))]

    def rows(self) -> int | None:
        return None

    def batches(self, names: tuple[str, ...], *, numbers: bool) -> Iterator[tuple[np.ndarray, ...]]:
        return arrays_in(self.pieces(unique(names)), names, numbers=numbers)

    def with_unit(self, names: tuple[str, ...], unit: str, *, numbers: bool) -> Iterator[tuple[Any, ...]]:
        for piece in self.pieces(unique((*names, unit))):
            yield arrays_and_units(piece, names, unit, numbers=numbers)

    def partials(
        self, names: tuple[str, ...], function: Callable[[Iterator[tuple[np.ndarray, ...]]], Part], *, numbers: bool
    ) -> list[Part]:
        return self.parts(unique(names), lambda _, pieces: function(arrays_in(pieces, names, numbers=numbers)))

    def sampled(self, scheme: Scheme, source: Source) -> Reader:
        """One pass over all columns; each part tosses the coins of its own key."""
        import pyarrow

        key = KeyedSource.of(source)
        found = self.parts(self.names, lambda number, pieces: drawn(pieces, scheme, key.part(number)))
        tables = [as_table(part).cast(self.schema) for part in found if part is not None]
        return in_memory(pyarrow.concat_tables([self.schema.empty_table(), *tables]))


def unique(names: tuple[str, ...]) -> tuple[str, ...]:
    """Each name once: an engine is asked for a column only once."""
    return tuple(dict.fromkeys(names))


def arrays_in(pieces: Iterator[Any], names: tuple[str, ...], *, numbers: bool) -> Iterator[tuple[np.ndarray, ...]]:
    """These columns of Arrow tables as arrays of numpy, the first one as numbers if told."""
    for piece in pieces:
        yield arrays_of(piece, names, numbers=numbers)


def drawn(pieces: Iterator[Any], scheme: Scheme, source: Source) -> bytes | None:
    """The records of a part that its coins choose, as bytes of Arrow; None where it has none.

    Coins are tossed for `BATCH` records at a time, however they come: that is what makes a second try the same.
    """
    import pyarrow

    found = []
    for table in rechunked(pieces, BATCH):
        chosen = scheme.batches(table.num_rows, source)[0]
        found.append(table.take(pyarrow.array(chosen)))
    return as_bytes(pyarrow.concat_tables(found)) if found else None


def rechunked(pieces: Iterator[Any], size: int) -> Iterator[Any]:
    """The same records in tables of this size; the last one may be shorter."""
    import pyarrow

    waiting, count = [], 0
    for piece in pieces:
        table = piece if isinstance(piece, pyarrow.Table) else pyarrow.Table.from_batches([piece])
        waiting.append(table)
        count += table.num_rows
        if count >= size:
            joined = pyarrow.concat_tables(waiting)
            yield from (joined.slice(start, size) for start in range(0, count - count % size, size))
            waiting, count = [joined.slice(count - count % size)], count % size
    if count:
        yield pyarrow.concat_tables(waiting)


def as_bytes(table: Any) -> bytes:
    """An Arrow table as it travels."""
    import pyarrow

    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def as_table(found: bytes) -> Any:
    """An Arrow table that travelled."""
    import pyarrow

    with pyarrow.ipc.open_stream(found) as reader:
        return reader.read_all()
