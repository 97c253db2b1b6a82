"""Plans for tables: the expected error of every cell, column and whole table, on all records and on samples."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, is_dataclass, replace
from typing import Any, Protocol, TypeVar

from hush.checks import number, positive
from hush.curves.renyi.convert import amplify_inverse
from hush.errors import InvalidParameter
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.scheme import Scheme
from hush.mechanisms.schemes.poisson import Poisson
from hush.questions.charts.drawing import Axis, Chart, ChartLine
from hush.questions.planning.result import GAIN, WIDTH, SamplingPlan
from hush.questions.text_table import aligned

WHO = "plan.table"
RATES = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
MARGINS = (0.0, 1e-13, 1e-10, 1e-6)
"""How much of the budget is left, relatively, so that roundings of the amplified cost stay within it."""
LARGEST = 500.0
"""Of the epsilon that is spent on a sample: a query takes no more."""


class GroupedQuery(Protocol):
    """What a plan asks of a grouped query: `hush.releases.GroupBy` is one."""

    @property
    def epsilon(self) -> float: ...

    @property
    def delta(self) -> float | None: ...

    @property
    def mechanism(self) -> Mechanism: ...

    def on(self, scheme: Scheme) -> Any: ...

    def expected_error(self, size: float = 1000, *, rate: float = 1.0) -> dict[str, float]: ...


Query = TypeVar("Query", bound=GroupedQuery)


@dataclass(frozen=True)
class TablePlanRow:
    """The table at one rate; rate 1 is no sampling."""

    rate: float
    sample_epsilon: float
    sample_delta: float
    """What the query may spend on the sample so that the whole meets the target."""
    cells: tuple[dict[str, float], ...]
    """For each size of a group, the root of the expected squared error of each column."""

    def column(self, name: str) -> float:
        """The root of the mean squared error of a column over all groups."""
        return math.sqrt(math.fsum(cell[name] ** 2 for cell in self.cells) / len(self.cells))

    @property
    def columns(self) -> dict[str, float]:
        """The same of all columns, by name."""
        return {name: self.column(name) for name in self.cells[0]}


@dataclass(frozen=True)
class TablePlan(SamplingPlan):
    """Expected errors of a grouped query at one target, with and without a sample; its text is a table."""

    epsilon: float
    delta: float
    sizes: tuple[float, ...]
    rows: tuple[TablePlanRow, ...]

    def whole(self, row: TablePlanRow) -> float:
        """The error of the whole table over that of the first row: the geometric mean of the columns' ratios."""
        first, mine = self.rows[0].columns, row.columns
        logs = [math.log(max(mine[name], 1e-300) / max(first[name], 1e-300)) for name in first]
        return math.exp(math.fsum(logs) / len(logs))

    @property
    def best(self) -> TablePlanRow:
        """The row that one would choose: no sample unless one is clearly better for the whole table."""
        least = min(self.rows, key=self.whole)
        return least if self.whole(least) < 1 - GAIN else self.rows[0]

    @property
    def answer(self) -> str:
        """What to do, in a sentence."""
        best = self.best
        how = f"Sample at rate {best.rate:.3g}" if self.sample else "Do not sample"
        said = ", ".join(f"{name} {error:.4g}" for name, error in best.columns.items())
        return f"{how}: expected errors {said}."

    def document(self) -> dict[str, Any]:
        """All of it as plain numbers and texts, for JSON."""
        rows = [asdict(row) | {"columns": row.columns, "whole": self.whole(row)} for row in self.rows]
        found = {"epsilon": self.epsilon, "delta": self.delta, "sizes": list(self.sizes), "rows": rows}
        return found | {"sample": self.sample, "answer": self.answer}

    def chart(self) -> Chart:
        """Expected error against rate, one line per column, each over its error on all records."""
        rows = sorted(self.rows, key=lambda row: row.rate)
        rates = tuple(row.rate for row in rows)
        first = self.rows[0].columns
        lines = [
            ChartLine(name, rates, tuple(row.column(name) / max(first[name], 1e-300) for row in rows)) for name in first
        ]
        x, y = (
            Axis("sampling rate (1: all records)", log=True),
            Axis("expected error, over that of all records", log=True),
        )
        return Chart("Expected error of a table", f"{self._setting()}\n{self.answer}", x, y, tuple(lines))

    def _setting(self) -> str:
        least, most = min(self.sizes), max(self.sizes)
        groups = f"{least:g} records" if least == most else f"{least:g} to {most:g} records"
        return f"groups of {groups}, epsilon {self.epsilon:g}, delta {self.delta:g}; Poisson sampling, worst case"

    def table(self) -> list[tuple[str, ...]]:
        """Head and rows as text: one row for each rate, one column for each of the table."""
        names = list(self.rows[0].cells[0])
        body = [
            (
                f"{row.rate:.4g}",
                f"{row.sample_epsilon:.4g}",
                *(f"{row.column(name):.4g}" for name in names),
                f"{self.whole(row):.4g}",
            )
            for row in self.rows
        ]
        return [("rate", "epsilon of sample", *names, "whole table"), *body]

    def __str__(self) -> str:
        title = textwrap.wrap(f"Expected error (RMSE) of a table: {self._setting()}", WIDTH)
        return "\n".join([*title, "", *aligned(self.table()), "", *textwrap.wrap(self.answer, WIDTH)])


def table_plan(query: GroupedQuery, sizes: float | Sequence[float], rates: Iterable[float] | None) -> TablePlan:
    """The query as it is, then on samples of these rates with the larger budget that sampling allows."""
    if not (is_dataclass(query) and hasattr(query, "expected_error") and hasattr(query, "on")):
        raise InvalidParameter(WHO, "a grouped query: releases.GroupBy(...)", query=type(query).__name__)
    given = [sizes] if isinstance(sizes, int | float) else list(sizes)
    if not given:
        raise InvalidParameter(WHO, "the size of a group, or of each", sizes=sizes)
    groups = tuple(positive(WHO, sizes=size) for size in given)
    asked = {number(WHO, "0 < rates <= 1", 0.0, 1.0, low_open=True, rate=rate) for rate in rates or RATES}
    rows = tuple(_row(query, rate, groups) for rate in sorted(asked | {1.0}, reverse=True))
    return TablePlan(float(query.epsilon), float(query.delta or 0.0), groups, rows)


def _row(query: GroupedQuery, rate: float, sizes: tuple[float, ...]) -> TablePlanRow:
    inner = query if rate == 1 else on_sample(query, rate)
    cells = tuple(inner.expected_error(size, rate=rate) for size in sizes)
    return TablePlanRow(rate, float(inner.epsilon), float(inner.delta or 0.0), cells)


def on_sample(query: Query, rate: float) -> Query:
    """The query that, on a Poisson sample of this rate, gives away what this one does on all records.

    A sample at rate q of what is (e, d)-private is (log(1 + q(e^e - 1)), q d)-private: Li, Qardaji, Su 2012.

    >>> from hush import releases
    >>> on_sample(releases.GroupBy(keys={}, ask={"people": releases.Rows()}, epsilon=1.0), 0.1).epsilon
    2.90047...
    """
    number(WHO, "0 < rate <= 1", 0.0, 1.0, low_open=True, rate=rate)
    delta = float(query.delta or 0.0)
    for margin in MARGINS:
        inner, part = amplify_inverse(query.epsilon * (1 - margin), delta * (1 - margin), rate)
        made = replace(query, epsilon=min(inner, LARGEST), delta=min(part, 0.5) or None)  # type: ignore[type-var]
        spent = made.on(Poisson(rate=rate)).mechanism.epsilon(delta=delta)
        if spent.upper <= query.epsilon:
            return made
    raise InvalidParameter(WHO, "a rate at which the query can meet its budget", rate=rate)
