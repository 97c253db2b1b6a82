"""Counts, sums and means of bounded numbers."""

from __future__ import annotations

from dataclasses import dataclass

from hush.checks import positive
from hush.curves.relation import Relation
from hush.errors import InvalidParameter, NotCovered
from hush.releases.answer import Answer, Run
from hush.releases.noise.exact_sums import SumGrid, checked_bounds, clamped, worth
from hush.releases.noise.noisy_query import NoisyQuery
from hush.releases.release import Interval
from hush.releases.statistics.sampling_error import expansion_reach, mean_range, total_range


@dataclass(frozen=True, kw_only=True)
class Count(NoisyQuery):
    """How many records there are; on a sample, how many there are in all.

    >>> import hush
    >>> Count(epsilon=0.5).mechanism.epsilon(delta=0).upper
    0.5
    """

    @property
    def noun(self) -> str:
        return "number of records"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.relation is Relation.REPLACE:
            raise NotCovered("a count under REPLACE: the number of records is public there. Take ADD_REMOVE")

    @property
    def reads(self) -> str:
        return ""

    def answer(self, run: Run) -> Answer:
        rate, level = run.rate, failure_split(run)
        found, _ = self.noised([run.table.rows()], l1=1, l2=1.0, source=run.source)
        (total,) = found.totals
        noise = total - found.reach(run.confidence), total + found.reach(run.confidence)
        inner = total - found.reach(level), total + found.reach(level)
        value = round(total) if rate == 1 else total / rate
        whole = expanded(inner, 1.0, rate, 1 - level)
        return Answer(
            value, Interval(noise[0] / rate, noise[1] / rate, run.confidence), Interval(*whole, run.confidence)
        )


@dataclass(frozen=True, kw_only=True)
class BoundedQuery(NoisyQuery):
    """A query of numbers that are clamped to public bounds."""

    bounds: tuple[float, float]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "bounds", checked_bounds(type(self).__name__, self.bounds))


@dataclass(frozen=True, kw_only=True)
class Sum(BoundedQuery):
    """The sum of numbers that are clamped to the bounds; on a sample, an estimate of the sum over all records.

    A record moves it by at most max(|low|, |high|) when added, and by high - low when replaced. NaN counts as low.

    >>> import hush
    >>> found = Sum(bounds=(0, 10), epsilon=1.0).release([1.0, 2.0, 99.0], source=hush.SeededSource(1))
    >>> abs(found.value - 13) < 100
    True
    """

    def answer(self, run: Run) -> Answer:
        grid, rate, level = SumGrid(self.bounds), run.rate, failure_split(run)
        total, records = run.table.added(lambda batches: grid.sums(batches, powers=1), numbers=True)
        ends = grid.centre_steps + grid.low, grid.centre_steps + grid.high
        # under REPLACE the number of records is public: what the centre adds up to needs no noise
        replaced, middle = self.relation is Relation.REPLACE, records * grid.centre_steps
        most = ends[1] - ends[0] if replaced else max(abs(ends[0]), abs(ends[1]))
        found, shift = self.noised([total if replaced else total + middle], l1=most, l2=float(most), source=run.source)
        power = grid.power + grid.scaling + shift
        steps = found.totals[0] + (middle / 2**shift if replaced else 0.0)
        noise, inner = ((steps - r, steps + r) for r in (found.reach(run.confidence), found.reach(level)))
        unit, failure = max(abs(ends[0]), abs(ends[1])) / 2**shift, 1 - level
        whole: tuple[float, float] | None
        if rate < 1 and ends[0] < 0 < ends[1]:
            whole = None  # what positive and negative records cancel is not known
        elif ends[1] <= 0:
            high, low = expanded((-inner[1], -inner[0]), unit, rate, failure)
            whole = -low, -high
        else:
            whole = expanded(inner, unit, rate, failure)
        scaled = [
            None if r is None else Interval(worth(r[0], power), worth(r[1], power), run.confidence)
            for r in ((noise[0] / rate, noise[1] / rate), whole)
        ]
        return Answer(worth(steps / rate, power), scaled[0], scaled[1])


@dataclass(frozen=True, kw_only=True)
class Mean(BoundedQuery):
    """The mean of numbers that are clamped to the bounds (NaN counts as low).

    Under REPLACE the number of records is public, and the mean moves by (high - low)/n. Under ADD_REMOVE it is not:
    with `size`, a public number of records that is taken as given, the sum of the distances from the middle of the
    bounds gets noise, half as much. Without it two sums get noise, of x - low and of high - x: a record moves both
    together by high - low, and their sum tells the number of records, so nothing is spent on that.

    >>> import hush
    >>> data = [3.0] * 1000
    >>> abs(Mean(bounds=(0, 10), epsilon=1.0, size=1000).release(data, source=hush.SeededSource(1)).value - 3) < 0.2
    True
    """

    size: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size is not None:
            positive("Mean", size=self.size)
            if self.relation is Relation.REPLACE:
                rule = "no size under REPLACE: there the number of records is public, and counted"
                raise InvalidParameter("Mean", rule, size=self.size)

    def answer(self, run: Run) -> Answer:
        grid = SumGrid(self.bounds)
        total, records = run.table.added(lambda batches: grid.sums(batches, powers=1), numbers=True)
        if self.relation is Relation.REPLACE:
            return self._by_number(run, grid, total, records)
        return self._by_ratio(run, grid, total, records) if self.size is None else self._by_size(run, grid, total)

    def _by_number(self, run: Run, grid: SumGrid, total: int, records: int) -> Answer:
        """One sum over a public number of records."""
        width = grid.high - grid.low
        found, shift = self.noised([total - records * grid.low], l1=width, l2=float(width), source=run.source)
        unit = max(records, 1) * width / 2**shift
        (steps,) = found.totals
        ranges = [
            ((steps - r) / unit, (steps + r) / unit) for r in map(found.reach, (run.confidence, failure_split(run)))
        ]
        whole = mean_range(*ranges[1], records, 1 - failure_split(run)) if run.rate < 1 else ranges[0]
        return self._answer(run, steps / unit, ranges[0], whole)

    def _by_size(self, run: Run, grid: SumGrid, total: int) -> Answer:
        """The sum of distances from the centre over the size that was given, times the rate on a sample."""
        half, width, level = max(-grid.low, grid.high), grid.high - grid.low, failure_split(run)
        found, shift = self.noised([total], l1=half, l2=float(half), source=run.source)
        size = float(self.size or 0)
        unit = size * run.rate * width / 2**shift
        centre = -grid.low / width
        (steps,) = found.totals
        at, reach, inner = (value / unit for value in (steps, found.reach(run.confidence), found.reach(level)))
        noise = centre + at - reach, centre + at + reach
        if run.rate < 1:
            inner += expansion_reach(size, half / width, run.rate, 1 - level) / size
        whole = (centre + at - inner, centre + at + inner) if run.rate < 1 else noise
        return self._answer(run, centre + at, noise, whole)

    def _by_ratio(self, run: Run, grid: SumGrid, total: int, records: int) -> Answer:
        """The sums of x - low and high - x, both with noise."""
        width, level = grid.high - grid.low, failure_split(run)
        above, below = total - records * grid.low, records * grid.high - total
        found, shift = self.noised([above, below], l1=width, l2=float(width), source=run.source)
        one = width / 2**shift
        noise, inner = (_ratio_range(found.totals, found.reach(1 - (1 - c) / 2)) for c in (run.confidence, level))
        fewest = (sum(found.totals) - 2 * found.reach(1 - (1 - level) / 2)) / one
        whole = mean_range(*inner, fewest, 1 - level) if run.rate < 1 else noise
        return self._answer(run, _ratio(found.totals, one), noise, whole)

    def _answer(self, run: Run, at: float, noise: tuple[float, float], whole: tuple[float, float]) -> Answer:
        """From places between the bounds, 0 to 1, to values."""
        low, high = self.bounds

        def value(place: float) -> float:
            place = clamped(place, 0.0, 1.0)
            return clamped((1 - place) * low + place * high, low, high)

        ranges = [Interval(value(a), value(b), run.confidence) for a, b in (noise, whole)]
        return Answer(value(at), ranges[0], ranges[1])


def _ratio(totals: tuple[float, ...], one: float) -> float:
    """above / (above + below), each at least 0 and together at least one record."""
    above, below = (max(total, 0.0) for total in totals)
    return (above + max(one - above - below, 0.0) / 2) / max(above + below, one)


def _ratio_range(totals: tuple[float, ...], reach: float) -> tuple[float, float]:
    """The least and the largest above / (above + below) within reach of both."""
    above, below = totals
    least, most = max(above - reach, 0.0), max(above + reach, 0.0)
    few, many = max(below - reach, 0.0), max(below + reach, 0.0)
    low = least / (least + many) if least > 0 else 0.0
    high = most / (most + few) if few > 0 else 1.0
    return low, high


def failure_split(run: Run) -> float:
    """The confidence that the noise alone needs: on a sample, noise and sampling each get half of what may fail."""
    return run.confidence if run.rate == 1 else 1 - (1 - run.confidence) / 2


def expanded(ends: tuple[float, float], unit: float, rate: float, failure: float) -> tuple[float, float]:
    """The total of all records from that of a sample at this rate, whose records are in [0, unit]."""
    if rate == 1:
        return ends
    low, high = total_range(ends[0] / unit, ends[1] / unit, rate, failure)
    return low * unit, high * unit
