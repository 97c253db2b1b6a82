"""One record in one of two releases, which of them by a secret coin: tune on a part of the data, train on the rest.

With V_1 and V_2 the likelihood ratios of the two releases, independent under Q, the whole has V = c V_1 + (1-c) V_2. It
is affine in each of them, so pairs that dominate at every real epsilon may stand for the releases, also where the
second is chosen in the light of the first (docs/theory/selection.md):

    remove: E(V - e^eps)_+        add: e^eps E(e^-eps - V)_+
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hush.arrays import Array
from hush.curves.interval import Interval, least_log_delta
from hush.curves.pairs.finite import FinitePair
from hush.curves.pairs.pair import Pair
from hush.curves.pairs.profile_law import ProfileLaw
from hush.curves.theorems.selection import dense_table
from hush.errors import NotCovered
from hush.numerics.rounding import UNIT
from hush.numerics.work import remembered, spend

CELLS = 4000
"""Cells of the loss of the first release: the interval narrows with their square."""
WIDER = 1.5
"""Cells reach so much farther than points of a profile, so that what lies beyond them has next to no mass."""
ROUNDING = 1e-11
"""Relative room for sums over some thousand cells, and for the masses of cells, which are differences of tails."""
TAIL_ROUNDING = 1e-14
"""Relative error of sums of masses up to a place, and of the level that is left."""


@dataclass(frozen=True)
class OneOfTwo(Pair):
    """A record is in the first release with this chance, else in the second; `mirrored` is the pair for adding it.

    >>> from hush.curves.pairs.normal import NormalPair
    >>> pair = OneOfTwo(NormalPair.shifted(1.0), NormalPair.shifted(0.5), 0.1)
    >>> math.exp(pair.log_delta(0.5)[1])
    0.04388...
    """

    first: Pair
    second: Pair
    chance: float
    mirrored: bool = False

    @property
    def cut(self) -> bool:
        return self.first.cut or self.second.cut

    @property
    def infinite(self) -> float:
        if self.mirrored:
            return 0.0 if self.chance < 1 else self.first.swap().infinite
        return min(self.chance * self.first.infinite + (1 - self.chance) * self.second.infinite, 1.0)

    def swap(self) -> Pair:
        return OneOfTwo(self.first, self.second, self.chance, not self.mirrored)

    @property
    def max_loss(self) -> float:
        """V is largest where both ratios are, and smallest where both are."""
        ends = [pair.swap().max_loss if self.mirrored else pair.max_loss for pair in (self.first, self.second)]
        shares = self.chance, 1 - self.chance
        if not self.mirrored:
            tops = [math.log(share) + end for share, end in zip(shares, ends, strict=True) if share > 0]
            return max(_raised(float(np.logaddexp.reduce(tops))), 0.0)
        least = math.fsum(share * math.exp(-end) for share, end in zip(shares, ends, strict=True))
        return max(_raised(-math.log(least)), 0.0) if least > 0 else math.inf

    def log_delta(self, epsilon: float, tolerance: float = 1e-9) -> Interval:  # noqa: ARG002
        least = least_log_delta(epsilon)
        low, high = (
            0.0 if one is None or other is None else self._sum(one, other, epsilon, side)
            for side, (one, other) in enumerate(self._tables)
        )
        top = math.log(high) if high > 0 else -math.inf
        return max(math.log(low) if low > 0 else -math.inf, least), max(min(top, 0.0), least)

    @cached_property
    def _tables(self) -> list[tuple[FinitePair | None, FinitePair | None]]:
        """Tables of both releases, from below and from above."""
        return list(zip(tables(self.first), tables(self.second), strict=True))

    def _sum(self, first: FinitePair, second: FinitePair, epsilon: float, side: int) -> float:
        """The mean over the first release of what the second gives at the level that is left: of calls, or of puts."""
        spend(40 * len(first.losses))
        weights = np.append(first.q_mass, first.at_minus_infinity)
        ratios = np.append(np.exp(first.losses), 0.0)
        level = math.exp(-epsilon if self.mirrored else epsilon)
        # calls fall in the level that is left and puts rise in it: it is rounded to where the bound is safe
        safe = (1 if self.mirrored else -1) * (2 * side - 1)
        left = (level - self.chance * ratios) / (1 - self.chance)
        left = left + safe * self._off(first, second, ratios, level, left)
        positive = left > 0
        above, other_above, below, other_below = second.tails(np.log(np.where(positive, left, 1.0)))
        if self.mirrored:
            values, sizes = np.where(positive, left * other_below - below, 0.0), np.where(positive, left, 0.0)
        else:
            values, sizes = np.where(positive, above - left * other_above, 1 - left), above + np.abs(left) * other_above
        room = (2 * side - 1) * (sizes + np.where(positive, 0.0, np.abs(left))) * TAIL_ROUNDING
        total = (1 - self.chance) * float((weights * np.maximum(values + room, 0.0)).sum())
        total = total * math.exp(epsilon) if self.mirrored else total + self.chance * first.at_infinity
        return total * (1 + (2 * side - 1) * ROUNDING)

    def _off(self, first: FinitePair, second: FinitePair, ratios: Array, level: float, left: Array) -> Array:
        """How far the level that is left may be off: a difference whose rounding is divided by a small chance.

        A few units of its two parts; what the losses of the first release are off; and, as if it were of the level,
        what those of the second one are off that are near it.
        """
        blurred = self.chance * ratios * first.blur * np.append(np.abs(first.losses), 0.0)
        near = np.abs(left) * second.blur * np.abs(np.log(np.maximum(np.abs(left), 1e-300)))
        return (8 * UNIT * (level + self.chance * ratios) + blurred) / (1 - self.chance) + 2 * near

    def renyi(self, order: float) -> Interval:
        if order == math.inf:
            return 0.0, self.max_loss
        return 0.0, ProfileLaw.of(*self.profile_points()).renyi(order)


def _raised(loss: float) -> float:
    """A largest loss, rounded up: a few units of it, and of the numbers near 1 of which it is a logarithm."""
    return loss + 8 * UNIT * (1 + abs(loss))


@remembered(16)
def tables(pair: Pair) -> tuple[FinitePair | None, FinitePair]:
    """Finite pairs below and above: cells of the loss, each merged to its mean, or spread to its two ends."""
    table = dense_table(pair)
    if len(pair.kinks):
        return table, table
    try:
        cuts = np.linspace(WIDER * table.losses[0], WIDER * table.losses[-1], CELLS)
        p_up, q_up, p_down, q_down = pair.tails(cuts)
    except NotCovered:
        return None, table
    p, q = (_cells(up, down) for up, down in ((p_up, p_down), (q_up, q_down)))
    some = (p > 0) & (q > 0)
    merged = FinitePair.ordered(np.log(p[some]) - np.log(q[some]), p[some], 0.0, 0.0)
    # between two cuts the masses go to the ends so that both of them stay as they are
    ends = np.exp(cuts)
    right = np.clip((p[1:-1] - ends[:-1] * q[1:-1]) / np.diff(ends), 0.0, q[1:-1])
    mass = np.zeros(CELLS)
    mass[1:] += right
    mass[:-1] += q[1:-1] - right
    mass[-1] += q[-1]
    lowest = min(float(p[0]) / ends[0], float(q[0]))
    mass[0] += lowest
    kept = mass > 0
    beyond = max(float(p[-1]) - ends[-1] * float(q[-1]), 0.0) * (1 + ROUNDING)
    spread = FinitePair.ordered(cuts[kept], (mass * ends)[kept], beyond, float(q[0]) - lowest)
    return merged, spread


def _cells(up: Array, down: Array) -> Array:
    """Masses below the first cut, between cuts, and above the last, each from the side on which the tail is smaller."""
    above, below = np.append(1.0, up), np.append(0.0, down)
    above, below = np.append(above, 0.0), np.append(below, 1.0)
    return np.maximum(np.where(above[:-1] < 0.5, -np.diff(above), np.diff(below)), 0.0)
