"""Finite pairs above any pair: what has no analytic law is composed through a table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hush.arrays import Array
from hush.curves.pairs.finite import FinitePair, sampled
from hush.curves.pairs.pair import Interval, Pair, Share
from hush.curves.pairs.product import Product
from hush.curves.pairs.routes import GridRoute, RenyiRoute
from hush.curves.pairs.sampled import Mixed
from hush.errors import NotCovered
from hush.numerics.engines.grid import Summed

SIZE = 1 << 15
"""Points of a sketch: a table asks it at hundreds of epsilons."""


@dataclass(frozen=True)
class Sketch(Pair):
    """A product seen through two lattice laws above it: quick upper bounds at many epsilons."""

    product: Product

    @property
    def infinite(self) -> float:
        return self.product.infinite

    def swap(self) -> Pair:
        return self._mirror

    @cached_property
    def _mirror(self) -> Pair:
        swapped = self.product.swap()
        return Sketch(swapped) if isinstance(swapped, Product) else swapped

    def mix(self, rate: float) -> Pair:
        return Mixed(self, Share().mix(rate))

    def tails(self, losses: Array) -> tuple[Array, Array, Array, Array]:
        raise NotCovered("a sketch gives upper bounds only")

    @cached_property
    def _composed(self) -> tuple[Summed, ...]:
        route = GridRoute(self.product.parts, self.product.laws)
        return tuple(route.bracket(SIZE, log_delta).upper for log_delta in (-1.0, -12.0, -26.0))

    def log_delta(self, epsilon: float, tolerance: float = 1e-4) -> Interval:
        upper = min(composed.log_delta(epsilon, 1) for composed in self._composed)
        if self.infinite:
            upper = float(np.logaddexp(math.log(self.infinite), upper))
        return -math.inf, min(upper, 0.0)

    def epsilon(self, log_delta: float, tolerance: float = 1e-4, floor: float = 0.0) -> Interval:
        return 0.0, RenyiRoute(self.product.laws).epsilon(log_delta, tolerance)[1]


def tabulate(pair: Pair, points: int = 300) -> FinitePair:
    """A finite pair above any pair: upper bounds on its profile at many epsilons, joined by lines."""
    if isinstance(own := pair.table(), FinitePair):
        return own
    sketch, mirror = pair.sketched(), pair.swap().sketched()
    reaches = []
    for side in (sketch, mirror):
        log_delta = math.log(max(1e-13, side.infinite * (1 + 1e-6)))
        reaches.append(max(side.epsilon(log_delta, 1e-3)[1], 1e-9))
    if not all(math.isfinite(reach) for reach in reaches):
        raise NotCovered("a table of this profile needs a finite epsilon at some delta below 1")
    steps = np.concatenate([np.linspace(0, 1.1, points // 2), np.geomspace(1e-4, 0.1, points // 10)])
    sides = [reach * steps for reach in reaches]
    epsilons = np.unique(np.concatenate([sides[0], -sides[1]]))
    deltas = sampled(lambda e: math.exp(sketch.log_delta(e, 1e-4)[1]), epsilons)
    return FinitePair.from_profile(epsilons, np.maximum(deltas, -np.expm1(np.minimum(epsilons, 0.0))))
