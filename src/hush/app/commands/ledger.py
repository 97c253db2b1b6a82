"""`hush ledger`: a budget book is created, shown, verified and exported; releases of others are entered by hand."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hush
from hush.app import output
from hush.app.options import PICTURE, add_examples, add_json, expressed

if TYPE_CHECKING:
    from hush.ledger import Ledger, Standing

ABOUT = """\
BOOK is a file (SQLite), or an address such as postgresql://user@host/name. `create` makes the book where there is none
yet, and opens a budget in it: of a dataset, or --within that of a dataset, for instance one analyst's part. A charge
goes to a budget and to each above it. Give --epsilon with or without --delta, --rho with or without --delta, or --mu.
`hush release ... --ledger BOOK --dataset NAME` spends; with --dry-run it shows what that would cost.

exit codes: 6 where a budget or the book refuses (2 bad input, 3 no theorem covers it)
"""


def add(parser: ArgumentParser) -> None:
    """The options."""
    kinds = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    create = kinds.add_parser("create", help="open a budget, in a new book if there is none yet")
    show = kinds.add_parser("show", help="what is spent and what is left")
    record = kinds.add_parser("record", help="enter a release that was made without the book")
    verify = kinds.add_parser("verify", help="read every entry again: hashes, sums, limits")
    export = kinds.add_parser("export", help="write all entries to a file")
    for kind in (create, show, record, verify, export):
        kind.add_argument("book", help="a file, or postgresql://...")
        add_json(kind)
    for kind in (create, record):
        kind.add_argument("--dataset", required=True, help="the name of the budget")
    for name, text in (
        ("epsilon", "of the whole budget"),
        ("delta", "of the whole budget"),
        ("rho", "zCDP"),
        ("mu", "GDP"),
    ):
        create.add_argument(f"--{name}", type=float, help=text)
    create.add_argument("--within", metavar="NAME", help="the budget above it")
    create.add_argument("--relation", choices=("add_remove", "replace"), default="add_remove")
    create.add_argument("--unit", default="record", help="whom it protects: record, or a column of users")
    show.add_argument("--out", help=PICTURE)
    show.add_argument("--statement", action="store_true", help="the guarantee in words")
    record.add_argument("expression", help="the mechanism that ran, as `hush words` tells")
    record.add_argument("--purpose", default="", help="what it was for")
    record.add_argument("--key", help="a name, so that it is entered once")
    record.add_argument("--unit", default="record", help="whom its guarantee protects")
    record.add_argument("--beyond", action="store_true", help="enter it even if the budget is exceeded by it")
    verify.add_argument("--anchor", help="number:hash, as it was printed before and kept elsewhere")
    export.add_argument("out", help="a name that ends in .json or .csv")
    add_examples(
        parser,
        "hush ledger create budget.db --dataset census --epsilon 1 --delta 1e-6",
        "hush ledger create budget.db --dataset ann --within census --epsilon 0.5 --delta 1e-6",
        "hush ledger show budget.db",
        'hush ledger record budget.db --dataset census "gaussian 20" --purpose "table of last year"',
        "hush ledger verify budget.db --anchor 12:9f86d081...",
        "hush ledger export budget.db book.json",
        more=ABOUT,
    )


def run(arguments: Namespace) -> str:
    """What was done or found, as text or JSON."""
    actions = {"create": _create, "show": _show, "record": _record, "verify": _verify, "export": _export}
    return actions[arguments.action](arguments)


def _create(arguments: Namespace) -> str:
    from hush.ledger import Budget, Ledger

    numbers = {name: getattr(arguments, name) for name in ("epsilon", "delta", "rho", "mu")}
    budget = Budget(**numbers, relation=hush.Relation(arguments.relation), unit=arguments.unit)
    there = "://" in arguments.book or Path(arguments.book).exists()
    try:
        book = Ledger.open(arguments.book) if there else Ledger.create(arguments.book)
    except hush.LedgerError:
        if "://" not in arguments.book:
            raise
        book = Ledger.create(arguments.book)
    book.add(arguments.dataset, budget, within=arguments.within)
    return _standing(arguments, book.standing(arguments.dataset))


def _standing(arguments: Namespace, standing: Standing) -> str:
    if arguments.json:
        return output.as_json(_fields(standing))
    return f"{standing}\n  {standing.budget}"


def _fields(standing: Standing) -> dict[str, object]:
    plain = {name: getattr(standing, name) for name in ("name", "within", "share", "exceeded")}
    return plain | {
        "spent": [str(units) for units in standing.spent],
        "limits": [str(units) for units in standing.limits],
        "budget": json.loads(standing.budget.to_json()),
    }


def _show(arguments: Namespace) -> str:
    book = _opened(arguments)
    if arguments.out:
        output.saved(book.chart(), arguments.out)
    if arguments.statement:
        said = book.statement()
        return output.as_json({"text": said}) if arguments.json else said
    odometer, anchor = book.odometer(), book.anchor()
    if arguments.json:
        readings = [
            _fields(reading.standing)
            | {"charges": reading.charges, "delta": reading.delta, "no_guarantee_if_fixed": reading.planned_epsilon}
            for reading in odometer.readings
        ]
        return output.as_json({"budgets": readings, "anchor": str(anchor)})
    return f"{odometer}\nanchor {anchor}"


def _record(arguments: Namespace) -> str:
    number = _opened(arguments).record(
        expressed(arguments.expression),
        dataset=arguments.dataset,
        key=arguments.key,
        purpose=arguments.purpose,
        unit=arguments.unit,
        beyond=arguments.beyond,
    )
    standing = _opened(arguments).standing(arguments.dataset)
    if arguments.json:
        return output.as_json({"entry": number} | _fields(standing))
    return f"entry {number}, made by hand\n{standing}"


def _verify(arguments: Namespace) -> str:
    found = _opened(arguments).verify(arguments.anchor)
    if arguments.json:
        said: dict[str, Any] = vars(found) | {"anchor": str(found.anchor)}
        return output.as_json(said)
    return str(found)


def _export(arguments: Namespace) -> str:
    path = _opened(arguments).export(arguments.out)
    return output.as_json({"out": str(path)}) if arguments.json else f"written to {path}"


def _opened(arguments: Namespace) -> Ledger:
    from hush.ledger import Ledger

    return Ledger.open(arguments.book)
