"""A product seen through a few lattice laws above it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hush.curves.composition.routes import GridRoute, Parts, RenyiRoute, log_finite
from hush.curves.interval import Interval
from hush.curves.pairs.pair import Laws, Pair
from hush.numerics.engines.grid import Summed

SIZE = 1 << 15
"""Points of a sketch: a table asks it at hundreds of epsilons."""
LOG_DELTAS = (-1.0, -12.0, -26.0)
"""One lattice law is tilted for each of these: between them a table has all its points."""


@dataclass(frozen=True)
class Sketch(Pair):
    """The product of pairs that have a law: quick upper bounds at many epsilons."""

    parts: Parts

    @property
    def infinite(self) -> float:
        return self._infinite

    @cached_property
    def _infinite(self) -> float:
        return -math.expm1(log_finite(self.parts))

    @cached_property
    def _laws(self) -> Laws:
        return tuple((pair.law(), n) for pair, n in self.parts)

    def swap(self) -> Pair:
        return self._mirror

    @cached_property
    def _mirror(self) -> Sketch:
        return Sketch(tuple((pair.swap(), n) for pair, n in self.parts))

    @cached_property
    def _composed(self) -> tuple[Summed, ...]:
        route = GridRoute(self.parts, self._laws)
        return tuple(route.bracket(SIZE, log_delta).upper for log_delta in LOG_DELTAS)

    def log_delta(self, epsilon: float, tolerance: float = 1e-4) -> Interval:  # noqa: ARG002
        upper = min(composed.log_delta(epsilon, 1) for composed in self._composed)
        if self._infinite:
            upper = float(np.logaddexp(math.log(self._infinite), upper))
        return -math.inf, min(upper, 0.0)

    def epsilon(self, log_delta: float, tolerance: float = 1e-4, floor: float = 0.0) -> Interval:  # noqa: ARG002
        return 0.0, RenyiRoute(self._laws).epsilon(log_delta, tolerance)[1]
