"""The best that one Rényi divergence, or a whole curve of them, says about (epsilon, delta)-DP.

Asoodeh, Liao, Calmon, Kosut, Sankar 2021: the largest delta(epsilon) under D_a(P || Q) <= g is attained by two-point
pairs (p, q), since merging outputs to the event that counts keeps delta and lowers every divergence. What is left is to
maximise p - e^epsilon q over the convex set q (p/q)^a + (1-q) ((1-p)/(1-q))^a <= e^{(a-1) g}.

Its dual is explicit. x^a lies above its tangents, so for all r > s >= 0 the left side is at least A p - C q + D with
A = a (r^{a-1} - s^{a-1}), C = (a-1) (r^a - s^a), D = a s^{a-1} - (a-1) s^a. Hence delta <= (e^{(a-1) g} - D)/A at
e^epsilon = C/A: every (r, s) is a certificate, and s = 0 is Canonne, Kamath, Steinke 2020. The best s is searched for;
whatever the search finds is valid. For a whole curve the constraints hold at once, and the best is the best order.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hush.arrays import Array
from hush.curves.renyi.convert import Number, plain, renyi_to_epsilon, renyi_to_log_delta
from hush.errors import InvalidParameter
from hush.numerics.rounding import UNIT

SCALES = np.geomspace(1e-15, 100.0, 35)
"""Values of log(1/s) that are tried first."""
LEAST = 1e-300
"""Logs of delta are kept this far below 0: delta is below 1, and log(1 - delta) exists."""
SHARES = np.linspace(0.0, 1.0, 9)
"""Where each round of zooming looks, between the neighbours of the best value. Every value is a certificate."""


def renyi_to_epsilon_optimal(order: Number, divergence: Number, log_delta: float | Array) -> Number:
    """Epsilon at delta from one order (or many at once), as small as that order allows; at least 0, rounded up.

    >>> [round(f(2.0, 0.1, math.log(0.01)), 6) for f in (renyi_to_epsilon_optimal, renyi_to_epsilon)]
    [1.286273, 3.318876]
    """
    orders, divergences = _checked(order, divergence)
    logs = np.broadcast_to(np.asarray(log_delta, dtype=float), orders.shape)
    found = _least_over_s(lambda t: _epsilon_at(t, orders[..., None], divergences[..., None], logs[..., None]))
    found = np.fmin(found, renyi_to_epsilon(orders, divergences, logs))
    # past delta = 1/a the best p is 1: delta = 1 - e^{epsilon - divergence}
    certain = logs >= -np.log(orders)
    edge = divergences + np.log1p(-np.exp(np.minimum(logs, -LEAST)))
    found = np.where(certain, np.fmin(found, edge + 8 * UNIT * (1 + np.abs(divergences))), found)
    return plain(np.maximum(found, 0.0))


def renyi_to_log_delta_optimal(order: Number, divergence: Number, epsilon: float) -> Number:
    """log delta at epsilon >= 0 from one order (or many at once), as small as that order allows; rounded up.

    >>> [round(math.exp(f(2.0, 0.1, 1.0)), 6) for f in (renyi_to_log_delta_optimal, renyi_to_log_delta)]
    [0.015168, 0.101642]
    """
    orders, divergences = _checked(order, divergence)
    if not epsilon >= 0:
        raise InvalidParameter("renyi_to_log_delta_optimal", "epsilon >= 0", epsilon=epsilon)
    high = np.minimum(np.asarray(renyi_to_log_delta(orders, divergences, epsilon)), -LEAST)
    low = np.minimum(4 * high, high - 60.0)  # where halving begins; its upper end is a certificate at every step
    for _ in range(32):
        middle = (low + high) / 2
        enough = np.asarray(renyi_to_epsilon_optimal(orders, divergences, middle)) <= epsilon
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return plain(np.minimum(high, 0.0))


def _epsilon_at(t: Array, a: Array, divergence: Array, log_delta: Array) -> Array:
    """log(C/A) with s = e^{-t} and r chosen so that (e^{(a-1) g} - D)/A = delta."""
    c = a - 1
    moment = c * divergence
    log_d = -c * t + np.log1p(-c * np.expm1(-t))
    rest = -np.expm1(log_d) + 8 * UNIT * c * t
    small = np.minimum(moment, 30.0)  # past it logarithms are added instead, and nothing overflows
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        log_gap = np.where(
            moment < 30, np.log(np.expm1(small) + rest), moment + np.log1p(-(1 - rest) * np.exp(-moment))
        )
        log_share = log_gap - np.log(a) - log_delta
        log_r = np.logaddexp(-c * t, log_share) / c
        away = -np.expm1(a * (-t - log_r))
        value = np.log(c / a) + a * log_r + np.log(away) - log_share
    size = 1 + a * np.abs(log_r) + np.abs(log_gap) + np.abs(log_share) + 1 / np.maximum(away, 1e-3)
    # where r and s nearly agree their difference has lost digits: such a pair is not used
    value = np.where(away > 1e-3, value + 8 * UNIT * size, math.inf)
    return np.where(np.isnan(value), math.inf, value)


def _least_over_s(objective: Callable[[Array], Array]) -> Array:
    """The least value over all t > 0 in each row: all scales, then three rounds of zooming."""
    values = objective(SCALES)
    best = np.argmin(values, axis=-1)
    least = np.min(values, axis=-1)
    low, high = SCALES[np.maximum(best - 1, 0)], SCALES[np.minimum(best + 1, len(SCALES) - 1)]
    for _ in range(6):
        t = low[..., None] * (high / low)[..., None] ** SHARES
        values = objective(t)
        best = np.argmin(values, axis=-1)
        least = np.fmin(least, np.min(values, axis=-1))
        low, high = (
            np.take_along_axis(t, np.clip(best + step, 0, len(SHARES) - 1)[..., None], axis=-1)[..., 0]
            for step in (-1, 1)
        )
    return least


def _checked(order: Array | float, divergence: Array | float) -> tuple[Array, Array]:
    orders, divergences = np.broadcast_arrays(np.asarray(order, dtype=float), np.asarray(divergence, dtype=float))
    if not np.all((orders > 1) & np.isfinite(orders)):
        raise InvalidParameter("A Rényi conversion", "1 < order < infinity", order=orders)
    return orders, np.maximum(divergences, 0.0)
