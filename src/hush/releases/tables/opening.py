"""The reader of whatever was given: what is in memory, a Parquet or CSV file, or a reader of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hush.errors import InvalidParameter
from hush.releases.boundary import sealed
from hush.releases.tables.files import Csv, Parquet
from hush.releases.tables.in_memory import in_memory
from hush.releases.tables.reader import READABLE, Reader, Sealed


def open_reader(source: Any) -> Reader:
    """The reader of whatever was given, behind the boundary."""
    shown = str(source) if isinstance(source, str | Path) else type(source).__name__
    return sealed(lambda: Sealed(_opened(source), shown), who="table", rule=READABLE, source=shown)


def _opened(source: Any) -> Reader:
    if isinstance(source, Reader):
        return source
    return _open_file(Path(source)) if isinstance(source, str | Path) else in_memory(source)


def _open_file(path: Path) -> Reader:
    suffix = path.suffix.lower()
    if suffix not in (".parquet", ".csv"):
        raise InvalidParameter("table", "a file that ends in .parquet or .csv", source=str(path))
    if not path.is_file():
        raise InvalidParameter("table", "a file that exists", source=str(path))
    return Parquet(path) if suffix == ".parquet" else Csv(path)
