"""One kind of loss by its tails and its atoms; and, below it, one of which some outcomes are merged.

The error terms are listed in docs/theory/error-budget.md under the names used here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hush.arrays import Array
from hush.numerics.rounding import UNIT

Tails = tuple[Array, Array, Array, Array]
"""P(L > l), Q(L > l), P(L <= l), Q(L <= l) at many losses l."""
TailFunction = Callable[[Array], Tails]
"""From losses to their tails."""
BULK = 1e-3
"""P-mass below the lower end of the bulk. It says where the lattice is anchored; any place is valid."""
FARTHEST = 1e6
"""Ends of a law are looked for up to this loss; what lies beyond is charged as past the end of the lattice (G4, G5)."""
SPIKE = 0.1
"""Losses within one step are merged to one atom where they have so much P-mass beside the heaviest atom among them. Any
share is valid: to merge outcomes is post-processing (G3a)."""
MOST_MERGED = 12
"""Atoms beside the heaviest one that are merged onto the lattice at the most, the heaviest ones."""
NEARLY_MET = 1e-6
"""An atom so near to its point, in steps, is on the lattice; what that costs is charged (G6)."""
FARTHEST_MERGED, TRIED = 64.0, 64
"""An atom is merged with losses up to so many steps before it. Of so many places each, three times, the last one is
taken from which on the whole is above its point: any such place is valid."""
SPIKE_ROUNDING = 256 * UNIT
"""Relative rounding error of the P- and the Q-mass of such an atom, and of its loss."""


@dataclass(frozen=True, eq=False)
class LossSource:
    """One kind of loss and how often it is summed: tails of its continuous part, and its atoms (loss, P-mass)."""

    tails: TailFunction | None
    losses: Array
    masses: Array
    times: int
    lattice: float | None = None
    """Where the atoms lie on a lattice of their own: its step."""

    def continuous(self, losses: Array) -> Tails:
        """Tails of the continuous part."""
        nothing = np.zeros(len(losses))
        return self.tails(losses) if self.tails else (nothing, nothing, nothing, nothing)

    @cached_property
    def anchor(self) -> float:
        """A point of the lattice: the heaviest atom, or the lower end of the bulk (it may be narrower than a step)."""
        if len(self.losses):
            return float(self.losses[np.argmax(self.masses)])
        tails = self.tails
        return -first_false(lambda l: float(tails(np.array([-l]))[2][0]) > BULK, 1e-9) if tails else 0.0


def cell_masses(above: Array, below: Array) -> Array:
    """Masses between neighbouring edges from both tails, whichever is smaller there."""
    return np.maximum(np.where(above[:-1] < below[1:], above[:-1] - above[1:], below[1:] - below[:-1]), 0.0)


def merged(source: LossSource, step: float, heaviest: float) -> LossSource:
    """A source below it, for a lattice of this step: what that would round down in every step anew, as atoms on it.

    To merge outcomes is post-processing (G3a). Outcomes that are hardly ever a hit all have about the same loss: as one
    atom they have one, which the lattice is then made to meet. Other atoms off the lattice are merged with so many of
    the lesser losses before them that together they lie on it.
    """
    if source.tails is None:
        return source
    found = _with_spike(source, step, heaviest)
    anchor = found.anchor
    for place in np.sort(found.losses[np.argsort(-found.masses)[: MOST_MERGED + 1]]):
        point = anchor + step * math.floor((place - anchor) / step + NEARLY_MET)
        if place - point > NEARLY_MET * step:
            found = _with_atom_at(found, point, float(place), step)
    return found


def _with_spike(source: LossSource, step: float, heaviest: float) -> LossSource:
    """All losses within half a step of where most of them are as one atom, unless they are few or one already."""
    around = _Window(source, heaviest - step, heaviest + step)
    if not around.q > 0 < around.p:
        return source
    middle = math.log(around.p / around.q)
    spike = _Window(source, middle - step / 2, middle + step / 2)
    if spike.q <= 0 or spike.p - float(spike.masses.max(initial=0.0)) < SPIKE:
        return source
    return spike.merged(math.log(spike.p / spike.q) - SPIKE_ROUNDING, spike.p)


def _with_atom_at(source: LossSource, point: float, place: float, step: float) -> LossSource:
    """The atom and the losses before it, as far as needed, as one atom at the point; the source, if they are few."""
    if place not in source.losses:  # merged with another
        return source
    reaches = step * np.linspace(0.0, FARTHEST_MERGED, TRIED + 1)
    for _ in range(3):
        enough = _mean_below(source, point, place, reaches)
        if enough[0] or not enough[-1]:
            return source
        first = int(np.argmax(enough))
        reaches = np.linspace(reaches[first - 1], reaches[first], TRIED + 1)
    found = _Window(source, point - float(reaches[0]), place)
    mass = found.q * math.exp(point)
    return found.merged(point, mass) if mass <= found.p else source


def _mean_below(source: LossSource, point: float, place: float, reaches: Array) -> Array:
    """For each reach, whether the losses from (point - reach) to the place, as one, are below the point."""
    edges = np.append(point - reaches[::-1], place)
    p_above, q_above, p_below, q_below = source.continuous(edges)
    p, q = cell_masses(p_above, p_below), cell_masses(q_above, q_below)
    among = (source.losses > edges[0]) & (source.losses <= place)
    losses, masses = source.losses[among], source.masses[among]
    cells = np.searchsorted(edges, losses, side="left") - 1
    np.add.at(p, cells, masses)
    np.add.at(q, cells, masses * np.exp(-losses))
    return np.cumsum((p - q * math.exp(point))[::-1]) <= 0


@dataclass(frozen=True, eq=False)
class _Window:
    """The losses of a source with a continuous part that lie in (low, high]."""

    source: LossSource
    low: float
    high: float

    @cached_property
    def _ends(self) -> Tails:
        return self.source.continuous(np.array([self.low, self.high]))

    @property
    def _inside(self) -> Array:
        return (self.source.losses > self.low) & (self.source.losses <= self.high)

    @property
    def masses(self) -> Array:
        """P-masses of the atoms inside."""
        return self.source.masses[self._inside]

    @cached_property
    def p(self) -> float:
        """P-mass inside, rounded down."""
        p_above, _, p_below, _ = self._ends
        return (float(cell_masses(p_above, p_below)[0]) + float(self.masses.sum())) * (1 - SPIKE_ROUNDING)

    @cached_property
    def q(self) -> float:
        """Q-mass inside, rounded up."""
        _, q_above, _, q_below = self._ends
        atoms = float((self.masses * np.exp(-self.source.losses[self._inside])).sum())
        return (float(cell_masses(q_above, q_below)[0]) + atoms) * (1 + SPIKE_ROUNDING)

    def merged(self, place: float, mass: float) -> LossSource:
        """The source with one atom in place of all that is inside."""
        inside = self._inside
        losses, masses = np.append(self.source.losses[~inside], place), np.append(self.source.masses[~inside], mass)
        return LossSource(self._beside, losses, masses, self.source.times)

    def _beside(self, losses: Array) -> Tails:
        """Tails of the continuous part without what is inside, each from the side on which it keeps its digits."""
        tails = self.source.continuous(losses)
        left, right = losses < self.low, losses >= self.high
        up, down = [], []
        for k in (0, 1):  # P, then Q
            past, before = float(self._ends[k][1]), float(self._ends[k + 2][0])
            up.append(np.where(right, tails[k], past + np.where(left, np.maximum(before - tails[k + 2], 0.0), 0.0)))
            down.append(np.where(left, tails[k + 2], before + np.where(right, np.maximum(past - tails[k], 0.0), 0.0)))
        return up[0], up[1], down[0], down[1]


def first_false(inside: Callable[[float], bool], width: float = 1e-3) -> float:
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
