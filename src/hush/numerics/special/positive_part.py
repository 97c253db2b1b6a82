"""E(V_1 + ... + V_n)_+ of independent equal variables with few values, certified from both sides.

Two ways, and which of them is taken: `added_tails` for few trials, `line_integral` for many.
"""

from __future__ import annotations

import math

from hush.numerics.rounding import UNIT
from hush.numerics.special.added_tails import NO_STILL, direct
from hush.numerics.special.line_integral import along_line
from hush.numerics.special.trials import Interval, Trials, log_mean

DIRECT = 300_000
"""Trials up to which tails are added where one count has to be summed over."""
DIRECT_FINE = 1_200_000
"""The same where more than eight digits are asked for."""
DIRECT_TWICE = 400
"""The same where two counts have to be summed over."""
SINGLE = 10**10
"""The same where no count has to be summed over."""
ENOUGH = 2000
"""Trials from which on the line integral is asked first where four digits will do."""


def log_positive_part(trials: Trials, tolerance: float = 1e-10) -> Interval:
    """Bounds on log E(S)_+, as wide as the tolerance where that takes little work; -inf where S cannot be positive.

    >>> low, high = log_positive_part(Trials(2, (0.5, 0.5), (1.0, -1.0)))
    >>> round(math.exp(low), 9), round(math.exp(high), 9)
    (0.5, 0.5)
    """
    lively = trials.lively
    if not lively or lively[0][0] <= 0:
        return -math.inf, -math.inf
    if len(lively) == 1:  # S is that value times a count, so the mean is exact but for eight roundings
        mean = log_mean(trials)
        return mean - 8 * UNIT * (1 + abs(mean)), mean + 8 * UNIT * (1 + abs(mean))
    drift = len(lively) - 2
    still = 1 - sum(chance for _, chance in lively)
    levels = max(drift, 0) + (still > NO_STILL)
    most = (SINGLE, DIRECT if tolerance > 1e-8 else DIRECT_FINE, DIRECT_TWICE)[min(levels, 2)]
    quick = tolerance >= 1e-4 and trials.count >= ENOUGH
    if trials.count <= most and not quick:
        return direct(trials)
    return along_line(trials, tolerance)
