"""Balls in bins by simulation: what holds with a stated confidence. It is no certificate, and never a Bound."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hush.arrays import Array
from hush.checks import count, number
from hush.errors import InvalidParameter
from hush.mechanisms.schemes.spaced.balls_in_bins import BallsInBins
from hush.mechanisms.schemes.spaced.banded_noise import BandedNoise
from hush.numerics.roots import decreasing_root
from hush.randomness.draws import integers
from hush.randomness.float_noise import normal
from hush.randomness.source import Source, source_or_secure

CHUNK = 1 << 22
"""Numbers that are drawn at once."""
FLOATS = 1e-9
"""Room for the rounding of simulated losses."""


@dataclass(frozen=True)
class WithConfidence:
    """An upper end of delta that holds with this confidence over the draws of a simulation."""

    delta: float
    confidence: float
    draws: int
    """How many losses were simulated."""
    epsilon: float

    @property
    def honest_delta(self) -> float:
        """A delta that counts the chance that the simulation misled: for whoever runs only if this is small enough."""
        return min(self.delta + (1 - self.confidence) * (1 - self.delta), 1.0)

    def __str__(self) -> str:
        return (
            f"delta <= {self.delta:.4g} at epsilon {self.epsilon:g}, with confidence {self.confidence:g} from "
            f"{self.draws} simulated runs: not a certificate"
        )


def simulated_delta(
    noise: BandedNoise,
    scheme: BallsInBins,
    *,
    noise_multiplier: float,
    epsilon: float,
    draws: int = 100_000,
    confidence: float = 0.999,
    source: Source | None = None,
) -> WithConfidence:
    """Delta of balls in bins with banded noise from so many simulated runs, both directions, with this confidence.

    The pair is the mean of N(C x, sigma^2) over the bins, against N(0, sigma^2): Choquette-Choo, Ganesh, Haque,
    Steinke, Thakurta 2025 (docs/theory/correlated-noise.md). The limit is Chernoff's: a mean of numbers in [0, 1] that
    is so low has a chance of at most e^{-draws kl}. The number of draws is fixed before they are made. The certified
    answer is `noise.on(scheme, ...)`.

    >>> from hush import SeededSource
    >>> bins = BallsInBins(bins=4, epochs=1, bands=2)
    >>> noise = BandedNoise([0.8, 0.6])
    >>> found = simulated_delta(noise, bins, noise_multiplier=1.0, epsilon=0.5, source=SeededSource(1))
    >>> found.delta < noise.on(bins, noise_multiplier=1.0).delta(epsilon=0.5).upper
    True
    """
    who = "simulated_delta"
    noise.require(scheme)
    draws = count(who, 100, draws=draws)
    sigma = number(who, "0.01 <= noise_multiplier <= 1e8", 0.01, 1e8, noise_multiplier=noise_multiplier)
    epsilon = number(who, "0 <= epsilon <= 1000", 0.0, 1000.0, epsilon=epsilon)
    sure = number(who, "0.5 <= confidence < 1", 0.5, 1.0, high_open=True, confidence=confidence)
    if scheme.steps * scheme.bins > CHUNK:
        raise InvalidParameter(who, f"steps times bins of at most {CHUNK}", steps=scheme.steps, bins=scheme.bins)
    shifts = _shifts(noise, scheme) / sigma
    bits, means = source_or_secure(source), np.zeros(2)
    size = max(CHUNK // scheme.steps // 4, 1)
    for start in range(0, draws, size):
        means += _gains(shifts, epsilon, min(size, draws - start), bits)
    limit = math.log(2 / (1 - sure)) / draws  # half of the doubt for each direction
    return WithConfidence(max(_above(float(mean) / draws, limit) for mean in means), sure, draws, epsilon)


def _shifts(noise: BandedNoise, scheme: BallsInBins) -> Array:
    """C x of each bin, as columns."""
    used = np.tile(np.eye(scheme.bins), (scheme.epochs, 1))
    moved = np.zeros_like(used)
    for lag, coefficient in enumerate(noise.coefficients):
        moved[lag:] += coefficient * used[: len(used) - lag]
    return moved


def _gains(shifts: Array, epsilon: float, runs: int, source: Source) -> Array:
    """Sums of (1 - e^{epsilon - L})_+ over runs with the record, of (1 - e^{epsilon + L})_+ over runs without it."""
    steps, bins = shifts.shape
    silent = normal(source, runs * steps).reshape(runs, steps)
    chosen = integers(source, bins, runs)
    half = np.square(shifts).sum(axis=0) / 2

    def loss(seen: Array) -> Array:
        terms = seen @ shifts - half
        top = terms.max(axis=1)
        return top + np.log(np.exp(terms - top[:, None]).mean(axis=1))

    with_record = loss(silent + shifts.T[chosen])
    without = loss(silent)
    gains = -np.expm1(np.minimum(epsilon - with_record, 0.0)), -np.expm1(np.minimum(epsilon + without, 0.0))
    return np.array([float(np.sum(np.clip(gain, 0.0, 1.0))) for gain in gains])


def _above(mean: float, limit: float) -> float:
    """The largest chance u with kl(mean, u) <= limit."""

    def left(u: float) -> float:
        low = mean * math.log(mean / u) if mean > 0 else 0.0
        return limit - low - (1 - mean) * math.log((1 - mean) / (1 - u))

    if mean >= 1 - FLOATS:
        return 1.0
    return min(decreasing_root(left, mean + 1e-300, 1 - 1e-12, 1e-9)[1] + FLOATS * mean, 1.0)
