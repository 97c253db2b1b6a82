"""A tally as SQL of PostgreSQL, where it has the same meaning there, record by record.

Nulls come first: LEAST and GREATEST skip them. NaN is null. Rounding is to even. What could raise depending on a record
(arithmetic that overflows, casts of decimals) is not said in SQL at all: then there is no TallySql. Sums of bigint are
exact numerics; they leave as text. Texts are compared byte by byte (collation "C"). All values are parameters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hush.releases.row_wise.row_constants import NUMBER, TEXT, TRUTH
from hush.releases.row_wise.row_expressions import ColumnOf, Expression
from hush.releases.tables.engines.row_sql import MOST_VALUES, NoSql, RowSql
from hush.releases.tables.tally import (
    Bins,
    Categories,
    Key,
    LatticeCells,
    Steps,
    Tallied,
    Tally,
    exact_array,
    key_order,
)

WIDEST = 1000
"""Steps of 2^power with |power| beyond this are left to this process: doubles end soon after."""
LARGEST = 2.0**62
"""Whole numbers stay below this."""
Rows = Callable[[str, tuple[object, ...]], list[tuple[Any, ...]]]


@dataclass(frozen=True, eq=False)
class TallySql:
    """The queries of a tally, and how their answers become one."""

    tally: Tally
    base: tuple[str, tuple[object, ...]]
    """Groups, their records, and sum and count of each measure."""
    cells: tuple[tuple[str, tuple[object, ...]], ...]
    """For each kind of cells: groups, cells, and their records."""

    @classmethod
    def of(cls, tally: Tally, source: str, types: Mapping[str, str], kinds: Mapping[str, str]) -> TallySql | None:
        """The queries, or None where something has no form in SQL that means the same."""
        if tally.limits is not None or tally.distinct:
            return None
        try:
            base = _Query(tally, source, RowSql(types, kinds))
            return cls(
                tally,
                base.measures(),
                tuple(_Query(tally, source, RowSql(types, kinds)).cells(cells) for cells in tally.cells),
            )
        except NoSql:
            return None

    def answered(self, rows: Rows) -> Tallied:
        """Ask, and put the answers in the order of the keys."""
        width, found = len(self.tally.keys), rows(*self.base)
        groups, places = self._places([row[:width] for row in found])
        measures = len(self.tally.measures)
        counted = np.zeros((len(groups), 1 + measures), dtype=np.int64)
        sums = [[0] * len(groups) for _ in self.tally.measures]
        for row in found:
            place = places.get(_typed(row[:width]))
            if place is None:
                continue
            counted[place, 0] = row[width]
            for number in range(measures):
                sums[number][place] = int(row[width + 1 + 2 * number] or 0)
                counted[place, 1 + number] = row[width + 2 + 2 * number]
        return Tallied(
            groups,
            counted[:, 0],
            None,
            tuple(map(exact_array, sums)),
            tuple(counted[:, 1 + number] for number in range(measures)),
            tuple(
                self._in_cells(rows(*query), cells.count, len(groups), places)
                for query, cells in zip(self.cells, self.tally.cells, strict=True)
            ),
        )

    def _places(self, found: list[Key]) -> tuple[tuple[Key, ...], dict[Any, int]]:
        groups = tuple(sorted(found, key=key_order)) if self.tally.domain is None else self.tally.domain
        return groups, {_typed(key): place for place, key in enumerate(groups)}

    def _in_cells(self, found: list[tuple[Any, ...]], count: int, groups: int, places: dict[Any, int]) -> np.ndarray:
        counts = np.zeros((groups, count), dtype=np.int64)
        for *key, cell, records in found:
            place = places.get(_typed(tuple(key)))
            if place is not None:
                counts[place, cell] = records
        return counts


def _typed(key: Key) -> tuple[tuple[str, object], ...]:
    """A key with its types: True is not 1."""
    return tuple((type(part).__name__, part) for part in key)


class _Query:
    """One query over the records that count: those of the condition, of known keys."""

    def __init__(self, tally: Tally, source: str, row: RowSql) -> None:
        self._tally, self._source, self._row = tally, source, row
        self._keys = [self._key(key) for key in tally.keys]
        conditions = [] if tally.where is None else [row.truth(tally.where)]
        conditions += [c for place, key in enumerate(self._keys) for c in self._allowed(place, key)]
        self._where = f" WHERE {' AND '.join(f'({c})' for c in conditions)}" if conditions else ""

    def _key(self, key: Expression) -> str:
        given = self._row.gives(key)
        if given == NUMBER and isinstance(key, ColumnOf):
            return self._row.whole(key.name)
        if given == NUMBER:
            raise NoSql
        return self._row.text(key) if given == TEXT else self._row.truth(key)

    def _allowed(self, place: int, key: str) -> list[str]:
        """Which keys count: given ones, or all that are not null."""
        if self._tally.domain is None:
            return [f"{key} IS NOT NULL"]
        members = list(dict.fromkeys(_typed((part[place],)) for part in self._tally.domain))
        kind = {NUMBER: "int", TEXT: "str", TRUTH: "bool"}[self._row.gives(self._tally.keys[place])]
        values = [value for ((name, value),) in members if name == kind]
        if kind == "int":
            values = [value for value in values if -(2**63) <= value < 2**63]  # type: ignore[operator]
        null = f"{key} IS NULL" if any(value is None for ((_, value),) in members) else ""
        if len(values) > MOST_VALUES:
            return [] if null else [f"{key} IS NOT NULL"]
        listed = f"{key} IN ({', '.join(self._row.constant(value) for value in values)})" if values else ""
        return [" OR ".join(part for part in (listed, null) if part) or "FALSE"]

    def _grouped(self, inner: list[str], outer: list[str], more: str = "") -> tuple[str, tuple[object, ...]]:
        """Columns of records in an inner query, then sums over them by key."""
        keys = [f"k{place}" for place in range(len(self._keys))]
        names = [f"{said} AS {name}" for said, name in zip(self._keys, keys, strict=True)]
        by = keys + ([more] if more else [])
        sql = (
            f"SELECT {', '.join([*by, *outer])} FROM "  # noqa: S608 - made of quoted names and parameters alone
            f"(SELECT {', '.join([*names, *inner]) or '1'} FROM {self._source}{self._where}) AS records"
        )
        sql += f" WHERE {more} IS NOT NULL" if more else ""
        return sql + (f" GROUP BY {', '.join(by)}" if by else ""), self._row.values

    def measures(self) -> tuple[str, tuple[object, ...]]:
        """Groups, records, and sum and count of each measure."""
        inner = [f"{self._steps(m.steps)} AS m{number}" for number, m in enumerate(self._tally.measures)]
        outer = ["COUNT(*)"]
        for number, measure in enumerate(self._tally.measures):
            _require_ordinary(measure.steps, LARGEST ** (1 / measure.degree))
            said = f"m{number}" if measure.degree == 1 else f"m{number} * m{number}"
            outer += [f"SUM({said})::text", f"COUNT(m{number})"]
        return self._grouped(inner, outer)

    def cells(self, cells: LatticeCells | Bins | Categories) -> tuple[str, tuple[object, ...]]:
        """Groups, cells, and records."""
        return self._grouped([f"{self._cell(cells)} AS cell"], ["COUNT(*)"], "cell")

    def _cell(self, cells: LatticeCells | Bins | Categories) -> str:
        if isinstance(cells, LatticeCells):
            steps = self._steps(cells.steps)
            inside = f"LEAST(GREATEST({steps} - {cells.first}, 0), {cells.count - 1})"
            return f"CASE WHEN {steps} IS NOT NULL THEN {inside} END"
        return self._bin(cells) if isinstance(cells, Bins) else self._category(cells)

    def _bin(self, bins: Bins) -> str:
        value, edges = self._row.number(bins.value), self._row.array(bins.edges, "float8")
        place = f"width_bucket({value}, {edges}) - 1"
        last = self._row.constant(float(bins.edges[-1]))
        return (
            f"CASE WHEN {value} = {last} THEN {bins.count - 1} "
            f"WHEN {place} BETWEEN 0 AND {bins.count - 1} THEN {place} END"
        )

    def _category(self, cells: Categories) -> str:
        first = cells.members[0]
        if isinstance(first, str):
            value, kind = self._row.text(cells.value), "text"
        elif isinstance(first, bool):
            value, kind = self._row.truth(cells.value), "boolean"
        else:
            value, kind = self._row.number(cells.value), "float8"
        members = self._row.array(cells.members, kind)
        return f"CASE WHEN {value} IS NOT NULL THEN array_position({members}, {value}) - 1 END"

    def _steps(self, steps: Steps) -> str:
        """k = round_half_even((clamp(v) - centre) * 2^-power), nulls first, and 0 where the product would underflow."""
        _require_ordinary(steps, LARGEST)
        value, at = self._row.number(steps.value), self._row.constant
        moved = f"LEAST(GREATEST({value}, {at(steps.low)}), {at(steps.high)}) - {at(steps.centre)}"
        half, scale = at(math.ldexp(1.0, steps.power - 1)), at(math.ldexp(1.0, -steps.power))
        rounded = f"CASE WHEN ABS({moved}) <= {half} THEN 0 ELSE ROUND(({moved}) * {scale})::bigint END"
        missing = "NULL::bigint" if steps.missing is None else f"{_steps_of(steps, steps.missing)}::bigint"
        return f"CASE WHEN {value} IS NULL THEN {missing} ELSE {rounded} END"


def _require_ordinary(steps: Steps, largest: float) -> None:
    ends = [steps.low - steps.centre, steps.high - steps.centre]
    if abs(steps.power) > WIDEST or not all(math.isfinite(end) for end in ends):
        raise NoSql
    if max(math.ldexp(abs(end), -steps.power) for end in ends) >= largest:
        raise NoSql


def _steps_of(steps: Steps, value: float) -> int:
    return round(math.ldexp(min(max(value, steps.low), steps.high) - steps.centre, -steps.power))
