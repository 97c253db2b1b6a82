"""Grid engine: losses on a lattice, spread outwards for an upper bound and contracted for a lower one, one tilted FFT.

Serves what the contour cannot: few losses, atoms off any lattice, near-atoms. The error terms are listed in
docs/theory/error-budget.md under the names used here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
import scipy  # scipy.fft is loaded when first used: most questions never come here

from hush.arrays import Array
from hush.numerics.engines.loss_lattice import LatticeLaw, discretise, meeting, spread, support
from hush.numerics.engines.loss_source import LossSource
from hush.numerics.rounding import UNIT
from hush.numerics.work import room, spend

SEEN, UNSEEN = 60.0, 1e-26
"""Losses more than 60/tilt past epsilon are not summed (G10). Each weighs less than e^-60 = 0.9e-26, and the tilted
masses sum to 1, so 1e-26 is charged."""
LEAST_TILT = 1e-12
"""Stands for a tilt of 0, by which that reach is divided."""
SMALLEST = 5e-324
"""The least float stands for 0 where a logarithm is taken, in laws above: a mass that underflowed is smaller. In laws
below 0 stays 0."""
UNDERFLOW = 1e-300
"""Stands for a zero of a spectrum, where it is far below the noise that is charged (G7), and for a tilt of 0 by which
is divided, where the width of the law is charged instead (G9)."""
ALMOST_ALL = 1 - 1e-16
"""The largest infinite mass whose complement has a logarithm; products answer for a certain one themselves."""
TRANSFORM_FLOOR = 1e-3
"""Added to the 2-norms, per loss, as room for the rounding of n log w (G7). That is n u |log w| |w|^n at each
frequency, which the 2-norm of the laws covers already, as the sum of losses has a smaller one."""
CHERNOFF = np.geomspace(0.5, 64, 10)
"""Orders, in units of one over the deviation, at which the mass outside the window is bounded (G8). Each gives a valid
bound; the least of them is charged."""
MOST_GROWTH = 600.0
"""An order that weighs a loss by more than e^600 is left out: thousands of such terms might not sum to a float."""
MOST_TILT = 1e3
"""A tilt weighs the ends of the widest law by e^1000 apart at the most: beyond it all mass would be on one point."""
NARROWEST = 1e-12
"""The width of a law that has one place only."""
COARSE_POINTS = 4000
"""Points of the lattice on which the deviation of the sum is estimated. G8 charges what is outside the window."""
DEVIATIONS, WIDTHS = 20, 3
"""The window is 20 deviations and 3 widths of the widest law; G8 charges what is outside."""


def dot(a: Array, b: Array) -> float:
    """Inner product without a pool of threads: the vectors are long, the work is small."""
    return float((a * b).sum())


@dataclass(frozen=True, eq=False)
class Composed:
    """The law of the sum near the point of interest: losses, tilted masses, and what the error bound needs."""

    losses: Array
    tilted: Array
    tilt: float
    log_scale: float
    """log of the moment at the tilt."""
    noise: float
    """Bound on the 2-norm of the errors of the tilted masses."""
    stray: float
    """Bound on the tilted mass outside the window, and on the tilted mass that rounding of the tails misplaced."""
    at_infinity: float
    doubt: float = 0.0
    """Bound on the error of log_scale."""
    shift: float = 0.0
    """Bound on the error of the losses."""

    def log_delta(self, epsilon: float, side: int) -> float:
        """Bound on log delta(epsilon) from one side: -1 below, +1 above."""
        epsilon -= side * self.shift
        start = int(np.searchsorted(self.losses, epsilon, side="right"))
        stop = int(np.searchsorted(self.losses, epsilon + SEEN / max(self.tilt, LEAST_TILT)))
        spend(stop - start)
        gap = self.losses[start:stop] - epsilon
        weight = np.exp(-self.tilt * gap) * -np.expm1(-gap)
        value = dot(self.tilted[start:stop], weight)
        error = self.noise * math.sqrt(dot(weight, weight)) + self.stray * 2 + UNSEEN
        log_scale = self.log_scale - self.tilt * epsilon + side * self.doubt
        finite = value + side * error
        if side < 0:
            body = math.log(finite) + log_scale if finite > 0 else -math.inf
            return min(np.logaddexp(body, math.log(self.at_infinity)) if self.at_infinity else body, 0.0)
        body = math.log(max(finite, SMALLEST)) + log_scale
        return min(float(np.logaddexp(body, math.log(self.at_infinity)) if self.at_infinity else body), 0.0)


NOTHING = Composed(np.zeros(1), np.zeros(1), 0.0, 0.0, 0.0, 0.0, 0.0)
"""A law below with no mass at all, of which no lower bound comes."""


def compose(
    laws: Sequence[tuple[LatticeLaw, int]],
    step: float,
    tilt: float,
    size: int,
    least: float = SMALLEST,
    *,
    from_tails: bool = True,
) -> Composed:
    """Sum the lattice laws by one FFT of the laws tilted by e^{tilt L}; Chernoff bounds what falls outside.

    The least mass stands for any that is below it: 0 in laws below. Masses that are no differences of tails are not
    charged for the rounding of these (G9).
    """
    room(size, 10 + sum(8 if n == 1 else 15 for _, n in laws))
    tilted = [Slanted.of(law, n, step, tilt, least) for law, n in laws]
    spectrum, log_spectrum = np.ones(size // 2 + 1, dtype=complex), np.zeros(size // 2 + 1, dtype=complex)
    for part in tilted:
        wave = scipy.fft.rfft(_folded(part.weight, part.centre, size))
        if part.times == 1:
            spectrum *= wave
        else:
            log_spectrum += part.times * np.log(np.where(wave == 0, UNDERFLOW, wave))
    masses = scipy.fft.irfft(spectrum * np.exp(log_spectrum), size)
    mean = math.fsum(p.times * p.mean for p in tilted)
    start = math.fsum(p.times * p.first for p in tilted)
    points = sum(p.times * (len(p.weight) - 1) for p in tilted) + 1
    whole = points <= size
    index = np.arange(size) if whole else np.arange(size) - size // 2 + round((mean - start) / step)
    values = np.maximum(masses[(index - sum(p.times * p.centre for p in tilted)) % size], 0.0)
    count = sum(p.times for p in tilted)
    rough = sum(p.times * math.sqrt(dot(p.weight, p.weight)) for p in tilted)
    widest = max(float(p.losses[-1] - p.losses[0]) for p in tilted)
    infinite = -math.expm1(sum(n * math.log1p(-min(law.at_infinity, ALMOST_ALL)) for law, n in laws))
    misplaced = 8 * UNIT * count * (1 + tilt) * min(1 / max(tilt, UNDERFLOW), widest) if from_tails else 0.0
    return Composed(
        losses=start + step * index,
        tilted=values,
        tilt=tilt,
        log_scale=math.fsum(p.times * p.log_moment for p in tilted),
        noise=8 * UNIT * math.log2(size) * (rough + math.sqrt(dot(values, values)) + TRANSFORM_FLOOR * count),
        stray=(0.0 if whole else _outside(tilted, (size / 2 - 2) * step, step)) + misplaced,
        at_infinity=infinite,
        doubt=8 * UNIT * sum(p.times * (2 + abs(p.log_moment) + tilt * p.largest) for p in tilted),
        shift=8 * UNIT * sum(p.times * p.largest for p in tilted),
    )


def _folded(weight: Array, centre: int, size: int) -> Array:
    """The weights round a circle of so many places, that of the centre first."""
    whole = np.zeros(-(-len(weight) // size) * size)
    whole[: len(weight)] = weight
    return np.roll(whole.reshape(-1, size).sum(axis=0), -centre)


@dataclass(frozen=True, eq=False)
class Slanted:
    """A lattice law tilted and normalised."""

    first: float
    losses: Array
    weight: Array
    times: int
    mean: float
    variance: float
    log_moment: float
    centre: int

    @property
    def largest(self) -> float:
        """The largest size of a loss."""
        return float(max(-self.losses[0], self.losses[-1]))

    @classmethod
    def of(cls, law: LatticeLaw, times: int, step: float, tilt: float, least: float = SMALLEST) -> Slanted:
        spend(6 * len(law.mass))
        losses = law.first + step * np.arange(len(law.mass))
        mass = np.maximum(law.mass, least)
        exponent = np.where(mass > 0, np.log(np.where(mass > 0, mass, 1.0)) + tilt * losses, -math.inf)
        top = float(exponent.max())
        weight = np.exp(exponent - top)
        moment = float(weight.sum())
        weight /= moment
        mean = dot(weight, losses)
        variance = dot(weight, (losses - mean) ** 2)
        return cls(
            law.first,
            losses,
            weight,
            times,
            mean,
            variance,
            top + math.log(moment),
            round((mean - law.first) / step),
        )


def _outside(tilted: Sequence[Slanted], half: float, step: float) -> float:
    """Bound on the mass of the sum farther than half from its mean, by Chernoff on either side."""
    deviation = math.sqrt(sum(p.times * p.variance for p in tilted))
    total = 0.0
    for sign in (1.0, -1.0):
        best = 0.0
        spend(30 * sum(len(p.losses) for p in tilted))
        for order in sign * CHERNOFF / max(deviation, step):
            log_moment = 0.0
            for p in tilted:
                exponent = order * (p.losses - p.mean)
                grown = dot(p.weight, np.exp(np.minimum(exponent, MOST_GROWTH)))
                log_moment += p.times * math.log(grown) if float(exponent.max()) < MOST_GROWTH else math.inf
            best = min(best, log_moment - abs(order) * half)
        total += math.exp(best)
    return total


S = TypeVar("S", bound="Summed", covariant=True)


class Summed(Protocol):
    """The law of a sum, as far as delta is concerned."""

    def log_delta(self, epsilon: float, side: int) -> float:
        """Bound on log delta(epsilon) from one side: -1 below, +1 above."""
        ...


@dataclass(frozen=True)
class Bracket(Generic[S]):
    """The law of a sum from both sides at one resolution."""

    upper: S
    lower: S

    def log_delta(self, epsilon: float) -> tuple[float, float]:
        return self.lower.log_delta(epsilon, -1), self.upper.log_delta(epsilon, 1)


def bracket(sources: Sequence[LossSource], size: int, tilt: float, log_cut: float) -> Bracket[Composed]:
    """Both composed laws on a lattice of about so many points; tails of P-mass below e^log_cut are cut off."""
    ranges = [support(source, log_cut) for source in sources]
    widest = max(NARROWEST, *(high - low for low, high in ranges))
    tilt = min(tilt, MOST_TILT / widest)
    rough = widest / COARSE_POINTS
    coarse = [Slanted.of(spread(s, rough, *r), s.times, rough, tilt) for s, r in zip(sources, ranges, strict=True)]
    deviation = math.sqrt(sum(p.times * p.variance for p in coarse)) + rough
    width = DEVIATIONS * deviation + WIDTHS * widest
    everything = sum(s.times * (high - low) for s, (low, high) in zip(sources, ranges, strict=True))
    width = min(width, everything) + 8 * rough
    step = meeting(sources, width / size)
    both = [(*discretise(s, step, *r), s.times) for s, r in zip(sources, ranges, strict=True)]
    points = sum(n * (len(above.mass) - 1) for above, _, n in both) + 1
    size = scipy.fft.next_fast_len(min(int(width / step) + 64, points), real=True)
    lower = [(below, n) for _, below, n in both]
    return Bracket(
        compose([(above, n) for above, _, n in both], step, tilt, size),
        compose(lower, step, tilt, size, 0.0) if all(below.mass.any() for below, _ in lower) else NOTHING,
    )
