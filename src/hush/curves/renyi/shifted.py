"""Shifted Rényi divergence: what is left of a divergence when one side may first be moved a little.

D^(z)(mu || nu) is the least D(mu' || nu) over all mu' within infinity-Wasserstein distance z of mu (Feldman, Mironov,
Talwar, Thakurta 2018, Sec. 3). Noise lowers the shift that has to be granted, at a price R(noise, a), and that is how
the noise of later steps hides a difference that earlier steps have made.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hush.arrays import Array
from hush.checks import number

WHO = "A shifted divergence"
TOUCHING = 1e-12
"""Cumulated masses may cross by this where they meet: they are sums of some thousand floats below 1."""
NO_MASS = 1e-15
"""Mass of p up to this where q has none is rounding, and no infinite divergence."""


def gaussian_shifted_divergence(order: float, distance: float, deviation: float, shift: float) -> float:
    """D^(z) of two normals of one deviation: order * max(distance - z, 0)^2 / (2 deviation^2), exactly.

    Moving mu by z towards nu attains it. Nothing beats that: the likelihood ratio then falls in the direction of nu,
    all mass has moved that way as far as it may, and the divergence is convex.

    >>> gaussian_shifted_divergence(2.0, distance=3.0, deviation=1.0, shift=1.0)
    4.0
    """
    _check(order, shift)
    return order * max(distance - shift, 0.0) ** 2 / (2 * deviation**2)


def gaussian_noise_cost(order: float, deviation: float, shift: float) -> float:
    """R(noise, a), the largest divergence of the noise from itself moved by at most a: order a^2/(2 deviation^2).

    Feldman et al. 2018, Sec. 3; for Gaussian noise in any dimension and the L2 norm.

    >>> gaussian_noise_cost(2.0, deviation=2.0, shift=1.0)
    0.25
    """
    _check(order, shift)
    return order * shift**2 / (2 * deviation**2)


def laplace_noise_cost(order: float, scale: float, shift: float) -> float:
    """R(noise, a) for Laplace noise on the line (Mironov 2017, Prop. 6): it grows with the shift.

    >>> laplace_noise_cost(2.0, scale=1.0, shift=1.0)
    0.619123...
    """
    _check(order, shift)
    gain = shift / scale
    high = math.log(order / (2 * order - 1)) + (order - 1) * gain
    low = math.log((order - 1) / (2 * order - 1)) - order * gain
    return float(np.logaddexp(high, low)) / (order - 1)


def lattice_noise_cost(order: float, noise: Sequence[float] | Array, shift: int) -> float:
    """R(noise, a) for noise on the integers: the worst whole shift up to a, either way.

    >>> lattice_noise_cost(2.0, [0.25, 0.5, 0.25], 0)
    0.0
    """
    _check(order, shift)
    wide = np.pad(np.asarray(noise, dtype=float), shift)
    moved = [np.roll(wide, k) for k in range(-shift, shift + 1)]
    return float(np.max([_divergence(order, other, wide) for other in moved]))


def lattice_shifted_divergence(
    order: float, p: Sequence[float] | Array, q: Sequence[float] | Array, shift: int
) -> float:
    """D^(z)(p || q) of two distributions on the integers, as the shortest string through a tube.

    On the line mu' is within z of mu if its distribution function stays between those of mu moved right and left by
    z. Drawn against the distribution function of q, the taut string in that tube is the curve whose slopes, the
    likelihood ratios, are least in every convex sense at once.

    >>> lattice_shifted_divergence(2.0, [1, 0, 0], [0, 0.5, 0.5], 1)
    0.693147...
    """
    _check(order, shift)
    wide_p, wide_q = (np.pad(np.asarray(side, dtype=float), shift) for side in (p, q))
    total = np.concatenate([[0.0], np.cumsum(wide_p)])
    low = np.concatenate([np.zeros(shift), total[: len(total) - shift]])
    high = np.concatenate([total[shift:], np.full(shift, total[-1])])
    low[0] = high[0] = 0.0
    low[-1] = high[-1] = total[-1]
    clock, first = np.unique(np.concatenate([[0.0], np.cumsum(wide_q)]), return_index=True)
    low, high = np.maximum.reduceat(low, first), np.minimum.reduceat(high, first)  # no mass may go where q has none
    if np.any(low > high + TOUCHING):
        return math.inf
    heights = _taut_string(clock, np.minimum(low, high), high)
    return _divergence(order, np.maximum(np.diff(heights), 0.0), np.diff(clock))


def _taut_string(times: Array, low: Array, high: Array) -> Array:
    """The shortest curve from the common first to the common last point that stays between low and high."""
    heights = np.array(low, dtype=float)
    knot, last = 0, len(times) - 1
    while knot < last:
        floor, ceiling, at_floor, at_ceiling = -math.inf, math.inf, knot + 1, knot + 1
        place = knot + 1
        while place <= last:
            run = times[place] - times[knot]
            steepest, flattest = (high[place] - heights[knot]) / run, (low[place] - heights[knot]) / run
            if flattest > ceiling or steepest < floor:
                break
            if flattest >= floor:
                floor, at_floor = flattest, place
            if steepest <= ceiling:
                ceiling, at_ceiling = steepest, place
            place += 1
        if place > last:  # the end is in sight: both limits meet there
            target, end = low[last], last
        elif low[place] - heights[knot] > ceiling * (times[place] - times[knot]):
            target, end = high[at_ceiling], at_ceiling
        else:
            target, end = low[at_floor], at_floor
        share = (times[knot : end + 1] - times[knot]) / (times[end] - times[knot])
        heights[knot : end + 1] = heights[knot] + share * (target - heights[knot])
        knot = end
    return heights


def _divergence(order: float, p: Array, q: Array) -> float:
    """Rényi divergence of two lists of probabilities."""
    if np.any((p > NO_MASS) & (q <= 0)):
        return math.inf
    both = (p > 0) & (q > 0)
    log_terms = order * np.log(p[both]) + (1 - order) * np.log(q[both])
    return max(float(np.logaddexp.reduce(log_terms)) / (order - 1), 0.0)


def _check(order: float, shift: float) -> None:
    number(WHO, "1 < order < infinity", 1.0, math.inf, low_open=True, high_open=True, order=order)
    number(WHO, "0 <= shift < infinity", 0.0, math.inf, high_open=True, shift=shift)
