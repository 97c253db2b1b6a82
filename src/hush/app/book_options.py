"""`hush release --ledger`: the options of the budget book that pays, and what a release would cost it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

import hush
from hush.errors import InvalidParameter

if TYPE_CHECKING:
    from hush.ledger import Ledger
    from hush.ledger.price import Price


def add(parser: ArgumentParser) -> None:
    """--ledger, and what it needs."""
    parser.add_argument("--ledger", metavar="BOOK", help="the budget book that pays: a file, or postgresql://...")
    parser.add_argument("--dataset", metavar="NAME", help="the budget in the book, unless there is only one")
    parser.add_argument("--key", help="a name: the same release under the same name is paid once, and given again")
    parser.add_argument("--purpose", default="", help="what it is for, written into the book")
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="show what it would cost, and of a table the expected errors; nothing is drawn or spent",
    )


def book_of(arguments: Namespace, *needing: str) -> Ledger | None:
    """The budget book, and no option that needs one without it."""
    if arguments.ledger is None:
        given = [name for name in ("dataset", "key", "purpose", *needing) if getattr(arguments, name)]
        if given:
            raise InvalidParameter(f"hush release {arguments.statistic}", "--ledger BOOK with these", without=given)
        return None
    from hush.ledger import Ledger

    return Ledger.open(arguments.ledger)


def account(arguments: Namespace, book: Ledger | None) -> Any:
    """What a release takes as ledger=."""
    if book is None:
        return None
    return book.account(arguments.dataset, key=arguments.key, purpose=arguments.purpose)


def price_of(arguments: Namespace, mechanism: hush.Mechanism, book: Ledger) -> Price:
    """What the release would cost each budget: nothing is drawn, and nothing is spent."""
    from hush.account import unit_of

    return book.would_cost(mechanism, dataset=arguments.dataset, unit=unit_of(arguments.unit))


def document(price: Price) -> dict[str, Any]:
    """The price in JSON."""
    lines = [
        {"budget": line.standing.name, "cost": [str(units) for units in line.cost], "fits": line.fits}
        for line in price.lines
    ]
    return {"fits": price.fits, "budgets": lines}
