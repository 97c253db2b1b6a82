"""The mean S of t independent lognormals V = exp(aZ - a^2/2), each of mean one: its Laplace transform.

log E e^{-zS} = t log phi(z/t), phi(w) = E e^{-wV}. For complex w the line of Z is moved to Z - is, so that wV turns
towards the positive axis and nothing oscillates; the trapezoid rule then converges geometrically. What is summed is
e^{-w(V-1)} - 1 + w(V-1), of second order, so that a power of a million keeps its digits. The error terms are listed
in docs/theory/allocation.md under the names used here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hush.arrays import Array
from hush.numerics.rounding import LARGEST_EXPONENT, UNIT
from hush.numerics.special.logarithms import log1p
from hush.numerics.work import room

REACH = 12.0
"""Deviations beyond the centre that are summed: the normal density is e^-73 there (T2)."""
LOG_DENSITY = 73.0
"""-log of that density: 12^2/2 + log(2 pi)/2 is 72.9; the rest of T2 has room for the tenth."""
TAME = 12.0
"""Where e^{-wV} stays below e to this on the whole range and beside it, no shift is needed (T2)."""
PATH = 60.0
"""Length of the path from the range to the other lines, in units of 1/a (T2)."""
LARGE = 5.0
"""|w| from which e^{-wV} is summed as it is: 1 + total would be nearly 0 there, and lose its digits."""
WIDEST_ROOM, TAME_ROOM, MOST_SHIFT = 3.5, 3.0, 30.0
"""Limits of the strip and of the shift. They only set the step: both edges of the strip are summed and charged (T1)."""
LEAST_SWAY = 0.8
"""A line without a shift needs so wide a strip that is tame: else it is moved."""
DIGITS = 37.0
"""-log of the trapezoid error that the step is chosen for. What comes of it is computed and charged (T1)."""
EDGE_SERIES = 1.01
"""Bounds 1/(1 - e^-x) of the geometric series of aliases where x >= 5: here x = 2 pi d/h is at least 37 (T1)."""
LOWEST = -38.0
"""The normal density is e^-722 there: below it is 0 to all floats."""
LARGEST_VALUE = 600.0
"""Cap on log V in the layout, which it only makes less tame."""
LEAST_SIZE = 1e-300
"""Stands for |w| = 0, by which is divided in the layout."""
UNKNOWN, LEAST_LEFT = 1e90, 1e-200
"""A sum whose error is as large as itself is known to a relative error of 1e290 at the most: to nothing."""
SERIES = 0.25
"""|x| below which e^x - 1 - x is a series: 12 terms of it leave 1e-19 of itself."""
WEIGHT_UNITS, ARGUMENT_UNITS = 8, 5
"""Roundings of one weight, and of the argument wV, besides those of their exponents (T3)."""


@dataclass(frozen=True)
class LognormalMean:
    """The mean of `count` lognormals of log-deviation `spread` and mean one."""

    spread: float
    count: int

    def log_transform(self, z: Array, angle: Array | None = None) -> tuple[Array, Array]:
        """log E e^{-z(S-1)} for complex z with |arg z| < pi, and a bound on the error of each.

        With an angle, which may be pi or a little more, it is continued from the upper half-plane to that arg z.

        >>> value, error = LognormalMean(1.0, 1).log_transform(np.array([1.0 + 0j]))
        >>> round(math.exp(value[0].real - 1), 12), bool(error[0] < 1e-13)
        (0.512428645..., True)
        """
        w = np.atleast_1d(np.asarray(z, dtype=complex)) / self.count
        lines = Lines.of(w, np.abs(np.angle(w)) if angle is None else angle, self.spread, self.count)
        x, a = lines.x, self.spread
        v = np.exp(a * x - a * a / 2)
        room(len(w) * len(x), 30)
        log_weight = math.log(lines.step / math.sqrt(2 * math.pi)) - x * x / 2
        turn = np.copysign(lines.shift, w.imag) if angle is None else lines.shift
        weight = np.exp(log_weight + (lines.shift**2 / 2)[:, None] + 1j * turn[:, None] * x)
        argument = lines.centre[:, None] - (w * np.exp(-1j * a * turn))[:, None] * v
        rest = second_order(argument)
        slope = rest + argument
        plain = lines.centre == 0
        rest[plain] = slope[plain] = np.exp(argument[plain])
        total = (weight * rest).sum(axis=1)
        size = np.abs(weight)
        spill = np.abs(slope) * (np.abs(w)[:, None] * (1 + v * (ARGUMENT_UNITS + np.abs(a * x) + a * a / 2)))
        rounding = (size * (np.abs(rest) * (WEIGHT_UNITS + x * x / 2 + np.abs(turn[:, None] * x)) + spill)).sum(axis=1)
        error = UNIT * rounding + lines.alias(w, v, np.exp(log_weight)) + lines.cut()
        left = np.maximum(np.abs(np.where(plain, 0.0, 1.0) + total) - error, LEAST_LEFT)
        relative = np.minimum(error, UNKNOWN) / left
        value = np.where(
            plain, np.log(np.where(plain & (total != 0), total, 1.0)) + w, log1p(np.where(plain, 0, total))
        )
        return self.count * value, self.count * (
            relative + 4 * UNIT * (np.abs(value) + np.where(plain, np.abs(w), 0.0))
        )

    def log_laplace(self, c: Array) -> tuple[Array, Array]:
        """log E e^{-c(S-1)} for real c >= 0, and a bound on the error of each: the same sum in real numbers."""
        w = np.asarray(c, dtype=float) / self.count
        lines = Lines.of(w.astype(complex), np.zeros(len(w)), self.spread, self.count, turned=False)
        x, a = lines.x, self.spread
        v = np.exp(a * x - a * a / 2)
        room(len(w) * len(x), 8)
        weight = lines.step / math.sqrt(2 * math.pi) * np.exp(-x * x / 2)
        plain = w >= LARGE
        argument = np.where(plain, 0.0, w)[:, None] - w[:, None] * v
        rest = second_order(argument)
        slope = rest + argument
        rest[plain] = slope[plain] = np.exp(argument[plain])
        total = rest @ weight
        spill = np.abs(slope) * (w[:, None] * (1 + v * (ARGUMENT_UNITS + np.abs(a * x) + a * a / 2)))
        rounding = (np.abs(rest) * (WEIGHT_UNITS + x * x / 2) + spill) @ weight
        error = UNIT * rounding + lines.alias(w, v, weight) + lines.cut()
        relative = error / np.maximum(np.where(plain, 0.0, 1.0) + total - error, LEAST_LEFT)
        value = np.where(
            plain, np.log(np.where(plain, np.maximum(total, 1e-320), 1.0)) + w, np.log1p(np.where(plain, 0.0, total))
        )
        return self.count * value, self.count * (relative + 4 * UNIT * (np.abs(value) + np.where(plain, w, 0.0)))

    @cached_property
    def width(self) -> float:
        """About one standard deviation of log S: the deviation of S, but for tails so heavy that it says nothing."""
        bulk = math.sqrt(math.expm1(min(self.spread, 2.0) ** 2) / self.count)
        return min(bulk, max(self.spread, 1e-300))


@dataclass(frozen=True, eq=False)
class Lines:
    """Where to integrate over Z: the nodes, and for each w how far the line is moved and how far it could move on."""

    spread: float
    x: Array
    step: float
    shift: Array
    room: Array
    angle: Array
    centre: Array
    """w where e^{-w(V-1)} is summed in second order; 0 where w is so large that e^{-wV} itself is summed."""

    @classmethod
    def of(cls, w: Array, angle: Array, spread: float, count: int, turned: bool = True) -> Lines:
        """Move each line so far that wV has an acute angle to the positive axis, with room on either side."""
        size = np.abs(w)
        excess = angle - math.pi / 2
        top = spread + REACH
        limit, largest = min(TAME, top / (2 * spread)) / 2, math.exp(min(spread * top - spread**2 / 2, LARGEST_VALUE))
        sway = np.arcsin(np.minimum(limit / np.maximum(size * largest, LEAST_SIZE), 1.0)) / spread
        tame = (np.maximum(-np.real(w), 0.0) * largest <= limit) & (sway >= LEAST_SWAY)
        turn = np.maximum(excess + np.clip(2.2 * spread - excess, 0.8 * spread, 1.4), 0.0)
        turn = turn if turned else np.zeros(len(w))
        shift = np.where(tame, 0.0, np.minimum(turn / spread, MOST_SHIFT))
        room = np.where(tame, np.minimum(sway, TAME_ROOM), np.minimum((turn - excess) / spread, WIDEST_ROOM))
        digits = DIGITS + math.log(count) + (shift + room) ** 2 / 2 + np.log(2 + 2 * size)
        digits = digits + np.clip(np.real(w), 0.0, 20.0) + np.where(tame, 2 * limit, 0.0)
        step = float((2 * math.pi * room / digits).min())
        low = -REACH + min(0.0, spread / 2 - math.log(max(float(size.max()), LEAST_SIZE)) / spread)
        nodes = np.arange(math.floor(max(low, LOWEST) / step), math.ceil(top / step) + 1)
        return cls(spread, step * nodes, step, shift, room, angle, np.where(size < LARGE, w, 0.0))

    def alias(self, w: Array, v: Array, weight: Array) -> Array:
        """Error of the trapezoid rule: the integrand's size on the lines `room` to either side (term T1)."""
        size = np.abs(w)
        total = np.zeros(len(w))
        for line in (self.shift - self.room, self.shift + self.room):
            turned = (size * np.cos(self.angle - self.spread * line))[:, None] * v
            whole = np.exp(np.minimum(np.real(self.centre)[:, None] - turned, LARGEST_EXPONENT)) @ weight
            total += np.exp(line**2 / 2) * (whole + np.where(self.centre == 0, 0.0, 1 + 2 * size))
        return total * EDGE_SERIES * np.exp(-2 * math.pi * self.room / self.step)

    def cut(self) -> Array:
        """What lies outside the range, there and on the way to the other lines (term T2)."""
        outside = np.exp(self.shift**2 / 2 + TAME - LOG_DENSITY) * (1 + PATH / self.spread)
        return outside * (2 + np.exp(np.real(self.centre)) + 2 * np.abs(self.centre))


def second_order(x: Array) -> Array:
    """e^x - 1 - x, without cancellation."""
    result = np.expm1(x) - x
    near = np.abs(x) < SERIES
    y = x[near]
    series = np.ones(y.shape, dtype=y.dtype)
    for k in range(14, 2, -1):
        series = 1 + y / k * series
    result[near] = y * y / 2 * series
    return result
