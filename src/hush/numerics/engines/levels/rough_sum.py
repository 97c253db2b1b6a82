"""The law of a sum of losses on one coarse lattice, as a guess: where a search begins, never what is answered."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hush.arrays import Array
from hush.numerics.special.logarithms import log1p
from hush.numerics.work import room

SIZE, SPAN = 1 << 13, 8.0
"""Points of the lattice, and its length in units of the scale: a thousandth of the scale from one to the next."""
LARGE = 0.25
"""A loss above this share of the length is not summed: with it all sums count as being past epsilon, by its size. One
that is below minus half of it is left out: a sum with it is small."""
ALMOST_ALL = 1 - 1e-9
"""At most so much of a part is taken to be large, so that what is not has a logarithm."""
LEAST_DELTA = 1e-11
"""The Fourier transform rounds to 1e-16, thousands of times: of a smaller delta too few digits would be left."""
STRIDE = 8
"""Every eighth point of the lattice is looked at for an epsilon, then all between two of these."""
STEP = 1e-3
"""Step of a difference that stands for a slope, as a share of the length."""
NEIGHBOURS = np.arange(-1, 3)
"""A loss is shared among four neighbours on the lattice such that three moments stay as they are."""


class RoughSum:
    """A sum of independent losses, given as (losses, their masses under P, how often) of each part."""

    def __init__(self, parts: Sequence[tuple[Array, Array, int]], scale: float) -> None:
        self._length = SPAN * scale
        step, most = self._length / SIZE, LARGE * self._length
        logs: Array = np.zeros(SIZE // 2 + 1, dtype=complex)
        for losses, masses, times in parts:
            room(4 * len(losses) + SIZE, 20)
            logs += times * log1p(_moved(losses / step, np.where((-most / 2 < losses) & (losses < most), masses, 0.0)))
        law = np.roll(np.fft.irfft(np.exp(logs), SIZE), SIZE // 4)
        lattice = step * (np.arange(SIZE) - SIZE // 4)
        large, under_p, under_q = _largest(parts, most)
        losses = np.concatenate([lattice, large])
        order = np.argsort(losses, kind="stable")
        self._losses = losses[order]
        p = np.concatenate([law, under_p])[order]
        q = np.concatenate([law * np.exp(-np.maximum(lattice, -1.0)), under_q])[order]
        self._p, self._q = (np.append(np.cumsum(masses[::-1])[::-1], 0.0) for masses in (p, q))

    def delta(self, epsilon: Array) -> Array:
        """About delta at each epsilon from 0 to the scale and somewhat beyond."""
        place = np.searchsorted(self._losses, epsilon, side="right")
        return self._p[place] - np.exp(epsilon) * self._q[place]

    def log_delta(self, epsilon: float) -> float | None:
        """About log delta; None where too few digits are left."""
        found = float(self.delta(np.array([epsilon]))[0])
        return math.log(found) if found > LEAST_DELTA else None

    def epsilon(self, log_delta: float) -> float | None:
        """About epsilon at this delta; None where it is not within reach, or delta is too small."""
        tried = self._length / SIZE * np.arange(0, SIZE // 2, STRIDE)
        wanted = math.exp(log_delta)
        found = self.delta(tried)
        past = int(np.count_nonzero(found >= wanted))
        if wanted < LEAST_DELTA or past == len(found) or not (found[:past] >= wanted).all():
            return None
        if past == 0:
            return 0.0
        tried = tried[past - 1] + self._length / SIZE * np.arange(STRIDE + 1)
        found = np.log(np.maximum(self.delta(tried), LEAST_DELTA / 2))
        near = min(max(int(np.count_nonzero(found >= log_delta)), 1), STRIDE)
        high, low = float(found[near - 1]), float(found[near])
        share = (high - log_delta) / (high - low) if high > low else 0.5
        return float(tried[near - 1] + share * (tried[near] - tried[near - 1]))

    def steepness(self, epsilon: float) -> float:
        """About -d log delta/d epsilon; 0 where too few digits are left."""
        step = STEP * self._length
        near, far = self.delta(np.array([epsilon, epsilon + step]))
        return (math.log(near) - math.log(far)) / step if near > far > LEAST_DELTA / 2 else 0.0


def _largest(parts: Sequence[tuple[Array, Array, int]], least: float) -> tuple[Array, Array, Array]:
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


def _moved(places: Array, masses: Array) -> Array:
    """The Fourier transform of masses at places of the lattice, less 1: by Lagrange's polynomials of degree three."""
    first = np.floor(places)
    t = places - first
    left, right = (t - 1) * (t - 2), (t + 1) * t
    shares = np.array([-t * left / 6, (t + 1) * left / 2, -right * (t - 2) / 2, right * (t - 1) / 6])
    index = (np.maximum(first, -SIZE).astype(np.int64) + NEIGHBOURS[:, None]) % SIZE
    lattice = np.bincount(index.ravel(), (shares * masses).ravel(), SIZE)
    lattice[0] -= 1  # before the transform: most losses are nearly 0, and what is left keeps its digits
    return np.fft.rfft(lattice)
