"""Conversions between guarantees: one theorem, one function."""

from __future__ import annotations

import math
from collections.abc import Callable

from hush.errors import InvalidParameter


def renyi_to_epsilon(order: float, divergence: float, log_delta: float) -> float:
    """Canonne, Kamath, Steinke 2020, Prop. 12: (order, divergence)-RDP gives (epsilon, delta)-DP; at least 0.

    >>> renyi_to_epsilon(1000.0, 0.5, math.log(1e-100))
    0.722573828...
    """
    _check_order(order)
    return max(0.0, divergence + math.log1p(-1 / order) - (log_delta + math.log(order)) / (order - 1))


def renyi_to_epsilon_mironov(order: float, divergence: float, log_delta: float) -> float:
    """Mironov 2017, Prop. 3: the older, looser conversion.

    >>> renyi_to_epsilon_mironov(1000.0, 0.5, math.log(1e-100))
    0.730488998...
    """
    _check_order(order)
    return divergence - log_delta / (order - 1)


def renyi_to_log_delta(order: float, divergence: float, epsilon: float) -> float:
    """Canonne, Kamath, Steinke 2020, Prop. 12, the other way: log delta, at most 0.

    >>> math.exp(renyi_to_log_delta(2.0, 0.1, 1.0))
    0.101642414...
    """
    _check_order(order)
    return min(0.0, (order - 1) * (divergence - epsilon) - math.log(order - 1) + order * math.log1p(-1 / order))


def _check_order(order: float) -> None:
    if not order > 1:
        raise InvalidParameter("A Rényi conversion", "order > 1", order=order)


def best_order(objective: Callable[[float], float], largest: float = 1e6) -> tuple[float, float]:
    """Minimise over all real orders in (1, largest]: a scan on a logarithmic scale, then golden section."""
    steps = [10 ** (k / 8) for k in range(-32, int(8 * math.log10(largest)) + 1)]
    values = [objective(1 + step) for step in steps]
    best = min(range(len(steps)), key=values.__getitem__)
    low, high = math.log(steps[max(best - 1, 0)]), math.log(steps[min(best + 1, len(steps) - 1)])
    ratio = (math.sqrt(5) - 1) / 2
    order, value = 1 + steps[best], values[best]
    for _ in range(40):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        at_left, at_right = objective(1 + math.exp(left)), objective(1 + math.exp(right))
        if at_left < at_right:
            high = right
        else:
            low = left
        for point, reached in ((left, at_left), (right, at_right)):
            if reached < value:
                order, value = 1 + math.exp(point), reached
    return order, value


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
    return epsilon * math.sqrt(2 * times * -math.log(slack)) + times * epsilon * math.expm1(
        epsilon
    ), times * delta + slack
