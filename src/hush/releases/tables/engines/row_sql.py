"""Row-wise expressions as SQL of PostgreSQL: what raises nothing there, whatever a record holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import singledispatchmethod

from hush.releases.row_wise import row_expressions as row
from hush.releases.row_wise.row_constants import NUMBER, TEXT, TRUTH
from hush.releases.tables.engines.database_urls import quoted

WHOLE = ("smallint", "integer", "bigint")
FLOATS = ("real", "double precision")
TEXTS = ("text", "character varying")
OPERATORS = {"==": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
MOST_VALUES = 1000
"""Values of a list that become parameters."""
TYPES = {float: "float8", int: "bigint", str: "text", bool: "boolean"}


class NoSql(Exception):
    """Something has no form in SQL that means the same for every record."""


class RowSql:
    """Expressions as SQL, with the values that they hold as numbered parameters.

    >>> from hush.releases.row_wise.row_expressions import col
    >>> said = RowSql({"age": "integer"}, {"age": "number"})
    >>> said.truth(col("age") >= 18), said.values
    ('("age"::float8 >= $1::float8)', (18.0,))
    """

    def __init__(self, types: Mapping[str, str], kinds: Mapping[str, str]) -> None:
        self._types, self._kinds = types, kinds
        self._values: list[object] = []
        self._said: dict[tuple[type, object], str] = {}

    @property
    def values(self) -> tuple[object, ...]:
        """The parameters, $1 first."""
        return tuple(self._values)

    def gives(self, expression: row.Expression) -> str:
        """What an expression gives, by the schema."""
        return expression.gives(self._kinds)

    def constant(self, value: object) -> str:
        """A value as a parameter of its type; the same value is the same parameter."""
        if isinstance(value, str) and not _can_be_sent(value):
            raise NoSql
        known = type(value), value
        if known not in self._said:
            self._values.append(value)
            self._said[known] = f"${len(self._values)}::{TYPES[type(value)]}"
        return self._said[known]

    def array(self, values: Sequence[object], kind: str) -> str:
        """Values as an array."""
        if len(values) > MOST_VALUES:
            raise NoSql
        numbers = kind == "float8"
        return f"ARRAY[{', '.join(self.constant(float(v) if numbers else v) for v in values)}]::{kind}[]"  # type: ignore[arg-type]

    def whole(self, name: str) -> str:
        """A column of whole numbers, as it is."""
        if self._types[name] not in WHOLE:
            raise NoSql
        return f"{quoted(name)}::bigint"

    def number(self, expression: row.Expression) -> str:
        """As a double, null in place of NaN."""
        return self._as(expression, NUMBER)

    def text(self, expression: row.Expression) -> str:
        """As a text that is compared byte by byte, null in place of an empty one."""
        return self._as(expression, TEXT)

    def truth(self, expression: row.Expression) -> str:
        """As a truth value."""
        return self._as(expression, TRUTH)

    @singledispatchmethod
    def _as(self, expression: row.Expression, kind: str) -> str:  # noqa: ARG002
        raise NoSql

    @_as.register
    def _column(self, expression: row.ColumnOf, kind: str) -> str:
        said, stored = quoted(expression.name), self._types[expression.name]
        ways: dict[tuple[str, str], Callable[[], str]] = {
            **{(NUMBER, name): lambda: f"{said}::float8" for name in WHOLE},
            **{(NUMBER, name): lambda: f"NULLIF({said}::float8, 'NaN'::float8)" for name in FLOATS},
            **{(TEXT, name): lambda: f"NULLIF({said} COLLATE \"C\", '')" for name in TEXTS},
            (NUMBER, "boolean"): lambda: f"({said}::int)::float8",
            (TRUTH, "boolean"): lambda: said,
        }
        if (kind, stored) not in ways:
            raise NoSql
        return ways[kind, stored]()

    @_as.register
    def _constant(self, expression: row.Constant, kind: str) -> str:
        value = expression.value
        return self.constant(float(value) if kind == NUMBER else value)

    @_as.register
    def _comparison(self, expression: row.Comparison, kind: str) -> str:  # noqa: ARG002
        wanted = expression.compared(self._kinds)
        left, right = (self._as(side, wanted) for side in expression.parts)
        return f"({left} {OPERATORS[expression.operator]} {right})"

    @_as.register
    def _logic(self, expression: row.Logic, kind: str) -> str:  # noqa: ARG002
        left, right = (self._as(side, TRUTH) for side in expression.parts)
        return f"({left} {expression.operator.upper()} {right})"

    @_as.register
    def _negation(self, expression: row.Negation, kind: str) -> str:  # noqa: ARG002
        return f"(NOT {self._as(expression.of, TRUTH)})"

    @_as.register
    def _is_null(self, expression: row.IsNull, kind: str) -> str:  # noqa: ARG002
        return f"({self._as(expression.of, self.gives(expression.of))} IS NULL)"

    @_as.register
    def _is_in(self, expression: row.IsIn, kind: str) -> str:  # noqa: ARG002
        if len(expression.members) > MOST_VALUES:
            raise NoSql
        wanted = expression.compared(self._kinds)
        listed = (self.constant(float(m) if wanted == NUMBER else m) for m in expression.members)
        return f"({self._as(expression.of, wanted)} IN ({', '.join(listed)}))"


def _can_be_sent(text: str) -> bool:
    """Whether a database can hold it: no zero character, and no half of a character."""
    return "\x00" not in text and text.encode(errors="replace").decode() == text
