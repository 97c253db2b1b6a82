"""What noise in proportion to a smooth sensitivity guarantees, and how much of it a target needs.

Data x get the answer f(x) + (S(x)/alpha) Z. For neighbours |f(x) - f(x')| <= min(S(x), S(x')) and |log S(x)/S(x')| <=
beta, so the two laws are Z and lambda Z + s, or the reverse, with 1 <= lambda <= e^beta and |s| <= alpha: a shift in
units of the smaller scale. docs/theory/order-statistics.md has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

SAFE = 1 - 1e-9
"""What is found in floats is moved by this to the safe side."""
LEAST_ALPHA, LEAST_BETA, LARGEST_BETA = 2.0**-12, 1e-5, 30.0
"""What releases take: a smaller alpha is more noise than any use has, and for these betas floats keep their digits."""
BETAS = tuple(np.geomspace(LEAST_BETA, LARGEST_BETA, 2000).tolist())
"""Betas among which the least noise is looked for. Each is valid with its own alpha."""


def laplace_delta(epsilon: float, *, alpha: float, beta: float) -> float:
    """The largest hockey stick of Laplace noise over all shifts up to alpha and dilations up to e^beta, both ways.

    For epsilon >= max(alpha, beta + alpha e^-beta) the narrow law never exceeds e^epsilon times the wide one, and the
    other way the supremum is attained at the corner: with w = e^beta - 1 it is (1 - e^-beta) exp(-(epsilon + beta)/w)
    cosh(alpha/w). Below that epsilon the answer is 1, which claims nothing.

    >>> round(laplace_delta(30.0, alpha=15.0, beta=15 / math.log(2e6)) / 1e-6, 1)
    46.2
    """
    if epsilon < max(alpha, beta + alpha * math.exp(-beta)):
        return 1.0
    width = math.expm1(beta)
    near, far = (math.exp(-(epsilon + beta + sign * alpha) / width) for sign in (-1, 1))
    return 0.5 * -math.expm1(-beta) * (near + far)


def laplace_alpha(epsilon: float, delta: float, beta: float) -> float:
    """The largest alpha for this beta, to the safe side; 0 if there is none: laplace_delta solved for its cosh.

    >>> laplace_alpha(1.0, 1e-6, 0.05)
    0.532...
    """
    # the narrow law against the wide one: beta + alpha e^-beta <= epsilon, and alpha <= epsilon
    most = SAFE * min(epsilon, (epsilon - beta) * math.exp(min(beta, 700.0)))
    width = math.expm1(beta)
    log_cosh = math.log(SAFE * delta) - math.log(-math.expm1(-beta)) + (epsilon + beta) / width
    if most <= 0 or log_cosh <= 0:
        return 0.0
    alpha = width * (log_cosh + math.log1p(math.sqrt(-math.expm1(-2 * log_cosh))))
    alpha = min(most, SAFE * alpha)
    return alpha if laplace_delta(epsilon, alpha=alpha, beta=beta) <= delta else 0.0


def laplace_textbook(epsilon: float, delta: float) -> tuple[float, float] | None:
    """alpha = epsilon/2 and beta = epsilon/(2 log(2/delta)) of Nissim, Raskhodnikova, Smith 2007; None where too small.

    At large epsilon this is not (epsilon, delta)-DP, so it is checked over the whole box.

    >>> laplace_textbook(1.0, 1e-6)
    (0.5, 0.0344...)
    >>> laplace_textbook(15.0, 1e-6) is None
    True
    """
    alpha, beta = epsilon / 2, epsilon / (2 * math.log(2 / delta))
    return (alpha, beta) if laplace_delta(epsilon, alpha=alpha, beta=beta) <= delta else None


def student_alpha(epsilon: float, degrees: int, beta: float) -> float:
    """Largest alpha at which noise with density in proportion to (1 + z^2)^(-(degrees+1)/2) has this pure epsilon.

    Along the path from one law to the other the log density changes at most at the rate (degrees+1) (beta z^2 + alpha
    z)/(1 + z^2) - beta. Its maximum over z is (degrees+1) (beta + hypot(beta, alpha))/2 - beta, solved here for alpha;
    0 if there is none. One degree is the noise of Nissim, Raskhodnikova, Smith 2007 with exponent 2.

    >>> round(student_alpha(0.2, 3, 0.0), 9)
    0.1
    """
    reach = SAFE * (2 * (epsilon + beta) / (degrees + 1) - beta)
    return math.sqrt(reach * reach - beta * beta) if reach > beta else 0.0


def evenly_spread(beta: float) -> float:
    """max over k of (k+1) exp(-beta k): the smooth sensitivity, in gaps, of evenly spread data.

    >>> evenly_spread(1.0), evenly_spread(0.5)
    (1.0, 1.2130...)
    """
    best = max(1 / beta - 1, 0.0)
    return max((k + 1) * math.exp(-beta * k) for k in (math.floor(best), math.ceil(best)))


def least_noise(alpha_of: Callable[[float], float]) -> tuple[float, float]:
    """alpha and beta of the least noise where data are spread evenly: a public rule, which looks at no data.

    >>> least_noise(lambda beta: laplace_alpha(1.0, 1e-6, beta))
    (0.546..., 0.0486...)
    """
    beta = min(BETAS, key=lambda given: evenly_spread(given) / max(alpha_of(given), 1e-300))
    return alpha_of(beta), beta
