"""Parquet and CSV files, read in bounded memory."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from hush.errors import InvalidParameter
from hush.releases.boundary import attempted
from hush.releases.tables.arrow import arrays_and_units, arrays_of, of_arrow, texts_of, valid_texts
from hush.releases.tables.columns import numbers_in
from hush.releases.tables.csv_records import blocks, first_record
from hush.releases.tables.reader import BATCH, ArrowReader, Reader, needs, require_different
from hush.releases.tables.reading_ahead import ahead

AT_ONCE = 1 << 22
"""Row groups of up to so many records are decoded whole, two at a time; larger ones in batches."""
MARK = b"\xef\xbb\xbf"
"""The byte order mark, which some programs write before a text in UTF-8."""


class Unchanged:
    """A file as it was when it was opened: what is read of one that was written since is refused."""

    def __init__(self, path: Path) -> None:
        self.path, self._seen = path, _state(path)

    def require(self) -> None:
        """Raise if it is another file now, or was written."""
        if _state(self.path) != self._seen:
            raise InvalidParameter("table", "files that stay as they are while they are read", source=str(self.path))

    def passed(self, batches: Iterable[Any]) -> Iterator[Any]:
        """One pass over it, checked before and after."""
        self.require()
        yield from batches
        self.require()


def _state(path: Path) -> tuple[int, ...]:
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


class Parquet(ArrowReader):
    """A Parquet file, a batch of records at a time.

    It is mapped into memory anew for every row group, so that what has been read can be given back.
    """

    def __init__(self, path: Path) -> None:
        needs("pyarrow")
        from pyarrow import ArrowInvalid, parquet

        self._path, self._file = path, Unchanged(path)
        try:
            self._metadata = parquet.read_metadata(path)
        except ArrowInvalid:
            raise InvalidParameter("table", "a file in the Parquet format", source=str(path)) from None
        self.schema = self._metadata.schema.to_arrow_schema()
        self.names = require_different(self.schema.names)

    def rows(self) -> int | None:
        return self._metadata.num_rows

    def batches(self, names: tuple[str, ...], *, numbers: bool) -> Iterator[tuple[np.ndarray, ...]]:
        for piece in self._pieces(names):
            yield arrays_of(piece, names, numbers=numbers)

    def with_unit(self, names: tuple[str, ...], unit: str, *, numbers: bool) -> Iterator[tuple[Any, ...]]:
        for piece in self._pieces((*names, unit)):
            yield arrays_and_units(piece, names, unit, numbers=numbers)

    def _pieces(self, names: tuple[str, ...]) -> Iterator[Any]:
        """These columns in Arrow tables."""
        from pyarrow import default_memory_pool

        columns, groups = list(dict.fromkeys(names)), range(self._metadata.num_row_groups)
        if any(self._metadata.row_group(group).num_rows > AT_ONCE for group in groups):
            yield from self._file.passed(batch for group in groups for batch in self._slowly(group, columns))
        else:
            yield from self._file.passed(ahead(lambda group: self._at_once(group, columns), groups))
        default_memory_pool().release_unused()

    def _open(self) -> Any:
        from pyarrow import parquet

        return parquet.ParquetFile(self._path, metadata=self._metadata, memory_map=True)

    def _at_once(self, group: int, columns: list[str]) -> Any:
        with self._open() as file:
            return file.read_row_group(group, columns=columns, use_threads=False)

    def _slowly(self, group: int, columns: list[str]) -> Iterator[Any]:
        with self._open() as file:
            yield from file.iter_batches(batch_size=BATCH, row_groups=[group], columns=columns)


class Csv(Reader):
    """A CSV file in UTF-8 with a header. Cells are text: which of them are numbers is never guessed from the data.

    Where numbers are asked for, a cell that is not a number counts as missing. Rows with more or fewer cells than the
    header are left out, and so are rows of more than 64 MiB.
    """

    def __init__(self, path: Path, delimiter: str = ",") -> None:
        needs("pyarrow")
        self._path, self._file, self._delimiter = path, Unchanged(path), delimiter
        with self._open() as file:
            self.names = require_different(self._header(file))

    def _open(self) -> BinaryIO:
        file: Any = gzip.open(self._path, "rb") if self._path.suffix.lower() == ".gz" else self._path.open("rb")
        if file.read(len(MARK)) != MARK:
            file.seek(0)
        return file

    def _header(self, file: BinaryIO) -> list[str]:
        """The cells of the first record; the file then stands at the next one."""
        head = first_record(file, ord(self._delimiter))
        try:
            names = next(csv.reader([head.decode()], strict=True, delimiter=self._delimiter))
        except (UnicodeDecodeError, csv.Error):
            names = []
        if not names or b"\x00" in head:  # UTF-16 has zeros
            raise InvalidParameter("table", "a CSV file in UTF-8 with a header", source=str(self._path))
        return names

    def kind(self, name: str) -> str:  # noqa: ARG002 - every column is text
        return "text"

    def rows(self) -> int | None:
        return None

    def batches(self, names: tuple[str, ...], *, numbers: bool) -> Iterator[tuple[np.ndarray, ...]]:
        for cells in self._cells(names):
            words = [_texts(column) for column in cells]
            yield (numbers_in(words[0]), *words[1:]) if numbers else tuple(words)

    def with_unit(self, names: tuple[str, ...], unit: str, *, numbers: bool) -> Iterator[tuple[Any, ...]]:
        for *cells, who in self._cells((*names, unit)):
            words = [_texts(column) for column in cells]
            units = attempted(lambda who=who: valid_texts(who), None)
            found = [numbers_in(words[0]), *words[1:]] if numbers else words
            yield (*found, texts_of(who.to_pylist(), "surrogateescape") if units is None else units)

    def _cells(self, names: tuple[str, ...]) -> Iterator[list[Any]]:
        """These columns in step, as Arrow's bytes."""
        wanted = {name: str(self.names.index(name)) for name in names}
        with self._open() as file:
            self._header(file)
            found = blocks(file, comma=ord(self._delimiter))
            parsed = ahead(lambda block: self._parsed(block, list(wanted.values())), found)
            for batch in self._file.passed(parsed):
                yield [batch.column(wanted[name]) for name in names]

    def _parsed(self, block: bytes, wanted: list[str]) -> Any:
        """Whole records as a table of bytes."""
        from pyarrow import BufferReader, binary, csv

        return csv.read_csv(
            BufferReader(block),
            read_options=csv.ReadOptions(
                column_names=[str(k) for k in range(len(self.names))], block_size=len(block) + 1, use_threads=False
            ),
            parse_options=csv.ParseOptions(
                delimiter=self._delimiter, newlines_in_values=True, invalid_row_handler=lambda _row: "skip"
            ),
            convert_options=csv.ConvertOptions(
                include_columns=wanted, column_types=dict.fromkeys(wanted, binary()), strings_can_be_null=False
            ),
        )


def _texts(cells: Any) -> np.ndarray:
    from pyarrow import ArrowInvalid, string

    try:
        return of_arrow(cells.cast(string())).values()
    except ArrowInvalid:
        return texts_of(cells.to_pylist())
