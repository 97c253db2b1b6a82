"""Many samples at once, each by its order statistics near one rank: draws, smooth sensitivities, and the law of the
exponential mechanism on them.

Nothing here is about private data: samples are simulated from a quantile function.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, gammaincinv

from hush.arrays import Array

ALL, RATIO = 48, 1.05
"""Steps from the rank at which a smooth sensitivity is looked for: each of the first, then in geometric progression."""
CLIMBS = 2
"""Rounds of climbing along both axes: for plans, which claim nothing."""


def uniform_windows(
    size: int, rank: int, below: int, above: int, levels: Array, ends: Array, gaps: Array
) -> tuple[Array, Array]:
    """Order statistics of uniform numbers around one rank, exactly in law.

    Row w has the ranks from rank - below to rank + above among `size`. The middle one is the quantile of its beta law
    at levels[w]; given it, the others are made of exponential gaps (a row of below + above of them) and of a gamma
    variable for what lies beyond on either side (its quantile at ends[w]). Gives down (from the middle one on) and up.

    >>> down, up = uniform_windows(5, 3, 2, 2, np.array([0.5]), np.array([[0.5, 0.5]]), np.ones((1, 4)))
    >>> up.round(3).tolist()
    [[0.5, 0.686, 0.871]]
    """
    middle = betaincinv(rank, size + 1 - rank, levels)[:, None]
    falls, rises = np.cumsum(gaps[:, :below], axis=1), np.cumsum(gaps[:, below:], axis=1)
    farther = gammaincinv([rank - below, size + 1 - rank - above], ends)
    down_total = (falls[:, -1:] if below else 0.0) + farther[:, :1]
    up_total = (rises[:, -1:] if above else 0.0) + farther[:, 1:]
    start = np.zeros_like(middle)
    down = middle * (1 - np.concatenate([start, falls], axis=1) / down_total)
    up = middle + (1 - middle) * np.concatenate([start, rises], axis=1) / up_total
    return down, up


@dataclass(frozen=True, eq=False)
class Windows:
    """Values of sorted samples from the one of a rank on downwards and upwards, each row a sample.

    Where a side reaches the end of the samples, its last column is the bound.
    """

    down: Array
    up: Array

    @property
    def centre(self) -> Array:
        return self.up[:, 0]

    def smooth_sensitivity(self, beta: float) -> Array:
        """Of each row: the largest (up_j - down_i) exp(-beta (i + j - 1)), i + j >= 1.

        It is looked for on a grid of pairs, then climbed from there: along i, then along j. So it may stop at a place
        that is not the highest; tests bound by how much (less than 0.1%).

        >>> window = Windows(np.array([[5.0, 4.0, 0.0]]), np.array([[5.0, 6.0, 10.0]]))
        >>> window.smooth_sensitivity(0.5)
        array([3.0326...])
        """
        steps = [_steps(side.shape[1]) for side in (self.down, self.up)]
        weights = [np.exp(-beta * np.arange(side.shape[1])) for side in (self.down, self.up)]
        rows = np.arange(len(self.up))
        best, i = np.zeros(len(rows)), np.zeros(len(rows), dtype=np.int64)
        ups, up_weights = self.up[:, steps[1]], weights[1][steps[1]]
        for step in steps[0]:
            found = np.max((ups - self.down[:, step, None]) * up_weights, axis=1) * weights[0][step]
            i, best = np.where(found > best, step, i), np.maximum(found, best)
        for _ in range(CLIMBS):
            along_up = (self.up - self.down[rows, i][:, None]) * weights[1]
            j = np.argmax(along_up, axis=1)
            along_down = (self.up[rows, j][:, None] - self.down) * weights[0]
            i = np.argmax(along_down, axis=1)
            best = np.maximum(best, along_down[rows, i] * weights[1][j])
        return best * np.exp(beta)

    def exponential_moments(self, decay: float, share: float) -> tuple[Array, Array]:
        """First and second moment, around the centre, of the exponential mechanism's output on each row.

        A point between two neighbours with j - share more values below it than the target asks for has density
        proportional to exp(-decay |j - share|), j counted from the centre's own rank. Left out: what lies beyond the
        window, so it must reach far enough.

        >>> window = Windows(np.array([[0.0, -1.0]]), np.array([[0.0, 1.0]]))
        >>> [moment.round(6).tolist() for moment in window.exponential_moments(1.0, -0.5)]
        [[0.0], [0.333333]]
        """
        edges = np.concatenate([self.down[:, :0:-1], self.up], axis=1) - self.centre[:, None]
        below = np.arange(edges.shape[1] - 1) - (self.down.shape[1] - 1)  # whole ranks from the centre, below the cell
        lower, upper = edges[:, :-1], edges[:, 1:]
        losses = np.abs(below - share)
        weights = (upper - lower) * np.exp(-decay * (losses - losses.min()))
        total = np.sum(weights, axis=1)
        total = np.where(total > 0, total, 1.0)  # all values equal: the value itself comes out
        first = np.sum(weights * (lower + upper), axis=1) / (2 * total)
        second = np.sum(weights * (lower**2 + lower * upper + upper**2), axis=1) / (3 * total)
        return first, second


def _steps(length: int) -> list[int]:
    """Every step at first, then geometrically, and the last."""
    found = list(range(min(ALL, length)))
    while found[-1] < length - 1:
        found.append(min(length - 1, max(found[-1] + 1, round(found[-1] * RATIO))))
    return found
