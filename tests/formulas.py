"""Formulas that the library has no use for, as printed: tests compare its answers with them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import special

from hush.arrays import Array
from hush.curves.renyi.curve import RenyiCurve
from hush.curves.renyi.pearson_vajda import two
from hush.curves.theorems.last_iterate import minorant_blocks
from hush.errors import InvalidParameter
from hush.numerics.rounding import UNIT


def absolute_chi(p: Sequence[float] | Array, q: Sequence[float] | Array, order: float) -> float:
    """|chi|^a(p || q) = E_q|p/q - 1|^a, a >= 1.

    >>> absolute_chi([0.5, 0.5], [0.25, 0.75], 1)
    0.5
    """
    return ternary_chi(p, q, q, order)


def ternary_chi(
    p: Sequence[float] | Array, q: Sequence[float] | Array, r: Sequence[float] | Array, order: float
) -> float:
    """|chi|^a(p, q || r) = E_r|(p - q)/r|^a, a >= 1.

    Its supremum zeta^a over three mutually neighbouring datasets is at least the binary xi^a and at most 4 xi^a; a
    sample of rate g makes zeta into g zeta.

    >>> round(ternary_chi([0.5, 0.5], [0.25, 0.75], [0.4, 0.6], 2), 6)
    0.260417
    """
    p, q = two(p, q)
    r = two(p, r)[1]
    if not order >= 1:
        raise InvalidParameter("|chi|^a", "order >= 1", order=order)
    return float((r * (np.abs(p - q) / r) ** order).sum())


def renyi(p: Sequence[float] | Array, q: Sequence[float] | Array, order: float) -> float:
    """Rényi divergence of any order > 0: -2 log(1 - H/2) at 1/2 (H squared Hellinger), KL at 1, log(1+chi^2) at 2.

    >>> round(renyi([0.5, 0.5], [0.25, 0.75], 2), 9) == round(math.log1p(1 / 3), 9)
    True
    """
    p, q = two(p, q)
    if not order > 0:
        raise InvalidParameter("A Rényi divergence", "order > 0", order=order)
    here = p > 0
    loss = np.log(p[here] / q[here])
    if order == 1:
        return float((p[here] * loss).sum())
    if order == math.inf:
        return float(loss.max())
    return float(np.logaddexp.reduce(np.log(p[here]) + (order - 1) * loss)) / (order - 1)


def discrete_derivative(curve: RenyiCurve, order: int) -> tuple[float, float]:
    """chi^j from a curve that one pair attains: the j-th forward difference at 0 of e^{(x-1) eps(x)}; with its error.

    The sum alternates, so the error grows with the order: for large ones use the pair itself.

    >>> value, error = discrete_derivative(RenyiCurve.linear(0.02), 2)
    >>> round(value, 6) == round(math.expm1(0.04), 6), error < 1e-13
    (True, True)
    """
    moments = [1.0, 1.0, *(math.exp((k - 1) * curve(float(k))) for k in range(2, order + 1))]
    terms = [(-1) ** (order - k) * math.comb(order, k) * m for k, m in enumerate(moments)]
    return math.fsum(terms), 8 * UNIT * order * sum(abs(term) for term in terms)


def best_shifts(sensitivities: Sequence[float], deviations: Sequence[float]) -> np.ndarray:
    """The a_t that minimise sum (a_t/sigma_t)^2 for 1-Lipschitz maps (Feldman et al. 2018, Thm 22).

    The constraint says that the cumulated a stays below the cumulated s and meets it at the end. Against the clock
    V_t = sum of sigma^2, the best curve is the greatest convex minorant, and a_t = slope * sigma_t^2.

    >>> best_shifts([1, 0, 0, 0], [2, 2, 2, 2]).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    variances = np.square(np.asarray(deviations, dtype=float))
    shifts = np.asarray(sensitivities, dtype=float)
    found = np.empty(len(shifts))
    for start, stop in minorant_blocks(shifts.tolist(), variances.tolist()):
        slope = math.fsum(shifts[start:stop]) / math.fsum(variances[start:stop])
        found[start:stop] = slope * variances[start:stop]
    return found


def projected_mu_closed_form(iterations: int, ratio: float, diameter: float) -> float:
    """Bok, Su, Altschuler 2024, Sec. 4 as printed, for comparison: sqrt(3 ratio D + ratio^2 ceil(D/ratio)).

    >>> projected_mu_closed_form(10_000, 0.04, 20.0)
    1.788854...
    """
    if not iterations >= diameter / ratio:
        raise InvalidParameter("projected_mu_closed_form", "iterations >= diameter/ratio", iterations=iterations)
    return math.sqrt(3 * ratio * diameter + ratio * ratio * math.ceil(diameter / ratio))


def random_stop_weak(order: float, records: int, lipschitz: float, noise: float) -> float:
    """Closed form for convex losses, for comparison: 4 a L^2 H_n/(n sigma^2), where sigma >= L sqrt(2 a (a-1)).

    Feldman, Mironov, Talwar, Thakurta 2018, Sec. 4: e^x - 1 <= 2x for x <= 1 in `random_stop_divergence`.

    >>> random_stop_weak(2.0, 100, 1.0, 4.0)
    0.025936887...
    """
    if not noise >= lipschitz * math.sqrt(2 * order * (order - 1)):
        raise InvalidParameter("random_stop_weak", "noise >= lipschitz * sqrt(2 order (order - 1))", noise=noise)
    harmonic = float(special.digamma(records + 1)) + float(np.euler_gamma)
    return 4 * order * lipschitz**2 * harmonic / (records * noise**2)


def student_epsilon(*, degrees: int, alpha: float, beta: float) -> float:
    """Pure epsilon of noise with density in proportion to (1 + z^2)^(-(degrees+1)/2), degrees >= 1.

    Along the path from one law to the other the log density changes at most at the rate (degrees+1) (beta z^2 + alpha
    z)/(1 + z^2) - beta, whose maximum over z is below. One degree is the noise of Nissim, Raskhodnikova, Smith 2007
    with exponent 2.

    >>> student_epsilon(degrees=3, alpha=0.1, beta=0.0), student_epsilon(degrees=3, alpha=0.0, beta=0.1)
    (0.2, 0.3...)
    """
    return 0.5 * (degrees + 1) * (beta + math.hypot(beta, alpha)) - beta
