"""The worst pair that meets stated (epsilon, delta) guarantees."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hush.curves.pairs.finite import CERTAIN_LOSS, FinitePair


def stated_points(epsilons: Sequence[float], deltas: Sequence[float]) -> FinitePair:
    """The worst pair that is (eps_i, delta_i)-DP for all i, in both directions.

    For one point it is the pair of Kairouz, Oh, Viswanath 2015: masses delta at the infinities, the rest at +-eps.
    For several the trade-off curve is the largest of theirs (Dong, Roth, Su 2022, Prop. 2.3), here as a profile:
    delta(-eps) = 1 - e^{-eps}(1 - delta(eps)) mirrors each point.

    >>> pair = stated_points([1.0], [1e-3])
    >>> pair.at_infinity, round(math.exp(pair.log_delta(1.0)[1]), 12)
    (0.001, 0.001)
    """
    points: dict[float, float] = {}
    for epsilon, delta in zip(epsilons, deltas, strict=True):
        if delta >= 1:  # says nothing
            continue
        points[epsilon] = min(points.get(epsilon, 1.0), delta)
        mirror = -math.expm1(-epsilon) + math.exp(-epsilon) * delta
        points[-epsilon] = min(points.get(-epsilon, 1.0), mirror)
    if not points:
        return CERTAIN_LOSS
    if len(points) == 2:
        epsilon, delta = max(points), points[max(points)]
        if epsilon > 0:
            high = (1 - delta) / (1 + math.exp(-epsilon))
            low = (1 - delta) * math.exp(-epsilon) / (1 + math.exp(-epsilon))
            return FinitePair(np.array([-epsilon, epsilon]), np.array([low, high]), delta, delta, 2 * epsilon)
    if max(points) == 0:
        delta = points[0.0]
        return FinitePair(np.zeros(1), np.array([1 - delta]), delta, delta, 1.0)
    ordered = np.array(sorted(points))
    return _mirrored(FinitePair.from_profile(ordered, np.array([points[e] for e in ordered])))


def _mirrored(pair: FinitePair) -> FinitePair:
    """A pair that is its own swap, made anew of its losses above 0: the others are differences of near numbers."""
    above = pair.losses > 0
    losses, mass, level = pair.losses[above], pair.mass[above], pair.losses == 0
    return FinitePair.ordered(
        np.concatenate([-losses[::-1], pair.losses[level], losses]),
        np.concatenate([(mass * np.exp(-losses))[::-1], pair.mass[level], mass]),
        pair.at_infinity,
        pair.at_infinity,
    )
