"""Delta at many epsilons from a few lines of the contour engine: each serves a range of epsilons for a few products.

A line is made for one epsilon, but its nodes hold the whole sum: at another epsilon only the turn of each node differs.
Its error is charged at every epsilon as `ContourLine.delta` charges it, so a line that is far off says little there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hush.arrays import Array
from hush.numerics.engines.contour import LEAST_GUESS, MARKOV_EXCESS
from hush.numerics.engines.contour_line import MOST_DOUBT, ContourLine
from hush.numerics.engines.saddle import Parts, best_orders, choose_route, log_markov
from hush.numerics.rounding import UNIT
from hush.numerics.work import Exhausted, spend

LOG_DELTAS = (-1.0, -0.1, -5.0, -14.0, -30.0)
"""One line is made for each of these: from delta near 1 to where it is too small to be told from 0 beside 1."""
TOLERANCES = (1e-11, 1e-8)
"""Relative errors at which a line is tried. All errors are charged at any tolerance."""
MOST_NODES = 2000
"""A line with more nodes decays so slowly that lattices serve thousands of epsilons better."""
FARTHEST_SCALE = 150.0
"""Where the size of the integrand is more than e^150 from 1, a line says nothing of an epsilon."""
MOST_TERMS = 1 << 19
"""Terms that are held at once: 8 MB of complex numbers."""
Ends = tuple[Array, Array]
"""Lower and upper bounds, one of each per epsilon."""


def made_lines(parts: Parts) -> list[ContourLine]:
    """A line for each of a few deltas, the middle ones first, as long as none decays too slowly."""
    lines: list[ContourLine] = []
    for log_delta in LOG_DELTAS:
        found = next(filter(None, (_made(parts, log_delta, tolerance) for tolerance in TOLERANCES)), None)
        if found is None:
            break
        lines.append(found)
    return lines


def _made(parts: Parts, log_delta: float, tolerance: float) -> ContourLine | None:
    """A line near this delta; None where it has too many nodes, or does not reach its end."""
    orders, best = best_orders(parts, log_delta=log_delta)
    c, markov = float(orders.c[best]), max(float(orders.objective(None, log_delta)[best]), 0.0)
    near = max(markov - MARKOV_EXCESS / c, LEAST_GUESS * markov)
    try:
        line = ContourLine(parts, choose_route(orders, near, log_delta, tolerance), tolerance)
    except Exhausted:
        return None
    return line if len(line.y) <= MOST_NODES and not line.exhausted else None


def delta_ends(lines: Sequence[ContourLine], epsilons: Array) -> Ends:
    """Certified bounds on delta at each epsilon: the best that any of the lines gives."""
    low, high = np.zeros(len(epsilons)), np.ones(len(epsilons))
    for line in lines:
        served = np.abs(line.value - line.route.c * epsilons) < FARTHEST_SCALE
        chosen = epsilons[served]
        size = max(MOST_TERMS // len(line.y), 1)
        found = [_line_ends(line, chosen[start : start + size]) for start in range(0, len(chosen), size)]
        if found:
            a, b = (np.concatenate(side) for side in zip(*found, strict=True))
            low[served], high[served] = np.maximum(low[served], a), np.minimum(high[served], b)
    return low, high


def _line_ends(line: ContourLine, epsilons: Array) -> Ends:
    """What one line says: the terms of `ContourLine.delta`, for many epsilons at once."""
    c, right, period = line.route.c, line.route.right, line.period
    log_scale = line.value - c * epsilons
    value, slope, size, slack = _sums(line, epsilons)
    known = _geometric(-c * period, -log_scale)
    uncertain = _geometric(-(c + 1) * period, epsilons + line.discount - log_scale)
    value, uncertain = np.where(uncertain < known, value - known, value), np.minimum(uncertain, known)
    markov = line.right_value + float(log_markov(right)) - right * epsilons
    error = uncertain + _geometric(-(right - c) * period, markov - log_scale)
    if line.missing:
        error += line.missing * (known + np.exp(-log_scale))
    whole = np.abs(value) + known
    doubt = math.inf if line.value_error > MOST_DOUBT else math.expm1(line.value_error)
    error += line.tail + whole * doubt + slack
    error += (np.abs(slope) + c * whole) * 2 * (line.shift + 2 * UNIT * np.abs(epsilons))
    error += UNIT * size * (8 + abs(line.value) + float(line.y[-1]) * np.abs(line.mean - epsilons))
    scale = np.exp(log_scale)
    rounding = 4 * UNIT * (1 + np.abs(log_scale))  # of the exponential, and of the product with it
    low, high = scale * (value - error) * (1 - rounding), scale * (value + error) * (1 + rounding)
    return np.maximum(low, 0.0), np.where(high > 0, np.minimum(high, 1.0), 1.0)


def _sums(line: ContourLine, epsilons: Array) -> tuple[Array, Array, Array, Array]:
    """The sum over the nodes, its slope, the sum of their sizes, and of their own errors, at each epsilon."""
    spend((20 if line.lattice else 8) * len(line.y) * len(epsilons))
    turn = np.exp(1j * np.multiply.outer(line.mean - epsilons, line.y))
    kernel, discount, made = line.kernels(epsilons)
    slack, size = np.abs(kernel) @ line.slack, made @ np.abs(line.phi)
    if kernel.ndim == 1:
        value, slope = turn @ (line.phi * kernel), turn @ (line.phi * discount)
    else:
        value, slope = ((turn * part) @ line.phi for part in (kernel, discount))
    return np.real(value), -np.real(slope), size, slack


def _geometric(log_ratio: float, log_first: Array) -> Array:
    """sum over n >= 1 of e^{log_first + n log_ratio}, for log_ratio < 0, at most e^400: with that nothing is said."""
    return np.exp(np.minimum(log_first + log_ratio, 400.0)) / -math.expm1(log_ratio)
