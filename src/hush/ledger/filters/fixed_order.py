"""One Rényi order, fixed in advance: the default filter."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hush.arrays import Array
from hush.checks import number
from hush.curves.renyi.convert import renyi_to_epsilon
from hush.errors import InvalidParameter
from hush.ledger.filters.filter import Filter, Units, divergence
from hush.ledger.filters.whole_units import allowed
from hush.mechanisms.mechanism import Mechanism
from hush.numerics.minimum import minimum
from hush.numerics.rounding import UNIT

ROUNDED = 1e-14
"""Part of a limit that is not spent: closed forms of divergences are floats, off by a few units of 2^-52 each."""
WHOLE = 4.0
"""Orders above it are whole numbers: nothing is lost, and they can be read."""
FINE = 64
"""Below it they are multiples of 1/64."""


@dataclass(frozen=True)
class RenyiFilter(Filter):
    """Divergences of one order add up to at most B = epsilon + log(delta/c)/(order-1), c = (1-1/order)^(order-1)/order.

    Feldman, Zrnic 2021, Thm 3.1: then the divergence of all answers together is at most B, for every way to choose the
    next release, and (epsilon, delta) follows (Canonne, Kamath, Steinke 2020, Prop. 12). The order must be chosen
    before the first release: by default that of the Gaussian noise that just meets (epsilon, delta).

    >>> import hush
    >>> filter = RenyiFilter(epsilon=2.0, delta=1e-6)
    >>> filter.order, filter.limits[0] // filter.cost(hush.Gaussian(10.0))[0]
    (12.0, 17)
    """

    epsilon: float
    delta: float
    order: float = 0.0

    def __post_init__(self) -> None:
        who = "RenyiFilter"
        number(who, "0 <= epsilon <= 700", 0, 700, epsilon=self.epsilon)
        number(who, "1e-300 <= delta < 1", 1e-300, 1, high_open=True, delta=self.delta)
        if self.order == 0:
            object.__setattr__(self, "order", best_order(self.epsilon, self.delta))
        number(who, "1 < order <= 1e6", 1, 1e6, low_open=True, order=self.order)
        if self.limits[0] <= 0:
            raise InvalidParameter(who, "an order at which something may be spent", order=self.order)

    def limited(self) -> Units:
        return (allowed(order_budget(self.order, self.epsilon, math.log(self.delta)) * (1 - ROUNDED)),)

    def cost(self, mechanism: Mechanism) -> Units:
        return (divergence(mechanism, self.order),)

    def promised(self, delta: float) -> float:
        if delta == self.delta:
            return self.epsilon
        whole = order_budget(self.order, self.epsilon, math.log(self.delta))
        return float(renyi_to_epsilon(self.order, whole, math.log(delta))) if delta > 0 else math.inf

    @property
    def told_at(self) -> float:
        return self.delta

    @property
    def theorem(self) -> str:
        return (
            f"Rényi divergences of order {self.order:g}, fixed in advance, add up to at most "
            f"{order_budget(self.order, self.epsilon, math.log(self.delta)):.6g} (Feldman, Zrnic 2021)"
        )


def log_constant(order: float | Array) -> Array:
    """log of c = (1/a)(1 - 1/a)^(a-1): (1 - e^(epsilon-l))_+ <= c e^((a-1)(l-epsilon)) for all l."""
    return (order - 1) * np.log1p(-1 / np.asarray(order)) - np.log(order)


def order_budget(order: float, epsilon: float, log_delta: float) -> float:
    """B of one order, rounded down: a divergence of at most B gives (epsilon, delta)."""
    log_c = float(log_constant(order))
    size = epsilon + (abs(log_delta) + abs(log_c)) / (order - 1)
    return epsilon + (log_delta - log_c) / (order - 1) - 16 * UNIT * size


def best_order(epsilon: float, delta: float) -> float:
    """The order of the Gaussian noise that just meets (epsilon, delta): at it, B/order is largest.

    >>> [best_order(epsilon, delta) for epsilon, delta in ((4.0, 1e-5), (2.0, 1e-6), (1.0, 1e-6))]
    [6.0, 12.0, 22.0]
    """
    log_delta = math.log(delta)

    def negative(c: Array) -> Array:
        return -(epsilon + (log_delta - log_constant(1 + c)) / c) / (1 + c)

    best = min(1 + minimum(negative, high=1e5, farthest=1e6)[0], 1e6)
    return float(round(best)) if best >= WHOLE else max(round(best * FINE), FINE + 1) / FINE
