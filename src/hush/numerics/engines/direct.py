"""Few losses on a lattice, convolved term by term: for tails that no tilt can follow.

Serves what neither the contour nor the tilted transform can: a handful of losses whose moments are ruled by events
far rarer than delta. The error terms are listed in docs/theory/error-budget.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hush.arrays import Array
from hush.numerics.engines.grid import Bracket, dot
from hush.numerics.engines.loss_lattice import LatticeLaw, all_added, discretise, meeting, support
from hush.numerics.engines.loss_source import LossSource
from hush.numerics.work import spend

SUM_ROUNDING = 1e-10
"""Relative error of sums of positive numbers: 20,000 terms in each of twenty products, each rounded the worst way."""
UNDERFLOWED = 1e-310
"""What products of masses that fell below the least float may have lost in all: room for 1e13 of them."""
LEAST, LOG_LEAST = 1e-305, -700.0
"""Below this a sum has no digits left: from below it is 0, and from above e^-700, which is larger."""
NARROWEST = 1e-12
"""The width of a law that has one place only."""


@dataclass(frozen=True, eq=False)
class ConvolvedLaw:
    """The law of a sum of few losses by direct convolution: only positive numbers are added, so no digits are lost."""

    losses: Array
    mass: Array
    at_infinity: float
    """P-mass of an infinite loss among them."""
    sure: float
    """Largest epsilon that is exceeded wherever the sum lies past the end of its lattice."""
    early: float
    """At most so much of the infinite mass lies past the end of one part's lattice, the others being anywhere."""
    sure_early: float
    """Largest epsilon that is exceeded there: that end, and the first losses of the others."""

    def log_delta(self, epsilon: float, side: int) -> float:
        """Bound on log delta(epsilon) from one side: -1 below, +1 above."""
        start = int(np.searchsorted(self.losses, epsilon, side="right"))
        spend(3 * (len(self.losses) - start))
        gap = self.losses[start:] - epsilon
        value = (dot(self.mass[start:], -np.expm1(-gap)) + side * UNDERFLOWED) * (1 + side * SUM_ROUNDING)
        if side > 0 or epsilon <= self.sure:
            sure = (
                self.at_infinity if side > 0 or epsilon <= self.sure_early else max(self.at_infinity - self.early, 0.0)
            )
            value += sure * (1 + side * SUM_ROUNDING)
        return min(math.log(value), 0.0) if value > LEAST else -math.inf if side < 0 else LOG_LEAST


def convolve(laws: Sequence[tuple[LatticeLaw, int]], step: float, points: int) -> ConvolvedLaw:
    """Sum the lattice laws without a transform, on so many points at the most."""
    total = all_added(laws, lambda a, b: _at_most(a.added(b), step, points))
    ends = [len(law.mass) for law, _ in laws if law.at_infinity > 0]
    return ConvolvedLaw(
        total.first + step * np.arange(len(total.mass)),
        total.mass,
        total.at_infinity,
        total.first + step * (points - 2),
        sum(n * law.at_infinity for law, n in laws),
        total.first + step * (min([points, *ends]) - 2),
    )


def _at_most(law: LatticeLaw, step: float, points: int) -> LatticeLaw:
    """What lies past so many points goes to the last and to infinity, its P- and Q-mass kept."""
    if len(law.mass) <= points:
        return law
    past, gap = law.mass[points:], step * np.arange(1, len(law.mass) - points + 1)
    mass = law.mass[:points].copy()
    mass[-1] += dot(past, np.exp(-gap))
    return LatticeLaw(law.first, mass, law.at_infinity + dot(past, -np.expm1(-gap)))


def direct_bracket(
    sources: Sequence[LossSource], size: int, log_cut: float, ceiling: float = math.inf
) -> Bracket[ConvolvedLaw]:
    """Both laws of a sum of few losses, whatever their tails: there is no tilt to choose.

    For epsilon up to the ceiling, losses that make the sum exceed it whatever the others are need no places of
    their own: only their P- and Q-mass matters.
    """
    ranges = [support(source, log_cut) for source in sources]
    least = sum(s.times * low for s, (low, _) in zip(sources, ranges, strict=True))
    if not ceiling > least:  # every sum exceeds it
        ceiling = math.inf
    ranges = [(low, min(high, ceiling - least + low)) for low, high in ranges]
    widest = max(NARROWEST, *(high - low for low, high in ranges))
    count = sum(s.times for s in sources)
    reach = min(ceiling - least, sum(s.times * (high - low) for s, (low, high) in zip(sources, ranges, strict=True)))
    step = meeting(sources, max(widest, reach) / size)
    ranges = [(low, high + 4 * count * step) for low, high in ranges]
    both = [(*discretise(s, step, *r, lump=True), s.times) for s, r in zip(sources, ranges, strict=True)]
    everything = sum(n * len(above.mass) for above, _, n in both)
    points = math.ceil(min((ceiling - least) / step + 4 * count + 8, everything))
    return Bracket(
        convolve([(above, n) for above, _, n in both], step, points),
        convolve([(below, n) for _, below, n in both], step, points),
    )
