"""What must hold of a grouped query and of the schema of a table before anything is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hush.checks import number
from hush.curves.relation import checked_relation
from hush.errors import InvalidParameter
from hush.releases.group_by.asked import Asked
from hush.releases.group_by.budget_shares import NOISES, SPLITS
from hush.releases.group_by.contributions import AtMost
from hush.releases.row_wise.row_constants import ANY, NUMBER, TEXT, TRUTH, kind_of
from hush.releases.row_wise.row_expressions import ColumnOf, Expression, column_or_expression
from hush.releases.row_wise.row_parser import row_expression
from hush.releases.tables.table import Table

if TYPE_CHECKING:
    from hush.releases.group_by.grouped_query import GroupBy


class Unknown:
    """Keys that only the data know: the columns they are made of. It needs a delta.

    >>> Unknown("region", "sex")
    Unknown('region', 'sex')
    """

    def __init__(self, *columns: str) -> None:
        if not columns or not all(isinstance(name, str) for name in columns) or len(set(columns)) < len(columns):
            raise InvalidParameter("Unknown", "the names of one or more columns", columns=columns)
        self.columns = columns

    def __repr__(self) -> str:
        return f"Unknown({', '.join(map(repr, self.columns))})"


class Kinds(dict[str, str]):
    """The kinds of a table's columns, asked for when they are needed."""

    def __init__(self, table: Table) -> None:
        super().__init__()
        self._reader = table.reader

    def __contains__(self, name: object) -> bool:
        return name in self._reader.names

    def __missing__(self, name: str) -> str:
        return self._reader.kind(name)


def row_wise(name: str, value: object) -> Expression:
    """A row-wise expression, or the one that a text says."""
    if not isinstance(value, str | Expression):
        raise InvalidParameter("GroupBy", f"{name}, a row-wise expression or its text", **{name: type(value).__name__})
    return row_expression(value) if isinstance(value, str) else column_or_expression(name, value)


def key_values(name: str, given: object) -> tuple[object, ...]:
    """The values of a key column that were given, each once and all of one type."""
    rule = "for each key different values of one type (texts, whole numbers, truth values), None for missing keys"
    if isinstance(given, str | bytes) or not isinstance(given, Sequence | set | range):
        raise InvalidParameter("GroupBy", rule, **{name: given})
    if isinstance(given, range) and given and max(abs(given[0]), abs(given[-1])) < 2**63:
        return tuple(given)
    values = tuple(value.item() if hasattr(value, "item") else value for value in given)  # type: ignore[union-attr]
    kinds = {type(value) for value in values if value is not None}
    if not values or len(kinds) > 1 or not kinds <= {str, int, bool} or len(set(values)) < len(values):
        raise InvalidParameter("GroupBy", rule, **{name: values})
    if any(value == "" or (isinstance(value, int) and abs(value) >= 2**63) for value in values):
        raise InvalidParameter("GroupBy", f"{rule}; no empty text, whole numbers below 2^63", **{name: values})
    return values


def check_key(table: Table, kinds: Kinds, expression: Expression, given: Any) -> None:
    """Keys are texts, whole numbers or truth values; those that are given have the column's type."""
    found = expression.gives(kinds)
    if found == NUMBER and isinstance(expression, ColumnOf) and not table.reader.whole(expression.name):
        raise InvalidParameter(
            "GroupBy", "keys of texts, whole numbers or truth values, no floats", key=expression.name
        )
    if found == NUMBER and not isinstance(expression, ColumnOf):
        raise InvalidParameter("GroupBy", "derived keys that are texts or truth values", key=str(expression))
    wanted = {kind_of(value) for value in {type(value): value for value in given or ()}.values() if value is not None}
    if wanted - {found} and found != ANY:
        words = {NUMBER: "whole numbers", TEXT: "texts", TRUTH: "truth values"}[found]
        raise InvalidParameter("GroupBy", f"keys of the column's type ({words})", key=str(expression))


def check_cell(expression: Expression, kinds: Kinds, cells: Sequence[Any]) -> None:
    """What is summed or put in bins is a number; what is counted by value has the type of the values."""
    found = expression.gives(kinds)
    members = [kind_of(cell.members[0]) for cell in cells if hasattr(cell, "members")]
    allowed = {ANY, *(members or [NUMBER, TRUTH])}
    if found not in allowed:
        rule = "a column of numbers" if not members else "values of the column's type"
        raise InvalidParameter("GroupBy", rule, column=str(expression))


def value_of(cells: Any) -> Expression:
    """The expression whose values are counted."""
    return cells.steps.value if hasattr(cells, "steps") else cells.value


def check_fields(query: GroupBy) -> None:
    """Raise where the fields of a query do not fit each other."""
    checked_relation("GroupBy", query.relation)
    number("GroupBy", "1e-6 <= epsilon <= 500", 1e-6, 500, epsilon=query.epsilon)
    if query.delta is not None:
        number("GroupBy", "1e-300 <= delta < 1", 1e-300, 1, high_open=True, delta=query.delta)
    if isinstance(query.keys, Unknown) and query.delta is None:
        raise InvalidParameter("GroupBy", "a delta for keys that only the data know", delta=None)
    for name, options in (("split", SPLITS), ("noise", NOISES)):
        if getattr(query, name) not in options:
            raise InvalidParameter("GroupBy", f"{name} in {options}", **{name: getattr(query, name)})
    if (query.unit is None) != (query.contributions is None):
        rule = "unit and contributions together: unit='user', contributions=releases.AtMost(groups=5, each=2)"
        raise InvalidParameter("GroupBy", rule, unit=query.unit, contributions=query.contributions)
    if query.unit is not None and not isinstance(query.unit, str):
        raise InvalidParameter("GroupBy", "unit, the name of a column", unit=query.unit)
    if query.contributions is not None and not isinstance(query.contributions, AtMost):
        rule = "contributions=releases.AtMost(groups=5, each=2)"
        raise InvalidParameter("GroupBy", rule, contributions=query.contributions)
    _check_asked(query)


def _check_asked(query: GroupBy) -> None:
    rule = "ask={name: releases.Rows(), releases.Stats(...), ...}; with unknown keys {} asks for the keys alone"
    if not isinstance(query.ask, Mapping) or not all(isinstance(asked, Asked) for asked in query.ask.values()):
        raise InvalidParameter("GroupBy", rule, ask=query.ask)
    if not query.ask and not isinstance(query.keys, Unknown):
        raise InvalidParameter("GroupBy", rule, ask=query.ask)
    if query.unit is None and any(asked.needs_users for asked in query.ask.values()):
        raise InvalidParameter("GroupBy", "a unit to count users by", unit=None)
