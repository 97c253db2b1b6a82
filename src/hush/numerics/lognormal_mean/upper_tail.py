"""Calls E(S - K)_+ far above the mean, to a small relative error: the contour crosses the negative axis.

There the transform phi of one lognormal has a cut.

E(S - K)_+ = (1/pi) Re int F(z) dz/i - (1/pi) int_0^s Im F(-r + i0) dr with F(z) = e^{zK} E e^{-zS} z^-2, the first
along a ray that rises from -s, for any s > 0. At a good s its integrand is no larger than the answer. The second is the
jump of F across the cut. It comes from one large lognormal and is computed by itself, along a parabola round the saddle
at which e^{rV/t} overtakes the normal density. Both are double exponential sums. The error terms are listed in
docs/theory/allocation.md under the names used here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hush.arrays import Array
from hush.numerics.lognormal_mean.transform import LEAST_LEFT, UNKNOWN, LognormalMean
from hush.numerics.rounding import LARGEST_EXPONENT, UNIT
from hush.numerics.special.logarithms import log1p
from hush.numerics.work import remembered, spend

DIGITS = 36.0
"""-log of the error of a sum relative to the integral of its absolute value: e^-36 is a unit of rounding."""
ROOM = 0.5
"""Half-width of the strip of the double exponential sums."""
LEANS = (0.6, 0.3, 0.0)
"""How far the ray turns to the left of the vertical, in the order in which they are tried."""
BEND = 0.45
"""Half-width of the strip of the parabola: 1 + ip has its zero at p = i, twice as far."""
BELL_GROWTH, SPARE_DIGITS = 0.7, 4.0
"""Growth of the bell on the edges of its strip, per unit of its mass, and digits to spare. They only set the step: both
edges are summed and charged (U1)."""
BELL_REACH = 7.5, 0.5
"""How far the parabola is followed: 7.5 deviations of the bell and 0.5 more. Its last terms are charged twice (U2)."""
OWN_SADDLE = 1.3
"""Below this a x2 the saddle is not well apart from the other one, and the jump has no bound."""
ITERATIONS, FIRST_SADDLE = 200, 40.0
"""Of the fixed point for the saddle, which contracts by 1/(a x) < 1/1.3. A saddle that is a little off moves the
parabola, which is as valid: its edges are computed."""
EDGE_SUM = 1.5
"""Integrals of |f| over the edges of a strip are sums at the same nodes, times 1.5: room for what lies between (U1)."""
ENDS = 4
"""Times the last terms of a sum, which fall from there on, are charged for what lies beyond (U2)."""
MOST_ERROR = 1e290
"""Cap on the error of a call, which keeps its sums floats."""
LARGE, SMALL = 600.0, 50.0
"""Caps on logs of ratios. On the cut a jump is at most 2 |phi|; on an edge of the strip e^50 is an error beyond use."""
FIRST_ORDER = 40.0
"""Below e^-40/t the loss 1 - (1 - ratio)^t is t ratio, to the last digit."""
SPILL = 1.5
"""Room for the second order in the effect of an error of the ratio."""
RATIO_ROUNDING = 1e-16
"""Rounding of the log of the loss, beside that of its terms."""
HALF_KNOWN = 0.5
"""Errors of a log from which a place is not asked: it is known to no digit."""
FARTHEST_RAY, FARTHEST_CUT = 9.0, 30.0
"""How far the two sums may run, in units of v: y = e^{v - e^-v}."""
GOOD = 1e-9
"""The first ray with so small a relative error is taken."""
NO_BOUND = 1e4
"""A logarithm that stands for no bound."""


def log_jump(law: LognormalMean, rho: Array) -> tuple[Array, Array]:
    """log of i(phi(-rho + i0) - phi(-rho - i0)), continued to complex rho near the positive axis; relative error.

    The difference is an integral of n(x) e^{rho V(x)} from +infinity below the axis to +infinity above it. On the
    parabola V = V2 (1 + ip)^2 through the saddle V2, rho a V2 = x2, it is a bell.

    >>> value, error = log_jump(LognormalMean(1.0, 1), np.array([0.01 + 0j]))
    >>> round(float(value[0].real), 6), bool(error[0] < 1e-10)
    (-18.781572, True)
    """
    a = law.spread
    saddle = _saddle(a, np.abs(rho))
    mass = saddle / a
    growth = float((BELL_GROWTH * mass).max())
    step = 2 * math.pi * BEND / (DIGITS + SPARE_DIGITS + growth)
    reach = BELL_REACH[0] / math.sqrt(max(float(mass.min()), 0.5)) + BELL_REACH[1]
    p = step * np.arange(-math.ceil(reach / step), math.ceil(reach / step) + 1)
    spend(50 * len(p) * len(rho))
    terms, exponents = _bell(a, rho, saddle, p + 0j)
    top = np.real(exponents).max(axis=1)
    scaled = terms * np.exp(exponents - top[:, None])
    total = scaled.sum(axis=1) * step
    size = (np.abs(scaled) * (8 + 2 * np.abs(exponents))).sum(axis=1) * step * UNIT
    for line in (-1j * BEND, 1j * BEND):
        edge, exponent = _bell(a, rho, saddle, p + line)
        heights = np.abs(edge) * np.exp(np.minimum(np.real(exponent) - top[:, None], LARGE))
        size += EDGE_SUM * step * heights.sum(axis=1) * math.exp(-2 * math.pi * BEND / step)
        size += 2 * heights[:, [0, -1]].max(axis=1)
    size += 2 * np.abs(scaled[:, [0, -1]]).max(axis=1)
    relative = np.minimum(size, UNKNOWN) / np.maximum(np.abs(total) - size, LEAST_LEFT)
    return np.log(-1j * total) + top, np.where(saddle * a > OWN_SADDLE, relative, UNKNOWN)


def _saddle(a: float, rho: Array) -> Array:
    """The larger x with rho a e^{ax - a^2/2} = x."""
    x = np.full(len(rho), FIRST_SADDLE / a)
    for _ in range(ITERATIONS):
        x = (np.log(np.maximum(x, 1.0 / a)) - np.log(a * rho) + a * a / 2) / a
    return x


def _bell(a: float, rho: Array, saddle: Array, p: Array) -> tuple[Array, Array]:
    """dx/dp / sqrt(2 pi), and the exponent -x^2/2 + rho V, at points p of the parabola; a row for each rho."""
    x = saddle[:, None] + 2 / a * np.log(1 + 1j * p)
    base = np.exp(a * saddle - a * a / 2)
    exponent = -x * x / 2 + (rho * base)[:, None] * (1 + 1j * p) ** 2
    return np.broadcast_to(2j / a / (1 + 1j * p) / math.sqrt(2 * math.pi), x.shape), exponent


@dataclass(frozen=True, eq=False)
class TailNodes:
    """Nodes of one integral: z, log of what stands before e^{z(K-1)}, and its relative error."""

    z: Array
    log_factor: Array
    error: Array

    def log_size(self, excess: Array) -> Array:
        return np.real(self.log_factor) + self.error + excess[:, None] * np.real(self.z)


def _exponential(v: Array) -> tuple[Array, Array]:
    """y = e^{v - e^-v} and log dy/dv."""
    fall = np.exp(-v)
    return np.exp(v - fall), v - fall + np.log(1 + fall)


def _rising(law: LognormalMean, s: float, scale: float, lean: float, v: Array) -> TailNodes:
    """F dz/i on the ray -s + iy e^{i lean}."""
    y, log_slope = _exponential(v)
    ratio = 1 - 1j * scale / s * np.exp(1j * lean) * y
    z = -s * ratio
    value, error = law.log_transform(z, math.pi + np.angle(ratio))
    return TailNodes(z, value + log_slope + math.log(scale) + 1j * lean - 2 * (np.log(ratio) + math.log(s)), error)


def _falling(law: LognormalMean, s: float, v: Array) -> TailNodes:
    """-Im F dr on the cut, r = s e^-q, q = log(1 + e^{v - e^-v}): F (1 - (1 - jump/phi)^t) / 2i."""
    y, log_slope = _exponential(v)
    q, log_slope = np.log(1 + y), log_slope - np.log(1 + y)  # grows like v: the strip must not turn r far
    r = s * np.exp(-q)
    value, error = law.log_transform(-r, math.pi - np.imag(q))
    rho = r / law.count
    jump, blur = log_jump(law, rho)
    # jump is the log of i(phi+ - phi-), and phi+ = e^{value/t + rho}
    log_ratio = jump - value / law.count - rho - 0.5j * math.pi
    ratio = np.exp(np.clip(log_ratio.real, -LARGE, SMALL) + 1j * log_ratio.imag)
    left = law.count * log1p(-ratio)
    left = np.minimum(np.real(left), LARGE) + 1j * np.imag(left)
    lost = -np.expm1(left)
    log_lost = np.where(
        log_ratio.real < -FIRST_ORDER - math.log(law.count), math.log(law.count) + log_ratio, np.log(lost)
    )
    spill = SPILL * np.abs(law.count * ratio * np.exp(left) / lost)
    factor = value + log_lost - math.log(2) + 0.5j * math.pi - np.log(r) + log_slope
    return TailNodes(-r, factor, error * (1 + spill) + blur * spill + RATIO_ROUNDING)


@dataclass(frozen=True)
class TailSum:
    """One double exponential sum: its nodes, the two edges of its strip, its step."""

    middle: TailNodes
    inner: TailNodes
    outer: TailNodes
    step: float

    def value(self, excess: Array, scale: Array) -> tuple[Array, Array]:
        """The integral over e^scale, over pi, and its error."""
        line, sizes = self.middle, self.middle.log_size(excess)
        exponent = excess[:, None] * line.z + line.log_factor - scale[:, None]
        value = (
            (np.exp(np.minimum(np.real(exponent), 0.0)) * np.cos(np.imag(exponent))).sum(axis=1) * self.step / math.pi
        )
        heights = np.exp(sizes - scale[:, None]) * self.step / math.pi
        rounding = np.expm1(np.minimum(line.error, 1.0)) + UNIT * (16 + 4 * np.abs(line.log_factor))
        error = heights @ rounding + 4 * UNIT * (heights @ np.abs(line.z)) * np.abs(excess)
        error += ENDS * heights[:, [0, -1]].sum(axis=1) / self.step
        for edge in (self.inner, self.outer):
            total = np.exp(np.minimum(edge.log_size(excess) - scale[:, None], LARGEST_EXPONENT))
            error += EDGE_SUM * self.step / math.pi * total.sum(axis=1) * math.exp(-2 * math.pi * ROOM / self.step)
            error += total[:, [0, -1]].sum(axis=1) * math.exp(-2 * math.pi * ROOM / self.step)
        return value, error


@dataclass(frozen=True)
class Crossing:
    """Both integrals for strikes near one, and a bound on |E e^{-z(S-1)}| beyond the last node of the rising one."""

    rising: TailSum
    falling: TailSum
    last: float
    log_tail: float

    def call(self, excess: Array) -> tuple[Array, Array, Array]:
        """E(S - K)_+ over its scale at each excess K - 1, its error, and the log of the scale."""
        scale = np.maximum(*(part.middle.log_size(excess).max(axis=1) for part in (self.rising, self.falling)))
        up, up_error = self.rising.value(excess, scale)
        down, down_error = self.falling.value(excess, scale)
        real = float(self.rising.middle.z[-1].real)
        tail = np.exp(np.minimum(self.log_tail + real * excess - scale, LARGEST_EXPONENT)) / self.last
        return up + down, np.minimum(up_error + down_error + tail, MOST_ERROR), scale


@remembered(128)
def crossing(law: LognormalMean, low: float, high: float) -> Crossing | None:
    """Both sums for strikes with K - 1 from low to high, on the best ray; None where there is none."""
    excess = np.array([low, high])
    s = min(_place(law, math.sqrt(low * high)), 80 / low)
    scale = min(s, 1 / law.width)
    falling = _laid(lambda v: _falling(law, s, v), excess, FARTHEST_CUT)
    if falling is None:
        return None
    floor = falling.middle.log_size(excess).max(axis=1)
    far = math.log(1.5 * math.sqrt(s * law.count) / law.spread / scale)
    best, least = None, math.inf
    for lean in LEANS if law.spread > 0.4 else LEANS[::-1]:
        rising = _laid(lambda v, lean=lean: _rising(law, s, scale, lean, v), excess, FARTHEST_RAY, far, floor)
        if rising is None:
            continue
        end = float(np.abs(rising.middle.z[-1] + s))
        found = Crossing(rising, falling, end, _log_decay(law, s, lean, end))
        value, error, _ = found.call(excess)
        miss = float((np.minimum(error, UNKNOWN) / np.maximum(value, LEAST_LEFT)).max())
        if miss < least:
            best, least = found, miss
        if least < GOOD:
            break
    return best


def _place(law: LognormalMean, excess: float) -> float:
    """Where to cross: |F| is least there, and the jump is still that of a saddle of its own."""
    a = law.spread
    most = 0.6 * math.exp(a * a / 2 - 1) / (a * a) * law.count
    r = most * np.geomspace(1e-7, 1.0, 120)
    with np.errstate(over="ignore", invalid="ignore"):  # too far out the error is not a number, and not chosen
        value, error = law.log_transform(-r.astype(complex), np.full(120, math.pi))
    height = np.where(error < HALF_KNOWN, np.real(value), math.inf) - r * excess - 2 * np.log(r)
    return float(r[int(np.argmin(height))])


def _laid(
    part: Callable[[Array], TailNodes],
    excess: Array,
    farthest: float,
    least: float = 0.0,
    floor: Array | float = -math.inf,
) -> TailSum | None:
    """A sum that runs as far as its terms matter, on either side; what is far below the floor needs no digits."""
    v = np.arange(-4.0, farthest, 0.25)
    coarse = part(v + 0j)
    heights = np.where(coarse.error < HALF_KNOWN, coarse.log_size(excess), -math.inf)
    top = heights.max(axis=1)[:, None]
    if not np.isfinite(top).all():
        return None
    near = np.flatnonzero((heights > top - DIGITS - 6).any(axis=0))
    start, stop = v[max(near[0] - 1, 0)], max(v[min(near[-1] + 3, len(v) - 1)], min(least, farthest))
    near = np.linspace(start, stop, 24)
    top = np.maximum(top[:, 0], floor)[:, None]
    edges = [(part(near + line).log_size(excess) - top).max() for line in (-1j * ROOM, 1j * ROOM)]
    if max(edges) > DIGITS:
        return None
    step = 2 * math.pi * ROOM / (DIGITS + max(float(max(edges)), 0.0))
    v = start + step * np.arange(math.ceil((stop - start) / step) + 1)
    return TailSum(part(v + 0j), part(v - 1j * ROOM), part(v + 1j * ROOM), step)


def _log_decay(law: LognormalMean, s: float, lean: float, y: float) -> float:
    """log of a bound on |E e^{-z(S-1)}| at distance y along the ray and beyond: the line of the normals moved."""
    turns = lean + (math.pi / 2 - lean) * np.geomspace(1e-3, 0.99, 60)
    along = y * np.sin(turns - lean) - s * np.cos(turns)
    value, error = law.log_laplace(np.maximum(along, 0.0))
    bound = law.count * (turns / law.spread) ** 2 / 2 + value + error - along - s - y * math.sin(lean)
    return float(np.where(along > 0, bound, NO_BOUND).min())
