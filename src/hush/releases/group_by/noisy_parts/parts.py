"""The parts that a grouped query is made of: what each reads, what it moves by, and what its noise makes of it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from hush.curves.relation import Relation
from hush.mechanisms.leaves.gaussian import Gaussian
from hush.mechanisms.leaves.laplace import Laplace
from hush.mechanisms.mechanism import Mechanism
from hush.randomness.additive import scale_for
from hush.randomness.source import Source
from hush.releases.group_by.contributions import AtMost, Reach
from hush.releases.tables.tally import Bins, Categories, LatticeCells, Measure, Tallied

SMALLEST, LARGEST = 1e-9, 500.0
"""Levels of one part: an epsilon in this range."""


@dataclass(frozen=True)
class Wanted:
    """What a part asks one pass over the data for."""

    measures: tuple[Measure, ...] = ()
    cells: tuple[LatticeCells | Bins | Categories, ...] = ()
    distinct: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Protected:
    """Whom the guarantee protects: one record, or a user with at most so much, who comes, goes or is replaced."""

    most: AtMost
    relation: Relation
    users: bool
    """Whether the unit is a user; else it is a record."""

    @property
    def turns(self) -> int:
        """How many times a change counts: a replacement is a removal and an addition."""
        return 2 if self.relation is Relation.REPLACE else 1


@dataclass(frozen=True)
class NoiseLevel:
    """How much a part may reveal: Laplace noise of this epsilon, or Gaussian noise of 1/level deviations."""

    value: float
    gaussian: bool
    bound: int | None = None
    """Beyond this the noise of a count never goes: see hush.releases.group_by.noisy_parts.bounded_noise."""
    pure: bool = False
    """Whether epsilons add up: a choice may then be any that is private by its epsilon alone."""


@dataclass(frozen=True, eq=False)
class Answering:
    """What a part gets to answer: exact numbers, random bits, its level, and how records were drawn."""

    found: Tallied
    source: Source
    level: NoiseLevel
    unit: Protected
    rate: float
    sure: float
    """The confidence of each interval; the noise alone gets a part of what may fail on a sample."""

    @property
    def noise_sure(self) -> float:
        """The confidence that the noise alone needs."""
        return self.sure if self.rate == 1 else 1 - (1 - self.sure) / 2


Cells = list[Any] | np.ndarray


class CellColumn:
    """One column of the table: a value per group, and where known an interval around it.

    Arrays, which take a fourth of the memory, become lists when somebody asks for them.

    >>> CellColumn("people", np.array([3, 4])).values
    [3, 4]
    """

    def __init__(self, name: str, values: Cells, low: Cells | None = None, high: Cells | None = None) -> None:
        self.name, self._given = name, (values, low, high)

    @cached_property
    def values(self) -> list[Any]:
        """The value of each group."""
        return _listed(self._given[0]) or []

    @cached_property
    def low(self) -> list[Any] | None:
        """The lower end of each interval; None where none is known."""
        return _listed(self._given[1])

    @cached_property
    def high(self) -> list[Any] | None:
        """The upper end of each interval."""
        return _listed(self._given[2])


def _listed(given: Cells | None) -> list[Any] | None:
    return given.tolist() if isinstance(given, np.ndarray) else given


class Part(ABC):
    """One release among those of a query."""

    asked: str
    """The name under which it was asked for."""

    @property
    @abstractmethod
    def titles(self) -> tuple[str, ...]:
        """The columns that it gives."""

    @property
    @abstractmethod
    def wanted(self) -> Wanted:
        """What it reads."""

    @abstractmethod
    def mechanism(self, level: NoiseLevel, unit: Protected) -> Mechanism:
        """What it gives away about one unit."""

    @property
    @abstractmethod
    def size(self) -> float:
        """The sensitivity to one record in the units of the data: what error-optimal shares are made of."""

    @abstractmethod
    def errors(self, level: NoiseLevel, unit: Protected, size: float, rate: float) -> dict[str, float]:
        """The root of the expected squared error of each column, in a group of so many records, at a sampling rate.

        Known before any data is seen: noise, and what a sample adds for the worst values within the bounds.
        """

    @abstractmethod
    def answer(self, run: Answering) -> list[CellColumn]:
        """Its columns, with noise."""

    def ranks_off(self, level: NoiseLevel, unit: Protected, sure: float) -> float | None:  # noqa: ARG002
        """How many records of its group a value is off at most, with this confidence; None where it is no quantile."""
        return None


@dataclass(frozen=True, eq=False)
class NoisyGroups:
    """Totals per group with noise, in steps of 2^shift, and the law of the noise."""

    totals: np.ndarray
    scale: float
    gaussian: bool
    shift: int = field(default=0)


class AdditivePart(Part):
    """Noise on one or more totals per group."""

    @abstractmethod
    def reach(self, unit: Protected) -> Reach:
        """How far one unit moves the totals of all groups."""

    @abstractmethod
    def totals(self, found: Tallied) -> list[np.ndarray]:
        """The totals, one array over the groups for each: whole numbers of 64 bits, or Python's own."""

    def mechanism(self, level: NoiseLevel, unit: Protected) -> Mechanism:
        if level.gaussian:
            return Gaussian(1 / level.value, unit.relation)
        return Laplace(scale_for(level.value), unit.relation)

    def noise(self, level: NoiseLevel, unit: Protected) -> float:
        """The deviation of the noise of one total, in steps."""
        reach = self.reach(unit)
        return reach.l2 / level.value if level.gaussian else math.sqrt(2) * reach.l1 / level.value


def of_sample(size: float, rate: float, together: int) -> float:
    """The largest deviation of the number of records of a group, estimated from a sample at this rate, without noise.

    Up to `together` of the records are drawn by one coin: their squares sum to at most so many times the size.
    """
    return math.sqrt(together * size * (1 - rate) / rate)


def exact_sums(found: Tallied, most: int) -> list[np.ndarray]:
    """The sums of each measure, then the records that added to the first, to be computed with exactly.

    `most` is the largest number that is made of one record on the way. Where that times the records of a group does not
    fit into 64 bits, with a bit to spare, the numbers are Python's own.
    """
    records = found.counts[0]
    fits = most * int(records.max(initial=1)) < 1 << 62  # also where nobody is: what is computed has the same types
    return [column.astype(np.int64 if fits else object) for column in (*found.sums, records)]


def sliced(found: Tallied, before: list[Wanted], wanted: Wanted) -> Tallied:
    """What one part asked for, out of what all parts did."""
    starts = [sum(len(getattr(w, name)) for w in before) for name in ("measures", "cells", "distinct")]
    sizes = [len(wanted.measures), len(wanted.cells), len(wanted.distinct)]
    measures, cells, distinct = (slice(start, start + size) for start, size in zip(starts, sizes, strict=True))
    return Tallied(
        found.groups,
        found.rows,
        found.users,
        found.sums[measures],
        found.counts[measures],
        found.cells[cells],
        found.distinct[distinct],
    )


def joined(wanted: list[Wanted]) -> dict[str, Any]:
    """What all parts ask for, as the fields of a Tally."""
    names = ("measures", "cells", "distinct")
    return {name: tuple(item for w in wanted for item in getattr(w, name)) for name in names}


def rows_of(found: Tallied, rows: list[int]) -> Tallied:
    """What was found of these groups alone."""
    return Tallied(
        tuple(found.groups[row] for row in rows),
        found.rows[rows],
        None if found.users is None else found.users[rows],
        tuple(total[rows] for total in found.sums),
        tuple(counts[rows] for counts in found.counts),
        tuple(cells[rows] for cells in found.cells),
        tuple(distinct[rows] for distinct in found.distinct),
    )


def column_rows(column: CellColumn, rows: list[int]) -> CellColumn:
    """A column of these groups alone."""
    ends = [None if end is None else [end[row] for row in rows] for end in (column.low, column.high)]
    return CellColumn(column.name, [column.values[row] for row in rows], *ends)
