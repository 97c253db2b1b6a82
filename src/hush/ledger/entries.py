"""Entries of the book, each sealed by a SHA-256 hash over itself and the one before."""

from __future__ import annotations

import hashlib
import json
from enum import StrEnum
from typing import NamedTuple

from hush.errors import LedgerError
from hush.ledger.filters.mixture_filter import MOST_ORDERS

LONGEST_UNITS = 400
"""Digits of a sum of units: the largest float has 327 of them, and so many entries as a book may have add 19."""
START = "0" * 64
"""What stands in for the hash before the first entry."""


class Kind(StrEnum):
    """What an entry says."""

    BUDGET = "budget"
    """A budget was opened."""
    SPEND = "spend"
    """A release was paid for, before it ran."""
    HAND = "by hand"
    """A release that was made without the book was entered."""
    NOTE = "note"
    """How far a paid run is, or one of its answers."""
    FINISH = "finish"
    """The answer of a paid run, before it was shown."""


class Entry(NamedTuple):
    """One line of the book. Entries are only ever appended."""

    number: int
    kind: str
    time: int
    """Microseconds since 1970, as the clock said: the order of entries is that of their numbers."""
    budget: str
    """The budget that was opened or charged, by name; those above it are charged, too."""
    key: str | None
    """Of a charge: the name of the request, by which it is found again."""
    request: str
    """Of a charge: the hash of what was asked."""
    what: str
    mechanism: str
    """As JSON; empty where it has no such form."""
    purpose: str
    costs: str
    """Of a charge: units of each budget, as JSON."""
    about: int | None
    """Of a note or an answer: the number of the charge. Of a budget: the number of the one above it."""
    text: str
    """The budget as JSON, the answer, or the step of a note and its answer."""
    hash: str

    def sealed(self, previous: str) -> Entry:
        """The entry with its hash, after the one before."""
        return self._replace(hash=digest(self, previous))


def digest(entry: tuple[object, ...], previous: str) -> str:
    """SHA-256 of all fields but the hash, and of the hash before."""
    return hashlib.sha256(json.dumps([previous, *entry[:-1]]).encode()).hexdigest()


def written_costs(costs: dict[str, tuple[int, ...]]) -> str:
    """Costs of several budgets as a text.

    >>> written_costs({"census": (3, 4)})
    '{"census": "3 4"}'
    """
    return json.dumps({name: written_units(units) for name, units in costs.items()})


def read_costs(text: str) -> dict[str, tuple[int, ...]]:
    """The costs in a text that `written_costs` made.

    >>> read_costs('{"census": "3 4"}')
    {'census': (3, 4)}
    """
    try:
        return {name: read_units(units) for name, units in json.loads(text).items()}
    except (ValueError, AttributeError, RecursionError):
        raise LedgerError("The book has costs that cannot be read: it was edited.") from None


def written_units(units: tuple[int, ...]) -> str:
    """Whole numbers of any size as a text: no database has room for them."""
    return " ".join(map(str, units))


def read_units(text: object) -> tuple[int, ...]:
    """The units in a text, if they are whole numbers from 0 up."""
    short = isinstance(text, str) and len(text) <= MOST_ORDERS * (LONGEST_UNITS + 1)
    parts = str(text).split(" ") if short else [""]
    if not all(part.isascii() and part.isdigit() and len(part) <= LONGEST_UNITS for part in parts):
        raise LedgerError("The book has units that are no whole numbers: it was edited.")
    return tuple(map(int, parts))
