"""Grid engine: losses on a lattice, spread outwards for an upper bound and contracted for a lower one, one tilted FFT.

Serves what the contour cannot: few losses, atoms off any lattice, near-atoms. Both bounds are second order in
the step. The error terms are listed in docs/theory/error-budget.md under the names used here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy import fft

from hush.arrays import Array
from hush.numerics.rounding import LARGEST_EXPONENT, UNIT
from hush.numerics.work import room, spend

Tails = Callable[[Array], tuple[Array, Array, Array, Array]]
"""losses -> P(L > l), Q(L > l), P(L <= l), Q(L <= l)."""


FINER = 4.0
"""A lattice of the atoms' own is met exactly where it is at most so much finer than the step; else every k-th point."""
LEFT_OF_ATOMS = 1e-9
"""Lattice points stand this share of a step left of the atoms that they meet, so that rounding puts none below them."""
BULK = 1e-3
"""Mass below the lower end of the bulk: where the lattice is anchored does not matter for what is certified."""
ATOMS_ROUNDING = 1e-12
"""Relative error of a sum of atoms past the end of the lattice: thousands of roundings."""
UNKNOWN_RATIO = 690.0
"""Past this loss the Q-mass of a cell, e^-690 of its P-mass, may have underflowed: there is no lower bound from it."""
NOTHING_LEFT = 1e-300
"""A step that shrinks a mass to this leaves nothing of it."""
SEEN, UNSEEN = 60.0, 1e-26
"""Losses more than 60/tilt past epsilon have weights below e^-60 in all, which is what is charged for them."""
LEAST_TILT = 1e-12
"""Stands for a tilt of 0, by which that reach is divided."""
SMALLEST = 5e-324
"""The least float stands for 0 where a logarithm is taken: it is above what it stands for."""
UNDERFLOW = 1e-300
"""Stands for a zero of a spectrum, or for a tilt of 0 by which is divided: both only enlarge what is charged."""
ALMOST_ALL = 1 - 1e-16
"""The largest infinite mass whose complement has a logarithm."""
TRANSFORM_FLOOR = 1e-3
"""Added to the 2-norm of a law, per loss, for what the transform rounds where the law itself is small."""
CHERNOFF = np.geomspace(0.5, 64, 10)
"""Orders, in units of one over the deviation, at which the mass outside the window is bounded: any one holds."""
MOST_TILT = 1e3
"""A tilt weighs the ends of the widest law by e^1000 apart at the most: beyond it all mass would be on one point."""
NARROWEST = 1e-12
"""The width of a law that has one place only."""
COARSE_POINTS = 4000
"""Points of the lattice on which the deviation of the sum is estimated: it sets the window, which is charged for."""
DEVIATIONS, WIDTHS = 20, 3
"""The window is 20 deviations and 3 widths of the widest law: what falls outside is bounded and charged."""
FARTHEST = 1e6
"""Ends of a law are looked for up to this loss; what lies beyond is past the end of the lattice, as in `discretise`."""
MEETING = 2_000
"""Atoms that a lattice is made to meet at the most, the heaviest: where the others fall is charged, as always."""


def dot(a: Array, b: Array) -> float:
    """Inner product without a pool of threads: the vectors are long, the work is small."""
    return float((a * b).sum())


@dataclass(frozen=True, eq=False)
class LossSource:
    """One kind of loss and how often it is summed: tails of its continuous part, and its atoms (loss, P-mass)."""

    tails: Tails | None
    losses: Array
    masses: Array
    times: int
    lattice: float | None = None
    """Where the atoms lie on a lattice of their own: its step."""

    @cached_property
    def anchor(self) -> float:
        """A point of the lattice: the heaviest atom, or the lower end of the bulk (it may be narrower than a step)."""
        if len(self.losses):
            return float(self.losses[np.argmax(self.masses)])
        tails = self.tails
        return -_boundary(lambda l: float(tails(np.array([-l]))[2][0]) > BULK, 1e-9) if tails else 0.0


@dataclass(frozen=True, eq=False)
class LatticeLaw:
    """P-masses at first + k step, and P-mass at +infinity.

    Below a law, mass at infinity and on the last point stands for all greater losses at once, with their P- and
    Q-mass kept: that is a lower bound only where every one of them makes the sum exceed epsilon.
    """

    first: float
    mass: Array
    at_infinity: float


def discretise(
    source: LossSource, step: float, low: float, high: float, *, lump: bool = False
) -> tuple[LatticeLaw, LatticeLaw]:
    """A lattice law that dominates the source's, and one that it dominates.

    Above: each cell's mass is split between its ends so that both its P- and its Q-mass are kept (connect the
    dots, Doroshenko et al. 2022). Below: the profile is lowered by at least the most that it can bend within a
    cell, mass from both neighbours being merged onto the lattice point; where the neighbours have too little
    mass, a cell's mass is rounded down instead. Losses past the high end are infinite above and at that end below;
    as a lump they keep their P- and Q-mass, see LatticeLaw.
    """
    anchor = source.anchor - LEFT_OF_ATOMS * step
    room((high - low) / step, 20)
    first = math.floor((low - anchor) / step) - 1
    last = max(math.ceil((high - anchor) / step), first + 2) + 1
    edges = anchor + step * np.arange(first, last + 1)
    shrink = math.exp(-step)
    upper, lower, above, below = np.zeros(len(edges)), np.zeros(len(edges)), 0.0, 0.0
    if source.tails:
        p_above, q_above, p_below, q_below = source.tails(edges)
        p, q = cell_masses(p_above, p_below), cell_masses(q_above, q_below)
        right = np.clip((p - q * np.exp(np.minimum(edges[:-1], LARGEST_EXPONENT))) / -math.expm1(-step), 0.0, p)
        left = p - right
        upper[:-1] += left
        upper[1:] += right
        upper[0] += p_below[0]
        known = (q > 0) & (edges[:-1] < UNKNOWN_RATIO)  # where Q-mass underflowed there is no lower bound
        lower += _contract(left * known, right * known, shrink)
        last_point = min(float(q_above[-1]) * math.exp(min(float(edges[-1]), LARGEST_EXPONENT)), float(p_above[-1]))
        lower[-1] += last_point
        above = float(p_above[-1])
        if lump:
            upper[-1] += last_point
            below = max(above - last_point * (1 + 8 * UNIT), 0.0)
            above = above - last_point * (1 - 8 * UNIT)
    past = source.losses > edges[-1]
    losses, masses = source.losses[~past], source.masses[~past]
    place = np.clip(np.floor((losses - anchor) / step).astype(int) - first, 0, len(edges) - 2)
    offset = np.clip(losses - edges[place], 0.0, step)
    share = np.expm1(-offset) / math.expm1(-step)
    np.add.at(upper, place, masses * (1 - share))
    np.add.at(upper, place + 1, masses * share)
    np.add.at(lower, place, masses * np.exp(-offset))
    if past.any():
        kept = float(source.masses[past] @ np.exp(edges[-1] - source.losses[past]))
        rest = float(source.masses[past].sum()) - kept
        upper[-1], above = upper[-1] + kept, above + rest * (1 + ATOMS_ROUNDING) + 8 * UNIT * kept
        lower[-1], below = lower[-1] + kept, (below + max(rest * (1 - ATOMS_ROUNDING) - 8 * UNIT * kept, 0.0)) * lump
    return LatticeLaw(float(edges[0]), upper, above), LatticeLaw(float(edges[0]), lower, below)


def cell_masses(above: Array, below: Array) -> Array:
    """Masses between neighbouring edges from both tails, whichever is smaller there."""
    return np.maximum(np.where(above[:-1] < 0.5, above[:-1] - above[1:], below[1:] - below[:-1]), 0.0)


def _contract(left: Array, right: Array, shrink: float) -> Array:
    """P-masses of a lattice law below the cells that spread to (left, right).

    At each lattice point the profile is lowered by the most that it bends in the cells beside it; that takes
    mass from both neighbours. A point without neighbours to take from has the cells beside it rounded down.
    """
    if shrink < NOTHING_LEFT:  # cells so wide that nothing is left of a mass that is rounded down
        return np.append(left, 0.0)
    growth = 1 / shrink
    rounded = np.zeros(len(left), dtype=bool)
    for attempt in range(40):
        spend(5 * len(left))
        near = np.where(rounded, left + right * shrink, left)
        far = np.where(rounded, 0.0, right)
        mass = np.zeros(len(left) + 3)  # one empty point on either side
        mass[1:-2] += near
        mass[2:-1] += far
        base = near + far * shrink
        # far / base first: the product of two masses below 1e-154 would vanish
        bend = near * (far / np.where(base > 0, base, 1.0)) * (1 - shrink)
        depth = np.zeros(len(mass))
        depth[1:-2] = bend
        depth[2:-1] = np.maximum(depth[2:-1], bend)
        lower = mass + depth * (growth + 1) / (growth - 1)
        lower[:-1] -= depth[1:] / (growth - 1)
        lower[1:] -= depth[:-1] * growth / (growth - 1)
        bad = np.flatnonzero(lower < 0)
        if not len(bad):
            return lower[1:-1]
        for shift in range(-2 - attempt // 4, 1 + attempt // 4):
            cells = bad + shift
            rounded[cells[(cells >= 0) & (cells < len(left))]] = True
    return np.append(left + right * shrink, 0.0)


@dataclass(frozen=True, eq=False)
class Composed:
    """The law of the sum near the point of interest: losses, tilted masses, and what the error bound needs."""

    losses: Array
    tilted: Array
    tilt: float
    log_scale: float
    """log of the moment at the tilt."""
    noise: float
    """Bound on the 2-norm of the errors of the tilted masses."""
    stray: float
    """Bound on the tilted mass outside the window, and on the tilted mass that rounding of the tails misplaced."""
    at_infinity: float
    doubt: float = 0.0
    """Bound on the error of log_scale."""
    shift: float = 0.0
    """Bound on the error of the losses."""

    def log_delta(self, epsilon: float, side: int) -> float:
        """Bound on log delta(epsilon) from one side: -1 below, +1 above."""
        epsilon -= side * self.shift
        start = int(np.searchsorted(self.losses, epsilon, side="right"))
        stop = int(np.searchsorted(self.losses, epsilon + SEEN / max(self.tilt, LEAST_TILT)))
        spend(stop - start)
        gap = self.losses[start:stop] - epsilon
        weight = np.exp(-self.tilt * gap) * -np.expm1(-gap)
        value = dot(self.tilted[start:stop], weight)
        error = self.noise * math.sqrt(dot(weight, weight)) + self.stray * 2 + UNSEEN
        log_scale = self.log_scale - self.tilt * epsilon + side * self.doubt
        finite = value + side * error
        if side < 0:
            body = math.log(finite) + log_scale if finite > 0 else -math.inf
            return min(np.logaddexp(body, math.log(self.at_infinity)) if self.at_infinity else body, 0.0)
        body = math.log(max(finite, SMALLEST)) + log_scale
        return min(float(np.logaddexp(body, math.log(self.at_infinity)) if self.at_infinity else body), 0.0)


def compose(laws: Sequence[tuple[LatticeLaw, int]], step: float, tilt: float, size: int) -> Composed:
    """Sum the lattice laws by one FFT of the laws tilted by e^{tilt L}; Chernoff bounds what falls outside."""
    room(size, 10 + 15 * len(laws))
    tilted = [Slanted.of(law, n, step, tilt) for law, n in laws]
    spectrum = np.zeros(size // 2 + 1, dtype=complex)
    for part in tilted:
        folded = np.zeros(size)
        np.add.at(folded, (np.arange(len(part.weight)) - part.centre) % size, part.weight)
        wave = fft.rfft(folded)
        spectrum += part.times * np.log(np.where(wave == 0, UNDERFLOW, wave))
    masses = fft.irfft(np.exp(spectrum), size)
    mean = math.fsum(p.times * p.mean for p in tilted)
    start = math.fsum(p.times * p.first for p in tilted)
    points = sum(p.times * (len(p.weight) - 1) for p in tilted) + 1
    whole = points <= size
    index = np.arange(size) if whole else np.arange(size) - size // 2 + round((mean - start) / step)
    values = np.maximum(masses[(index - sum(p.times * p.centre for p in tilted)) % size], 0.0)
    count = sum(p.times for p in tilted)
    rough = sum(p.times * math.sqrt(dot(p.weight, p.weight)) for p in tilted)
    widest = max(float(p.losses[-1] - p.losses[0]) for p in tilted)
    infinite = -math.expm1(sum(n * math.log1p(-min(law.at_infinity, ALMOST_ALL)) for law, n in laws))
    return Composed(
        losses=start + step * index,
        tilted=values,
        tilt=tilt,
        log_scale=math.fsum(p.times * p.log_moment for p in tilted),
        noise=8 * UNIT * math.log2(size) * (rough + math.sqrt(dot(values, values)) + TRANSFORM_FLOOR * count),
        stray=(0.0 if whole else _outside(tilted, (size / 2 - 2) * step, step))
        + 8 * UNIT * count * (1 + tilt) * min(1 / max(tilt, UNDERFLOW), widest),
        at_infinity=infinite,
        doubt=8 * UNIT * sum(p.times * (2 + abs(p.log_moment) + tilt * p.largest) for p in tilted),
        shift=8 * UNIT * sum(p.times * p.largest for p in tilted),
    )


@dataclass(frozen=True, eq=False)
class Slanted:
    """A lattice law tilted and normalised."""

    first: float
    losses: Array
    weight: Array
    times: int
    mean: float
    variance: float
    log_moment: float
    centre: int

    @property
    def largest(self) -> float:
        """The largest size of a loss."""
        return float(max(-self.losses[0], self.losses[-1]))

    @classmethod
    def of(cls, law: LatticeLaw, times: int, step: float, tilt: float) -> Slanted:
        spend(6 * len(law.mass))
        losses = law.first + step * np.arange(len(law.mass))
        exponent = np.log(np.maximum(law.mass, SMALLEST)) + tilt * losses
        top = float(exponent.max())
        weight = np.exp(exponent - top)
        moment = float(weight.sum())
        weight /= moment
        mean = dot(weight, losses)
        variance = dot(weight, (losses - mean) ** 2)
        return cls(
            law.first,
            losses,
            weight,
            times,
            mean,
            variance,
            top + math.log(moment),
            round((mean - law.first) / step),
        )


def _outside(tilted: Sequence[Slanted], half: float, step: float) -> float:
    """Bound on the mass of the sum farther than half from its mean, by Chernoff on either side."""
    deviation = math.sqrt(sum(p.times * p.variance for p in tilted))
    total = 0.0
    for sign in (1.0, -1.0):
        best = 0.0
        spend(30 * sum(len(p.losses) for p in tilted))
        for order in sign * CHERNOFF / max(deviation, step):
            log_moment = 0.0
            for p in tilted:
                exponent = order * (p.losses - p.mean)
                grown = dot(p.weight, np.exp(np.minimum(exponent, 600.0)))
                log_moment += p.times * math.log(grown) if float(exponent.max()) < 600 else math.inf
            best = min(best, log_moment - abs(order) * half)
        total += math.exp(best)
    return total


class Summed(Protocol):
    """The law of a sum, as far as delta is concerned."""

    def log_delta(self, epsilon: float, side: int) -> float:
        """Bound on log delta(epsilon) from one side: -1 below, +1 above."""
        ...


@dataclass(frozen=True)
class Bracket:
    """The law of a sum from both sides at one resolution."""

    upper: Summed
    lower: Summed

    def log_delta(self, epsilon: float) -> tuple[float, float]:
        return self.lower.log_delta(epsilon, -1), self.upper.log_delta(epsilon, 1)


def bracket(sources: Sequence[LossSource], size: int, tilt: float, log_cut: float) -> Bracket:
    """Both composed laws on a lattice of about so many points; tails of P-mass below e^log_cut are cut off."""
    ranges = [support(source, log_cut) for source in sources]
    widest = max(NARROWEST, *(high - low for low, high in ranges))
    tilt = min(tilt, MOST_TILT / widest)
    rough = widest / COARSE_POINTS
    coarse = [
        Slanted.of(discretise(s, rough, *r)[0], s.times, rough, tilt) for s, r in zip(sources, ranges, strict=True)
    ]
    deviation = math.sqrt(sum(p.times * p.variance for p in coarse)) + rough
    width = DEVIATIONS * deviation + WIDTHS * widest
    everything = sum(s.times * (high - low) for s, (low, high) in zip(sources, ranges, strict=True))
    width = min(width, everything) + 8 * rough
    step = meeting(sources, width / size)
    both = [(*discretise(s, step, *r), s.times) for s, r in zip(sources, ranges, strict=True)]
    points = sum(n * (len(above.mass) - 1) for above, _, n in both) + 1
    size = fft.next_fast_len(min(int(width / step) + 64, points), real=True)
    return Bracket(
        compose([(above, n) for above, _, n in both], step, tilt, size),
        compose([(below, n) for _, below, n in both], step, tilt, size),
    )


def meeting(sources: Sequence[LossSource], step: float) -> float:
    """A step not above the given one at which the lattice meets the atoms as nearly as can be."""
    gaps = [(s.losses - s.anchor, s.masses * s.times) for s in sources if len(s.losses) > 1]
    if not gaps:
        return step
    lattices = {s.lattice for s in sources if len(s.losses) > 1}
    if len(lattices) == 1 and (lattice := lattices.pop()):
        return lattice / math.ceil(lattice / step) if lattice > step / FINER else lattice * math.floor(step / lattice)
    if len(gaps) == 1 and len(gaps[0][0]) == 2:
        gap = float(np.abs(gaps[0][0]).max())
        return gap / math.ceil(gap / step)
    steps = step * (1 - np.arange(500) / 2000)
    weights = np.concatenate([w for _, w in gaps])
    heaviest = np.argsort(-weights, kind="stable")[:MEETING]
    weights, places = weights[heaviest], np.concatenate([g for g, _ in gaps])[heaviest, None] / steps
    room(places.size, 2)
    missed = weights @ (places - np.floor(places + LEFT_OF_ATOMS)) * steps
    return float(steps[int(np.argmin(missed))])


def support(source: LossSource, log_cut: float) -> tuple[float, float]:
    """Losses outside of which either tail has P-mass below e^log_cut."""
    ends = (float(source.losses.min()), float(source.losses.max())) if len(source.losses) else (math.inf, -math.inf)
    tails = source.tails
    if tails is None:
        return ends
    cut = math.exp(max(log_cut, -LARGEST_EXPONENT))
    high = _boundary(lambda l: float(tails(np.array([l]))[0][0]) > cut)
    low = -_boundary(lambda l: float(tails(np.array([-l]))[2][0]) > cut)
    return min(low, high, ends[0]), max(low, high, ends[1])


def _boundary(inside: Callable[[float], bool], width: float = 1e-3) -> float:
    """Least point, to a relative width, from which on inside() is False (it may be negative)."""
    reach = 1.0
    while inside(reach) and reach < FARTHEST:
        reach *= 2
    low, high = -reach, reach
    while not inside(low) and low > -FARTHEST:
        low *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if inside(middle) else (low, middle)
        if high - low <= width * abs(high) + 1e-18:
            break
    return high
