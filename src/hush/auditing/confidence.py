"""Confidence limits of a probability from counts: Clopper and Pearson 1934, valid for every sample size."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from hush.arrays import Array
from hush.checks import number
from hush.errors import InvalidParameter

CORNERS = 160


def confidence_in_range(who: str, confidence: object) -> float:
    """0.5 <= confidence < 1."""
    return number(who, "0.5 <= confidence < 1", 0.5, 1.0, high_open=True, confidence=confidence)


def at_least(count: Array, of: Array, error: Array) -> Array:
    """The largest p that the true probability exceeds, wrong with probability at most `error`.

    >>> float(at_least(10, 10, 0.05))
    0.741134...
    """
    count, of = np.asarray(count, dtype=float), np.asarray(of, dtype=float)
    found = special.betaincinv(np.maximum(count, 1e-9), of - count + 1, error)
    return np.where(count > 0, found, 0.0)[()]


def at_most(count: Array, of: Array, error: Array) -> Array:
    """The least p that the true probability stays below, wrong with probability at most `error`.

    >>> float(at_most(0, 10, 0.05))
    0.258865...
    """
    return 1 - at_least(np.asarray(of, dtype=float) - np.asarray(count, dtype=float), of, error)


def joint_limits(true: int, of_true: int, false: int, of_false: int, error: float, tilt: float) -> tuple[Array, Array]:
    """Corners (p_i, q_i) such that, but for the error, the true rates have p >= p_i and q <= q_i for some i.

    P(X >= x | p) and P(Y <= y | q) are independent and no smaller than uniform at the true rates, so their normal
    scores, added with weights cos(tilt) and sin(tilt) fixed beforehand (Stouffer 1949; Lipták 1958), are no larger
    than normal. Nine tenths of the error go to that half-plane, one tenth to the two limits of Clopper and Pearson that
    close it. Far less is given away than by the two limits alone: errors on both sides seldom come together.

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


def finite_numbers(who: str, **field: Any) -> Array:
    """The one keyword as a one-dimensional array of finite numbers; booleans count as 0 and 1.

    >>> finite_numbers("scores", scores=[True, 2])
    array([1., 2.])
    """
    ((name, value),) = field.items()
    array = np.asarray(value)
    if array.dtype.kind not in "biuf" or array.ndim != 1:
        raise InvalidParameter(who, "a list of numbers", **{name: f"{array.dtype} of shape {array.shape}"})
    array = array.astype(float)
    if not np.isfinite(array).all():  # how many, and which, is not told: they are records
        raise InvalidParameter(who, "finite numbers (no NaN, no infinity)", **{name: "some are not"})
    return array


def zeros_and_ones(who: str, length: int, **field: Any) -> Array:
    """The one keyword as booleans, as many as there are scores.

    >>> zeros_and_ones("members", 2, members=[1, 0])
    array([ True, False])
    """
    ((name, value),) = field.items()
    array = finite_numbers(who, **{name: value})
    if len(array) != length or not np.all((array == 0) | (array == 1)):
        rule = f"one label for each of {length} scores, 1 for a member and 0 for the others"
        raise InvalidParameter(who, rule, **{name: f"{len(array)} values"})
    return array == 1
