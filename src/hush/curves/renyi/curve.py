"""Rényi curves: the divergence as a function of every real order from 1 to infinity."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from numbers import Real
from typing import overload

import numpy as np

from hush.arrays import Array
from hush.curves.bound import delta_of
from hush.curves.renyi import convert
from hush.curves.renyi.concentrated import least_slope
from hush.curves.renyi.convert_optimal import renyi_to_epsilon_optimal, renyi_to_log_delta_optimal
from hush.curves.renyi.declared import Declared, Each, Proven, checked
from hush.errors import InvalidParameter
from hush.numerics.minimum import minimum
from hush.numerics.work import asked, attempt, question


@dataclass(frozen=True, eq=False)
class RenyiCurve:
    """Upper bounds on the Rényi divergence at every real order: 1 is Kullback-Leibler, infinity the max divergence.

    Curves add when mechanisms compose (Mironov 2017, Prop. 1), `n * curve` is n releases, `largest` is whichever
    is worst. Orders may be one number or an array.

    >>> curve = RenyiCurve.linear(0.5)
    >>> curve(2.0), (3 * curve + curve)([2, 8]).tolist()
    (1.0, [4.0, 16.0])
    >>> curve.epsilon(delta=1e-5)
    4.728386...
    """

    function: Callable[[Array], Array]
    """Array of orders >= 1 to array of divergences (infinity where there is no bound)."""
    slope: float = math.inf
    """The curve is known to be at most slope times the order, for all orders: zCDP."""
    reach: int = 100_000
    """Largest order to which theorems sum over whole orders: fewer where a value is not in closed form."""
    attained: bool = False
    """One pair of neighbours attains the curve at every order (a declaration: lower bounds rest on it)."""
    mirrored: bool = False
    """Any two neighbouring outputs are mirror images, so odd Pearson-Vajda divergences are >= 0 (a declaration)."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "function", checked(self.function))
        if not self.slope >= 0:
            raise InvalidParameter("A Rényi curve", "slope >= 0", slope=self.slope)

    @classmethod
    def of(cls, divergence: Callable[[float], float], slope: float = math.inf) -> RenyiCurve:
        """From a function of one order; values are kept, and checked: numbers >= 0 that do not fall.

        At the orders 1 and infinity the function may have no value (NaN, or an exception): it says nothing there. An
        OverflowError stands for infinity, which is not a bound.

        >>> RenyiCurve.of(lambda order: 1 / order).epsilon(delta=1e-5)
        Traceback (most recent call last):
        hush.errors.InvalidParameter: A Rényi function needs divergences that do not fall as the order grows; ...
        """
        return cls(Declared.at_each(divergence), slope, reach=512)

    @classmethod
    def proven(cls, function: Callable[[Array], Array], slope: float = math.inf, reach: int = 100_000) -> RenyiCurve:
        """From a function of many orders that a theorem gives: bounds that need not grow."""
        return cls(Proven(function), slope, reach)

    @classmethod
    def each(cls, divergence: Callable[[float], float], slope: float = math.inf) -> RenyiCurve:
        """The same from a function of one order; values are kept."""
        return cls.proven(Each(divergence), slope, 512)

    @classmethod
    def linear(cls, slope: float) -> RenyiCurve:
        """slope times the order: Gaussian noise, zCDP."""
        return cls.proven(lambda orders: slope * orders, slope) if slope else ZERO

    @classmethod
    def constant(cls, bound: float) -> RenyiCurve:
        """The same at all orders: what is known of a mechanism by its max divergence alone."""
        if not bound >= 0:
            raise InvalidParameter("A Rényi curve", "divergences >= 0", bound=bound)
        return cls.proven(lambda orders: np.full(len(orders), bound))

    @classmethod
    def largest(cls, curves: Iterable[RenyiCurve]) -> RenyiCurve:
        """The pointwise largest: whichever is worst."""
        given = list(dict.fromkeys(_curves(curves)))
        if len(given) == 1:
            return given[0]
        slope, reach = max(curve.slope for curve in given), min(curve.reach for curve in given)
        return cls.proven(lambda orders: np.max([curve.function(orders) for curve in given], axis=0), slope, reach)

    @classmethod
    def least(cls, curves: Iterable[RenyiCurve]) -> RenyiCurve:
        """The pointwise least of bounds on the same divergences."""
        given = _curves(curves)
        slope, reach = min(curve.slope for curve in given), min(curve.reach for curve in given)
        return cls.proven(lambda orders: np.min([curve.function(orders) for curve in given], axis=0), slope, reach)

    def declaring(self, *, attained: bool = False, mirrored: bool = False) -> RenyiCurve:
        """The same curve with what its mechanism declares."""
        return replace(self, attained=attained, mirrored=mirrored)

    @overload
    def __call__(self, order: float) -> float: ...
    @overload
    def __call__(self, order: Iterable[float]) -> Array: ...
    def __call__(self, order: float | Iterable[float]) -> float | Array:
        given = order if np.ndim(order) or isinstance(order, Real) else list(order)  # type: ignore[arg-type]
        orders = np.asarray(given, dtype=float)
        if not np.all(orders >= 1):
            raise InvalidParameter("A Rényi curve", "orders from 1 to infinity", order=order)
        unknown = np.full(orders.size, math.inf)
        with question():
            values = attempt(lambda: self.function(orders.ravel()), unknown)
        return float(values[0]) if orders.ndim == 0 else values.reshape(orders.shape)

    # -- algebra ---------------------------------------------------------------------------------------------

    def __add__(self, other: RenyiCurve) -> RenyiCurve:
        if not isinstance(other, RenyiCurve):
            return NotImplemented
        slope, reach = self.slope + other.slope, min(self.reach, other.reach)
        return RenyiCurve.proven(lambda orders: self.function(orders) + other.function(orders), slope, reach)

    def __mul__(self, times: int) -> RenyiCurve:
        """So many releases. The product of a worst pair is worst for the repetition: `attained` stays."""
        if isinstance(times, bool) or not 0 <= times < math.inf or times != int(times):
            raise InvalidParameter("A Rényi curve", "a whole number of times >= 0", times=times)
        if times == 0:
            return ZERO
        releases = RenyiCurve.proven(lambda orders: times * self.function(orders), times * self.slope, self.reach)
        return releases.declaring(attained=self.attained)

    __rmul__ = __mul__

    # -- conversions -----------------------------------------------------------------------------------------

    def epsilon(self, *, delta: float) -> float:
        """Epsilon at delta, by Canonne, Kamath, Steinke 2020 at the best real order."""
        return self.epsilon_at(_log(delta))

    @asked
    def epsilon_at(self, log_delta: float) -> float:
        """Epsilon at e^log_delta, for what floats cannot hold."""
        top = self(math.inf)
        return min(top, self._best_epsilon(log_delta)[1]) if log_delta > -math.inf else top

    def delta(self, *, epsilon: float) -> float:
        """Delta at epsilon, by Canonne, Kamath, Steinke 2020 at the best real order."""
        return delta_of(self.log_delta(epsilon=epsilon))

    @asked
    def log_delta(self, *, epsilon: float) -> float:
        """log of delta at epsilon."""
        epsilon = _number("epsilon", epsilon)
        if epsilon >= self(math.inf):
            return -math.inf
        return min(0.0, minimum(lambda c: convert.renyi_to_log_delta(1 + c, self(1 + c), epsilon))[1])

    @asked
    def optimal_epsilon(self, *, delta: float) -> float:
        """The least epsilon at delta that follows from the whole curve (Asoodeh et al. 2021, at the best order).

        >>> RenyiCurve.linear(0.5).optimal_epsilon(delta=1e-5)
        4.728385...
        """
        log_delta, top = _log(delta), self(math.inf)
        if log_delta == -math.inf:
            return top
        return min(top, minimum(lambda c: renyi_to_epsilon_optimal(1 + c, self(1 + c), log_delta))[1])

    @asked
    def optimal_log_delta(self, *, epsilon: float) -> float:
        """log of the least delta at epsilon that follows from the whole curve (Asoodeh et al. 2021, best order)."""
        epsilon = _number("epsilon", epsilon)
        if epsilon >= self(math.inf):
            return -math.inf
        return min(0.0, minimum(lambda c: renyi_to_log_delta_optimal(1 + c, self(1 + c), epsilon))[1])

    @asked
    def best_order(self, *, delta: float) -> float:
        """The real order that gives the least epsilon at delta.

        >>> RenyiCurve.linear(0.5).best_order(delta=1e-5)
        5.4318...
        """
        return 1 + self._best_epsilon(_log(delta))[0]

    def _best_epsilon(self, log_delta: float) -> tuple[float, float]:
        return minimum(lambda c: convert.renyi_to_epsilon(1 + c, self(1 + c), log_delta))

    @asked
    def tradeoff(self, *, false_positive_rate: float) -> float:
        """A lower bound on the false negative rate of any attacker who tests Q (null) against P, at the best order.

        >>> RenyiCurve.linear(0.5).tradeoff(false_positive_rate=0.05)
        0.66442...
        """
        rate = _number("false_positive_rate", false_positive_rate)
        if not 0 <= rate <= 1:
            raise InvalidParameter("tradeoff", "0 <= false_positive_rate <= 1", false_positive_rate=rate)
        best = -minimum(lambda c: -convert.renyi_to_tradeoff(1 + c, self(1 + c), rate))[1]
        return max(best, convert.renyi_to_tradeoff(math.inf, self(math.inf), rate))

    @asked
    def to_zcdp(self) -> float:
        """The least rho for which this curve shows rho-zCDP (infinity where none is known).

        >>> (3 * RenyiCurve.linear(0.5)).to_zcdp()
        1.5
        """
        return least_slope(self, self.slope, math.inf)

    @asked
    def to_tcdp(self, *, omega: float) -> float:
        """The least rho for which this curve shows (rho, omega)-tCDP: the best straight fit above it below omega."""
        if not _number("omega", omega) > 1:
            raise InvalidParameter("to_tcdp", "omega > 1", omega=omega)
        return least_slope(self, self.slope, omega)


ZERO = RenyiCurve.proven(lambda orders: np.zeros(len(orders)), 0.0).declaring(attained=True, mirrored=True)
"""Nothing is released."""


def _curves(given: Iterable[RenyiCurve]) -> list[RenyiCurve]:
    found = list(given) if isinstance(given, Iterable) else []
    if not found or not all(isinstance(curve, RenyiCurve) for curve in found):
        raise InvalidParameter("A Rényi curve", "at least one curve, in a list", curves=given)
    return found


def _number(name: str, value: object) -> float:
    """The value, if it is a real number and not NaN: a comparison with that would decide nothing."""
    if isinstance(value, bool) or not isinstance(value, Real) or value != value:
        raise InvalidParameter("A Rényi curve", f"a number for {name}", **{name: value})
    return float(value)


def _log(delta: float) -> float:
    if not 0 <= _number("delta", delta) < 1:
        raise InvalidParameter("A Rényi curve", "0 <= delta < 1", delta=delta)
    return math.log(delta) if delta > 0 else -math.inf
