"""Rényi curves in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import special

from hush.arrays import Array
from hush.curves.renyi.curve import RenyiCurve
from hush.curves.renyi.declared import numbers
from hush.errors import InvalidParameter
from hush.numerics.rounding import UNIT
from hush.numerics.work import spend

PARTITION = "A log-partition"
FLAT = 1e-9
"""A log-partition that bends down by no more than this is taken to be rounded: a user's may have few digits."""
LARGEST_ORDER = 1e12
"""Past this the largest loss stands for the divergence, which is below it by less than 1e-9."""
LEAST_STIRLING = 16.0
"""Past it five terms of Stirling's series leave 691/360360 x^-11, at most 1.1e-16."""
BETA_ROUNDING = 16 * UNIT
"""Rounding of log B(a, b) in units of its terms, of which there are up to four: log-gammas of scipy are off by four."""
ENTRIES = 1 << 18
"""Orders times losses that are evaluated at once."""


def laplace(bound: float) -> RenyiCurve:
    """Laplace noise with 1/scale = bound (Mironov 2017, Prop. 6), without cancellation for small bounds.

    With u = (a-1) bound and v = a bound the moment is 1 + [a (e^u - 1 - u) + (a-1) (e^{-v} - 1 + v)] / (2a - 1).

    >>> laplace(0.5)([1, 2, math.inf]).round(4).tolist()
    [0.1065, 0.2003, 0.5]
    """

    def divergence(orders: Array) -> Array:
        a = np.where(np.isinf(orders) | (orders == 1), 2.0, orders)
        u, v = (a - 1) * bound, a * bound
        far = u > 500
        excess = a * _past_first(np.where(far, 1.0, u)) + (a - 1) * _past_first(-np.where(far, 1.0, v))
        near = np.log1p(excess / (2 * a - 1)) / (a - 1)
        # beyond e^500 the second term is nothing
        moment = np.where(far, bound + np.log(a / (2 * a - 1)) / (a - 1), near) * (1 + 8 * UNIT)
        limit = float(_past_first(np.array(-bound))) * (1 + 8 * UNIT)
        return np.where(np.isinf(orders), bound, np.where(orders == 1, limit, np.minimum(moment, bound)))

    return RenyiCurve.proven(divergence, bound * bound / 2)


def finite(losses: Array, log_q: Array, only_q: float = 0.0, blur: float = 0.0) -> RenyiCurve:
    """Finitely many losses with the logarithms of their Q-mass, and the Q-mass where P has none.

    The moment is 1 + E_Q[r^a - 1 - a (r - 1)], r = e^loss, and no term of it is negative: small ones keep their digits.

    >>> finite(np.array([-1.0, 1.0]), np.log([0.75, 0.25]))(math.inf)
    1.0
    """
    largest = float(losses.max(initial=0.0)) * (1 + blur)
    size = float(np.abs(losses).max(initial=0.0))

    def divergence(orders: Array) -> Array:
        values = np.full(len(orders), largest)
        if np.any(orders == 1):
            values[orders == 1] = min((_mean(losses, log_q) + only_q) * (1 + 64 * UNIT + 8 * blur), largest)
        inner = np.flatnonzero((orders > 1) & (orders <= LARGEST_ORDER))
        for rows in np.array_split(inner, 1 + len(inner) * len(losses) // ENTRIES):
            spend(30 * len(rows) * len(losses))
            a = orders[rows]
            total = np.logaddexp.reduce(log_q + _log_power_rest(losses, a[:, None]), axis=1)
            if only_q > 0:
                total = np.logaddexp(total, math.log(only_q) + np.log(a - 1))
            moment = np.logaddexp(0.0, total + 64 * UNIT + (8 * UNIT + blur) * a * size)
            values[rows] = np.minimum(moment / (a - 1) * (1 + 4 * UNIT), largest)
        return values

    return RenyiCurve.proven(divergence)


def bounded_range(range_: float) -> RenyiCurve:
    """Any mechanism whose loss has this range: sup over t of the two-point pair with losses t, t - range.

    Dong, Durfee, Rogers 2020, Lemma 3.2. The best t is explicit; with g(y) = log(sinh(y/2)/(y/2)) the divergence is
    g(a r) - g((a-1) r) + (g(a r) - g(r))/(a-1), which is at most a r^2/8 (Cesar, Rogers 2021).

    >>> bounded_range(1.0)([1, 2, math.inf]).round(4).tolist()
    [0.1233, 0.2402, 1.0]
    """

    def divergence(orders: Array) -> Array:
        a = np.where(np.isinf(orders), 2.0, orders)
        with np.errstate(invalid="ignore", divide="ignore"):
            rest = np.where(a > 1, (_log_sinhc(a * range_) - _log_sinhc(range_)) / (a - 1), _slope(range_) * range_)
        value = _log_sinhc(a * range_) - _log_sinhc((a - 1) * range_) + rest
        slack = 16 * UNIT * (_log_sinhc(a * range_) + value)
        return np.where(np.isinf(orders), range_, np.minimum(value + slack, np.minimum(a * range_**2 / 8, range_)))

    return RenyiCurve.proven(divergence, range_ * range_ / 8)


def _log_sinhc(y: Array | float) -> Array:
    """log(sinh(y/2)/(y/2)) = sum_k (-1)^{k+1} zeta(2k)/k (y/2pi)^{2k}."""
    y = np.asarray(y, dtype=float)
    far = np.maximum(y, 1.0)
    square = (np.minimum(y, 1.0) / (2 * math.pi)) ** 2
    series = np.zeros_like(square)
    for k in range(12, 0, -1):
        series = square * (_ZETA[k] / k - series)
    return np.where(y < 1, series, far / 2 + np.log1p(-np.exp(-far)) - np.log(far))


_ZETA = [math.inf, *special.zeta(2.0 * np.arange(1, 13)).tolist()]
"""zeta(2k) for k = 1 .. 12: for y <= 1 the term after the last is below (1/2pi)^24 < 1e-19 of the first."""


def _slope(y: float) -> float:
    """Derivative of _log_sinhc."""
    if y >= 1:
        return 0.5 / math.tanh(y / 2) - 1 / y
    share = y / (2 * math.pi)
    return sum((-1) ** (k + 1) * _ZETA[k] * share ** (2 * k - 1) for k in range(1, 13)) / math.pi


def _past_first(x: Array) -> Array:
    """e^x - 1 - x, with small relative error."""
    near = np.clip(x, -0.5, 0.5)  # the first term that is left out is 2 (1/2)^13/15! < 2e-16 of the whole
    series = np.zeros_like(near)
    for k in range(14, 1, -1):
        series = (series + 1) * near / k
    return np.where(np.abs(x) <= 0.5, series * near, np.expm1(x) - x)


def _mean(losses: Array, log_q: Array) -> float:
    """E_Q[r log r - r + 1], r = e^loss, each term as e^max(loss, 0) times something moderate."""
    up, down = np.maximum(losses, 0.0), np.clip(losses, -40.0, 0.0)  # r log r - r + 1 is 1 at e^-40, to the last digit
    rising, falling = _past_first(-up), np.exp(down) * _past_first(-down)
    return float((np.exp(log_q + up) * np.where(losses > 0, rising, falling)).sum())


def _log_power_rest(losses: Array, order: Array) -> Array:
    """log of an upper bound on r^a - 1 - a (r - 1) at r = e^loss, a > 1: never negative, by Bernoulli."""
    size = order * np.abs(losses)
    l = np.where(size > 600, 0.0, losses)
    first, second = _past_first(order * l), order * _past_first(l)
    value = first - second + 8 * UNIT * second
    # for a |l| < 1/2 the two nearly agree: sum_k l^k/k! a (a^{k-1} - 1) instead
    x = np.where(size < 0.5, losses, 0.0)
    series, power = np.zeros_like(size), x
    for k in range(2, 16):
        power = power * x / k
        series = series + power * (order * np.expm1((k - 1) * np.log(order)))
    value = np.where(size < 0.5, series, value)
    with np.errstate(divide="ignore"):
        # r^a vanishes there, and a (1 - r) - 1 is left; 1e-300 stands for what is not above 0
        falling = np.log(np.maximum(-1 - order * np.expm1(np.minimum(losses, 0.0)), 1e-300))
        log_value = np.log(np.maximum(value, 0.0))
    return np.where(size > 600, np.where(losses > 0, order * losses, falling), log_value)


def skellam_vector(variance: float, l1: float, l2: float) -> RenyiCurve:
    """Skellam noise on an integer vector with L1 and L2 sensitivity (Agarwal, Kairouz, Liu 2021, Thm 3.5).

    a l2^2/(2 v) + min{((2a - 1) l2^2 + 6 l1)/(4 v^2), 3 l1/(2 v)} at whole orders a; between them by convexity.

    >>> skellam_vector(10.0, 1.0, 1.0)(2)
    0.1225
    """

    def whole(a: Array) -> Array:
        rest = np.minimum(((2 * a - 1) * l2 * l2 + 6 * l1) / (4 * variance * variance), 3 * l1 / (2 * variance))
        return a * l2 * l2 / (2 * variance) + rest

    def divergence(orders: Array) -> Array:
        low = np.maximum(np.floor(np.minimum(orders, 1e15)), 1.0)  # past 2^53 all floats are whole numbers
        share = orders - low
        with np.errstate(invalid="ignore", divide="ignore"):
            moment = (1 - share) * (low - 1) * whole(low) + share * low * whole(low + 1)
            between = np.where((low == 1) | (orders == 1), whole(np.full(len(orders), 2.0)), moment / (orders - 1))
        return np.where(np.isinf(orders), math.inf, np.where((share == 0) & (orders > 1), whole(orders), between))

    # below order 2 the value is that at 2, past it the rest is at most 3 l1/(2 v)
    slope = max(float(whole(np.array(2.0))), l2 * l2 / (2 * variance) + 3 * l1 / (4 * variance))
    return RenyiCurve.proven(divergence, slope)


def exponential_family(log_partition: Callable[[Array], Array], above: Array, below: Array) -> RenyiCurve:
    """Two members of one exponential family, by their natural parameters (Geumlek, Song, Chaudhuri 2017, Prop. 4).

    D_a = [A(a above + (1-a) below) - a A(above) - (1-a) A(below)]/(a - 1), infinite where that parameter leaves the
    natural domain. log_partition takes rows of parameters and gives infinity outside of the domain. It is convex, so
    that no divergence is negative: one that is shows that it is no log-partition.

    >>> curve = exponential_family(lambda eta: eta[:, 0] ** 2 / 2, np.array([1.0]), np.array([0.0]))
    >>> curve([2.0, 8.0]).round(9).tolist()
    [1.0, 4.0]
    """
    above, below = np.atleast_1d(np.asarray(above, dtype=float)), np.atleast_1d(np.asarray(below, dtype=float))
    ends = _partitions(log_partition, np.stack([above, below]))
    if not np.all(np.isfinite(ends)):
        raise InvalidParameter(PARTITION, "neighbours in the natural domain", values=ends.tolist())

    def divergence(orders: Array) -> Array:
        values = np.full(len(orders), math.inf)
        inner = np.isfinite(orders)
        a = np.maximum(orders[inner], 1 + 1e-6)  # divergences grow with the order: just above 1 stands for 1
        middle = _partitions(log_partition, below + a[:, None] * (above - below))
        terms = middle - a * ends[0] + (a - 1) * ends[1]
        slack = 16 * UNIT * (np.abs(middle) + a * abs(ends[0]) + (a - 1) * abs(ends[1]))
        if np.any(terms + 4 * slack < -FLAT):
            raise InvalidParameter(PARTITION, "a convex function", order=float(a[np.argmin(terms)]))
        values[inner] = np.where(np.isfinite(middle), np.maximum(terms + slack, 0.0) / (a - 1), math.inf)
        return values

    return RenyiCurve.proven(divergence)


def _partitions(log_partition: Callable[[Array], Array], rows: Array) -> Array:
    """A user's log-partition at each row, infinite where it has no value."""
    values = numbers(log_partition, rows, PARTITION, "a number for each row of natural parameters")
    return np.where(np.isfinite(values), values, math.inf)


def log_beta(eta: Array) -> Array:
    """Log-partition of the Beta family, at rows (a, b); infinite unless both are above 0."""
    return log_beta_ends(eta)[0]


def log_beta_ends(eta: Array) -> tuple[Array, Array]:
    """log B(a, b) at rows (a, b), and a bound on its rounding error.

    Where a number is at least 16 its log-gamma is Stirling's formula, and what is large in it cancels by hand (DiDonato
    and Morris 1992, Sec. 2). The sum of three log-gammas loses seven digits at (10^6, 1).

    >>> value, error = log_beta_ends(np.array([[2.0, 3.0], [1e6, 1.0]]))
    >>> np.exp(-value).round(6).tolist(), bool((error < 1e-12).all())
    ([12.0, 1000000.0], True)
    """
    inside = np.all(eta > 0, axis=1)
    small, large = (np.where(inside, end(eta, axis=1), 1.0) for end in (np.min, np.max))
    whole, ratio = small + large, small / large
    gammas = special.gammaln(small) + special.gammaln(large) - special.gammaln(whole)
    far = _stirling_rest(large) - _stirling_rest(whole)
    mixed = special.gammaln(small) - (large - 0.5) * np.log1p(ratio) - small * (np.log(whole) - 1) + far
    both = 0.5 * np.log(2 * math.pi / large) + _stirling_rest(small) + far
    both += (small - 0.5) * np.log(ratio / (1 + ratio)) - large * np.log1p(ratio)
    value = np.where(large < LEAST_STIRLING, gammas, np.where(small < LEAST_STIRLING, mixed, both))
    # a few units of each term: those of the last form are no larger than the value, but for 0.5 log(large)
    size = np.abs(value) + np.log(whole + 1) * (1 + np.minimum(small, LEAST_STIRLING)) + np.abs(np.log(small))
    return np.where(inside, value, math.inf), np.where(inside, BETA_ROUNDING * size, 0.0)


def _stirling_rest(x: Array) -> Array:
    """log Gamma(x) less (x - 1/2) log x - x + log(2 pi)/2, from 16 on: the next term is below 691/360360 x^-11."""
    far = np.maximum(x, LEAST_STIRLING)
    y = 1 / (far * far)
    return (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y / 1188)))) / far
