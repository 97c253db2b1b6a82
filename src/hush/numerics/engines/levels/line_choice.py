"""Which line of a level is followed, and how far: the order with the fewest nodes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hush.arrays import Array
from hush.numerics.engines.levels.level import Level
from hush.numerics.engines.levels.strips import INFINITE, LEAST
from hush.numerics.laws.law import Tilted
from hush.numerics.work import Exhausted, spend

MOST_NODES = 20_000
"""Nodes of one line at the most."""
FEWEST = 8
"""A line has at least so many nodes, as `decay.NODES_PER_OCTAVE` needs."""
CANDIDATES = (0, 3, -3)
"""Orders that are tried on each side of the poles, counted from the one with the least period."""
MOST_TRIED = 2
"""Orders whose reach is worked out, best scores first: the second one where the first has a long line."""
NEAR_BEST = 5.0
"""Orders whose score is e^5 times the best are not tried."""
LEAST_NEED = 0.7
"""A period covers at least a factor of e^0.7 between neighbouring aliases."""
LONG = 200
"""Lines of more nodes than this are worth a look at the decay of the powers."""
LOST_DIGITS = 14.0
"""Where e^{K(c) - c eps} is e^14 above the goal, rounding begins to matter: such orders count as more expensive."""
SURE = 1.0
"""Masses at the poles, and moments, must be known to e^-1 of what the line may be off."""
NEAREST, OCTAVES = np.array([2.0**-4, 2.0**-3.5]), 18
"""Where the size of a power is looked at, in units of where it would end if it were normal; doubled so often."""
BEYOND = 1.2
"""A line is followed 1.2 times as far as that guess: the bound there is not the value."""
LEAST_SIZE = 1e-14
"""The least size of a characteristic function in a guess: rounding leaves no more of it."""
NEGLIGIBLE = 1e-16
"""Points that weigh less do not change a guess."""


@dataclass(frozen=True)
class ChosenLine:
    """A line: the order, the period in epsilon, how far it must be followed, and what that costs."""

    order: int
    period: float
    reach: float
    """Where what lies between the edges has decayed."""
    power_reach: float
    """About where the powers below the edges have."""
    nodes: float


def choose(level: Level, epsilon: float, goal: float) -> ChosenLine:
    """The line that takes the fewest nodes for an error of e^goal."""
    size = level.log_chernoff(epsilon)
    need = np.maximum(size - goal + 1.0, LEAST_NEED)
    scale = level.exponent - level.c * epsilon - np.log(np.abs(level.c * (level.c + 1)))
    known = scale + np.log(level.doubt) < goal - SURE
    tried: list[tuple[float, int, float]] = []
    for number, strip in enumerate(level.strips):
        index = np.nonzero(strip & known & (level.exponent < INFINITE))[0]
        if len(index) < 3 or not level.crossable(number, epsilon, goal - SURE):
            continue
        gap = level.c[index][None, :] - level.c[index][:, None]
        period = np.where(gap == 0, np.inf, need[index][None, :] / np.where(gap == 0, 1.0, np.abs(gap)))
        right = np.where(gap > 0, period, np.inf).min(axis=1)
        left = np.where(gap < 0, period, np.inf).min(axis=1)
        periods = np.maximum(right, left)
        lost = 2 * np.maximum(scale[index] - goal - LOST_DIGITS, 0.0)
        score = np.where(np.isfinite(periods), np.log(np.where(np.isfinite(periods), periods, 1.0)) + lost, np.inf)
        best = int(np.argmin(score))
        tried.extend(
            (float(score[k]), int(index[k]), float(periods[k]))
            for k in {min(max(best + shift, 0), len(index) - 1) for shift in CANDIDATES}
            if score[k] < score[best] + NEAR_BEST
        )
    found: ChosenLine | None = None
    for score, k, period in sorted(tried)[:MOST_TRIED]:
        if found is not None and found.nodes < LONG:
            break
        reach, power = _reach(level, k, period, epsilon, goal)
        work = min(reach, power) * period / (2 * math.pi) * math.exp(min(max(score - math.log(period), 0.0), 50.0))
        if found is None or work < found.nodes:
            found = ChosenLine(k, period, reach, power, work)
    if found is None:
        raise Exhausted
    return found


def _reach(level: Level, order: int, period: float, epsilon: float, goal: float) -> tuple[float, float]:
    """How far the line must be followed until what is between the edges has decayed; about until the powers have."""
    step, c = 2 * math.pi / period, float(level.c[order])
    enough = goal + c * epsilon
    if level.inner is None:
        return math.inf, max(_power_reach(level, order, enough - 1), FEWEST * step)
    rest = rest_of(level, order)

    def short(reach: float) -> bool:
        return rest(reach) > enough + math.log(math.pi * (reach - step))

    low, high = 2 * step, FEWEST * step
    while short(high) and high < MOST_NODES * step:
        low, high = high, 2 * high
    for _ in range(3):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if short(middle) else (low, middle)
    if high > LONG * step:
        power = max(_power_reach(level, order, enough - 1), FEWEST * step)
        return high, power if power < high / 2 else math.inf
    return high, math.inf


def rest_of(level: Level, order: int) -> Callable[[float], float]:
    """A bound on log of |M(c + iy)| for all y from some place on (L3).

    M is a polynomial in the moments below and between the edges, with positive coefficients and one of the latter in
    each product, so |M(c + iy)| <= M(c) max_i |step_i(c + iy)| / step_i(c).
    """
    c, top = float(level.c[order]), float(level.exponent[order])
    inner, decays = level.inner or level.outer, []
    for i, part in enumerate(level.parts):
        value, error = level.steps[i]
        bound = part.strips.cell_bounds(c, (inner[i], level.outer[i]))
        decays.append((part.strips.decay(c, bound), float(value[order] - error[order])))

    def rest(reach: float) -> float:
        return top + min(max(decay(reach) - whole for decay, whole in decays), 0.0)

    return rest


def _power_reach(level: Level, order: int, log_goal: float) -> float:
    """About where both powers fall below the goal: a guess, by a few nodes."""
    c, farthest = float(level.c[order]), 0.0
    for edges, moments in level.powers:
        laws = [(p.tilted(c, (None, edges[i]), p.part.x), p.times) for i, p in enumerate(level.parts)]
        depth = log_goal - float(moments[order])
        spread = max(math.sqrt(n) * law.deviation for law, n in laws)
        end = math.sqrt(max(-2 * depth, 1.0)) / max(spread, LEAST)
        farthest = max(farthest, BEYOND * _fallen(laws, end * NEAREST, depth))
    return farthest


def _fallen(laws: list[tuple[Tilted, int]], first: Array, depth: float) -> float:
    """The least of these places, doubled again and again, at which |E e^{iyL}|^n of all is below e^depth."""
    turns = []
    for law, n in laws:
        kept = law.weight > NEGLIGIBLE
        turns.append((np.exp(1j * first[:, None] * (law.loss[kept] - law.mean)), law.weight[kept], n))
    for octave in range(OCTAVES):
        size: Array = np.sum([n * np.log(np.abs(turned @ weight) + LEAST_SIZE) for turned, weight, n in turns], axis=0)
        small = np.nonzero(size < depth)[0]
        if len(small):
            return float(first[small[0]]) * 2**octave
        spend(10 * sum(turned.size for turned, _, _ in turns))
        turns = [(turned * turned, weight, n) for turned, weight, n in turns]
    return math.inf
