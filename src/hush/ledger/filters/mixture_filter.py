"""Several Rényi orders at once, each with a weight: for releases whose best order is not known in advance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from hush.checks import listed, number
from hush.errors import InvalidParameter, NotCovered
from hush.ledger.filters.filter import Filter, Units, divergence
from hush.ledger.filters.fixed_order import FINE, best_order, order_budget
from hush.ledger.filters.whole_units import UNITS, allowed
from hush.mechanisms.mechanism import Mechanism
from hush.numerics.rounding import UNIT

MOST_ORDERS = 64
"""Orders of a mixture: each adds a number to every entry of a book, which has room for so many."""
LOST = 10**6 * UNITS
"""An order at which so much is spent, or something infinite, no longer counts."""
SPREAD = (0.5, 0.75, 1.0, 1.5, 2.25)
"""Orders that are taken unless others are given, as multiples (above 1) of the best one for Gaussian noise."""
HALVINGS = 30
"""Of the interval that holds the largest loss; whatever is left of it is charged."""


@dataclass(frozen=True)
class MixtureFilter(Filter):
    """Admits while sup over l of (1 - e^(epsilon-l))_+ / sum of w_a e^((a-1)(l-S(a))) is at most delta.

    S(a) is the sum of the divergences of order a, and the weights add up to at most 1. The sum in the denominator, at
    the loss of all answers, is a supermartingale that starts below 1: see docs/theory/filters.md. It admits no less
    than giving each order its share w_a delta, and stopping when the last of them is used up.

    >>> import hush
    >>> filter = MixtureFilter(epsilon=2.0, delta=1e-6)
    >>> cost = filter.cost(hush.Gaussian(10.0))
    >>> [filter.admits(tuple(n * part for part in cost)) for n in (15, 18)]
    [True, False]
    """

    epsilon: float
    delta: float
    orders: tuple[float, ...] = ()
    weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        who = "MixtureFilter"
        number(who, "0 <= epsilon <= 700", 0, 700, epsilon=self.epsilon)
        number(who, "1e-300 <= delta < 1", 1e-300, 1, high_open=True, delta=self.delta)
        rule = f"at most {MOST_ORDERS} different orders, 1 < order <= 1e6"
        orders = listed(who, rule, orders=self.orders or default_orders(self.epsilon, self.delta))
        orders = tuple(number(who, rule, 1, 1e6, low_open=True, orders=order) for order in orders)
        given = listed(
            who, "a list of weights", weights=self.weights or (math.nextafter(1 / len(orders), 0),) * len(orders)
        )
        weights = tuple(number(who, "0 < weights <= 1", 0, 1, low_open=True, weights=w) for w in given)
        if len(set(orders)) != len(orders) or len(orders) > MOST_ORDERS:
            raise InvalidParameter(who, rule, orders=orders)
        if len(weights) != len(orders) or sum(map(Fraction, weights)) > 1:
            raise InvalidParameter(who, "one weight per order, at most 1 in all", weights=weights)
        object.__setattr__(self, "orders", orders)
        object.__setattr__(self, "weights", weights)

    def limited(self) -> Units:
        """What each order alone could spend: they are for people to read; `admits` decides."""
        return tuple(max(allowed(self._alone(a, w)), 1) for a, w in zip(self.orders, self.weights, strict=True))

    def _alone(self, order: float, weight: float) -> float:
        return order_budget(order, self.epsilon, math.log(self.delta) + math.log(weight))

    def cost(self, mechanism: Mechanism) -> Units:
        found = tuple(_divergence_or_lost(mechanism, order) for order in self.orders)
        if all(part >= LOST for part in found):
            raise NotCovered("a charge without a finite Rényi divergence at any order of the filter")
        return found

    def admits(self, spent: Units) -> bool:
        kept = [
            (order - 1, math.log(weight), part / UNITS * (1 + 2 * UNIT))
            for order, weight, part in zip(self.orders, self.weights, spent, strict=True)
            if part < LOST
        ]
        return bool(kept) and log_worst_delta(kept, self.epsilon) <= math.log(self.delta)

    def share(self, spent: Units) -> float:
        return min(part / limit for part, limit in zip(spent, self.limits, strict=True))

    def promised(self, delta: float) -> float:
        return self.epsilon if delta >= self.delta else math.inf

    @property
    def told_at(self) -> float:
        return self.delta

    @property
    def theorem(self) -> str:
        return f"a mixture of {len(self.orders)} Rényi orders, fixed in advance (docs/theory/filters.md)"


def default_orders(epsilon: float, delta: float) -> tuple[float, ...]:
    """Orders around the best one for Gaussian noise."""
    best = best_order(epsilon, delta)
    return tuple(dict.fromkeys(1 + max(round((best - 1) * part * FINE), 1) / FINE for part in SPREAD))


def _divergence_or_lost(mechanism: Mechanism, order: float) -> int:
    try:
        return min(divergence(mechanism, order), LOST)
    except NotCovered:
        return LOST


def log_worst_delta(parts: list[tuple[float, float, float]], epsilon: float) -> float:
    """log of the largest (1 - e^-x) / sum of w e^(c (x + epsilon - S)) over x > 0, rounded up; parts are (c, log w, S).

    Its logarithm is concave in x, with slope 1/(e^x - 1) minus a mean of the c: the place of the maximum lies where
    1/(e^x - 1) is between the least and the largest c. The tangents at both ends of an interval bound it.

    >>> log_worst_delta([(1.0, 0.0, 0.0)], 0.0) >= math.log(0.25)
    True
    """
    low = math.log1p(1 / max(c for c, _, _ in parts)) * (1 - 1e-9)
    high = math.log1p(1 / min(c for c, _, _ in parts)) * (1 + 1e-9)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _height(parts, epsilon, middle)[1] > 0 else (low, middle)
    (bottom, rise, size), (top, fall, other) = _height(parts, epsilon, low), _height(parts, epsilon, high)
    bound = max(bottom + max(rise, 0.0) * (high - low), top + max(-fall, 0.0) * (high - low))
    return bound + 64 * UNIT * max(size, other)


def _height(parts: list[tuple[float, float, float]], epsilon: float, x: float) -> tuple[float, float, float]:
    """The logarithm at x, its slope, and the size of the numbers that it is made of."""
    exponents = [log_w + c * (x + epsilon - spent) for c, log_w, spent in parts]
    largest = max(exponents)
    terms = [math.exp(e - largest) for e in exponents]
    whole = math.fsum(terms)
    slope = 1 / math.expm1(x) - math.fsum(c * t for (c, _, _), t in zip(parts, terms, strict=True)) / whole
    size = 1 + max(abs(log_w) + c * (x + epsilon + spent) for c, log_w, spent in parts)
    return math.log(-math.expm1(-x)) - largest - math.log(whole), slope, size
