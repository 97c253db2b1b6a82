"""Tallies of several parts of the records as one of all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from hush.releases.tables.tally import Key, Tallied, Tally, exact_array, key_order


def merged(parts: Sequence[Tallied], tally: Tally) -> Tallied:
    """The sums over all parts; no user, and no value that is counted once, may be in two of them.

    >>> from hush.releases.row_wise.row_expressions import col
    >>> parts = [Tallied((("a",),), np.array([2]), None), Tallied((("b",), ("a",)), np.array([1, 3]), None)]
    >>> found = merged(parts, Tally((col("g"),), None))
    >>> found.groups, found.rows.tolist()
    ((('a',), ('b',)), [5, 1])
    """
    groups = _all_groups(parts) if tally.domain is None else tally.domain
    typed = {_typed(key): place for place, key in enumerate(groups)}
    places = [np.array([typed[_typed(key)] for key in part.groups], dtype=np.int64) for part in parts]

    def added(read: Callable[[Tallied], np.ndarray], *cells: int) -> np.ndarray:
        total = np.zeros((len(groups), *cells), dtype=np.int64)
        for part, place in zip(parts, places, strict=True):
            total[place] += read(part)
        return total

    return Tallied(
        groups,
        added(lambda part: part.rows),
        None if tally.limits is None else added(lambda part: np.asarray(part.users)),
        tuple(_whole(parts, places, number, len(groups)) for number in range(len(tally.measures))),
        tuple(added(lambda part, number=number: part.counts[number]) for number in range(len(tally.measures))),
        tuple(
            added(lambda part, number=number: part.cells[number], cells.count)
            for number, cells in enumerate(tally.cells)
        ),
        tuple(added(lambda part, number=number: part.distinct[number]) for number in range(len(tally.distinct))),
    )


def _whole(parts: Sequence[Tallied], places: list[np.ndarray], number: int, groups: int) -> np.ndarray:
    """Sums of Python's whole numbers, which have no largest one."""
    total = np.zeros(groups, dtype=object)
    for part, place in zip(parts, places, strict=True):
        total[place] += part.sums[number].astype(object)
    return exact_array(total.tolist())


def _all_groups(parts: Sequence[Tallied]) -> tuple[Key, ...]:
    found = {_typed(key): key for part in parts for key in part.groups}
    return tuple(sorted(found.values(), key=key_order))


def _typed(key: Key) -> tuple[tuple[str, object], ...]:
    """A key with its types: True is not 1."""
    return tuple((type(part).__name__, part) for part in key)
