"""Moments of the mean of lognormals: whole orders from a power of a series, negative ones by quadrature."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from hush.arrays import Array
from hush.numerics.lognormal_mean.transform import LognormalMean
from hush.numerics.rounding import UNIT
from hush.numerics.special.binomial_tails import log_pmf
from hush.numerics.work import remembered, spend

HIGHEST = 3e5
"""Largest order of the bounds for small spreads; the work grows with it."""
LARGEST_WHOLE = 256
"""Whole orders that are computed; the work grows with the square."""
NEAR_ONE = 30.0
"""Up to here log(e^x - 1) is taken as such; past it e^-x is below rounding."""
SMALL_TOTAL = 15.0
"""Orders up to 15 deviations of log S: the bound is asked no farther."""
PRODUCT_ROUNDING = 1e-7
"""Relative room for rounding: logs of binomial terms below 1e7 are off by 1e-9 each, and up to 3e5 are added."""
WIDEST_STRIP, STRIP = 1.2, 2.0
"""Half-width d of the strip, below pi/2, and about 2/sqrt(b), where cos(d)^-b is e^2: any d < pi/2 is valid."""
DIGITS = 40.0
"""-log of the error that the step is chosen for; the error itself is computed and charged."""
TRAPEZOID = 3.0
"""Above 2/(1 - e^{-2 pi d/h}), the factor of the trapezoid error, as that exponent is at least 40."""
CUT, CUT_ROUNDING = 50.0, 1e-18
"""The sum ends where its terms are e^-50 of the largest. Past it they fall like e^{-e^s} on the right and like e^{bs}
on the left, so that what is left out is below 1e-18 of the sum."""
BLOCK = 24
"""Terms that are added at once."""


@remembered(64)
def log_whole_moments(law: LognormalMean, largest: int = LARGEST_WHOLE) -> Array:
    """log E S^k for k = 0 .. largest.

    E S^k = k! t^-k [x^k] (sum_j x^j m_j / j!)^t with m_j = E V^j = e^{a^2 j(j-1)/2} (multinomial theorem). The power
    is split into e^{tx}, whose moments are 1, and an excess of positive coefficients; so moments near 1 keep digits.

    >>> float(log_whole_moments(LognormalMean(1.0, 1))[5])
    10.0
    """
    k = np.arange(largest + 1)
    growth = law.spread**2 * k * (k - 1.0) / 2
    with np.errstate(divide="ignore"):
        near = np.log(np.expm1(np.minimum(growth, NEAR_ONE)))
        single = np.where(growth < NEAR_ONE, near, growth + np.log1p(-np.exp(-growth)))
    single = single - special.gammaln(k + 1)
    done, excess, power, square = 0, np.full(largest + 1, -math.inf), 1, single
    left = law.count
    while left:
        if left & 1:
            excess, done = _joined(excess, done, square, power), done + power
        left >>= 1
        if left:
            square, power = _joined(square, power, square, power), 2 * power
    excess = excess + special.gammaln(k + 1) - k * math.log(law.count)
    return np.logaddexp(0.0, excess)


@remembered(64)
def high_moments(law: LognormalMean, orders: int = 32) -> tuple[Array, Array]:
    """Whole orders far past those, and upper bounds on log E S^k there, for small spreads.

    E S^k is the mean of exp(a^2 sum_i n_i(n_i - 1)/2) over the multinomial numbers n_i of k draws from the t parts.
    They are negatively associated (Joag-Dev, Proschan 1983), so it is at most the product of the t means, each over a
    binomial number: t log E exp(a^2 B(B-1)/2), B ~ Bin(k, 1/t).

    >>> k, bounds = high_moments(LognormalMean(0.02, 10))
    >>> exact = log_whole_moments(LognormalMean(0.02, 10))
    >>> bool(np.all(bounds[k <= 256] >= exact[k[k <= 256]]))
    True
    """
    total = law.spread / math.sqrt(law.count)
    largest = min(SMALL_TOTAL / total, HIGHEST)
    k = np.unique(np.geomspace(2, max(largest, 3.0), orders).astype(int))
    found = []
    for order in k.tolist():
        spend(30 * order)
        b = np.arange(2.0, order + 1)
        growth = law.spread**2 * b * (b - 1) / 2
        log_growth = np.where(growth < NEAR_ONE, np.log(np.expm1(np.minimum(growth, NEAR_ONE))), growth)
        excess = float(np.logaddexp.reduce(log_pmf(np.array(float(order)), 1 / law.count, b) + log_growth))
        found.append(law.count * float(np.logaddexp(0.0, excess)) * (1 + PRODUCT_ROUNDING))
    return k, np.array(found)


def moment_error(law: LognormalMean, order: float, value: float) -> float:
    """Bound on the error of a log moment: each product adds a few roundings of the logarithms' size."""
    steps = 2 * math.log2(law.count + 1) + 2
    size = law.spread**2 * order * order / 2 + 2 * float(special.gammaln(order + 1)) + order * math.log(law.count)
    return 4 * UNIT * steps * (2 + size) * -math.expm1(-value) + 4 * UNIT * value


def _joined(first: Array, m: int, second: Array, n: int) -> Array:
    """log of the excess of (e^{mx} + f)(e^{nx} + g) over e^{(m+n)x}."""
    terms = [_product(first, second)]
    for excess, times in ((first, n), (second, m)):
        if times:
            terms.append(_product(excess, _exponential(len(excess), times)))
        else:
            terms.append(excess)
    return np.logaddexp.reduce(terms)


def _exponential(size: int, times: int) -> Array:
    k = np.arange(size)
    return k * math.log(times) - special.gammaln(k + 1)


def _product(first: Array, second: Array) -> Array:
    """log of the coefficients of a product of two series with positive coefficients."""
    size = len(first)
    spend(8 * size * size)
    place = np.arange(size)
    table = np.where(place[:, None] >= place, first[None, :] + second[place[:, None] - place], -math.inf)
    top = table.max(axis=1)
    safe = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return safe + np.log(np.exp(table - safe[:, None]).sum(axis=1))


@remembered(4096)
def log_negative_moment(law: LognormalMean, order: float) -> tuple[float, float]:
    """Bounds on log E S^-order for real order > 0.

    E S^-b = Gamma(b)^-1 int e^{bs} E e^{-e^s S} ds. The integrand is analytic in |Im s| < pi/2, and on a line there at
    most cos(Im s)^-b times as large: the trapezoid rule is off by 2 cos(d)^-b/(e^{2 pi d/h} - 1) of the value.

    >>> low, high = log_negative_moment(LognormalMean(1.0, 100), 1.0)
    >>> low <= 0.016641389213140188 <= high < low + 1e-12
    True
    """
    room = min(WIDEST_STRIP, STRIP / math.sqrt(order))
    step = 2 * math.pi * room / (DIGITS - order * math.log(math.cos(room)))
    terms, errors, ends = np.empty(0), np.empty(0), (math.log(order), math.log(order) - step)
    for start, sign in zip(ends, (1, -1), strict=True):
        while True:
            s = start + sign * step * np.arange(BLOCK)
            value, error = law.log_laplace(np.exp(s))
            terms, errors = np.append(terms, order * s + value - np.exp(s)), np.append(errors, error)
            start = float(s[-1]) + sign * step
            if terms[-1] < terms.max() - CUT - (0 if sign > 0 else max(-math.log(order), 0.0)):
                break
    top = float(terms.max())
    total = top + math.log(float(np.exp(terms - top).sum()) * step)
    slack = TRAPEZOID * math.cos(room) ** -order * math.exp(-2 * math.pi * room / step) + CUT_ROUNDING
    weight = np.exp(terms - top)
    slack += float(weight @ (errors + 8 * UNIT * (2 + np.abs(terms)))) / float(weight.sum())
    value = total - float(special.gammaln(order))
    return value - slack, value + slack
