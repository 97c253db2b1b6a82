"""The functions behind Rényi curves, each value checked: those that a user declares, and those that hush has proven.

A value that is not a number must never reach a comparison: min and max drop it, and nothing would be left of the bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from hush.arrays import Array
from hush.errors import Contradiction, HushError, InvalidParameter
from hush.numerics.work import attempt

Function = Callable[[Array], Array]
"""Orders >= 1 to divergences; infinity where there is no bound."""

WHO = "A Rényi function"
RULE = "a number >= 0 at every order (infinity: no bound), not NaN"
RISING = "divergences that do not fall as the order grows"
MOMENT_ROUNDING = 1e-12
"""Errors of the logarithm of a moment; a divergence is that over order - 1, and so has this over order - 1."""
NOISE = 1e-7
"""A divergence may fall by this share, as quadrature is no better. Each value is a bound on its own: no risk."""
NEAR_ONE = 1 + 1e-6
"""Stands for order 1 where a formula has no value there: divergences grow with the order."""
PROBES = np.array([1.001, 1.05, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 32.0, 100.0, 1024.0])
"""Orders that are asked beside infinity, as the answer there may be the only one that is used."""


class Proven:
    """A function that follows from a theorem: each value is a number, and what rounding puts below 0 is 0."""

    def __init__(self, function: Function) -> None:
        self._function = function

    def __call__(self, orders: Array) -> Array:
        with np.errstate(over="ignore"):  # past all floats there is no bound
            values = np.asarray(self._function(orders), dtype=float)
        if np.isnan(values).any():
            raise Contradiction(0.0, math.nan)
        return np.maximum(values, 0.0)


class Declared:
    """A user's function of many orders: numbers >= 0 that do not fall, over all that was ever asked.

    At the orders 1 and infinity a formula may have no value (0/0, inf/inf): there NaN or an exception says nothing.
    Infinity is then the bound, or at order 1 that of an order just above. At all other orders both are errors.
    """

    def __init__(self, function: Function) -> None:
        self._function = function
        self._orders, self._values = np.empty(0), np.empty(0)

    @classmethod
    def at_each(cls, divergence: Callable[[float], float]) -> Declared:
        """From a function of one order; values are kept. OverflowError is infinity: a value past all floats."""
        return cls(Each(lambda order: _asked(divergence, order)))

    def __call__(self, orders: Array) -> Array:
        values = self._checked(orders)
        self._remember(orders, values)
        if np.any(np.isinf(orders) & np.isfinite(values)):  # a bound on all orders: do some of them contradict it?
            self._remember(PROBES, self._checked(PROBES))
        unknown = np.isnan(values)
        values[unknown] = math.inf
        if np.any(unknown & (orders == 1)):
            values[unknown & (orders == 1)] = self._checked(np.array([NEAR_ONE]))
        return values

    def _checked(self, orders: Array) -> Array:
        """What the function says, with NaN only where it may have no value."""
        values = numbers(self._function, orders, WHO, RULE)
        limit = (orders == 1) | np.isinf(orders)
        # a comparison with NaN is false
        wrong = ~(values >= -_rounding(orders)) & ~(limit & np.isnan(values))
        if np.any(wrong):
            raise InvalidParameter(WHO, RULE, order=float(orders[wrong][0]), divergence=float(values[wrong][0]))
        return np.maximum(values, 0.0)

    def _remember(self, orders: Array, values: Array) -> None:
        """Compare with what was said before; infinity and NaN are no statement."""
        said = np.isfinite(values)
        known = np.concatenate([self._orders, orders[said]])
        place = np.argsort(known, kind="stable")
        known, found = known[place], np.concatenate([self._values, values[said]])[place]
        falls = np.flatnonzero(found[1:] < found[:-1] * (1 - NOISE) - 2 * _rounding(known[:-1]))
        if len(falls):
            shown = [(float(known[k]), float(found[k])) for k in (falls[0], falls[0] + 1)]
            raise InvalidParameter(WHO, RISING, order_and_divergence=shown[0], next_one=shown[1])
        new = np.append(True, known[1:] > known[:-1])[: len(known)]
        self._orders, self._values = known[new], found[new]


class Each:
    """A function of one order at each of many, kept."""

    def __init__(self, divergence: Callable[[float], float]) -> None:
        self._divergence = divergence
        self._known: dict[float, float] = {}

    def __call__(self, orders: Array) -> Array:
        for order in orders.tolist():
            if order not in self._known:
                self._known[order] = attempt(lambda: self._divergence(order), math.inf)  # noqa: B023
        return np.array([self._known[order] for order in orders.tolist()])


def checked(function: Function) -> Function:
    """The function as it is if its values are checked already; else it is a user's."""
    return function if isinstance(function, Proven | Declared) else Declared(function)


def _rounding(orders: Array) -> Array:
    above = np.where(orders > 1, orders - 1, 1.0)
    return MOMENT_ROUNDING / above


def _asked(divergence: Callable[[float], float], order: float) -> float:
    try:
        with np.errstate(all="ignore"):
            return _number(divergence(order))
    except HushError:
        raise
    except OverflowError:
        return math.inf
    except Exception as failure:
        if order == 1 or order == math.inf:
            return math.nan
        raise InvalidParameter(WHO, RULE, order=order, raised=repr(failure)) from failure


def _number(value: Any) -> float:
    if isinstance(value, bool | np.bool_ | str | bytes) or np.iscomplexobj(value):
        raise TypeError("no real number")
    return float(value)


def numbers(function: Function, rows: Array, who: str, rule: str) -> Array:
    """What a user's function says, a real number for each row; whatever else it does becomes a named error."""
    try:
        with np.errstate(all="ignore"):  # what comes of it is checked
            found = np.asarray(function(rows))
        if found.dtype.kind not in "fiuO" or found.shape != rows.shape[:1]:
            raise TypeError("no real number for each row")
        return np.array(found, dtype=float)
    except HushError:
        raise
    except Exception as failure:
        raise InvalidParameter(who, rule, rows=len(rows), raised=repr(failure)) from failure
