"""The integrand of the contour engine on one line Re s = c, sampled, with a bound on every error.

The error terms are listed in docs/theory/error-budget.md under the names used here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hush.arrays import Array
from hush.numerics.engines.decay import tail_bound
from hush.numerics.engines.saddle import MOST_NODES, LineChoice, Parts, common_lattice, log_markov
from hush.numerics.laws.envelope import Envelope
from hush.numerics.laws.law import Tilted
from hush.numerics.rounding import LARGEST_EXPONENT, UNIT
from hush.numerics.special.logarithms import log1p
from hush.numerics.special.turns import turned
from hush.numerics.work import Exhausted, spend

MOST_WORK, QUICK_WORK = 1e7, 5e5
"""Terms that one line may sum before it gives up; and where there is another engine to be asked first."""
SHARE = 0.1
"""Share of the tolerance for the nodes past the last one (C3). Whatever they are bounded by is charged."""
LEAST_RATIO = -600.0
"""The goal is not below e^-600: a smaller share of the integrand is beyond floats."""
FIRST_NODES = 8
"""Nodes of the shortest block: the last one is then at least 7 steps out, as `decay.NODES_PER_OCTAVE` needs."""
MOST_REACH = 1e9
"""Cap on the number of nodes that a guess asks for, before it is made a whole number; MOST_NODES is far less."""
WIDER = 1.5
"""How much farther the next block reaches, and how far past its guess the first one does: it costs time only."""
FINEST = 16
"""Cells of an envelope are quartered until they are so much finer than at first."""
GUESS_ACCURACY, GUESS_COST = 20.0, 20_000
"""A guess at the reach takes moments to e^-20, and none where that takes more nodes than this."""
CHEAP = 50_000
"""Terms of a whole line below which a guess at its reach would cost more than it saves."""
LOW_ACCURACY = 40.0
"""Accuracy at which the cost of the order to the right is counted: more than it is asked for."""
HOPELESS = 1e3
"""Where the last node is this much above the goal, the rest is taken to be infinite: a bound would miss the goal."""
VANISHED = 1e-200
"""Stands for a characteristic function of this size or less, whose logarithm may not exist. Its error term is at least
1e-15 there (C7), so the difference does not matter."""
LOST = 30.0
"""A relative error of e^30 leaves nothing of a value. Its error is then at most its size and that of the truth, which
is at most |phi| e^error (C11), and 1; e^error itself would leave the floats."""
MOST_DOUBT = 50.0
"""A relative error of e^50 leaves nothing of a value, and e^error would leave the floats: past it nothing is said.
Rounding of a log-moment of 1e12 is 1e-3 (C10), and quadrature is laid out for less; an end that was cut too near has
more."""
SOONER = 2.0 ** np.arange(-12, 0.5, 0.5)
"""Shares of the farthest reach at which the integrand is looked at for a guess."""


class ContourLine:
    """The integrand on the line Re s = c, sampled; answers delta(eps) for eps near the one it was made for.

    Where the losses lie on a lattice the integral is over one period of M, with a kernel to match.
    """

    def __init__(self, parts: Parts, route: LineChoice, tolerance: float, most_work: float = MOST_WORK) -> None:
        self.parts, self.route, self._most_work = parts, route, most_work
        self.lattice = common_lattice(parts)
        self.period, self.last_node = route.period, MOST_NODES
        if self.lattice:
            odd = 2 * math.ceil(route.period / self.lattice[0] / 2) + 1
            self.period, self.last_node = odd * self.lattice[0], (odd + 1) // 2
        self.step = 2 * math.pi / self.period
        goal = SHARE * tolerance * math.exp(max(min(route.log_ratio, 0.0), LEAST_RATIO))
        self._accuracy = math.log(30 * sum(n for _, n in parts) / goal)
        blocks = self._blocks(goal)
        self.y = np.concatenate([b.y for b in blocks])
        self.s = self.route.c + 1j * self.y
        weight = np.full(len(self.y), self.step / math.pi)
        weight[0] /= 2
        self.phi = weight * np.concatenate([b.phi for b in blocks])
        self.slack = weight * np.concatenate([b.slack for b in blocks])

    def _blocks(self, goal: float) -> list[Block]:
        """Nodes in growing blocks until the rest is certified to be below the goal."""
        reach = self._reach(goal)
        fineness = 1
        envelopes = [(law.envelope(self.route.c), n) for law, n in self.parts]
        blocks: list[Block] = []
        first, most, work = 0, min(self.last_node, MOST_NODES), 0.0
        while True:
            last = max(min(math.ceil(min(reach / self.step, MOST_REACH)) + 1, most), min(first + FIRST_NODES, most))
            top = (last - 1) * self.step
            cost = sum(law.cost(self.route.c, top, self._accuracy) for law, _ in self.parts)
            if work + (last - first) * cost > self._most_work or cost > MOST_NODES:
                if first == 0:
                    raise Exhausted
                last = first + int((self._most_work - work) / cost) if cost <= MOST_NODES else first
                most = last  # a part of the block that may still be worth its nodes, and the last one
                top = (last - 1) * self.step
                if last - first < FIRST_NODES:
                    self.exhausted = True
                    return blocks
            work += (last - first) * cost
            tilts = [(law.tilt(self.route.c, reach=top, accuracy=self._accuracy), n) for law, n in self.parts]
            if first == 0:
                self._centre(tilts)
            blocks.append(self._block(np.arange(first, last) * self.step, tilts))
            first = last
            self.tail = self._rest(envelopes, blocks[-1], goal)
            self.exhausted = self.tail > goal and last >= most
            if self.tail <= goal or self.exhausted:
                return blocks
            if fineness < FINEST:  # perhaps the cells were too coarse to tell
                fineness *= 4
                envelopes = [(law.envelope(self.route.c, fineness), n) for law, n in self.parts]
            reach *= WIDER

    def _reach(self, goal: float) -> float:
        """About where the integrand falls below the goal, from a few nodes: a first guess."""
        far = WIDER * math.sqrt(2 * math.log(10 / goal)) / self.route.spread
        nodes = sum(law.cost(self.route.c, far, self._accuracy) for law, _ in self.parts)
        if nodes * far / self.step < CHEAP:
            return far
        if sum(law.cost(self.route.c, 0.0, GUESS_ACCURACY) for law, _ in self.parts) > GUESS_COST:
            return far
        y = far * SOONER
        size = np.zeros(len(y))
        for law, n in self.parts:
            tilt = law.tilt(self.route.c, accuracy=GUESS_ACCURACY)
            fall, turn = (part @ tilt.weight for part in turned(y[:, None] * (tilt.loss - tilt.mean)))
            size += n / 2 * np.log1p(np.maximum(fall * (fall + 2) + turn * turn, 1e-15 - 1))
        small = (size < math.log(SHARE * goal)).nonzero()[0]
        return WIDER * float(y[small[0]]) if len(small) else far

    def _rest(self, envelopes: list[tuple[Envelope, int]], block: Block, goal: float) -> float:
        """Bound on the sum over all nodes past the block, in units of e^{K(c) - c eps}."""
        y = float(block.y[-1])
        if self.lattice and len(block.y) and round(y / self.step) + 1 >= self.last_node:
            return 0.0
        if abs(block.phi[-1]) > HOPELESS * goal * max(y, 1.0):
            return math.inf
        if self.lattice:
            h, c = self.lattice[0], self.route.c
            # |1 - e^{-sh}| is at least 1 - e^{-ch}, and at least (2/pi) e^{-ch/2} |y| h; likewise with c + 1.
            size = min(2 * h / -math.expm1(-c * h), math.pi * math.exp(min((c + 1) * h / 2, 300)) / y)
            return size / math.pi * tail_bound(envelopes, y, goal / size, stop=math.pi / h)
        return tail_bound(envelopes, y, goal) / math.pi

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
        if sum(law.cost(self.route.right, 0.0, LOW_ACCURACY) for law, _ in self.parts) > MOST_NODES:
            raise Exhausted
        others = [(law.tilt(self.route.right, accuracy=8 + math.log(n)), n) for law, n in self.parts]
        self.right_value = sum(n * (t.log_moment + t.log_moment_error) for t, n in others)

    def _block(self, y: Array, tilts: list[tuple[Tilted, int]]) -> Block:
        """The normalised and centred integrand at the nodes y, and a bound on its error."""
        log_phi: Array = np.zeros(len(y), dtype=complex)
        drift = np.zeros(len(y))
        for tilt, n in tilts:
            z = tilt.departure(y)
            size = np.maximum(np.abs(1 + z), VANISHED)
            known = size > VANISHED
            log_phi += n * np.where(known, log1p(np.where(known, z, 0.0)), math.log(VANISHED))
            drift += n * np.log1p(tilt.departure_error(y) / size)
        phi = np.exp(log_phi)
        # |prod (phi_i + e_i) - prod phi_i| <= prod (|phi_i| + |e_i|) - prod |phi_i|
        slack = np.abs(phi) * np.expm1(np.minimum(drift, LOST))
        slack = np.where(drift < LOST, slack, np.abs(phi) + np.exp(np.minimum(np.real(log_phi) + drift, 0.0)))
        return Block(y, phi, slack + 4 * UNIT * np.abs(log_phi) * np.abs(phi))

    def kernels(self, epsilons: Array | float) -> tuple[Array, Array, Array]:
        """Transforms of 1 - e^{-v} and of e^{-v} on v > 0, and the sizes of what the first is made of.

        They are those of the half-line, or of the lattice of the losses past each epsilon, the first a gap away:

            e^{-s gap} h (1 - e^{-gap} + e^{-sh - gap} (1 - e^{gap - h})) / ((1 - e^{-sh}) (1 - e^{-(s+1)h})),

        which is the difference of two sums over the lattice without its cancellation.
        """
        if not self.lattice:
            return self._on_the_line
        s, (h, offset) = self.s, self.lattice
        gap = np.asarray(h - np.fmod(np.fmod(epsilons - offset, h) + h, h))[..., None]
        step, mass, discount = self._ladder
        first, near = np.exp(-s * gap), np.exp(-gap)
        here, beyond = -np.expm1(-gap), -near * np.expm1(gap - h)
        size = np.abs(first * mass * discount) / h
        made = size * (here + np.abs(step) * beyond)
        return first * mass * discount / h * (here + step * beyond), first * near * discount, made

    @cached_property
    def _on_the_line(self) -> tuple[Array, Array, Array]:
        kernel = 1 / (self.s * (self.s + 1))
        return kernel, 1 / (self.s + 1), np.abs(kernel)

    @cached_property
    def _ladder(self) -> tuple[Array, Array, Array]:
        """e^{-sh}, and the sums over all steps of the lattice for the transforms of 1 and of e^{-v}."""
        h = self.lattice[0] if self.lattice else 1.0
        return np.exp(-self.s * h), -h / np.expm1(-self.s * h), -h / np.expm1(-(self.s + 1) * h)

    def delta(self, epsilon: float) -> LineValue:
        """delta(eps) with its error and its slope, on a log-scale of their own."""
        c, right, period = self.route.c, self.route.right, self.period
        log_scale = self.value - c * epsilon
        kernel, discount, made = self.kernels(epsilon)
        spend(20 * len(self.y))
        turned = self.phi * np.exp(1j * self.y * (self.mean - epsilon))
        terms = turned * kernel
        value, slope = float(np.real(terms).sum()), -float(np.real(turned * discount).sum())
        # Aliases on the left are e^{-cnR} delta(eps - nR), and 1 - e^x E_P[e^{-L}] <= delta(x) <= 1.
        known = _geometric(-c * period, -log_scale)
        uncertain = _geometric(-(c + 1) * period, epsilon + self.discount - log_scale)
        value, uncertain = (value - known, uncertain) if uncertain < known else (value, known)
        markov = self.right_value + float(log_markov(right)) - right * epsilon
        aliases = uncertain + _geometric(-(right - c) * period, markov - log_scale)
        if self.missing:  # what was left out is not in the aliases
            aliases += self.missing * known
        size = float((np.abs(self.phi) * made).sum())
        whole = abs(value) + known
        doubt = math.inf if self.value_error > MOST_DOUBT else whole * math.expm1(self.value_error)
        rounding = doubt + float(np.abs(kernel) @ self.slack)
        rounding += (abs(slope) + c * whole) * 2 * (self.shift + 2 * UNIT * abs(epsilon))
        rounding += UNIT * size * (8 + abs(self.value) + float(self.y[-1]) * abs(self.mean - epsilon))
        left_out = math.log(self.missing) if self.missing else -math.inf
        return LineValue(log_scale, value, slope, aliases + self.tail + rounding, left_out)


@dataclass(frozen=True, eq=False)
class Block:
    """Some nodes: the integrand without its kernel, and a bound on its error."""

    y: Array
    phi: Array
    slack: Array


@dataclass(frozen=True)
class LineValue:
    """e^{log_scale} (value +- error), of which the derivative is about e^{log_scale} slope, is delta or just below.

    What delta may exceed it by is the mass of the losses that were left out, kept as a logarithm: it may be far above
    the scale.
    """

    log_scale: float
    value: float
    slope: float
    error: float
    log_left_out: float = -math.inf

    @property
    def lower(self) -> float:
        """Certified lower bound on log delta."""
        return self.log_scale + math.log(self.value - self.error) if self.value > self.error else -math.inf

    @property
    def upper(self) -> float:
        """Certified upper bound on log delta."""
        high = self.value + self.error
        if not 0 < high < math.inf:
            return 0.0
        found = self.log_scale + math.log(high)
        return min(0.0, found if self.log_left_out == -math.inf else float(np.logaddexp(found, self.log_left_out)))


def _geometric(log_ratio: float, log_first: float) -> float:
    """sum over n >= 1 of e^{log_first + n log_ratio}, for log_ratio < 0."""
    exponent = log_first + log_ratio
    return math.exp(exponent) / -math.expm1(log_ratio) if exponent < LARGEST_EXPONENT else math.inf
