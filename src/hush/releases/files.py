"""Parquet and CSV files, read in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hush.errors import InvalidParameter
from hush.releases.frames import arrow_column
from hush.releases.readers import BATCH, Reader, as_numbers, kind_of, needs


class Parquet(Reader):
    """A Parquet file, a batch of records at a time."""

    def __init__(self, path: Path) -> None:
        needs("pyarrow")
        from pyarrow import ArrowInvalid, parquet

        try:
            # pre_buffer would hold all of the file in memory; a small buffer spares copies
            self._file = parquet.ParquetFile(path, pre_buffer=False, buffer_size=1 << 16)
        except ArrowInvalid:
            raise InvalidParameter("table", "a file in the Parquet format", source=str(path)) from None
        self._schema = self._file.schema_arrow
        self.names = tuple(self._schema.names)

    def kind(self, name: str) -> str:
        import pyarrow

        return kind_of(arrow_column(pyarrow.array([], self._schema.field(name).type)))

    def rows(self) -> int | None:
        return self._file.metadata.num_rows

    def batches(self, names: tuple[str, ...], *, numbers: bool) -> Iterator[tuple[np.ndarray, ...]]:
        columns = list(dict.fromkeys(names))
        for batch in self._file.iter_batches(batch_size=BATCH, columns=columns, use_threads=len(columns) > 1):
            yield tuple(arrow_column(batch.column(batch.schema.get_field_index(name))) for name in names)


class Csv(Reader):
    """A CSV file with a header. Cells are text: which of them are numbers is never guessed from the data.

    Where numbers are asked for, a cell that is none counts as missing. Rows with more or fewer cells than the header
    are left out.
    """

    def __init__(self, path: Path) -> None:
        needs("pyarrow")
        self._path = path
        with self._open(None) as reader:
            self.names = tuple(reader.schema.names)

    def _open(self, names: tuple[str, ...] | None) -> Any:
        from pyarrow import ArrowInvalid, csv, string

        typed = {name: string() for name in names or ()}
        try:
            return csv.open_csv(
                self._path,
                parse_options=csv.ParseOptions(invalid_row_handler=lambda row: "skip"),
                convert_options=csv.ConvertOptions(
                    include_columns=list(typed), column_types=typed, strings_can_be_null=False
                ),
            )
        except ArrowInvalid:
            raise InvalidParameter("table", "a CSV file with a header", source=str(self._path)) from None

    def kind(self, name: str) -> str:
        return "text"

    def rows(self) -> int | None:
        return None

    def batches(self, names: tuple[str, ...], *, numbers: bool) -> Iterator[tuple[np.ndarray, ...]]:
        with self._open(names) as reader:
            for batch in reader:
                words = [np.asarray(arrow_column(batch.column(name)), dtype=object) for name in names]
                yield (as_numbers(words[0]), *words[1:]) if numbers else tuple(words)
