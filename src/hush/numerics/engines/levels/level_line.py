"""The integral of one level on one line Re s = c, sampled, with a bound on every error.

The error terms are listed in docs/theory/error-budget.md under the names used here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hush.arrays import Array
from hush.numerics.engines.decay import tail_bound
from hush.numerics.engines.levels.edge_moments import EdgeMoments
from hush.numerics.engines.levels.level import Level, log_expm1
from hush.numerics.engines.levels.line_choice import MOST_NODES, ChosenLine, rest_of
from hush.numerics.engines.levels.smooth_edges import EdgePair
from hush.numerics.engines.levels.strips import INFINITE, LEAST
from hush.numerics.laws.law import Tilted
from hush.numerics.rounding import LARGEST_EXPONENT, UNIT
from hush.numerics.special.logarithms import log1p
from hush.numerics.work import Exhausted, room, spend

MOST_POINTS = 20_000
"""Points in x of one moment at the most."""
FARTHER = np.array([1.0, 1.6, 2.6])
"""Multiples of the guess at where the powers have decayed at which the bound is tried."""
LEAST_ACCURACY = 16.0
"""The least accuracy, in logarithms, that quadrature in x is laid out for."""
SPARE_ACCURACY = 4.0
"""Quadrature in x is laid out for e^-4 of what the line may be off."""
END_ACCURACY = 8.0
"""Cells at the ends that have e^-8 of what a moment may be off are left out; they are charged (L6)."""
VANISHED = 1e-200
"""Stands for a moment of this size or less, whose logarithm may not exist; its error is larger."""
TURNED = 30.0
"""Where e^r is above e^30, e^r - 1 is taken as a difference of two powers."""
LOST, UNKNOWN = 50.0, 1e300
"""A relative error of e^50 leaves nothing of a value; this stands for its error then."""
MOST_EXPONENT = 600.0
"""The error of a power that is e^600 times the scale is unknown too: sums of such numbers would leave the floats."""


@dataclass(frozen=True, eq=False)
class PowerFactor:
    """What is below the inner edge of one part, or a bystander, on the line: relative to its moment at c."""

    times: int
    """How many equal losses it stands for."""
    law: Tilted
    log_moment: float
    logs: Array
    """log of E_c e^{iy(L - mean)}."""
    size: Array
    wrong: Array
    """Bound on the error of the moment."""


@dataclass(frozen=True, eq=False)
class StepFactor:
    """What is between the edges of one part, on the line: relative to what is below them."""

    scale: float
    """The ratio of the two moments at c."""
    size: Array
    """|E_c e^{iyL}| of what is between."""
    wrong: Array
    ratio: Array
    """The ratio of the two moments at each node."""


Factors = list[tuple[PowerFactor, StepFactor]]
"""What is below and what is between the edges of each part."""


class LevelLine:
    """The integrand of a level on the line Re s = c: gives the level's part of delta near the epsilon of its making."""

    def __init__(self, level: Level, choice: ChosenLine, epsilon: float, goal: float) -> None:
        self.level, self.order, self.period = level, choice.order, choice.period
        self.c = float(level.c[choice.order])
        self.strip = next(k for k, strip in enumerate(level.strips) if strip[choice.order])
        self.step = 2 * math.pi / self.period
        log_goal = goal + self.c * epsilon
        guesses = choice.power_reach * FARTHER
        reach = next((r for r in guesses if self._power_rest(r, log_goal) <= log_goal), choice.reach)
        if not reach / self.step < MOST_NODES:
            raise Exhausted
        self.y = self.step * np.arange(math.ceil(reach / self.step) + 1)
        if not self.rest <= log_goal:  # that bound is for a reach that is not taken
            self.rest = self._step_rest()
        self._weight = np.full(len(self.y), self.step / math.pi)
        self._weight[0] /= 2
        self._s = self.c + 1j * self.y
        kernel = self._weight / np.abs(self._s * (self._s + 1))
        log_size = float(level.exponent[self.order]) - self.c * epsilon + math.log(float(kernel.sum()))
        self._accuracy = max(log_size - goal + SPARE_ACCURACY, LEAST_ACCURACY)
        self._sample()

    def _power_rest(self, reach: float, log_goal: float) -> float:
        """log of a bound on the nodes past this reach, by the decay of the powers; infinite without hope (L3)."""
        self.rest = math.inf
        if not reach < MOST_NODES * self.step:
            return math.inf
        top = self.step * math.ceil(reach / self.step)
        logs = []
        for edges, moments in self.level.powers:
            power = float(moments[self.order])
            envelopes = [(part.envelope(self.c, edges[i]), part.times) for i, part in enumerate(self.level.parts)]
            bound = tail_bound(envelopes, top, math.exp(max(log_goal - power - 1, -MOST_EXPONENT))) / math.pi
            logs.append(power + math.log(max(bound, LEAST)))
        self.rest = float(np.logaddexp.reduce(logs))
        return self.rest

    def _step_rest(self) -> float:
        """log of a bound on the nodes past the last one, by the decay of what is between the edges (L3)."""
        if self.level.inner is None:
            return math.inf
        top = float(self.y[-1])
        return rest_of(self.level, self.order)(top + self.step) - math.log(math.pi * top)

    def _points(self, part: EdgeMoments, edges: EdgePair, log_moment: float, accuracy: float) -> tuple[Array, float]:
        """Points in x for one moment on the line, and a bound on its error relative to the moment at c (L5, L6)."""
        cells = part.strips.cell_bounds(self.c, edges)
        share = np.exp(np.minimum(cells - log_moment, LOST))
        allowed = math.exp(-accuracy - END_ACCURACY)
        left, right = np.cumsum(share), np.cumsum(share[::-1])
        first = max(int(np.searchsorted(left, allowed)), 1)  # cells before it are left out
        last = min(len(cells) - int(np.searchsorted(right, allowed)), len(cells) - 1)  # and those from this one on
        x = part.part.x
        low, high = float(x[first - 1]), float(x[last - 1])
        step, strip = part.strips.spacing(self.c, cells, slice(first, last), log_moment, float(self.y[-1]), accuracy)
        count = math.ceil((high - low) / step)
        if not count < MOST_POINTS:
            raise Exhausted
        room(count, 20 * len(part.part.above + part.part.below))
        dropped = float(left[first - 1]) + float(right[len(cells) - 1 - last])
        # the strip has two vertical edges of twice its width, at cells that have at most these densities
        at_ends = (
            max(float(share[first - 1 : first + 1].max()), float(share[last - 1 : last + 1].max())) / part.part.step
        )
        # twice: the moment is divided by that at y = 0, which has the same error
        error = 2 * (2 * math.exp(-accuracy) + dropped + 8 * strip * at_ends)
        return low + (high - low) / count * (np.arange(count) + 0.5), error

    def _sample(self) -> None:
        """The integrand without its kernel at the nodes, scaled to 1 at y = 0, and a bound on its error (L7)."""
        edges = self.level.inner or self.level.outer
        self.doubt = 0.0
        cut = [self._power_factor(part, edge) for part, edge in zip(self.level.parts, edges, strict=True)]
        beside = self._bystanders()
        factors = cut + beside
        self.value = sum(f.times * f.log_moment for f in factors)
        self.mean = sum(f.times * f.law.mean for f in factors)
        self.shift = sum(f.times * f.law.mean_error for f in factors) + 2 * UNIT * abs(self.mean)
        self.log_power = sum(f.times * f.logs for f in factors)
        value, slack = self._power(factors) if self.level.inner is None else self._difference(cut, beside)
        kernel = self._weight / (self._s * (self._s + 1))
        self.terms = kernel * value
        self.sizes = np.abs(self.terms)
        slack = slack + UNIT * (16 + 4 * np.abs(self.log_power)) * np.abs(value)
        self.slack = float(np.abs(kernel) @ slack)
        self.moved = float(self.sizes @ np.abs(self._s))

    def _power_factor(self, part: EdgeMoments, edge: float) -> PowerFactor:
        log_moment, off = part.log_moment(self.c, (None, edge))
        x, error = self._points(part, (None, edge), log_moment, self._accuracy + math.log(part.times))
        law = part.tilted(self.c, (None, edge), x, log_moment, error)
        self.doubt += part.times * (off + law.log_moment_error)
        return self._factor(law, part.times)

    def _bystanders(self) -> list[PowerFactor]:
        """What stands beside the level, with the errors of its own nodes (L8)."""
        laws = self.level.bystanders.tilted(self.c, float(self.y[-1]), self._accuracy)
        self.doubt += sum(n * law.log_moment_error for law, n in laws)
        return [self._factor(law, n) for law, n in laws]

    def _factor(self, law: Tilted, times: int) -> PowerFactor:
        departure = law.departure(self.y)
        size = np.abs(1 + departure)
        logs = _log1p(departure, size)
        return PowerFactor(times, law, law.log_moment, logs, np.maximum(size, VANISHED), law.departure_error(self.y))

    def _power(self, factors: list[PowerFactor]) -> tuple[Array, Array]:
        drift = sum(f.times * np.log1p(f.wrong / f.size) for f in factors)
        value = np.exp(self.log_power)
        return value, np.where(drift > LOST, UNKNOWN, np.abs(value) * np.expm1(np.minimum(drift, LOST)))

    def _difference(self, factors: list[PowerFactor], beside: list[PowerFactor]) -> tuple[Array, Array]:
        """Pi (b + u)^n - Pi b^n, u the moments between the edges, scaled to 1 at y = 0, and a bound on its error.

        What stands beside multiplies both powers.
        """
        steps = [self._step_factor(i, factor) for i, factor in enumerate(factors)]
        both = list(zip(factors, steps, strict=True))
        start = sum(f.times * math.log1p(s.scale) for f, s in both)
        log_scale = float(log_expm1(np.array(math.log(max(start, LEAST)))))
        self.value += log_scale
        turned: Array = np.sum([f.times * _log1p(s.ratio, np.abs(1 + s.ratio)) for f, s in both], axis=0)
        near = np.real(turned) < TURNED
        value = np.where(
            near,
            np.exp(self.log_power - log_scale) * np.expm1(np.where(near, turned, 0.0)),
            np.exp(self.log_power + turned - log_scale) - np.exp(self.log_power - log_scale),
        )
        slacks = [bound(both, beside, turned, log_scale) for bound in (self._together, self._apart)]
        return value, np.minimum(*slacks)

    def _step_factor(self, i: int, factor: PowerFactor) -> StepFactor:
        part, edges = self.level.parts[i], ((self.level.inner or self.level.outer)[i], self.level.outer[i])
        log_step, off = part.log_moment(self.c, edges)
        scale = math.exp(min(log_step - factor.log_moment, LARGEST_EXPONENT))
        hits = part.times * scale
        x, error = self._points(part, edges, log_step, self._accuracy + math.log1p(hits))
        moment, rounding = part.turned(self.c, edges, x, factor.law.mean, self.y)
        self.doubt += (1 + hits) * off
        return StepFactor(scale, np.abs(moment), rounding + error, scale * np.exp(-factor.logs) * moment)

    def _together(self, both: Factors, beside: list[PowerFactor], turned: Array, log_scale: float) -> Array:
        """Bound on the error of F = Pi (b + u)^n - Pi b^n, a polynomial with positive coefficients.

        It is at most the derivatives of F at |b| + e and |u| + e, times e: n F/|b| for b and for what stands beside,
        and for u n Pi (|b| + |u|)^n / (|b| + |u|).
        """
        log_low, log_up = np.zeros(len(self.y)), np.zeros(len(self.y))
        for f in beside:
            log_low = log_low + f.times * np.log(f.size + f.wrong)
        for f, s in both:
            log_low = log_low + f.times * np.log(f.size + f.wrong)
            log_up = log_up + f.times * np.log1p(s.scale * (s.size + s.wrong) / (f.size + f.wrong))
        whole = log_low - log_scale + log_expm1(np.log(np.maximum(log_up, LEAST)))
        product = log_low + log_up - log_scale
        largest = np.exp(np.minimum(product, MOST_EXPONENT))
        slack = 16 * UNIT * np.abs(turned) * largest
        for f in [*beside, *(f for f, _ in both)]:
            slack = slack + f.times * f.wrong / (f.size + f.wrong) * np.exp(np.minimum(whole, MOST_EXPONENT))
        for f, s in both:
            below, between = f.size + f.wrong, s.scale * (s.size + s.wrong)
            slack = slack + f.times * s.scale * s.wrong / (below + between) * largest
        return np.where(product > MOST_EXPONENT, UNKNOWN, slack)

    def _apart(self, both: Factors, beside: list[PowerFactor], turned: Array, log_scale: float) -> Array:
        """The same with the errors of the two powers bounded one by one: better where there are many steps."""
        drift = np.zeros(len(self.y))
        for f in beside:
            drift = drift + f.times * np.log1p(f.wrong / f.size)
        other = drift
        for f, s in both:
            size = np.maximum(np.abs(np.exp(f.logs) * (1 + s.ratio)), VANISHED)
            drift = drift + f.times * np.log1p((f.wrong + s.scale * s.wrong) / size)
            other = other + f.times * np.log1p(f.wrong / f.size)
        second = np.real(self.log_power) - log_scale
        first = second + np.real(turned)
        slack = np.exp(np.minimum(first, MOST_EXPONENT)) * (
            np.expm1(np.minimum(drift, LOST)) + 16 * UNIT * np.abs(turned)
        )
        slack = slack + np.exp(np.minimum(second, MOST_EXPONENT)) * np.expm1(np.minimum(other, LOST))
        lost = (np.maximum(drift, other) > LOST) | (np.maximum(first, second) > MOST_EXPONENT)
        return np.where(lost, UNKNOWN, slack)

    def value_at(self, epsilon: float) -> tuple[float, float]:
        """The level's part of delta(epsilon), and a bound on its error."""
        spend(10 * len(self.y))
        turned = float(np.real(self.terms * np.exp(1j * self.y * (self.mean - epsilon))).sum())
        log_scale = self.value - self.c * epsilon
        scale = math.exp(min(log_scale, LARGEST_EXPONENT))
        size = float(self.sizes.sum())
        rounding = self.slack + (size * math.expm1(self.doubt) if self.doubt < LOST else UNKNOWN)
        rounding += self.moved * (self.shift + 4 * UNIT * abs(epsilon))
        rounding += UNIT * size * (16 + 4 * abs(self.value) + 4 * float(self.y[-1]) * abs(self.mean - epsilon))
        rest = math.exp(min(self.rest - self.c * epsilon, LARGEST_EXPONENT))
        added, doubt = self.level.poles(self.strip, epsilon)
        return scale * turned + added, scale * rounding + rest + self._aliases(epsilon) + doubt

    def _aliases(self, epsilon: float) -> float:
        """What the trapezoid rule sees of h_c a period and more away (L2)."""
        level = self.level
        bound = level.log_chernoff(epsilon)
        total = 0.0
        for side in (1.0, -1.0):
            others = level.strips[self.strip] & ((level.c - self.c) * side > 0) & (level.exponent < INFINITE)
            if not others.any():
                return math.inf
            away = np.abs(level.c[others] - self.c) * self.period
            logs = bound[others] - log_expm1(np.log(away))
            total += math.exp(min(float(logs.min()), LARGEST_EXPONENT))
        return total


def _log1p(z: Array, size: Array) -> Array:
    """log(1 + z), of which the size is given; that of a very small number where it vanishes."""
    known = size > VANISHED
    return np.where(known, log1p(np.where(known, z, 0.0)), math.log(VANISHED))
