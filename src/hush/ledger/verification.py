"""Reading the whole book again: the chain of hashes, the sums, the limits, and an anchor that was kept elsewhere."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import starmap

from hush.errors import HushError, InvalidParameter, LedgerError
from hush.ledger.budget import Budget
from hush.ledger.entries import START, Entry, Kind, digest, read_costs, read_units
from hush.ledger.filters.filter import Units
from hush.ledger.spending import noted_step
from hush.ledger.store import Transaction

TYPES = (int, str, int, str, str | None, str, str, str, str, str, int | None, str, str)
"""Of the fields of an entry: a file of SQLite may hold anything in any column."""


@dataclass(frozen=True)
class Anchor:
    """Number and hash of an entry, to be kept where nobody can change it.

    >>> str(Anchor.of("3:" + "0" * 64)) == "3:" + "0" * 64
    True
    """

    number: int
    hash: str

    @classmethod
    def of(cls, given: Anchor | str) -> Anchor:
        """The anchor, also from its text."""
        if isinstance(given, Anchor):
            return given
        found = re.fullmatch(r"(\d{1,18}):([0-9a-f]{64})", given) if isinstance(given, str) else None
        if found is None:
            raise InvalidParameter(
                "Ledger.verify", "an anchor such as 3:9f86d0..., as `anchor()` gave it", anchor=given
            )
        return cls(int(found[1]), found[2])

    def __str__(self) -> str:
        return f"{self.number}:{self.hash}"


@dataclass(frozen=True)
class Verified:
    """A book in which everything is as it was written."""

    entries: int
    charges: int
    unfinished: int
    """Charges without an answer: spent, their outcome unknown."""
    by_hand: int
    anchor: Anchor

    def __str__(self) -> str:
        return (
            f"{self.entries} entries, {self.charges} charges ({self.unfinished} without an answer, {self.by_hand} by "
            f"hand): every hash, sum and limit holds\nanchor {self.anchor}"
        )


@dataclass
class _Replay:
    """The book as its entries tell it."""

    names: dict[str, str | None] = field(default_factory=dict)
    """Of each budget, the one above it."""
    numbers: dict[int, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    budgets: dict[str, Budget] = field(default_factory=dict)
    spent: dict[str, Units] = field(default_factory=dict)
    open: dict[int, int] = field(default_factory=dict)
    """Charges without an answer, each with its last note."""
    done: int = 0
    by_hand: int = 0

    def add(self, entry: Entry) -> None:
        """One more entry."""
        if entry.kind == Kind.BUDGET:
            self._opened(entry)
        elif entry.kind in (Kind.SPEND, Kind.HAND):
            self._charged(entry)
        elif entry.about not in self.open:
            raise _fault(entry, "it answers nothing")
        elif entry.kind == Kind.NOTE:
            step = noted_step(entry.text)[0]
            if step <= self.open[entry.about]:
                raise _fault(entry, "a step was noted twice")
            self.open[entry.about] = step
        elif entry.kind == Kind.FINISH:
            del self.open[entry.about]
            self.done += 1
        else:
            raise _fault(entry, "its kind is not known")

    def _opened(self, entry: Entry) -> None:
        if entry.budget in self.names or (entry.about is not None and entry.about not in self.numbers):
            raise _fault(entry, "its budget was opened before, or the one above it was not")
        self.names[entry.budget] = None if entry.about is None else self.numbers[entry.about]
        self.numbers[entry.number], self.texts[entry.budget] = entry.budget, entry.text
        try:
            self.budgets[entry.budget] = Budget.from_json(entry.text)
        except (HushError, TypeError):
            raise _fault(entry, "its budget cannot be read") from None
        self.spent[entry.budget] = self.budgets[entry.budget].filter.nothing

    def _charged(self, entry: Entry) -> None:
        costs, name, path = read_costs(entry.costs), entry.budget, []
        while name is not None:
            if name not in self.names:
                raise _fault(entry, "its budget is not in the book")
            path.append(name)
            name = self.names[name]
        if set(costs) != set(path):
            raise _fault(entry, "it is not charged to its budget and all above it")
        for name in path:
            rule = self.budgets[name].filter
            if len(costs[name]) != len(self.spent[name]):
                raise _fault(entry, "its cost is not of the filter of its budget")
            self.spent[name] = rule.sum(self.spent[name], costs[name])
            if entry.kind == Kind.SPEND and not rule.admits(self.spent[name]):
                raise _fault(entry, "it is beyond its budget")
        if entry.kind == Kind.SPEND:
            self.open[entry.number] = -1
        else:
            self.by_hand += 1


def verified(book: Transaction, anchor: Anchor | None) -> Verified:
    """What the book holds, if all of it is as it was written; LedgerError at the first fault."""
    replay, previous, number, met = _Replay(), START, 0, anchor is None or anchor.number == 0
    for entry in book.entries():
        number += 1
        if entry.number != number:
            raise LedgerError(f"Entry {number} is missing: the book was edited.")
        if not all(isinstance(value, kinds) for value, kinds in zip(entry, TYPES, strict=True)):
            raise _fault(entry, "it holds what no entry holds")
        if digest(entry, previous) != entry.hash:
            raise _fault(entry, "its hash does not belong to it: it was edited, or one before it was deleted or moved")
        replay.add(entry)
        previous = entry.hash
        if anchor is not None and anchor.number == number:
            if anchor.hash != entry.hash:
                raise _fault(entry, "it is not that of the anchor: the book was written anew")
            met = True
    if not met and anchor is not None:
        raise LedgerError(
            f"The book ends at entry {number}, before the anchor at {anchor.number}: it is an older copy."
        )
    _compare(book, replay)
    charges = replay.done + len(replay.open) + replay.by_hand
    return Verified(number, charges, len(replay.open), replay.by_hand, Anchor(number, previous))


def _compare(book: Transaction, replay: _Replay) -> None:
    """The table of budgets against what the entries say."""
    rows = {name: (above, text, read_units(spent), at) for name, above, text, spent, at in book.budgets()}
    opened = {name: (replay.texts[name], replay.spent[name], at) for at, name in replay.numbers.items()}
    expected = {name: (replay.names[name], *known) for name, known in opened.items()}
    wrong = sorted(starmap(lambda name, _: name, rows.items() ^ expected.items()))
    if wrong:
        raise LedgerError(f"The budget {wrong[0]!r} is not what the entries say: the book was edited.")


def _fault(entry: Entry, why: str) -> LedgerError:
    return LedgerError(f"Entry {entry.number} does not hold: {why}.")
