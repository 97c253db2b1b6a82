"""Files of scores for an audit: CSV, npz or parquet, with a column of scores and one that says who was a member."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from numbers import Number
from pathlib import Path
from typing import Any

import numpy as np

from hush import releases
from hush.arrays import Array
from hush.errors import InvalidParameter
from hush.releases.tables.columns import as_number

LARGEST = 1 << 30
"""Bytes of a file of scores: more is refused."""
MEMBERS = frozenset({"1", "1.0", "true", "yes", "train", "training", "member", "in"})
OTHERS = frozenset({"0", "0.0", "false", "no", "test", "holdout", "validation", "non-member", "nonmember", "out"})
"""Words for records that were trained on, and for the others."""


@dataclass(frozen=True)
class ScoreColumns:
    """Where a file has the scores and the members, and which word makes a member where the usual ones do not."""

    score: str = "score"
    member: str = "member"
    value: str | None = None
    lower: bool = False
    """Whether smaller scores mean members, as losses do: they are turned round."""

    @property
    def names(self) -> tuple[str, str]:
        """Both columns."""
        return self.score, self.member

    def numbers(self, column: Any) -> Array:
        """The scores; a text that is no number is refused."""
        found = _cells(column, self.score)
        if isinstance(found, list):
            found = np.array([as_number(cell) for cell in found])
        if found.dtype.kind == "f" and np.isnan(found).any():  # which line it is would point at a record
            raise InvalidParameter("hush audit", f"numbers in column {self.score} (no NaN)", column=self.score)
        return -found.astype(float) if self.lower else found

    def members(self, column: Any) -> Array:
        """1 for members, 0 for others; no other word is allowed, and none is told."""
        found = _cells(column, self.member)
        if not isinstance(found, list):
            if self.value is None:
                return found
            found = [str(cell) for cell in found.tolist()]
        words = [cell.strip().lower() for cell in found]
        if "" in words:
            raise InvalidParameter("hush audit", f"a word in every row of column {self.member}", column=self.member)
        yes = MEMBERS if self.value is None else {self.value.strip().lower()}
        if self.value is None and not MEMBERS | OTHERS >= set(words):
            rule = f"in column {self.member} words for members ({', '.join(sorted(MEMBERS))}) and for others "
            rule += f"({', '.join(sorted(OTHERS))}), or --member-value"
            raise InvalidParameter("hush audit", rule, column=self.member)
        return np.array([float(word in yes) for word in words])


def _cells(column: Any, name: str) -> Array | list[str]:
    """Numbers as an array, all else as texts: a list, since one long text would make every cell of an array as long."""
    if isinstance(column, list):
        return column
    found = np.asarray(column)
    if found.ndim != 1 or found.dtype.kind not in "biufOUS":
        raise InvalidParameter("hush audit", f"one number or one word per record in column {name}", column=name)
    return found if found.dtype.kind in "biuf" else [_text(cell) for cell in found.tolist()]


def _text(cell: object) -> str:
    """A cell as a text: empty if it is none, such as a list."""
    if isinstance(cell, bytes):
        return cell.decode(errors="replace")
    return str(cell) if isinstance(cell, str | Number) else ""


def read_scores(name: str, columns: ScoreColumns) -> tuple[Array, Array]:
    """The two columns of a file of scores, by the ending of its name."""
    path = Path(name)
    readers = {".csv": _csv, ".npz": _npz, ".parquet": _parquet}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise InvalidParameter("hush audit", f"a name that ends in one of {', '.join(readers)}", file=name)
    try:
        if path.stat().st_size > LARGEST:
            raise InvalidParameter("hush audit", "a file of at most a gigabyte", file=name)
        found = reader(path, columns.names)
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as reason:
        raise InvalidParameter(
            "hush audit", "a file that can be read", file=name, reason=type(reason).__name__
        ) from reason
    missing = [column for column in columns.names if column not in found]
    if missing:
        rule = f"columns {' and '.join(columns.names)} (--score-column and --member-column name others)"
        raise InvalidParameter("hush audit", rule, missing=missing)
    return columns.numbers(found[columns.score]), columns.members(found[columns.member])


def _csv(path: Path, names: tuple[str, ...]) -> dict[str, Any]:
    with path.open(newline="", encoding="utf-8-sig") as file:  # spreadsheets put a mark first
        rows = csv.DictReader(file)
        columns: dict[str, list[str]] = {name: [] for name in names if name in (rows.fieldnames or ())}
        for row in rows:
            for name, column in columns.items():
                column.append(row[name] or "")
    return columns


def _npz(path: Path, names: tuple[str, ...]) -> dict[str, Any]:
    try:
        with path.open("rb") as opened:
            file = np.load(opened, allow_pickle=False)
            if not isinstance(file, np.lib.npyio.NpzFile):  # a single array under a wrong name
                raise InvalidParameter("hush audit", "an npz file of plain arrays", file=str(path))
            return {name: file[name] for name in names if name in file}
    except (OSError, MemoryError):
        raise
    except Exception as reason:  # numpy does not list what a broken header or a broken archive raises
        raise InvalidParameter("hush audit", "an npz file of plain arrays", file=str(path)) from reason


def _parquet(path: Path, names: tuple[str, ...]) -> dict[str, Any]:
    try:
        table = releases.table(path)
    except InvalidParameter:
        raise InvalidParameter("hush audit", "a parquet file that is whole", file=str(path)) from None
    found = {name: table.of(name) for name in names if name in table.reader.names}
    return {name: column.array(numbers=column.reader.kind(name) != "text") for name, column in found.items()}
