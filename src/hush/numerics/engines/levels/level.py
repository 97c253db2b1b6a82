"""One level of the telescope: sums whose largest loss lies between two edges, seen at all real orders."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hush.arrays import Array
from hush.numerics.engines.levels.bystanders import NOBODY, Bystanders
from hush.numerics.engines.levels.edge_moments import EdgeMoments
from hush.numerics.engines.levels.smooth_edges import CUT_MASS
from hush.numerics.engines.levels.strips import INFINITE
from hush.numerics.rounding import LARGEST_EXPONENT, UNIT
from hush.numerics.work import Exhausted

MORE_ORDERS = 9
"""Orders that are added on either side of the poles: near the best one, moments may grow very fast."""
SMALL, LARGE = -30.0, 30.0
"""Where log(1 + e^d) is e^d, and where it is d, to the last digit."""

Edges = tuple[float, ...]
"""One edge per part, at the same loss."""


def log_kernel(orders: Array) -> Array:
    """log of the largest value of the kernel times e^{c v}: |h_c(x)| <= kernel e^{-cx} M(c) (L1).

    The kernels are (1 - e^-v)_+ for c > 0, min(1, e^-v) for -1 < c < 0 and (e^-v - 1)_+ for c < -1, v = l - x.
    """
    size = np.abs(orders)
    beyond = np.maximum(size, 1 + UNIT)
    positive = np.maximum(orders, UNIT)
    return np.where(
        orders > 0,
        -positive * np.log1p(1 / positive) - np.log1p(positive),
        np.where(orders > -1, 0.0, beyond * np.log1p(-1 / beyond) - np.log(beyond - 1)),
    )


def log_log1p(d: Array) -> Array:
    """log(log(1 + e^d))."""
    middle = np.clip(d, SMALL, LARGE)
    return np.where(d < SMALL, d, np.where(d > LARGE, np.log(np.maximum(d, 1.0)), np.log(np.log1p(np.exp(middle)))))


def log_expm1(log_r: Array) -> Array:
    """log(e^r - 1) for r = e^log_r."""
    r = np.exp(np.minimum(log_r, LARGEST_EXPONENT))
    middle = np.clip(r, math.exp(SMALL), LARGE)
    return np.where(log_r < SMALL, log_r, np.where(r > LARGE, r, np.log(np.expm1(middle))))


class RealOrders:
    """Real orders with, per part and edges, the moments there: computed once for all levels."""

    def __init__(self, parts: list[EdgeMoments], orders: Array, bystanders: Bystanders = NOBODY) -> None:
        self.parts, self.c, self.bystanders = parts, orders, bystanders
        self._loss_powers = [part.loss_powers(orders) for part in parts]
        self._known: dict[tuple[int, float | None, float], tuple[Array, Array]] = {}

    def moments(self, part: int, inner: float | None, outer: float) -> tuple[Array, Array]:
        """log-moments of one part below the outer edge, or between the two, and bounds on their errors."""
        key = part, inner, outer
        if key not in self._known:
            self._known[key] = self.parts[part].log_moments((inner, outer), self._loss_powers[part])
        return self._known[key]

    def below(self, edges: Edges) -> tuple[Array, Array]:
        """log of the moment of the power of all that is below the edges, and a bound on its error."""
        value, error = self._beside
        for i, part in enumerate(self.parts):
            one, off = self.moments(i, None, edges[i])
            value, error = value + part.times * one, error + part.times * (off + 4 * UNIT * np.abs(one))
        return value, error

    @cached_property
    def _beside(self) -> tuple[Array, Array]:
        return self.bystanders.log_moments(self.c)

    def exponent(self, inner: Edges | None, outer: Edges) -> Array:
        """log of an upper bound on the moment of the level."""
        if inner is None:
            value, error = self.below(outer)
            return np.minimum(value + error, INFINITE)
        value, error = self.below(inner)
        if any(a >= b for a, b in zip(inner, outer, strict=True)):
            raise Exhausted
        logs = np.full(len(self.c), -INFINITE)
        for i, part in enumerate(self.parts):
            (one, off), (step, step_off) = self.moments(i, None, inner[i]), self.moments(i, inner[i], outer[i])
            logs = np.logaddexp(logs, math.log(part.times) + log_log1p(step + step_off - one + off))
        return np.minimum(value + error + log_expm1(logs), INFINITE)


@dataclass(frozen=True)
class Mass:
    """A positive mass, with a bound on its error."""

    value: float
    error: float


def level_mass(parts: list[EdgeMoments], inner: Edges | None, outer: Edges, *, under_p: bool) -> Mass:
    """The P-mass, or the Q-mass, of a level, in closed form."""
    log_power, ratio, doubt = 0.0, 0.0, UNIT
    for i, moments in enumerate(parts):
        part = moments.part
        mixture, edge = part.above if under_p else part.below, (inner or outer)[i]
        mass = part.log_masses((None, edge), mixture)
        # where little is beyond, the complement has more digits
        few = mass.beyond < -1
        below = math.log1p(-math.exp(mass.beyond)) if few else mass.inside
        log_power += part.times * below
        off = math.exp(mass.beyond) * mass.doubt_beyond * 2 + UNIT * abs(below) if few else mass.doubt
        doubt += part.times * off
        if inner is not None:
            step = part.log_masses((inner[i], outer[i]), mixture)
            hits = part.times * math.log1p(math.exp(step.inside - below))
            ratio += hits
            doubt += (1 + hits) * (step.doubt + off)
    if inner is None:
        value = math.exp(log_power)
    else:
        value = math.exp(log_power) * math.expm1(ratio) if ratio < LARGE else math.exp(log_power + ratio)
    return Mass(value, value * 4 * doubt + sum(part.times for part in parts) * CUT_MASS)


class Level:
    """Sums of the parts' losses with all of them below the outer edges, and not all below the inner ones."""

    def __init__(self, orders: RealOrders, inner: Edges | None, outer: Edges) -> None:
        self.parts, self.inner, self.outer, self.bystanders = orders.parts, inner, outer, orders.bystanders
        self.c, self.exponent = orders.c, orders.exponent(inner, outer)
        self.steps = [] if inner is None else [orders.moments(i, inner[i], outer[i]) for i in range(len(self.parts))]
        """Per part, log-moments between the edges, with errors."""
        self.powers = [(edges, np.add(*orders.below(edges))) for edges in (inner, outer) if edges]
        """The powers of which this is the difference: their edges, and logs of upper bounds on their moments."""
        self.doubt = orders.below(inner or outer)[1] + sum(error for _, error in self.steps)
        """Bounds on the relative errors of the moments."""

    @cached_property
    def kernel(self) -> Array:
        return log_kernel(self.c)

    def refined(self, epsilon: float) -> Level:
        """The same with more orders about the best one right of the poles, and about the best one left of them."""
        bound, more = self.log_chernoff(epsilon), []
        for strip in (0, 2):
            index = np.nonzero(self.strips[strip])[0]
            best = int(np.argmin(bound[index]))
            low, high = self.c[index[max(best - 1, 0)]], self.c[index[min(best + 1, len(index) - 1)]]
            more.append(np.linspace(low, high, MORE_ORDERS + 2)[1:-1])
        new = np.concatenate(more)
        orders = RealOrders(self.parts, new[~np.isin(new, self.c)], self.bystanders)
        other = Level(orders, self.inner, self.outer)
        place = np.argsort(np.concatenate([self.c, other.c]))

        def merged(first: Array, second: Array) -> Array:
            return np.concatenate([first, second])[place]

        both = copy(self)
        both.__dict__.pop("kernel", None)
        both.__dict__.pop("strips", None)
        both.c, both.exponent = merged(self.c, other.c), merged(self.exponent, other.exponent)
        both.doubt = merged(self.doubt, other.doubt)
        both.steps = [(merged(a, c), merged(b, d)) for (a, b), (c, d) in zip(self.steps, other.steps, strict=True)]
        both.powers = [(e, merged(a, b)) for (e, a), (_, b) in zip(self.powers, other.powers, strict=True)]
        return both

    @cached_property
    def strips(self) -> tuple[Array, Array, Array]:
        """Which orders lie right of both poles, between them, and left of them."""
        return self.c > 0, (self.c < 0) & (self.c > -1), self.c < -1

    def log_chernoff(self, epsilon: float) -> Array:
        """log of the bound on |h_c(epsilon)| at each order (L1)."""
        return self.kernel + self.exponent - self.c * epsilon

    def closed_in(self, epsilon: float, goal: float) -> int | None:
        """The strip in which the bound is below the goal already: no integral is needed there."""
        bound = self.log_chernoff(epsilon)
        least = [float(bound[strip].min(initial=INFINITE)) for strip in self.strips]
        least = [bound if self.crossable(k, epsilon, goal) else INFINITE for k, bound in enumerate(least)]
        best = int(np.argmin(least))
        return best if least[best] < goal else None

    @cached_property
    def mass(self) -> Mass:
        return self._beside_others(level_mass(self.parts, self.inner, self.outer, under_p=True), 0.0)

    @cached_property
    def other_mass(self) -> Mass:
        return self._beside_others(level_mass(self.parts, self.inner, self.outer, under_p=False), -1.0)

    def _beside_others(self, mass: Mass, order: float) -> Mass:
        """The mass together with the bystanders, whose P-mass is their moment of order 0, and Q-mass that of -1."""
        (log_factor,), (doubt,) = self.bystanders.log_moments(np.array([order]))
        factor = math.exp(log_factor)
        return Mass(mass.value * factor, factor * math.exp(doubt) * (mass.error + math.expm1(doubt) * mass.value))

    def poles(self, strip: int, epsilon: float) -> tuple[float, float]:
        """What crossing the poles adds, and its error: nothing right of them, P-mass, P-mass - e^epsilon Q-mass."""
        if strip == 0:
            return 0.0, 0.0
        if strip == 1:
            return self.mass.value, self.mass.error
        factor = math.exp(min(epsilon, LARGEST_EXPONENT))
        taken = factor * self.other_mass.value
        rounding = 4 * UNIT * (1 + abs(epsilon)) * taken
        return self.mass.value - taken, self.mass.error + factor * self.other_mass.error + rounding

    def crossable(self, strip: int, epsilon: float, goal: float) -> bool:
        """Whether the masses that crossing the poles adds are known to e^goal."""
        return self.poles(strip, epsilon)[1] < math.exp(goal)

    def closed_value(self, strip: int, epsilon: float) -> tuple[float, float]:
        """The level's part of delta with no integral: the middle of its interval, and half its width."""
        bound = math.exp(min(float(self.log_chernoff(epsilon)[self.strips[strip]].min()), LARGEST_EXPONENT))
        value, error = self.poles(strip, epsilon)
        sign = -1.0 if strip == 1 else 1.0
        return value + sign * bound / 2, error + bound / 2
