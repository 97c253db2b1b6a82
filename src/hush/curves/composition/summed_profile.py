"""The whole profile of a sum of finite losses, made once and asked at many epsilons."""

from __future__ import annotations

import math

import numpy as np

from hush.arrays import Array
from hush.curves.composition.known_ends import below_the_mean
from hush.curves.composition.routes import GridRoute, Parts, RenyiRoute
from hush.curves.interval import Interval
from hush.curves.pairs.pair import Laws, deltas_of
from hush.curves.tradeoff import Ends, Profile
from hush.numerics.engines.contour_profile import delta_ends, made_lines
from hush.numerics.engines.grid_profile import PastEach
from hush.numerics.work import attempt, part

NARROW = 1e-7
"""Lattices are made where the lines leave more than this of delta open."""
PROBES = np.array([-10.0, -3.0, -1.0, -0.3, -0.1, -0.01, 0.0, 0.01, 0.1, 0.3, 1.0, 3.0, 10.0])
"""Where the lines are looked at to decide that."""
SIZE = 1 << 17
"""Points of such a lattice."""
LOG_DELTAS = (-0.5, -3.0, -12.0, -26.0)
"""One lattice is tilted for each of these: from delta near 1 to where a profile that is compared with 1 is 0."""
WIDE = 0.01
"""Where more than this of delta is open on a ladder of epsilons, simple bounds are asked too."""
LADDER = np.concatenate([[-40.0], PROBES, [40.0, 150.0, 700.0]])
"""The steps of that ladder: the probes, and far beyond them. Any steps are valid, as delta falls."""
LINES, LATTICES = 0.5, 0.8
"""Shares of the work that is left for the lines, and then for the lattices."""


def summed_profile(parts: Parts, laws: Laws) -> Profile:
    """epsilons -> bounds on delta of the sum, given that no loss is infinite, from lines and lattices."""
    with part(LINES):
        lines = attempt(lambda: made_lines(laws), [])
    low, high = delta_ends(lines, PROBES)
    lattices = [] if np.all(high - low <= NARROW) else _lattices(GridRoute(parts, laws))

    def engines(epsilons: Array) -> Ends:
        low, high = delta_ends(lines, epsilons)
        for below, above in lattices:
            low, high = np.maximum(low, below.deltas(epsilons)), np.minimum(high, above.deltas(epsilons))
        return low, high

    least, most = engines(LADDER)
    for place in (most - least > WIDE).nonzero()[0].tolist():
        a, b = _known_at_once(laws, float(LADDER[place]))
        least[place], most[place] = max(least[place], a), min(most[place], b)
    least, most = np.append(least, 0.0), np.append(1.0, most)

    def ends(epsilons: Array) -> Ends:
        low, high = engines(epsilons)
        # delta falls: it is at least what it is at the next step of the ladder, and at most what it is at the last
        low = np.maximum(low, least[np.searchsorted(LADDER, epsilons)])
        return low, np.minimum(high, most[np.searchsorted(LADDER, epsilons, side="right")])

    return ends


def _known_at_once(laws: Laws, epsilon: float) -> Interval:
    """What holds without an engine: delta is near 1 far below the mean loss, and Markov bounds it far above."""
    low = attempt(lambda: below_the_mean(laws, epsilon), -math.inf)
    high = attempt(lambda: RenyiRoute(laws).log_delta(epsilon, 0.0)[1], 0.0)
    below, above = deltas_of([(low, high)])
    return float(below[0]), float(above[0])


def _lattices(route: GridRoute) -> list[tuple[PastEach, PastEach]]:
    """Both sides of a lattice law for each of a few deltas, as far as the work that is left allows."""

    def made(log_delta: float) -> tuple[PastEach, PastEach]:
        found = route.bracket(SIZE, log_delta)
        return PastEach.of(found.lower, -1), PastEach.of(found.upper, 1)

    with part(LATTICES):
        found = [attempt(lambda target=log_delta: made(target), None) for log_delta in LOG_DELTAS]
    return [both for both in found if both]
