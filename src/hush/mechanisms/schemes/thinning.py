"""How many of the records that differ are drawn: probabilities of counts, rounded to either side."""

from __future__ import annotations

import math

import numpy as np

from hush.arrays import Array
from hush.mechanisms.neighbours import Counts

MOST_SAMPLED = 200
"""Records of a group that is sampled one by one."""
NEGLIGIBLE = 1e-30
"""Numbers of copies less likely than this may be counted as a certain loss."""
FAINT = 1e-300
"""Below it a listed probability may have been rounded up; lists that may be cut go no further down."""
TINY = 2.3e-308
"""Below it floats lose digits, then vanish: such a probability is this much in upper bounds, and 0 in lower ones."""


def binomial(trials: int, rate: float) -> Array:
    """Probabilities of 0, 1, ..., trials: from the most likely one outwards, so that none vanishes on the way.

    >>> binomial(2, 0.25).tolist()
    [0.5625, 0.375, 0.0625]
    """
    k = np.arange(trials + 1)
    if trials < 2 or rate in (0, 1):
        return np.where(k == 0, 1 - rate, rate) if trials else np.ones(1)
    top = min(int((trials + 1) * rate), trials)
    odds = rate / (1 - rate)
    steps = (trials - k[:-1]) / (k[:-1] + 1.0)
    most = math.comb(trials, top) * rate**top * (1 - rate) ** (trials - top)
    below = np.cumprod(1 / (steps[:top][::-1] * odds))[::-1]
    return most * np.concatenate([below, [1.0], np.cumprod(steps[top:] * odds)])


def raised(weights: Array) -> Array:
    """Upper bounds on probabilities that are all positive, though floats may not hold them."""
    return np.maximum(weights, TINY)


def surely(weights: Counts) -> Counts:
    """Lower bounds on them, without those that floats do not hold."""
    return tuple(weight if weight > FAINT else 0.0 for weight in weights)
