"""What runs on records and answers: the part of a query that needs no knowledge of where the records come from."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from hush.arrays import Array
from hush.curves.relation import Relation
from hush.errors import InvalidParameter
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.scheme import Scheme
from hush.randomness.source import Source
from hush.releases.boundary import sealed
from hush.releases.conditions import rate_of
from hush.releases.release import Interval
from hush.releases.tables.table import Table

ANSWERED = "an answer that raises nothing (the fault is not told: it may show a record)"


@dataclass(frozen=True)
class Run:
    """What a query gets when it runs: the records, the random bits, and how the records were drawn."""

    table: Table
    source: Source
    confidence: float
    scheme: Scheme | None = None
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


class Answerable(ABC):
    """What is read of records, what the answer gives away about them, and how it is made."""

    relation: Relation
    """Which datasets are neighbours; the sensitivity is set for it."""
    needs_rate: ClassVar[bool] = False
    """Whether an answer on a sample is scaled by the share that was drawn, which must then be one number."""

    unit: str | None = None
    """The column of the users whom the query itself protects, where it does; else the table says who is protected."""

    def check_sample(self, scheme: Scheme) -> None:
        """Raise where an answer on such a sample is no estimate for all records."""
        if self.needs_rate:
            rate_of(scheme)

    @property
    def request(self) -> object:
        """What its words tell requests apart by, in a budget book: the query itself, where they say all of it."""
        return self

    @property
    def noun(self) -> str:
        """What is released, in a word or two: the name of the class, unless told."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(self).__name__).lower()

    def subject(self, column: str | None) -> str:
        """What is released of the column, in words for a report."""
        of = f" of column {column!r}" if column is not None and self.reads else ""
        level, bounds = getattr(self, "p", None), getattr(self, "bounds", None)
        which = "" if level is None or self.noun == "median" else f" at level {level:g}"
        moved = f" (each value moved into the bounds {bounds[0]:g} to {bounds[1]:g})" if bounds else ""
        return f"the {self.noun}{which}{of}{moved}"

    def kept(self, value: Any) -> Any:
        """The value in numbers, texts, lists, tuples and dicts: what a budget book keeps. Anything else is not kept."""
        return value

    def given_again(self, plain: Any) -> Any:
        """The value of which this was kept."""
        return plain

    @property
    def of_records(self) -> bool:
        """Whether its guarantee is for single records, so that a sample of records amplifies it."""
        return True

    @property
    def reads(self) -> str:
        """What is read of the column before a use of a sample is noted: "numbers", "values", or "" for nothing."""
        return "numbers"

    def check(self, table: Table) -> None:
        """Raise InvalidParameter where the schema does not fit, such as words for numbers. Values never raise."""
        if self.reads == "numbers":
            table.require_numbers(type(self).__name__)

    @property
    @abstractmethod
    def mechanism(self) -> Mechanism:
        """What the answer gives away about the records that the query gets."""

    @abstractmethod
    def answer(self, run: Run) -> Answer:
        """Draw the noise and answer. Nothing may depend on the records but the value, within the sensitivity."""

    def sealed_answer(self, run: Run) -> Answer:
        """The answer; what goes wrong on the way to it is told without a value, but for a fault of the random bits."""
        bits, who = _Bits(run.source), type(self).__name__
        try:
            return sealed(lambda: self.answer(replace(run, source=bits)), who=who, rule=ANSWERED, query=who)
        except InvalidParameter:
            if bits.fault is None:
                raise
        raise bits.fault


class _Bits(Source):
    """A source that remembers what went wrong in it, which no record can show."""

    def __init__(self, source: Source) -> None:
        self._source, self.private = source, source.private
        self.fault: BaseException | None = None

    def words(self, count: int) -> Array:
        try:
            return self._source.words(count)
        except BaseException as fault:
            self.fault = fault
            raise
