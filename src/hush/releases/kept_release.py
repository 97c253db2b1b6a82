"""A release as text, and back: what a budget book keeps, so that the same request gets the same answer again."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np

from hush.account import Charge, unit_of
from hush.errors import LedgerError
from hush.mechanisms.mechanism import Mechanism
from hush.releases.release import Interval, Release
from hush.releases.tables.table import Table


def charge_of(
    asked: object, mechanism: Mechanism, table: Table, *, confidence: float, private: bool, unit: str | None = None
) -> Charge:
    """What a query on a table is paid as: whose guarantee it is, and all that its answer is made by."""
    column = "" if table.column is None else f" of {table.column!r}"
    users = "" if table.unit is None else f", at most {table.max_contributions} per {table.unit!r}"
    what = f"{_said(asked)}{column}{users}, confidence {confidence!r}"
    return Charge(what, mechanism, unit_of(unit if table.unit is None else table.unit), private)


def _said(query: object) -> str:
    """A query of one's own may have no words but those of every object, with its address: then its type is said."""
    said = str(query)
    return type(query).__qualname__ if " object at 0x" in said else said


def write_release(release: Release, kept: Callable[[Any], Any] = lambda value: value) -> str:
    """The release as JSON, its value by what is kept of it; empty where that has no such form.

    >>> import hush
    >>> found = hush.releases.histogram(["a"], categories=["a", "b"], epsilon=1.0)
    >>> read_release(write_release(found), found.mechanism).value == found.value
    True
    """
    try:
        parts = {"value": _plain(kept(release.value)), "of_sample": release.of_sample}
        for name in ("noise_interval", "total_interval"):
            interval = getattr(release, name)
            ends = None if interval is None else [_plain(interval.low), _plain(interval.high), interval.confidence]
            parts[name] = ends
        return json.dumps(parts, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return ""


def read_release(text: str, mechanism: Mechanism, again: Callable[[Any], Any] = lambda plain: plain) -> Release:
    """The release in a text that `write_release` made; `again` makes its value of what was kept."""
    try:
        parts = json.loads(text)
        ranges = [None if parts[n] is None else parts[n] for n in ("noise_interval", "total_interval")]
        noise, total = [None if r is None else Interval(_value(r[0]), _value(r[1]), float(r[2])) for r in ranges]
        value = again(_value(parts["value"]))
    except (TypeError, ValueError, KeyError, IndexError, RecursionError, ArithmeticError):
        raise LedgerError("The book has an answer that cannot be read: it was edited.") from None
    return Release(value, mechanism, noise, total, private=True, of_sample=parts.get("of_sample") is True)


def _plain(value: Any) -> Any:
    """What JSON has, and objects with one key for what it has not."""
    if isinstance(value, np.generic):
        return _plain(value.item())
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    if isinstance(value, tuple):
        return {"tuple": [_plain(part) for part in value]}
    if type(value) is list:
        return [_plain(part) for part in value]
    if type(value) is dict:
        return {"dict": [[_plain(key), _plain(part)] for key, part in value.items()]}
    raise TypeError("no form in JSON")


def _value(plain: Any) -> Any:
    if isinstance(plain, list):
        return [_value(part) for part in plain]
    if not isinstance(plain, dict):
        return plain
    ((kind, inner),) = plain.items()
    if kind == "float":
        return float(inner)
    if kind == "decimal":
        return Decimal(inner)
    if kind == "tuple":
        return tuple(_value(part) for part in inner)
    if kind == "dict":
        return {_value(key): _value(part) for key, part in inner}
    raise ValueError("no form of ours")
