"""Sampling of a mechanism that is known only by its Rényi curve: one theorem, one function.

Each theorem speaks of whole orders >= 2; between them (order - 1) * divergence is convex, which serves upper bounds
(van Erven, Harremoës 2014, Thm 11), while a lower bound takes the order below. No upper bound is above the unsampled
curve. At infinite order, and past the reach of a curve, only the unsampled curve and the max divergence are left.
With V = dP/dQ of outputs with and without the record, a Poisson sample of rate q has the ratio v = 1 + q(V - 1): a
record that leaves has the moments E v^order, one that comes the moments E v^(1 - order), both under Q.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import numpy as np

from hush.arrays import Array
from hush.curves.renyi.curve import ZERO, RenyiCurve
from hush.errors import InvalidParameter, NotCovered
from hush.numerics.rounding import UNIT
from hush.numerics.special.binomial_coefficients import log_binomial_sums


class WorstPair(Protocol):
    """What sampling asks of a pair that is worst at every order."""

    def curve(self) -> RenyiCurve:
        """Upper bounds on its Rényi divergences."""
        ...

    def log_absolute_chi(self, orders: Array, /) -> Array:
        """Logs of upper bounds on its absolute Pearson-Vajda divergences |chi|^j, at whole orders j >= 2."""
        ...


FAR = 600.0
"""Exponents past which a bound that grows like e^x is left to the others."""
SERIES_ROUNDING = 1e-13
"""Relative rounding of the short series below, far above what their few terms lose; of a logarithm, an absolute one."""

Terms = Callable[[Array], tuple[Array, Array]]
"""Whole numbers 2, 3, ... to the logarithms of a theorem's terms, and bounds on their rounding errors."""


def without_replacement(curve: RenyiCurve, rate: float) -> RenyiCurve:
    """A sample of fixed size, replace-one (Wang, Balle, Kasiviswanathan 2019, Thm 9); rate is its share of the data.

    The curve must hold for replace-one.

    >>> without_replacement(RenyiCurve.linear(0.02), 0.001)([4, 128])
    array([3.29493...e-07, 1.67111...e-05])
    """
    rate = _rate("without_replacement", rate)
    return _upper(curve, rate, lambda j: generic_terms(curve, j), 0.0)


def generic_terms(curve: RenyiCurve, j: Array) -> tuple[Array, Array]:
    """log of what bounds ternary |chi|^j in Thm 9: e^{(j-1) eps(j)} min{2, (e^{eps(inf)}-1)^j}, with its case j = 2."""
    top = curve(math.inf)
    growth = (j - 1) * curve(j)
    # min{2, ...} below takes 2 wherever e^top is above 3: the cut at e^700 changes nothing
    log_spread = math.log(math.expm1(min(top, 700.0))) if top > 0 else -math.inf
    with np.errstate(invalid="ignore"):
        terms = growth + np.minimum(math.log(2), j * log_spread)
        small = growth[j == 2]
        terms[j == 2] = np.minimum(terms[j == 2], math.log(4) + _log_expm1(small))
    terms = np.where(growth == 0, -math.inf, terms)
    return terms, 8 * UNIT * (1 + np.abs(terms) + growth + (j * abs(log_spread) if top > 0 else 0.0))


def without_replacement_pair(pair: WorstPair, rate: float) -> RenyiCurve:
    """A sample of fixed size, replace-one, where one pair is worst for every order (Wang et al. 2019, Thm 27).

    A dominating pair bounds |chi|^j of all neighbours, since that is an f-divergence; ternary |chi|^j is at most four
    times the binary one, and the sample multiplies it by rate^j. Terms of the general theorem are used where smaller.

    >>> from hush.curves.pairs.normal import NormalPair
    >>> without_replacement_pair(NormalPair.shifted(0.2), 0.001)(128)
    1.0...e-05
    """
    rate = _rate("without_replacement_pair", rate)
    curve = replace(pair.curve(), reach=min(pair.curve().reach, 2000))

    def terms(j: Array) -> tuple[Array, Array]:
        values, errors = generic_terms(curve, j)
        own = math.log(4) + pair.log_absolute_chi(j)
        return np.where(own < values, own, values), np.where(own < values, 8 * UNIT, errors)

    return _upper(curve, rate, terms, 0.0)


def without_replacement_lower(curve: RenyiCurve, rate: float) -> RenyiCurve:
    """What a sample of fixed size cannot beat, replace-one (Wang, Balle, Kasiviswanathan 2019, Prop. 11).

    It needs one pair of neighbours, alike but for one record, that attains the curve at every order: a declaration.

    >>> curve = RenyiCurve.linear(0.02).declaring(attained=True)
    >>> without_replacement_lower(curve, 0.001)(2)
    4.0810...e-08
    """
    rate = _rate("without_replacement_lower", rate)
    if not curve.attained:
        raise NotCovered(
            "a lower bound for a sampled Rényi curve needs a mechanism that declares one pair of neighbours "
            "attaining its curve at every order; without it 0 is the lower bound"
        )

    def moments(n: Array) -> Array:
        # the curve itself may be rounded up by 1e-12 of itself
        return _binomial_moments(curve, rate, n, np.zeros(1), -1, 1e-12)

    def bound(orders: Array) -> Array:
        n = np.minimum(np.floor(orders), curve.reach)
        values = np.zeros(len(orders))
        real = n >= 2
        values[real] = _at_whole(moments, n[real]) / (n[real] - 1)
        return values

    if rate in (0.0, 1.0):
        return curve if rate else ZERO
    return RenyiCurve.proven(bound)


def poisson(curve: RenyiCurve, rate: float) -> RenyiCurve:
    """Poisson sampling, add or remove one record (Zhu, Wang 2019, Thm 5): any mechanism; terms past the second times 3.

    The curve must hold in both directions.

    >>> poisson(RenyiCurve.linear(0.02), 0.1)(3)
    0.001739162...
    """
    return _poisson("poisson", curve, rate, math.log(3))


def poisson_mirrored(curve: RenyiCurve, rate: float) -> RenyiCurve:
    """Poisson sampling, add or remove one record, without the factor 3 (Zhu, Wang 2019, the tight case of Thm 5).

    It needs odd Pearson-Vajda divergences that are not negative. A mechanism declares it by `mirrored`: any two
    neighbouring outputs are mirror images of each other (symmetric additive noise, randomized response).

    >>> poisson_mirrored(RenyiCurve.linear(0.02).declaring(mirrored=True), 0.1)(3)
    0.000614316...
    """
    if not curve.mirrored:
        raise NotCovered(
            "Poisson sampling without the factor 3 needs odd Pearson-Vajda divergences >= 0: a mechanism whose "
            "neighbouring outputs mirror each other declares that; `poisson` covers all others"
        )
    return _poisson("poisson_mirrored", curve, rate, 0.0)


def poisson_leaving(curve: RenyiCurve, rate: float) -> RenyiCurve:
    """Poisson sampling, the record leaves: the binomial sum without a factor (proof in docs/theory/sampling-renyi.md).

    E(1 + q(V-1))^n = sum_k C(n,k) (1-q)^(n-k) q^k E V^k, and each E V^k is at most what the curve says at order k. It
    is exact for every curve that one pair attains. The curve must hold in the direction in which the record leaves.

    >>> poisson_leaving(RenyiCurve.linear(0.5), 0.1)(4)
    0.05867260...
    """
    return _poisson("poisson_leaving", curve, rate, 0.0)


def poisson_coming(curve: RenyiCurve, rate: float) -> RenyiCurve:
    """Poisson sampling, the record comes: the least of two bounds (proofs in docs/theory/sampling-renyi.md).

    With F(q) = E v^(1-n), F(0) = 1, F'(0) = 0 and F'' = n(n-1) int (P-Q)^2 Q^n m^(-n-1), m the mixed law. Either
    Q/m <= 1/(1-s) and 1/m <= (1-s)/Q + s/P, which needs order 2 alone; or Q/m <= 1-s + s Q/P in all factors. The curve
    must hold in both directions.

    >>> poisson_coming(RenyiCurve.linear(0.5), 0.1)(4), poisson_coming(RenyiCurve.linear(0.1), 0.2)(3)
    (0.037417342..., 0.014577067...)
    """
    rate = _rate("poisson_coming", rate)
    if rate in (0.0, 1.0):
        return curve if rate else ZERO

    def moments(n: Array) -> Array:
        return np.fmin(_by_second_order(curve, rate, n), _by_all_orders(curve, rate, n))

    return _between(curve, moments)


def _by_second_order(curve: RenyiCurve, rate: float, n: Array) -> Array:
    """log{1 + X n/(n-2) [(1-q)^(2-n) - 1 - (n-2) q]}, X = e^{D_2} - 1; at n = 2 log(1 + X q^2), as 1/m is convex."""
    log_spread = float(_log_expm1(np.array([curve(2.0)]))[0])
    far, b = -math.log1p(-rate), np.maximum(n - 2, 1.0)
    with np.errstate(over="ignore", divide="ignore"):
        # (1-q)^-b - 1 - b q = (e^{b far} - 1 - b far) + b (far - q): both parts are above 0
        growth = np.where(b * far < FAR, _exp_rest(np.minimum(b * far, FAR)) + b * _log_rest(rate), math.inf)
        term = np.where(n == 2, 2 * math.log(rate), np.log(n / b) + np.log(growth))
        total = log_spread + term
        return np.logaddexp(0.0, total + SERIES_ROUNDING * (1 + np.abs(total))) * (1 + 8 * UNIT)


def _by_all_orders(curve: RenyiCurve, rate: float, n: Array) -> Array:
    """log{1 + n(n-1)/((n+2)(n+3)) sum_j Bin(n+3, q)(j) W_j}, W_j = sum_k (j-1-k)_+ w_k, w_k = E V^-k (V-1)^2.

    w_0 <= e^{D_2} - 1, w_k <= e^{k D_{k+1}} - 1; the integral of (q-s) C(n+1,k) s^k (1-s)^(n+1-k) over s from 0 to q is
    E(Bin(n+3, q) - k - 1)_+ / ((n+2)(n+3)).
    """
    k = np.arange(1.0, float(n.max()) + 2)
    growth = np.concatenate([[curve(2.0)], k * curve(k + 1)])
    log_w = _log_expm1(growth)
    j = np.arange(2.0, len(log_w) + 2)
    with np.errstate(invalid="ignore"):
        log_sums = np.logaddexp.accumulate(np.logaddexp.accumulate(log_w))
    log_sums = np.where(np.isnan(log_sums), math.inf, log_sums)
    terms = log_sums + j * math.log(rate)
    finite = np.where(np.isfinite(log_sums), np.abs(log_sums), 0.0)
    errors = 8 * UNIT * (2 + j + finite + np.where(np.isfinite(growth), growth, 0.0) + j * abs(math.log(rate)))
    total = log_binomial_sums(n + 3, terms, errors, math.log1p(-rate), 1)
    share = np.log(n) + np.log(n - 1) - np.log(n + 2) - np.log(n + 3)
    return np.logaddexp(0.0, total + share + 8 * UNIT * (1 + np.abs(share))) * (1 + 8 * UNIT)


def max_divergence(curve: RenyiCurve, rate: float) -> RenyiCurve:
    """Any of these samples makes pure epsilon into log(1 + rate (e^epsilon - 1)) (Balle, Barthe, Gaboardi 2018, Thm 8).

    >>> max_divergence(RenyiCurve.constant(1.0), 0.01)(5)
    0.017036863...
    """
    rate = _rate("max_divergence", rate)
    top = curve(math.inf)
    if rate in (0.0, 1.0):
        return RenyiCurve.constant(top if rate else 0.0)
    grown = math.log(rate) + top if top > 700 else math.log1p(rate * math.expm1(top))
    return RenyiCurve.constant(grown * (1 + 4 * UNIT))


def max_divergence_coming(curve: RenyiCurve, rate: float) -> RenyiCurve:
    """A record that comes by Poisson sampling: Q/m <= 1/(1 - q + q e^-epsilon), and never above 1/(1-q).

    >>> max_divergence_coming(RenyiCurve.constant(math.inf), 0.1)(5)
    0.10536051...
    """
    rate = _rate("max_divergence_coming", rate)
    top = curve(math.inf)
    if rate in (0.0, 1.0):
        return RenyiCurve.constant(top if rate else 0.0)
    return RenyiCurve.constant(-math.log1p(rate * math.expm1(-top)) * (1 + 8 * UNIT))


def poisson_sample(curve: RenyiCurve, rate: float, *, leaving: bool) -> RenyiCurve:
    """The best of the theorems on Poisson sampling that cover the curve, in one direction; it must hold in both."""
    if leaving:
        return RenyiCurve.least([poisson_leaving(curve, rate), max_divergence(curve, rate)])
    factor_three = poisson_mirrored if curve.mirrored else poisson
    theorems = poisson_coming, factor_three, max_divergence_coming, max_divergence
    return RenyiCurve.least([theorem(curve, rate) for theorem in theorems])


def _poisson(who: str, curve: RenyiCurve, rate: float, log_factor: float) -> RenyiCurve:
    rate = _rate(who, rate)
    if rate in (0.0, 1.0):
        return curve if rate else ZERO

    def moments(n: Array) -> Array:
        return _binomial_moments(curve, rate, n, np.array([0.0, log_factor]), 1, 0.0)

    return _between(curve, moments)


def _binomial_moments(curve: RenyiCurve, rate: float, n: Array, log_factors: Array, side: int, deflate: float) -> Array:
    """log of sum_j Bin(n, rate)(j) f_j e^{(j-1) eps(j)}, f = 1 for j < 2.

    The chances sum to 1, so the sum is 1 + sum_{j>=2} chance_j (f_j e^{..} - 1): nothing cancels.
    """
    j = np.arange(2.0, float(n.max()) + 1)
    growth = (j - 1) * curve(j) * (1 - deflate)
    growth = growth + np.where(j == 2, log_factors[0], log_factors[-1])
    terms = _log_expm1(growth) + j * math.log(rate)
    errors = 8 * UNIT * (2 + growth + j * abs(math.log(rate)))
    total = log_binomial_sums(n, terms, errors, math.log1p(-rate), side)
    return np.logaddexp(0.0, total) * (1 + side * 8 * UNIT)


def _upper(curve: RenyiCurve, rate: float, terms: Terms, log_rest: float) -> RenyiCurve:
    """log(1 + sum_j C(n, j) rate^j e^{terms_j}) at whole orders, and between them."""
    if rate in (0.0, 1.0):
        return curve if rate else ZERO

    def moments(n: Array) -> Array:
        j = np.arange(2.0, float(n.max()) + 1)
        values, errors = terms(j)
        log_rate = math.log(rate)
        errors = errors + 8 * UNIT * j * abs(log_rate)
        total = log_binomial_sums(n, values + j * log_rate, errors, log_rest, 1)
        return np.logaddexp(0.0, total) * (1 + 8 * UNIT)

    return _between(curve, moments)


def _between(curve: RenyiCurve, moments: Callable[[Array], Array]) -> RenyiCurve:
    """From (order - 1) * divergence at whole orders to every order, and never above the unsampled curve."""

    def bound(orders: Array) -> Array:
        values = np.array(curve.function(orders), dtype=float)
        reached = orders <= curve.reach
        low = np.maximum(np.floor(orders[reached]), 1.0)
        share = orders[reached] - low
        high = low + ((share > 0) | (low == 1))
        whole, place = np.unique(np.concatenate([low, high]), return_inverse=True)
        at = np.zeros(len(whole))
        at[whole > 1] = _at_whole(moments, whole[whole > 1])
        below, above = at[place[: len(low)]], at[place[len(low) :]]
        with np.errstate(invalid="ignore", divide="ignore"):
            moment = np.where(share > 0, (1 - share) * below + share * above, below)
            # divergences grow with the order, so the next whole order bounds this one too
            found = np.fmin(moment / (orders[reached] - 1), above / (high - 1))
        values[reached] = np.fmin(values[reached], found)
        return values

    return RenyiCurve.proven(bound, curve.slope, curve.reach)


def _at_whole(moments: Callable[[Array], Array], n: Array) -> Array:
    return moments(n) if len(n) else np.empty(0)


def _log_expm1(x: Array) -> Array:
    """log(e^x - 1) without overflow: past 30 it is x + log(1 - e^-x), where e^-x is below 1e-13."""
    with np.errstate(divide="ignore"):
        return np.where(x > 30, x + np.log1p(-np.exp(-np.maximum(x, 1.0))), np.log(np.expm1(np.minimum(x, 31.0))))


def _exp_rest(x: Array) -> Array:
    """e^x - 1 - x for x >= 0: near 0 by its series, of which twelve terms leave less than 1e-16 of it below 1."""
    near = np.minimum(x, 1.0)
    series = sum(near**k / math.factorial(k) for k in range(2, 15))
    return np.where(x < 1.0, series, np.expm1(x) - x)


def _log_rest(x: float) -> float:
    """-log(1 - x) - x for 0 <= x < 1: near 0 by its series, of which the last term is below 1e-17 of the first."""
    if x < 0.1:
        return math.fsum(x**k / k for k in range(2, 20))
    return -math.log1p(-x) - x


def _rate(who: str, rate: float) -> float:
    if isinstance(rate, bool) or not 0 <= rate <= 1:
        raise InvalidParameter(who, "0 <= rate <= 1", rate=rate)
    return float(rate)
