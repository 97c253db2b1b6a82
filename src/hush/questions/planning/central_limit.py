"""A guess at what noisy steps on samples cost, for searches to begin with; never an answer."""

from __future__ import annotations

import math

from hush.mechanisms.leaves.stated import GaussianDP
from hush.mechanisms.mechanism import Mechanism

LARGEST_SHIFT, SMALLEST_SHIFT = 1e3, 1e-9


def like_samples(noise: float, *, rate: float, steps: int, replaced: bool) -> Mechanism:
    """Two normals, about as far apart as the outputs of many sampled Gaussian steps with and without one record.

    The central limit theorem of Bu, Dong, Long, Su 2020: mu = rate sqrt(steps (e^(1/noise^2) - 1)).

    >>> like_samples(1.0, rate=0.01, steps=10_000, replaced=False).mu
    1.31083...
    """
    square = ((2 if replaced else 1) / noise) ** 2
    shift = rate * math.sqrt(steps * math.expm1(min(square, 300.0)))
    return GaussianDP(min(max(shift, SMALLEST_SHIFT), LARGEST_SHIFT))
