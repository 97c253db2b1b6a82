"""The symmetric Skellam law e^{-m} I_|x|(m): masses and ratios in log-space, to any depth."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from hush.arrays import Array
from hush.numerics.work import room


def log_ratios(variance: float, count: int) -> Array:
    """log of I_k(m)/I_{k-1}(m) for k = 1, ..., count, by the continued fraction run backwards (stable: all terms > 0).

    >>> log_ratios(2.0, 2).round(9).tolist()
    [-0.359859068, -0.836723306]
    """
    start = count + 30 + int(6 * math.sqrt(variance))
    room(start, 20)
    ratio = variance / (2 * start + math.hypot(2 * start, variance)) * 2
    ratios = np.empty(count)
    for k in range(start, 0, -1):
        ratio = 1 / (2 * k / variance + ratio)
        if k <= count:
            ratios[k - 1] = ratio
    return np.log(ratios)


def log_masses(variance: float, log_ratio: Array) -> Array:
    """log of e^{-m} I_x(m) for x = 0, 1, 2, ..., from the ratios.

    >>> np.exp(log_masses(1.0, log_ratios(1.0, 1))).round(6).tolist()
    [0.465760, 0.207910]
    """
    return math.log(float(special.ive(0, variance))) + np.concatenate([[0.0], np.cumsum(log_ratio)])
