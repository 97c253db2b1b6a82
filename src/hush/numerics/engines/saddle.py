"""Where to integrate: moments at real orders, the best of them, and the cheapest line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hush.arrays import Array
from hush.numerics.laws.law import Law
from hush.numerics.rounding import UNIT

Parts = Sequence[tuple[Law, int]]

MOST_NODES = 1 << 17
"""Nodes of a line, or of a moment, at the most: beyond that another engine is cheaper."""
LARGEST_ORDER = 1e10
"""Orders above this are neither searched nor summed; the largest loss serves there."""
MOST_PER_STEP = 50.0
"""On a lattice of step h orders up to 50/h are searched: past it neighbouring losses differ by e^50 in weight."""
DEVIATION = 1.25
"""A normal's standard deviation over its mean absolute deviation, sqrt(pi/2): a scale, not a bound."""
NO_TILT = np.zeros(1)
"""Order at which mean and spread of the law itself are taken."""
LIKELY = np.geomspace(0.1, 4, 18)
"""Orders in units of a first guess: where the losses are many and alike, the best order is among them."""
BELOW, ABOVE = 0.35, 2.5
"""Orders around the best one that a line is chosen from reach from this share of it to this multiple, or farther."""
SHALLOW, MOST_ROUNDS = 3.0, 4
"""Where the integrand grows by less than e^3 from the best order that was tried to the next ones, a line near it will
do; where it grows by more, orders between them are tried, in up to so many rounds."""
LEAST_SPREAD, LEAST_PERIOD = 1e-30, 1e-12
"""Stand for a spread or a period of 0, by which the search divides."""
MOMENT_ACCURACY = 40.0
"""Accuracy at which the cost of a moment is counted: more than it is asked for."""


@dataclass(frozen=True, eq=False)
class Orders:
    """What the moments of the whole sum are at increasing orders c."""

    c: Array
    value: Array
    """K(c) = log E_P e^{cL}."""
    mean: Array
    """Of the loss tilted by e^{cL}; its typical distance from the mean is the spread."""
    spread: Array

    @classmethod
    def of(cls, parts: Parts, c: Array) -> Orders:
        value, mean, square = np.zeros(len(c)), np.zeros(len(c)), np.zeros(len(c))
        for law, n in parts:
            k, m, deviation = law.cumulants(c, 10 + math.log(n))
            value, mean, square = value + n * k, mean + n * m, square + n * deviation**2
        return cls(c, value, mean, DEVIATION * np.sqrt(square))

    def exponent(self) -> Array:
        """E with delta(eps) <= e^{E - c eps}, by Markov: K(c) + log sup_L (1 - e^{eps-L})_+ e^{-c(L-eps)}."""
        return self.value + log_markov(self.c)

    def objective(self, epsilon: float | None, log_delta: float | None) -> Array:
        """What the best order minimises: the size of the integrand at epsilon, or epsilon by Markov at delta."""
        if epsilon is not None:
            return self.value - self.c * epsilon - np.log(self.c) - np.log1p(self.c)
        return (self.exponent() - (log_delta or 0.0)) / self.c

    def steepness(self, best: int, epsilon: float | None, log_delta: float | None) -> float:
        """How much larger the log of the integrand is at the orders beside the best one."""
        objective = self.objective(epsilon, log_delta)
        rise = float(max(objective[best - 1], objective[best + 1]) - objective[best])
        return rise if epsilon is not None else rise * float(self.c[best])

    def joined(self, other: Orders) -> Orders:
        """All orders of both."""
        place = np.argsort(np.concatenate([self.c, other.c]))
        both = zip(self._columns, other._columns, strict=True)
        return Orders(*(np.concatenate(pair)[place] for pair in both))

    @property
    def _columns(self) -> tuple[Array, Array, Array, Array]:
        return self.c, self.value, self.mean, self.spread


def log_markov(c: Array | float) -> Array:
    """log sup_{x > 0} (1 - e^-x) e^{-cx}: what Markov's inequality at order c gains on the hockey stick."""
    return -c * np.log1p(1 / np.asarray(c)) - np.log1p(c)


def best_orders(parts: Parts, *, epsilon: float | None = None, log_delta: float | None = None) -> tuple[Orders, int]:
    """Orders around the one that gives the best Markov (Renyi) bound, and the index of that one."""
    guess, largest = _first_guess(parts, epsilon, log_delta)
    return _narrowed(parts, guess / 40, guess * 1.5, largest, epsilon, log_delta)


def line_orders(parts: Parts, *, epsilon: float | None = None, log_delta: float | None = None) -> tuple[Orders, int]:
    """The same for a line, which may pass beside the best order: one round will do where that is near a first guess."""
    guess, largest = _first_guess(parts, epsilon, log_delta)
    orders = Orders.of(parts, np.minimum(guess, largest / LIKELY[-1]) * LIKELY)
    best = int(np.argmin(orders.objective(epsilon, log_delta)))
    c = float(orders.c[best])
    if best == 0:
        return _narrowed(parts, c / 40, 1.5 * c, largest, epsilon, log_delta)
    if best == len(orders.c) - 1:
        return _narrowed(parts, float(orders.c[-2]), min(12 * c, largest), largest, epsilon, log_delta)
    inside = orders.c[0] <= BELOW * c and ABOVE * c <= orders.c[-1]
    if inside and orders.steepness(best, epsilon, log_delta) <= SHALLOW:
        return orders, best
    return _around(parts, c, epsilon, log_delta)


def _first_guess(parts: Parts, epsilon: float | None, log_delta: float | None) -> tuple[float, float]:
    """The best order if the sum were normal, and the largest order that is searched."""
    start = Orders.of(parts, NO_TILT)
    deviation = max(float(start.spread[0]), 1e-150)
    if epsilon is not None:
        depth = max(1.0, (epsilon - float(start.mean[0])) / deviation)
    else:
        depth = math.sqrt(2 * max(-(log_delta or 0.0), 0.5))
    lattice = common_lattice(parts)
    largest = MOST_PER_STEP / lattice[0] if lattice else LARGEST_ORDER
    return min(max(depth / deviation, 1e-6), LARGEST_ORDER / 100, largest / 2), largest


def _narrowed(
    parts: Parts, low: float, high: float, largest: float, epsilon: float | None, log_delta: float | None
) -> tuple[Orders, int]:
    """Orders over a wide range, moved until the best one is inside, then those around it."""
    orders, best = Orders.of(parts, np.geomspace(low, high, 12)), 0
    for _ in range(16):
        best = int(np.argmin(orders.objective(epsilon, log_delta)))
        if best == len(orders.c) - 1 and high < largest:
            low, high = float(orders.c[-2]), min(high * 12, largest)
        elif best == 0 and low > 1e-12:
            low, high = low / 40, float(orders.c[1])
        else:
            break
        orders = Orders.of(parts, np.geomspace(low, high, 12))
    return _around(parts, float(orders.c[best]), epsilon, log_delta)


def _around(parts: Parts, c: float, epsilon: float | None, log_delta: float | None) -> tuple[Orders, int]:
    """Orders near this one, and the index of the best of them; ever nearer ones where the objective is steep."""
    orders = Orders.of(parts, c * _NEARBY)
    best = int(np.argmin(orders.objective(epsilon, log_delta)))
    for _ in range(MOST_ROUNDS):
        if not 0 < best < len(orders.c) - 1 or orders.steepness(best, epsilon, log_delta) <= 1:
            break
        between = np.geomspace(orders.c[best - 1], orders.c[best + 1], 12)[1:-1]
        orders = orders.joined(Orders.of(parts, between))
        best = int(np.argmin(orders.objective(epsilon, log_delta)))
    return orders, best


def all_orders(parts: Parts, epsilon: float) -> Orders:
    """Orders over a wide range about 1/epsilon."""
    return Orders.of(parts, np.geomspace(0.05, 100, 24) / max(epsilon, 1e-4))


_NEARBY = np.array([0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.12, 1.25, 1.5, 2.0, 3.0])


@dataclass(frozen=True)
class LineChoice:
    """Where to integrate: the order c, another order to the right for the aliases, the period 2 pi / step."""

    c: float
    right: float
    period: float
    log_ratio: float
    """log of delta over e^{K(c) - c eps}: what the errors are compared with."""
    spread: float
    """Typical size of the tilted sum about its mean."""


def choose_route(orders: Orders, epsilon: float, log_delta: float, tolerance: float) -> LineChoice:
    """The cheapest line for delta near (epsilon, log_delta): period times reach is least."""
    goal = math.log(0.1 * tolerance) + log_delta
    c, exponent = orders.c, orders.exponent()
    left = np.minimum((max(epsilon, 0.0) - goal) / (c + 1), -goal / c)
    gap = c[None, :] - c[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        rights = np.where(gap > 0, (exponent - c * epsilon - goal)[None, :] / gap, math.inf)
    partner = np.argmin(rights, axis=1)
    period = np.maximum(np.maximum(left, rights[np.arange(len(c)), partner]), LEAST_PERIOD)
    log_ratio = log_delta - (orders.value - c * epsilon)
    # a heavy tail makes the spread large without making the integrand decay: trust the smaller one
    spread = np.maximum(np.minimum(orders.spread[0], orders.spread), LEAST_SPREAD)
    work = period * np.sqrt(4 - math.log(tolerance) - np.minimum(log_ratio, 0.0)) / spread
    work = work * (1 + np.exp(np.minimum(-18 - log_ratio, 50.0)))
    best = int(np.argmin(work[:-1]))
    return LineChoice(
        float(c[best]),
        float(c[partner[best]]),
        float(period[best]),
        float(log_ratio[best]),
        float(spread[best]),
    )


def common_lattice(parts: Parts) -> tuple[float, float] | None:
    """(step, offset) of the lattice on which the sum of all losses lies, where the parts share one step."""
    step = parts[0][0].lattice
    if step is None or any(law.lattice != step for law, _ in parts):
        return None
    offset = math.fsum(n * math.fmod(law.origin, step) for law, n in parts)
    return step, math.fmod(offset, step)


def markov_exponent(parts: Parts, c: float) -> float:
    """Certified E with delta(eps) <= e^{E - c eps} (Canonne, Kamath, Steinke 2020, Prop. 12)."""
    if sum(law.cost(c, 0.0, MOMENT_ACCURACY) for law, _ in parts) > MOST_NODES:
        return math.inf
    tilts = [(law.tilt(c, accuracy=20 + math.log(n)), n) for law, n in parts]
    value = sum(n * (t.log_moment + t.log_moment_error) for t, n in tilts)
    return value + float(log_markov(c)) + 4 * UNIT * abs(value)
