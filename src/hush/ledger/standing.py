"""What is spent of a budget and what is left; and the whole book in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hush.errors import LedgerError
from hush.ledger.budget import Budget
from hush.ledger.filters.filter import Units
from hush.ledger.filters.whole_units import UNITS
from hush.markup import Text
from hush.numerics.decimals import rounded_up


@dataclass(frozen=True)
class Standing:
    """A budget at one moment."""

    name: str
    budget: Budget
    within: str | None
    spent: Units
    """In units of 2^-60 (of a menu: releases)."""

    def __post_init__(self) -> None:
        if len(self.spent) != len(self.limits):
            raise LedgerError("What is spent of a budget is not of its filter: the book was edited.")

    @property
    def limits(self) -> Units:
        """What may be spent, in the same units."""
        return self.budget.filter.limits

    @property
    def remaining(self) -> Units:
        """What is left, in the same units; of a mixture, what each order alone has left."""
        return tuple(max(limit - part, 0) for part, limit in zip(self.spent, self.limits, strict=True))

    @property
    def share(self) -> float:
        """How much of the budget is spent, from 0 to 1."""
        return self.budget.filter.share(self.spent)

    @property
    def exceeded(self) -> bool:
        """Whether more was entered by hand than the budget allows: its promise does not hold then."""
        return not self.budget.filter.admits(self.spent)

    def __str__(self) -> str:
        within = f" within {self.within}" if self.within else ""
        return f"{self.name}{within}: {rounded_up(100 * self.share, 4)}% spent; {self.budget.promise()} when all is"


def in_units(units: Units) -> str:
    """Units as numbers, for a table."""
    return ", ".join(f"{part / UNITS:.6g}" if part >= 1000 else str(part) for part in units)


def book_statement(standings: Sequence[Standing], by_hand: int) -> Text:
    """A paragraph for each budget."""
    if not standings:
        return Text("The book has no budgets yet: nothing can be released under it.")
    said = "\n\n".join(_paragraph(standing) for standing in standings)
    assumed = (
        "This holds however each release was chosen from the answers before it. It assumes that everything released "
        "from these data is in the book, and that the data behind a name did not change."
    )
    hand = f" Releases that were entered by hand, and that hush did not run: {by_hand}." if by_hand else ""
    return Text(f"{said}\n\n{assumed}{hand}")


def _paragraph(standing: Standing) -> str:
    budget, unit = standing.budget, standing.budget.unit
    compared = budget.relation.words.replace("record", unit)
    within = f" (a part of {standing.within})" if standing.within else ""
    if standing.exceeded:
        return (
            f"{standing.name}{within}: the budget was EXCEEDED by releases that were entered by hand. "
            f"It does not promise anything; {rounded_up(100 * standing.share, 4)}% of it is spent."
        )
    return (
        f"{standing.name}{within}: all releases charged to this budget, those to come included, are together "
        f"differentially private for every single {unit}: {budget.promise()} ({compared}). "
        f"{rounded_up(100 * standing.share, 4)}% of the budget is spent. By: {budget.filter.theorem}."
    )
