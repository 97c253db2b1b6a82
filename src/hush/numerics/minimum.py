"""The least value of a function of one positive number, over all scales."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hush.arrays import Array

POINTS = 12
"""Points of one round of zooming; each round narrows the bracket to 2/13 of itself."""
ROUNDS = 14
"""(2/13)^14 is 4e-12 of the first bracket. Whoever asks for a bound has one at every point."""


def minimum(
    objective: Callable[[Array], Array],
    low: float = 1e-4,
    high: float = 1e6,
    nearest: float = 1e-12,
    farthest: float = 1e15,
) -> tuple[float, float]:
    """Where the objective is least for x > 0, and its value there: a scan of all scales, then zooming.

    The scan goes on past an end while the least value sits there. The two best valleys are searched, so that the
    smaller of two functions with one valley each is handled. NaN counts as infinite.

    >>> place, value = minimum(lambda x: x + 100 / x)
    >>> round(place, 5), round(value, 12)
    (10.0, 20.0)
    """

    def safe(x: Array) -> Array:
        values = np.asarray(objective(x), dtype=float)
        return np.where(np.isnan(values), math.inf, values)

    x, values = _scan(safe, low, high, nearest, farthest)
    inner = np.concatenate([[math.inf], values, [math.inf]])
    valleys = np.flatnonzero((inner[1:-1] <= inner[:-2]) & (inner[1:-1] < inner[2:]) & np.isfinite(values))
    found = [(float(values[k]), float(x[k])) for k in [int(np.argmin(values))]]
    for k in sorted(valleys.tolist(), key=values.__getitem__)[:2]:
        found.append(_zoom(safe, float(x[max(k - 1, 0)]), float(x[min(k + 1, len(x) - 1)])))
    value, place = min(found)
    return place, value


def _scan(
    objective: Callable[[Array], Array], low: float, high: float, nearest: float, farthest: float
) -> tuple[Array, Array]:
    """Four points per decade, on to nearest and farthest while the least is at an end."""
    x = np.geomspace(low, high, 1 + round(4 * math.log10(high / low)))
    values = objective(x)
    for _ in range(40):
        best = int(np.argmin(values))
        if not math.isfinite(values[best]):
            break
        if best == len(x) - 1 and x[-1] < farthest:
            more = x[-1] * np.geomspace(10**0.25, 100, 8)
            x, values = np.append(x, more), np.append(values, objective(more))
        elif best == 0 and x[0] > 100 * nearest:
            more = x[0] / np.geomspace(100, 10**0.25, 8)
            x, values = np.append(more, x), np.append(objective(more), values)
        else:
            break
    return x, values


def _zoom(objective: Callable[[Array], Array], low: float, high: float) -> tuple[float, float]:
    best = (math.inf, low)
    for _ in range(ROUNDS):
        x = np.geomspace(low, high, POINTS + 2)
        values = objective(x)
        k = int(np.argmin(values))
        best = min(best, (float(values[k]), float(x[k])))
        near = values[max(k - 1, 0) : k + 2]
        low, high = float(x[max(k - 1, 0)]), float(x[min(k + 1, POINTS + 1)])
        if float(near.max()) - best[0] <= 1e-13 * abs(best[0]) or high <= low * (1 + 1e-13):
            break
    return best
