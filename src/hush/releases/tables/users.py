"""At most so many records of each user: what user-level privacy rests on."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np

from hush.releases.boundary import attempted

PLAIN = (str, int, float, bool, bytes, Decimal)
"""Types whose comparison raises nothing, once a value is known to have a hash."""


class _Named:
    """A unit of a type with a comparison of its own, which may raise: units that cannot be compared are different."""

    def __init__(self, unit: Any) -> None:
        self._unit, self._hash = unit, attempted(lambda: hash(unit), 0)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return bool(attempted(lambda: bool(self._unit == getattr(other, "_unit", other)), False))


def first_of_each(most: int) -> Callable[[np.ndarray], np.ndarray]:
    """A filter to be called on the units of one batch after the other: which records are among their unit's first.

    What is kept of a unit depends on its own records alone, so that adding or removing one changes nobody else's.

    >>> keep = first_of_each(2)
    >>> keep(np.array([7, 7, 8])).tolist(), keep(np.array([7, 8, 8])).tolist()
    ([True, True, True], [False, True, False])
    """
    seen: dict[object, int] = {}

    def keep(units: np.ndarray) -> np.ndarray:
        known = ~_missing(units)
        distinct, codes = _coded(units[known])
        before = np.array([seen.get(unit, 0) for unit in distinct], dtype=np.int64)
        rank = before[codes] + _ranks(codes) if len(distinct) else np.empty(0, dtype=np.int64)
        for unit, n in zip(distinct, np.bincount(codes, minlength=len(distinct)), strict=True):
            seen[unit] = min(most, seen.get(unit, 0) + int(n))
        kept = np.zeros(len(units), dtype=bool)
        kept[known] = rank < most
        return kept

    return keep


def _missing(units: np.ndarray) -> np.ndarray:
    """Which records have no unit: None, NaN, empty texts, and what cannot be compared or looked up."""
    if units.dtype.kind == "f":
        return np.isnan(units)
    if units.dtype.kind in "mM":
        return np.isnat(units)
    if units.dtype.kind == "U":
        return units == ""
    if units.dtype.kind == "O":
        return np.array([_is_none(unit) for unit in units], dtype=bool)
    return np.zeros(len(units), dtype=bool)


def _is_none(unit: Any) -> bool:
    """Whether it is no unit, or cannot tell: pandas.NA is neither equal nor different, lists have no hash."""
    return attempted(lambda: hash(unit) is None or unit is None or bool(unit == "") or bool(unit != unit), True)


def _coded(units: np.ndarray) -> tuple[list[object], np.ndarray]:
    """The distinct units, and which of them each record has."""
    if units.dtype.kind == "O":
        places: dict[object, int] = {}
        named = (unit if type(unit) in PLAIN else _Named(unit) for unit in units.tolist())
        codes = np.array([places.setdefault(unit, len(places)) for unit in named], dtype=np.int64)
        return list(places), codes
    distinct, codes = np.unique(units.view(np.int64) if units.dtype.kind in "mM" else units, return_inverse=True)
    return distinct.tolist(), codes.astype(np.int64)


def _ranks(codes: np.ndarray) -> np.ndarray:
    """How many earlier records have the same code."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    within = np.arange(len(codes)) - np.repeat(starts, np.diff(np.r_[starts, len(codes)]))
    ranks = np.empty(len(codes), dtype=np.int64)
    ranks[order] = within
    return ranks
