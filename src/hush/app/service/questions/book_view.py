"""The budget book on the page: what is spent of each budget, its entries, what a release would cost, and its record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hush.app.book_options import document
from hush.app.expression import parse
from hush.app.service.questions.attack_pictures import drawn
from hush.app.service.questions.question_fields import text, text_or
from hush.numerics.decimals import rounded_up
from hush.questions.json.mechanisms import from_json

if TYPE_CHECKING:
    from hush.ledger import Ledger, Standing
    from hush.ledger.entries import Entry

LAST = 100
"""Entries that the page shows."""
PLACE = "place"
"""The book, as the server was started with it: a question of the page cannot name another."""


def book(given: dict[str, Any]) -> dict[str, Any]:
    """Budgets, spending over time, the last entries, and the guarantee in words."""
    found = _opened(given)
    entries = found.last_entries(LAST)
    readings = found.odometer().readings
    budgets = [_budget(one.standing) | {"charges": one.charges} for one in readings]
    told = {"statement": found.statement(), "anchor": str(found.anchor())}
    return {"budgets": budgets, "chart": drawn(found.chart()), "entries": [_entry(one) for one in entries]} | told


def _budget(standing: Standing) -> dict[str, Any]:
    return {
        "name": standing.name,
        "within": standing.within,
        "share": standing.share,
        "spent": f"{rounded_up(100 * standing.share, 4)}%",
        "exceeded": standing.exceeded,
        "promise": standing.budget.promise(),
        "compared": standing.budget.relation.words.replace("record", standing.budget.unit),
        "unit": standing.budget.unit,
        "theorem": standing.budget.filter.theorem,
    }


def _entry(entry: Entry) -> dict[str, Any]:
    from hush.ledger.export import shown_time

    return {
        "number": entry.number,
        "kind": entry.kind,
        "time": shown_time(entry.time),
        "budget": entry.budget,
        "what": entry.what,
        "mechanism": str(from_json(entry.mechanism)) if entry.mechanism else "",
        "purpose": entry.purpose,
    }


def price(given: dict[str, Any]) -> dict[str, Any]:
    """What an expression would cost its budget and each above it; nothing is spent."""
    found = _opened(given)
    cost = found.would_cost(parse(text(given, "expression")), dataset=text(given, "dataset"), unit=_unit(found, given))
    shares = [
        {
            "cost": f"{rounded_up(100 * line.standing.budget.filter.share(line.cost), 4)}%",
            "spent": f"{rounded_up(100 * line.standing.share, 4)}%",
            "after": line.standing.budget.filter.share(line.after),
        }
        for line in cost.lines
    ]
    told = document(cost)
    told["budgets"] = [line | share for line, share in zip(told["budgets"], shares, strict=True)]
    return told


def record(given: dict[str, Any]) -> dict[str, Any]:
    """Enter a release that was made without the book; one that does not fit is refused."""
    found = _opened(given)
    number = found.record(
        parse(text(given, "expression")),
        dataset=text(given, "dataset"),
        purpose=text_or(given, "purpose", ""),
        unit=_unit(found, given),
    )
    return {"entry": number, "budget": _budget(found.standing(text(given, "dataset")))}


def _unit(found: Ledger, given: dict[str, Any]) -> str:
    """Whom the release protects, as the person in front of the page said; else whom the budget does."""
    return text_or(given, "unit", found.node(text(given, "dataset")).budget.unit)


def _opened(given: dict[str, Any]) -> Ledger:
    from hush.ledger import Ledger

    return Ledger.open(text(given, PLACE))
