"""Conversions between guarantees: one theorem, one function."""

from __future__ import annotations

import math
import sys
from typing import Any, TypeVar

import numpy as np

from hush.arrays import Array
from hush.errors import InvalidParameter
from hush.numerics.rounding import LARGEST_EXPONENT, UNIT

Number = TypeVar("Number", float, Array)
"""A float, or an array of floats for many orders at once."""


def renyi_to_epsilon(order: Number, divergence: Number, log_delta: Array | float) -> Number:
    """Canonne, Kamath, Steinke 2020, Prop. 12: (order, divergence)-RDP gives (epsilon, delta)-DP; at least 0.

    Orders and divergences may be arrays.

    >>> renyi_to_epsilon(1000.0, 0.5, math.log(1e-100))
    0.722573828...
    """
    _check_order(order)
    return plain(np.maximum(0.0, divergence + np.log1p(-1 / order) - (log_delta + np.log(order)) / (order - 1)))


def renyi_to_epsilon_mironov(order: Number, divergence: Number, log_delta: float) -> Number:
    """Mironov 2017, Prop. 3: the older, looser conversion.

    >>> renyi_to_epsilon_mironov(1000.0, 0.5, math.log(1e-100))
    0.730488998...
    """
    _check_order(order)
    return plain(divergence - log_delta / (order - 1))


def renyi_to_log_delta(order: Number, divergence: Number, epsilon: float) -> Number:
    """Canonne, Kamath, Steinke 2020, Prop. 12, the other way: log delta, at most 0.

    >>> math.exp(renyi_to_log_delta(2.0, 0.1, 1.0))
    0.101642414...
    """
    _check_order(order)
    return plain(np.minimum(0.0, _spent(order, divergence, epsilon) - np.log(order - 1) + order * np.log1p(-1 / order)))


def renyi_to_log_delta_mironov(order: Number, divergence: Number, epsilon: float) -> Number:
    """Mironov 2017, Prop. 3, the other way: log delta, at most 0.

    >>> math.exp(renyi_to_log_delta_mironov(2.0, 0.1, 1.0))
    0.406569659...
    """
    _check_order(order)
    return plain(np.minimum(0.0, _spent(order, divergence, epsilon)))


def _spent(order: Array | float, divergence: Array | float, epsilon: float) -> Array:
    """(order - 1) (divergence - epsilon); a logarithm below all floats is the least float, as delta is not 0."""
    with np.errstate(over="ignore"):
        return np.maximum((order - 1) * (divergence - epsilon), -sys.float_info.max)


def renyi_to_tradeoff(order: Number, divergence: Number, rate: float) -> Number:
    """Least false negative rate at a false positive rate, testing Q against P, where D_order(P || Q) <= divergence.

    A test is a two-point pair, and no divergence grows when outputs are merged (data processing): with true positive
    rate y, order * log y - (order-1) log rate, and the same for the complements, must not exceed the moment. The
    largest y is found by halving, and rounded up. At infinite order y <= e^divergence rate, and the complements alike.

    >>> round(renyi_to_tradeoff(4.0, 2.0, 0.05), 6)
    0.6...
    """
    orders, divergences = np.asarray(order, dtype=float), np.asarray(divergence, dtype=float)
    if rate >= 1:
        return plain(np.zeros(orders.shape))
    if rate == 0:
        return plain(np.where(np.isfinite(divergences), 1.0, 0.0))
    log_rate, log_other = math.log(rate), math.log1p(-rate)
    # e^divergence rate, cut at e^700: past 1 the limit is below 0 anyway, and 0 is taken
    limit = -np.expm1(np.minimum(divergences + log_rate, LARGEST_EXPONENT))
    limit = np.maximum(np.maximum(limit, (1 - rate) * np.exp(-divergences)), 0.0) * (1 - 8 * UNIT)
    finite = np.where(np.isinf(orders), 2.0, orders)
    allowed = (finite - 1) * divergences
    # low: the least false negative rate is at least this; halving in it keeps the digits of small ones
    low, high = np.zeros(orders.shape), np.full(orders.shape, 1 - rate)
    for _ in range(80):
        middle = np.where(low > 0, np.sqrt(low * high), high * 1e-3)  # any place between will do: `over` decides
        with np.errstate(divide="ignore"):
            hit = finite * np.log1p(-middle) - (finite - 1) * log_rate
            missed = finite * np.log(middle) - (finite - 1) * log_other
        size = np.abs(hit) + np.abs(missed) + finite * (abs(log_rate) + abs(log_other))
        over = np.logaddexp(hit, missed) > allowed + 16 * UNIT * size
        low, high = np.where(over, middle, low), np.where(over, high, middle)
    return plain(np.where(np.isinf(orders), limit, low))


def _check_order(order: Array | float) -> None:
    if not np.all(np.asarray(order) > 1):
        raise InvalidParameter("A Rényi conversion", "order > 1", order=order)


def plain(value: Array | float) -> Any:
    """A float for a single order, an array for several."""
    return float(value) if np.ndim(value) == 0 else value


def amplify(epsilon: float, delta: float, rate: float) -> tuple[float, float]:
    """Balle, Barthe, Gaboardi 2018, Thm 8: a sample of this rate makes (eps, delta) into (log(1+q(e^eps-1)), q delta).

    >>> amplify(1.0, 1e-6, 0.01)
    (0.017036863..., 1e-08)
    """
    return math.log1p(rate * math.expm1(epsilon)), rate * delta


def amplify_inverse(epsilon: float, delta: float, rate: float) -> tuple[float, float]:
    """The guarantee that a sampled mechanism may have so that the whole meets (epsilon, delta).

    >>> amplify_inverse(0.1, 1e-8, 0.5)
    (0.190902828..., 2e-08)
    """
    return math.log1p(math.expm1(epsilon) / rate), delta / rate


def group_delta(epsilon: float, delta: float, size: int) -> tuple[float, float]:
    """A group of t records: (t eps, delta (e^{t eps} - 1)/(e^eps - 1)) (Vadhan 2017, Lemma 2.2).

    >>> group_delta(0.5, 1e-6, 2)
    (1.0, 2.6487212...e-06)
    """
    if size * epsilon > 700:
        return size * epsilon, 1.0 if delta > 0 else 0.0
    factor = math.expm1(size * epsilon) / math.expm1(epsilon) if epsilon > 0 else float(size)
    return size * epsilon, min(1.0, delta * factor)


def advanced_composition(epsilon: float, delta: float, times: int, slack: float) -> tuple[float, float]:
    """Dwork, Rothblum, Vadhan 2010: eps sqrt(2k ln(1/slack)) + k eps (e^eps - 1), k delta + slack. For comparison only.

    >>> advanced_composition(0.5, 1e-8, 30, 1e-7)
    (25.279820146..., 4e-07)
    """
    if slack <= 0:  # the theorem needs some: without it, it says nothing
        return math.inf, times * delta
    return epsilon * math.sqrt(2 * times * -math.log(slack)) + times * epsilon * math.expm1(
        epsilon
    ), times * delta + slack
