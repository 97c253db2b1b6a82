"""The profile of two normals that differ by a shift, with a bound on its rounding."""

from __future__ import annotations

import math
import sys
from functools import cache

import numpy as np
from scipy import special

from hush.arrays import Array
from hush.numerics.rounding import UNIT

FARTHEST = 1e150
"""Past this the square of a quantile leaves the floats."""
CLOSED_FORM = 1e-9
"""Room in the exponent of the bound that serves there: it is a rounding of e^-u^2 by a billionth of its exponent."""
CERTAIN = -20.0
"""Below this quantile erfc(-u)/2 is under e^-400, and delta is 1 but for its other term."""
TERM_ROUNDING = 1e-12
"""Relative error of that term, and of the short rule below: a dozen operations of a few units each."""
SHORT = 1e-3
"""Shifts below this share of the quantile: the difference of two erfcx would lose its digits, its integral does not."""
NODES = 12
"""Nodes of the rule for the short integral: exact to the last digit on an interval of 1e-3."""
ASYMPTOTIC = 30.0
"""Past this x the difference 2/sqrt(pi) - 2 x erfcx(x) cancels; five terms of its series are exact there."""


def gaussian_log_delta(epsilon: float, shift: float) -> tuple[float, float]:
    """log delta of N(shift, 1) against N(0, 1) (Balle, Wang 2018, Thm 8), with a bound on the rounding.

    delta = (e^{-u^2}/2) (erfcx(u) - erfcx(v)), u = (eps/shift - shift/2)/sqrt 2, v = u + shift/sqrt 2.

    >>> low, high = gaussian_log_delta(1.0, 1.0)
    >>> math.exp(low)
    0.126936737...
    """
    u = (epsilon / shift - shift / 2) / math.sqrt(2)
    v = (epsilon / shift + shift / 2) / math.sqrt(2)
    if u > FARTHEST:  # P(L > epsilon) alone is at most e^{-u^2}
        return -math.inf, max(-u * u * (1 - CLOSED_FORM), -sys.float_info.max)
    input_error = 4 * UNIT * (abs(epsilon / shift) + shift)
    if u < CERTAIN:  # 1 - delta = erfc(-u)/2 + e^eps erfc(v)/2, and the first is below e^-400
        rest = 0.5 * float(special.erfc(v)) * math.exp(epsilon) if epsilon < 0 else 0.0
        return math.log1p(-rest * (1 + TERM_ROUNDING) - UNIT), min(math.log1p(-rest * (1 - TERM_ROUNDING)) + UNIT, 0.0)
    first, second = float(special.erfcx(u)), float(special.erfcx(v))
    value = first - second
    if shift < SHORT * max(1.0, abs(u)):  # integrate -erfcx' = 2/sqrt(pi) - 2x erfcx(x) over the short interval
        points, weights = _short_rule()
        middle, radius = epsilon / shift / math.sqrt(2), shift / 2 / math.sqrt(2)
        x = middle + radius * points
        slopes = _mills_slope(x)
        value = float(radius * (weights @ slopes))
        slack = value * (TERM_ROUNDING + 4 * input_error * (1 + abs(u)))
    else:
        steepness = sum(abs(2 / math.sqrt(math.pi) - 2 * x * mills) for x, mills in ((u, first), (v, second)))
        slack = 8 * UNIT * (first + second) + steepness * input_error
    log_scale = -u * u - math.log(2)
    slack += value * (2 * abs(u) * input_error + 4 * UNIT * u * u)
    if value <= slack:
        return -math.inf, min(log_scale + math.log(value + slack), 0.0) if value + slack > 0 else 0.0
    return log_scale + math.log(value - slack), min(log_scale + math.log(value + slack), 0.0)


@cache
def _short_rule() -> tuple[Array, Array]:
    """Gauss-Legendre nodes and weights; finding them takes longer than using them."""
    return np.polynomial.legendre.leggauss(NODES)


def _mills_slope(x: Array) -> Array:
    """2/sqrt(pi) - 2 x erfcx(x), by its asymptotic series where it cancels."""
    direct = 2 / math.sqrt(math.pi) - 2 * x * special.erfcx(x)
    far = np.maximum(x, ASYMPTOTIC)
    y = 1 / (2 * far * far)
    series = 2 / math.sqrt(math.pi) * y * (1 - 3 * y * (1 - 5 * y * (1 - 7 * y * (1 - 9 * y))))
    return np.where(x > ASYMPTOTIC, series, direct)
