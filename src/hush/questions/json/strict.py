"""JSON from strangers: every surprise is refused by name, in one line."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Set
from typing import NoReturn

from hush.errors import InvalidParameter

LONGEST, DEEPEST, DIGITS = 1_000_000, 64, 20
"""Characters, levels of nesting, and digits of a whole number that a text may have."""


def refuse(rule: str, **values: object) -> NoReturn:
    """Raise InvalidParameter with values cut to a readable length."""
    short = {name: value if len(repr(value)) <= 60 else f"{repr(value)[:57]}..." for name, value in values.items()}
    raise InvalidParameter("from_json", rule, **short)


def parse(text: object) -> object:
    """The value of a JSON text, without the extensions of Python's parser.

    >>> parse('{"rate": 0.5}')
    {'rate': 0.5}
    >>> parse('{"rate": 0.5, "rate": 1}')
    Traceback (most recent call last):
    hush.errors.InvalidParameter: from_json needs each key once; got key='rate'.
    """
    if not isinstance(text, str):
        refuse("a str", text=text)
    check_size("from_json", text)
    try:
        return json.loads(
            text,
            object_pairs_hook=_unique,
            parse_constant=_constant,
            parse_float=_finite,
            parse_int=_int,
        )
    except json.JSONDecodeError as error:
        refuse("JSON", problem=error.msg, line=error.lineno, column=error.colno)


def check_size(who: str, text: str) -> None:
    """Refuse a text that is too long or too deep, before a parser recurses into it."""
    if len(text) > LONGEST:
        raise InvalidParameter(who, f"at most {LONGEST} characters", length=len(text))
    depth = 0
    for token in re.finditer(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]', text, re.DOTALL):  # a string without an end is passed once
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)
        if depth > DEEPEST:
            raise InvalidParameter(who, f"at most {DEEPEST} levels of nesting", depth=depth)


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            refuse("each key once", key=key)
        found[key] = value
    return found


def _constant(literal: str) -> NoReturn:
    refuse('finite numbers (infinity is the string "inf")', literal=literal)


def _finite(literal: str) -> float:
    value = float(literal)
    return value if math.isfinite(value) else _constant(literal)


def _int(literal: str) -> int:
    if len(literal) > DIGITS:
        refuse(f"whole numbers of at most {DIGITS} digits", digits=len(literal))
    return int(literal)


# -- types of values -----------------------------------------------------------------------------------------


def members(value: object, names: set[str], optional: Set[str] = frozenset()) -> dict[str, object]:
    """The value, if it is an object with exactly these keys; the optional ones may be missing."""
    if not isinstance(value, dict):
        refuse(f"an object with {', '.join(sorted(names))}", value=value)
    missing, unknown = sorted(names - set(value)), sorted(set(value) - names - optional)
    if missing or unknown:
        refuse(f"exactly the fields {', '.join(sorted(names))}", missing=missing, unknown=unknown)
    return value


def as_list(value: object) -> list[object]:
    """The value, if it is a list."""
    return value if isinstance(value, list) else refuse("a list", value=value)


def as_number(value: object) -> float:
    """The value as a float, if it is a number or the string "inf".

    >>> as_number("inf"), as_number(2)
    (inf, 2.0)
    """
    if value == "inf":
        return math.inf
    if isinstance(value, bool) or not isinstance(value, int | float):
        refuse("a number", value=value)
    return float(value)


def as_whole(value: object) -> int:
    """The value, if it is a whole number without a point."""
    if isinstance(value, bool) or not isinstance(value, int):
        refuse("a whole number", value=value)
    return value


def as_truth(value: object) -> bool:
    """The value, if it is true or false."""
    return value if isinstance(value, bool) else refuse("true or false", value=value)


def as_text(value: object) -> str:
    """The value, if it is a string."""
    return value if isinstance(value, str) else refuse("a string", value=value)


def from_number(value: float) -> float | str:
    """What JSON can hold of a float."""
    return "inf" if value == math.inf else float(value)
