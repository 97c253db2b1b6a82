"""The variance of bounded numbers, from three sums whose noise is that of one."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hush.curves.relation import Relation
from hush.releases.answer import Answer, Run
from hush.releases.noise.exact_sums import SQUARE_BITS, SumGrid, clamped
from hush.releases.noise.noisy_query import ROOT_2
from hush.releases.release import Interval
from hush.releases.statistics.sampling_error import mean_range
from hush.releases.statistics.sums import BoundedQuery, failure_split


@dataclass(frozen=True, kw_only=True)
class Variance(BoundedQuery):
    """The mean squared distance from the mean, of numbers that are clamped to the bounds (NaN counts as low).

    With u in [0, 1] the place of a number between the bounds, u^2, (1-u)^2 and 2u(1-u) are not negative and sum to
    1: so a record moves their three totals by 1 in all when added, by 2 when replaced. Together they tell the number of
    records, the mean and the variance, and nothing is split.

    >>> import hush
    >>> found = Variance(bounds=(0, 10), epsilon=1.0).release([2.0, 4.0] * 500, source=hush.SeededSource(1))
    >>> abs(found.value - 1) < 0.5
    True
    """

    def answer(self, run: Run) -> Answer:
        grid, level = SumGrid(self.bounds, SQUARE_BITS), failure_split(run)
        totals, records = _bernstein(grid, run.table.added(lambda batches: grid.sums(batches, powers=2), numbers=True))
        one = (grid.high - grid.low) ** 2
        l1, l2 = (2 * one, ROOT_2 * one) if self.relation is Relation.REPLACE else (one, float(one))
        found, shift = self.noised(totals, l1=l1, l2=l2, source=run.source)
        unit = one / 2**shift
        places = tuple(total / unit for total in found.totals)
        public = float(records) if self.relation is Relation.REPLACE else None
        noise, inner = (_ranges(places, found.reach(1 - (1 - c) / 3) / unit, public) for c in (run.confidence, level))
        if run.rate < 1:
            inner = _of_population(inner, 1 - level)
        width = self.bounds[1] / 2 - self.bounds[0] / 2  # half of it: the variance of [-1, 1] is at most 1
        ranges = [
            Interval(_scaled(low, width), _scaled(high, width), run.confidence)
            for low, high in (_variance_range(noise), _variance_range(inner))
        ]
        return Answer(_scaled(_variance(places, public), width), ranges[0], ranges[1])


@dataclass(frozen=True)
class _Ranges:
    """Where the number of records, and the means of t and of t^2 lie, t = 2u - 1 in [-1, 1]."""

    fewest: float
    first: tuple[float, float]
    second: tuple[float, float]


def _bernstein(grid: SumGrid, sums: list[int]) -> tuple[list[int], int]:
    """Totals of u^2, (1-u)^2 and 2u(1-u), in units of the squared width, from those of k and k^2."""
    once, twice, records = sums
    low, high = grid.low, grid.high
    above = twice - 2 * low * once + records * low * low
    below = twice - 2 * high * once + records * high * high
    between = 2 * ((low + high) * once - twice - records * low * high)
    return [above, below, between], records


def _variance(places: tuple[float, ...], public: float | None) -> float:
    """E t^2 - (E t)^2 at the noisy totals, cut to what is possible."""
    above, below, between = (max(place, 0.0) for place in places)
    records = max(public if public is not None else above + below + between, 1.0)
    first = clamped((above - below) / records, -1.0, 1.0)
    return clamped((above + below - between) / records - first * first, 0.0, 1.0)


def _ranges(places: tuple[float, ...], reach: float, public: float | None) -> _Ranges:
    """All that the three totals allow, each within reach of its noisy value."""
    above, below, between = places
    if public is not None:
        most = fewest = max(public, 1.0)
    else:
        fewest, most = max(sum(places) - 3 * reach, 0.0), sum(places) + 3 * reach
    first = _quotient((above - below - 2 * reach, above - below + 2 * reach), fewest, most)
    rest = above + below - between
    return _Ranges(fewest, first, _quotient((rest - 3 * reach, rest + 3 * reach), fewest, most))


def _quotient(top: tuple[float, float], fewest: float, most: float) -> tuple[float, float]:
    """The range of top / records, within [-1, 1]."""
    if fewest < 1:
        return -1.0, 1.0
    low = top[0] / (fewest if top[0] < 0 else most)
    high = top[1] / (most if top[1] < 0 else fewest)
    return clamped(low, -1.0, 1.0), clamped(high, -1.0, 1.0)


def _of_population(found: _Ranges, failure: float) -> _Ranges:
    """The same for all records, where a sample was measured; the two means share what may fail."""
    low, high = mean_range((found.first[0] + 1) / 2, (found.first[1] + 1) / 2, found.fewest, failure / 2)
    second = mean_range(*found.second, found.fewest, failure / 2)
    return _Ranges(found.fewest, (2 * low - 1, 2 * high - 1), second)


def _variance_range(found: _Ranges) -> tuple[float, float]:
    low, high = found.first
    least = 0.0 if low <= 0 <= high else min(low * low, high * high)
    return (
        clamped(found.second[0] - max(low * low, high * high), 0.0, 1.0),
        clamped(found.second[1] - least, 0.0, 1.0),
    )


def _scaled(variance: float, half_width: float) -> float:
    """In the units of the data, cut at the largest float."""
    return min(variance * half_width * half_width, math.nextafter(math.inf, 0))
