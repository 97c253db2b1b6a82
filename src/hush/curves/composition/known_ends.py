"""What is known of a sum of losses at once, before any engine is asked.

Everywhere the losses are taken to be finite; given that, Q-mass may exceed 1.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import numpy as np

from hush.curves.composition.routes import Parts
from hush.curves.pairs.pair import Laws
from hush.numerics.laws.law import Law

SUM_ROUNDING = 1e-12
"""Relative rounding error of a sum of equal losses, or of logs of masses: room for 4,000 roundings of one unit."""
FALLING = (0.5, 0.25, 0.1)
"""Orders b at which 1 - delta <= E e^{-b(L - eps)} is tried: it holds for every b in (0, 1]."""
WORTHWHILE = -1.0
"""That bound is used from e^-1 downwards: nearer to 1 it says nothing that an engine would not."""
NEARLY_NO_TILT = np.array([1e-6])
"""The mean at this order is that of the law, but for a millionth of its variance: it only decides what is tried."""
PINSKER = -7.0
"""Pinsker's inequality is not tried below e^-7: where it would help, the sum of total variations has helped before."""
LEAST = 1e-300
"""Stands for a sum that underflowed: its logarithm must exist. It is above the sum: at worst nothing is said."""
EXPONENT_ROUNDING = 1e-9
"""Relative room for the few roundings of a closed form: far more than they take, far less than matters."""


def written_sum(parts: Parts) -> Fraction | None:
    """The largest loss of a sum, where that of each part was stated: 20 times 0.1 is 2, which floats miss."""
    written = [(pair.written_loss, n) for pair, n in parts]
    known = [n * loss for loss, n in written if loss is not None]
    return sum(known, Fraction(0)) if len(known) == len(written) else None


def below_the_mean(laws: Laws, epsilon: float) -> float:
    """A lower bound on log delta far below the mean loss: 1 - delta <= E e^{-b(L - eps)} for every b in (0, 1]."""
    low = -math.inf
    mean = sum(n * law.cumulants(NEARLY_NO_TILT, 8.0)[1][0] for law, n in laws)
    if epsilon < mean:
        for b in FALLING:
            tilts = [(law.tilt(-b, accuracy=20 + math.log(n)), n) for law, n in laws]
            exponent = sum(n * (t.log_moment + t.log_moment_error) for t, n in tilts) + b * epsilon
            if exponent < WORTHWHILE:
                low = max(low, math.log1p(-math.exp(exponent)))
    return low


def concentrated_log_delta(slope: float, epsilon: float) -> float:
    """log delta <= -(epsilon - rho)^2/(4 rho) of what is rho-zCDP, rho the slope (Bun, Steinke 2016, Lemma 3.5)."""
    past = epsilon - slope
    if not past > 0 < slope:
        return 0.0
    return max(-past * past / slope / 4 * (1 - EXPONENT_ROUNDING), -sys.float_info.max)


def negligible(parts: Parts, laws: Laws, log_delta: float) -> bool:
    """Whether delta(0) is certainly below: total variations add; and Pinsker, sqrt(KL/2)."""
    added = sum(n * math.exp(pair.log_delta(0.0)[1]) for pair, n in parts)
    if math.log(max(added, LEAST)) <= log_delta:
        return True
    if log_delta < PINSKER:
        return False
    tilts = [(law.tilt(0.0), n) for law, n in laws]
    divergence = sum(n * (tilt.mean + tilt.mean_error) for tilt, n in tilts) * (1 + EXPONENT_ROUNDING)
    divergence += sum(n * law.discount for law, n in laws)
    return 0.5 * math.log(max(divergence / 2, LEAST)) <= log_delta


def largest_atom(law: Law) -> float:
    """The largest loss of a law of atoms alone; infinity where there are pieces."""
    return math.inf if law.pieces else float(law.losses.max())
