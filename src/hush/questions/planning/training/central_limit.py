"""A guess at what noisy steps on samples cost, for searches to begin with; never an answer."""

from __future__ import annotations

import math
from collections.abc import Iterable

from hush.mechanisms.leaves.stated import GaussianDP

LARGEST_SHIFT, SMALLEST_SHIFT = 1e3, 1e-9


def like_samples(parts: Iterable[tuple[float, int]], *, rate: float, replaced: bool) -> GaussianDP:
    """Two normals, about as far apart as the outputs of many sampled Gaussian steps with and without one record.

    parts: noise and number of steps. The central limit theorem of Bu, Dong, Long, Su 2020: each part has
    mu = rate sqrt(steps (e^(1/noise^2) - 1)), and squares add up.

    >>> like_samples([(1.0, 10_000)], rate=0.01, replaced=False).mu
    1.31083...
    """
    squares = [(((2 if replaced else 1) / noise) ** 2, steps) for noise, steps in parts]
    shift = rate * math.sqrt(sum(steps * math.expm1(min(square, 300.0)) for square, steps in squares))
    return GaussianDP(min(max(shift, SMALLEST_SHIFT), LARGEST_SHIFT))
