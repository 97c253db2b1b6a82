"""What will be released, fixed before any data is seen."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from hush.checks import number
from hush.curves.relation import Relation
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.schemes.fixed_size import FixedSize
from hush.mechanisms.schemes.one_sample import OneSample
from hush.mechanisms.schemes.poisson import Poisson
from hush.mechanisms.schemes.scheme import Scheme
from hush.randomness.source import Source, Words, source_or_secure
from hush.releases.boundary import sealed
from hush.releases.release import Interval, Release

if TYPE_CHECKING:
    from hush.releases.tables.table import Table

ANSWERED = "an answer that raises nothing (the fault is not told: it may show a record)"


@dataclass(frozen=True)
class Run:
    """What a query gets when it runs: the records, the random bits, and how the records came about."""

    table: Table
    source: Source
    confidence: float
    scheme: OneSample | None = None
    """How the records were drawn from all of them; None for all."""

    @property
    def rate(self) -> float:
        """The share of all records that was drawn, on average."""
        return 1.0 if self.scheme is None else rate_of(self.scheme)


@dataclass(frozen=True, eq=False)
class Answer:
    """What a query returns: the value, and the two intervals of a Release."""

    value: Any
    noise_interval: Interval | None
    total_interval: Interval | None


class Bits(Source):
    """A source that remembers what went wrong in it, which no record can show."""

    def __init__(self, source: Source) -> None:
        self._source, self.private = source, source.private
        self.fault: BaseException | None = None

    def words(self, count: int) -> Words:
        try:
            return self._source.words(count)
        except BaseException as fault:
            self.fault = fault
            raise


class Query(ABC):
    """A statistic with its noise, as a frozen value: subclasses give `mechanism`, `check` and `answer`."""

    relation: Relation
    """Which datasets are neighbours; the sensitivity is set for it."""
    needs_rate: ClassVar[bool] = False
    """Whether an answer on a sample is scaled by the share that was drawn, which must then be one number."""

    @property
    def reads(self) -> str:
        """What is read of the column before a use of a sample is noted: "numbers", "values", or "" for nothing."""
        return ""

    @property
    @abstractmethod
    def mechanism(self) -> Mechanism:
        """What the answer gives away about the records that the query gets."""

    @abstractmethod
    def check(self, table: Table) -> None:
        """Raise InvalidParameter where the schema does not fit, such as words for numbers. Values never raise."""

    @abstractmethod
    def answer(self, run: Run) -> Answer:
        """Draw the noise and answer. Nothing may depend on the records but the value, within the sensitivity."""

    def release(
        self, data: Any, *, column: str | None = None, confidence: float = 0.95, source: Source | None = None
    ) -> Release:
        """The noisy answer on the data: an array, a data frame and its column, a hush.releases.table, or a Sample.

        >>> import hush
        >>> hush.releases.Count(epsilon=1.0).release([1, 2, 3], source=hush.SeededSource(1)).private
        False
        """
        from hush.releases.sample import Sample
        from hush.releases.tables.table import as_table

        if isinstance(data, Sample):
            if source is not None:
                raise InvalidParameter("release", "no source of its own: the sample has one", source=source)
            return data.release(self, confidence=confidence, column=column)
        table = as_table(data).of(column)
        run = Run(table, source_or_secure(source), checked_confidence(confidence))
        mechanism = by_unit(self.mechanism, table)
        self.check(table)
        covered(mechanism)
        found = self.sealed_answer(run)
        return Release(found.value, mechanism, found.noise_interval, found.total_interval, run.source.private)

    def sealed_answer(self, run: Run) -> Answer:
        """The answer; what goes wrong on the way to it is told without a value, but for a fault of the random bits."""
        bits, who = Bits(run.source), type(self).__name__
        try:
            return sealed(lambda: self.answer(replace(run, source=bits)), who=who, rule=ANSWERED, query=who)
        except InvalidParameter:
            if bits.fault is None:
                raise
        raise bits.fault

    def on(self, scheme: Scheme) -> OnSample:
        """The same on a secret random sample, which is drawn when it runs.

        >>> import hush
        >>> query = hush.releases.Count(epsilon=1.0).on(hush.Poisson(rate=0.1))
        >>> query.mechanism.epsilon(delta=0).upper
        0.158...
        """
        return OnSample(self, scheme)  # type: ignore[arg-type]


@dataclass(frozen=True)
class OnSample:
    """A query on a secret sample of the data, drawn anew each time it runs."""

    query: Query
    scheme: OneSample

    def __post_init__(self) -> None:
        if not isinstance(self.query, Query):
            raise InvalidParameter("OnSample", "a query such as hush.releases.Mean(...)", query=self.query)
        require_one_sample(self.scheme)
        if self.query.needs_rate:
            rate_of(self.scheme)
        require_placed(self.scheme, self.query.relation)
        covered(self.mechanism)

    @property
    def mechanism(self) -> Mechanism:
        """What the answer gives away about all the records."""
        return self.query.mechanism.on(self.scheme)

    def release(
        self, data: Any, *, column: str | None = None, confidence: float = 0.95, source: Source | None = None
    ) -> Release:
        """Draw the sample, secretly, once; then the noisy answer on it."""
        from hush.releases.sample import Sample
        from hush.releases.tables.table import as_table

        checked_confidence(confidence)
        table = as_table(data).of(column)
        covered(by_unit(self.mechanism, table))
        self.query.check(table)
        return Sample(table, self.scheme, source=source).release(self.query, confidence=confidence)


def require_one_sample(scheme: object) -> OneSample:
    """The scheme, if it draws one sample for one mechanism."""
    if isinstance(scheme, OneSample):
        return scheme
    if isinstance(scheme, Scheme):
        raise NotCovered(
            f"a release on {scheme}: it makes the batches of an epoch. Covered: hush.Poisson, hush.UnequalPoisson, "
            "hush.WithoutReplacement, hush.WithReplacement"
        )
    raise InvalidParameter("on", "a sampling scheme such as hush.Poisson(rate=0.01)", scheme=scheme)


def require_placed(scheme: OneSample, relation: Relation) -> None:
    """Raise where adding or removing a record would move the others to other rates."""
    if scheme.by_place and relation is Relation.ADD_REMOVE:
        raise NotCovered(
            f"{scheme} of records that are added or removed: the records after such a one get other rates, and that "
            "there are as many as rates would show. Covered: REPLACE, where the number of records is public"
        )


def rate_of(scheme: OneSample) -> float:
    """The expected share of the records that a scheme draws, where it is the same for every record."""
    if isinstance(scheme, Poisson):
        rate = scheme.rate
    elif isinstance(scheme, FixedSize):
        rate = scheme.size / scheme.population
    else:
        raise NotCovered(f"an estimate for all records from {scheme}: each must be drawn with the same probability")
    if rate == 0:
        raise InvalidParameter("A release", "a sample that draws something: rate > 0", rate=0)
    return rate


def by_unit(mechanism: Mechanism, table: Table) -> Mechanism:
    """The mechanism for the unit of the table: a user with at most so many records, or one record."""
    if table.unit is None or table.max_contributions is None:
        return mechanism
    if mechanism.relation is Relation.REPLACE:
        raise NotCovered(
            "a user replaced by another, who may have another number of records: users are covered under ADD_REMOVE"
        )
    return mechanism.group(table.max_contributions)


@lru_cache(maxsize=256)
def covered(mechanism: Mechanism) -> Mechanism:
    """The mechanism, if a theorem covers it; raises NotCovered before anything is drawn."""
    for _, neighbours in mechanism.directions():
        mechanism.evidence(neighbours).require()
    return mechanism


def checked_confidence(confidence: object) -> float:
    """A confidence above 0, and so far below 1 that it can be split among many intervals."""
    return number("release", "0 < confidence <= 1 - 1e-9", 0, 1 - 1e-9, low_open=True, confidence=confidence)
