"""Exact sums of whole numbers per group, however many there are: two 64-bit words per group."""

from __future__ import annotations

import numpy as np

from hush.releases.tables.tally import Bins, Categories, LatticeCells, Measure, Steps, exact_array
from hush.releases.tables.tallying.row_values import NULL, RowValues, Texts, places_in

LOW_BITS = 31
"""Bits of a sum that stay in the lower word when it is emptied into the upper one."""
LARGEST = 62
"""A lower word stays below 2^62 in size."""
NORMAL = 1000
"""Powers of two of at most this size, and what is divided by them, are normal floats."""


class GroupSums:
    """Sums per group of whole numbers below 2^bits in size, exact.

    >>> sums = GroupSums(bits=36)
    >>> sums.add(np.array([0, 1, 0]), np.array([5, 6, -7]))
    >>> sums.totals(2).tolist()
    [-2, 6]
    """

    def __init__(self, bits: int, groups: int = 0) -> None:
        """`groups`: how many there are, where that is known."""
        self._most = 1 << (LARGEST - bits)
        self._low, self._high = np.zeros(groups, dtype=np.int64), np.zeros(groups, dtype=np.int64)
        self._room = self._most

    def add(self, groups: np.ndarray, numbers: np.ndarray) -> None:
        """More numbers, each for its group."""
        if not len(groups):
            return
        self._grow(int(groups.max()) + 1)
        for start in range(0, len(groups), self._most):
            part = slice(start, start + self._most)
            size = len(groups[part])
            if size > self._room:
                self._empty()
            self._room -= size
            np.add.at(self._low, groups[part], numbers[part])

    def _grow(self, groups: int) -> None:
        if groups > len(self._low):
            more = np.zeros(max(groups, 2 * len(self._low)) - len(self._low), dtype=np.int64)
            self._low, self._high = np.concatenate([self._low, more]), np.concatenate([self._high, more])

    def _empty(self) -> None:
        self._high += self._low >> LOW_BITS
        self._low &= (1 << LOW_BITS) - 1
        self._room = self._most - 1  # what is left counts as one number

    def totals(self, groups: int) -> np.ndarray:
        """The sums, in 64 bits where that is enough."""
        self._grow(groups)
        low, high = self._low[:groups], self._high[:groups]
        if not high.any():
            return low.copy()
        pairs = zip(high.tolist(), low.tolist(), strict=True)
        return exact_array([(above << LOW_BITS) + below for above, below in pairs])


class GroupCounts:
    """How many records each group, or each cell of a group, has."""

    def __init__(self, cells: int = 1, groups: int = 0) -> None:
        self.cells = cells
        self._found = np.zeros(groups * cells, dtype=np.int64)

    def add(self, groups: np.ndarray, cells: np.ndarray | None = None) -> None:
        """More records; those of a cell NULL are in none."""
        if cells is not None:
            inside = cells != NULL
            groups = groups[inside] * self.cells + cells[inside]
        if len(groups):
            self._grow(int(groups.max()) + 1)
            if len(groups) * 4 > len(self._found):
                self._found += np.bincount(groups, minlength=len(self._found))
            else:
                np.add.at(self._found, groups, 1)

    def _grow(self, size: int) -> None:
        if size > len(self._found):
            more = np.zeros(max(size, 2 * len(self._found)) - len(self._found), dtype=np.int64)
            self._found = np.concatenate([self._found, more])

    def totals(self, groups: int) -> np.ndarray:
        """Counts by group, and by cell where there are cells."""
        self._grow(groups * self.cells)
        found = self._found[: groups * self.cells]
        return found if self.cells == 1 else found.reshape(groups, self.cells)


def whole_steps(batch: RowValues, steps: Steps) -> tuple[np.ndarray, np.ndarray]:
    """The whole numbers of records, and which records have one.

    >>> from hush.releases.row_wise.row_expressions import col
    >>> batch = RowValues({"x": np.array([0.5, 1.5, 99.0, np.nan])}, {"x": "number"}, 4)
    >>> [part.tolist() for part in whole_steps(batch, Steps(col("x"), 0.0, 10.0, 0.0, 0, None))]
    [[0, 2, 10, 0], [True, True, True, False]]
    """
    values = batch.numbers(steps.value)
    some_missing = len(values) > 0 and bool(np.isnan(values.min()))  # the least of numbers with a NaN is NaN
    known = ~np.isnan(values) if some_missing else np.ones(len(values), dtype=bool)
    if some_missing:
        values = np.where(known, values, steps.low if steps.missing is None else steps.missing)
        known = known if steps.missing is None else np.ones(len(values), dtype=bool)
    with np.errstate(all="ignore"):
        found = np.maximum(values, steps.low)
        np.minimum(found, steps.high, out=found)
        found -= steps.centre
        found = _scaled(found, -steps.power)
        np.rint(found, out=found)
    whole = found.astype(np.int64)
    if some_missing:
        whole[~known] = 0
    return whole, known


def _scaled(values: np.ndarray, power: int) -> np.ndarray:
    """Values times 2^power, rounded once: a product with a power of two that is a float is that."""
    if abs(power) > NORMAL:
        return np.ldexp(values, power)
    values *= 2.0**power
    return values


def measured(batch: RowValues, measure: Measure) -> tuple[np.ndarray, np.ndarray]:
    """What each record adds to a measure, and whether it does."""
    whole, known = whole_steps(batch, measure.steps)
    return (whole if measure.degree == 1 else whole * whole), known


def cell_of(batch: RowValues, cells: LatticeCells | Bins | Categories) -> np.ndarray:
    """The cell of each record; NULL for none."""
    if isinstance(cells, LatticeCells):
        whole, known = whole_steps(batch, cells.steps)
        return np.where(known, np.clip(whole - cells.first, 0, cells.count - 1), NULL)
    if isinstance(cells, Bins):
        values = batch.numbers(cells.value)
        edges = np.array(cells.edges)
        places = np.searchsorted(edges, values, side="right") - 1
        places[values == edges[-1]] = cells.count - 1
        outside = np.isnan(values) | (places < 0) | (places >= cells.count)
        return np.where(outside, NULL, places)
    return category_of(batch, cells)


def category_of(batch: RowValues, cells: Categories) -> np.ndarray:
    """The category of each record; NULL for none."""
    if isinstance(cells.members[0], str):
        values: np.ndarray | Texts = batch.texts(cells.value)
    elif isinstance(cells.members[0], bool):
        values = batch.truths(cells.value)
    else:
        values = batch.numbers(cells.value)
    return places_in(values, cells.members)


def bits_of(measure: Measure) -> int:
    """Numbers of a measure stay below 2^bits in size."""
    ends = (
        abs(np.ldexp(end - measure.steps.centre, -measure.steps.power))
        for end in (measure.steps.low, measure.steps.high)
    )
    return (int(max(ends)).bit_length() + 1) * measure.degree
