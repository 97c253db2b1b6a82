"""Statistics by group: one query, fixed before any data is seen, its mechanism known in advance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from itertools import product
from typing import Any

from hush.account import Account
from hush.checks import number, positive
from hush.curves.relation import Relation
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.scheme import Scheme
from hush.randomness.source import Source
from hush.releases.answer import Answer, Run
from hush.releases.conditions import checked_confidence, rate_of
from hush.releases.group_by.asked import LOW, Asked, Place, checked_missing, missing_notes
from hush.releases.group_by.budget_shares import NoisePlan, Planning, TableBudget
from hush.releases.group_by.contributions import ONE_RECORD, AtMost
from hush.releases.group_by.group_table import GroupRelease, GroupTable
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
from hush.releases.query import Query
from hush.releases.records import Records, records
from hush.releases.release import Release
from hush.releases.row_wise.row_constants import ANY, TRUTH
from hush.releases.row_wise.row_expressions import ColumnOf, Expression, replaced_columns
from hush.releases.tables.table import Table, as_table
from hush.releases.tables.tally import Key, Limits, Tally

MOST_GROUPS = 1 << 24
DIGEST = 32
"""Hexadecimal digits of a digest that tells two requests apart: nobody finds two that share 128 bits by chance."""
SECRET_WORDS = 4
"""Words of the secret that decides which records of a user are kept."""


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupBy(Query):
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
        """The query in words, and a digest of all that its table depends on: keys, bounds, conditions, shares."""
        names = self.key_names
        keys = names if isinstance(self.keys, Unknown) else [key_values(name, self.keys[name]) for name in names]
        groups = keys, [self.expressed(ColumnOf(name)) for name in names], self.condition
        shares = self.split, sorted((name, float(weight)) for name, weight in self.weights.items()), self.noise
        budget = float(self.epsilon), float(self.delta or 0), *shares, self.relation.value
        asked = names, groups, list(self.ask), self.parts, self.unit, self.contributions, budget
        return f"{self}, in full {sha256(repr(asked).encode('utf-8', 'surrogatepass')).hexdigest()[:DIGEST]}"

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

    def release(  # type: ignore[override]
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
        each = self.each_confidence(confidence, together)
        asked = data if isinstance(data, Records) else as_table(data)
        found = records(asked).ask(self, column=None, confidence=each, source=source, ledger=ledger)
        return self.released(found, confidence, together, self.untyped(asked))

    def each_confidence(self, confidence: float, together: bool) -> float:
        """The confidence of one interval, so that all of them hold together: what may fail is shared equally."""
        confidence = checked_confidence(confidence)
        if not together:
            return confidence
        if self.domain is None:
            raise NotCovered(
                "intervals that hold together where keys are unknown: how many groups there are is not known"
            )
        cells = len(self.domain) * sum(len(part.titles) for part in self.parts)
        return checked_confidence(1 - (1 - confidence) / cells)

    def untyped(self, table: Any) -> tuple[str, ...]:
        """The constant note about numbers of a file whose columns have no types, by the schema alone."""
        columns = {name for part in self.parts for m in part.wanted.measures for name in m.steps.value.columns}
        typeless = isinstance(table, Table) and any(table.reader.kind(name) == "text" for name in columns)
        return ("Cells that are no number count as missing.",) if typeless else ()

    def released(self, found: Release, confidence: float, together: bool, notes: tuple[str, ...] = ()) -> GroupRelease:
        """The release with its table's confidence, and what the statement needs."""
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
            delta=self.delta or 0.0,
            unit="record" if self.unit is None else "user",
            notes=(*self.notes, *notes, *self._near_ranks(confidence)),
        )

    @property
    def noun(self) -> str:
        """The table in words: by which keys, of how many groups, with which statistics."""
        known = "groups found in the data" if self.domain is None else f"{len(self.domain)} given groups"
        asked = ", ".join(f"{name} ({one.words})" for name, one in self.ask.items())
        which = "" if self.where is None else f" of the records with {self.where}"
        shown = f" with {asked}" if asked else ""
        return f"table by {' and '.join(map(repr, self.key_names))} ({known}){which}{shown}"

    @property
    def notes(self) -> tuple[str, ...]:
        """What was chosen about keys, users and missing values, in words."""
        found = []
        if self.contributions is not None:
            most = self.contributions
            limits = [("groups", most.groups), ("records in each group", most.each), ("records in all", most.total)]
            said = ", ".join(f"at most {n} {words}" for words, n in limits if n is not None)
            found.append(f"Of each user (column {self.unit!r}) counts: {said}; records without a user are left out.")
        if self.plan.threshold is not None:
            kind = "records" if self.unit is None else "users"
            found.append(f"Groups are shown whose noisy number of {kind} is at least {self.plan.threshold}.")
        return (*found, *missing_notes(self.missing, self.ask))

    def _near_ranks(self, confidence: float) -> tuple[str, ...]:
        """How near the ranks of quantiles are: that much is public, where in the bounds they lie is not."""
        charged, sure = self.planning.charged, f"with {100 * confidence:g}% confidence"
        pairs = zip(self.parts, self.plan.levels, strict=True)
        off = [(part.titles[0], part.ranks_off(level, charged, confidence)) for part, level in pairs]
        return tuple(
            f"Each value of {title} is off by at most {math.ceil(ranks)} of the records of its group that were used, "
            f"in the order of their values, {sure}."
            for title, ranks in off
            if ranks is not None
        )

    def on(self, scheme: Scheme) -> GroupByOnSample:  # type: ignore[override]
        """The same on a secret sample: of records, or of users where a unit is given."""
        return GroupByOnSample(self, scheme)

    def __str__(self) -> str:
        keys = self.keys if isinstance(self.keys, Unknown) else {k: len(v) for k, v in self.keys.items()}
        return f"GroupBy(keys={keys}, ask={list(self.ask)}, epsilon={self.epsilon}, delta={self.delta})"
