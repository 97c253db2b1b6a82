"""Moving mass by bounded distances: the infinity-Wasserstein distance, and the least divergence that is left.

W(mu, nu) is the least z such that mu can be turned into nu by moving every bit of mass by at most z. The laws here have
finitely many points; who may move where is a table of allowed moves, so that any space and any norm will do.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import optimize

from hush.arrays import Array
from hush.numerics.rounding import UNIT

FEASIBLE = 1e-9
"""Mass that may be left over by a transport: what rounding makes of masses, and the linear programme tolerates."""
SWEEPS = 20_000
"""Rounds after which the search stops. The value of any plan is at least the least, so any number is valid."""
GAP = 1e-12
"""Relative gap to the dual bound at which the least divergence is found."""


def wasserstein_infinity(p: Array, q: Array, distances: Array) -> float:
    """The least z such that p can be carried over to q along pairs of points at most z apart.

    >>> wasserstein_infinity(np.array([0.5, 0.5]), np.array([1.0]), np.array([[0.0], [3.0]]))
    3.0
    """
    levels = np.unique(distances[np.ix_(p > 0, q > 0)])
    low, high = 0, len(levels) - 1
    while low < high:  # what can be carried within some distance can be carried within any larger one
        middle = (low + high) // 2
        low, high = (low, middle) if _can_carry(p, q, distances <= levels[middle]) else (middle + 1, high)
    return float(levels[low])


def _can_carry(p: Array, q: Array, allowed: Array) -> bool:
    """Whether all of p fits into q along the allowed moves: a linear programme."""
    rows, columns = np.nonzero(allowed)
    if not len(rows):
        return False
    moves = np.arange(len(rows))
    out, into = np.zeros((len(p), len(rows))), np.zeros((len(q), len(rows)))
    out[rows, moves], into[columns, moves] = 1.0, 1.0
    found = optimize.linprog(-np.ones(len(rows)), A_ub=np.vstack([out, into]), b_ub=np.concatenate([p, q]))
    return found.fun is not None and bool(-found.fun >= 1 - FEASIBLE)


def line_wasserstein(p: Array, q: Array, places_p: Array, places_q: Array) -> float:
    """The same on the line, for points in increasing order: the largest distance of equal quantiles.

    >>> line_wasserstein(np.array([0.5, 0.5]), np.array([1.0]), np.array([0.0, 3.0]), np.array([1.0]))
    2.0
    """
    ends_p, ends_q = np.cumsum(p), np.cumsum(q)
    levels = np.unique(np.concatenate([ends_p, ends_q]))
    starts = np.concatenate([[0.0], levels[:-1]])
    middles = ((starts + levels) / 2)[levels - starts > FEASIBLE]  # pieces of less mass are rounding
    first = places_p[np.minimum(np.searchsorted(ends_p, middles), len(p) - 1)]
    second = places_q[np.minimum(np.searchsorted(ends_q, middles), len(q) - 1)]
    return float(np.abs(first - second).max())


def least_divergence(order: float, p: Array, q: Array, allowed: Array) -> float:
    """The least Rényi divergence from q of what p becomes along the allowed moves; infinite where p cannot reach q.

    Each point of p in turn pours its mass where the ratio to q is least, until all ratios that it reaches are level.
    That never raises the divergence, and where no point can improve, none can: the function is convex. The end is found
    by the dual bound: f - sum_i p_i (mean slope where i pours - least slope in its reach) is at most the minimum.

    >>> round(least_divergence(2.0, np.array([1.0]), np.array([0.0, 0.5, 0.5]), np.array([[True, True, False]])), 6)
    0.693147
    """
    reach = allowed & (q > 0)
    sources = np.flatnonzero(p > 0)
    if not reach[sources].any(axis=1).all():
        return math.inf
    plan, value = np.zeros((len(p), len(q))), math.inf
    for _ in range(SWEEPS):
        for i in sources:
            plan[i] = 0.0
            where = np.flatnonzero(reach[i])
            plan[i, where] = _poured(float(p[i]), plan[:, where].sum(axis=0), q[where])
        total = plan.sum(axis=0)
        ratio = np.divide(total, q, out=np.zeros_like(q), where=q > 0)
        slopes = order * ratio ** (order - 1)
        value = float((q * ratio**order).sum())
        gap = sum(float(plan[i] @ slopes) - float(p[i]) * float(slopes[reach[i]].min()) for i in sources)
        if gap <= GAP * value:
            break
    return max(math.log(value * (1 + 8 * UNIT)) / (order - 1), 0.0)


def _poured(mass: float, loads: Array, widths: Array) -> Array:
    """How much of the mass each vessel takes, filled to one level: vessels have these loads and widths already."""
    heights = loads / widths
    ordered = np.argsort(heights)
    full, wide = np.cumsum(loads[ordered]), np.cumsum(widths[ordered])
    levels = (mass + full) / wide
    above = np.append(heights[ordered][1:], math.inf)
    level = levels[int(np.argmax(levels <= above))]
    taken = np.maximum(level * widths - loads, 0.0)
    return taken * (mass / taken.sum())
