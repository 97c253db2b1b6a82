"""Many quantiles at once by recursion (Kaplan, Schnapp, Stemmer 2022): the cost grows with the log of their number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from hush.arrays import Array
from hush.checks import number
from hush.curves.relation import Relation, checked_relation
from hush.errors import InvalidParameter
from hush.mechanisms.leaves.exponential_mechanism import Exponential
from hush.mechanisms.mechanism import Mechanism
from hush.randomness.keyed_source import KeyedSource
from hush.randomness.source import Source
from hush.releases.answer import Answer, Run
from hush.releases.noise.lattice import Lattice
from hush.releases.noise.quantile_selection import draw_quantile
from hush.releases.query import Query
from hush.releases.statistics.ordered_records import Counted, OrderedRecords, Sorted, held, without_nan

BITS = 52
"""Places within the range, those between two steps included."""


@dataclass(frozen=True, kw_only=True)
class Quantiles(Query):
    """Several quantiles of numbers within public bounds, in increasing order; epsilon is for all together.

    The middle one is drawn from all records, and splits them; the halves are then drawn from their own records, and so
    on. Each level looks at disjoint parts, so m quantiles cost 1 + log2(m) of one. A record is in one part of each
    level; a replaced one may leave one part and enter another, which the noise accounts for. Equal values are told
    apart by random bits below the step, so that they split evenly.

    >>> import hush
    >>> query = Quantiles(ps=(0.25, 0.5, 0.75), bounds=(0, 1000), epsilon=2.0)
    >>> [abs(v - p) < 60 for v, p in zip(query.release(range(1001)).value, (250, 500, 750))]
    [True, True, True]
    >>> query.mechanism == hush.Exponential(1.0).repeat(2)
    True
    """

    ps: Sequence[float]
    bounds: tuple[float, float]
    epsilon: float
    step: float | None = None
    relation: Relation = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        if isinstance(self.ps, str) or not isinstance(self.ps, Sequence | np.ndarray) or not 1 <= len(self.ps) <= 1000:
            raise InvalidParameter("Quantiles", "1 to 1000 numbers ps, each from 0 to 1", ps=self.ps)
        ps = tuple(number("Quantiles", "0 <= p <= 1 for each of ps", 0.0, 1.0, ps=p) for p in self.ps)
        if any(a >= b for a, b in pairwise(ps)):
            raise InvalidParameter("Quantiles", "ps in increasing order", ps=self.ps)
        object.__setattr__(self, "ps", ps)
        object.__setattr__(
            self, "epsilon", number("Quantiles", "1e-8 <= epsilon <= 500", 1e-8, 500.0, epsilon=self.epsilon)
        )
        checked_relation("Quantiles", self.relation)
        self._lattice()

    def _lattice(self) -> Lattice:
        return Lattice.within(self.bounds, step=self.step, who="Quantiles")

    @property
    def levels(self) -> int:
        """How often a record is looked at."""
        return len(self.ps).bit_length()

    @property
    def mechanism(self) -> Mechanism:
        return Exponential(epsilon=self.epsilon / self.levels, relation=self.relation).repeat(self.levels)

    def answer(self, run: Run) -> Answer:
        lattice = self._lattice()
        spare = max(BITS - lattice.points.bit_length(), 0)
        finer = Lattice(lattice.grid, 0, (lattice.points << spare) - 1)
        records = _told_apart(run, lattice, spare, finer)
        # half of the range of one level for each of the two parts that a replaced record may touch
        parts = 2 if self.relation is Relation.REPLACE else 1
        found = _split(
            run.source,
            _Part(records, 0, records.size),
            tuple(map(Fraction, self.ps)),
            (Fraction(0), Fraction(1)),
            Fraction(self.epsilon / self.levels) / (2 * parts),
            finer,
        )
        return Answer(tuple(lattice.value(lattice.first + (index >> spare)) for index in found), None, None)


def _told_apart(run: Run, lattice: Lattice, spare: int, finer: Lattice) -> OrderedRecords:
    """The records on a finer lattice, random bits below each step; a file that is read again gets the same ones."""
    values = held(run.table) if run.table.reader.again else run.table.array(numbers=True)

    def indices(batches: Iterator[Array], source: Source) -> Iterator[Array]:
        for piece in batches:
            places = lattice.indices(without_nan(piece, lattice)) - lattice.first
            yield (places << spare) | _low_bits(source, len(places), spare)

    if values is not None:
        return Sorted(next(indices(iter([values]), run.source)))
    key = KeyedSource.of(run.source)
    read = lambda function: [function(indices(run.table.batches(numbers=True), key.part(0)))]  # noqa: E731
    return Counted(read, first=finer.first, last=finer.last)


def _low_bits(source: Source, count: int, bits: int) -> Array:
    if not bits:
        return np.zeros(count, dtype=np.int64)
    return (source.words(count) >> np.uint64(64 - bits)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class _Part:
    """The records of ranks start + 1 to end."""

    records: OrderedRecords
    start: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.start

    def window(self, first: int, last: int) -> Array:
        return self.records.window(self.start + first, self.start + last)

    def cut(self, index: int, near: tuple[int, Array]) -> int:
        """How many records lie at or below the index, which is within the values of a window that was seen."""
        first, values = near
        while len(values) and values[-1] <= index and first + len(values) <= self.size:
            values = self.window(first, min(first + 2 * len(values), self.size))  # what is equal may go on
        return first - 1 + int(np.searchsorted(values, index, side="right"))


def _split(
    source: Source,
    part: _Part,
    ps: tuple[Fraction, ...],
    ends: tuple[Fraction, Fraction],
    half: Fraction,
    lattice: Lattice,
) -> list[int]:
    """The quantiles of the part of the records that lies between two shares; `half` is eta times the change of loss."""
    if not ps:
        return []
    place = len(ps) // 2
    low, high = ends
    p = (ps[place] - low) / (high - low)
    near = (1, np.empty(0, dtype=np.int64))

    def window(first: int, last: int) -> Array:
        nonlocal near
        near = first, np.maximum(part.window(first, last), lattice.first)
        return near[1]

    middle = draw_quantile(source, window=window, size=part.size, p=p, eta=half / max(p, 1 - p), lattice=lattice)
    cut = part.start + part.cut(middle, near)
    below = Lattice(lattice.grid, lattice.first, middle)
    above = Lattice(lattice.grid, min(middle + 1, lattice.last), lattice.last)
    return [
        *_split(source, _Part(part.records, part.start, cut), ps[:place], (low, ps[place]), half, below),
        middle,
        *_split(source, _Part(part.records, cut, part.end), ps[place + 1 :], (ps[place], high), half, above),
    ]
