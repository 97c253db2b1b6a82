"""Constants of row-wise expressions: what they may be, of which kind they are, and how they are written."""

from __future__ import annotations

import math

from hush.errors import InvalidParameter

NUMBER, TEXT, TRUTH, ANY = "number", "text", "truth", "any"
"""What an expression gives; `any` is a column that declares no type (of a CSV file, of objects): its use decides."""
MOST_MEMBERS = 100_000
"""Values of a list or a public table in an expression."""

Value = str | float | int | bool
"""What a constant may be."""


def constant(value: object) -> Value:
    """A text, a truth value, or a finite number as a float or a whole number that a float holds exactly."""
    rule = "constants that are texts, truth values or finite numbers up to 2^53"
    if hasattr(value, "item") and not isinstance(value, str | bytes):
        value = value.item()  # type: ignore[union-attr]
    if not isinstance(value, str | bool | int | float) or (isinstance(value, str) and "\x00" in value):
        raise InvalidParameter("An expression", rule, value=value)
    if isinstance(value, str | bool):
        return value
    if not (abs(value) <= 2**53 if isinstance(value, int) else math.isfinite(value)):
        raise InvalidParameter("An expression", rule, value=value)
    return value + 0.0 if isinstance(value, float) else value  # -0.0 becomes 0.0


def kind_of(value: Value) -> str:
    """What a constant is."""
    return TEXT if isinstance(value, str) else TRUTH if isinstance(value, bool) else NUMBER


def agreed(who: str, kinds: list[str]) -> str:
    """What several sides are together: columns without a type follow the others, and are numbers among themselves."""
    found = {kind for kind in kinds if kind != ANY}
    if len(found) > 1:
        raise InvalidParameter(who, "sides of one type: numbers, texts or truth values", types=sorted(found))
    return found.pop() if found else NUMBER


def shown(value: Value) -> str:
    """A constant as it is written in a text."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value).lower() if isinstance(value, bool) else repr(value)


def same_kind(who: str, given: tuple[Value, ...], *, different: bool = True) -> tuple[Value, ...]:
    """Constants of one kind, if told all of them different."""
    members = tuple(constant(member) for member in given)
    rule = f"1 to {MOST_MEMBERS} {'different ' if different else ''}constants of one type"
    if not 1 <= len(members) <= MOST_MEMBERS or len({kind_of(member) for member in members}) > 1:
        raise InvalidParameter(who, rule, members=len(members))
    if different and len(set(members)) < len(members):
        raise InvalidParameter(who, rule, members=len(members))
    return members
