"""Median and quantiles with noise in proportion to their smooth sensitivity."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from hush.checks import number
from hush.curves.relation import Relation
from hush.errors import InvalidParameter
from hush.mechanisms.mechanism import Mechanism
from hush.randomness.integer_noise import LARGEST
from hush.releases.answer import Answer, Run
from hush.releases.noise.lattice import Lattice
from hush.releases.noise.smooth_noise import SmoothNoise
from hush.releases.query import Query
from hush.releases.statistics.ordered_records import OrderedRecords, ordered_records
from hush.releases.statistics.sensitivity import rank_of
from hush.releases.statistics.smooth_sensitivity import smooth_of_sorted

FINE = 36
"""By default the range has 2^36 to 2^37 steps: S is at least one step, and S/alpha at most 2^50 steps."""
SMOOTHER = 1 - 2.0**-10
"""S is made this much smoother than the noise needs, which pays for its rounding errors."""
LARGER = 1 + 2.0**-36
"""And this much larger: it is never below the true smooth sensitivity."""


@dataclass(frozen=True, kw_only=True)
class SmoothQuantile(Query):
    """The p-quantile within public bounds, plus noise in proportion to its smooth sensitivity.

    Nissim, Raskhodnikova, Smith 2007, for replacing one of a fixed, public number of records. The answer is a whole
    number of steps, so is the noise, which is the continuous one rounded, drawn exactly: rounding is
    post-processing, and costs nothing. The exponential mechanism (`Quantile`) is more accurate nearly always.

    >>> import hush
    >>> query = SmoothQuantile(p=0.5, bounds=(0, 1000), noise=hush.releases.SmoothLaplace(epsilon=1.0, delta=1e-6))
    >>> abs(query.release(range(1001), source=hush.SeededSource(1)).value - 500) < 250
    True
    """

    p: float
    bounds: tuple[float, float]
    noise: SmoothNoise
    step: float | None = None
    relation: Relation = field(default=Relation.REPLACE, init=False)

    def __post_init__(self) -> None:
        who = type(self).__name__
        object.__setattr__(self, "p", number(who, "0 <= p <= 1", 0.0, 1.0, p=self.p))
        if not isinstance(self.noise, SmoothNoise):
            raise InvalidParameter(who, "noise such as SmoothLaplace(epsilon=1.0, delta=1e-6)", noise=self.noise)
        points = self._lattice().points
        if points > 2**FINE * 4:
            raise InvalidParameter(who, "at most 2^38 steps within the bounds", step=self.step)
        # the widest noise of any data: whether it can be drawn must not show how wide it is on these
        if points * LARGER > LARGEST * self.noise.alpha:
            rule = "at most 2^50 alpha steps within the bounds: a coarser step, or more epsilon"
            raise InvalidParameter(who, rule, step=self.step, alpha=self.noise.alpha)

    def _lattice(self) -> Lattice:
        return Lattice.within(self.bounds, step=self.step, who=type(self).__name__, fine=FINE)

    @property
    def mechanism(self) -> Mechanism:
        return self.noise.mechanism

    def answer(self, run: Run) -> Answer:
        lattice = self._lattice()
        records = ordered_records(run.table, lattice)
        centre, smooth = centre_and_smooth(records, p=self.p, beta=self.noise.beta, lattice=lattice)
        noisy = centre + self.noise.draw(run.source, smooth / self.noise.alpha)
        return Answer(lattice.value(min(max(noisy, lattice.first), lattice.last)), None, None)


@dataclass(frozen=True, kw_only=True)
class SmoothMedian(SmoothQuantile):
    """The median, plus noise in proportion to its smooth sensitivity: `SmoothQuantile` at p = 1/2."""

    p: float = field(default=0.5, init=False)

    def audit_records(self) -> tuple[list[float], float]:
        """The third of three records decides the median."""
        return [0.0, 1.0], 1.0


def centre_and_smooth(records: OrderedRecords, *, p: float, beta: float, lattice: Lattice) -> tuple[int, float]:
    """The quantile as a lattice index, and its smooth sensitivity in steps, at least 1: a beta-smooth upper bound.

    Ranks farther than log(points)/beta cannot matter, as one step is the least value. Of no records the quantile
    is the first point.
    """
    size = records.size
    if size == 0:
        return lattice.first, float(lattice.points)
    rank, rate = rank_of(size, p), beta * SMOOTHER
    reach = math.ceil(math.log(lattice.points + 1) / rate) + 2
    first, last = max(rank - reach, 1), min(rank + reach, size)
    near = records.window(first, last)
    ends = float(lattice.first), float(lattice.last)
    smooth = smooth_of_sorted(near, rank=rank - first + 1, beta=rate, bounds=ends)
    return int(near[rank - first]), max(smooth, 1.0) * LARGER
