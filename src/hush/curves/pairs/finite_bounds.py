"""Finite pairs above and below a pair whose profile is known from both sides at many points of a lattice.

A profile is convex in t = e^eps. Its values joined by lines lie above it; values lowered by at least the most that it
can bend between two points, joined by lines, lie below it. Both are profiles of finite pairs, so both can be composed.
"""

from __future__ import annotations

import math

import numpy as np

from hush.arrays import Array
from hush.curves.pairs.finite import FinitePair

SLACK = 1e-10
"""Relative room for the rounding of slopes: far below the width of the cells, far above machine precision."""


def above(losses: Array, high: Array, lattice: float) -> FinitePair:
    """The finite pair whose profile joins upper bounds: high[k] bounds delta - max(1 - t, 0) at t = e^losses[k]."""
    return _joined(losses, high * (1 + SLACK), lattice)


def below(losses: Array, low: Array, high: Array, lattice: float) -> FinitePair:
    """The finite pair whose profile joins lowered values: low and high bound delta - max(1 - t, 0) at t = e^losses[k].

    0 must be one of the losses: a line across the kink of max(1 - t, 0) is above every profile that touches it.

    Right of t_k the slope is at least that of the chord before, left of t_{k+1} at most that of the chord behind:
    between them the profile is above the two lines with these slopes. What the chord exceeds them by is its bend.
    """
    gap, kink = _cells(losses)
    chord = np.diff(low) / gap
    before = np.append(-math.inf, (low[1:-1] - high[:-2]) / gap[:-1] + np.diff(kink))
    behind = np.append((high[2:] - low[1:-1]) / gap[1:] - np.diff(kink), math.inf)
    rise, fall = np.maximum(chord - before, 0.0), np.maximum(behind - chord, 0.0)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        bend = gap / (1 / rise + 1 / fall)
    bend[0], bend[-1] = low[1], low[-2]
    depth = np.maximum(np.append(np.nan_to_num(bend), 0.0), np.append(0.0, np.nan_to_num(bend)))
    values = low * (1 - SLACK) - depth * (1 + SLACK)
    # no value can be lowered below 0: where it would have to be, the cells on both sides of it are 0 at both their ends
    short = values < 0
    near = short | np.append(short[1:], False) | np.append(False, short[:-1])
    values = np.where(near, 0.0, values)
    values[0] = values[-1] = 0.0
    return _joined(losses, values, lattice)


def _cells(losses: Array) -> tuple[Array, Array]:
    """Widths in t of the cells between neighbours, and minus the slope of max(1 - t, 0) there."""
    gap = np.exp(losses[:-1]) * np.expm1(np.diff(losses))
    part = -np.expm1(np.minimum(losses[:-1], 0.0)) / gap
    return gap, np.where(losses[1:] <= 0, 1.0, np.where(losses[:-1] >= 0, 0.0, part))


def _joined(losses: Array, values: Array, lattice: float) -> FinitePair:
    """The pair of the greatest convex function not above the points, from (0, 1) on and level behind the last."""
    while True:
        t = np.exp(losses)
        gap, kink = _cells(losses)
        slope = np.concatenate([values[:1] / t[:1], np.diff(values) / gap, [0.0]])
        bend = np.diff(slope) - np.diff(np.concatenate([[1.0], kink, [0.0]]))
        if (bend >= 0).all() or len(losses) == 1:
            break
        losses, values = losses[bend >= 0], values[bend >= 0]
    some = bend > 0
    return FinitePair(losses[some], bend[some] * t[some], float(values[-1]), float(slope[0]), lattice)
