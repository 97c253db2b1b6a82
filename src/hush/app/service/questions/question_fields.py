"""What a question brings along: fields of a JSON object, each checked before it is used."""

from __future__ import annotations

import sys
from typing import Any

from hush.errors import InvalidParameter

MOST_RUNS = 6
"""Runs that stand side by side."""
MOST = sys.float_info.max
"""A number is no larger, so that it fits wherever it is put: JSON has integers of any length."""


def field(given: dict[str, Any], name: str) -> Any:
    """A field that must be there."""
    if given.get(name) is None:
        raise InvalidParameter("The question", f"the field {name}", **{name: None})
    return given[name]


def number(given: dict[str, Any], name: str) -> float:
    """A field that is a number; its range is checked by whoever takes it."""
    value = field(given, name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= MOST:
        raise InvalidParameter("The question", f"a number as {name}", **{name: _shown(value)})
    return value


def text(given: dict[str, Any], name: str) -> str:
    """A field that is a text."""
    value = field(given, name)
    if not isinstance(value, str):
        raise InvalidParameter("The question", f"a text as {name}", **{name: _shown(value)})
    return value


def numbers(given: dict[str, Any], name: str) -> list[float]:
    """A field that is a list of numbers."""
    value = field(given, name)
    if not isinstance(value, list):
        raise InvalidParameter("The question", f"a list of numbers as {name}", **{name: _shown(value)})
    return [number({name: one}, name) for one in value]


def runs(given: dict[str, Any]) -> list[tuple[str, str]]:
    """Names and expressions of the runs that are compared."""
    listed = field(given, "runs")
    if (
        not isinstance(listed, list)
        or not 1 <= len(listed) <= MOST_RUNS
        or not all(isinstance(r, dict) for r in listed)
    ):
        raise InvalidParameter("The question", f"1 to {MOST_RUNS} runs", runs=_shown(listed))
    found = [(text(run, "name"), text(run, "expression")) for run in listed]
    if len(dict(found)) < len(found):
        raise InvalidParameter("The question", "a name of its own for each run", runs=[name for name, _ in found])
    return found


def _shown(value: object) -> object:
    return value if isinstance(value, str) else type(value).__name__
