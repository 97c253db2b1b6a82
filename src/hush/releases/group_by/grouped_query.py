"""Statistics by group: one query, fixed before any data is seen, its mechanism known in advance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any

from hush.checks import number, positive
from hush.curves.relation import Relation
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.scheme import Scheme
from hush.randomness.source import Source
from hush.releases.answer import Answer, Run
from hush.releases.conditions import rate_of
from hush.releases.group_by import table_words
from hush.releases.group_by.asked import LOW, Asked, Place, checked_missing
from hush.releases.group_by.budget_shares import NoisePlan, Planning, TableBudget
from hush.releases.group_by.contributions import ONE_RECORD, AtMost
from hush.releases.group_by.group_table import GroupTable
from hush.releases.group_by.grouped_sample import GroupByOnSample
from hush.releases.group_by.key_selection import shown_keys
from hush.releases.group_by.noisy_parts.count_parts import DistinctPart, RowsPart, UsersPart
from hush.releases.group_by.noisy_parts.moment_parts import with_free_rows
from hush.releases.group_by.noisy_parts.parts import (
    Answering,
    CellColumn,
    Part,
    Protected,
    column_rows,
    joined,
    rows_of,
    sliced,
)
from hush.releases.group_by.query_checks import (
    Kinds,
    Unknown,
    check_cell,
    check_fields,
    check_key,
    key_values,
    row_wise,
    value_of,
)
from hush.releases.group_by.table_release import TableQuery
from hush.releases.query import Query
from hush.releases.records import Manner, records
from hush.releases.release import Release
from hush.releases.row_wise.row_constants import ANY, TRUTH
from hush.releases.row_wise.row_expressions import ColumnOf, Expression, replaced_columns
from hush.releases.tables.table import Table
from hush.releases.tables.tally import Key, Limits, Tally

MOST_GROUPS = 1 << 24
SECRET_WORDS = 4
"""Words of the secret that decides which records of a user are kept."""


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupBy(TableQuery, Query):  # pyright: ignore[reportIncompatibleMethodOverride]
    """Statistics of every group, with one budget for all of them.

    `keys` gives for each key column its values, in their order (all combinations are groups, empty ones too), or is
    `Unknown(...)`. `ask` names what is asked: `Rows`, `Users`, `Stats`, `ValueCounts`, `Distinct`, `Top`. `where` and
    `derived` columns are row-wise expressions (`hush.col("age") >= 18`, or a text). `missing` says for a column whether
    records without a value are dropped from its statistics, count as the lower bound, or as a given number. With
    `unit`, a column, the guarantee is for all records of a user, of which `contributions` limits how many count.
    `epsilon` (and `delta`) is spent in all, `split` equally, by `weights`, or such that the weighted squared error is
    least ("error").

    >>> import hush
    >>> from hush.releases import Rows, Stats
    >>> asked = {"people": Rows(), "income": Stats("income", bounds=(0, 10), mean=True)}
    >>> query = GroupBy(keys={"region": ("N", "S")}, ask=asked, epsilon=1.0)
    >>> query.mechanism.epsilon(delta=0).upper
    1.0
    >>> data = {"region": ["N", "S", "N"], "income": [1.0, 2.0, 3.0]}
    >>> query.release(data, source=hush.SeededSource(1)).value.groups
    (('N',), ('S',))
    """

    keys: Mapping[str, Sequence[object]] | Unknown
    ask: Mapping[str, Asked]
    epsilon: float
    delta: float | None = None
    where: Expression | str | None = None
    derived: Mapping[str, Expression | str] = field(default_factory=dict)
    missing: Mapping[str, str | float] = field(default_factory=dict)
    unit: str | None = None
    contributions: AtMost | None = None
    split: str = "equal"
    weights: Mapping[str, float] = field(default_factory=dict)
    noise: str = "auto"
    relation: Relation = Relation.ADD_REMOVE
    needs_rate = True

    @property
    def of_records(self) -> bool:
        return self.unit is None

    def __post_init__(self) -> None:
        check_fields(self)
        _ = self.domain, self.condition, self.parts
        checked_missing("GroupBy", self.missing, self.ask)
        titles = [*self.key_names, *(title for part in self.parts for title in part.titles)]
        every = titles + [title + end for title in titles for end in ("_low", "_high")]
        if len(set(every)) < len(every):
            raise InvalidParameter("GroupBy", "columns of different names, keys included", columns=titles)
        for name, weight in self.weights.items():
            if name not in self.ask and name not in titles:
                raise InvalidParameter("GroupBy", f"weights for some of {titles}", weights=name)
            positive("GroupBy", **{name: weight})

    # -- what is asked ----------------------------------------------------------------------------------------

    @cached_property
    def key_names(self) -> tuple[str, ...]:
        """The names of the key columns."""
        return self.keys.columns if isinstance(self.keys, Unknown) else tuple(self.keys)

    @cached_property
    def domain(self) -> tuple[Key, ...] | None:
        """All given keys, in order; None where only the data know them."""
        if isinstance(self.keys, Unknown):
            return None
        if not isinstance(self.keys, Mapping) or not all(isinstance(name, str) for name in self.keys):
            raise InvalidParameter("GroupBy", "keys={column: values} or releases.Unknown(column)", keys=self.keys)
        values = [key_values(name, given) for name, given in self.keys.items()]
        if math.prod(map(len, values)) > MOST_GROUPS:
            raise InvalidParameter("GroupBy", f"at most {MOST_GROUPS} groups", keys=[len(v) for v in values])
        return tuple(product(*values))

    @cached_property
    def _derived(self) -> dict[str, Expression]:
        found = {name: row_wise("derived", value) for name, value in self.derived.items()}
        return {name: replaced_columns(value, {}) for name, value in found.items()}

    def expressed(self, expression: Expression) -> Expression:
        """The expression with derived columns put in."""
        return replaced_columns(expression, self._derived)

    @cached_property
    def condition(self) -> Expression | None:
        """Which records count; None for all."""
        return None if self.where is None else self.expressed(row_wise("where", self.where))

    @cached_property
    def protected(self) -> Protected:
        """Whom the guarantee protects."""
        most = self.contributions or ONE_RECORD
        if self.contributions is not None and self.domain is not None:  # nobody is in more groups than there are
            most = replace(most, groups=min(most.l0, len(self.domain)), each=most.linf)
        return Protected(most, self.relation, users=self.unit is not None)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The releases that the query is made of."""
        groups = None if self.domain is None else len(self.domain)
        found = [
            part
            for name, asked in self.ask.items()
            for part in asked.parts(
                Place(name, lambda value, name=name: self._missing(name, value), self.expressed, groups)
            )
        ]
        if self.domain is None:
            return (*found,) if not found or self._counted_in(found) else (*found, self._counting(""))
        return with_free_rows(found)

    def _missing(self, name: str, value: Expression) -> Any:
        column = value.name if isinstance(value, ColumnOf) else name
        return self.missing.get(name, self.missing.get(column, LOW))

    def _counting(self, name: str) -> RowsPart:
        return RowsPart(name) if self.unit is None else UsersPart(name)

    def _counted_in(self, parts: Sequence[Part]) -> RowsPart | None:
        """The count that decides which unknown keys are shown: of users, never of their records."""
        kind = type(self._counting(""))
        return next((part for part in parts if type(part) is kind), None)  # type: ignore[return-value]

    # -- what it gives away -----------------------------------------------------------------------------------

    @cached_property
    def planning(self) -> Planning:
        """The parts, whom they protect, and the budget."""
        budget = TableBudget(self.epsilon, self.delta or 0.0, self.split, dict(self.weights), self.noise)
        counted = None if self.domain is not None else self._counted_in(self.parts)
        return Planning(self.parts, self.protected, budget, counted)

    @cached_property
    def plan(self) -> NoisePlan:
        """The noise of each part, and the threshold for unknown keys."""
        return self.planning.plan()

    @property
    def mechanism(self) -> Mechanism:
        """What the table gives away about one record, or one user."""
        return self.plan.mechanism

    def expected_error(self, size: float = 1000, *, rate: float = 1.0) -> dict[str, float]:
        """The root of the expected squared error of each column in a group of so many records, before any data is seen.

        Noise is known. What a sample at this rate adds is that of the worst values within the bounds; for quantiles,
        that of values spread evenly over the bounds.
        """
        size = positive("expected_error", size=size)
        rate = number("expected_error", "0 < rate <= 1", 0, 1, low_open=True, rate=rate)
        found: dict[str, float] = {}
        for part, level in zip(self.parts, self.plan.levels, strict=True):
            found |= part.errors(level, self.planning.charged, size, rate)
        return {name: error for name, error in found.items() if name}

    # -- what a budget book keeps ------------------------------------------------------------------------------

    @property
    def request(self) -> str:
        return table_words.request(self)

    def kept(self, value: GroupTable) -> Any:
        return value.kept()

    def given_again(self, plain: Any) -> GroupTable:
        return GroupTable.given_again(plain)

    # -- running ----------------------------------------------------------------------------------------------

    @property
    def reads(self) -> str:
        return ""

    def check(self, table: Table) -> None:
        """Raise where the schema does not fit: columns that are not there, texts for numbers, floats for keys."""
        kinds = Kinds(table)
        for name in self.key_names:
            check_key(table, kinds, self.expressed(ColumnOf(name)), None if self.domain is None else self.keys[name])  # type: ignore[index]
        if self.unit is not None and self.unit not in table.reader.names:
            raise InvalidParameter("GroupBy", "a unit of the table", unit=self.unit)
        if self.unit is not None and table.reader.kind(self.unit) == "rows":
            raise InvalidParameter("GroupBy", "a unit of one column, not an array of rows", unit=self.unit)
        if self.condition is not None and self.condition.gives(kinds) not in (TRUTH, ANY):
            raise InvalidParameter("GroupBy", "where, a condition", where=str(self.condition))
        for part in self.parts:
            wanted = part.wanted
            for expression in (*(m.steps.value for m in wanted.measures), *(value_of(c) for c in wanted.cells)):
                check_cell(expression, kinds, wanted.cells)
            for expression in wanted.distinct:
                expression.gives(kinds)
        if table.unit is not None:
            raise InvalidParameter("GroupBy", "a table without a unit of its own (give unit= here)", unit=table.unit)

    def check_sample(self, scheme: Scheme) -> None:
        if rate_of(scheme) < 1 and any(isinstance(part, DistinctPart) for part in self.parts):
            raise NotCovered("the number of different values, estimated from a sample")

    def tally(self, source: Source) -> Tally:
        """What one pass over the data is asked for; the secret of the limits is drawn anew."""
        keys = tuple(self.expressed(ColumnOf(name)) for name in self.key_names)
        limits = None
        if self.unit is not None and self.contributions is not None:
            most = self.contributions
            secret = source.words(SECRET_WORDS).tobytes()
            limits = Limits(ColumnOf(self.unit), most.groups, most.each, most.total, secret)
        return Tally(keys, self.domain, self.condition, **joined([part.wanted for part in self.parts]), limits=limits)

    def answer(self, run: Run) -> Answer:
        found = run.table.reader.tally(self.tally(run.source))
        if self.plan.selection is not None:
            counts = found.rows if found.users is None else found.users
            shown = shown_keys(counts, *self.plan.selection, run.source)
            return Answer(GroupTable(self.key_names, rows_of(found, shown).groups, (), run.confidence), None, None)
        columns, wanted = [], [part.wanted for part in self.parts]
        kept = found
        for place, part in enumerate(self._in_order()):
            number = self.parts.index(part)
            mine = sliced(kept, wanted[:number], wanted[number])
            level = self.plan.levels[number]
            given = part.answer(Answering(mine, run.source, level, self.planning.charged, run.rate, run.confidence))
            if place == 0 and self.plan.threshold is not None:
                shown = [row for row, value in enumerate(self._raw(given[0], run)) if value >= self.plan.threshold]
                kept = rows_of(found, shown)
                given = [column_rows(column, shown) for column in given]
            columns += given
        named = {column.name: column for column in columns}
        titles = [title for part in self.parts for title in part.titles if title]
        table = GroupTable(
            self.key_names, kept.groups, tuple(named[title] for title in self._ordered(titles)), run.confidence
        )
        return Answer(table, None, None)

    def _raw(self, counts: CellColumn, run: Run) -> list[float]:
        """The noisy counts of the records that were used: on a sample, before they are scaled to all."""
        return [value if run.rate == 1 else round(value * run.rate) for value in counts.values]

    def _in_order(self) -> tuple[Part, ...]:
        """The count that decides which keys are shown comes first."""
        counted = self.planning.counted
        return self.parts if counted is None else (counted, *(part for part in self.parts if part is not counted))

    def _ordered(self, titles: list[str]) -> list[str]:
        """Columns in the order in which they were asked for."""
        names = list(self.ask)
        owner = {title: part.asked for part in self.parts for title in part.titles}
        return sorted(titles, key=lambda title: names.index(title if title in names else owner[title]))

    @property
    def grouped(self) -> GroupBy:
        return self

    def _found(self, data: Any, manner: Manner) -> Release:
        return records(data).ask(self, manner)

    @property
    def noun(self) -> str:
        return table_words.noun(self)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was chosen about keys, users and missing values, in words."""
        return table_words.notes(self)

    def on(self, scheme: Scheme) -> GroupByOnSample:  # type: ignore[override]
        """The same on a secret sample: of records, or of users where a unit is given."""
        return GroupByOnSample(self, scheme)

    def __str__(self) -> str:
        keys = self.keys if isinstance(self.keys, Unknown) else {k: len(v) for k, v in self.keys.items()}
        return f"GroupBy(keys={keys}, ask={list(self.ask)}, epsilon={self.epsilon}, delta={self.delta})"
