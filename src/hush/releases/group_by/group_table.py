"""The answer of a grouped query: a table with a value, a low and a high end per cell, in the order of the keys."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hush.errors import InvalidParameter
from hush.markup import Text, table_html
from hush.questions.charts.drawing import Picture
from hush.questions.text_table import aligned
from hush.releases.group_by.noisy_parts.parts import CellColumn
from hush.releases.release import NOT_PRIVATE, Release
from hush.releases.tables.reader import needs
from hush.releases.tables.tally import Key

LOW, HIGH = "_low", "_high"
"""What the names of the columns of ends have behind those of the values."""
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""A text that begins so is a formula to a spreadsheet: it gets an apostrophe before it."""
DIGITS = 7
"""Of numbers in a text; files and frames have all of them."""


@dataclass(frozen=True, eq=False)
class GroupTable:
    """One row per group: its keys, then for each statistic a value and, where it is known, an interval.

    Each interval holds its truth with the confidence, on its own; with `together`, all of them hold at once.
    """

    keys: tuple[str, ...]
    groups: tuple[Key, ...]
    columns: tuple[CellColumn, ...]
    confidence: float
    together: bool = False

    def column(self, name: str) -> CellColumn:
        """The column of that name."""
        for column in self.columns:
            if column.name == name:
                return column
        raise InvalidParameter("column", f"one of {[c.name for c in self.columns]}", name=name)

    def to_dict(self) -> dict[str, list[Any]]:
        """All columns by name, keys first; an interval that is not known is None."""
        found: dict[str, list[Any]] = {
            name: [key[place] for key in self.groups] for place, name in enumerate(self.keys)
        }
        for column in self.columns:
            found[column.name] = list(column.values)
            if column.low is not None and column.high is not None:
                found[column.name + LOW], found[column.name + HIGH] = list(column.low), list(column.high)
        return found

    def rows(self) -> Iterator[dict[str, Any]]:
        """One dict per group."""
        columns = self.to_dict()
        for place in range(len(self.groups)):
            yield {name: values[place] for name, values in columns.items()}

    def kept(self) -> dict[str, Any]:
        """All of it in numbers, texts, tuples and lists: what a budget book keeps.

        >>> table = GroupTable(("region",), (("N",), (None,)), (CellColumn("people", [3, 4]),), confidence=0.95)
        >>> GroupTable.given_again(table.kept()).to_dict() == table.to_dict()
        True
        """
        columns = [[column.name, column.values, column.low, column.high] for column in self.columns]
        return {"keys": self.keys, "groups": self.groups, "columns": columns, "confidence": self.confidence}

    @classmethod
    def given_again(cls, kept: Any) -> GroupTable:
        """The table of which this was kept; a ValueError, TypeError or KeyError where it is none."""
        columns = tuple(CellColumn(name, values, low, high) for name, values, low, high in kept["columns"])
        rows = len(kept["groups"])
        for column in columns:
            if any(len(cells) != rows for cells in (column.values, column.low, column.high) if cells is not None):
                raise ValueError("a column with another number of rows")
        return cls(kept["keys"], kept["groups"], columns, kept["confidence"])

    def to_arrow(self) -> Any:
        """A pyarrow.Table; its types follow from the query, not from the data."""
        pyarrow = needs("pyarrow")
        types = {bool: pyarrow.bool_(), int: pyarrow.int64(), float: pyarrow.float64()}
        columns = {}
        for name, values in self.to_dict().items():
            kinds = {type(value) for value in values if value is not None}
            kind = kinds.pop() if len(kinds) == 1 else str if kinds or name in self.keys else float
            told = values if kind in types else [None if value is None else str(value) for value in values]
            columns[name] = pyarrow.array(told, type=types.get(kind, pyarrow.string()))
        return pyarrow.table(columns)

    def to_pandas(self) -> Any:
        """A pandas.DataFrame."""
        return needs("pandas").DataFrame(self.to_dict())

    def to_polars(self) -> Any:
        """A polars.DataFrame."""
        return needs("polars").from_arrow(self.to_arrow())

    def to_csv(self, path: str | Path | None = None) -> str:
        """The table as CSV, written to the path if there is one; texts that a spreadsheet would run are disarmed."""
        out = io.StringIO()
        columns = self.to_dict()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([_disarmed(name) for name in columns])
        for row in zip(*columns.values(), strict=True):
            writer.writerow(["" if cell is None else _disarmed(cell) for cell in row])
        if path is not None:
            Path(path).write_text(out.getvalue(), encoding="utf-8")
        return out.getvalue()

    def to_json(self, path: str | Path | None = None) -> str:
        """The rows as a JSON array, written to the path if there is one."""
        text = json.dumps(list(self.rows()), ensure_ascii=False, allow_nan=False)
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def shown(self) -> list[list[str]]:
        """The cells as texts, the names of the columns first; an interval stands behind its value."""
        head = [*self.keys, *(column.name for column in self.columns)]
        return [
            head,
            *([*map(_key, key), *(_cell(c, place) for c in self.columns)] for place, key in enumerate(self.groups)),
        ]

    def __str__(self) -> str:
        return "\n".join([*aligned(self.shown(), left=len(self.keys)), self.note])

    @property
    def note(self) -> str:
        """What the intervals promise."""
        without = [column.name for column in self.columns if column.low is None]
        if len(without) == len(self.columns):
            return "no interval is known"
        how = "all intervals together" if self.together else "each interval"
        none = f"; none is known for {', '.join(without)}" if without else ""
        return f"{how}: {100 * self.confidence:g}% confidence{none}"

    def _repr_html_(self) -> str:
        return table_html(self.shown(), below=self.note)

    def chart(self, name: str | None = None) -> GroupChart:
        """One column as dots with intervals, one per group; the first column unless told."""
        return GroupChart(self, self.columns[0].name if name is None else self.column(name).name)


@dataclass(frozen=True, eq=False)
class GroupChart(Picture):
    """Dots with intervals, by group."""

    table: GroupTable
    name: str

    def points(self) -> list[dict[str, Any]]:
        """One row per group."""
        column = self.table.column(self.name)
        found = []
        for place, key in enumerate(self.table.groups):
            row: dict[str, Any] = {"group": ", ".join(map(_key, key)), "value": column.values[place]}
            if column.low is not None and column.high is not None:
                row |= {"low": column.low[place], "high": column.high[place]}
            found.append(row)
        return found

    def altair(self, *, tooltips: bool = True) -> Any:
        from hush.questions.charts import rendering

        altair = rendering.needed("altair")
        base = altair.Chart(altair.Data(values=self.points()))
        groups = altair.Y("group:N", sort=None, title=", ".join(self.table.keys))
        value = altair.X("value:Q", title=self.name, scale=altair.Scale(zero=False))
        shown = {"tooltip": ["group:N", "value:Q", "low:Q", "high:Q"]} if tooltips else {}
        layers = [base.mark_point(filled=True, size=70, color=rendering.COLOURS[0]).encode(x=value, y=groups, **shown)]
        if self.table.column(self.name).low is not None:
            rule = base.mark_rule(color=rendering.COLOURS[0], strokeWidth=2)
            layers.insert(0, rule.encode(x=altair.X("low:Q", title=self.name), x2="high:Q", y=groups))
        title = altair.TitleParams(
            f"{self.name} by {', '.join(self.table.keys)}", subtitle=self.table.note, anchor="start"
        )
        return rendering.dressed(altair.layer(*layers).properties(title=title, width=rendering.WIDTH))


@dataclass(frozen=True, eq=False)
class GroupRelease(Release):
    """The release of a grouped query: its value is a `GroupTable`, whose forms it has too."""

    delta: float = 0.0
    unit: str = "record"
    notes: tuple[str, ...] = ()
    """What was chosen about missing values and keys, for the statement."""

    def to_arrow(self) -> Any:
        """See GroupTable."""
        return self.value.to_arrow()

    def to_pandas(self) -> Any:
        """See GroupTable."""
        return self.value.to_pandas()

    def to_polars(self) -> Any:
        """See GroupTable."""
        return self.value.to_polars()

    def to_csv(self, path: str | Path | None = None) -> str:
        """See GroupTable."""
        return self.value.to_csv(path)

    def to_json(self, path: str | Path | None = None) -> str:
        """See GroupTable."""
        return self.value.to_json(path)

    def to_dict(self) -> dict[str, list[Any]]:
        """See GroupTable."""
        return self.value.to_dict()

    def chart(self, name: str | None = None) -> GroupChart:
        """See GroupTable."""
        return self.value.chart(name)

    def statement(self, *, delta: float | None = None, unit: str | None = None, style: str = "plain") -> Text:
        """The guarantee in words, what was released, and what was chosen about keys, users and missing values."""
        given, protected = self.delta if delta is None else delta, self.unit if unit is None else unit
        said = self.mechanism.statement(delta=given, unit=protected, style=style, subject=self.subject)
        return Text(" ".join([said, *self.notes]))

    def _repr_html_(self) -> str:
        return self.value._repr_html_()

    def __reduce__(self) -> tuple[Any, ...]:
        kept = (self.value, self.mechanism, self.noise_interval, self.total_interval, self.private)
        return GroupRelease, (*kept, None, self.of_sample, self.subject, self.delta, self.unit, self.notes)

    def __str__(self) -> str:
        relation = self.mechanism.compared.replace("record", self.unit)
        lines = [str(self.value), f"  relation   {relation}", f"  mechanism  {self.mechanism}"]
        return "\n".join(lines if self.private else [NOT_PRIVATE, *lines])


def _disarmed(cell: Any) -> Any:
    return "'" + cell if isinstance(cell, str) and cell.startswith(FORMULA) else cell


def _key(part: object) -> str:
    return "" if part is None else str(part)


def _cell(column: CellColumn, place: int) -> str:
    value = column.values[place]
    shown = f"{value:.{DIGITS}g}" if isinstance(value, float) else str(value)
    if column.low is None or column.high is None:
        return shown
    return f"{shown} ({column.low[place]:.{DIGITS}g} to {column.high[place]:.{DIGITS}g})"
