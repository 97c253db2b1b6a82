"""The law of a privacy loss as finitely many atoms and analytic pieces, and its exponential tilts.

A piece knows how to turn itself into quadrature nodes whose error is bounded in advance. Everything the
contour engine needs is read off the nodes: moments at complex arguments, spread, total variation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, Protocol, TypeAlias

import numpy as np

Array: TypeAlias = Any
"""A numpy array of floats, or of complex numbers where the docstring says so."""

UNIT = float(np.finfo(float).eps)

NEGLIGIBLE = 46.0
"""Nodes lighter than exp(-46) of the heaviest are dropped (later where more accuracy is asked); it is charged."""
MOST_CELLS = 20_000
"""Cells of an envelope at the most; wider cells make looser bounds, not wrong ones."""
FARTHEST = 70.0
"""Depth to which the support of a tilted density is laid out."""


@dataclass(frozen=True)
class Nodes:
    """Quadrature nodes of the measure e^{cL} dP: any integral of e^{iyL}, |y| up to a reach, to a relative error."""

    loss: Array
    log_weight: Array
    loss_error: Array
    """Bound on the rounding error of each loss, in units of machine precision."""
    error: float


@dataclass(frozen=True)
class Cells:
    """The measure e^{cL} dP cut into small cells: what bounds |E e^{iyL}| for all large y."""

    loss: Array
    log_weight: Array
    half_width: Array
    """Half the range of the loss within each cell."""
    slack: Array
    """Relative error of each cell's mass."""
    score: Array
    """|d log(density of the loss) / d loss|, whose mean is the density's total variation."""
    jumps: float = 0.0
    """log of the density's values at the ends of its support, summed; -inf where it vanishes there."""


class Piece(Protocol):
    """An absolutely continuous part of a law, analytic inside."""

    def nodes(self, tilt: float, reach: float, accuracy: float) -> Nodes: ...

    def cells(self, tilt: float, fineness: int) -> Cells: ...

    def cost(self, tilt: float, reach: float, accuracy: float) -> float:
        """About how many nodes that takes."""
        ...

    def sweep(self, tilts: Array, accuracy: float) -> tuple[Array, Array]: ...


@dataclass(frozen=True)
class Normals:
    """Loss of two mixtures of unit normals: P = sum_j w_j N(a_j, 1) against Q = sum_k v_k N(b_k, 1)."""

    above: tuple[tuple[float, float], ...]
    """(shift, weight) of the components of P."""
    below: tuple[tuple[float, float], ...]
    """(shift, weight) of the components of Q."""
    spacing: float | None = None
    """For the discrete Gaussian: only multiples of this are taken (shifts among them), mass in proportion."""

    def loss(self, x: Array) -> Array:
        """log dP/dQ at x, accurate where it is small and where it is large."""
        return _log_mixture(self.above, x) - _log_mixture(self.below, x)

    def log_mass(self, x: Array) -> Array:
        """log of the P-mass of each point x of discrete noise."""
        return _log_mixture(self.above, x) - 0.5 * x * x + self._log_unit(1.0)

    def loss_slopes(self, x: Array) -> tuple[Array, Array, Array]:
        """First and second derivative of the loss, and the mean shift under P given x."""
        mean_above, variance_above = _posterior(self.above, x)
        mean_below, variance_below = _posterior(self.below, x)
        return mean_above - mean_below, variance_above - variance_below, mean_above

    def nodes(self, tilt: float, reach: float, accuracy: float) -> Nodes:
        """Trapezoid rule on the line; the error bound is that of Trefethen and Weideman 2014, Thm 5.1.

        In the strip |Im x| <= d the integrand e^{-x^2/2} A^{1+s} B^{-s} (A, B sums of exponentials with
        positive weights) grows at most by e^{d^2/2 + |y| d spread} cos(width_B d / 2)^{-c}.
        """
        regions, peak = self._support(tilt)
        step = self.spacing or self._step(tilt, reach, accuracy)
        x = np.concatenate([np.arange(math.floor(lo / step), math.ceil(hi / step) + 1) for lo, hi in regions]) * step
        log_above, log_below = _log_mixture(self.above, x), _log_mixture(self.below, x)
        loss = log_above - log_below
        log_base = -0.5 * x * x + log_above
        log_weight = log_base + tilt * loss
        drop = max(NEGLIGIBLE, accuracy + 6)
        keep = (log_weight > peak - drop) | (log_base > log_base.max() - drop)
        x, loss, log_weight = x[keep], loss[keep], log_weight[keep] + self._log_unit(step)
        slope = self.loss_slopes(x)[0]
        loss_error = 3 * np.abs(loss) + 2 * np.abs(slope) * (np.abs(x) + self._largest)
        span = regions[-1][1] - regions[0][0]
        error = 0.0 if self.spacing else math.exp(-accuracy)
        error += 8 * (span + 1) * math.exp(-drop) / min(1.0, step)
        return Nodes(loss, log_weight, loss_error, error)

    def cells(self, tilt: float, fineness: int) -> Cells:
        """Equal cells in x; on each the loss is monotone and the log-density linear up to its second derivative."""
        if self.spacing:
            return self._points(tilt)
        regions, peak = self._support(tilt)
        bend = 1 + ((1 + tilt) * _width(self.above) ** 2 + tilt * _width(self.below) ** 2) / 4
        span = sum(high - low for low, high in regions)
        step = max(min(0.04, 0.3 / math.sqrt(bend)) / fineness, span / MOST_CELLS)
        x = np.concatenate([np.arange(math.floor(a / step), math.ceil(b / step) + 1) for a, b in regions]) * step
        log_above, log_below = _log_mixture(self.above, x), _log_mixture(self.below, x)
        loss = log_above - log_below
        log_weight = -0.5 * x * x + log_above + tilt * loss
        keep = log_weight > min(peak, float(log_weight.max())) - 25
        x, loss, log_weight = x[keep], loss[keep], log_weight[keep] + math.log(step / math.sqrt(2 * math.pi))
        slope, curvature, mean = self.loss_slopes(x)
        steepness = -x + mean + tilt * slope
        slack = _cell_slack(np.abs(steepness) * step / 2, bend * step * step / 8)
        steep = np.maximum(np.abs(slope), 1e-150)
        half_width = np.maximum(np.abs(self.loss(x + step / 2) - loss), np.abs(loss - self.loss(x - step / 2)))
        score = np.minimum(np.abs(steepness - curvature / np.where(slope < 0, -steep, steep)), 1e100) / steep
        return Cells(loss, log_weight, half_width, slack, score, -math.inf)

    def _points(self, tilt: float) -> Cells:
        """Single points: no width, no density."""
        nodes = self.nodes(tilt, 0.0, 20.0)
        still = np.zeros(len(nodes.loss))
        return Cells(nodes.loss, nodes.log_weight, still, still, np.full(len(still), 1e300), -math.inf)

    def _log_unit(self, step: float) -> float:
        """log of the mass that a point of density exp(-x^2/2) stands for."""
        return _log_unit_mass(self.spacing) if self.spacing else math.log(step / math.sqrt(2 * math.pi))

    def sweep(self, tilts: Array, accuracy: float) -> tuple[Array, Array]:
        """Losses and log-weights that serve all the tilts at once, to a few digits: for searches, not for bounds."""
        ends = [*self._intervals(float(tilts.max()))[0], *self._intervals(0.0)[0]]
        low, high = min(a for a, _ in ends), max(b for _, b in ends)
        if self.spacing:
            x = self.spacing * np.arange(math.floor(low / self.spacing), math.ceil(high / self.spacing) + 1)
        else:
            step = self._step(float(tilts.max()), 0.0, accuracy)
            regions = [(low, high)]
            if high - low > 2000 * step:
                regions = _merged([r for tilt in [0.0, *tilts.tolist()] for r in self._intervals(tilt)[0]])
                step = max(step, sum(b - a for a, b in regions) / 50_000)
            x = step * np.concatenate([np.arange(math.floor(a / step), math.ceil(b / step) + 1) for a, b in regions])
        log_above, log_below = _log_mixture(self.above, x), _log_mixture(self.below, x)
        return log_above - log_below, log_above - 0.5 * x * x + self._log_unit(float(x[1] - x[0]))

    def cost(self, tilt: float, reach: float, accuracy: float) -> float:
        step = self.spacing or self._step(tilt, reach, accuracy)
        return sum(high - low for low, high in self._support(tilt)[0]) / step

    @property
    def _largest(self) -> float:
        return max(abs(a) for a, _ in self.above + self.below)

    def _step(self, tilt: float, reach: float, accuracy: float) -> float:
        spread = max(abs(a - b) for a, _ in self.above for b, _ in self.below)
        wide = max(_width(self.above), _width(self.below))
        limit = min(12.0, 0.98 * math.pi / wide) if wide > 0 else 12.0
        d = limit * _FRACTIONS
        growth = d * d / 2 + reach * spread * d
        if _width(self.below) > 0:
            growth = growth - max(tilt, 0.0) * np.log(np.cos(_width(self.below) * d / 2))
        return float(np.max(2 * math.pi * d / (accuracy + math.log(4) + growth)))

    def _support(self, tilt: float) -> tuple[list[tuple[float, float]], float]:
        """Intervals outside of which the tilted density is negligible, and its peak (log-scale).

        Where they meet the intervals of P itself, those are added: a moment near 1 is then 1 + E[e^{cL} - 1].
        """
        tilted, peak = self._intervals(tilt)
        if tilt != 0:
            plain = self._intervals(0.0)[0]
            if any(a <= d and c <= b for a, b in tilted for c, d in plain):
                tilted = _merged([*tilted, *plain])
        return tilted, peak

    @cached_property
    def _known(self) -> dict[float, tuple[list[tuple[float, float]], float]]:
        return {}

    def _intervals(self, tilt: float) -> tuple[list[tuple[float, float]], float]:
        if tilt not in self._known:
            self._known[tilt] = self._scan(tilt)
        return self._known[tilt]

    def _scan(self, tilt: float) -> tuple[list[tuple[float, float]], float]:
        """Evaluate the tilted density near all places where it can have a mode."""
        centres = sorted({(1 + tilt) * a - tilt * b for a, _ in self.above for b, _ in self.below})
        low, high = centres[0] - 12, centres[-1] + 12
        narrow = [(p, w) for p, w in self._crossings if low - 30 * w < p < high + 30 * w and w < 1]
        if high - low <= 120 and not narrow:
            x = np.arange(low, high + 0.25, 0.25)
        else:
            scan = [np.arange(low, high + 0.25, 0.25)] if high - low <= 120 else []
            if not scan:
                scan.extend(c + _NEAR for c in centres)
                scan.extend(p + _NEAR for p, _ in self._crossings if low < p < high)
                mode, width = self._mode(tilt, low, high)
                scan.extend((mode + _NEAR, mode + width * _NEAR))
            scan.extend(p + w * _FINE for p, w in narrow)
            x = np.unique(np.concatenate(scan))
        density = (1 + tilt) * _log_mixture(self.above, x) - tilt * _log_mixture(self.below, x) - 0.5 * x * x
        peak = float(density.max())
        inside = (density > peak - FARTHEST).nonzero()[0]
        breaks = (inside[1:] - inside[:-1] > 1).nonzero()[0].tolist()
        starts = [0, *(k + 1 for k in breaks)]
        ends = [*breaks, len(inside) - 1]
        regions = []
        for start, end in zip(starts, ends, strict=True):
            first, last = max(int(inside[start]) - 1, 0), min(int(inside[end]) + 1, len(x) - 1)
            regions.append((float(x[first]), float(x[last])))
        return regions, peak

    def _mode(self, tilt: float, low: float, high: float) -> tuple[float, float]:
        """A mode of the tilted density between low and high, by halving, and its width."""
        for _ in range(100):
            middle = (low + high) / 2
            if not low < middle < high:
                break
            slope, _, mean = self.loss_slopes(np.array([middle]))
            low, high = (middle, high) if float(mean[0] + tilt * slope[0]) > middle else (low, middle)
        bend = tilt * abs(float(self.loss_slopes(np.array([low]))[1][0]))
        return low, 1 / math.sqrt(1 + bend)

    @cached_property
    def _crossings(self) -> list[tuple[float, float]]:
        return [*_crossings(self.above), *_crossings(self.below)]


_NEAR = np.linspace(-12, 12, 97)
_FINE = np.linspace(-30, 30, 301)


def _cell_slack(tilt: Array, bend: float) -> Array:
    """How far a cell's mass can be from density times width, where the log-density has this slope and bend."""
    z = np.clip(tilt, 1e-8, 100.0)
    return np.sinh(z) / z * math.exp(min(bend, 100.0)) - 1


def _merged(intervals: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The union of intervals, as disjoint ones in order."""
    union: list[tuple[float, float]] = []
    for low, high in sorted(intervals):
        if union and low <= union[-1][1]:
            union[-1] = (union[-1][0], max(high, union[-1][1]))
        else:
            union.append((low, high))
    return union


_FRACTIONS = np.array([0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])


def _width(mixture: tuple[tuple[float, float], ...]) -> float:
    shifts = [a for a, _ in mixture]
    return max(shifts) - min(shifts)


def _crossings(mixture: tuple[tuple[float, float], ...]) -> list[tuple[float, float]]:
    """Where neighbouring components weigh the same, and the width of the transition there."""
    ordered = sorted(mixture)
    return [((a + b) / 2 + (math.log(w) - math.log(v)) / (b - a), 1 / (b - a)) for (a, w), (b, v) in pairwise(ordered)]


def _log_mixture(mixture: tuple[tuple[float, float], ...], x: Array) -> Array:
    """log sum_j w_j exp(a_j x - a_j^2/2) with small relative error near 0 and no overflow."""
    if len(mixture) == 1:
        shift = mixture[0][0]
        return shift * (x - shift / 2) if shift else np.zeros_like(x)
    exponents = [(a * (x - a / 2), w) for a, w in mixture]
    top = exponents[0][0]
    for e, _ in exponents[1:]:
        top = np.maximum(top, e)
    if np.max(top, initial=0.0) < 600:
        total = np.zeros_like(x)
        for e, w in exponents:
            total += w * np.expm1(e)
        near = total > -0.5
        if near.all():
            return np.log1p(total)
    else:
        near = np.zeros(x.shape, dtype=bool)
        total = near
    scaled = np.zeros_like(x)
    for e, w in exponents:
        scaled += w * np.exp(e - top)
    return np.where(near, np.log1p(np.where(near, total, 0.0)), top + np.log(scaled))


def _posterior(mixture: tuple[tuple[float, float], ...], x: Array) -> tuple[Array, Array]:
    """Mean and variance of the component's shift given x."""
    if len(mixture) == 1:
        return np.full_like(x, mixture[0][0]), np.zeros_like(x)
    exponents = np.array([a * (x - a / 2) + math.log(w) for a, w in mixture])
    share = np.exp(exponents - exponents.max(axis=0))
    share /= share.sum(axis=0)
    shifts = np.array([a for a, _ in mixture])
    mean = shifts @ share
    return mean, np.einsum("jk,jk->k", (shifts[:, None] - mean) ** 2, share)


@dataclass(frozen=True)
class Exponentials:
    """Loss that is log((1-A+A e^l)/(1-B+B e^l)) where l has P-density k e^{l/2} and Q-density k e^{-l/2} on [-a, a].

    The continuous part of Laplace noise (with atoms beside it) and of the bounded-range envelope (alone).
    """

    bound: float
    log_height: float
    above: float
    below: float

    def parts(self, base_loss: Array) -> tuple[Array, Array]:
        """log(1-A+A e^l) and log(1-B+B e^l)."""
        return _log_two(self.above, base_loss), _log_two(self.below, base_loss)

    def nodes(self, tilt: float, reach: float, accuracy: float) -> Nodes:
        """Composite Gauss-Legendre; error by the Bernstein ellipse (Trefethen 2013, Thm 19.3) with rho = 4.

        On an ellipse around a panel of half-length r: overhang 1.125 r, height 1.875 r < pi.
        """
        panels = self._panels(tilt, reach, accuracy)
        r = self.bound / panels
        points, log_gauss = _gauss()
        middle = (2 * np.arange(panels) + 1) * r - self.bound
        base = (middle[:, None] + r * points).ravel()
        log_above, log_below = self.parts(base)
        loss = log_above - log_below
        log_density = self.log_height - base / 2 + log_above + tilt * loss
        log_weight = log_density + np.tile(log_gauss + math.log(r), panels)
        height = 1.875 * r
        growth = (1.125 + 1.0) * r * (1.5 + 2 * tilt) + height * reach - tilt * math.log(math.cos(height / 2))
        log_error = math.log(64 / 15 / (1 - 1 / 16)) + growth - 2 * len(points) * math.log(4)
        top, centre = float(log_weight.max()), self._log_density(middle, tilt)
        error = float(np.exp(centre - top).sum()) * r * math.exp(log_error) / float(np.exp(log_weight - top).sum())
        slope = _logistic(self.above, base) - _logistic(self.below, base)
        loss_error = 3 * np.abs(loss) + 2 * np.abs(slope) * np.abs(base)
        return Nodes(loss, log_weight, loss_error, error)

    def _panels(self, tilt: float, reach: float, accuracy: float) -> int:
        half = min(self.bound, 1.4, max(80.0 - accuracy, 20.0) / (6.0 + 4.3 * abs(tilt) + 1.9 * reach))
        return max(1, math.ceil(self.bound / half))

    def cost(self, tilt: float, reach: float, accuracy: float) -> float:
        return 32.0 * self._panels(tilt, reach, accuracy)

    def cells(self, tilt: float, fineness: int) -> Cells:
        """Equal cells in l."""
        bend = (1 + 2 * tilt) / 4
        count = min(math.ceil(2 * self.bound * fineness / min(0.04, 0.5 / math.sqrt(bend))), MOST_CELLS)
        step = 2 * self.bound / count
        base = (np.arange(count) + 0.5) * step - self.bound
        loss = np.subtract(*self.parts(base))
        half_width = np.maximum(
            *(np.abs(np.subtract(*self.parts(base + side)) - loss) for side in (step / 2, -step / 2))
        )
        above, below = _logistic(self.above, base), _logistic(self.below, base)
        slope, curvature = above - below, above * (1 - above) - below * (1 - below)
        log_weight = self._log_density(base, tilt) + math.log(step)
        steepness = -0.5 + above + tilt * slope
        slack = _cell_slack(np.abs(steepness) * step / 2, bend * step * step / 8)
        steep = np.abs(slope)
        ends = np.array([-self.bound, self.bound])
        end_slope = np.abs(_logistic(self.above, ends) - _logistic(self.below, ends))
        jumps = float(np.logaddexp.reduce(self._log_density(ends, tilt) - np.log(end_slope)))
        return Cells(loss, log_weight, half_width, slack, np.abs(steepness - curvature / slope) / steep, jumps)

    def sweep(self, tilts: Array, accuracy: float) -> tuple[Array, Array]:
        """Losses and log-weights that serve all the tilts at once: panels that halve towards both ends."""
        edges = self.bound * (1 - np.concatenate([[1.0], 2.0 ** -np.arange(1.0, 36.0), [0.0]]))
        edges = np.concatenate([-edges[:0:-1], edges])
        points, log_gauss = _gauss()
        middle, radius = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
        base = (middle[:, None] + radius[:, None] * points).ravel()
        log_weight = self._log_density(base, 0.0) + (np.log(radius)[:, None] + log_gauss).ravel()
        return np.subtract(*self.parts(base)), log_weight

    def _log_density(self, base: Array, tilt: float) -> Array:
        log_above, log_below = self.parts(base)
        return self.log_height - base / 2 + log_above + tilt * (log_above - log_below)


def _log_two(share: float, base: Array) -> Array:
    """log(1 - share + share e^base)."""
    if share == 0:
        return np.zeros_like(base)
    if share == 1:
        return base
    small = share * np.expm1(np.minimum(base, 600.0))
    near = (small > -0.5) & (base < 600)
    return np.where(
        near, np.log1p(np.where(near, small, 0.0)), np.logaddexp(math.log1p(-share), math.log(share) + base)
    )


def _logistic(share: float, base: Array) -> Array:
    """share e^base / (1 - share + share e^base)."""
    if share == 0:
        return np.zeros_like(base)
    return np.exp(math.log(share) + base - _log_two(share, base))


@lru_cache(maxsize=64)
def _log_unit_mass(spacing: float) -> float:
    """-log of the sum of exp(-x^2/2) over the multiples x of the spacing."""
    count = math.ceil(40 / spacing)
    return -math.log(float(np.exp(-0.5 * (spacing * np.arange(-count, count + 1)) ** 2).sum()))


@lru_cache(maxsize=1)
def _gauss() -> tuple[Array, Array]:
    points, weights = np.polynomial.legendre.leggauss(32)
    return points, np.log(weights)


@dataclass(frozen=True)
class Tilted:
    """A law tilted by e^{cL} and normalised, as nodes."""

    loss: Array
    weight: Array
    log_moment: float
    """log E_P e^{cL}."""
    log_moment_error: float
    mean: float
    deviation: float
    error: float
    """Relative error of E_c e^{iyL} from the quadrature, for |y| up to the reach."""
    mean_error: float
    """Rounding error of the mean: a shift of the loss."""
    jitter: float
    """Root mean square of the rounding error of the loss."""

    def departure(self, y: Array) -> Array:
        """E_c[e^{iy(L - mean)}] - 1 on the uniform grid y: two small tables and one matrix product.

        The part linear in y has mean zero and is left out, so that what is summed is of second order:
        e^{i(a+b)} - 1 - i(a+b) = (e^{ia} - 1)(e^{ib} - 1) + (e^{ia} - 1 - ia) + (e^{ib} - 1 - ib).
        """
        centred = self.loss - self.mean
        step = float(y[1] - y[0]) if len(y) > 1 else 0.0
        inner = max(1, math.isqrt(len(y)))
        outer = -(-len(y) // inner)
        fine, fine_rest = _turn(np.arange(inner)[:, None] * (step * centred))
        coarse, coarse_rest = _turn((float(y[0]) + inner * step * np.arange(outer))[:, None] * centred)
        total = (coarse * self.weight) @ fine.T + (coarse_rest @ self.weight)[:, None] + fine_rest @ self.weight
        return total.ravel()[: len(y)]

    def departure_error(self, y: Array) -> Array:
        """Bound on the error of departure(y) but for a shift of the loss by mean_error."""
        second = np.minimum(y * y * self.deviation**2, 2 + y * self.deviation)
        return self.error + 8 * UNIT * second + y * self.jitter * np.minimum(2.0, y * self.deviation)


def _turn(angle: Array) -> tuple[Array, Array]:
    """e^{ia} - 1 and e^{ia} - 1 - ia, without cancellation."""
    half = np.sin(angle / 2)
    turn: Array = np.empty(angle.shape, dtype=complex)
    turn.real = -2 * half * half
    turn.imag = np.sin(angle)
    rest: Array = turn.copy()
    square = angle * angle
    series = -angle * square / 6 * (1 - square / 20 * (1 - square / 42 * (1 - square / 72)))
    rest.imag = np.where(square < 0.05, series, turn.imag - angle)
    return turn, rest


_CUTS = np.concatenate([[0.0], np.geomspace(1e-9, 0.5, 10), 1 - np.geomspace(1e-9, 0.3, 10)])
"""Shares of the mass that may be left out of the smooth part; any choice gives a bound."""


@dataclass(frozen=True)
class Envelope:
    """A tilted law in cells: upper bounds on |phi(y)|, phi(y) = E_c e^{iyL}, over ranges of y."""

    loss: Array
    weight: Array
    half_width: Array
    score: Array
    slack: float
    jumps: float

    def ceiling(self, y: Array, radius: float) -> Array:
        """Bound on |phi(t)| for all t within radius of each y: value in the middle, modulus of continuity, cells."""
        offset = self.loss - self.median
        spread = np.minimum(2.0, radius * np.abs(offset) + (float(y.max()) + radius) * self.half_width)
        angle = y[:, None] * offset
        value = np.hypot(np.cos(angle) @ self.weight, np.sin(angle) @ self.weight)
        return np.minimum(1.0, value + float(self.weight @ spread) + self.slack)

    def decay(self, y: Array) -> Array:
        """Bound on |phi| at y and beyond: some cells count with their mass, the rest with its total variation over y.

        The rest is all cells past some loss, from either side: its variation is the mean of |score| there and the
        height of the density where it was cut. A near-atom is thus left out of it.
        """
        masses, variations = self._cuts
        return np.minimum(1.0, (masses + variations / y[:, None]).min(axis=1) + self.slack)

    @cached_property
    def _cuts(self) -> tuple[Array, Array]:
        order = np.argsort(self.loss, kind="stable")
        weight, width = self.weight[order], self.half_width[order]
        smooth = width > 0
        change = np.where(smooth, weight * np.minimum(self.score[order], 1e100), 0.0) * 1.05
        height = np.where(smooth, weight / np.maximum(2 * width, 1e-300), 0.0) * 1.5
        atoms = float(weight[~smooth].sum())
        kept = np.where(smooth, weight, 0.0)
        masses, variations = [], []
        for flip in (slice(None), slice(None, None, -1)):
            before = np.cumsum(kept[flip]) - kept[flip]
            rest = np.cumsum(change[flip][::-1])[::-1] + np.where(before > 0, height[flip], 0.0)
            some = np.unique(np.searchsorted(before, _CUTS * before[-1]))
            masses.append(atoms + before[some])
            variations.append(rest[some] + self.jumps)
        return np.concatenate(masses), np.minimum(np.concatenate(variations), 1e200)

    @cached_property
    def median(self) -> float:
        """Weighted median loss."""
        order = np.argsort(self.loss)
        return float(self.loss[order][np.searchsorted(np.cumsum(self.weight[order]), 0.5)])

    @cached_property
    def deviation(self) -> float:
        """Mean absolute distance to the median."""
        return float(self.weight @ np.abs(self.loss - self.median))

    @cached_property
    def jump(self) -> float:
        """Size of the distances that make up the variance: it is the deviation unless the law is nearly an atom."""
        return float(self.weight @ (self.loss - self.median) ** 2) / max(self.deviation, 1e-300)


@dataclass(frozen=True)
class Law:
    """The law of a loss under P, given that it is finite: atoms (loss, mass) and pieces, of total mass one."""

    losses: Array
    masses: Array
    pieces: tuple[Piece, ...] = ()
    lattice: float | None = None
    """Where all losses lie on origin + k * lattice, k whole: that step."""
    origin: float = 0.0
    discount: float = 0.0
    """log E_P e^{-L}: above 0 where P has mass at +infinity that was split off."""

    def tilt(self, c: float, *, reach: float = 0.0, accuracy: float = 38.0) -> Tilted:
        """Tilt by e^{cL}; good for E_c e^{iyL} with |y| <= reach, to a relative error of about e^-accuracy."""
        parts = [piece.nodes(c, reach, accuracy) for piece in self.pieces]
        occupied = self.masses > 0
        losses, masses = self.losses[occupied], self.masses[occupied]
        loss = np.concatenate([losses, *(p.loss for p in parts)])
        log_base = np.concatenate([np.log(masses), *(p.log_weight - c * p.loss for p in parts)])
        log_weight = log_base + c * loss
        top = float(log_weight.max())
        scaled = np.exp(log_weight - top)
        total = float(scaled.sum())
        weight = scaled / total
        log_moment, size = top + math.log(total), 2.0 + abs(top)
        if float((c * loss).max()) < 600:
            base = np.exp(log_base)
            if abs(float(base.sum()) - 1) < 1e-11:
                excess = base * np.expm1(c * loss)
                gain = float(excess.sum())
                log_moment, size = math.log1p(gain), float(np.abs(excess).sum()) / (1 + gain)
        rounding = UNIT * np.concatenate([2 * np.abs(losses), *(p.loss_error for p in parts)])
        error, start = 0.0, len(losses)
        for p in parts:
            error += 2 * p.error * float(weight[start : start + len(p.loss)].sum())
            start += len(p.loss)
        mean = float(weight @ loss)
        deviation = math.sqrt(float(weight @ (loss - mean) ** 2))
        loss_error = float(weight @ rounding)
        return Tilted(
            loss,
            weight,
            log_moment,
            error + 8 * UNIT * size + c * loss_error,
            mean,
            deviation,
            error,
            loss_error + 8 * UNIT * deviation + 2 * UNIT * abs(mean),
            math.sqrt(float(weight @ rounding**2)),
        )

    def cost(self, c: float, reach: float, accuracy: float) -> float:
        """About how many nodes tilt() takes."""
        return len(self.losses) + sum(piece.cost(c, reach, accuracy) for piece in self.pieces)

    def envelope(self, c: float, fineness: int = 1) -> Envelope:
        """Tilt by e^{cL} in cells, for bounds on |E_c e^{iyL}| over whole ranges of y."""
        parts = [piece.cells(c, fineness) for piece in self.pieces]
        occupied = self.masses > 0
        losses = self.losses[occupied]
        log_weight = np.concatenate([np.log(self.masses[occupied]) + c * losses, *(p.log_weight for p in parts)])
        top = float(log_weight.max())
        weight = np.exp(log_weight - top)
        total = float(weight.sum())
        weight /= total
        fill = np.zeros(len(losses))
        return Envelope(
            np.concatenate([losses, *(p.loss for p in parts)]),
            weight,
            np.concatenate([fill, *(p.half_width for p in parts)]),
            np.concatenate([fill, *(p.score for p in parts)]),
            2 * float(weight @ np.concatenate([fill, *(p.slack for p in parts)])) + 1e-9,
            sum(math.exp(p.jumps - top) / total for p in parts),
        )

    def cumulants(self, tilts: Array, accuracy: float) -> tuple[Array, Array, Array]:
        """log E_P e^{cL}, mean and mean absolute deviation of L tilted by each c: for searches, not for bounds."""
        parts = [piece.sweep(tilts, accuracy) for piece in self.pieces]
        occupied = self.masses > 0
        loss = np.concatenate([self.losses[occupied], *(p[0] for p in parts)])
        log_base = np.concatenate([np.log(self.masses[occupied]), *(p[1] for p in parts)])
        exponent = log_base + tilts[:, None] * loss
        top = exponent.max(axis=1)
        weight = np.exp(exponent - top[:, None])
        total = weight.sum(axis=1)
        mean = weight @ loss / total
        spread = (weight * np.abs(loss - mean[:, None])).sum(axis=1) / total
        value = top + np.log(total)
        if float(np.max(np.abs(value))) < 0.1:
            value = np.log1p((np.exp(log_base) * np.expm1(np.minimum(tilts[:, None] * loss, 700.0))).sum(axis=1))
        return value, mean, spread
