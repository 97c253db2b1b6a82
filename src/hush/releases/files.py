"""Parquet and CSV files, read in bounded memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from hush.errors import InvalidParameter
from hush.releases.frames import arrow_column
from hush.releases.readers import BATCH, Reader, as_numbers, kind_of, needs, require_different

AT_ONCE = 1 << 22
"""Row groups of up to so many records are decoded whole, two at a time; larger ones in batches."""


class Parquet(Reader):
    """A Parquet file, a batch of records at a time.

    It is mapped into memory anew for every row group, so that what has been read can be given back.
    """

    def __init__(self, path: Path) -> None:
        needs("pyarrow")
        from pyarrow import ArrowInvalid, parquet

        self._path = path
        try:
            self._metadata = parquet.read_metadata(path)
        except ArrowInvalid:
            raise InvalidParameter("table", "a file in the Parquet format", source=str(path)) from None
        self._schema = self._metadata.schema.to_arrow_schema()
        self.names = require_different(self._schema.names)

    def kind(self, name: str) -> str:
        import pyarrow

        return kind_of(arrow_column(pyarrow.array([], self._schema.field(name).type), numbers=True))

    def rows(self) -> int | None:
        return self._metadata.num_rows

    def batches(self, names: tuple[str, ...], *, numbers: bool) -> Iterator[tuple[np.ndarray, ...]]:
        columns, groups = list(dict.fromkeys(names)), range(self._metadata.num_row_groups)
        if any(self._metadata.row_group(group).num_rows > AT_ONCE for group in groups):
            found = (batch for group in groups for batch in self._slowly(group, columns))
        else:
            found = _ahead(lambda group: self._at_once(group, columns), groups)
        for piece in found:
            yield tuple(
                arrow_column(piece.column(name), numbers=numbers and place == 0) for place, name in enumerate(names)
            )

    def _open(self) -> Any:
        from pyarrow import parquet

        return parquet.ParquetFile(self._path, metadata=self._metadata, memory_map=True)

    def _at_once(self, group: int, columns: list[str]) -> Any:
        with self._open() as file:
            return file.read_row_group(group, columns=columns, use_threads=False)

    def _slowly(self, group: int, columns: list[str]) -> Iterator[Any]:
        with self._open() as file:
            yield from file.iter_batches(batch_size=BATCH, row_groups=[group], columns=columns)


def _ahead(read: Callable[[int], Any], groups: range) -> Iterator[Any]:
    """The row groups in order, while the next two are being decoded."""
    with ThreadPoolExecutor(2) as pool:
        waiting = deque(pool.submit(read, group) for group in groups[:2])
        for group in groups:
            if group + 2 < len(groups):
                waiting.append(pool.submit(read, group + 2))
            yield waiting.popleft().result()


class Csv(Reader):
    """A CSV file with a header. Cells are text: which of them are numbers is never guessed from the data.

    Where numbers are asked for, a cell that is none counts as missing. Rows with more or fewer cells than the header
    are left out.
    """

    def __init__(self, path: Path) -> None:
        needs("pyarrow")
        self._path = path
        with self._open(None) as reader:
            self.names = require_different(reader.schema.names)

    def _open(self, names: tuple[str, ...] | None) -> Any:
        from pyarrow import binary, csv

        typed = {name: binary() for name in names or ()}
        with self._readable():
            return csv.open_csv(
                self._path,
                parse_options=csv.ParseOptions(invalid_row_handler=lambda row: "skip"),
                convert_options=csv.ConvertOptions(
                    include_columns=list(typed), column_types=typed, strings_can_be_null=False
                ),
            )

    @contextmanager
    def _readable(self) -> Iterator[None]:
        from pyarrow import ArrowInvalid

        try:
            yield
        except ArrowInvalid:
            rule = "a CSV file with a header, its rows shorter than a megabyte"
            raise InvalidParameter("table", rule, source=str(self._path)) from None

    def kind(self, name: str) -> str:
        return "text"

    def rows(self) -> int | None:
        return None

    def batches(self, names: tuple[str, ...], *, numbers: bool) -> Iterator[tuple[np.ndarray, ...]]:
        with self._open(names) as reader, self._readable():
            for batch in reader:
                words = [_texts(batch.column(name)) for name in names]
                yield (as_numbers(words[0]), *words[1:]) if numbers else tuple(words)


def _texts(cells: Any) -> np.ndarray:
    """Cells as texts; bytes that are none are replaced, so that no cell can stop the reading."""
    from pyarrow import ArrowInvalid, string

    try:
        return arrow_column(cells.cast(string()), numbers=False)
    except ArrowInvalid:
        return np.array([cell.decode(errors="replace") for cell in cells.to_pylist()], dtype=object)
