"""Laws with finitely many losses, and the one that a profile known at some points allows.

A profile delta(epsilon) is convex in t = e^epsilon. So its values joined by lines lie above it, and they are the
profile of finitely many losses: one where each line ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hush.arrays import Array
from hush.numerics.laws.law import Law
from hush.numerics.rounding import UNIT
from hush.numerics.work import attempt, part, spend

TABLE = 0.8
"""Share of the work that is left for making a table; the rest is for composing it."""
LEAST_DISCOUNT = 1e-12
"""Q-mass above 1 by less than this is rounding of the masses, and no mass that was split off."""
LEAST_MASS = 1e-300
"""Stands for a total that underflowed: its logarithm must exist."""


def sampled(delta: Callable[[float], float], epsilons: Array) -> Array:
    """Upper bounds at these epsilons, from coarse to fine: where its share of the work is done, the rest is left at 1.

    A point at 1 lies above the line that joins its neighbours, so it does not matter: the table is coarser, not wrong.
    """
    found = np.ones(len(epsilons))
    apart = 1 << max(len(epsilons) - 1, 1).bit_length()
    first = [len(epsilons) - 1, 0]
    order = dict.fromkeys(
        [*first, *(k for e in range(apart.bit_length()) for k in range(0, len(epsilons), apart >> e))]
    )
    with part(TABLE):
        for k in order:
            found[k] = attempt(lambda e=float(epsilons[k]): delta(e), 1.0)
    return found


def joined(epsilons: Array, deltas: Array) -> tuple[Array, Array, float, float]:
    """Losses, their P-mass, P-mass at +infinity and Q-mass at -infinity: the points (e^epsilon, delta) joined by lines.

    Left of the points the profile runs to (0, 1); right of them it stays level (mass at +infinity).
    """
    epsilons = np.asarray(epsilons, dtype=float)
    deltas = np.minimum.accumulate(np.asarray(deltas, dtype=float))
    # what exceeds max(1 - t, 0), and differences of t as such: the slopes of near points keep their digits
    excess = np.maximum(deltas + np.expm1(np.minimum(epsilons, 0.0)), 0.0)
    spend(100 * len(epsilons))
    hull: list[int] = []
    for k in range(len(epsilons)):
        while hull and _turns_down(epsilons, excess, [*hull[-2:], k]):
            hull.pop()
        hull.append(k)
    epsilons, excess = epsilons[hull], excess[hull]
    rise, kink = _chords(epsilons, excess)
    t, bend = np.exp(epsilons), np.diff(np.append(rise, 0.0)) - np.diff(np.append(kink, 0.0))
    mass = np.maximum(bend, 0.0) * t
    keep = mass > 0
    return epsilons[keep], mass[keep], float(deltas[hull[-1]]), max(0.0, float(rise[0] + 1 - kink[0]))


def law_of_atoms(losses: Array, mass: Array, q_mass: Array, at_infinity: float, lattice: float | None) -> Law:
    """The law of increasing losses under P, given that the loss is finite."""
    rest = 1 - at_infinity
    discount = max(math.log(max(float(q_mass.sum()), LEAST_MASS) / rest), 0.0) if rest > 0 else 0.0
    if discount < LEAST_DISCOUNT:
        discount = 0.0
    losses, mass = merged(losses, mass / rest)
    origin = float(losses[0]) if len(losses) else 0.0
    return Law(losses, mass, (), lattice or lattice_of(losses), origin, discount)


def q_masses(losses: Array, mass: Array) -> Array:
    """Q-mass of losses that have this P-mass: e^-loss of it."""
    return np.exp(log_q_masses(losses, mass))


def log_q_masses(losses: Array, mass: Array) -> Array:
    """Logs of the Q-masses; where a P-mass underflowed, the least float stands for it."""
    return np.log(np.maximum(mass, math.ulp(0.0))) - losses


def lattice_of(losses: Array) -> float | None:
    """The step of the lattice on which one or two different losses lie."""
    if len(losses) == 1:
        return 1.0
    return float(losses[1] - losses[0]) if len(losses) == 2 and losses[1] > losses[0] else None


def merged(losses: Array, mass: Array) -> tuple[Array, Array]:
    """Of increasing losses, those that differ by rounding alone as one."""
    first = np.append(True, np.diff(losses) > 4 * UNIT * np.abs(losses[1:]))[: len(losses)]
    return losses[first], np.add.reduceat(mass, np.flatnonzero(first)) if len(mass) else mass


def _chords(epsilons: Array, excess: Array) -> tuple[Array, Array]:
    """Slopes in t = e^epsilon of the excess and of -max(1 - t, 0): from (0, 1) to the first point, and between them."""
    low, gap = epsilons[:-1], np.exp(epsilons[1:]) * -np.expm1(-np.diff(epsilons))  # the other way round overflows
    kink = np.where(epsilons[1:] <= 0, 1.0, np.where(low >= 0, 0.0, -np.expm1(np.minimum(low, 0.0)) / gap))
    first = math.exp(float(epsilons[0]))
    return (
        np.append(excess[0] / first, np.diff(excess) / gap),
        np.append(1.0 if epsilons[0] <= 0 else 1 / first, kink),
    )


def _turns_down(epsilons: Array, excess: Array, points: list[int]) -> bool:
    """Whether the profile's polygon is not convex at the last but one of these points."""
    rise, kink = _chords(epsilons[points], excess[points])
    return bool((rise[-1] - rise[-2]) - (kink[-1] - kink[-2]) <= 0)
