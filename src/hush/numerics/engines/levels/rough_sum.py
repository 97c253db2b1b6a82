"""The law of a sum of losses on one coarse lattice, as a guess: where a search begins, never what is answered."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hush.arrays import Array
from hush.numerics.rounding import LARGEST_EXPONENT
from hush.numerics.special.logarithms import log1p
from hush.numerics.work import room

FINE, COARSE, SPAN = 1 << 14, 1 << 12, 16.0
"""Points of the lattice, and its length in units of the scale: a thousandth of the scale from one to the next, which is
good to some 1e-7 of epsilon, or four times that, good to 1e-5. Some six losses of the largest size have room."""
LARGE = 0.125
"""A loss above this share of the length is not summed: with it all sums count as being past epsilon, by its size. One
that is below minus half of it is left out: a sum with it is small."""
ALMOST_ALL = 1 - 1e-9
"""At most so much of a part is taken to be large, so that what is not has a logarithm."""
LEAST_DELTA, LEAST_TILTED = 1e-11, 1e-300
"""The Fourier transform rounds to 1e-16, thousands of times: of a smaller delta too few digits would be left, unless
the losses are tilted by e^{cL} before it."""
ORDERS = 4.0 * 1.42 ** np.arange(11)
"""Orders c that are tried for that, per scale: e^{cL} is a float for all losses that are summed."""
STRIDE = 8
"""Every eighth point of the lattice is looked at for an epsilon, then all between two of these and one beyond each."""
STEP = 1e-3
"""Step of a difference that stands for a slope, as a share of the length."""
NEIGHBOURS = np.arange(-2, 4)
"""A loss is shared among six neighbours on the lattice such that five moments stay as they are."""
LAGRANGE = np.array([math.prod(float(k - j) for j in NEIGHBOURS if j != k) for k in NEIGHBOURS])[:, None]
"""What Lagrange's polynomials at the neighbours are divided by."""

Part = tuple[Array, Array, int]
"""Losses of a part, their masses under P, and how often it is taken."""


class RoughSum:
    """A sum of independent losses, tilted where delta is small."""

    def __init__(self, parts: Sequence[Part], scale: float, *, tilted: bool = False, size: int = FINE) -> None:
        self._length, self._size = SPAN * scale, size
        self._tilted, self._least = tilted, LEAST_TILTED if tilted else LEAST_DELTA
        step, most = self._length / size, LARGE * self._length
        kept = [(x, np.where((-most / 2 < x) & (x < most), masses, 0.0), times) for x, masses, times in parts]
        order, exponent = _tilting_order(kept, scale) if tilted else (0.0, 0.0)
        logs: Array = np.full(size // 2 + 1, -exponent, dtype=complex)
        for losses, masses, times in kept:
            room(4 * len(losses) + size, 20)
            logs += times * log1p(_moved(losses / step, _turned(losses, masses, order), size))
        law = np.roll(np.fft.irfft(np.exp(logs), size), size // 4)
        lattice = step * (np.arange(size) - size // 4)
        if tilted:
            law *= np.exp(np.minimum(exponent - order * lattice, LARGEST_EXPONENT))
        self._bends = step / 12 * law[size // 4 :]
        large, under_p, under_q = _largest(parts, most)
        losses = np.concatenate([lattice, large])
        places = np.argsort(losses, kind="stable")
        self._losses = losses[places]
        p = np.concatenate([law, under_p])[places]
        q = np.concatenate([law * np.exp(-np.maximum(lattice, -1.0)), under_q])[places]
        self._p, self._q = (np.append(np.cumsum(masses[::-1])[::-1], 0.0) for masses in (p, q))

    def delta(self, epsilon: Array) -> Array:
        """About delta at each epsilon from 0 to the scale and somewhat beyond."""
        place = np.searchsorted(self._losses, epsilon, side="right")
        return self._p[place] - np.exp(epsilon) * self._q[place]

    def log_delta(self, epsilon: float) -> float | None:
        """About log delta; None where too few digits are left."""
        found = float(self.delta(np.array([epsilon]))[0])
        return math.log(found) if found > self._least else None

    def epsilon(self, log_delta: float) -> float | None:
        """About epsilon at this delta; None where it is not within reach, or delta is too small."""
        step = self._length / self._size
        tried = step * np.arange(0, self._size // 4, STRIDE)
        wanted = math.exp(log_delta)
        found = self.delta(tried)
        above = np.nonzero(found >= wanted)[0]
        if wanted < self._least:
            return None
        if not len(above):
            return 0.0
        past = int(above[-1]) + 1
        if past == len(found) or (past > len(above) and not self._tilted):  # losses that are tilted are noise near 0
            return None
        first = (past - 1) * STRIDE
        places = np.arange(max(first - 1, 0), first + STRIDE + 2)
        # losses of density p on a lattice of step h sum up to h^2 p/12 too little, by Euler and Maclaurin
        found = np.log(np.maximum(self.delta(step * places) + self._bends[places], self._least / 2))
        near = min(max(int(np.count_nonzero(found >= log_delta)), 2), len(places) - 2)
        return step * _where(places[near - 2 : near + 2], found[near - 2 : near + 2], log_delta)

    def steepness(self, epsilon: float) -> float:
        """About -d log delta/d epsilon; 0 where too few digits are left."""
        step = STEP * self._length
        near, far = self.delta(np.array([epsilon, epsilon + step]))
        return (math.log(near) - math.log(far)) / step if near > far > self._least / 2 else 0.0


def _where(places: Array, values: Array, wanted: float) -> float:
    """Where a falling function has this value: on a cubic through four points, or a line where they do not fall."""
    if not np.diff(values).max() < 0:
        (a, b), (low, high) = places[1:3], values[1:3]
        return float(a + (b - a) * (min(max((wanted - low) / (high - low), 0.0), 1.0) if high < low else 0.5))
    shares = [np.delete((wanted - values) / (value - values + (values == value)), k) for k, value in enumerate(values)]
    return float(sum(place * math.prod(share) for place, share in zip(places, shares, strict=True)))


def _turned(losses: Array, masses: Array, order: float) -> Array:
    """Masses tilted by e^{cL}, where there are any."""
    return masses * np.exp(np.where(masses > 0, order * losses, 0.0)) if order else masses


def _tilting_order(parts: Sequence[Part], scale: float) -> tuple[float, float]:
    """The largest order at which the mean of the sum is at most the scale, and log E e^{cL} there."""
    orders = ORDERS / scale
    exponents, means = np.zeros(len(orders)), np.zeros(len(orders))
    for losses, masses, times in parts:
        some = masses > 0
        room(len(orders) * int(some.sum()), 4)
        grown = np.expm1(orders[:, None] * losses[some])
        gain = grown @ masses[some] - (1 - masses[some].sum())
        exponents += times * np.log1p(gain)
        means += times * ((grown + 1) @ (masses[some] * losses[some])) / (1 + gain)
    best = max(int(np.count_nonzero(means <= scale)) - 1, 0)
    return float(orders[best]), float(exponents[best])


def _largest(parts: Sequence[Part], least: float) -> tuple[Array, Array, Array]:
    """Sums with one loss that is at least so large, by that loss, and with several as infinite: P- and Q-masses."""
    found = []
    for losses, masses, times in parts:
        some = losses >= least
        found.append((losses[some], times * masses[some], times * masses[some] * np.exp(-losses[some]), times))
    large = np.concatenate([losses for losses, _, _, _ in found])
    sides = []
    for side in (1, 2):
        hits = np.concatenate([part[side] for part in found])
        logs = [part[3] * math.log1p(-min(float(part[side].sum()) / part[3], ALMOST_ALL)) for part in found]
        none = math.exp(sum(logs))
        sides.append(np.append(hits * none, max(1 - none - float(hits.sum()) * none, 0.0)))
    return np.append(large, math.inf), sides[0], sides[1]


def _moved(places: Array, masses: Array, size: int) -> Array:
    """The Fourier transform of masses at places of the lattice, less 1: by Lagrange's polynomials of degree five."""
    first = np.floor(places)
    away = places - first - NEIGHBOURS[:, None]
    before, after = np.ones_like(away), np.ones_like(away)  # products of those on either side
    np.cumprod(away[:-1], axis=0, out=before[1:])
    np.cumprod(away[:0:-1], axis=0, out=after[-2::-1])
    shares = before * after / LAGRANGE
    index = (np.maximum(first, -size).astype(np.int64) + NEIGHBOURS[:, None]) % size
    lattice = np.bincount(index.ravel(), (shares * masses).ravel(), size)
    lattice[0] -= 1  # before the transform: most losses are nearly 0, and what is left keeps its digits
    return np.fft.rfft(lattice)
