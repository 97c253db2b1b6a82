"""Counts per group: records, users, cells of a histogram, different values, and the sum of a column."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from hush.mechanisms.leaves.stated import ApproxDP
from hush.mechanisms.mechanism import Mechanism
from hush.releases.group_by.contributions import AtMost, Reach, reach_of
from hush.releases.group_by.noisy_parts.bounded_noise import add_bounded, chance_of_bound, surely_within
from hush.releases.group_by.noisy_parts.group_noise import noised, reach_of_one
from hush.releases.group_by.noisy_parts.parts import (
    AdditivePart,
    Answering,
    CellColumn,
    NoiseLevel,
    NoisyGroups,
    Protected,
    Wanted,
    exact_sums,
    of_sample,
)
from hush.releases.noise.exact_sums import SumGrid
from hush.releases.row_wise.row_expressions import Expression
from hush.releases.statistics.sampling_error import total_range
from hush.releases.tables.tally import Bins, Categories, Measure, Steps, Tallied


def largest_step(grid: SumGrid) -> int:
    """The largest size of the whole number that a record becomes."""
    return max(abs(grid.low), abs(grid.high))


def counted(name: str, run: Answering, noise: NoisyGroups, place: int, unit: int, whole: bool = True) -> CellColumn:
    """A column of counts: values for all records, and intervals that also cover the sample."""
    totals, reach = noise.totals[place], reach_of_one(noise, run.noise_sure)
    low, high = expanded(totals - reach, totals + reach, unit, run)
    values = np.rint(totals).astype(np.int64) if whole and run.rate == 1 else totals / run.rate
    return CellColumn(name, values, low, high)


def expanded(low: np.ndarray, high: np.ndarray, unit: float, run: Answering) -> tuple[np.ndarray, np.ndarray]:
    """Totals of all records from those of a sample, to which each unit adds from 0 to `unit`."""
    if run.rate == 1:
        return low, high
    failure = 1 - run.noise_sure
    ends = [
        total_range(a / unit, b / unit, run.rate, failure) for a, b in zip(low.tolist(), high.tolist(), strict=True)
    ]
    return np.array([a for a, _ in ends]) * unit, np.array([b for _, b in ends]) * unit


@dataclass(frozen=True)
class RowsPart(AdditivePart):
    """How many records a group has."""

    asked: str

    @property
    def titles(self) -> tuple[str, ...]:
        return (self.asked,)

    @property
    def wanted(self) -> Wanted:
        return Wanted()

    @property
    def size(self) -> float:
        return 1.0

    def most(self, unit: Protected) -> AtMost:
        """What one unit may add to the count."""
        return unit.most

    def reach(self, unit: Protected) -> Reach:
        return reach_of(self.most(unit), unit.relation, low=0, high=1)

    def totals(self, found: Tallied) -> list[np.ndarray]:
        return [found.rows]

    def mechanism(self, level: NoiseLevel, unit: Protected) -> Mechanism:
        if level.bound is None:
            return super().mechanism(level, unit)
        return ApproxDP(level.value, chance_of_bound(level.value, level.bound))

    def errors(self, level: NoiseLevel, unit: Protected, size: float, rate: float) -> dict[str, float]:
        drawn = of_sample(size, rate, self.most(unit).linf)
        return dict.fromkeys(self.titles, math.hypot(self.noise(level, unit) / rate, drawn))

    def answer(self, run: Answering) -> list[CellColumn]:
        if run.level.bound is not None:
            return [self._bounded(run, run.level.bound)]
        noise = noised(self.totals(run.found), self.reach(run.unit), run.level, run.source)
        unit = self.most(run.unit).linf
        return [counted(title, run, noise, place, unit) for place, title in enumerate(self.titles)]

    def _bounded(self, run: Answering, bound: int) -> CellColumn:
        """The count that decides which keys are shown; one unit moves it by one."""
        found = add_bounded(self.totals(run.found)[0], run.level.value, bound, run.source)
        reach = surely_within(run.level.value, bound, run.noise_sure)
        low, high = expanded(found - float(reach), found + float(reach), 1, run)
        return CellColumn(self.asked, found if run.rate == 1 else found / run.rate, low, high)


@dataclass(frozen=True)
class UsersPart(RowsPart):
    """How many users are in a group."""

    def most(self, unit: Protected) -> AtMost:
        return unit.most.once

    def totals(self, found: Tallied) -> list[np.ndarray]:
        return [found.rows if found.users is None else found.users]


@dataclass(frozen=True, eq=False)
class DistinctPart(RowsPart):
    """How many different values a group has: each record adds at most one."""

    value: Expression

    @property
    def wanted(self) -> Wanted:
        return Wanted(distinct=(self.value,))

    def totals(self, found: Tallied) -> list[np.ndarray]:
        return [found.distinct[0]]


@dataclass(frozen=True, eq=False)
class CellsPart(RowsPart):
    """A histogram in each group: its bins or categories are further keys, so a record is in one cell."""

    cells: Bins | Categories

    @property
    def titles(self) -> tuple[str, ...]:
        if isinstance(self.cells, Bins):
            ends = list(pairwise(self.cells.edges))
            return tuple(f"{self.asked}_{low:g}_to_{high:g}" for low, high in ends)
        return tuple(f"{self.asked}_{member}" for member in self.cells.members)

    @property
    def wanted(self) -> Wanted:
        return Wanted(cells=(self.cells,))

    def reach(self, unit: Protected) -> Reach:
        # a record is in one cell of its group, but a user's records of a group may be in one cell or in many
        most = unit.most
        found = reach_of(most, unit.relation, low=0, high=1)
        return Reach(found.l1, found.l2, min(unit.turns * most.l1, found.numbers * self.cells.count))

    def totals(self, found: Tallied) -> list[np.ndarray]:
        return list(found.cells[0].T)


@dataclass(frozen=True, eq=False)
class ColumnPart(AdditivePart):
    """What is asked of a column of numbers: each is clamped to the bounds and becomes whole steps of a grid."""

    asked: str
    title: str
    value: Expression
    bounds: tuple[float, float]
    missing: float | None

    @property
    def grid(self) -> SumGrid:
        """Its whole steps."""
        return SumGrid(self.bounds)

    @property
    def titles(self) -> tuple[str, ...]:
        return (self.title,)

    @property
    def wanted(self) -> Wanted:
        return Wanted(measures=(Measure(self.steps),))

    @property
    def steps(self) -> Steps:
        """How the column becomes whole steps."""
        return Steps(self.value, *self.grid.bounds, self.grid.centre, self.grid.power, self.missing)


@dataclass(frozen=True, eq=False)
class SumPart(ColumnPart):
    """The sum of a column of numbers, clamped to the bounds."""

    @property
    def size(self) -> float:
        return max(abs(end) for end in self.bounds)

    @property
    def _ends(self) -> tuple[int, int]:
        """The least and the largest number of steps, from 0, that a record adds."""
        grid = self.grid
        low, high = grid.centre_steps + grid.low, grid.centre_steps + grid.high
        return (low, high) if self.missing is not None else (min(low, 0), max(high, 0))

    def reach(self, unit: Protected) -> Reach:
        low, high = self._ends
        return reach_of(unit.most, unit.relation, low=low, high=high)

    def totals(self, found: Tallied) -> list[np.ndarray]:
        centre = self.grid.centre_steps
        total, records = exact_sums(found, abs(centre) + largest_step(self.grid))
        return [total + records * centre]

    def errors(self, level: NoiseLevel, unit: Protected, size: float, rate: float) -> dict[str, float]:
        noise = self.noise(level, unit) * self.grid.step / rate
        return {self.title: math.hypot(noise, self.size * of_sample(size, rate, unit.most.linf))}

    def answer(self, run: Answering) -> list[CellColumn]:
        noise = noised(self.totals(run.found), self.reach(run.unit), run.level, run.source)
        worth, totals = math.ldexp(self.grid.step, noise.shift), noise.totals[0]
        reach = reach_of_one(noise, run.noise_sure)
        low, high = self._ends
        ends: tuple[Any, Any] = (None, None)
        unit = max(abs(low), abs(high)) / 2**noise.shift * run.unit.most.linf
        if run.rate == 1 or low >= 0:
            ends = expanded(totals - reach, totals + reach, unit, run)
        elif high <= 0:
            most, least = expanded(-totals - reach, -totals + reach, unit, run)
            ends = -least, -most
        scaled = [None if end is None else worth * end for end in ends]
        return [CellColumn(self.title, totals * worth / run.rate, *scaled)]
