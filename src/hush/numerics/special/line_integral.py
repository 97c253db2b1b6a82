"""E(V_1 + ... + V_n)_+ as one line integral, (1/2 pi) int M(c+iy)^n / (c+iy)^2 dy: for any number of trials.

M(z) = E e^{zV} is the moment generating function of one trial. All error terms are added to the answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from hush.arrays import Array
from hush.numerics.rounding import UNIT
from hush.numerics.special.logarithms import log1p
from hush.numerics.special.trials import Interval, Trials, log_mean
from hush.numerics.work import room

PEAKS = 3000
"""Returns of |M| to near its largest value that are summed explicitly, at the most."""
MOST_NODES, MOST_TERMS = 60_000, 80_000
"""Nodes of a line, and nodes times many values: where a line needs more, Chernoff's bound serves."""
FREQUENT = 100
"""Trials of a value from which on it makes |M|^n fall to nothing within a turn: e^{-100 (1 - cos)}."""
SHARE = 0.2
"""Of the tolerance for the nodes that are left out; their bound is charged."""
TERM_ROUNDING = 1e-13
"""Relative error of one term of the line, and of M(c)^n beside what `rounding` counts: hundreds of units."""
SMALLEST_ORDER, LARGEST_ORDER = 1e-9, 300.0
"""Orders c, times the largest value, from which and up to which the line is searched: e^300 is a float."""
HALVINGS = 7
"""Of the bracket of the best line: any line is valid, and near the best one no digits cancel."""
INPUT_ROUNDING = 32 * UNIT
"""Relative error of chances and values: each was computed in a few operations."""
FIRST_PERIOD, LONGER, LENGTHS = 60.0, 1.25, 60
"""The period of the trapezoid rule, times c, at first; it grows until its aliases are below LEAST_ALIAS."""
LEAST_ALIAS = 1e-15
"""Aliases in units of 1/c that are as small as rounding. Whatever they are bounded by is charged."""
NEAR_ORDERS = np.array([0.2, 0.4, 0.6, 0.8, 0.9, 1.1, 1.3, 1.6, 2.0, 3.0, 5.0, 8.0])
"""Orders, in units of c, at which Chernoff bounds the aliases: each is valid, the least is taken."""
WINDOW = 10.0
"""Deviations about each return of |M|^n to near 1 that are summed: e^-50 is left out, and charged."""
BETWEEN = 1.1
"""Room for the sum of 1/|z|^2 over all nodes against its integral over 2 pi, 1/(2c): the sum has one node more, which
is 1/30 of that, as the period is at least 60/c."""
SERIES = 0.05
"""Squares of an angle below which sin(x) - x is a series: the difference would cancel."""


def along_line(trials: Trials, tolerance: float = 1e-10) -> Interval:
    """The trapezoid rule on E(S)_+ e^{-log scale} = (1/2 pi) int (M(c+iy)/M(c))^n / (c+iy)^2 dy.

    Error terms: aliasing (Poisson's sum: shifted copies of the answer, by Chernoff), what lies past the last node
    and between the windows (|M|^n <= e^{-k(1 - cos)} of one relative phase), and rounding.
    """
    line = _Line.of(trials)
    if line is None:
        return -math.inf, _log_mean_above(trials)
    step, alias = line.step()
    total, size, missed = line.sum(step, 1)
    wanted = SHARE * tolerance * max(total, 1e-300)  # above 0, as it is divided by
    if missed > wanted:
        total, size, missed = line.sum(step, math.ceil(min(PEAKS, missed / wanted)))
    error = alias + missed + size * TERM_ROUNDING + abs(total) * line.rounding
    low = math.log(total - error) + line.log_scale if total > error else -math.inf
    return low, min(math.log(max(total, 0.0) + error) + line.log_scale, line.log_chernoff)


def log_chernoff(trials: Trials) -> float:
    """An upper bound on log E(S)_+ without a sum: (s)_+ <= e^{cs}/(e c)."""
    line = _Line.of(trials)
    return line.log_chernoff if line else _log_mean_above(trials)


def _log_mean_above(trials: Trials) -> float:
    """log n E(V)_+, raised by what rounding may have lowered it: it bounds E(S)_+ where no line does."""
    found = log_mean(trials)
    return found if found == -math.inf else found + 8 * UNIT * (1 + abs(found)) + INPUT_ROUNDING + trials.doubt


@dataclass(frozen=True, eq=False)
class _Line:
    """The vertical line Re z = c, and the variable tilted by e^{cV}."""

    count: int
    values: Array
    chances: Array
    c: float
    weights: Array
    doubt: float

    @classmethod
    def of(cls, trials: Trials) -> _Line | None:
        """The line on which M(c)^n / c^2 is least; None where it is out of reach, or no value is positive."""
        lively = trials.lively
        values = np.array([0.0] + [value for value, _ in lively])
        chances = np.array([max(1 - math.fsum(chance for _, chance in lively), 0.0)] + [chance for _, chance in lively])
        n, top = trials.count, float(values.max())
        if top <= 0:
            return None
        low, high = 0.0, SMALLEST_ORDER / top

        def slope(c: float) -> float:
            weight = chances * np.exp(c * (values - top))
            return n * float((weight * values).sum() / weight.sum()) - 2 / c

        while slope(high) < 0:
            low, high = high, 4 * high
            if high * top > LARGEST_ORDER:
                return None
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if slope(middle) < 0 else (low, middle)
        weight = chances * np.exp(high * (values - top))
        return cls(n, values, chances, high, weight / weight.sum(), trials.doubt)

    def log_moment(self, c: float) -> float:
        """n log M(c); infinite where M(c) is past all floats.

        At the line's own c it is finite, by LARGEST_ORDER. Elsewhere it only bounds aliases from above, each order on
        its own: an infinite bound is valid, and never the least.
        """
        with np.errstate(over="ignore"):
            return self.count * math.log1p(float((self.chances * np.expm1(c * self.values)).sum()))

    @property
    def log_scale(self) -> float:
        return self.log_moment(self.c)

    @property
    def log_chernoff(self) -> float:
        """log E(S)_+ is at most this."""
        return self.log_scale - 1 - math.log(self.c) + self.rounding

    @property
    def rounding(self) -> float:
        """Relative effect of rounding chances and values to floats, at the scale and at the mean of the sum."""
        moved = self.count * self.c * float((np.maximum(self.weights, self.chances) * np.abs(self.values)).sum())
        return TERM_ROUNDING + (INPUT_ROUNDING + self.doubt) * moved

    def step(self) -> tuple[float, float]:
        """A step of the trapezoid rule, and a bound on its aliasing, both for the scaled integral."""
        period = FIRST_PERIOD / self.c
        places = self.c * NEAR_ORDERS
        heights = [self.log_moment(float(c)) - self.log_scale - math.log(math.e * c) for c in places]
        aliases = list(zip((places - self.c).tolist(), heights, strict=True))
        most = self.count * float(self.values.max())
        for _ in range(LENGTHS):
            # (S - s)_+ <= e^{c'(S - s)}/(e c'), so the copy at s = +-period is at most e^{height - |c' - c| period}
            behind = 2 * math.exp(min(min(h + move * period for move, h in aliases if move < 0), 0.0))
            ahead = 2 * math.exp(min(min(h - move * period for move, h in aliases if move > 0), 0.0))
            if behind + (ahead if period < most else 0.0) < LEAST_ALIAS / self.c:
                return 2 * math.pi / period, behind + (ahead if period < most else 0.0)
            period *= LONGER
        return 2 * math.pi / period, math.inf

    def sum(self, step: float, periods: int) -> tuple[float, float, float]:
        """The trapezoid sum, the sum of its terms' sizes, and a bound on the terms that were left out."""
        nodes, missed = self.nodes(step, periods)
        main = self.spectrum(nodes * step)
        ends = (1 / self.c**2 + 2 * float(part.sum()) for part in (np.real(main), np.abs(main)))
        total, size = (step / (2 * math.pi) * end for end in ends)
        return total, size, missed

    def nodes(self, step: float, periods: int) -> tuple[Array, float]:
        """Places (whole multiples of the step, above 0) that matter, and a bound on the scaled sum over all others."""
        # any two values bound |M|: the likeliest one, and that which with it makes |M| fall fastest
        heavy = int(np.argmax(self.weights))
        pairs = self.weights * self.weights[heavy] / (self.weights + self.weights[heavy])
        spans = np.abs(self.values - self.values[heavy])
        frequent = self.count * pairs > FREQUENT
        other = int(np.argmax(pairs * spans**2 * (frequent if np.any(frequent & (spans > 0)) else 1.0)))
        sharp, span = self.count * float(pairs[other]), float(spans[other])
        turn = 2 * math.pi / span
        width = min(WINDOW / math.sqrt(sharp), math.pi) if sharp > 0 else math.pi
        each = max(int(width / span / step) + 1, 1)
        most = MOST_NODES if len(self.values) <= 4 else MOST_TERMS // len(self.values)
        if each > most:
            return np.empty(0), math.inf
        periods = max(1, min(periods, most // (2 * each + 1)))
        centres = np.rint(turn * np.arange(periods + 1) / step)
        places = np.unique((centres[:, None] + np.arange(-each, each + 1)).ravel())
        places = places[(places > 0) & (places * step < turn * (periods + 0.5))]
        between = math.exp(-sharp * (1 - math.cos(min(width - span * step, math.pi)))) if width < math.pi else 0.0
        # past the last period: each holds at most its integral and one node; 1/y^2 summed over half-turns is 1/periods
        past = (turn * float(special.i0e(sharp)) + step) / (math.pi * turn**2 * periods)
        return places, past + between / (2 * self.c) * BETWEEN

    def spectrum(self, y: Array) -> Array:
        """(M(c+iy)/M(c))^n / (c+iy)^2."""
        room(len(y) * len(self.values), 15)
        angle = y[:, None] * self.values
        half = np.sin(angle / 2)
        near = angle * angle < SERIES
        small = np.where(near, angle, 0.0)  # powers of the others may overflow
        square = small * small
        series = -small * square / 6 * (1 - square / 20 * (1 - square / 42 * (1 - square / 72)))
        bent = np.where(near, series, np.sin(angle) - angle)
        # e^{ix} - 1 - ix is summed apart from the mean, so that nothing large cancels
        mean = float((self.weights * self.values).sum())
        turned: Array = (-2 * half * half) @ self.weights + 1j * (bent @ self.weights + y * mean)
        return np.exp(self.count * log1p(turned)) / (self.c + 1j * y) ** 2
