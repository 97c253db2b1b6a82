"""What releases a table: a grouped query on all records, or on a secret sample of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hush.account import Account
from hush.errors import NotCovered
from hush.randomness.source import Source
from hush.releases.conditions import checked_confidence
from hush.releases.group_by.group_table import GroupRelease
from hush.releases.group_by.table_words import near_ranks
from hush.releases.records import Manner, Records
from hush.releases.release import Release
from hush.releases.tables.table import Table, as_table

if TYPE_CHECKING:
    from hush.releases.group_by.grouped_query import GroupBy


class TableQuery(ABC):
    """Gives the noisy table of a grouped query, whatever records it is asked of."""

    @property
    @abstractmethod
    def grouped(self) -> GroupBy:
        """The grouped query."""

    @abstractmethod
    def _found(self, data: Any, manner: Manner) -> Release:
        """The answer on the records, paid for where there is a ledger."""

    def release(
        self,
        data: Any,
        *,
        confidence: float = 0.95,
        together: bool = False,
        source: Source | None = None,
        ledger: Account | None = None,
    ) -> GroupRelease:
        """The noisy table. `data`: files, folders and patterns of them, frames, arrays, a releases.table, or a Sample.

        With `together`, all intervals hold at once with the confidence; else each of them does on its own. With a
        `ledger` the whole table is one charge, paid before anything is drawn.
        """
        query = self.grouped
        each = _confidence_of_each(query, confidence, together)
        data = data if isinstance(data, Records) else as_table(data)
        found = self._found(data, Manner(confidence=each, source=source, ledger=ledger))
        table = replace(found.value, confidence=confidence, together=together)
        return GroupRelease(
            table,
            found.mechanism,
            None,
            None,
            found.private,
            found.sample,
            found.of_sample,
            found.subject,
            delta=query.delta or 0.0,
            unit="record" if query.unit is None else "user",
            notes=(*query.notes, *_untyped(query, data), *near_ranks(query, confidence)),
        )


def _confidence_of_each(query: GroupBy, confidence: float, together: bool) -> float:
    """The confidence of one interval, so that all of them hold together: what may fail is shared equally."""
    confidence = checked_confidence(confidence)
    if not together:
        return confidence
    if query.domain is None:
        raise NotCovered("intervals that hold together where keys are unknown: how many groups there are is not known")
    cells = len(query.domain) * sum(len(part.titles) for part in query.parts)
    return checked_confidence(1 - (1 - confidence) / cells)


def _untyped(query: GroupBy, data: Any) -> tuple[str, ...]:
    """The constant note about numbers of a file whose columns have no types, by the schema alone."""
    columns = {name for part in query.parts for m in part.wanted.measures for name in m.steps.value.columns}
    typeless = isinstance(data, Table) and any(data.reader.kind(name) == "text" for name in columns)
    return ("Cells that are no number count as missing.",) if typeless else ()
