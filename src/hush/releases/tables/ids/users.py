"""At most so many records of each user: what user-level privacy rests on."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np

from hush.releases.boundary import attempted
from hush.releases.tables.columns import objects
from hush.releases.tables.ids.id_slots import TextSlots, WholeSlots

PLAIN = (str, int, float, bool, bytes, Decimal)
"""Types whose comparison raises nothing, once a value is known to have a hash."""
NOBODY = -1
"""The slot of a record without a user."""
ROUNDS = 8
"""Of a batch, the first records of all users are found in rounds; after so many by sorting what is left."""


class _Named:
    """A unit of a type with a comparison of its own, which may raise: units that cannot be compared are different."""

    def __init__(self, unit: Any) -> None:
        self._unit, self._hash = unit, attempted(lambda: hash(unit), 0)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return bool(attempted(lambda: bool(self._unit == getattr(other, "_unit", other)), False))


class UserSlots:
    """The users of a table as slots 0, 1, 2, ... in no order, one batch after the other.

    Whole numbers, floats, times and texts are looked up all at once. Whatever else there is, and what is of another
    type than before, is compared as Python does, one by one.

    >>> slots = UserSlots().slots(np.array([7.5, 8.0, np.nan, 7.5])).tolist()
    >>> slots[0] == slots[3], slots[2], sorted(slots[:2])
    (True, -1, [0, 1])
    """

    def __init__(self) -> None:
        self._letter = ""
        """How ids are looked up: i, u, f (numbers of 64 bits), T (texts), O (objects), or not known yet."""
        self._table: WholeSlots | TextSlots = WholeSlots()
        self._names: dict[object, int] = {}

    @property
    def size(self) -> int:
        """How many users were met."""
        return len(self._names) if self._letter == "O" else self._table.size

    def slots(self, units: Any) -> np.ndarray:
        """The slots of the users of a batch, an array of numpy or Arrow; -1 for records of nobody."""
        letter, known, ids = id_form(units, self._letter)
        if not known.any():
            return np.full(len(known), NOBODY, dtype=np.int32)
        if letter != self._letter:
            if self._letter:
                letter, ids = "O", _as_objects(units)[known]
            if letter != self._letter:
                self._become(letter)
        slots = self._named(ids) if letter == "O" else self._table.slots(ids)
        if len(slots) == len(known):
            return slots
        found = np.full(len(known), NOBODY, dtype=np.int32)
        found[known] = slots
        return found

    def _become(self, letter: str) -> None:
        if letter == "O" and self._letter:
            self._names = {unit: slot for slot, unit in enumerate(self._listed())}
        if letter == "T":
            self._table = TextSlots()
        self._letter = letter

    def _listed(self) -> list[object]:
        keys = self._table.keys()
        if isinstance(keys, list):
            return list(keys)
        return keys.view({"i": np.int64, "u": np.uint64, "f": np.float64}[self._letter]).tolist()

    def _named(self, units: np.ndarray) -> np.ndarray:
        """As Python compares."""
        names = self._names
        named = (unit if type(unit) in PLAIN else _Named(unit) for unit in units.tolist())
        return np.fromiter((names.setdefault(unit, len(names)) for unit in named), dtype=np.int32, count=len(units))


def first_of_each(most: int) -> Callable[[Any], np.ndarray]:
    """A filter to be called on the units of one batch after the other: which records are among their unit's first.

    What is kept of a unit depends on its own records alone, so that adding or removing one changes nobody else's.

    >>> keep = first_of_each(2)
    >>> keep(np.array([7, 7, 8])).tolist(), keep(np.array([7, 8, 8])).tolist()
    ([True, True, True], [False, True, False])
    """
    users = UserSlots()
    seen, first = np.full(1, most), np.empty(0, dtype=np.int64)

    def keep(units: Any) -> np.ndarray:
        nonlocal seen, first
        slots = users.slots(units)
        if users.size >= len(seen):  # the last place is nobody's, who has had enough
            more = np.zeros(max(users.size, 2 * len(seen)) - len(seen) + 1, dtype=np.int64)
            seen = np.concatenate([seen[:-1], more, seen[-1:]])
            first = np.empty(len(seen), dtype=np.int64)
        kept = np.zeros(len(slots), dtype=bool)
        left = np.flatnonzero(seen.take(slots) < most)
        at = slots.take(left)
        for _ in range(ROUNDS):
            if not len(left):
                return kept
            first[at[::-1]] = left[::-1]  # numpy writes in order: what stays is the first record of each user
            won = first.take(at) == left
            kept[left[won]] = True
            seen[at[won]] += 1
            again = np.flatnonzero(~won & (seen.take(at) < most))
            left, at = left.take(again), at.take(again)
        kept[left] = seen.take(at) + _ranks(at) < most
        seen[:-1] += np.bincount(at, minlength=len(seen) - 1)
        return kept

    return keep


def id_form(units: Any, letter: str = "") -> tuple[str, np.ndarray, Any]:
    """How a batch can be looked up, which records have a unit, and the units of these."""
    if not isinstance(units, np.ndarray):
        return _of_arrow(units)
    kind = units.dtype.kind
    if kind == "O":
        found = _of_objects(units, letter)
        if found is not None:
            return found
        known = np.array([not _is_none(unit) for unit in units], dtype=bool)
        return "O", known, units[known]
    if kind == "U":
        return _of_objects(units.astype(object), letter) or ("O", units != "", units[units != ""].astype(object))
    if kind == "f":
        known = ~np.isnan(units)
        units = units if known.all() else units[known]
        return "f", known, (units.astype(np.float64) + 0.0).view(np.int64)  # -0.0 becomes 0.0
    if kind in "mM":
        known = ~np.isnat(units)
        return "i", known, units[known].view(np.int64)
    known = np.ones(len(units), dtype=bool)
    if kind in "bi" or (kind == "u" and units.dtype.itemsize < 8):
        return "i", known, np.ascontiguousarray(units, dtype=np.int64)
    if kind == "u":
        return "u", known, np.ascontiguousarray(units).view(np.int64)
    return "O", known, units.astype(object)


def _of_arrow(units: Any) -> tuple[str, np.ndarray, Any]:
    """Texts of Arrow, which never become objects; empty ones are nobody's."""
    import pyarrow
    from pyarrow import compute

    units = units.combine_chunks() if isinstance(units, pyarrow.ChunkedArray) else units
    units = units.cast(pyarrow.large_string())
    known = compute.call_function("not_equal", [units, pyarrow.scalar("", units.type)]).fill_null(False)
    return "T", known.to_numpy(zero_copy_only=False), units.filter(known)


def _of_objects(units: np.ndarray, letter: str) -> tuple[str, np.ndarray, Any] | None:
    """Objects that are all texts, or all whole numbers of the range that is looked up; missing ones beside them."""
    cells = units.tolist()
    kinds = set(map(type, cells)) - {type(None)}
    if kinds == {str}:
        return attempted(lambda: _of_arrow(_large(cells)), None)
    if kinds == {int}:
        known = np.array([cell is not None for cell in cells], dtype=bool)
        dtype = np.uint64 if letter == "u" else np.int64
        ids = attempted(lambda: np.array(units[known].tolist(), dtype=dtype).view(np.int64), None)
        return None if ids is None else (letter if letter == "u" else "i", known, ids)
    return None


def _large(cells: list[Any]) -> Any:
    import pyarrow

    return pyarrow.array(cells, pyarrow.large_string())


def _as_objects(units: Any) -> np.ndarray:
    """The units as Python's own values."""
    if isinstance(units, np.ndarray) and units.dtype.kind in "mM":
        units = units.view(np.int64)
    return objects(units.tolist() if isinstance(units, np.ndarray) else units.to_pylist())


def _is_none(unit: Any) -> bool:
    """Whether it is no unit, or cannot tell: pandas.NA is neither equal nor different, lists have no hash."""
    return attempted(lambda: hash(unit) is None or unit is None or bool(unit == "") or bool(unit != unit), True)


def _ranks(codes: np.ndarray) -> np.ndarray:
    """How many earlier records have the same code."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(codes) else np.empty(0, dtype=np.int64)
    within = np.arange(len(codes)) - np.repeat(starts, np.diff(np.r_[starts, len(codes)]))
    ranks = np.empty(len(codes), dtype=np.int64)
    ranks[order] = within
    return ranks
