"""Puts on the mean S of lognormals from its Laplace transform, along a hyperbola; each with a bound on its error.

E(K - S)_+ = (1/2 pi i) int e^{zK} E e^{-zS} z^-2 dz for Re z > 0. On z(v) = m(1 + sin(iv - b)) the trapezoid rule
converges geometrically: v + id gives the hyperbolas with b + d and b - d. The integrals of |.| over those two
bound its error. They are computed. The error terms are listed in docs/theory/allocation.md under the names used here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hush.numerics.law import UNIT, Array
from hush.numerics.lognormal_mean import LognormalMean

DIGITS = 36.0
"""-log of the trapezoid error relative to the integral of |f|."""
SHAPES = ((0.0, 0.35), (0.0, 0.6), (0.15, 0.45), (0.3, 0.6), (0.6, 0.75))
"""Hyperbolas that are tried: lean b, half-width d of the strip. Far in the upper tail the leaning ones win."""
FARTHEST = 60.0


@dataclass(frozen=True)
class Line:
    """Points of one hyperbola: z, dz/dv over i, log E e^{-z(S-1)} and its error."""

    z: Array
    slope: Array
    value: Array
    error: Array

    @classmethod
    def of(cls, law: LognormalMean, v: Array, size: float, lean: float | Array) -> Line:
        turn = 1j * v - lean
        z = size * (1 + np.sin(turn))
        return cls(z, size * np.cos(turn), *law.log_transform(z))

    def log_size(self, excess: Array) -> Array:
        """log |e^{z(K-1)} E e^{-z(S-1)} z^-2 dz/dv|, rounded up; a row for each excess K - 1."""
        fixed = self.value.real + self.error + np.log(np.abs(self.slope)) - 2 * np.log(np.abs(self.z))
        return np.minimum(fixed, 1e4) + np.asarray(excess)[:, None] * self.z.real


@dataclass(frozen=True)
class Hyperbola:
    """One contour with its nodes, good for the strikes near the one for which it was laid."""

    step: float
    room: float
    size: float
    last: float
    middle: Line
    inner: Line
    outer: Line
    side: Line
    depth: Array
    """Distance of each point of the side from the middle line, in units of v."""
    log_tail: float
    """log of a bound on |E e^{-zS}| at and beyond the last node."""

    def put(self, excess: Array) -> tuple[Array, Array, Array]:
        """E(K - S)_+ over its scale at each excess K - 1, its error, and the log of the scale."""
        excess = np.atleast_1d(np.asarray(excess, dtype=float))
        line, sizes = self.middle, self.middle.log_size(excess)
        scale = sizes.max(axis=1)
        weight = np.full(len(line.z), self.step / math.pi)
        weight[0] /= 2
        exponent = excess[:, None] * line.z + (line.value + np.log(line.slope) - 2 * np.log(line.z)) - scale[:, None]
        value = np.exp(exponent).real @ weight
        heights = np.exp(sizes - scale[:, None]) * weight
        rounding = np.expm1(np.minimum(line.error, 1.0)) + UNIT * (16 + 4 * np.abs(line.value))
        error = heights @ rounding + 4 * UNIT * (heights @ np.abs(line.z)) * np.abs(excess)
        return value, error + self._alias(excess, scale) + self._tail(excess, scale), scale

    def _alias(self, excess: Array, scale: Array) -> Array:
        """Error of the trapezoid rule up to the last node: two edges of the strip (H1), and its ends (H2)."""
        total = np.zeros(len(excess))
        for edge in (self.inner, self.outer):
            total += np.exp(np.minimum(edge.log_size(excess) - scale[:, None], 700.0)).sum(axis=1) * self.step
        total /= math.expm1(2 * math.pi * self.room / self.step)
        fall = 2 * math.pi * self.depth / self.step
        ends = np.exp(np.minimum(self.side.log_size(excess) - scale[:, None] - fall, 700.0)).max(axis=1)
        return 1.5 / math.pi * (total + 2 * self.room * ends)

    def _tail(self, excess: Array, scale: Array) -> Array:
        """Beyond the last node |E e^{-zS}| falls, Re z does not grow, and |dz/dv|/|z|^2 is summable (H3)."""
        exponent = self.log_tail + float(self.middle.z.real[-1]) * (1 + excess) - scale
        return np.exp(np.minimum(exponent, 700.0)) / (math.pi * self.size * (math.sinh(self.last) - 1))


def crossing(law: LognormalMean, excess: float) -> float:
    """The point c > 0 at which e^{c(K-1)} E e^{-c(S-1)} c^-2 is least: there the contour crosses the axis."""
    low, high = math.log(1e-10), math.log(1e12)
    grid, best = np.zeros(1), 0
    for _ in range(4):
        grid = np.linspace(low, high, 25)
        c = np.exp(grid)
        value, _ = law.log_laplace(c)
        best = int(np.argmin(value + c * excess - 2 * grid))
        low, high = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, 24)])
    return math.exp(float(grid[best]))


def lay(law: LognormalMean, excess: float) -> Hyperbola:
    """The cheapest contour for strikes near this one."""
    c = crossing(law, excess)
    _, size, lean, room, last, step = min(_plan(law, excess, c, lean, room) for lean, room in SHAPES)
    v = step * np.arange(math.ceil(last / step) + 1)
    lines = [Line.of(law, v, size, angle) for angle in (lean, lean - room, lean + room)]
    leans = np.linspace(lean - room, lean + room, 17)
    side = Line.of(law, np.full(17, v[-1] + step / 2), size, leans)
    tail = float(log_decay(law, lines[0].z[-1:], lean)[0])
    return Hyperbola(step, room, size, float(v[-1]), *lines, side, np.abs(leans - lean), tail)


def _plan(law: LognormalMean, excess: float, c: float, lean: float, room: float) -> tuple[float, ...]:
    """(nodes, size, lean, room, last, step): how far the hyperbola must go, and how finely."""
    size = c / (1 - math.sin(lean))
    strike = np.array([excess])
    v, top, last = np.arange(0.0, 4.81, 0.4), 0.0, FARTHEST
    while last == FARTHEST and v[-1] < FARTHEST:
        middle = Line.of(law, v, size, lean)
        heights = middle.log_size(strike)[0]
        top = max(top, float(heights[0])) if v[0] else float(heights.max())
        done = np.flatnonzero((heights < top - DIGITS) & (v > 1.5))
        for k in done:
            bound = float(log_decay(law, middle.z[k : k + 1], lean)[0]) + middle.z[k].real * (1 + excess)
            if bound - math.log(size * (math.sinh(v[k]) - 1)) < top - DIGITS:
                last = float(v[k])
                break
        v = v[-1] + np.arange(0.4, 4.81, 0.4)
    near = np.arange(0.0, last + 0.1, 0.4)
    edges = [Line.of(law, near, size, angle).log_size(strike)[0].max() for angle in (lean - room, lean + room)]
    step = 2 * math.pi * room / (DIGITS + max(float(max(edges)) - top, 0.0))
    return last / step, size, lean, room, last, step


def log_decay(law: LognormalMean, z: Array, lean: float) -> Array:
    """log of a bound on |E e^{-zS}| at z and at all later points of its hyperbola (H3).

    |phi(w)| <= e^{s^2/2} phi(|w| cos(arg w - as)) for any shift s of the normal's line; with as above the lean, the
    argument on the right grows along the hyperbola.
    """
    turns = lean + (math.pi / 2 - lean) * np.geomspace(1e-3, 0.9, 20)
    along = (z[:, None] * np.exp(-1j * turns)).real
    value, error = law.log_laplace(np.maximum(along, 0.0).ravel())
    log_value = (value + error).reshape(along.shape) - along
    return np.where(along > 0, law.count * (turns / law.spread) ** 2 / 2 + log_value, 1e4).min(axis=1)
