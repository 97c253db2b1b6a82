"""Analytic pieces: the loss of two mixtures of normals, continuous or on a lattice."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy import special

from hush.arrays import Array
from hush.numerics.laws.envelope import FLATTEST, MOST_CELLS, MOST_SCORE, Cells, cell_slack, cell_width
from hush.numerics.laws.law import FARTHEST, NEGLIGIBLE, SPARE, Nodes
from hush.numerics.laws.normal_mixture import Mixture, crossings, log_mixture, posterior, width
from hush.numerics.rounding import UNIT
from hush.numerics.work import remembered, room, spend

DEEP = 38.0
"""Cells lighter than e^-38 of the heaviest are left out; their mass is charged (C3b)."""
LOST_FACTOR = 2
"""The mass left out is charged as twice the number of all cells times the largest bound on one that was left out: as
much again for what lies past the last one, where the density is below e^-72 (C3b)."""
FAR = 12.0
"""Past the outermost centres (1+c)a - cb the tilted log-density falls like -t^2/2: beyond 12 it has lost e^-72 (C6).

Half-widths d of the strip of the trapezoid rule are tried up to the same 12: wider ones grow by e^{d^2/2} (C4)."""
INSIDE_STRIP = 0.98
"""Share of pi/w up to which the strip may reach: A and B have no zero nearer to the axis than pi/w (C4)."""
TWICE = math.log(4)
"""The step is chosen for 4 N e^{-2 pi d/h}: above the bound 2 N/(e^{2 pi d/h} - 1) wherever e^{2 pi d/h} > 2 (C4)."""
WIDTHS = np.array([0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
"""Shares of the widest strip that are tried; each is valid, the one with the largest step is taken."""
DROPPED = 2
"""The mass of dropped nodes is charged twice (C6): as much again for those past the regions, where the density is below
e^-70 of the peak and falls like e^{-t^2/2}, t >= 11: their sum is below one more node per unit of length."""
MOST_EXCESS = 100.0
"""A density at the end that is e^100 times the heaviest node is no less of an error: nothing is certified then."""
TAIL_ROUNDING, LEAST_MISSING = 1e-9, 1e-300
"""Room for the rounding of the mass past an end: log_ndtr is off by a few units of numbers below 1e5, and the least
mass stands for one that underflowed."""
ENDS = 400
"""Ends that are tried; the mass past the one that is taken is charged, so any number will do."""
SPACING, WIDE = 0.25, 120.0
"""The tilted density is scanned every quarter of a deviation, where its range is at most 120; else near its modes. That
every mode is found rests on practice (error-budget.md, at the end)."""
NARROW, NARROW_REACH = 1.0, 30.0
"""A crossing of components narrower than a deviation is scanned on its own scale, 30 of its widths to either side."""
FEW_POINTS, MOST_POINTS = 2000, 50_000
"""Points of a sweep, which serves searches only: up to 2000 are laid on one range, and never more than 50,000."""
ALL_INTEGERS = 40.0
"""Discrete noise is summed up to 40 deviations: e^-800 is left out of a sum that is at least 1."""
MODE_POINTS, MODE_ROUNDS = 65, 12
"""A mode is sought among so many places, then between two of them: nine rounds reach neighbouring floats."""
UNSCANNED = 300
"""Points of a sweep that are laid on the whole line between the outermost centres: to look for less would cost more."""
Support = tuple[list[tuple[float, float]], float]
"""Intervals that hold a tilted density, and the log of its peak."""
_NEAR = np.linspace(-FAR, FAR, 97)
"""Places about each mode, every quarter of a deviation."""
_FINE = np.linspace(-NARROW_REACH, NARROW_REACH, 301)
"""The same about a narrow crossing, every fifth of its width."""


@dataclass(frozen=True)
class Normals:
    """Loss of two mixtures of unit normals: P = sum_j w_j N(a_j, 1) against Q = sum_k v_k N(b_k, 1)."""

    above: Mixture
    """(shift, weight) of the components of P."""
    below: Mixture
    """(shift, weight) of the components of Q."""
    spacing: float | None = None
    """For the discrete Gaussian: only multiples of this are taken (shifts among them), mass in proportion."""
    end: float = math.inf
    """Only x up to here are taken: what is left out is known to matter little."""
    _supported: dict[float, Support] = field(default_factory=dict, init=False, repr=False, compare=False)
    _scanned: dict[float, Support] = field(default_factory=dict, init=False, repr=False, compare=False)

    def without_tail(self, log_mass: float) -> tuple[Normals, float]:
        """Without the x above an end that have this P-mass, where the loss increases with x."""
        if self.spacing or min(a for a, _ in self.above) < max(b for b, _ in self.below):
            return self, 0.0
        deepest = math.sqrt(max(-2 * log_mass, 1.0))
        ends = np.linspace(0.0, deepest, ENDS)[:, None] + max(a for a, _ in self.above)
        shifts, weights = (np.array(column) for column in zip(*self.above, strict=True))
        beyond = special.log_ndtr(shifts - ends) + np.log(weights)
        mass = np.logaddexp.reduce(beyond, axis=1)
        enough = int(np.argmax(mass <= log_mass))
        missing = float(np.exp(mass[enough])) * (1 + TAIL_ROUNDING) + LEAST_MISSING
        return replace(self, end=float(ends[enough, 0])), missing

    @property
    def any_order(self) -> bool:
        return False

    @property
    def rising(self) -> tuple[Mixture, Mixture] | None:
        """Where all a_j lie at or past all b_k on one side."""
        if self.spacing or self.end < math.inf:
            return None
        for sign in (1.0, -1.0):
            above, below = (tuple((sign * a, w) for a, w in mixture) for mixture in (self.above, self.below))
            if min(a for a, _ in above) >= max(b for b, _ in below):
                return above, below
        return None

    def loss(self, x: Array) -> Array:
        """log dP/dQ at x, accurate where it is small and where it is large."""
        return log_mixture(self.above, x) - log_mixture(self.below, x)

    def log_mass(self, x: Array) -> Array:
        """log of the P-mass of each point x of discrete noise."""
        return log_mixture(self.above, x) - 0.5 * x * x + self._log_unit(1.0)

    def loss_slopes(self, x: Array) -> tuple[Array, Array, Array]:
        """First and second derivative of the loss, and the mean shift under P given x."""
        mean_above, variance_above = posterior(self.above, x)
        mean_below, variance_below = posterior(self.below, x)
        return mean_above - mean_below, variance_above - variance_below, mean_above

    def nodes(self, tilt: float, reach: float, accuracy: float) -> Nodes:
        """Trapezoid rule on the line; the error bound is that of Trefethen and Weideman 2014, Thm 5.1.

        In the strip |Im x| <= d the integrand e^{-x^2/2} A^{1+s} B^{-s} (A, B sums of exponentials with
        positive weights) grows at most by e^{d^2/2 + |y| d spread} cos(width_B d / 2)^{-c}.
        """
        regions, peak = self._support(tilt)
        step = self.spacing or self._step(tilt, reach, accuracy)
        x = self._lattice(regions, step)
        log_above, log_below = log_mixture(self.above, x), log_mixture(self.below, x)
        loss = log_above - log_below
        log_base = -0.5 * x * x + log_above
        log_weight = log_base + tilt * loss
        drop = max(NEGLIGIBLE, accuracy + SPARE)
        peak = float(log_weight.max()) if self.spacing else peak
        keep = (log_weight > peak - drop) | (log_base > log_base.max() - drop)
        # of a dropped node, beside the heaviest; those past the regions are only e^-70 lighter than the peak
        lightness = peak - min(drop, FARTHEST) - float(log_weight.max())
        x, loss, log_weight = x[keep], loss[keep], log_weight[keep] + self._log_unit(step)
        slope = self.loss_slopes(x)[0]
        cancelled = np.minimum(np.abs(log_above[keep]), np.abs(log_below[keep]))
        # a unit of the difference and two of each logarithm; those are together at most |loss| + 2 of the lesser (C8)
        loss_error = 3 * np.abs(loss) + 4 * cancelled + 2 * np.abs(slope) * (np.abs(x) + self._largest)
        span = regions[-1][1] - regions[0][0]
        error = 0.0 if self.spacing else math.exp(-accuracy)
        error += DROPPED * (span + 1) / min(1.0, step) * math.exp(min(lightness, MOST_EXCESS))
        if self.end < math.inf:
            error += self._end_error(tilt, accuracy, log_weight)
        return Nodes(loss, log_weight, loss_error, error, self._weight_error(x, tilt))

    def _weight_error(self, x: Array, tilt: float) -> Array:
        """Rounding error of -x^2/2 + log A in units: far out both are large, and nearly cancel (C8a).

        Each exponent of A is off by two units of |a|(|x| + |a|), with the mean of |a| given x at most its root mean
        square. A place x is off by a unit of itself, which moves the log-density by its slope.
        """
        mean, variance = posterior(self.above, x)
        slope = self.loss_slopes(x)[0]
        size = np.abs(x)
        steepness = np.abs(mean + tilt * slope - x)
        return x * x + 2 * np.sqrt(mean * mean + variance) * (size + self._largest) + steepness * size

    def _end_error(self, tilt: float, accuracy: float, log_weight: Array) -> float:
        """Error of the trapezoid rule from the end, relative to the whole: by the vertical edges of the strip there.

        Half a step past a node the kernel 1/(e^{2 pi |v|/h} + 1) is below e^{-2 pi |v|/h}, and the integrand grows
        at most like e^{(2 pi/h - accuracy/d) v}: two edges make 2 d/accuracy times the density, d <= FAR.
        """
        x = np.array([self.end])
        log_above = float(log_mixture(self.above, x)[0])
        log_density = (1 + tilt) * log_above - tilt * float(log_mixture(self.below, x)[0]) - 0.5 * self.end**2
        top = float(log_weight.max())
        at_end = math.exp(min(log_density - top, MOST_EXCESS))
        return 2 * FAR / accuracy * at_end / float(np.exp(log_weight - top).sum())

    def cells(self, tilt: float, fineness: int) -> Cells:
        """Equal cells in x; on each the loss is monotone and the log-density linear up to its second derivative."""
        if self.spacing:
            return self._points(tilt)
        regions, peak = self._support(tilt)
        bend = 1 + ((1 + tilt) * width(self.above) ** 2 + tilt * width(self.below) ** 2) / 4
        span = sum(high - low for low, high in regions)
        step = max(cell_width(bend) / fineness, span / MOST_CELLS)
        x = self._lattice(regions, step)
        log_above, log_below = log_mixture(self.above, x), log_mixture(self.below, x)
        loss = log_above - log_below
        log_weight = -0.5 * x * x + log_above + tilt * loss
        keep = log_weight > min(peak, float(log_weight.max())) - DEEP
        log_weight = log_weight + math.log(step / math.sqrt(2 * math.pi))
        # the most that a cell can hold: its log-density rises by at most |slope| h/2 + bend h^2/8 from the middle
        out = ~keep
        slope, _, mean = self.loss_slopes(x[out])
        most = log_weight[out] + np.abs(mean + tilt * slope - x[out]) * step / 2 + bend * step * step / 8
        lost = math.log(LOST_FACTOR * len(x)) + float(most.max(initial=-math.inf))
        edge = np.diff(keep, prepend=False) | np.diff(keep, append=False)
        x, loss, log_weight, edge = x[keep], loss[keep], log_weight[keep], edge[keep]
        slope, curvature, mean = self.loss_slopes(x)
        steepness = -x + mean + tilt * slope
        slack = cell_slack(np.abs(steepness) * step / 2, bend * step * step / 8) + UNIT * self._weight_error(x, tilt)
        steep = np.maximum(np.abs(slope), FLATTEST)
        ends = self.loss(np.concatenate([x + step / 2, x - step / 2])).reshape(2, -1)
        half_width = np.abs(ends - loss).max(axis=0)
        score = np.minimum(np.abs(steepness - curvature / np.where(slope < 0, -steep, steep)), MOST_SCORE) / steep
        # the density jumps where cells were left out: by one over the width, in units of the mass of the cell beside
        score += np.where(edge, 0.5 / np.maximum(half_width, FLATTEST), 0.0)
        return Cells(loss, log_weight, half_width, slack, score, lost=lost)

    def _lattice(self, regions: list[tuple[float, float]], step: float) -> Array:
        """Points a step apart that cover the regions; an end lies half a step past the last of them."""
        room(sum(b - a for a, b in regions) / step, 4 * self._terms)
        start, most = (self.end - step / 2, 0) if self.end < math.inf else (0.0, math.inf)
        numbers = [
            np.arange(math.floor((a - start) / step), min(math.ceil((b - start) / step), most) + 1) for a, b in regions
        ]
        return start + step * np.concatenate(numbers)

    def _points(self, tilt: float) -> Cells:
        """Single points: no width, no density."""
        nodes = self.nodes(tilt, 0.0, 20.0)
        still = np.zeros(len(nodes.loss))
        return Cells(
            nodes.loss,
            nodes.log_weight,
            still,
            still,
            np.full(len(still), 1e300),  # never used: a point has no width
            lost=math.log(nodes.error) + float(nodes.log_weight.max()),  # what was dropped is all of its error
        )

    def _log_unit(self, step: float) -> float:
        """log of the mass that a point of density exp(-x^2/2) stands for."""
        return _log_unit_mass(self.spacing) if self.spacing else math.log(step / math.sqrt(2 * math.pi))

    def sweep(self, tilts: Array, accuracy: float) -> tuple[Array, Array]:
        """Losses and log-weights that serve all the tilts at once, to a few digits: for searches, not for bounds."""
        tilt = float(tilts.max())
        step = self.spacing or self._step(tilt, 0.0, accuracy)
        # no density tilted by this much or less has any mass to speak of beyond
        centres = [(1 + c) * a - c * b for a, _ in self.above for b, _ in self.below for c in (0.0, tilt)]
        low, high = min(*centres, self.end) - FAR, min(max(centres) + FAR, self.end)
        if high - low > UNSCANNED * step:
            ends = [*self._intervals(tilt)[0], *self._plain]
            low, high = min(a for a, _ in ends), max(b for _, b in ends)
        regions = [(low, high)]
        if high - low > FEW_POINTS * step:
            regions = _merged([*self._plain, *(r for each in tilts.tolist() for r in self._intervals(each)[0])])
            most = MOST_POINTS / max(1.0, self._terms / 8)
            fewer = max(1.0, sum(b - a for a, b in regions) / step / most)
            step *= math.ceil(fewer) if self.spacing else fewer
        x = self._lattice(regions, step)
        spend(4 * len(x) * self._terms)
        log_above, log_below = log_mixture(self.above, x), log_mixture(self.below, x)
        log_weight = log_above - 0.5 * x * x + self._log_unit(1.0) + math.log(step / (self.spacing or 1.0))
        return log_above - log_below, log_weight

    def cost(self, tilt: float, reach: float, accuracy: float) -> float:
        step = self.spacing or self._step(tilt, reach, accuracy)
        return sum(high - low for low, high in self._support(tilt)[0]) / step

    @cached_property
    def _terms(self) -> float:
        """About how many components matter at a place: those within ten deviations of it."""
        return sum(min(len(m), 2 + 20 * len(m) / max(width(m), 1e-9)) for m in (self.above, self.below))

    @property
    def _largest(self) -> float:
        return max(abs(a) for a, _ in self.above + self.below)

    def _step(self, tilt: float, reach: float, accuracy: float) -> float:
        d, plain, turning, shrinking = self._strips
        growth = plain + reach * turning - max(tilt, 0.0) * shrinking
        return float((2 * math.pi * d / (accuracy + TWICE + growth)).max())

    @cached_property
    def _strips(self) -> tuple[Array, Array, Array, Array]:
        """Half-widths d of strips, and the growth of the integrand there: at no reach, per reach, and less per tilt."""
        spread = max(abs(a - b) for a, _ in self.above for b, _ in self.below)
        wide = max(width(self.above), width(self.below))
        limit = min(FAR, INSIDE_STRIP * math.pi / wide) if wide > 0 else FAR
        d = limit * WIDTHS
        return d, d * d / 2, spread * d, np.log(np.cos(width(self.below) * d / 2))

    def _support(self, tilt: float) -> Support:
        """Intervals outside of which the tilted density is negligible, and its peak (log-scale).

        Where they meet the intervals of P itself, those are added: a moment near 1 is then 1 + E[e^{cL} - 1].
        """
        if tilt not in self._supported:
            tilted, peak = self._intervals(tilt)
            if tilt != 0:
                if any(a <= d and c <= b for a, b in tilted for c, d in self._plain):
                    tilted = _merged([*tilted, *self._plain])
            self._supported[tilt] = tilted, peak
        return self._supported[tilt]

    @cached_property
    def _plain(self) -> list[tuple[float, float]]:
        """Intervals that hold P itself, but for e^-72 of it."""
        return _merged([(min(a, self.end) - FAR, min(a + FAR, self.end)) for a, _ in self.above])

    def _intervals(self, tilt: float) -> Support:
        """The same of the tilted density alone, by a look at all places where it can have a mode."""
        if tilt in self._scanned:
            return self._scanned[tilt]
        centres = sorted({(1 + tilt) * a - tilt * b for a, _ in self.above for b, _ in self.below})
        low, high = min(centres[0], self.end) - FAR, min(centres[-1] + FAR, self.end)
        reach = NARROW_REACH
        crossed = [*crossings(self.above), *crossings(self.below)]
        narrow = [(p, w) for p, w in crossed if low - reach * w < p < high + reach * w and w < NARROW]
        if high - low <= WIDE and not narrow:
            x = np.minimum(np.arange(low, high + SPACING, SPACING), self.end)
        else:
            scan = [np.arange(low, high + SPACING, SPACING)] if high - low <= WIDE else []
            if not scan:
                scan.extend(c + _NEAR for c in centres)
                scan.extend(p + _NEAR for p, _ in crossed if low < p < high)
                mode, width = self._mode(tilt, low, high)
                scan.extend((mode + _NEAR, mode + width * _NEAR))
            scan.extend(p + w * _FINE for p, w in narrow)
            x = np.unique(np.concatenate([*scan, [high]]))
            x = x[x <= self.end]
        if not len(x):
            raise FloatingPointError("floats so far out are farther apart than the places to look at")
        spend(4 * len(x) * self._terms)
        density = (1 + tilt) * log_mixture(self.above, x) - tilt * log_mixture(self.below, x) - 0.5 * x * x
        peak = float(density.max())
        inside = (density > peak - FARTHEST).nonzero()[0]
        if not len(inside):
            raise FloatingPointError("the tilted density is so large that floats do not tell where it falls")
        breaks = (inside[1:] - inside[:-1] > 1).nonzero()[0].tolist()
        starts = [0, *(k + 1 for k in breaks)]
        ends = [*breaks, len(inside) - 1]
        regions = []
        for start, end in zip(starts, ends, strict=True):
            first, last = max(int(inside[start]) - 1, 0), min(int(inside[end]) + 1, len(x) - 1)
            regions.append((float(x[first]), float(x[last])))
        self._scanned[tilt] = regions, peak
        return regions, peak

    def _mode(self, tilt: float, low: float, high: float) -> tuple[float, float]:
        """A mode of the tilted density between low and high, by cutting their distance again and again; its width."""
        for _ in range(MODE_ROUNDS):
            x = np.linspace(low, high, MODE_POINTS)
            spend(4 * len(x) * self._terms)
            slope, _, mean = self.loss_slopes(x)
            past = mean + tilt * slope <= x
            last = int(np.argmax(past)) if past.any() else len(x) - 1
            if not float(x[last]) > low:
                break
            low, high = float(x[max(last - 1, 0)]), float(x[last])
        bend = tilt * abs(float(self.loss_slopes(np.array([low]))[1][0]))
        return low, 1 / math.sqrt(1 + bend)


def _merged(intervals: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The union of intervals, as disjoint ones in order."""
    union: list[tuple[float, float]] = []
    for low, high in sorted(intervals):
        if union and low <= union[-1][1]:
            union[-1] = (union[-1][0], max(high, union[-1][1]))
        else:
            union.append((low, high))
    return union


@remembered(64)
def _log_unit_mass(spacing: float) -> float:
    """-log of the sum of exp(-x^2/2) over the multiples x of the spacing."""
    room(2 * ALL_INTEGERS / spacing, 2)
    count = math.ceil(ALL_INTEGERS / spacing)
    return -math.log(float(np.exp(-0.5 * (spacing * np.arange(-count, count + 1)) ** 2).sum()))
