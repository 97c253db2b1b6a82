"""Many files as one table: patterns, folders, and folders whose names hold columns (region=N/year=2020)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from glob import glob, has_magic
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from hush.errors import InvalidParameter
from hush.releases.tables.files import Csv, Parquet
from hush.releases.tables.reader import Reader, require_different

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""How the name of a folder says that the value is missing."""
MOST_FILES = 100_000


class ManyFiles(Reader):
    """Files of one schema, one after the other in the order of their names.

    Columns that names of folders hold are texts, like cells of a CSV file: `year=2020` may be used as a number too.
    """

    def __init__(self, parts: Sequence[tuple[Reader, dict[str, str | None]]]) -> None:
        self._parts = parts
        first, folders = parts[0]
        self.names = require_different((*first.names, *folders))
        for reader, named in parts:
            if reader.names != first.names or tuple(named) != tuple(folders):
                raise InvalidParameter("table", "files with the same columns", files=len(parts))
            if any(reader.kind(n) != first.kind(n) or reader.whole(n) != first.whole(n) for n in first.names):
                raise InvalidParameter("table", "files whose columns have the same types", files=len(parts))

    def kind(self, name: str) -> str:
        return "text" if name in self._parts[0][1] else self._parts[0][0].kind(name)

    def dtype(self, name: str) -> np.dtype:
        return np.dtype(object) if name in self._parts[0][1] else self._parts[0][0].dtype(name)

    def whole(self, name: str) -> bool:
        return name not in self._parts[0][1] and self._parts[0][0].whole(name)

    def rows(self) -> int | None:
        known = [reader.rows() for reader, _ in self._parts]
        return None if any(rows is None for rows in known) else sum(rows or 0 for rows in known)

    def batches(self, names: tuple[str, ...], *, numbers: bool) -> Iterator[tuple[np.ndarray, ...]]:
        for reader, folders in self._parts:
            stored = tuple(name for name in names if name not in folders)
            as_numbers = numbers and names[0] not in folders
            for arrays in reader.batches(stored or reader.names[:1], numbers=as_numbers):
                yield _filled(arrays, names, folders)

    def with_unit(self, names: tuple[str, ...], unit: str, *, numbers: bool) -> Iterator[tuple[Any, ...]]:
        for reader, folders in self._parts:
            stored = tuple(name for name in names if name not in folders)
            as_numbers = numbers and bool(names) and names[0] not in folders
            for arrays in reader.with_unit(stored, reader.names[0] if unit in folders else unit, numbers=as_numbers):
                yield _filled(arrays, (*names, unit), folders)


def _filled(arrays: tuple[Any, ...], names: tuple[str, ...], folders: Mapping[str, str | None]) -> tuple[Any, ...]:
    """The columns of a file, and between them those that the names of folders hold."""
    size, left = len(arrays[0]), iter(arrays)
    return tuple(np.full(size, folders[name], dtype=object) if name in folders else next(left) for name in names)


def open_files(source: str | Path, delimiter: str | None = None) -> Reader:
    """The reader of a file, a pattern such as data/*.parquet, or a folder with all files below it."""
    path = Path(source)
    if path.is_file():
        return open_file(path, delimiter)
    found = _listed(source, path)
    if not found:
        rule = "a file that exists, a folder or pattern with .parquet or .csv files"
        raise InvalidParameter("table", rule, source=str(source))
    if len(found) > MOST_FILES:
        raise InvalidParameter("table", f"at most {MOST_FILES} files", source=str(source))
    return ManyFiles([(open_file(file, delimiter), _folders(file)) for file in found])


def _listed(source: str | Path, path: Path) -> list[Path]:
    if path.is_dir():
        files = (file for kind in ("*.parquet", "*.csv", "*.csv.gz") for file in path.rglob(kind))
        return sorted(file for file in files if not file.name.startswith(("_", ".")))
    return (
        sorted(Path(file) for file in glob(str(source), recursive=True) if Path(file).is_file())
        if (has_magic(str(source)))
        else []
    )


def _folders(file: Path) -> dict[str, str | None]:
    """Columns in the names of the folders around a file."""
    named = [part.split("=", 1) for part in file.parts[:-1] if "=" in part]
    return {name: None if value == NO_VALUE else unquote(value) for name, value in named if name}


def open_file(path: Path, delimiter: str | None = None) -> Reader:
    """The reader of one file, by the end of its name."""
    name = path.name.lower()
    if not name.endswith((".parquet", ".csv", ".csv.gz", ".tsv", ".tsv.gz")):
        raise InvalidParameter("table", "a file that ends in .parquet, .csv or .csv.gz", source=str(path))
    if not path.is_file():
        raise InvalidParameter("table", "a file that exists", source=str(path))
    if name.endswith(".parquet"):
        return Parquet(path)
    return Csv(path, delimiter or ("\t" if ".tsv" in name else ","))
