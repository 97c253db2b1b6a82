"""What will be released, fixed before any data is seen."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from hush.account import Account
from hush.curves.relation import Relation
from hush.errors import InvalidParameter
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.scheme import Scheme
from hush.randomness.source import Source
from hush.releases.answer import Answerable
from hush.releases.conditions import covered, require_one_sample, require_placed
from hush.releases.records import Manner, records
from hush.releases.release import Release
from hush.releases.sample import Sample
from hush.releases.tables.table import as_table


class Releasable(ABC):
    """What is released from data: a query on all records, or on a secret sample of them."""

    def release(
        self,
        data: Any,
        *,
        column: str | None = None,
        confidence: float = 0.95,
        source: Source | None = None,
        ledger: Account | None = None,
    ) -> Release:
        """The noisy answer on the data: an array, a data frame and its column, a hush.releases.table, or a Sample.

        With a `ledger` (a hush.ledger.Ledger, or an account of one) it is paid for before it runs.

        >>> import hush
        >>> hush.releases.Count(epsilon=1.0).release([1, 2, 3], source=hush.SeededSource(1)).private
        False
        """
        return self._released(data, Manner(column, confidence, source, ledger))

    @abstractmethod
    def _released(self, data: Any, manner: Manner) -> Release: ...


class Query(Answerable, Releasable):
    """A statistic with its noise, as a frozen dataclass: subclasses give `mechanism` and `answer`."""

    def _released(self, data: Any, manner: Manner) -> Release:
        return records(data).ask(self, manner)

    def on(self, scheme: Scheme) -> OnSample:
        """The same on a secret random sample, which is drawn when it runs.

        >>> import hush
        >>> query = hush.releases.Count(epsilon=1.0).on(hush.Poisson(rate=0.1))
        >>> query.mechanism.epsilon(delta=0).upper
        0.158...
        """
        return OnSample(self, scheme)

    def audit_records(self) -> tuple[list[float], float]:
        """Records, and one more on which the answer depends much: what an audit of this query is run on."""
        return [0.0, 0.0], 1.0

    def __str__(self) -> str:
        """The query with what it was given.

        >>> import hush
        >>> str(hush.releases.Mean(bounds=(0, 1), epsilon=1.0))
        'Mean(epsilon=1.0, bounds=(0.0, 1.0))'
        """
        given = [f for f in fields(self) if f.init] if is_dataclass(self) else []
        said = [f"{f.name}={_plain(value)}" for f in given if (value := getattr(self, f.name)) != f.default]
        return f"{type(self).__name__}({', '.join(said)})"


def _plain(value: object) -> str:
    return value.value if isinstance(value, Relation) else str(value)


@dataclass(frozen=True)
class OnSample(Releasable):
    """A query on a secret sample of the data, which is drawn anew, once, each time it runs."""

    query: Query
    scheme: Scheme

    def __post_init__(self) -> None:
        if not isinstance(self.query, Query):
            raise InvalidParameter("OnSample", "a query such as hush.releases.Mean(...)", query=type(self.query))
        require_one_sample(self.scheme)
        self.query.check_sample(self.scheme)
        require_placed(self.scheme, self.query.relation)
        covered(self.mechanism)

    @property
    def mechanism(self) -> Mechanism:
        """What the answer gives away about all the records."""
        return self.query.mechanism.on(self.scheme)

    def _released(self, data: Any, manner: Manner) -> Release:
        table = as_table(data).of(manner.column)
        sample = Sample(table, self.scheme, source=manner.source, ledger=manner.ledger)
        return sample.release(self.query, confidence=manner.confidence)

    def audit_records(self) -> tuple[list[float], float]:
        """Those of the query."""
        return self.query.audit_records()

    def __str__(self) -> str:
        return f"{self.query} on {self.scheme}"
