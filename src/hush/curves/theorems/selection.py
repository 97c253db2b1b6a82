"""The best of a random number of runs: what is known of it from the pair of one run.

A run has the law Q on the data and Q' on a neighbour. With x the chance that one run is better than y, the best of K
runs has the density a(x) = phi'(1 - x) against Q, phi the generating function of K: it falls in x. On the neighbour
x' <= beta(x), the most that an event of Q-mass x may have there, so the density is at least b(x) = a(beta(x)). For
every increasing h with h(0) = 0 and h(a(x)) <= b(x),

    delta_best(eps) <= P(K = 0) (1 - e^eps)_+ + integral over 0 < s < E[K] of delta_run(eps + log h'(s)) ds.

The best h is the greatest convex function below the points (a, b). Proofs: docs/theory/selection.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from hush.arrays import Array
from hush.curves.interval import Interval, least_log_delta
from hush.curves.pairs.finite import FinitePair
from hush.curves.pairs.pair import Pair
from hush.curves.pairs.profile_law import ProfileLaw
from hush.errors import NotCovered
from hush.numerics.rounding import UNIT
from hush.numerics.work import QUESTION, attempt, kept, part, remembered, spend

POINTS = 1500
"""Points of a profile that a table joins by lines: any number is valid."""
SMALL = -600.0
"""Logs of chances below this are added, not taken for numbers: these would have lost digits."""
SLACK = 1e-9
"""Relative room for the rounding of slopes, which are quotients of differences of up to 1e5 near numbers."""
SAME_SLOPE, LEAST_SLOPE = 1e-3, -1e6
"""Pieces whose log-slopes differ by less are taken together, which costs at most so much of epsilon; and the least."""
ROUNDING = 1e-13
"""Relative error of sums of masses from the top down."""
UNDERFLOWN = 1e-300
"""Above every chance that floats cannot tell from 0, with the subnormal ones, which have few digits."""
TABLE, ROOT = 0.3 * QUESTION, 0.05 * QUESTION
"""Work that one table of a run may take, and the search of the shift on the run itself: the same for all questions."""


class RunLaw(Protocol):
    """What the theorem asks of the number of runs."""

    @property
    def mean(self) -> float:
        """The expected number of runs, from above."""
        ...

    @property
    def none(self) -> float:
        """The chance of no run at all."""
        ...

    @property
    def cuts(self) -> Array:
        """Places x from 0 to 1 between which the weight hardly changes."""
        ...

    def log_weight(self, x: Array, /) -> Array:
        """log phi'(1 - x)."""
        ...

    def shift(self, opposite: Pair, /) -> float:
        """An upper bound on log of a(x)/b(x) over all x, from the pair of a run in the other direction."""
        ...

    def at_least_one_below(self, x: Array, /) -> Array:
        """1 - phi(1 - x), with all digits near 0."""
        ...

    def all_below(self, s: Array, /) -> Array:
        """phi(s) - phi(0), with all digits near 0."""
        ...


@dataclass(frozen=True)
class SelectionPair(Pair):
    """The best of so many runs: `run` is the pair of one of them, `opposite` that of the other direction.

    >>> from hush.curves.pairs.normal import NormalPair
    >>> from hush.mechanisms.runs import GeometricRuns
    >>> half = NormalPair.shifted(0.5)
    >>> SelectionPair(GeometricRuns(0.1), half, half).epsilon(math.log(1e-6))[1]
    3.25...
    """

    runs: RunLaw
    run: Pair
    opposite: Pair

    @property
    def cut(self) -> bool:
        return self.run.cut

    @property
    def infinite(self) -> float:
        return min(self._all_of(self.run.infinite), 1.0)

    def _all_of(self, chance: float) -> float:
        """1 - phi(1 - chance): what the best runs of this chance come to, if each of them tells everything."""
        return float(self.runs.at_least_one_below(np.array(chance))) * (1 + ROUNDING)

    def swap(self) -> Pair:
        return self._other

    @cached_property
    def _other(self) -> SelectionPair:
        return SelectionPair(self.runs, self.opposite, self.run)

    @cached_property
    def _shift(self) -> float:
        return shift_of(self.runs, self.opposite)

    @property
    def max_loss(self) -> float:
        return max(self.run.max_loss + self._shift, 0.0)

    def log_delta(self, epsilon: float, tolerance: float = 1e-9) -> Interval:
        self._need_layers()
        low = least_log_delta(epsilon)
        high = self.log_bound(epsilon, tolerance)
        if epsilon < 0:  # the other direction says as much: 1 - e^eps + e^eps delta(-eps)
            other = math.exp(self._other.log_bound(-epsilon, tolerance))
            whole = -math.expm1(epsilon) + math.exp(epsilon) * other
            high = min(high, math.log(whole) + 8 * UNIT if whole > 0 else -math.inf)
        return low, max(min(high, 0.0), low)

    def _need_layers(self) -> None:
        """Exhausted, at once, where they take too much work and a Rényi curve may be known: it says more than one."""
        if self.run.infinite == 0:
            layers(self.runs, self.run, self.opposite)

    def log_bound(self, epsilon: float, tolerance: float) -> float:
        """log of what the theorem says in this direction alone: one layer, or all of them."""
        one = self.run.log_delta(epsilon - self._shift, tolerance)[1]
        # the integral of min(delta, u(s)) is 1 - phi(1 - delta), and that at most E[K] delta
        one = math.log(self._all_of(math.exp(one))) if one > SMALL else one + math.log(self.runs.mean)
        # asked for anew each time: what there was no work left for in one question may be there in the next
        every = attempt(lambda: self._layered(epsilon), math.inf)
        found = min(one, math.log(every)) if every > 0 else one
        if epsilon < 0 < self.runs.none:
            found = float(np.logaddexp(found, math.log(self.runs.none * -math.expm1(epsilon))))
        return found + 8 * UNIT * (1 + abs(found)) if found > -math.inf else found

    def _layered(self, epsilon: float) -> float:
        """The integral, as a sum over the pieces of h; never more of an event than the runs that can be in it."""
        widths, log_slopes, most, table = layers(self.runs, self.run, self.opposite)
        spend(10 * len(widths))
        places = epsilon + log_slopes
        above, other, _, _ = table.tails(places)
        with np.errstate(over="ignore", invalid="ignore"):
            deltas = above * (1 + ROUNDING) - np.where(other > 0, np.exp(places) * other, 0.0) * (1 - ROUNDING)
        deltas = np.where(places == -math.inf, 1.0, np.clip(deltas, 0.0, 1.0))
        return float((widths * np.minimum(deltas, most)).sum()) * (1 + SLACK)

    def epsilon(self, log_delta: float, tolerance: float = 1e-9, floor: float = 0.0) -> Interval:
        self._need_layers()
        target = log_delta - math.log(self.runs.mean)
        one = math.inf
        if target < 0:
            one = self.run.epsilon(target, tolerance)[1]
            one = (one + self._shift) * (1 + 4 * UNIT)
        if log_delta == -math.inf:
            return 0.0, min(one, self.max_loss)
        return 0.0, min(one, super().epsilon(log_delta, tolerance, floor)[1])

    def renyi(self, order: float) -> Interval:
        if order == math.inf:
            return 0.0, self.max_loss
        return 0.0, ProfileLaw.of(*self.profile_points()).renyi(order)


@kept(64, ROOT + TABLE)
def shift_of(runs: RunLaw, opposite: Pair) -> float:
    """What the weights can add to a loss at the most; from a table where the pair itself takes too much work."""
    with part(ROOT / (ROOT + TABLE)):
        found = attempt(lambda: runs.shift(opposite), None)
    return runs.shift(dense_table(opposite)) if found is None else found


@remembered(16)
def layers(runs: RunLaw, run: Pair, opposite: Pair) -> tuple[Array, Array, Array, FinitePair]:
    """Widths and log-slopes of the pieces of h, the most Q-mass where each counts, and a table above the run's pair."""
    table, other = dense_table(run), dense_table(opposite)
    x = runs.cuts
    spend(60 * len(x))
    mass = np.concatenate([[0.0], np.cumsum(other.q_mass[::-1])])
    most = other.at_infinity + np.concatenate([[0.0], np.cumsum(other.mass[::-1])])
    reached = np.minimum(np.interp(x, mass, most) * (1 + ROUNDING), 1.0)
    # between two cuts the weight is at most that of the left one, on the neighbour at least that of the right one
    a = np.append(np.exp(runs.log_weight(x[:-1])) * (1 + ROUNDING), 0.0)[::-1]
    b = np.append(np.exp(runs.log_weight(reached[1:])) * (1 - ROUNDING), 0.0)[::-1]
    left = np.append(x[:-1], 1.0)[::-1]
    hull = _convex(a, b)
    widths = np.diff(a[hull])
    with np.errstate(divide="ignore"):
        slopes = np.log(np.maximum(np.diff(b[hull]), 0.0) / widths * (1 - SLACK))
    return *_grouped(widths, slopes, left[hull[:-1]]), table


def _grouped(widths: Array, log_slopes: Array, most: Array) -> tuple[Array, Array, Array]:
    """Pieces of nearly one slope as one piece of the smallest of them: h only becomes smaller."""
    order = np.argsort(log_slopes, kind="stable")
    keys = np.floor(np.maximum(log_slopes[order], LEAST_SLOPE) / SAME_SLOPE)
    starts = np.flatnonzero(np.diff(keys, prepend=keys[0] - 1))
    return (
        np.add.reduceat(widths[order], starts),
        log_slopes[order][starts],
        np.maximum.reduceat(most[order], starts),
    )


def _convex(a: Array, b: Array) -> Array:
    """Which points make the greatest convex function below all of them; a increases, and (0, 0) is the first."""
    kept: list[int] = []
    xs, ys = a.tolist(), b.tolist()
    for k, (x, y) in enumerate(zip(xs, ys, strict=True)):
        if kept and x <= xs[kept[-1]]:
            if y >= ys[kept[-1]]:
                continue
            kept.pop()
        while len(kept) > 1:
            i, j = kept[-2], kept[-1]
            if (ys[j] - ys[i]) * (x - xs[j]) < (y - ys[j]) * (xs[j] - xs[i]):
                break
            kept.pop()
        kept.append(k)
    return np.array(kept)


@kept(16, TABLE)
def dense_table(pair: Pair) -> FinitePair:
    """A finite pair above this one: its profile at many epsilons, joined by lines; itself where it is made of lines."""
    epsilons = pair.kinks
    if not len(epsilons):
        found, _ = pair.profile_points()
        epsilons = np.unique(np.concatenate([found, np.linspace(found[0], found[-1], POINTS)]))
    deltas = np.maximum(pair.profile()(epsilons)[1], -np.expm1(np.minimum(epsilons, 0.0)))
    return FinitePair.from_profile(epsilons, deltas)


def witnesses(runs: RunLaw, run: Pair) -> tuple[Pair, ...]:
    """Runs that tell no more than a cell of their loss, the largest losses the best, or the smallest: both attained.

    To tell only the cell is post-processing, and a score may be any function of it.
    """
    try:
        source = run if run.analytic else run.enclosure()[0]
        cuts = dense_table(source).losses
        above, other_above, below, other_below = source.tails(cuts)
    except NotCovered:
        return ()
    certain = np.array([source.infinite])
    orders = (_first, runs.at_least_one_below(certain)), (_last, runs.all_below(certain))
    return tuple(
        _lowered(runs, order(runs, above, below), order(runs, other_above, other_below), float(top[0]))
        for order, top in orders
    )


def _first(runs: RunLaw, above: Array, below: Array) -> tuple[Array, Array]:
    """Chances that the best is in each cell, from the lowest on, where the largest losses are the best; and room.

    The room is for the rounding of the sums that the chances are differences of.
    """
    better = np.concatenate([[0.0], above[::-1], [1.0]])
    worse = np.concatenate([[1.0], below[::-1], [0.0]])
    near, far = runs.at_least_one_below(better), runs.all_below(worse)
    close = better[1:] < 0.5
    cells, sums = np.where(close, np.diff(near), -np.diff(far)), np.where(close, near[1:], far[:-1])
    return cells[::-1], ROUNDING * sums[::-1]


def _last(runs: RunLaw, above: Array, below: Array) -> tuple[Array, Array]:
    """The same where the smallest losses are the best."""
    cells, room = _first(runs, below[::-1], above[::-1])
    return cells[::-1], room[::-1]


def _lowered(runs: RunLaw, one: tuple[Array, Array], other: tuple[Array, Array], top: float) -> FinitePair:
    """The pair of these outcomes, and of no run at all: less of each under P and more of it under Q, by the room.

    What Q has nothing of is infinite up to the chance of an infinite loss; the rest is what floats cannot tell from 0.
    """
    p = np.append(np.maximum(one[0] - one[1], 0.0), runs.none * (1 - SLACK))
    q = np.append(np.maximum(other[0], 0.0) + other[1], runs.none)
    infinite = min(float(p[q == 0].sum()), top * (1 - SLACK))
    q = np.maximum(q, np.where((q == 0) & (infinite > 0), 0.0, UNDERFLOWN))
    both = (p > 0) & (q > 0)
    losses = np.log(p[both]) - np.log(q[both])
    losses = losses - ROUNDING * (1 + np.abs(losses))
    return FinitePair.ordered(losses, p[both], infinite, 0.0)
