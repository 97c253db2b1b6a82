"""Files of scores for an audit: CSV, npz or parquet, with a column `score` and a column `member`."""

from __future__ import annotations

import csv
import math
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from hush import releases
from hush.arrays import Array
from hush.errors import InvalidParameter
from hush.releases.tables.columns import as_number

COLUMNS = ("score", "member")
LARGEST = 1 << 30
"""Bytes of a file of scores: more is refused."""


def read_scores(name: str) -> tuple[Array, Array]:
    """The two columns of a file of scores, by the ending of its name."""
    path = Path(name)
    readers = {".csv": _csv, ".npz": _npz, ".parquet": _parquet}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise InvalidParameter("hush audit", f"a name that ends in one of {', '.join(readers)}", file=name)
    try:
        if path.stat().st_size > LARGEST:
            raise InvalidParameter("hush audit", "a file of at most a gigabyte", file=name)
        found = reader(path)
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as reason:
        raise InvalidParameter(
            "hush audit", "a file that can be read", file=name, reason=type(reason).__name__
        ) from reason
    missing = [column for column in COLUMNS if column not in found]
    if missing:
        raise InvalidParameter("hush audit", f"columns {' and '.join(COLUMNS)}", missing=missing)
    return np.asarray(found["score"]), np.asarray(found["member"])


def _csv(path: Path) -> dict[str, Any]:
    with path.open(newline="", encoding="utf-8-sig") as file:  # spreadsheets put a mark first
        rows = csv.DictReader(file)
        columns: dict[str, list[float]] = {name: [] for name in COLUMNS if name in (rows.fieldnames or ())}
        for row in rows:
            for name, column in columns.items():
                column.append(as_number(row[name]))
    for name, column in columns.items():
        if any(map(math.isnan, column)):  # which line it is would point at a record
            raise InvalidParameter("hush audit", f"numbers in column {name} (no NaN)", column=name)
    return columns


def _npz(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as opened:
            file = np.load(opened, allow_pickle=False)
            if not isinstance(file, np.lib.npyio.NpzFile):  # a single array under a wrong name
                raise InvalidParameter("hush audit", "an npz file of plain arrays", file=str(path))
            return {name: file[name] for name in COLUMNS if name in file}
    except (ValueError, zipfile.BadZipFile, zlib.error) as reason:
        raise InvalidParameter("hush audit", "an npz file of plain arrays", file=str(path)) from reason


def _parquet(path: Path) -> dict[str, Any]:
    try:
        table = releases.table(path)
    except InvalidParameter:
        raise InvalidParameter("hush audit", "a parquet file that is whole", file=str(path)) from None
    found = {name: table.of(name) for name in COLUMNS if name in table.reader.names}
    for column in found.values():
        column.require_numbers("hush audit")
    return {name: column.array(numbers=True) for name, column in found.items()}
