"""Confidence limits of a probability from counts: Clopper and Pearson 1934, valid for every sample size."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from hush.arrays import Array
from hush.checks import number

CORNERS = 160
"""Cells that the region of both rates is cut into: any number is valid, and more are hardly sharper."""


@dataclass(frozen=True)
class Estimate:
    """A number with the ends of its confidence interval."""

    value: float
    lower: float
    upper: float

    def __str__(self) -> str:
        return f"{self.value:.4f} ({self.lower:.4f} to {self.upper:.4f})"


def confidence_in_range(who: str, confidence: object) -> float:
    """The confidence, if it is at least one half and below 1."""
    return number(who, "0.5 <= confidence < 1", 0.5, 1.0, high_open=True, confidence=confidence)


def at_least(count: Array | float, of: Array | float, error: Array | float) -> Array:
    """A lower limit on a probability, from how often it happened; wrong with probability at most `error`.

    >>> float(at_least(10, 10, 0.05))
    0.741134...
    """
    count, of = np.asarray(count, dtype=float), np.asarray(of, dtype=float)
    found = special.betaincinv(np.maximum(count, 1e-9), of - count + 1, error)
    return np.where(count > 0, found, 0.0)[()]


def at_most(count: Array | float, of: Array | float, error: Array | float) -> Array:
    """An upper limit on a probability, from how often it happened; wrong with probability at most `error`.

    >>> float(at_most(0, 10, 0.05))
    0.258865...
    """
    return 1 - at_least(np.asarray(of, dtype=float) - np.asarray(count, dtype=float), of, error)


def joint_limits(true: int, of_true: int, false: int, of_false: int, error: float, tilt: float) -> tuple[Array, Array]:
    """Corners (p_i, q_i) such that, but for the error, the two rates have p >= p_i and q <= q_i for some i.

    P(X >= x | p) and P(Y <= y | q) are independent and no smaller than uniform at the true rates, so their normal
    scores, added with weights cos(tilt) and sin(tilt) that are fixed beforehand (Stouffer 1949; Lipták 1958), are no
    larger than normal. Nine tenths of the error go to that half-plane, one tenth to the two limits of Clopper and
    Pearson that close it. That is sharper than the two limits alone, as errors on both sides seldom come together.

    >>> p, q = joint_limits(900, 1000, 100, 1000, 0.05, math.atan(9))
    >>> apart = at_least(900, 1000, 0.025) / at_most(100, 1000, 0.025)
    >>> bool(np.min(p / q) > apart)
    True
    """
    closing = error / 20
    reach = -special.ndtri(closing)
    most = -special.ndtri(error - 2 * closing)
    steps = np.linspace(-reach, reach, CORNERS)
    q = at_most(false, of_false, special.ndtr(-steps))
    lowest = at_least(true, of_true, closing)
    with np.errstate(divide="ignore"):
        left = special.ndtr(-(most - math.sin(tilt) * steps[:-1]) / math.cos(tilt))
    p = np.maximum(at_least(true, of_true, left), lowest)
    # within a cell p is least at its left end, q largest at its right one
    return np.concatenate([[lowest], p]), q
