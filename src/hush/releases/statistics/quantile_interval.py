"""A quantile with an interval that is itself private: two more quantiles, far enough away in rank."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from hush.checks import count
from hush.curves.relation import Relation
from hush.errors import InvalidParameter
from hush.mechanisms.leaves.exponential_mechanism import Exponential
from hush.mechanisms.mechanism import Mechanism
from hush.releases.answer import Answer, Run
from hush.releases.noise.lattice import Lattice
from hush.releases.noise.quantile_selection import draw_quantile
from hush.releases.release import Interval
from hush.releases.statistics.ordered_records import ordered_records
from hush.releases.statistics.quantile import Quantile, change_of_loss


@dataclass(frozen=True, kw_only=True)
class QuantileInterval(Quantile):
    """The p-quantile and a confidence interval for it, each of the three numbers with a third of epsilon.

    The exponential mechanism is more than r ranks off with probability at most (points of the lattice) exp(-eta r). So
    the ends are drawn at p - d and p + d, with d n beyond r, and on a sample beyond r and the sampling error of a rank
    together (Hoeffding 1963, which holds without replacement too). The number of records must be public: it is under
    REPLACE; else `size` is a number that the table is known to have at least (before sampling). It is the quantile of
    the numbers as they are moved to the lattice. On samples that are not covered the interval is the bounds.

    >>> import hush
    >>> query = QuantileInterval(p=0.5, bounds=(0, 1000), epsilon=3.0, size=10_000)
    >>> found = query.release([k / 10 for k in range(10_001)], source=hush.SeededSource(1))
    >>> 500 in found.noise_interval, found.noise_interval.high - found.noise_interval.low < 40
    (True, True)
    """

    size: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        who = "QuantileInterval"
        if self.relation is Relation.REPLACE:
            if self.size is not None:
                raise InvalidParameter(who, "no size under REPLACE: the number of records is public", size=self.size)
        else:
            object.__setattr__(self, "size", count(who, 1, size=self.size))

    @property
    def mechanism(self) -> Mechanism:
        return Exponential(epsilon=self.epsilon / 3, relation=self.relation).repeat(3)

    def answer(self, run: Run) -> Answer:
        lattice = Lattice.within(self.bounds, step=self.step)
        records = ordered_records(run.table, lattice)
        apart = self._apart(run, lattice, records.size)
        ends = max(self.p - apart, 0.0), self.p, min(self.p + apart, 1.0)
        found = []
        for p in map(Fraction, ends):
            index = draw_quantile(
                run.source,
                window=records.window,
                size=records.size,
                p=p,
                eta=self._eta(p),
                lattice=lattice,
            )
            found.append(lattice.value(index))
        low = found[0] if self.p - apart > 0 else lattice.value(lattice.first)
        high = found[2] if self.p + apart < 1 else lattice.value(lattice.last)
        interval = Interval(min(low, found[1]), max(high, found[1]), run.confidence)
        return Answer(found[1], interval, interval)

    def _eta(self, p: Fraction) -> Fraction:
        return Fraction(self.epsilon / 3) / (2 * change_of_loss(p, self.relation))

    def _apart(self, run: Run, lattice: Lattice, records: int) -> float:
        """How far from p, as a share, the ends are drawn: 1 where nothing can be said."""
        failure = 1 - run.confidence
        size = float(records if self.relation is Relation.REPLACE else self.size or 0)
        sampling = 0.0
        if run.scheme is not None:
            failure /= 3
            rate = run.scheme.expected_rate
            if rate is None:
                return 1.0
            if self.relation is not Relation.REPLACE:
                if not run.scheme.streams:
                    return 1.0
                # Chernoff: a binomial number is below its mean m by more than sqrt(2 m log(1/failure)) so rarely
                size *= rate
                size -= math.sqrt(2 * size * math.log(1 / failure)) if size > 0 else 0.0
            sampling = math.sqrt(math.log(2 / failure) / (2 * size)) if size > 0 else 1.0
        if size <= 0:
            return 1.0
        # eta is least at the extreme p, so that this number of ranks serves both ends
        ranks = math.log(2 * lattice.points / failure) / float(self._eta(Fraction(1)))
        return min((ranks + 2) / size + sampling, 1.0)
