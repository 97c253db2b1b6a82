"""The tree of a row-wise expression: columns, constants, comparisons, logic, arithmetic, and tables that are public.

What it means is the same in every engine. Nulls follow SQL's three-valued logic. A NaN is null, and so is a cell that
is no number where one is needed. Numbers are double floats throughout, also those of columns of whole numbers; x / 0
and whatever else gives NaN is null. Texts are only compared for being equal, code point by code point.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from hush.checks import listed
from hush.errors import InvalidParameter
from hush.releases.row_wise.row_constants import (
    ANY,
    NUMBER,
    TEXT,
    TRUTH,
    Value,
    agreed,
    constant,
    kind_of,
    same_kind,
    shown,
)

KINDS = {"number": NUMBER, "truth": TRUTH, "words": TEXT, "text": ANY, "other": ANY, "list": ANY}
"""By the kind of a column (hush.releases.tables.columns); dates, bytes and rows have no place in an expression."""
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
ARITHMETIC = ("+", "-", "*", "/")
DEEPEST = 100
"""Expressions inside each other."""


class Expression(ABC):
    """An immutable value per record, made of its columns alone; no two of them are equal by `==`, which compares rows.

    >>> str((col("age") >= 18) & col("region").is_in(["N", "S"]))
    "((age >= 18) and (region in ('N', 'S')))"
    """

    @property
    def parts(self) -> tuple[Expression, ...]:
        """The expressions that it is made of."""
        return tuple(value for value in self._values if isinstance(value, Expression))

    @property
    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]

    @abstractmethod
    def gives(self, kinds: Mapping[str, str]) -> str:
        """What it gives, by the kinds of the table's columns; InvalidParameter where a type does not fit."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads, each once.

        >>> (col("a") / col("b") + col("a")).columns
        ('a', 'b')
        """
        return tuple(dict.fromkeys(name for part in self.parts for name in part.columns))

    @property
    def depth(self) -> int:
        """How many expressions are inside each other."""
        return 1 + max((part.depth for part in self.parts), default=0)

    @property
    def key(self) -> tuple[Any, ...]:
        """What makes it this expression, types included: two are the same where these are equal."""
        return (type(self).__name__, *map(_keyed, self._values))

    def same(self, other: Expression) -> bool:
        """Whether it is the same expression.

        >>> col("a").same(col("a")), col("a").same(col("b"))
        (True, False)
        """
        return self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __bool__(self) -> bool:
        raise InvalidParameter("An expression", "& | ~ in place of and, or, not; a record decides, not the expression")

    def __eq__(self, other: object) -> Comparison:  # type: ignore[override]
        return Comparison("==", self, expressed(other))

    def __ne__(self, other: object) -> Comparison:  # type: ignore[override]
        return Comparison("!=", self, expressed(other))

    def __lt__(self, other: object) -> Comparison:
        return Comparison("<", self, expressed(other))

    def __le__(self, other: object) -> Comparison:
        return Comparison("<=", self, expressed(other))

    def __gt__(self, other: object) -> Comparison:
        return Comparison(">", self, expressed(other))

    def __ge__(self, other: object) -> Comparison:
        return Comparison(">=", self, expressed(other))

    def __and__(self, other: object) -> Logic:
        return Logic("and", self, expressed(other))

    def __rand__(self, other: object) -> Logic:
        return Logic("and", expressed(other), self)

    def __or__(self, other: object) -> Logic:
        return Logic("or", self, expressed(other))

    def __ror__(self, other: object) -> Logic:
        return Logic("or", expressed(other), self)

    def __invert__(self) -> Negation:
        return Negation(self)

    def __add__(self, other: object) -> Arithmetic:
        return Arithmetic("+", self, expressed(other))

    def __radd__(self, other: object) -> Arithmetic:
        return Arithmetic("+", expressed(other), self)

    def __sub__(self, other: object) -> Arithmetic:
        return Arithmetic("-", self, expressed(other))

    def __rsub__(self, other: object) -> Arithmetic:
        return Arithmetic("-", expressed(other), self)

    def __mul__(self, other: object) -> Arithmetic:
        return Arithmetic("*", self, expressed(other))

    def __rmul__(self, other: object) -> Arithmetic:
        return Arithmetic("*", expressed(other), self)

    def __truediv__(self, other: object) -> Arithmetic:
        return Arithmetic("/", self, expressed(other))

    def __rtruediv__(self, other: object) -> Arithmetic:
        return Arithmetic("/", expressed(other), self)

    def __neg__(self) -> Arithmetic:
        return Arithmetic("-", Constant(0.0), self)

    def is_null(self) -> IsNull:
        """Whether nothing is known: a missing cell, NaN, an empty cell of a CSV file. Never null itself."""
        return IsNull(self)

    def is_in(self, members: Iterable[Value]) -> IsIn:
        """Whether it equals one of the constants; null where it is null itself."""
        return IsIn(self, tuple(listed("is_in", "a list of constants", members=members)))

    def looked_up(self, table: Mapping[Value, Value]) -> PublicLookup:
        """What a public table has for it; null where it has nothing: the join with a public table by a unique key.

        >>> str(col("postcode").looked_up({"1010": "centre", "1220": "north"}))
        'postcode in a public table of 2'
        """
        if not isinstance(table, Mapping):
            raise InvalidParameter("looked_up", "a dict from key to value, which is public", table=table)
        return PublicLookup(self, tuple(table.keys()), tuple(table.values()))


@dataclass(frozen=True, eq=False)
class ColumnOf(Expression):
    """The value of a column."""

    name: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise InvalidParameter("col", "the name of a column", name=self.name)

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.name,)

    def gives(self, kinds: Mapping[str, str]) -> str:
        if self.name not in kinds:
            raise InvalidParameter("An expression", "columns of the table", column=self.name)
        if kinds[self.name] not in KINDS:
            raise InvalidParameter("An expression", "columns of numbers, texts or truth values", column=self.name)
        return KINDS[kinds[self.name]]

    def __str__(self) -> str:
        return self.name if self.name.isidentifier() else '"' + self.name.replace('"', '""') + '"'


@dataclass(frozen=True, eq=False)
class Constant(Expression):
    """A number, a text or a truth value that was given."""

    value: Value

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", constant(self.value))

    def gives(self, kinds: Mapping[str, str]) -> str:  # noqa: ARG002
        return kind_of(self.value)

    def __str__(self) -> str:
        return shown(self.value)


class Operation(Expression):
    """An expression made of others, none of them too deep."""

    def __post_init__(self) -> None:
        if self.depth > DEEPEST:
            raise InvalidParameter("An expression", f"at most {DEEPEST} inside each other", depth=self.depth)


@dataclass(frozen=True, eq=False)
class TwoSided(Operation):
    """An operator between two expressions."""

    operator: str
    left: Expression
    right: Expression

    def __str__(self) -> str:
        return f"({self.left} {self.operator} {self.right})"


class Comparison(TwoSided):
    """Two numbers compared, or two texts or truth values for being equal or not."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.operator not in COMPARISONS:
            raise InvalidParameter("A comparison", f"one of {COMPARISONS}", operator=self.operator)

    def compared(self, kinds: Mapping[str, str]) -> str:
        """As what the two sides are compared: numbers, texts or truth values."""
        found = agreed("A comparison", [side.gives(kinds) for side in self.parts])
        if found != NUMBER and self.operator not in ("==", "!="):
            raise InvalidParameter("A comparison", "numbers, or == and != for texts", operator=self.operator)
        return found

    def gives(self, kinds: Mapping[str, str]) -> str:
        self.compared(kinds)
        return TRUTH


class Logic(TwoSided):
    """`and` and `or` of SQL: false and null is false, true or null is true, else null wins."""

    def gives(self, kinds: Mapping[str, str]) -> str:
        return _needed(TRUTH, self.parts, kinds)


@dataclass(frozen=True, eq=False)
class Negation(Operation):
    """`not`: the opposite; null where it is null."""

    of: Expression

    def gives(self, kinds: Mapping[str, str]) -> str:
        return _needed(TRUTH, self.parts, kinds)

    def __str__(self) -> str:
        return f"(not {self.of})"


class Arithmetic(TwoSided):
    """Double floats; what is NaN, and x / 0, is null."""

    def gives(self, kinds: Mapping[str, str]) -> str:
        return _needed(NUMBER, self.parts, kinds)


@dataclass(frozen=True, eq=False)
class IsNull(Operation):
    """Whether nothing is known."""

    of: Expression

    def gives(self, kinds: Mapping[str, str]) -> str:
        self.of.gives(kinds)
        return TRUTH

    def __str__(self) -> str:
        return f"({self.of} is null)"


@dataclass(frozen=True, eq=False)
class IsIn(Operation):
    """Whether it equals one of some constants."""

    of: Expression
    members: tuple[Value, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "members", same_kind("is_in", self.members))

    def compared(self, kinds: Mapping[str, str]) -> str:
        """As what it is compared with the constants."""
        return agreed("is_in", [kind_of(self.members[0]), self.of.gives(kinds)])

    def gives(self, kinds: Mapping[str, str]) -> str:
        self.compared(kinds)
        return TRUTH

    def __str__(self) -> str:
        return f"({self.of} in ({', '.join(map(shown, self.members))}))"


@dataclass(frozen=True, eq=False)
class PublicLookup(Operation):
    """The value that a public table has for a key; null for keys that it has not. Keys are unique."""

    of: Expression
    keys: tuple[Value, ...]
    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "keys", same_kind("looked_up", self.keys))
        object.__setattr__(self, "values", same_kind("looked_up", self.values, different=False))

    def compared(self, kinds: Mapping[str, str]) -> str:
        """As what keys are compared."""
        return agreed("looked_up", [kind_of(self.keys[0]), self.of.gives(kinds)])

    def gives(self, kinds: Mapping[str, str]) -> str:
        self.compared(kinds)
        return kind_of(self.values[0])

    def __str__(self) -> str:
        return f"{self.of} in a public table of {len(self.keys)}"


def col(name: str) -> ColumnOf:
    """A column by its name, for row-wise expressions.

    >>> str(col("age") >= 18)
    '(age >= 18)'
    """
    return ColumnOf(name)


def expressed(value: object) -> Expression:
    """The expression itself, or the constant that was given."""
    return value if isinstance(value, Expression) else Constant(value)  # type: ignore[arg-type]


def column_or_expression(who: str, value: object) -> Expression:
    """An expression, or the column that a text names."""
    if not isinstance(value, str | Expression):
        raise InvalidParameter(who, "the name of a column or a row-wise expression", column=value)
    return ColumnOf(value) if isinstance(value, str) else value


def replaced_columns(expression: Expression, derived: Mapping[str, Expression]) -> Expression:
    """The expression with columns of these names replaced by what they stand for.

    >>> str(replaced_columns(col("rate") > 1, {"rate": col("pay") / col("hours")}))
    '((pay / hours) > 1)'
    """
    if isinstance(expression, ColumnOf):
        return derived.get(expression.name, expression)
    parts = {f.name: v for f in fields(expression) if isinstance(v := getattr(expression, f.name), Expression)}  # type: ignore[arg-type]
    new = {name: replaced_columns(part, derived) for name, part in parts.items()}
    return replace(expression, **new) if new else expression  # type: ignore[type-var]


def _keyed(value: Any) -> Any:
    """A field of an expression with its type: 1 is neither 1.0 nor True."""
    if isinstance(value, Expression):
        return value.key
    return tuple(map(_keyed, value)) if isinstance(value, tuple) else (type(value).__name__, value)


def _needed(kind: str, parts: tuple[Expression, ...], kinds: Mapping[str, str]) -> str:
    for part in parts:
        if part.gives(kinds) not in (kind, ANY):
            words = "truth values beside and, or, not" if kind == TRUTH else "numbers beside + - * /"
            raise InvalidParameter("An expression", words, found=part.gives(kinds))
    return kind
