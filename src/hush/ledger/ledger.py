"""The budget book: what was ever released from datasets, what that cost, and whether the next release still fits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hush.account import RECORD, Account, Charge, Reserved
from hush.checks import count as whole
from hush.errors import HushError, InvalidParameter, LedgerError
from hush.ledger.book_chart import spending_chart
from hush.ledger.budget import Budget
from hush.ledger.entries import Entry, Kind, read_units, written_units
from hush.ledger.export import exported
from hush.ledger.odometer import Odometer, composed
from hush.ledger.price import Price, PriceLine, largest_that_fits, mechanism_of
from hush.ledger.spending import BookAccount, Node, line
from hush.ledger.standing import Standing, book_statement
from hush.ledger.store import Store, Transaction
from hush.ledger.texts import LONGEST_PURPOSE, checked_text
from hush.ledger.verification import Anchor, Verified, verified
from hush.markup import Text
from hush.questions.charts.drawing import Chart

DEEPEST = 16
"""Budgets above each other."""


class Ledger(Account):
    """A book of budgets in a file (SQLite), or at an address postgresql://...: `Ledger.create`, `Ledger.open`.

    >>> import hush, tempfile
    >>> book = Ledger.create(tempfile.mkdtemp() + "/budget.db")
    >>> book.add("census-2026", Budget(epsilon=1.0, delta=1e-6))
    >>> release = book.spend(hush.releases.Count(epsilon=0.1), range(1000), purpose="how many there are")
    >>> round(book.standing("census-2026").share, 2)
    0.13
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._nodes: dict[str, Node] = {}
        self._refresh()

    @classmethod
    def create(cls, place: str | Path) -> Ledger:
        """A new, empty book. A file that holds something is left alone."""
        store = Store.at(place)
        store.create()
        return cls(store)

    @classmethod
    def open(cls, place: str | Path) -> Ledger:
        """A book that is there already."""
        store = Store.at(place)
        store.check()
        return cls(store)

    def add(self, name: str, budget: Budget, *, within: str | None = None) -> None:
        """Open a budget: of a dataset, or `within` that of a dataset, for instance one analyst's part.

        A charge to a budget goes to each budget above it, too. A budget is never changed.
        """
        checked_text("Ledger.add", dataset=name)
        if not isinstance(budget, Budget):
            raise InvalidParameter("Ledger.add", "a hush.ledger.Budget", budget=type(budget))
        above = None if within is None else self.node(within)
        if above is not None and len(above.path) >= DEEPEST:
            raise InvalidParameter("Ledger.add", f"at most {DEEPEST} budgets above each other", within=within)
        if above is not None and (above.budget.relation, above.budget.unit) != (budget.relation, budget.unit):
            rule = "the relation and the unit of the budget above it"
            raise InvalidParameter("Ledger.add", rule, relation=budget.relation.words, unit=budget.unit)

        def opened(book: Transaction) -> None:
            if book.spent((name,)):
                raise InvalidParameter("Ledger.add", "a name that no budget of the book has", dataset=name)
            text, number = budget.to_json(), None if above is None else above.number
            entry = book.append(line(Kind.BUDGET, name, about=number, text=text))
            book.add(name, within, text, written_units(budget.filter.nothing), entry.number)

        self._store.write(opened)
        self._refresh()

    def node(self, name: str | None = None) -> Node:
        """The budget of this name, or the only one of the book."""
        if name is None:
            if len(self._nodes) != 1:
                raise InvalidParameter(
                    "Ledger", f"dataset= the name of one of {len(self._nodes)} budgets", dataset=None
                )
            return next(iter(self._nodes.values()))
        checked_text("Ledger", dataset=name)
        if name not in self._nodes:
            self._refresh()  # another process may have opened it
        if name not in self._nodes:
            raise InvalidParameter("Ledger", "the name of a budget of the book", dataset=name)
        return self._nodes[name]

    # -- spending ----------------------------------------------------------------------------------------------

    def account(self, dataset: str | None = None, *, key: str | None = None, purpose: str = "") -> BookAccount:
        """What releases and trainings take as `ledger=`.

        The key names one request: the same request with the same key gives the stored answer again, and is not charged
        twice. Without a key every release is a new one.
        """
        if key is not None:
            checked_text("Ledger.account", key=key)
        checked_text("Ledger.account", longest=LONGEST_PURPOSE, empty=True, purpose=purpose)
        return BookAccount(self._store, self.node(dataset), key, purpose)

    def reserve(self, charge: Charge, *, resumed: int | None = None) -> Reserved:
        """As an account of the only budget of the book."""
        return self.account().reserve(charge, resumed=resumed)

    def spend(
        self,
        query: Any,
        data: Any,
        *,
        dataset: str | None = None,
        key: str | None = None,
        purpose: str = "",
        **options: Any,
    ) -> Any:
        """Pay for the query, run it on the data, keep the answer, and return it: `query.release(data, ledger=...)`."""
        if not callable(getattr(query, "release", None)):
            raise InvalidParameter(
                "Ledger.spend", "a query such as hush.releases.Count(epsilon=0.1)", query=type(query)
            )
        account = self.account(dataset, key=key, purpose=purpose)
        found = query.release(data, ledger=account, **options)
        if not account.asked:
            rule = (
                "a query whose release(data, ledger=...) pays, by hush.ledger.paid: nothing was paid, nothing is shown"
            )
            raise InvalidParameter("Ledger.spend", rule, query=type(query))
        return found

    def record(
        self,
        mechanism: Any,
        *,
        dataset: str | None = None,
        key: str | None = None,
        purpose: str = "",
        unit: str = RECORD,
        beyond: bool = False,
    ) -> int:
        """Enter a release that was made without the book, marked so: the number of its entry.

        One that does not fit is refused, unless `beyond` is True: what has happened can be written down all the same,
        and the book then says that the budget was exceeded.
        """
        account = self.account(dataset, key=key, purpose=purpose)
        return account.record(Charge("entered by hand", mechanism_of(mechanism), unit), beyond=beyond)

    # -- reading -----------------------------------------------------------------------------------------------

    def standing(self, dataset: str | None = None) -> Standing:
        """What is spent of a budget, and what is left."""
        node = self.node(dataset)
        spent = self._store.read(lambda book: book.spent((node.name,)))
        above = None if node.above is None else node.above.name
        return Standing(node.name, node.budget, above, read_units(spent.get(node.name)))

    def standings(self) -> list[Standing]:
        """The same of every budget, in the order in which they were opened."""
        self._refresh()
        return [self.standing(name) for name in self._nodes]

    def would_cost(self, query: Any, *, dataset: str | None = None, unit: str = RECORD) -> Price:
        """What a planned query or mechanism would cost each budget, before it runs; nothing is spent."""
        mechanism, node = mechanism_of(query), self.node(dataset)
        lines = []
        for one in node.path:
            standing = self.standing(one.name)
            lines.append(PriceLine(standing, one.budget.cost(mechanism, unit)))
        return Price(mechanism, tuple(lines))

    def largest(
        self, query: Any, *, dataset: str | None = None, over: tuple[float, float] | None = None, unit: str = RECORD
    ) -> Any:
        """The most accurate query that still fits: the same query with another epsilon, rho or noise.

        `query` is a query or a mechanism with such a parameter; or a function from a number to one, which costs more
        as the number grows, with `over` the range to search.

        >>> import hush, tempfile
        >>> book = Ledger.create(tempfile.mkdtemp() + "/budget.db")
        >>> book.add("census", Budget(epsilon=1.0))
        >>> book.largest(hush.releases.Count(epsilon=0.1)).epsilon
        0.99999...
        """
        return largest_that_fits(lambda made: self.would_cost(made, dataset=dataset, unit=unit).fits, query, over)

    def odometer(self, *, delta: float | None = None) -> Odometer:
        """What each filter says is spent; and, as no guarantee, epsilon if all entries had been fixed in advance."""
        standings = self.standings()
        below = {standing.name: tuple(self._below(standing.name)) for standing in standings}
        counted = self._store.read(lambda book: {name: book.mechanisms(names) for name, names in below.items()})
        return Odometer(tuple(composed(s, counted[s.name], delta) for s in standings))

    def statement(self) -> Text:
        """The guarantee of the whole book, in words."""
        by_hand = self._store.read(lambda book: sum(1 for _ in book.entries((Kind.HAND,))))
        return book_statement(self.standings(), by_hand)

    def chart(self) -> Chart:
        """How much of each budget was spent, over time."""
        standings = self.standings()
        return self._store.read(lambda book: spending_chart(standings, book.entries((Kind.SPEND, Kind.HAND))))

    def last_entries(self, count: int) -> list[Entry]:
        """The newest entries, the last one first."""
        most = whole("Ledger.last_entries", 1, count=count)
        return self._store.read(lambda book: book.newest(most))

    def export(self, path: str | Path) -> Path:
        """Write all budgets and entries to a file: .json, or .csv for the entries alone."""
        standings = self.standings()
        return self._store.read(lambda book: exported(Path(path), standings, book.entries()))

    # -- trusting ----------------------------------------------------------------------------------------------

    def anchor(self) -> Anchor:
        """Number and hash of the last entry: kept elsewhere, it shows whether the book was rolled back."""
        return self._store.read(lambda book: Anchor(*book.last()))

    def verify(self, anchor: Anchor | str | None = None) -> Verified:
        """Read the whole book, and raise LedgerError at the first thing that is not as it was written.

        Whoever can write to the database can also write a whole new history: only an anchor that was kept elsewhere
        shows that, and shows a copy of an earlier time.
        """
        known = Anchor.of(anchor) if anchor is not None else None
        if not self._store.sound():
            raise LedgerError("The file of the book is damaged.")
        return self._store.read(lambda book: verified(book, known))

    # -- inside ------------------------------------------------------------------------------------------------

    def _below(self, name: str) -> list[str]:
        return [other for other, node in self._nodes.items() if name in {above.name for above in node.path}]

    def _refresh(self) -> None:
        rows = self._store.read(lambda book: book.budgets())
        nodes: dict[str, Node] = {}
        for name, above, budget, _, number in rows:
            if not isinstance(name, str) or not isinstance(number, int):
                raise LedgerError("The book has a budget without a name or a number: it was edited.")
            if above is not None and above not in nodes:
                raise LedgerError(f"The budget above {name!r} is missing: the book was edited.")
            known = self._nodes.get(name)
            read = (
                known.budget if known is not None and known.budget.to_json() == budget else _read_budget(name, budget)
            )
            nodes[name] = Node(name, read, nodes[above] if above is not None else None, number)
        self._nodes = nodes

    def __repr__(self) -> str:
        return f"Ledger({len(self._nodes)} budgets)"


def _read_budget(name: str, text: str) -> Budget:
    try:
        return Budget.from_json(text)
    except (HushError, TypeError):
        raise LedgerError(f"The budget {name!r} cannot be read: the book was edited.") from None
