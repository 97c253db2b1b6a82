"""Straight pieces of a Rényi curve: zCDP (all orders) and tCDP (orders below omega)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hush.arrays import Array
from hush.errors import InvalidParameter, NotCovered

TOLERANCE = 1e-6
"""A cell is not split when it can raise the slope by no more than this share."""
MOST = 1500
"""Evaluations of the curve; the slope is valid wherever the search stops."""


def least_slope(curve: Callable[[Array], Array], slope: float, omega: float) -> float:
    """The least rho with divergence <= rho * order for all orders in [1, omega), rounded up; at most the slope given.

    (order - 1) * divergence is convex (van Erven, Harremoës 2014, Thm 11), so it lies below its chords; the largest
    ratio that a chord allows is explicit, and cells that matter are halved until it is tight.
    """
    first, top = (float(curve(np.array([order]))[0]) for order in (1.0, math.inf))
    if omega == math.inf and top == math.inf:
        return slope
    # below omega by a few roundings; past order 1e6 the max divergence over the order serves, which is `tail`
    last = omega * (1 - 1e-15) - 1 if omega < math.inf else 1e6
    c = np.concatenate([[0.0], np.geomspace(min(1e-7, last / 2), last, 120)])
    moments = _moments(curve, c)
    while True:
        bounds = _chord_ratios(c, moments)
        with np.errstate(invalid="ignore", divide="ignore"):
            reached = max(float(np.nanmax(moments[1:] / (c[1:] * (c[1:] + 1)))), first)
        # cells below 1e-13 are not halved: there 1 + c has no digits of c left, and the chord stands as it is
        wide = np.flatnonzero((bounds > reached * (1 + TOLERANCE)) & (c[1:] > 1e-13))
        if not len(wide) or not math.isfinite(reached) or len(c) + len(wide) > MOST:
            break
        middle = np.where(c[wide] > 0, np.sqrt(c[wide] * c[wide + 1]), c[wide + 1] / 16)
        order = np.argsort(np.concatenate([c, middle]), kind="stable")
        c, moments = np.concatenate([c, middle])[order], np.concatenate([moments, _moments(curve, middle)])[order]
    tail = top / last if omega == math.inf else 0.0
    return min(max(float(bounds.max()), tail), slope)


def _moments(curve: Callable[[Array], Array], c: Array) -> Array:
    with np.errstate(invalid="ignore"):
        return np.where(c > 0, c * curve(1 + c), 0.0)


def _chord_ratios(c: Array, moments: Array) -> Array:
    """Largest chord(c) / (c (c + 1)) in each cell: at the ends, or where the derivative vanishes."""
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = np.diff(moments) / np.diff(c)
        offset = np.minimum(moments[:-1] - slope * c[:-1], 0.0)
        size = -offset
        peak = np.clip((size + np.sqrt(size * (size + slope))) / slope, c[:-1], c[1:])
        inner = (moments[:-1] + slope * (peak - c[:-1])) / (peak * (peak + 1))
        ends = [moments[k] / (c[k] * (c[k] + 1)) for k in (slice(0, -1), slice(1, None))]
        ratios = np.fmax(np.fmax(inner, ends[0]), ends[1])
    ratios[0] = slope[0]
    return np.where(np.isfinite(moments[1:]), np.where(slope > 0, ratios, np.fmax(ends[0], 0.0)), math.inf)


def tcdp_sample(rho: float, omega: float, rate: float) -> tuple[float, float]:
    """A sample of fixed size makes (rho, omega)-tCDP into (13 rate^2 rho, log(1/rate)/(4 rho))-tCDP, replace-one.

    Bun, Dwork, Rothblum, Steinke 2018, Thm 12: rho and rate in (0, 0.1], omega >= log(1/rate)/(2 rho). Its other two
    conditions, log(1/rate) >= 3 rho (2 + log2(1/rho)) and >= 2 rho (3 + 2 log2(1/rho)), then hold: at most 1.93.

    >>> tcdp_sample(0.05, 100, 1e-3)
    (6.5...e-07, 34.53877...)
    """
    for name, value in (("rho", rho), ("rate", rate)):
        if not 0 < value <= 0.1:
            raise InvalidParameter("Sampling of tCDP", f"0 < {name} <= 0.1", **{name: value})
    log_inverse = -math.log(rate)
    if omega < log_inverse / (2 * rho):
        raise NotCovered(
            f"sampling of tCDP needs omega >= log(1/rate)/(2 rho) = {log_inverse / (2 * rho):g}; got omega={omega:g}. "
            "Its Rényi curve through the generic theorems is covered"
        )
    return 13 * rate * rate * rho, log_inverse / (4 * rho)
