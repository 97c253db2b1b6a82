"""Atoms off any lattice, split onto one; what that adds to delta is bounded, so one law gives both ends.

Serves noise on a lattice with rare and large losses: sampled discrete Gaussian noise, many times. Losses that make the
sum exceed epsilon whatever the others are have a closed form. The error terms are listed in
docs/theory/error-budget.md under the names used here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy  # scipy.fft is loaded when first used: most questions never come here

from hush.arrays import Array
from hush.numerics.engines.grid import (
    CHERNOFF,
    LEAST_TILT,
    MOST_TILT,
    NARROWEST,
    SEEN,
    UNSEEN,
    Composed,
    compose,
    dot,
)
from hush.numerics.engines.loss_lattice import LEFT_OF_ATOMS, meeting, spread
from hush.numerics.engines.loss_source import LossSource
from hush.numerics.laws.law import Law
from hush.numerics.laws.normals import Normals
from hush.numerics.rounding import UNIT
from hush.numerics.work import spend

LEAST_ACCURACY, SPARE = 40.0, 30.0
"""Atoms lighter than e^-40, or e^-30 of delta in all steps together, are not looked at; their mass is charged (A4)."""
FORGOTTEN = 1e-9
"""Share of delta that the lowest and the highest losses together have which are not put on the lattice. Their mass is
charged, so any share is valid (A4)."""
ATOM_ROUNDING, MASS_ROUNDING = 2e-12, 16 * UNIT
"""Relative rounding error of a loss that is an atom, and of any mass beside what its law states (A5). The losses of
finite pairs may be off by 1e-12, whoever made them."""
TILTS = np.geomspace(0.1, MOST_TILT, 60)
"""Tilts that are tried, in units of one over the widest law. Any tilt is valid."""
OUTSIDE, ROOM_OUTSIDE = 34.0, 1.02
"""The window is so wide that about e^-34 of the tilted mass is outside; what is, G8 charges."""
ORDERS = np.geomspace(0.3, 60, 16)
"""Orders at which sums that fall short in spite of a loss past the lattice are bounded, in units of one over the
deviation (A3). Any are valid."""
MOST_ENDS = 48
"""Ends of the lattice that are tried, at the most."""
LEAST_INSIDE = 1e-300
"""Stands for a sum that underflowed, from above."""
MOST_EXPONENT = 700.0
"""Larger exponents leave the floats."""


@dataclass(frozen=True, eq=False)
class Atoms:
    """One kind of loss that has atoms alone, and how often it is summed."""

    losses: Array
    masses: Array
    times: int
    loss_error: Array
    """Bound on the rounding error of each loss."""
    mass_error: Array
    """The same of each mass, relative to it."""
    missing: float
    """P-mass of atoms that are not among them, at the most."""

    @classmethod
    def of(cls, law: Law, times: int, accuracy: float) -> Atoms:
        """All atoms of a law that is served, but those that are lighter than e^-accuracy."""
        losses, masses = [law.losses], [law.masses]
        loss_errors, mass_errors = [ATOM_ROUNDING * np.abs(law.losses)], [np.full(len(law.losses), MASS_ROUNDING)]
        missing = 0.0
        for piece in law.pieces:
            nodes = piece.nodes(0.0, 0.0, accuracy)
            losses.append(nodes.loss)
            masses.append(np.exp(nodes.log_weight))
            loss_errors.append(UNIT * nodes.loss_error)
            mass_errors.append(MASS_ROUNDING * (1 + np.abs(nodes.log_weight)) + UNIT * nodes.weight_error)
            missing += nodes.error
        columns = (np.concatenate(found) for found in (losses, masses, loss_errors, mass_errors))
        found, order = list(columns), np.argsort(np.concatenate(losses), kind="stable")
        return cls(found[0][order], found[1][order], times, found[2][order], found[3][order], missing)

    def between(self, low: int, high: int) -> Atoms:
        """Those from one place on, below another."""
        columns = (column[low:high] for column in (self.losses, self.masses, self.loss_error, self.mass_error))
        losses, masses, loss_error, mass_error = columns
        return Atoms(losses, masses, self.times, loss_error, mass_error, self.missing)

    def variance(self, last: int) -> float:
        """The variance of those before this place."""
        masses, losses = self.masses[:last], self.losses[:last]
        mean = dot(masses, losses) / float(masses.sum())
        return dot(masses, (losses - mean) ** 2) / float(masses.sum())

    @cached_property
    def p(self) -> float:
        """P-mass."""
        return float(self.masses.sum())


@dataclass(frozen=True, eq=False)
class SplitSum:
    """The law of a sum whose atoms were split onto a lattice, and what stands beside it."""

    law: Composed
    """The sum of the losses on the lattice, its masses not summing to 1."""
    variance: float
    """V: the split moves the sum by a variance of at most V (A2)."""
    big: tuple[float, float]
    """P- and Q-mass of the event that a loss is past the lattice, none of the lowest among them."""
    orders: Array
    log_moments: Array
    """log E e^{-bS} of that event at a few orders b > 1 (A3)."""
    forgotten: float
    """P-mass of all that is neither on the lattice nor past it."""

    def log_delta(self, epsilon: float, side: int) -> float:
        """Bound on log delta(epsilon) from one side: -1 below, +1 above."""
        law = self.law
        moved = epsilon - side * law.shift
        start, stop = self._places(moved, moved + SEEN / max(law.tilt, LEAST_TILT))
        gap = law.losses[start:stop] - moved
        weight = np.exp(-law.tilt * gap) * -np.expm1(-gap)
        value = dot(law.tilted[start:stop], weight)
        error = law.noise * math.sqrt(dot(weight, weight)) + law.stray * 2 + UNSEEN
        if side < 0:
            error += self._bend(moved)
        power = law.log_scale - law.tilt * moved + side * law.doubt
        if power > MOST_EXPONENT:
            return 0.0 if side > 0 else -math.inf
        total = max(value + side * error, 0.0) * math.exp(power) * (1 + side * 8 * UNIT * (1 + abs(power)))
        total += self._past(epsilon, side)
        if side > 0:
            total += self.forgotten
        return min(math.log(total), 0.0) if total > 0 else -math.inf if side < 0 else -MOST_EXPONENT

    def _bend(self, epsilon: float) -> float:
        """By how much the split raised delta at the most, in units of the scale (A2)."""
        law, v = self.law, self.variance
        order = 1 / math.sqrt(v)
        if order < 2 + 2 * law.tilt:
            return math.inf
        reach = SEEN / (order - law.tilt)
        start, stop = self._places(epsilon - reach, epsilon + reach)
        gap = law.losses[start:stop] - epsilon
        weight = np.exp(-law.tilt * gap - order * np.abs(gap))
        near = dot(law.tilted[start:stop], weight) + law.noise * math.sqrt(dot(weight, weight)) + law.stray * 2 + UNSEEN
        height = math.exp((order + 1) * order * v / 2 + order * math.sqrt(v + v * v / 4)) / (math.e * (order - 1))
        return near * height * (1 + MASS_ROUNDING)

    def _past(self, epsilon: float, side: int) -> float:
        """What losses past the lattice add: nearly always the sum then exceeds epsilon, where 1 - e^(eps-S) is it."""
        p, q = self.big
        blur = math.expm1(self.law.doubt + self.law.shift) + MASS_ROUNDING * (1 + abs(epsilon))
        paid = q * math.exp(min(epsilon, MOST_EXPONENT))
        if side < 0:
            return max(p - paid - blur * (p + paid), 0.0)
        short = float((self.log_moments + self.orders * (epsilon + self.law.shift)).min()) + self.law.doubt
        if short > 0:
            return p * (1 + blur)
        return min(p, max(p - paid, 0.0) + math.exp(short) * (1 + MASS_ROUNDING)) + blur * (p + paid)

    def _places(self, low: float, high: float) -> tuple[int, int]:
        start, stop = (
            int(np.searchsorted(self.law.losses, low, side="right")),
            int(np.searchsorted(self.law.losses, high)),
        )
        spend(3 * (stop - start))
        return start, max(stop, start)


def served(law: Law) -> bool:
    """Whether all its losses are atoms."""
    return all(isinstance(piece, Normals) and bool(piece.spacing) for piece in law.pieces)


def all_atoms(laws: Sequence[tuple[Law, int]], log_delta: float) -> list[Atoms]:
    """The atoms of all parts that matter near this delta."""
    count = sum(n for _, n in laws)
    accuracy = max(LEAST_ACCURACY, SPARE - log_delta + math.log(count))
    return [Atoms.of(law, n, accuracy) for law, n in laws]


def likely(laws: Sequence[tuple[Law, int]], epsilon: float) -> float:
    """About log delta at this epsilon, or more: Chernoff's bound at a few tilts, for a first guess."""
    atoms = all_atoms(laws, 0.0)
    widest = max(NARROWEST, *(float(a.losses[-1] - a.losses[0]) for a in atoms))
    spend(len(TILTS) * sum(10 * len(a.losses) for a in atoms))
    return min(
        math.fsum(a.times * _tilted(a, tilt)[0] for a in atoms) - tilt * epsilon
        for tilt in (0.0, *(TILTS / widest).tolist())
    )


def split_sum(atoms: Sequence[Atoms], size: int, ceiling: float, log_delta: float) -> SplitSum:
    """The sum of all atoms on a lattice of about so many points, for epsilon up to the ceiling and near this delta."""
    count = sum(a.times for a in atoms)
    cut = math.exp(max(log_delta, -MOST_EXPONENT)) * FORGOTTEN / count
    firsts = [min(int(np.searchsorted(np.cumsum(a.masses), cut)), int(np.argmax(a.masses))) for a in atoms]
    lowest = [a.between(0, first) for a, first in zip(atoms, firsts, strict=True)]
    rest = [a.between(first, len(a.losses)) for a, first in zip(atoms, firsts, strict=True)]
    most = [len(a.masses) - int(np.searchsorted(np.cumsum(a.masses[::-1]), cut)) for a in rest]
    lasts = [max(last, int(np.argmax(a.masses)) + 1) for a, last in zip(rest, most, strict=True)]
    places = np.unique(np.concatenate([a.losses[a.losses > 0] for a in rest]))
    for place in places[:: 1 + len(places) // MOST_ENDS].tolist() if ceiling < math.inf else ():
        ends = [max(int(np.searchsorted(a.losses, place, side="right")), int(np.argmax(a.masses)) + 1) for a in rest]
        ends = [min(end, last) for end, last in zip(ends, lasts, strict=True)]
        orders, log_moments = _moments_past(rest, ends)
        if float((log_moments + orders * ceiling).min()) < log_delta + math.log(FORGOTTEN):
            lasts = ends
            break
    kept = [a.between(0, last) for a, last in zip(rest, lasts, strict=True)]
    law, step = _composed(kept, size, log_delta)
    orders, log_moments = _moments_past(rest, lasts)
    return SplitSum(
        law,
        count * step * step / 4,
        (_mass_past(rest, lasts, 0.0), _mass_past(rest, lasts, -1.0)),
        orders,
        log_moments,
        math.fsum(a.times * (a.p + a.missing) for a in lowest) * (1 + count * MASS_ROUNDING),
    )


def _mass_past(rest: Sequence[Atoms], lasts: Sequence[int], order: float) -> float:
    """E e^{order S} of the event that a loss is past its end."""
    moment, more = 0.0, 0.0
    for a, last in zip(rest, lasts, strict=True):
        weights = a.masses * np.exp(np.clip(order * a.losses, -MOST_EXPONENT, MOST_EXPONENT))
        inside = float(weights[:last].sum())
        moment += a.times * math.log(inside)
        more += a.times * math.log1p(float(weights[last:].sum()) / inside)
    return math.exp(min(moment, MOST_EXPONENT)) * math.expm1(min(more, MOST_EXPONENT))


def _moments_past(rest: Sequence[Atoms], lasts: Sequence[int]) -> tuple[Array, Array]:
    """Orders b and log E e^{-bS} of that event, times sup (e^y - 1) e^{-by} <= 1/(e (b - 1))."""
    deviation = math.sqrt(sum(a.times * a.variance(last) for a, last in zip(rest, lasts, strict=True)))
    orders = 2 + ORDERS / max(deviation, NARROWEST)
    log_moments = np.full(len(orders), math.inf)
    for k, order in enumerate(orders.tolist()):
        moment, more = 0.0, 0.0
        for a, last in zip(rest, lasts, strict=True):
            exponents = np.log(np.maximum(a.masses, math.ulp(0.0))) - order * a.losses
            top = float(exponents.max())
            weights = np.exp(exponents - top)
            inside = max(float(weights[:last].sum()), LEAST_INSIDE)
            moment += a.times * (top + math.log(inside))
            more += a.times * math.log1p(float(weights[last:].sum()) / inside)
        beyond = more if more > 1 else math.log(max(math.expm1(more), math.ulp(0.0)))
        log_moments[k] = moment + beyond - 1 - math.log(order - 1)
    return orders, log_moments


def _composed(kept: Sequence[Atoms], size: int, log_delta: float) -> tuple[Composed, float]:
    """The law of the sum of these, on a lattice, and its step."""
    widest = max(NARROWEST, *(float(a.losses[-1] - a.losses[0]) for a in kept))
    tilt, half = _best_tilt(kept, widest, log_delta)
    everything = sum(a.times * float(a.losses[-1] - a.losses[0]) for a in kept)
    width = max(min(2 * half, everything), widest) + NARROWEST
    sources = [LossSource(None, a.losses, a.masses, a.times) for a in kept]
    step = meeting(sources, width / size) * (1 + LEFT_OF_ATOMS)
    laws = [(spread(s, step, float(s.losses[0]), float(s.losses[-1])), s.times) for s in sources]
    points = sum(n * (len(law.mass) - 1) for law, n in laws) + 1
    places = scipy.fft.next_fast_len(min(int(width / step) + 64, points), real=True)
    found = compose(laws, step, tilt, places, 0.0, from_tails=False)
    doubt = sum(a.times * float((a.mass_error).max()) for a in kept)
    shift = sum(a.times * float(a.loss_error.max()) for a in kept)
    return (
        Composed(
            found.losses,
            found.tilted,
            found.tilt,
            found.log_scale,
            found.noise,
            found.stray,
            0.0,
            found.doubt + doubt,
            found.shift + shift,
        ),
        step,
    )


def _best_tilt(kept: Sequence[Atoms], widest: float, log_delta: float) -> tuple[float, float]:
    """The tilt at which Chernoff's bound on epsilon is least, and how far the tilted sum reaches to either side."""
    spend(len(TILTS) * sum(10 * len(a.losses) for a in kept))
    best, found, chosen = math.inf, [], 0.0
    for tilt in (TILTS / widest).tolist():
        tilted = [_tilted(a, tilt) for a in kept]
        exponent = math.fsum(a.times * moment for a, (moment, _) in zip(kept, tilted, strict=True))
        if (exponent - log_delta) / tilt < best:
            best, found, chosen = (exponent - log_delta) / tilt, tilted, tilt
    centred = [a.losses - dot(weight, a.losses) for a, (_, weight) in zip(kept, found, strict=True)]
    deviation = math.sqrt(sum(a.times * dot(w, l * l) for a, (_, w), l in zip(kept, found, centred, strict=True)))
    half = 0.0
    for sign in (1.0, -1.0):
        reach = math.inf
        for order in (CHERNOFF / max(deviation, NARROWEST)).tolist():
            grown = [
                dot(w, np.exp(np.minimum(sign * order * l, MOST_EXPONENT)))
                for (_, w), l in zip(found, centred, strict=True)
            ]
            moment = sum(a.times * math.log(g) for a, g in zip(kept, grown, strict=True))
            reach = min(reach, (moment + OUTSIDE) / order)
        half = max(half, reach)
    return chosen, half * ROOM_OUTSIDE


def _tilted(atoms: Atoms, tilt: float) -> tuple[float, Array]:
    """log of the moment at this order, and the masses tilted and normalised."""
    exponent = np.log(np.maximum(atoms.masses, math.ulp(0.0))) + tilt * atoms.losses
    top = float(exponent.max())
    weight = np.exp(exponent - top)
    total = float(weight.sum())
    return top + math.log(total), weight / total
