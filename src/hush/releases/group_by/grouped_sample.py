"""A grouped query on a secret sample of records, or of users."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hush.account import paid
from hush.errors import NotCovered
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.scheme import Scheme
from hush.randomness.source import source_or_secure
from hush.releases.answer import Run
from hush.releases.conditions import covered, rate_of, require_one_sample
from hush.releases.group_by.sampled_users import SampledUsers
from hush.releases.group_by.table_release import TableQuery
from hush.releases.kept_release import charge_of, read_release, write_release
from hush.releases.records import Manner
from hush.releases.release import Release
from hush.releases.sample import Sample
from hush.releases.tables.table import Table, as_table

if TYPE_CHECKING:
    from hush.releases.group_by.grouped_query import GroupBy


@dataclass(frozen=True, eq=False)
class GroupByOnSample(TableQuery):
    """A grouped query on a secret sample, drawn anew each time it runs."""

    query: GroupBy
    scheme: Scheme

    def __post_init__(self) -> None:
        scheme = require_one_sample(self.scheme)
        self.query.check_sample(scheme)
        if self.query.unit is not None and not (scheme.streams and not scheme.by_place):
            raise NotCovered(f"users drawn by {scheme}: covered are schemes of independent coins, such as hush.Poisson")
        covered(self.mechanism)

    @property
    def grouped(self) -> GroupBy:
        return self.query

    @property
    def mechanism(self) -> Mechanism:
        """What the table gives away about all records, or all users."""
        return self.query.mechanism.on(self.scheme)

    def expected_error(self, size: float = 1000) -> dict[str, float]:
        """See GroupBy: noise, and what the sample adds."""
        return self.query.expected_error(size, rate=rate_of(self.scheme))

    def _found(self, data: Any, manner: Manner) -> Release:
        table = as_table(data)
        self.query.check(table)
        covered(self.mechanism)
        if self.query.unit is not None:
            return self._of_users(table, self.query.unit, manner)
        sample = Sample(table, self.scheme, source=manner.source, ledger=manner.ledger)
        return sample.release(self.query, confidence=manner.confidence)

    def _of_users(self, table: Table, unit: str, manner: Manner) -> Release:
        """The answer on drawn users: paid, then drawn."""
        query, mechanism = self.query, self.mechanism
        bits, confidence = source_or_secure(manner.source), manner.confidence

        def answered() -> Release:
            drawn = SampledUsers(table.reader, unit, lambda users: self.scheme.batches(users, bits)[0])
            answer = query.sealed_answer(Run(Table(drawn), bits, confidence, self.scheme))
            return Release(answer.value, mechanism, None, None, bits.private)

        words = f"{query.request} on {self.scheme}"
        found = paid(
            manner.ledger,
            charge_of(words, mechanism, table, confidence=confidence, private=bits.private, unit=unit),
            answered,
            write=lambda release: write_release(release, query.kept),
            read=lambda text: read_release(text, mechanism, query.given_again),
        )
        return replace(found, subject=query.subject(None))

    def __str__(self) -> str:
        return f"{self.query} on {self.scheme}"
