"""What a query is asked of: all records of a table, or a sample of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

from hush.account import Account, paid
from hush.randomness.source import Source, source_or_secure
from hush.releases.answer import Answerable, Run
from hush.releases.conditions import by_unit, checked_confidence, covered
from hush.releases.kept_release import charge_of, read_release, write_release
from hush.releases.release import Release
from hush.releases.tables.table import Table, as_table


@dataclass(frozen=True)
class Manner:
    """How a query is asked: of which column, how sure its intervals are, the random bits, and the book that pays."""

    column: str | None = None
    confidence: float = 0.95
    source: Source | None = None
    ledger: Account | None = None


class Records(ABC):
    """Records that answer a query, and know what the answer gives away about all of them."""

    @abstractmethod
    def ask(self, query: Answerable, manner: Manner) -> Release:
        """The query's noisy answer, paid for where there is a ledger."""


@dataclass(frozen=True)
class AllRecords(Records):
    """Every record of a table."""

    table: Table

    def ask(self, query: Answerable, manner: Manner) -> Release:
        table = self.table.of(manner.column)
        run = Run(table, source_or_secure(manner.source), checked_confidence(manner.confidence))
        mechanism = by_unit(query.mechanism, table)
        query.check(table)
        covered(mechanism)

        def answered() -> Release:
            found = query.sealed_answer(run)
            return Release(found.value, mechanism, found.noise_interval, found.total_interval, run.source.private)

        private = run.source.private
        charge = charge_of(query.request, mechanism, table, confidence=run.confidence, private=private, unit=query.unit)
        found = paid(
            manner.ledger,
            charge,
            answered,
            write=lambda release: write_release(release, query.kept),
            read=lambda text: read_release(text, mechanism, query.given_again),
        )
        return replace(found, subject=query.subject(table.column))


def records(data: Any) -> Records:
    """The records that were given, such as a Sample, or all records of the data."""
    return data if isinstance(data, Records) else AllRecords(as_table(data))
