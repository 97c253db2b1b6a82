"""Contour engine: delta(eps) of a sum of independent losses as one line integral, with a bound on every error.

    delta(eps) = 1/(2 pi) * integral of e^{-s eps} M(s) / (s (s+1)) dy,  s = c + iy,  M = product of moments.

The trapezoid rule in y converges geometrically; its cost does not depend on how many losses are summed.
The error terms are listed in docs/theory/error-budget.md under the names used here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hush.arrays import Array
from hush.numerics.engines.decay import tail_bound
from hush.numerics.engines.saddle import (
    MOST_NODES,
    LineChoice,
    Parts,
    all_orders,
    best_orders,
    choose_route,
    common_lattice,
    log_markov,
    markov_exponent,
)
from hush.numerics.laws.law import UNIT, Envelope, Tilted
from hush.numerics.special.logarithms import log1p
from hush.numerics.work import Exhausted, spend

MOST_WORK = 1e7
"""Terms that one line may sum before it gives up."""


_SOONER = 2.0 ** np.arange(-12, 0.5, 0.5)


class ContourLine:
    """The integrand on the line Re s = c, sampled; answers delta(eps) for eps near the one it was made for.

    Where the losses lie on a lattice the integral is over one period of M, with a kernel to match.
    """

    def __init__(self, parts: Parts, route: LineChoice, tolerance: float) -> None:
        self.parts, self.route = parts, route
        self.lattice = common_lattice(parts)
        self.period, self.last_node = route.period, MOST_NODES
        if self.lattice:
            odd = 2 * math.ceil(route.period / self.lattice[0] / 2) + 1
            self.period, self.last_node = odd * self.lattice[0], (odd + 1) // 2
        self.step = 2 * math.pi / self.period
        goal = 0.1 * tolerance * math.exp(max(min(route.log_ratio, 0.0), -600.0))
        self._accuracy = math.log(30 * sum(n for _, n in parts) / goal)
        self._assemble(self._blocks(goal))

    def _blocks(self, goal: float) -> list[Block]:
        """Nodes in growing blocks until the rest is certified to be below the goal."""
        reach = self._reach(goal)
        fineness = 1
        envelopes = [(law.envelope(self.route.c), n) for law, n in self.parts]
        blocks: list[Block] = []
        first, most, work = 0, min(self.last_node, MOST_NODES), 0.0
        while True:
            last = max(min(math.ceil(min(reach / self.step, 1e9)) + 1, most), min(first + 8, most))
            top = (last - 1) * self.step
            cost = sum(law.cost(self.route.c, top, self._accuracy) for law, _ in self.parts)
            work += (last - first) * cost
            if work > MOST_WORK or cost > MOST_NODES:
                if first == 0:
                    raise Exhausted
                self.exhausted = True
                return blocks
            tilts = self._tilts(top)
            if first == 0:
                self._centre(tilts)
            blocks.append(self._block(np.arange(first, last) * self.step, tilts))
            first = last
            self.tail = self._rest(envelopes, blocks[-1], goal)
            self.exhausted = self.tail > goal and last >= most
            if self.tail <= goal or self.exhausted:
                return blocks
            if fineness < 16:  # perhaps the cells were too coarse to tell
                fineness *= 4
                envelopes = [(law.envelope(self.route.c, fineness), n) for law, n in self.parts]
            reach *= 1.5

    def _reach(self, goal: float) -> float:
        """About where the integrand falls below the goal, from a few nodes: a first guess."""
        far = 1.5 * math.sqrt(2 * math.log(10 / goal)) / self.route.spread
        if sum(law.cost(self.route.c, 0.0, 20.0) for law, _ in self.parts) > 20_000:
            return far
        y = far * _SOONER
        size = np.zeros(len(y))
        for law, n in self.parts:
            tilt = law.tilt(self.route.c, accuracy=20.0)
            angle = y[:, None] * (tilt.loss - tilt.mean)
            fall, turn = 2 * np.sin(angle / 2) ** 2 @ tilt.weight, np.sin(angle) @ tilt.weight
            size += n / 2 * np.log1p(np.maximum(fall * (fall - 2) + turn * turn, 1e-15 - 1))
        small = (size < math.log(0.1 * goal)).nonzero()[0]
        return 1.5 * float(y[small[0]]) if len(small) else far

    def _rest(self, envelopes: list[tuple[Envelope, int]], block: Block, goal: float) -> float:
        """Bound on the sum over all nodes past the block, in units of e^{K(c) - c eps}."""
        y = float(block.y[-1])
        if self.lattice and len(block.y) and round(y / self.step) + 1 >= self.last_node:
            return 0.0
        if abs(block.phi[-1]) > 1e3 * goal * max(y, 1.0):
            return math.inf
        if self.lattice:
            h, c = self.lattice[0], self.route.c
            # |1 - e^{-sh}| is at least 1 - e^{-ch}, and at least (2/pi) e^{-ch/2} |y| h; likewise with c + 1.
            size = min(2 * h / -math.expm1(-c * h), math.pi * math.exp(min((c + 1) * h / 2, 300)) / y)
            return size / math.pi * tail_bound(envelopes, y, goal / size, stop=math.pi / h)
        return tail_bound(envelopes, y, goal) / math.pi

    def _tilts(self, reach: float) -> list[tuple[Tilted, int]]:
        return [(law.tilt(self.route.c, reach=reach, accuracy=self._accuracy), n) for law, n in self.parts]

    def _centre(self, tilts: list[tuple[Tilted, int]]) -> None:
        """K(c), its slope, and K at the order to the right."""
        self.value = math.fsum(n * t.log_moment for t, n in tilts)
        self.value_error = sum(n * t.log_moment_error for t, n in tilts) + 4 * UNIT * abs(self.value)
        self.mean = math.fsum(n * t.mean for t, n in tilts)
        self.discount = sum(n * law.discount for law, n in self.parts)
        self.missing = sum(n * law.missing for law, n in self.parts)
        self.shift = sum(n * t.mean_error for t, n in tilts) + 2 * UNIT * abs(self.mean)
        if self.lattice:
            self.shift += 2 * UNIT * sum(n * abs(law.origin) for law, n in self.parts)
        if sum(law.cost(self.route.right, 0.0, 40.0) for law, _ in self.parts) > MOST_NODES:
            raise Exhausted
        others = [(law.tilt(self.route.right, accuracy=8 + math.log(n)), n) for law, n in self.parts]
        self.right_value = sum(n * (t.log_moment + t.log_moment_error) for t, n in others)

    def _block(self, y: Array, tilts: list[tuple[Tilted, int]]) -> Block:
        """The normalised and centred integrand at the nodes y, and a bound on its error."""
        log_phi: Array = np.zeros(len(y), dtype=complex)
        drift = np.zeros(len(y))
        for tilt, n in tilts:
            z = tilt.departure(y)
            size = np.maximum(np.abs(1 + z), 1e-200)
            known = size > 1e-200
            log_phi += n * np.where(known, log1p(np.where(known, z, 0.0)), math.log(1e-200))
            drift += n * np.log1p(tilt.departure_error(y) / size)
        phi = np.exp(log_phi)
        # |prod (phi_i + e_i) - prod phi_i| <= prod (|phi_i| + |e_i|) - prod |phi_i|
        slack = np.abs(phi) * np.expm1(np.minimum(drift, 30.0))
        slack = np.where(drift < 30, slack, np.exp(np.minimum(np.real(log_phi) + drift, 0.0)))
        return Block(y, phi, slack + 4 * UNIT * np.abs(log_phi) * np.abs(phi))

    def _assemble(self, blocks: list[Block]) -> None:
        self.y = np.concatenate([b.y for b in blocks])
        self.s = self.route.c + 1j * self.y
        weight = np.full(len(self.y), self.step / math.pi)
        weight[0] /= 2
        self.phi = weight * np.concatenate([b.phi for b in blocks])
        self.slack = weight * np.concatenate([b.slack for b in blocks])

    def _kernel(self, epsilon: float) -> tuple[Array, Array]:
        """Transforms of 1 and of e^{-v} on v > 0: of the half-line, or of the lattice of the losses past epsilon."""
        s = self.s
        if not self.lattice:
            return 1 / s, 1 / (s + 1)
        h, offset = self.lattice
        gap = h - math.fmod(math.fmod(epsilon - offset, h) + h, h)
        mass, discount = self._ladder
        first = np.exp(-s * gap)
        return first * mass, first * math.exp(-gap) * discount

    @cached_property
    def _ladder(self) -> tuple[Array, Array]:
        """The sum over all steps of the lattice, for the transforms of 1 and of e^{-v}."""
        h = self.lattice[0] if self.lattice else 1.0
        return -h / np.expm1(-self.s * h), -h / np.expm1(-(self.s + 1) * h)

    def delta(self, epsilon: float) -> LineValue:
        """delta(eps) with its error and its slope, on a log-scale of their own."""
        c, right, period = self.route.c, self.route.right, self.period
        log_scale = self.value - c * epsilon
        mass, discount = self._kernel(epsilon)
        spend(20 * len(self.y))
        turned = self.phi * np.exp(1j * self.y * (self.mean - epsilon))
        terms = turned * (mass - discount)
        value, slope = float(np.real(terms).sum()), -float(np.real(turned * discount).sum())
        # Aliases on the left are e^{-cnR} delta(eps - nR), and 1 - e^x E_P[e^{-L}] <= delta(x) <= 1.
        known = _geometric(-c * period, -log_scale)
        uncertain = _geometric(-(c + 1) * period, epsilon + self.discount - log_scale)
        value, uncertain = (value - known, uncertain) if uncertain < known else (value, known)
        markov = self.right_value + float(log_markov(right)) - right * epsilon
        aliases = uncertain + _geometric(-(right - c) * period, markov - log_scale)
        if self.missing:  # what was left out adds to delta, and is not in the aliases
            aliases += self.missing * (known + math.exp(min(-log_scale, 700.0)))
        size = float(np.abs(terms).sum())
        whole = abs(value) + known
        rounding = whole * math.expm1(min(self.value_error, 50.0)) + float(np.abs(mass - discount) @ self.slack)
        rounding += (abs(slope) + c * whole) * 2 * (self.shift + 2 * UNIT * abs(epsilon))
        rounding += UNIT * size * (8 + abs(self.value) + float(self.y[-1]) * abs(self.mean - epsilon))
        return LineValue(log_scale, value, slope, aliases + self.tail + rounding)


@dataclass(frozen=True, eq=False)
class Block:
    """Some nodes: the integrand without its kernel, and a bound on its error."""

    y: Array
    phi: Array
    slack: Array


@dataclass(frozen=True)
class LineValue:
    """delta = e^{log_scale} (value +- error); its derivative is about e^{log_scale} slope."""

    log_scale: float
    value: float
    slope: float
    error: float

    @property
    def lower(self) -> float:
        """Certified lower bound on log delta."""
        return self.log_scale + math.log(self.value - self.error) if self.value > self.error else -math.inf

    @property
    def upper(self) -> float:
        """Certified upper bound on log delta."""
        high = self.value + self.error
        return min(0.0, self.log_scale + math.log(high)) if 0 < high < math.inf else 0.0


def _geometric(log_ratio: float, log_first: float) -> float:
    """sum over n >= 1 of e^{log_first + n log_ratio}, for log_ratio < 0."""
    exponent = log_first + log_ratio
    return math.exp(exponent) / -math.expm1(log_ratio) if exponent < 700 else math.inf


def log_delta_bounds(parts: Parts, epsilon: float, tolerance: float, hint: float | None = None) -> tuple[float, float]:
    """Certified bounds on log delta(epsilon) of the sum of the parts' losses; tolerance is on log delta.

    A hint says about where the answer lies, where Markov's inequality is far from it.
    """
    if hint is None:
        orders, best = best_orders(parts, epsilon=epsilon)
        guess = float(orders.objective(epsilon, None)[best]) - 1.5
    else:
        orders, guess = all_orders(parts, epsilon), hint
    lower, upper = -math.inf, 0.0
    for _ in range(3):
        try:
            line = ContourLine(parts, choose_route(orders, epsilon, guess, tolerance), tolerance)
        except Exhausted:
            break
        sample = line.delta(epsilon)
        lower, upper = max(lower, sample.lower), min(upper, sample.upper)
        if upper - lower <= tolerance or line.exhausted:
            break
        guess = lower if lower > guess - 30 else guess - 5
    return lower, upper


def epsilon_bounds(
    parts: Parts, log_delta: float, tolerance: float, floor: float = 0.0, hint: float | None = None
) -> tuple[float, float]:
    """Certified bounds on the epsilon >= 0 at which delta(epsilon) is e^log_delta; tolerance is relative to it.

    Where epsilon is certainly below the floor, Markov's inequality is answer enough. A hint says about where the
    answer lies, where that inequality is far from it.
    """
    if hint is None:
        orders, best = best_orders(parts, log_delta=log_delta)
        c = float(orders.c[best])
        markov = max(float(orders.objective(None, log_delta)[best]), 0.0)
        if markov < floor or markov == 0:
            certain = max(0.0, (markov_exponent(parts, c) - log_delta) / c)
            if certain <= floor:
                return 0.0, certain
        guess = max(markov - 1.5 / c, 0.5 * markov)
    else:
        orders, c, guess = all_orders(parts, hint), 1 / hint, hint
    lower, upper = 0.0, math.inf
    for _ in range(4):
        relative = min(max(0.02 * tolerance * c * guess, 1e-13), 1e-2)
        try:
            line = ContourLine(parts, choose_route(orders, guess, log_delta, relative), relative)
        except Exhausted:
            break
        found = _solve(line, guess, log_delta, relative / c)
        if found is None:
            if line.exhausted:
                break
            guess *= 0.7
            continue
        low, high, guess = found
        lower, upper = max(lower, low), min(upper, high)
        if upper - lower <= tolerance * upper < math.inf or upper == 0 or line.exhausted:
            break
    return lower, upper


def _solve(line: ContourLine, start: float, log_delta: float, width: float) -> tuple[float, float, float] | None:
    """Certified (lower, upper) and an estimate of the root of delta = e^log_delta; None where the line is too noisy."""
    epsilon, left, right = start, 0.0, math.inf
    for _ in range(80):
        sample = line.delta(epsilon)
        if not sample.slope < 0 or not sample.value > 0:
            right = epsilon
            epsilon = (left + right) / 2
            continue
        excess = sample.log_scale + math.log(sample.value) - log_delta
        left, right = (epsilon, right) if excess > 0 else (left, epsilon)
        move = excess * sample.value / -sample.slope
        if line.lattice and abs(move) < line.lattice[0]:  # delta is piecewise linear in e^epsilon: Newton there
            ratio = -math.expm1(-excess) * sample.value / -sample.slope
            move = math.log1p(ratio) if ratio > -0.9 else -1.0
        stop = abs(move) <= 1e-2 * width or (epsilon == 0 and move <= 0)
        epsilon = max(epsilon + move, 0.0)
        if not left <= epsilon <= right:
            epsilon = (left + right) / 2
        if stop:
            break
    else:
        return None
    sample = line.delta(epsilon)
    if not sample.slope < 0:
        return None
    margin = 1.05 * sample.error / -sample.slope + 4 * UNIT * epsilon + 2e-2 * width
    if not margin < 1e100:
        return None
    upper = 0.0 if line.delta(0.0).upper <= log_delta else math.inf
    lower = 0.0
    for widen in (1, 3, 10, 100, 1000):
        low, high = epsilon - widen * margin, epsilon + widen * margin
        if upper == math.inf and line.delta(high).upper <= log_delta:
            upper = high
        if lower == 0 < low and line.delta(low).lower >= log_delta:
            lower = low
    return lower, upper, epsilon
