"""E(K - S)_+ of the mean S of lognormals from its Laplace transform, along a hyperbola; each with a bound on its error.

The words are those of finance, where S is a price: a put with the strike K is worth E(K - S)_+, a call E(S - K)_+, and
out of the money is the one of them that is small: the put for K below the mean of S, which is 1, the call above it.

E(K - S)_+ = (1/2 pi i) int e^{zK} E e^{-zS} z^-2 dz for Re z > 0. On z(v) = m(1 + sin(iv - b)) the trapezoid rule
converges geometrically: v + id gives the hyperbolas with b + d and b - d. The integrals of |.| over those two
bound its error. They are computed. The error terms are listed in docs/theory/allocation.md under the names used here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hush.arrays import Array
from hush.numerics.lognormal_mean.transform import EDGE_SERIES, LognormalMean
from hush.numerics.lognormal_mean.upper_tail import DIGITS, EDGE_SUM, NO_BOUND, crossing
from hush.numerics.rounding import LARGEST_EXPONENT, UNIT
from hush.numerics.work import remembered, spend

LEAST = 1e-320
"""Stands for an upper end of 0, which has no logarithm: it is above it."""
SHAPES = ((0.6, 0.75), (0.3, 0.6), (0.15, 0.45), (0.0, 0.35), (0.0, 0.15))
"""Hyperbolas that are tried: lean b, half-width d of the strip. What leans more needs fewer nodes, where it works."""
GOOD = 1e-11
"""The first shape with so small an error is taken."""
FARTHEST = 60.0
"""A hyperbola ends here at the latest, in units of v: |z| is e^60 times its size."""
MANY_NODES, MOST_NODES = 300, 1200
"""A shape that takes more than 300 nodes is set aside; if all do, the least is laid with 1200 at the most."""


@dataclass(frozen=True, eq=False)
class HyperbolaNodes:
    """Points of one hyperbola: z, dz/dv over i, log E e^{-z(S-1)} and its error."""

    z: Array
    slope: Array
    value: Array
    error: Array

    @classmethod
    def of(cls, law: LognormalMean, v: Array, size: float, lean: float | Array) -> HyperbolaNodes:
        turn = 1j * v - lean
        z = size * (1 + np.sin(turn))
        return cls(z, size * np.cos(turn), *law.log_transform(z))

    def log_size(self, excess: Array) -> Array:
        """log |e^{z(K-1)} E e^{-z(S-1)} z^-2 dz/dv|, rounded up; a row for each excess K - 1."""
        fixed = np.real(self.value) + self.error + np.log(np.abs(self.slope)) - 2 * np.log(np.abs(self.z))
        return fixed + np.asarray(excess)[:, None] * np.real(self.z)


@dataclass(frozen=True, eq=False)
class Hyperbola:
    """One contour with its nodes, good for the strikes near the one for which it was laid."""

    step: float
    room: float
    size: float
    last: float
    middle: HyperbolaNodes
    inner: HyperbolaNodes
    outer: HyperbolaNodes
    side: HyperbolaNodes
    depth: Array
    """Distance of each point of the side from the middle line, in units of v."""
    log_tail: float
    """log of a bound on |E e^{-zS}| at and beyond the last node."""

    def put(self, excess: Array) -> tuple[Array, Array, Array]:
        """E(K - S)_+ over its scale at each excess K - 1, its error, and the log of the scale."""
        excess = np.atleast_1d(np.asarray(excess, dtype=float))
        spend(50 * len(excess) * len(self.middle.z))
        line, sizes = self.middle, self.middle.log_size(excess)
        scale = sizes.max(axis=1)
        weight = np.full(len(line.z), self.step / math.pi)
        weight[0] /= 2
        exponent = excess[:, None] * line.z + (line.value + np.log(line.slope) - 2 * np.log(line.z)) - scale[:, None]
        value = (np.exp(np.minimum(exponent.real, 0.0)) * np.cos(exponent.imag)) @ weight
        heights = np.exp(sizes - scale[:, None]) * weight
        rounding = np.expm1(np.minimum(line.error, 1.0)) + UNIT * (16 + 4 * np.abs(line.value))
        error = heights @ rounding + 4 * UNIT * (heights @ np.abs(line.z)) * np.abs(excess)
        return value, error + self.alias(excess, scale) + self.tail(excess, scale), scale

    def alias(self, excess: Array, scale: Array) -> Array:
        """Error of the trapezoid rule up to the last node: two edges of the strip (H1), and its ends (H2)."""
        total = np.zeros(len(excess))
        for edge in (self.inner, self.outer):
            sizes = np.minimum(edge.log_size(excess) - scale[:, None], LARGEST_EXPONENT)
            total += np.exp(sizes).sum(axis=1) * self.step
        total *= math.exp(-min(2 * math.pi * self.room / self.step, LARGEST_EXPONENT)) * EDGE_SERIES
        fall = 2 * math.pi * self.depth / self.step
        ends = np.exp(np.minimum(self.side.log_size(excess) - scale[:, None] - fall, LARGEST_EXPONENT)).max(axis=1)
        return EDGE_SUM / math.pi * (total + 2 * self.room * ends)

    def tail(self, excess: Array, scale: Array) -> Array:
        """Beyond the last node |E e^{-zS}| falls, Re z does not grow, and |dz/dv|/|z|^2 is summable (H3)."""
        exponent = self.log_tail + float(self.middle.z[-1].real) * (1 + excess) - scale
        return np.exp(np.minimum(exponent, LARGEST_EXPONENT)) / (math.pi * self.size * (math.sinh(self.last) - 1))


def saddle(law: LognormalMean, excess: float) -> float:
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


def lay(law: LognormalMean, excess: Array) -> Hyperbola:
    """A contour for the strikes between these: the first shape that keeps its promise, else the best."""
    c = saddle(law, float(excess[-1]))
    best, least, aside = None, math.inf, []
    for lean, room in SHAPES:
        size, last, step = _plan(law, excess, c, lean, room)
        if last / step > MANY_NODES:
            aside.append((last / step, size, lean, room, last, step))
            continue
        found = _laid(law, size, lean, room, last, step)
        miss = float(found.put(excess)[1].max())
        if best is None or miss < least:
            best, least = found, miss
        if miss < GOOD:
            break
    if best is None:
        _, size, lean, room, last, step = min(aside)
        best = _laid(law, size, lean, room, last, max(step, last / MOST_NODES))
    return best


def _laid(law: LognormalMean, size: float, lean: float, room: float, last: float, step: float) -> Hyperbola:
    v = step * np.arange(math.ceil(last / step) + 1)
    lines = [HyperbolaNodes.of(law, v, size, angle) for angle in (lean, lean - room, lean + room)]
    leans = np.linspace(lean - room, lean + room, 17)
    side = HyperbolaNodes.of(law, np.full(17, v[-1] + step / 2), size, leans)
    tail = float(log_decay(law, lines[0].z[-1:], lean)[0])
    return Hyperbola(step, room, size, float(v[-1]), lines[0], lines[1], lines[2], side, np.abs(leans - lean), tail)


def _plan(law: LognormalMean, excess: Array, c: float, lean: float, room: float) -> tuple[float, float, float]:
    """(size, last, step): how far the hyperbola must go for these strikes, and how finely."""
    size = c / (1 - math.sin(lean))
    v, top, last = np.arange(0.0, 4.81, 0.4), np.zeros(len(excess)), FARTHEST
    while last == FARTHEST and v[-1] < FARTHEST:
        middle = HyperbolaNodes.of(law, v, size, lean)
        heights = middle.log_size(excess)
        top = top if v[0] else heights.max(axis=1)
        for k in np.flatnonzero((heights < top[:, None] - DIGITS).all(axis=0) & (v > 1.5)):
            bound = float(log_decay(law, middle.z[k : k + 1], lean)[0]) + middle.z[k].real * (1 + excess)
            if (bound - math.log(size * (math.sinh(v[k]) - 1)) < top - DIGITS).all():
                last = float(v[k])
                break
        v = v[-1] + np.arange(0.4, 4.81, 0.4)
    near = np.linspace(0.0, last, max(8, round(last / 0.4)))
    edges = [
        (HyperbolaNodes.of(law, near, size, angle).log_size(excess) - top[:, None]).max()
        for angle in (lean - room, lean + room)
    ]
    step = 2 * math.pi * room / (DIGITS + max(float(max(edges)), 0.0))
    return size, last, step


def log_decay(law: LognormalMean, z: Array, lean: float) -> Array:
    """log of a bound on |E e^{-zS}| at z and at all later points of its hyperbola (H3).

    |phi(w)| <= e^{s^2/2} phi(|w| cos(arg w - as)) for any shift s of the normal's line; with as above the lean, the
    argument on the right grows along the hyperbola.
    """
    turns = lean + (math.pi / 2 - lean) * np.geomspace(1e-3, 0.9, 20)
    along = np.real(z[:, None] * np.exp(-1j * turns))
    value, error = law.log_laplace(np.maximum(along, 0.0).ravel())
    log_value = (value + error).reshape(along.shape) - along
    return np.where(along > 0, law.count * (turns / law.spread) ** 2 / 2 + log_value, NO_BOUND).min(axis=1)


@remembered(256)
def contour(law: LognormalMean, band: int) -> Hyperbola:
    """The contour for one band of strikes: doubling distances above the mean, equal steps of log K below it."""
    width = law.width
    if band >= 0:
        return lay(law, width * np.array([2.0**band if band else 0.0, 2.0 ** (band + 1)]))
    return lay(law, np.expm1(width * np.array([band + 1.0, band])))


def out_of_the_money(law: LognormalMean, losses: Array, tolerance: float = 1e-11) -> tuple[Array, Array]:
    """Bounds on E(K - S)_+ for K = e^l <= 1, and on E(S - K)_+ = E(K - S)_+ - (K - 1) for K > 1; in logs.

    A coarse tolerance is met at half the cost, where delta is not tiny.

    >>> low, high = out_of_the_money(LognormalMean(1.0, 100), np.array([-0.5, 0.5]))
    >>> np.exp(low), bool((high - low < 1e-9).all())
    (array([3.593866...e-07, 4.408908...e-05]), True)
    """
    losses = np.atleast_1d(np.asarray(losses, dtype=float))
    low, high = np.full(len(losses), -math.inf), losses.clip(max=0.0)
    for band, chosen in _bands(law, losses).items():
        excess = np.expm1(losses[chosen])
        precise = band > 1 and tolerance < 1e-8
        for way in (_across, _beside) if precise else (_beside, _across):
            ends = way(law, band, excess)
            low[chosen], high[chosen] = np.maximum(low[chosen], ends[0]), np.minimum(high[chosen], ends[1])
            if band < 0 or (high[chosen] - low[chosen]).max() < (1e-7 if precise else tolerance):
                break
    return low - 4 * UNIT * np.abs(low), high + 4 * UNIT * np.abs(high)


def _beside(law: LognormalMean, band: int, excess: Array) -> tuple[Array, Array]:
    """Right of zero: puts; calls by parity, E(S - K)_+ = E(K - S)_+ - (K - 1)."""
    value, error, scale = contour(law, band).put(excess)
    if band >= 0:
        down = np.maximum(excess, 0.0) * np.exp(-scale)
        error = error + UNIT * (down + np.abs(value))
        value = value - down
    return _logs(value, error, scale)


def _across(law: LognormalMean, band: int, excess: Array) -> tuple[Array, Array]:
    """Left of zero: calls. Far out one crossing serves several bands."""
    if band == 0:
        return np.full(len(excess), -math.inf), np.zeros(len(excess))
    wide = [(band - band % 3, band - band % 3 + 3)] if band >= 6 else []
    for first, last in (*wide, (band, band + 1)):
        found = crossing(law, law.width * 2.0**first, law.width * 2.0**last)
        if found:
            return _logs(*found.call(excess))
    return np.full(len(excess), -math.inf), np.zeros(len(excess))


def _logs(value: Array, error: Array, scale: Array) -> tuple[Array, Array]:
    """Logs of both ends."""
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(value - error, 0.0)) + scale, np.log(np.maximum(value + error, LEAST)) + scale


def _bands(law: LognormalMean, losses: Array) -> dict[int, Array]:
    """Which losses share a contour."""
    with np.errstate(divide="ignore"):
        above = np.maximum(np.ceil(np.log2(np.expm1(np.clip(losses, 0.0, 300.0)) / law.width)) - 1, 0)
    bands = np.where(losses >= 0, above, np.floor(losses / law.width)).astype(int)
    return {int(band): bands == band for band in np.unique(bands)}
