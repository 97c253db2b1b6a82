"""Losses on a lattice: a law above that of a loss and one below it.

Both bounds are second order in the step. The error terms are listed in docs/theory/error-budget.md under the names
used here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hush.arrays import Array
from hush.numerics.engines.loss_source import LossSource, TailFunction, cell_masses, first_false, merged
from hush.numerics.rounding import LARGEST_EXPONENT, UNIT
from hush.numerics.work import Exhausted, room, spend

FINER = 4.0
"""A lattice of the atoms' own is met exactly where it is at most so much finer than the step; else every k-th point."""
LEFT_OF_ATOMS = 1e-9
"""Lattice points stand this share of a step left of the atoms that they meet, so that rounding puts no atom left of its
point. Where an atom lies in its cell is charged (G6), so any share is valid."""
ATOMS_ROUNDING = 1e-12
"""Relative error of a sum of atoms past the end of the lattice: room for 4,000 roundings of one unit."""
UNKNOWN_RATIO = 690.0
"""Past this loss the Q-mass of a cell, e^-690 of its P-mass, may have underflowed: there is no lower bound from it."""
NOTHING_LEFT = 1e-300
"""A step that shrinks a mass to this share leaves nothing of it: the share is dropped, which is valid from below."""
MEETING = 2_000
"""Atoms that a lattice is made to meet at the most, the heaviest ones. Where the others fall is charged (G6)."""


LEAST_STEP = 1e-11
"""A cell's mass is split by (P - e^l Q)/(1 - e^-step): on a finer lattice floats cannot tell the difference from 0."""


@dataclass(frozen=True, eq=False)
class LatticeLaw:
    """P-masses at first + k step, and P-mass at +infinity.

    Below a law, mass at infinity and on the last point stands for all greater losses at once, with their P- and
    Q-mass kept: that is a lower bound only where every one of them makes the sum exceed epsilon.
    """

    first: float
    mass: Array
    at_infinity: float

    def added(self, other: LatticeLaw) -> LatticeLaw:
        """The law of the sum of two independent losses on lattices of one step."""
        room(len(self.mass) + len(other.mass), 4)
        spend(len(self.mass) * len(other.mass) / 20)
        mass = np.convolve(self.mass, other.mass)
        certain = float(other.mass.sum()) + other.at_infinity
        infinite = self.at_infinity * certain + float(self.mass.sum()) * other.at_infinity
        return LatticeLaw(self.first + other.first, mass, infinite)


def all_added(
    laws: Sequence[tuple[LatticeLaw, int]], added: Callable[[LatticeLaw, LatticeLaw], LatticeLaw]
) -> LatticeLaw:
    """The law of the sum of all losses, each law so many times: every power by repeated squaring."""
    total = LatticeLaw(0.0, np.ones(1), 0.0)
    for law, n in laws:
        power, rest = law, n
        while rest:
            total = added(total, power) if rest % 2 else total
            rest //= 2
            power = added(power, power) if rest else power
    return total


def discretise(
    source: LossSource, step: float, low: float, high: float, *, lump: bool = False
) -> tuple[LatticeLaw, LatticeLaw]:
    """A lattice law that dominates the source's, and one that it dominates.

    Losses past the high end are infinite above and at that end below; as a lump they keep their P- and Q-mass, see
    LatticeLaw.
    """
    upper, lower = _both(source, step, low, high, lump)
    heaviest = upper.first + step * int(np.argmax(upper.mass))
    coarser = merged(source, step, heaviest)
    return upper, lower if coarser is source else _both(coarser, step, low, high, lump)[1]


def spread(source: LossSource, step: float, low: float, high: float) -> LatticeLaw:
    """The first of these laws alone."""
    return _both(source, step, low, high, False)[0]


def _both(source: LossSource, step: float, low: float, high: float, lump: bool) -> tuple[LatticeLaw, LatticeLaw]:
    anchor = source.anchor - LEFT_OF_ATOMS * step
    room((high - low) / step, 20)
    first = math.floor((low - anchor) / step) - 1
    last = max(math.ceil((high - anchor) / step), first + 2) + 1
    edges = anchor + step * np.arange(first, last + 1)
    both = _Both(edges, step, np.zeros(len(edges)), np.zeros(len(edges)))
    if source.tails:
        both.add_tails(source.tails, lump)
    past = source.losses > edges[-1]
    losses = source.losses[~past]
    both.add_atoms(losses, source.masses[~past], np.floor((losses - anchor) / step).astype(int) - first)
    if past.any():
        both.add_past(source.losses[past], source.masses[past], lump)
    start = float(edges[0])
    return LatticeLaw(start, both.upper, both.above), LatticeLaw(start, both.lower, both.below)


@dataclass(eq=False)
class _Both:
    """Two lattice laws in the making: masses above and below the source's, and what each has at infinity."""

    edges: Array
    step: float
    upper: Array
    lower: Array
    above: float = 0.0
    below: float = 0.0

    def add_tails(self, tails: TailFunction, lump: bool) -> None:
        """The continuous part, cell by cell.

        Above: each cell's mass is split between its ends so that both its P- and its Q-mass are kept (connect the
        dots, Doroshenko et al. 2022). Below: the profile is lowered by at least the most that it can bend within a
        cell, mass from both neighbours being merged onto the lattice point; where the neighbours have too little
        mass, a cell's mass is rounded down instead.
        """
        edges = self.edges
        if self.step < LEAST_STEP:
            raise Exhausted
        p_above, q_above, p_below, q_below = tails(edges)
        p, q = cell_masses(p_above, p_below), cell_masses(q_above, q_below)
        right = np.clip((p - q * np.exp(np.minimum(edges[:-1], LARGEST_EXPONENT))) / -math.expm1(-self.step), 0.0, p)
        left = p - right
        self.upper[:-1] += left
        self.upper[1:] += right
        self.upper[0] += p_below[0]
        known = (q > 0) & (edges[:-1] < UNKNOWN_RATIO)  # where Q-mass underflowed there is no lower bound
        self.lower += _contract(left * known, right * known, math.exp(-self.step))
        last_point = min(float(q_above[-1]) * math.exp(min(float(edges[-1]), LARGEST_EXPONENT)), float(p_above[-1]))
        self.lower[-1] += last_point
        self.above = float(p_above[-1])
        if lump:
            self.upper[-1] += last_point
            self.below = max(self.above - last_point * (1 + 8 * UNIT), 0.0)
            self.above = self.above - last_point * (1 - 8 * UNIT)

    def add_atoms(self, losses: Array, masses: Array, cells: Array) -> None:
        """Atoms, each in its cell: split between the ends above, moved to the lower end below."""
        place = np.clip(cells, 0, len(self.edges) - 2)
        offset = np.clip(losses - self.edges[place], 0.0, self.step)
        share = np.expm1(-offset) / math.expm1(-self.step)
        np.add.at(self.upper, place, masses * (1 - share))
        np.add.at(self.upper, place + 1, masses * share)
        np.add.at(self.lower, place, masses * np.exp(-offset))

    def add_past(self, losses: Array, masses: Array, lump: bool) -> None:
        """Atoms past the last point: their Q-mass stays there, the rest of their P-mass goes to infinity."""
        kept = float(masses @ np.exp(self.edges[-1] - losses))
        rest = float(masses.sum()) - kept
        self.upper[-1] += kept
        self.above = self.above + rest * (1 + ATOMS_ROUNDING) + 8 * UNIT * kept
        self.lower[-1] += kept
        self.below = (self.below + max(rest * (1 - ATOMS_ROUNDING) - 8 * UNIT * kept, 0.0)) * lump


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
    high = first_false(lambda l: float(tails(np.array([l]))[0][0]) > cut)
    low = -first_false(lambda l: float(tails(np.array([-l]))[2][0]) > cut)
    return min(low, high, ends[0]), max(low, high, ends[1])
