"""The book as a file for others: JSON, or CSV for a spreadsheet."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TextIO

from hush.errors import InvalidParameter, LedgerError
from hush.ledger.entries import Entry
from hush.ledger.standing import Standing

FORMULAS = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for a formula at the start of a cell."""


def exported(path: Path, standings: Sequence[Standing], entries: Iterable[Entry]) -> Path:
    """Write the file that its name asks for."""
    writers = {".json": _json, ".csv": _csv}
    if path.suffix.lower() not in writers:
        raise InvalidParameter("Ledger.export", "a name that ends in .json or .csv", path=str(path))
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            writers[path.suffix.lower()](file, standings, entries)
    except OSError as error:
        raise LedgerError(f"The export cannot be written ({error.strerror or type(error).__name__}).") from None
    return path


def _json(file: TextIO, standings: Sequence[Standing], entries: Iterable[Entry]) -> None:
    budgets = [
        {
            "name": standing.name,
            "within": standing.within,
            "budget": json.loads(standing.budget.to_json()),
            "spent": [str(units) for units in standing.spent],
            "limits": [str(units) for units in standing.limits],
            "exceeded": standing.exceeded,
        }
        for standing in standings
    ]
    file.write(f'{{"hush_ledger": 1, "units": "2^-60", "budgets": {json.dumps(budgets)}, "entries": [')
    for place, row in enumerate(_rows(entries)):
        file.write(("," if place else "") + "\n" + json.dumps(row))
    file.write("\n]}\n")


def _csv(file: TextIO, _: Sequence[Standing], entries: Iterable[Entry]) -> None:
    writer = csv.writer(file)
    writer.writerow(Entry._fields)
    for row in _rows(entries):
        writer.writerow(["" if value is None else _cell(value) for value in row.values()])


def _cell(value: object) -> object:
    """A text that no spreadsheet runs."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULAS) else value


def _rows(entries: Iterable[Entry]) -> Iterator[dict[str, Any]]:
    for entry in entries:
        if any(isinstance(value, bytes) for value in entry):
            raise LedgerError("The book has an entry that is neither text nor number: it was edited.")
        yield entry._asdict() | {"time": shown_time(entry.time)}


def shown_time(microseconds: int) -> str:
    """The time of an entry, also where a clock was far off.

    >>> shown_time(0), shown_time(10**18)
    ('1970-01-01T00:00:00+00:00', '1000000000000000000 us')
    """
    if not isinstance(microseconds, int):
        raise LedgerError("The book has a time that is not a number: it was edited.")
    try:
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)).isoformat()
    except OverflowError:
        return f"{microseconds} us"
