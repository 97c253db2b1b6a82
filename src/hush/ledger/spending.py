"""How a charge gets into the book: reserved before the draw, its answer kept before it is shown, and never refunded."""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from dataclasses import dataclass, field
from functools import lru_cache

from hush.account import Account, Charge, Reserved
from hush.errors import AlreadySpent, BudgetExceeded, InvalidParameter, LedgerError, NotCovered
from hush.ledger.budget import Budget
from hush.ledger.entries import START, Entry, Kind, read_units, written_costs, written_units
from hush.ledger.filters.filter import Units
from hush.ledger.store import Store, Transaction
from hush.ledger.texts import printable
from hush.mechanisms.mechanism import Mechanism
from hush.questions.json.mechanisms import to_json

LARGEST_ANSWER = 10_000_000
"""Characters of an answer that is kept; of a longer one it is kept that it was given."""


@dataclass(frozen=True)
class Node:
    """A budget in the book, and those above it."""

    name: str
    budget: Budget
    above: Node | None
    number: int
    """Of the entry that opened it."""

    @property
    def path(self) -> tuple[Node, ...]:
        """This budget and all above it: a charge goes to each."""
        return (self,) if self.above is None else (self, *self.above.path)


@dataclass(frozen=True)
class BookAccount(Account):
    """Pays from one budget of a book, and from all above it."""

    store: Store
    node: Node
    key: str | None
    purpose: str
    asked: list[int] = field(default_factory=list, repr=False, compare=False)
    """Numbers of the charges that were made or found again by this account."""

    def reserve(self, charge: Charge, *, resumed: int | None = None) -> Reserved:
        if not charge.private:
            raise InvalidParameter("A private release", "a secure source of randomness", source="SeededSource")
        entry, costs = self._entry(Kind.SPEND, charge)

        def reserved(book: Transaction) -> BookReserved:
            known = book.by_key(self.key) if self.key is not None else None
            if known is not None:
                return self._found(book, known, entry, resumed)
            totals = _totals(book, self.node, costs)
            for node in self.node.path:
                _require_room(node, totals[node.name], costs[node.name])
            return BookReserved(self.store, _appended(book, entry, totals))

        found = self.store.write(reserved)
        self.asked.append(found.number)
        return found

    def record(self, charge: Charge, *, beyond: bool) -> int:
        """Enter a release that was made without the book: the number of its entry."""
        entry, costs = self._entry(Kind.HAND, charge)

        def entered(book: Transaction) -> int:
            if self.key is not None and (known := book.by_key(self.key)) is not None:
                if (known.kind, known.request) == (entry.kind, entry.request):
                    return known.number
                raise AlreadySpent(f"The key {self.key!r} is in the book already, with another request.")
            totals = _totals(book, self.node, costs)
            for node in () if beyond else self.node.path:
                _require_room(node, totals[node.name], costs[node.name])
            return _appended(book, entry, totals).number

        return self.store.write(entered)

    def _entry(self, kind: Kind, charge: Charge) -> tuple[Entry, dict[str, Units]]:
        """The line to be written, without number and hash, and what it costs each budget."""
        costs = {node.name: node.budget.cost(charge.mechanism, charge.unit) for node in self.node.path}
        mechanism, priced = written_mechanism(charge.mechanism), written_costs(costs)
        words = mechanism or str(charge.mechanism)  # two mechanisms may have the same: what they cost tells them apart
        asked = json.dumps([self.node.name, charge.what, words, charge.unit, priced])
        entry = line(
            kind,
            self.node.name,
            key=secrets.token_hex(16) if self.key is None else self.key,
            request=hashlib.sha256(asked.encode()).hexdigest(),
            what=printable(charge.what),
            mechanism=mechanism,
            purpose=self.purpose,
            costs=priced,
        )
        return entry, costs

    def _found(self, book: Transaction, known: Entry, asked: Entry, resumed: int | None) -> BookReserved:
        """What the key stands for already: its answer, or a run that goes on."""
        if known.request != asked.request or known.kind != Kind.SPEND:
            raise AlreadySpent(f"The key {self.key!r} is in the book already, with another request.")
        noted, answer = progress(book, known.number)
        if resumed is not None:
            if noted not in (-1, resumed):
                rule = f"the last checkpoint that the book knows of (step {noted})"
                raise InvalidParameter("A run that goes on", rule, step=resumed)
            return BookReserved(self.store, known, answer, noted)
        if not answer:
            why = "its outcome is unknown" if answer is None else "its answer is not kept in the book"
            raise AlreadySpent(f"The key {self.key!r} is spent, and {why}: ask with another key, which is charged.")
        return BookReserved(self.store, known, answer)


class BookReserved(Reserved):
    """A charge in the book. Of several runs of it one goes on: whoever notes a step from where the book stands."""

    def __init__(self, store: Store, entry: Entry, answer: str | None = None, noted: int = -1) -> None:
        self._store, self._entry, self.answer, self.noted = store, entry, answer, noted
        self.number = entry.number

    def note(self, step: int, answer: str = "") -> None:
        def noted(book: Transaction) -> None:
            self._require_alone(book)
            if step <= self.noted:
                raise LedgerError(f"Step {step} of this run is in the book already.")
            book.append(self._about(Kind.NOTE, json.dumps([step, _kept(answer)])))

        self._store.write(noted)
        self.noted = step

    def finish(self, answer: str) -> None:
        def finished(book: Transaction) -> None:
            self._require_alone(book)
            book.append(self._about(Kind.FINISH, _kept(answer)))

        self._store.write(finished)

    def _require_alone(self, book: Transaction) -> None:
        """Nobody has noted or finished anything since: a later step would hide that one before it was drawn twice."""
        if progress(book, self._entry.number) != (self.noted, None):
            raise LedgerError("Since this run began or was noted, another process has gone on with it: it stops here.")

    def _about(self, kind: Kind, text: str) -> Entry:
        return line(kind, self._entry.budget, about=self._entry.number, text=text)


def line(
    kind: Kind,
    budget: str,
    *,
    key: str | None = None,
    request: str = "",
    what: str = "",
    mechanism: str = "",
    purpose: str = "",
    costs: str = "{}",
    about: int | None = None,
    text: str = "",
) -> Entry:
    """An entry that has no number and no seal yet."""
    now = time.time_ns() // 1000
    return Entry(0, kind.value, now, budget, key, request, what, mechanism, purpose, costs, about, text, START)


def progress(book: Transaction, number: int) -> tuple[int, str | None]:
    """The last step that was noted of a charge, and its answer, if there is one."""
    noted, answer = -1, None
    for entry in book.following(number):
        if entry.kind == Kind.NOTE:
            noted = max(noted, noted_step(entry.text)[0])
        elif entry.kind == Kind.FINISH:
            answer = entry.text
    return noted, answer


def noted_step(text: str) -> tuple[int, str]:
    """Step and answer of a note."""
    try:
        step, answer = json.loads(text)
        return int(step), str(answer)
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise LedgerError("The book has a note that cannot be read: it was edited.") from None


@lru_cache(maxsize=256)
def written_mechanism(mechanism: Mechanism) -> str:
    """The mechanism as JSON; empty where it has no such form."""
    try:
        return to_json(mechanism)
    except (NotCovered, InvalidParameter):
        return ""


def _kept(answer: str) -> str:
    return answer if len(answer) <= LARGEST_ANSWER else ""


def _totals(book: Transaction, charged: Node, costs: dict[str, Units]) -> dict[str, Units]:
    """What would be spent of each budget after the charge."""
    written = book.spent(tuple(node.name for node in charged.path))
    totals = {}
    for node in charged.path:
        spent = read_units(written.get(node.name))
        if len(spent) != len(costs[node.name]):
            raise LedgerError(f"What is spent of the budget {node.name!r} is not of its filter: the book was edited.")
        totals[node.name] = node.budget.filter.sum(spent, costs[node.name])
    return totals


def _require_room(node: Node, total: Units, cost: Units) -> None:
    rule = node.budget.filter
    if not rule.admits(total):
        before = rule.share(tuple(a - b for a, b in zip(total, cost, strict=True)))
        raise BudgetExceeded(
            f"The budget {node.name!r} does not allow this: {before:.6g} of it is spent, and {rule.share(cost):.6g} "
            f"more is needed. Nothing ran, nothing was spent ({rule.theorem})."
        )


def _appended(book: Transaction, entry: Entry, totals: dict[str, Units]) -> Entry:
    for name, total in totals.items():
        book.spend(name, written_units(total))
    return book.append(entry)
