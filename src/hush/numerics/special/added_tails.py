"""E(V_1 + ... + V_n)_+ as a sum of binomial tails: for up to some 1e5 trials, where lattices matter."""

from __future__ import annotations

import math

import numpy as np

from hush.numerics.rounding import UNIT
from hush.numerics.special.binomial_tails import excess, log_pmf, pmf_slack, window
from hush.numerics.special.trials import Interval, Trials
from hush.numerics.work import room

NO_STILL = 1e-12
"""A chance of 0 below this is rounding of the other chances: it takes no sum of its own."""
FIRST_CUT, DEEPEST_CUT = -45.0, -680.0
"""log of the chance that each end of a window leaves out, at first and at last. Four times it, times the largest sum,
is charged: there are at most four ends."""
ENOUGH_CUT = 1e-12
"""Windows are wide enough where what is charged for them is this share of the sum."""
DEEPER = 30.0
"""A next cut is this far below the sum over the largest value: e^-30 is below ENOUGH_CUT."""
LEAST = 1e-290
"""Stands for a sum that underflowed, where its logarithm is taken: e^DEEPEST_CUT is less."""
PMF_ROUNDING = 1e-13
"""Relative error of a binomial probability near the mean, as in `pmf_slack`, and of one product and sum."""


def direct(trials: Trials) -> Interval:
    """Sum over how many trials have the largest or the least value; the rest of the sum is a binomial excess.

    Several values between are made one: for the upper bound each is spread to the least of them and 0, for the
    lower all are merged in their mean (Jensen, both ways, trial by trial).
    """
    lively = trials.lively
    top, bottom = lively[0], lively[-1]
    between = lively[1:-1]
    if any(value > 0 for value, _ in between):
        raise ValueError("one value may be positive")
    if not between:
        return _sum_of_tails(trials.count, top, bottom, (0.0, 0.0))
    total = math.fsum(value * chance for value, chance in between)
    least = between[-1][0]
    chance = math.fsum(chance for _, chance in between)
    if len(between) == 1:
        return _sum_of_tails(trials.count, top, bottom, between[0])
    low = _sum_of_tails(trials.count, top, bottom, (total / chance, chance))[0]
    return low, _sum_of_tails(trials.count, top, bottom, (least, total / least))[1]


def _sum_of_tails(
    count: int, top: tuple[float, float], bottom: tuple[float, float], drift: tuple[float, float]
) -> Interval:
    """The sum over windows that hold all but a negligible share of the answer; what is outside is charged."""
    log_cut = FIRST_CUT
    low, high = 0.0, math.inf
    while True:
        low, high = _windowed(count, top, bottom, drift, log_cut)
        outside = 4 * count * top[0] * math.exp(log_cut)
        if outside <= ENOUGH_CUT * low or log_cut <= DEEPEST_CUT:
            break
        log_cut = max(min(2 * log_cut, math.log(max(low, LEAST)) - math.log(count * top[0]) - DEEPER), DEEPEST_CUT)
    high += outside
    return (math.log(low) if low > 0 else -math.inf), math.log(max(high, LEAST))


def _windowed(
    count: int, top: tuple[float, float], bottom: tuple[float, float], drift: tuple[float, float], log_cut: float
) -> Interval:
    """Both ends of E[S_+; counts in the windows]: a chance of e^log_cut is left out on each of four sides."""
    both = top[1] + bottom[1]
    share = top[1] / both
    low, high = window(count, min(both, 1.0), log_cut) if both < 1 - NO_STILL else (count, count)
    room(high - low, 100)  # an incomplete beta function takes half a microsecond
    outer = np.arange(low, high + 1, dtype=float)
    weight = np.exp(log_pmf(count, both, outer)) if high > low else np.ones(1)
    error = pmf_slack(count, both, outer) if high > low else np.zeros(1)
    spare = drift[1] / (1 - both) if drift[1] else 0.0
    if 0 < spare < 1 - NO_STILL:
        first = window(count - high, spare, log_cut)[0]
        last = window(count - low, spare, log_cut)[1]
        room((last - first) * len(outer), 150)
        inner = np.arange(first, last + 1, dtype=float)
        rest = np.maximum(count - outer, 0.0)[:, None]
        weight = weight[:, None] * np.exp(log_pmf(rest, spare, inner))
        error = error[:, None] + PMF_ROUNDING + 8 * UNIT * (inner + inner**2)
        moved = inner * drift[0]
    else:
        moved = (count - outer) * drift[0] if spare else np.zeros(len(outer))
    span = top[0] - bottom[0]
    runs = outer[:, None] if weight.ndim == 2 else outer
    level = -(bottom[0] * runs + moved) / span
    value, slack = excess(runs, share, level)
    total = float((weight * value).sum())
    wrong = float((weight * (slack + (error + PMF_ROUNDING) * value)).sum())
    return max((total - wrong) * span, 0.0), (total + wrong) * span
