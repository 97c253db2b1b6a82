"""The pair of random allocation for any step: the record in one of the steps, chosen at random, whatever the noise is.

If (P, Q) dominates every step at all real epsilons, the epoch is dominated by the mean of the ratios of its steps: with
V_i independent and distributed like dP/dQ under Q, remove is E(mean V - e^eps)_+ and add e^eps E(e^-eps - mean V)_+,
also where steps are chosen in the light of earlier ones (docs/theory/allocation.md; Feldman, Shenfeld 2026). Calls and
puts are convex. So the law of V may be spread about each of its values, which gives a pair above, or drawn together,
which gives one below. Both are done on a lattice in V, not in the loss, as the mean of V must stay what it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import special

from hush.arrays import Array
from hush.curves.interval import Interval
from hush.curves.pairs import finite_bounds
from hush.curves.pairs.finite import BLUR, LARGEST_BLUR, FinitePair
from hush.curves.pairs.pair import Pair
from hush.errors import NotCovered
from hush.numerics.rounding import UNIT
from hush.numerics.work import QUESTION, kept, remembered, room

MOST_ATOMS = 200_000
"""Different means of a few values that are listed exactly."""
CELLS, MOST_CELLS = 1 << 18, 1 << 20
"""Places of the lattice on which all steps are summed: the first, or the second where there are many steps."""
FEWEST = 64
"""Cells of one step: with fewer the lattice says nothing, and what a step says on its own is all that is known."""
TAIL = 1e-16
"""P-mass of one step past the end of the lattice, which counts as infinite."""
WIDEST = 1000.0
"""Ratios dP/dQ past this are not on any lattice: their P-mass counts as infinite."""
TAIL_ROUNDING = 1e-12
"""Relative error of tails of a loss: sums of some thousand floats, or special functions."""
FFT_ROUNDING = 8.0
"""Units of rounding per level of a Fourier transform, in the Euclidean norm; its theory has less than five."""
MOST_HIDDEN = 1e-6
"""Relative change of all masses beyond which the list says less than the lattice."""
NEAR_ONE = -0.5
"""Where the mean of V - 1 is above this it keeps the digits of the loss, below it the mean of V does."""
LEAST = 1e-290
"""Masses below this may have lost digits: they are raised to it from above, and left out from below."""
POINTS = 3000
"""Places of the tables that are composed."""
OUT_OF_SIGHT = 1e-18
"""Tables end where delta is below this."""
TABLE = 0.7 * QUESTION
"""Work that such a table may take, the sum of all steps with it: the same for all questions."""


@dataclass(frozen=True)
class AnyAllocation(Pair):
    """The record in one of `steps` equal steps, each dominated by `base` when it takes part; or the reverse."""

    base: Pair
    steps: int
    reverse: bool = False

    def swap(self) -> Pair:
        return replace(self, reverse=not self.reverse)

    @property
    def infinite(self) -> float:
        return min(self._both[1].infinite, self.plain.infinite)

    @property
    def cut(self) -> bool:
        return self.base.cut

    @property
    def plain(self) -> Pair:
        """The pair of one step in which the record certainly takes part: by joint convexity it dominates this one."""
        return self.base.swap() if self.reverse else self.base

    @cached_property
    def _both(self) -> tuple[Pair, Pair]:
        """Finite pairs below and above, as fine as they are known."""
        below, above = bounded_means(self.base, self.steps)
        return (below.swap(), above.swap()) if self.reverse else (below, above)

    def enclosure(self) -> tuple[Pair, Pair]:
        below, above = tabled_means(self.base, self.steps)
        return (below.swap(), above.swap()) if self.reverse else (below, above)

    def cover(self) -> Pair:
        return self.plain.cover()

    def log_delta(self, epsilon: float, tolerance: float = 1e-9) -> Interval:
        below, above = self._both
        high = min(above.log_delta(epsilon, tolerance)[1], self.plain.log_delta(epsilon, tolerance)[1])
        return min(below.log_delta(epsilon, tolerance)[0], high), high

    @property
    def max_loss(self) -> float:
        return min(self._both[1].max_loss, self.plain.max_loss)

    def renyi(self, order: float) -> Interval:
        if order == math.inf:
            return 0.0, self.max_loss
        below, above = self._both
        high = min(above.renyi(order)[1], self.plain.renyi(order)[1])
        return min(max(below.renyi(order)[0], 0.0), high), high


@remembered(16)
def bounded_means(base: Pair, steps: int) -> tuple[FinitePair, FinitePair]:
    """Finite pairs below and above the mean of so many independent ratios."""
    values = _few_values(base, steps)
    found = None if values is None else _listed(*values, steps, base.infinite)
    return _on_lattice(base, steps) if found is None else found


@kept(16, TABLE)
def tabled_means(base: Pair, steps: int) -> tuple[FinitePair, FinitePair]:
    """The same on a lattice of losses, short enough to be composed."""
    below, above = bounded_means(base, steps)
    if len(above.losses) <= POINTS:
        return below, above
    up = max(above.epsilon(math.log(max(OUT_OF_SIGHT, 2 * above.infinite)), 1e-3)[1], 1e-6)
    mirrored = above.swap()
    down = max(mirrored.epsilon(math.log(max(OUT_OF_SIGHT, 2 * mirrored.infinite)), 1e-3)[1], 1e-6)
    step = (up + down) / POINTS
    losses = step * np.arange(-math.ceil(down / step), math.ceil(up / step) + 1)
    low, high = _out_of_the_money(below, losses)[0], _out_of_the_money(above, losses)[1]
    return finite_bounds.below(losses, np.minimum(low, high), high, step), finite_bounds.above(losses, high, step)


def _few_values(base: Pair, steps: int) -> tuple[Array, Array] | None:
    """The losses with their Q-masses, where they are so few that all means of V can be listed; V = 0 is the last."""
    try:
        law = base.law()
    except NotCovered:
        return None
    kept = law.masses > 0
    losses, mass = law.losses[kept], law.masses[kept] * (1 - base.infinite)
    if law.pieces or law.missing or not len(losses) or np.abs(losses).max() > 200:
        return None
    q = mass * np.exp(-losses)
    rest = 1 - math.fsum(q)
    if rest > 64 * UNIT:  # Q-mass where P has none: V = 0 there
        losses, q = np.append(losses, -math.inf), np.append(q, rest)
    ways = math.lgamma(steps + len(losses)) - math.lgamma(len(losses)) - math.lgamma(steps + 1)
    return (losses, q) if ways < math.log(MOST_ATOMS) else None


def _listed(values: Array, q: Array, steps: int, infinite: float) -> tuple[FinitePair, FinitePair] | None:
    """Every mean of V, of so many of these losses, with its multinomial probability; None where rounding hides it."""
    counts = _ways(steps, len(values))
    room(counts.size, 6)
    parts = counts * np.log(q) - special.gammaln(counts + 1)
    logs = math.lgamma(steps + 1) + parts.sum(axis=1)
    # each of the terms is off by a few units of itself, and the exponential of their sum by as much in all
    doubt = 8 * UNIT * (float(np.abs(parts).sum(axis=1).max()) + math.lgamma(steps + 1) + steps)
    means, more = counts @ np.exp(values) / steps, _more_than_one(counts, values) / steps
    zero, some = float(np.exp(logs[means == 0]).sum()), means > 0
    means, more = means[some], more[some]
    near = more > NEAR_ONE  # farther below, V - 1 has lost the digits of V
    losses = np.where(near, np.log1p(np.where(near, more, 0.0)), np.log(means))
    masses = np.exp(logs[some]) * means
    off = np.where(near, *(counts[some] @ _off(values, size) for size in (np.expm1(values), np.exp(values))))
    off = off / steps / means
    firm = off <= LARGEST_BLUR * np.abs(losses)
    doubt += _hidden(losses[~firm], masses[~firm], off[~firm], losses[firm], masses[firm], zero)
    if not doubt < MOST_HIDDEN:
        return None
    blur = max(BLUR, float(np.max(off[firm] / np.maximum(np.abs(losses[firm]), 1e-300), initial=0.0)))
    above = FinitePair.ordered(losses, np.maximum(masses, LEAST) * (1 + doubt), infinite, zero * (1 + doubt), blur)
    sure = masses > LEAST
    below = FinitePair.ordered(losses[sure], masses[sure] * (1 - doubt), infinite, zero * (1 - doubt), blur)
    return below, above


def _more_than_one(counts: Array, losses: Array) -> Array:
    """The sum of V - 1 over so many of these losses: near V = 1 it keeps the digits that V loses."""
    return counts @ np.expm1(losses)


def _off(values: Array, sizes: Array) -> Array:
    """How far V - 1 or V may be off, of each loss: by a few units of its size, and by what the loss is off."""
    finite = np.where(np.isfinite(values), values, 0.0)
    blur = BLUR * (1 + float(np.abs(finite).max()))
    return 16 * UNIT * np.abs(sizes) + blur * np.abs(finite) * np.exp(finite)


def _hidden(soft: Array, weight: Array, off: Array, losses: Array, masses: Array, zero: float) -> float:
    """By how much, relatively, all masses must change to make up for losses that nearly cancel, off by so much.

    Such a loss changes delta only at epsilons of its own size, and there the others make delta at least as large as at
    the largest of these epsilons. This holds in both directions.
    """
    if not len(soft):
        return 0.0
    reach = float((np.abs(soft) + off).max())
    up, down = losses > reach, losses < -reach
    rest = float((masses[up] * -np.expm1(reach - losses[up])).sum())
    mirror = zero + float((masses[down] * np.exp(-losses[down]) * -np.expm1(reach + losses[down])).sum())
    errors = float((weight * off).sum()), float((weight * np.exp(-soft) * off).sum())
    shares = [e / other if other > 0 else math.inf for e, other in zip(errors, (rest, mirror), strict=True)]
    return 2 * max(shares)


def _ways(total: int, kinds: int) -> Array:
    """All lists of so many counts with this total.

    >>> _ways(2, 2).tolist()
    [[0, 2], [1, 1], [2, 0]]
    """
    found = np.zeros((1, 0), dtype=np.int64)
    for _ in range(kinds - 1):
        left = total - found.sum(axis=1)
        rows = np.repeat(np.arange(len(found)), left + 1)
        first = np.arange(len(rows)) - np.repeat(np.cumsum(left + 1) - left - 1, left + 1)
        found = np.column_stack([found[rows], first])
    return np.column_stack([found, total - found.sum(axis=1)])


def _on_lattice(base: Pair, steps: int) -> tuple[FinitePair, FinitePair]:
    """The ratio V of one step on a lattice of values, from both sides, then the sum of all steps."""
    inner, outer = (base, base) if _has_tails(base) else base.enclosure()
    end = _reach(outer)
    cells = (CELLS if steps <= 256 else MOST_CELLS) // steps
    near = math.floor(cells / end)  # as many cells from 0 to 1, where the profile has its kink: 1 is on the lattice
    if cells < FEWEST or near < 1:
        nothing = FinitePair(np.zeros(1), np.ones(1))
        return nothing, FinitePair(np.empty(0), np.empty(0), 1.0, 1.0)
    places = np.arange(1, cells + 1)
    losses = _logs(places, near)
    high = _out_of_the_money(outer, losses)[1]
    low = np.minimum(_out_of_the_money(inner, losses)[0], high)
    above = finite_bounds.above(losses, high, math.nan)
    below = finite_bounds.below(losses, low, high, math.nan)
    return _summed(below, near, steps, cells, up=False), _summed(above, near, steps, cells, up=True)


def _logs(places: Array, whole: int) -> Array:
    """log of places/whole, with all digits also near 1."""
    return np.log1p((places - whole) / whole)


def _has_tails(pair: Pair) -> bool:
    try:
        pair.tails(np.zeros(1))
    except NotCovered:
        return False
    return True


def _reach(pair: Pair) -> float:
    """The value of V past which there is hardly any P-mass."""
    top = pair.max_loss if pair.infinite == 0 else math.inf
    ends = np.log(np.append(1.02 ** np.arange(1, math.ceil(math.log(WIDEST) / math.log(1.02))), WIDEST))
    past = pair.tails(ends)[0] - pair.infinite
    found = float(ends[int(np.argmax(past <= TAIL))]) if np.any(past <= TAIL) else math.log(WIDEST)
    return math.exp(min(found, top))


def _out_of_the_money(pair: Pair, losses: Array) -> tuple[Array, Array]:
    """Bounds on delta - max(1 - t, 0) at t = e^loss: a call where t >= 1, and a put below."""
    p_up, q_up, p_down, q_down = pair.tails(losses)
    t = np.exp(losses)
    calls, puts = p_up - t * q_up, t * q_down - p_down
    value = np.where(losses >= 0, calls, puts)
    doubt = TAIL_ROUNDING * np.where(losses >= 0, p_up + t * q_up, p_down + t * q_down)
    return np.maximum(value - doubt, 0.0), np.maximum(value, 0.0) + doubt


def _summed(pair: FinitePair, near: int, steps: int, cells: int, *, up: bool) -> FinitePair:
    """The mean of so many ratios on the lattice: the Q-law of one to the power of the steps, by Fourier transforms."""
    size = 1 << (cells * steps).bit_length()
    room(size, 60)
    law = np.zeros(size, dtype=np.longdouble)
    np.add.at(law, np.rint(np.exp(pair.losses) * near).astype(np.int64), pair.q_mass)
    law[0] += pair.at_minus_infinity
    found = np.fft.irfft(np.fft.rfft(law) ** steps, size)
    unit = float(np.finfo(np.longdouble).eps) * FFT_ROUNDING * math.log2(size)
    error = unit * (steps * float(np.sqrt(law @ law)) + 2)
    places = np.arange(size)
    means = places / (near * steps)
    masses = found.astype(float)
    kept = masses > (0.0 if up else error)
    kept[0] = False
    if not up:
        masses = masses - error
    lost = error * float(np.linalg.norm(means)) if up else 0.0
    zero = max(float(found[0]), 0.0) + error * math.sqrt(size) if up else max(float(found[0]) - error, 0.0)
    p = masses[kept] * means[kept]
    solid = p > LEAST
    top = pair.at_infinity + lost + (LEAST * size if up else 0.0)
    return FinitePair(_logs(places[kept][solid], near * steps), p[solid], top, zero, blur=BLUR)
