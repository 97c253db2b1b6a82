"""Several records under a stated guarantee: its trade-off curve, one record after the other.

Let g(x) be the most that an event of Q-mass x may have under P, for one record. Along a chain of neighbours
P_0, P_1, ..., P_k an event of P_0-mass x has at most g(g(...g(x))) = g^k(x) under P_k (Dong, Roth, Su 2022, Thm 2.14).
Laws on [0, 1] with the distribution functions x, g, g^2, ... attain all of these at once: docs/theory/groups.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from hush.arrays import Array
from hush.curves.pairs.finite import BLUR, CERTAIN_LOSS, FinitePair
from hush.errors import NotCovered

MOST_WORK = 50_000_000
"""Additions that one chain may take: about half a second, and some ten thousand losses."""
LARGEST_LOSS = 500.0
"""Masses e^-loss and their products stay far inside of what floats hold."""


def work(pair: FinitePair, weights: Sequence[float]) -> int:
    """About how many additions `along` takes."""
    kinks = len(pair.losses)
    return (len(weights) - 1) * kinks * kinks * sum(weight > 0 for weight in weights)


@lru_cache(maxsize=16)
def along(pair: FinitePair, weights: tuple[float, ...]) -> FinitePair:
    """P_j with probability weights[j] against P_0, on the chain of a pair that is its own mirror image.

    >>> from hush.curves.pairs.worst_case import stated_points
    >>> two = along(stated_points([1.0], [0.0]), (0.0, 0.0, 1.0))
    >>> two.losses.tolist(), two.mass.round(6).tolist()
    ([-2.0, 0.0, 2.0], [0.098938, 0.170003, 0.731059])
    """
    if not len(pair.losses):
        return _all_or_nothing(weights)
    if pair.at_infinity == 0:  # otherwise the chain ends at a certain loss, however long it is
        _check((len(weights) - 1) * pair.max_loss)
    return _Chain(pair, len(weights) - 1).mixed(weights)


def _all_or_nothing(weights: tuple[float, ...]) -> FinitePair:
    """Where one record tells everything: that any takes part is seen for sure, and else nothing is."""
    some, nobody = min(math.fsum(weights[1:]), 1.0), weights[0]
    return FinitePair(np.log([nobody]), np.array([nobody]), some) if nobody > 0 else CERTAIN_LOSS


@dataclass(frozen=True, eq=False)
class _Chain:
    """The places where g, g^2, ..., g^steps bend.

    g bends at X_1, X_2, ...; g^j at those places and at their images under the inverse of g, up to j - 1 times. As P
    and Q mirror each other, g^{-1}(y) = 1 - g(1 - y): places past 1/2 are kept as their distance from 1, which has
    all its digits.
    """

    pair: FinitePair
    steps: int

    @cached_property
    def slopes(self) -> Array:
        """Losses of the pieces of g, from left to right."""
        return self.pair.losses[::-1].copy()

    @cached_property
    def x(self) -> Array:
        """Ends of the pieces of g."""
        return np.concatenate([[0.0], np.cumsum(self.pair.q_mass[::-1])])

    @cached_property
    def y(self) -> Array:
        """g there."""
        return self.pair.at_infinity + np.concatenate([[0.0], np.cumsum(self.pair.mass[::-1])])

    def up(self, x: Array) -> Array:
        """g(x)."""
        piece = np.minimum(np.searchsorted(self.x, x, side="left"), len(self.slopes)) - 1
        piece = np.maximum(piece, 0)
        return self.y[piece] + (x - self.x[piece]) * np.exp(self.slopes[piece])

    def down(self, y: Array) -> Array:
        """The x with g(x) = y; below 0 where there is none."""
        piece = np.minimum(np.searchsorted(self.y, y, side="left"), len(self.slopes)) - 1
        piece = np.maximum(piece, 0)
        return self.x[piece] + (y - self.y[piece]) * np.exp(-self.slopes[piece])

    @cached_property
    def bends(self) -> tuple[Array, Array, Array, Array]:
        """Of each place, from left to right: which bend of g it comes from, how many steps back, its x and 1 - x.

        Only the smaller one of x and 1 - x has all its digits.
        """
        kinds = np.arange(1, len(self.slopes) + (self.pair.at_infinity > 0))
        near, right = self._halved(self.x[kinds], self.y[len(self.slopes) - kinds])
        found = []
        for back in range(self.steps):
            found.append((kinds, np.full(len(kinds), back), near, right))
            moved, crossed = self._halved(1 - self.up(near), self.up(near))
            near, right = np.where(right, moved, self.down(near)), right & crossed
            alive = near > 0
            kinds, near, right = kinds[alive], near[alive], right[alive]
            if not len(kinds):
                break
        kind, back, near, right = (np.concatenate(part) for part in zip(*found, strict=True))
        order = np.lexsort((np.where(right, -near, near), right))
        kind, back, near, right = kind[order], back[order], near[order], right[order]
        return kind, back, np.where(right, 1 - near, near), np.where(right, near, 1 - near)

    @staticmethod
    def _halved(x: Array, rest: Array) -> tuple[Array, Array]:
        """The smaller one of x and 1 - x, and whether it is the latter."""
        return np.minimum(x, rest), rest < x

    @cached_property
    def widths(self) -> Array:
        """Q-mass of the cells between the places, the first from 0 on and the last up to 1."""
        _, _, x, rest = self.bends
        x, rest = np.concatenate([[0.0], x, [1.0]]), np.concatenate([[1.0], rest, [0.0]])
        return np.maximum(np.where(x[1:] <= 0.5, np.diff(x), -np.diff(rest)), 0.0)

    def ahead(self, kind: int, steps: int) -> Array:
        """For each cell: how many of the first steps land left of this bend of g."""
        kinds, back, _, _ = self.bends
        mine = (kinds == kind) & (back < steps)
        return np.count_nonzero(mine) - np.concatenate([[0], np.cumsum(mine)])

    def loss(self, steps: int) -> Array:
        """log of the slope of g^steps in each cell; -infinity where it is level."""
        pieces = len(self.slopes)
        total = np.zeros(len(self.widths))
        for piece in range(pieces // 2):  # a piece and its mirror image at once, so that whole numbers cancel exactly
            left = self.ahead(piece + 1, steps) - (self.ahead(piece, steps) if piece else 0)
            last = steps if piece == 0 else self.ahead(pieces - piece, steps)
            total += self.slopes[piece] * (left - (last - self.ahead(pieces - piece - 1, steps)))
        if self.pair.at_infinity > 0:
            total[self.ahead(pieces, steps) < steps] = -np.inf
        return total

    def mixed(self, weights: Sequence[float]) -> FinitePair:
        """The weighted sum of the slopes is the ratio of P to Q; less 1, it keeps its digits at small rates."""
        growth, top, start, loss = np.zeros(len(self.widths)), 0.0, 0.0, np.zeros(0)
        for steps in range(1, self.steps + 1):
            start = self._next(start)
            weight = weights[steps]
            if weight > 0:
                top += weight * start
                loss = self.loss(steps)
                _check(float(loss.max()))
                growth += weight * np.expm1(loss)
        if weights[-1] == 1:
            return self._alone(loss, top)
        kept = (self.widths > 0) & (growth > -1)
        losses, widths = np.log1p(growth[kept]), self.widths[kept]
        bottom = float(self.widths[growth <= -1].sum())
        return FinitePair.ordered(losses, widths * np.exp(losses), top, bottom, BLUR)

    def _next(self, start: float) -> float:
        """g of the last one."""
        return 1.0 if start >= self.x[-1] else min(float(self.up(np.array([start]))[0]), 1.0)

    def _alone(self, loss: Array, top: float) -> FinitePair:
        """All of the steps for sure: again its own mirror image, made of its upper half."""
        above, level = (loss > 0) & (self.widths > 0), loss == 0
        up, mass = loss[above][::-1], (self.widths[above] * np.exp(loss[above]))[::-1]
        plain = len(self.slopes) <= 2
        if plain:  # whole multiples of one epsilon, in the decimals that were written
            unit = Fraction(repr(float(self.slopes[0])))
            up = np.array([float(round(loss / float(unit)) * unit) for loss in up.tolist()])
        if top >= 1:
            return CERTAIN_LOSS
        rest = float(self.widths[level].sum())
        return FinitePair(
            np.concatenate([-up[::-1], [0.0] if rest > 0 else [], up]),
            np.concatenate([(mass * np.exp(-up))[::-1], [rest] if rest > 0 else [], mass]),
            top,
            top,
            self.pair.lattice if plain else None,
            0.0 if plain and top == 0 else BLUR,
        )


def _check(largest: float) -> None:
    if largest > LARGEST_LOSS:
        raise NotCovered(f"a group with losses up to {largest:g}: covered up to {LARGEST_LOSS:g}")
