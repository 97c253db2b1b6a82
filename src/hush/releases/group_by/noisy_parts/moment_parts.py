"""Means and variances per group, from totals whose noise is that of one; they tell the number of records too."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hush.releases.group_by.contributions import Reach, reach_of
from hush.releases.group_by.noisy_parts.count_parts import ColumnPart, RowsPart, expanded, largest_step
from hush.releases.group_by.noisy_parts.group_noise import noised, reach_of_one, reach_of_two
from hush.releases.group_by.noisy_parts.parts import (
    Answering,
    CellColumn,
    NoiseLevel,
    NoisyGroups,
    Part,
    Protected,
    Wanted,
    exact_sums,
    of_sample,
)
from hush.releases.noise.exact_sums import SQUARE_BITS, SumGrid
from hush.releases.statistics.sampling_error import mean_range
from hush.releases.tables.tally import Measure, Tallied


@dataclass(frozen=True, eq=False)
class MeanPart(ColumnPart):
    """The mean of a column, from the sums of x - low and high - x: a record moves both together by high - low.

    Their sum tells the number of records. So `rows`, the name of a column of counts, costs nothing where it is asked
    for too, unless records without a value are left out.
    """

    rows: str | None = None

    @property
    def titles(self) -> tuple[str, ...]:
        return (self.title,) if self.rows is None else (self.rows, self.title)

    @property
    def size(self) -> float:
        return self.bounds[1] - self.bounds[0]

    def reach(self, unit: Protected) -> Reach:
        return reach_of(unit.most, unit.relation, low=0, high=self.grid.high - self.grid.low, numbers=2, spread=True)

    def totals(self, found: Tallied) -> list[np.ndarray]:
        grid = self.grid
        total, records = exact_sums(found, 2 * largest_step(grid))
        return [total - records * grid.low, records * grid.high - total]

    def errors(self, level: NoiseLevel, unit: Protected, size: float, rate: float) -> dict[str, float]:
        one = self.noise(level, unit) / (self.grid.high - self.grid.low)
        # (1-u) and u times the two noises, u the mean's place between the bounds: at most one of them
        drawn = of_sample(size, rate, unit.most.linf) / size / 2
        found = {self.title: min(math.hypot(one / (size * rate), drawn), 0.5) * self.size}
        if self.rows is None:
            return found
        return {self.rows: math.hypot(math.sqrt(2) * one / rate, of_sample(size, rate, unit.most.linf)), **found}

    def answer(self, run: Answering) -> list[CellColumn]:
        noise = noised(self.totals(run.found), self.reach(run.unit), run.level, run.source)
        one = (self.grid.high - self.grid.low) / 2**noise.shift
        above, below = noise.totals
        high, low = np.maximum(above, 0.0), np.maximum(below, 0.0)
        at = (high + np.maximum(one - high - low, 0.0) / 2) / np.maximum(high + low, one)
        ends = (None if place is None else self._value(place) for place in self._places(run, noise, one))
        mean = CellColumn(self.title, self._value(at), *ends)
        return [mean] if self.rows is None else [counted_from_two(self.rows, run, noise, one), mean]

    def _places(self, run: Answering, noise: NoisyGroups, one: float) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Where the mean lies between the bounds, from 0 to 1."""
        reach = reach_of_one(noise, 1 - (1 - run.noise_sure) / 2)
        least, few = (np.maximum(total - reach, 0.0) for total in noise.totals)
        most, many = (np.maximum(total + reach, 0.0) for total in noise.totals)
        with np.errstate(invalid="ignore"):
            low = np.where(least > 0, least / (least + many), 0.0)
            high = np.where(few > 0, most / (most + few), 1.0)
        if run.rate == 1:
            return low, high
        if run.unit.users:  # records of one user are drawn together: how far their mean is off is not known
            return None, None
        fewest = (noise.totals[0] + noise.totals[1] - 2 * reach) / one
        return of_population(low, high, fewest, 1 - run.noise_sure)

    def _value(self, place: np.ndarray) -> np.ndarray:
        place, (low, high) = np.clip(place, 0.0, 1.0), self.bounds
        return np.clip((1 - place) * low + place * high, low, high)


@dataclass(frozen=True, eq=False)
class VariancePart(ColumnPart):
    """The variance of a column: with u in [0, 1], the totals of u^2, (1-u)^2 and 2u(1-u), which sum to 1 per record."""

    @property
    def grid(self) -> SumGrid:
        """Its whole steps, whose squares are added up."""
        return SumGrid(self.bounds, SQUARE_BITS)

    @property
    def wanted(self) -> Wanted:
        return Wanted(measures=(Measure(self.steps), Measure(self.steps, degree=2)))

    @property
    def size(self) -> float:
        return (self.bounds[1] / 2 - self.bounds[0] / 2) ** 2

    @property
    def _one(self) -> int:
        return (self.grid.high - self.grid.low) ** 2

    def reach(self, unit: Protected) -> Reach:
        return reach_of(unit.most, unit.relation, low=0, high=self._one, numbers=3, spread=True)

    def totals(self, found: Tallied) -> list[np.ndarray]:
        low, high = self.grid.low, self.grid.high
        once, twice, records = exact_sums(found, 8 * largest_step(self.grid) ** 2)
        return [
            twice - 2 * low * once + records * (low * low),
            twice - 2 * high * once + records * (high * high),
            2 * ((low + high) * once - twice - records * (low * high)),
        ]

    def errors(self, level: NoiseLevel, unit: Protected, size: float, rate: float) -> dict[str, float]:
        # the derivative by the three totals has a norm of at most 2, in units of half the width squared
        drawn = of_sample(size, rate, unit.most.linf) / size / 2
        noise = 2 * self.noise(level, unit) / self._one / (size * rate)
        return {self.title: min(math.hypot(noise, drawn), 0.5) * self.size}

    def answer(self, run: Answering) -> list[CellColumn]:
        noise = noised(self.totals(run.found), self.reach(run.unit), run.level, run.source)
        places = noise.totals / (self._one / 2**noise.shift)
        reach = reach_of_one(noise, 1 - (1 - run.noise_sure) / 3) / (self._one / 2**noise.shift)
        above, below, between = np.maximum(places, 0.0)
        records = np.maximum(above + below + between, 1.0)
        first = np.clip((above - below) / records, -1.0, 1.0)
        value = np.clip((above + below - between) / records - first**2, 0.0, 1.0)
        ends = self._range(run, places, reach)
        return [
            CellColumn(self.title, self._scaled(value), *(None if end is None else self._scaled(end) for end in ends))
        ]

    def _range(self, run: Answering, places: np.ndarray, reach: float) -> tuple[np.ndarray | None, np.ndarray | None]:
        """All variances that the three totals allow, each within reach of its noisy value."""
        above, below, between = places
        fewest, most = np.maximum(places.sum(axis=0) - 3 * reach, 0.0), places.sum(axis=0) + 3 * reach
        first = _quotient(above - below - 2 * reach, above - below + 2 * reach, fewest, most)
        rest = above + below - between
        second = _quotient(rest - 3 * reach, rest + 3 * reach, fewest, most)
        if run.rate < 1:
            if run.unit.users:
                return None, None
            failure = (1 - run.noise_sure) / 2
            ends = of_population((first[0] + 1) / 2, (first[1] + 1) / 2, fewest, failure)
            first = 2 * ends[0] - 1, 2 * ends[1] - 1
            second = of_population(*second, fewest, failure)
        squares = first[0] ** 2, first[1] ** 2
        least = np.where((first[0] <= 0) & (first[1] >= 0), 0.0, np.minimum(*squares))
        return np.clip(second[0] - np.maximum(*squares), 0.0, 1.0), np.clip(second[1] - least, 0.0, 1.0)

    def _scaled(self, variance: np.ndarray) -> np.ndarray:
        return variance * self.size


def _quotient(low: np.ndarray, high: np.ndarray, fewest: np.ndarray, most: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The range of a total over the number of records, within [-1, 1]."""
    few, many = np.maximum(fewest, 1.0), np.maximum(most, 1.0)
    known = fewest >= 1
    least, largest = low / np.where(low < 0, few, many), high / np.where(high < 0, many, few)
    return np.where(known, np.clip(least, -1, 1), -1.0), np.where(known, np.clip(largest, -1, 1), 1.0)


def of_population(
    low: np.ndarray, high: np.ndarray, fewest: np.ndarray, failure: float
) -> tuple[np.ndarray, np.ndarray]:
    """Where means of all records lie, if those of samples of so many lie there."""
    ends = [mean_range(a, b, n, failure) for a, b, n in zip(low.tolist(), high.tolist(), fewest.tolist(), strict=True)]
    return np.array([end for end, _ in ends]), np.array([end for _, end in ends])


def counted_from_two(name: str, run: Answering, noise: NoisyGroups, one: float) -> CellColumn:
    """The number of records, from two totals that sum to `one` per record."""
    totals, reach = noise.totals.sum(axis=0) / one, reach_of_two(noise, run.noise_sure) / one
    low, high = expanded(totals - reach, totals + reach, run.unit.most.linf, run)
    return CellColumn(name, np.rint(totals).astype(np.int64) if run.rate == 1 else totals / run.rate, low, high)


def with_free_rows(parts: Sequence[Part]) -> tuple[Part, ...]:
    """A count of records costs nothing beside a mean of a column from which no record is left out."""
    rows = [part for part in parts if type(part) is RowsPart]
    means = [part for part in parts if isinstance(part, MeanPart) and part.missing is not None]
    if not rows or not means:
        return tuple(parts)
    kept = [part for part in parts if part is not rows[0]]
    free: Part = replace(means[0], rows=rows[0].asked)
    return tuple(free if part is means[0] else part for part in kept)
