"""The same integrals in thirty digits, straight from their definitions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import mpmath as mp

Mixture = tuple[tuple[float, float], ...]

DIGITS = 30


def density_ratio(mixture: Mixture, x: mp.mpf) -> mp.mpf:
    """Density of sum_j w_j N(a_j, 1) over that of N(0, 1)."""
    return mp.fsum(mp.mpf(w) * mp.exp(mp.mpf(a) * x - mp.mpf(a) ** 2 / 2) for a, w in mixture)


@cache
def _table(above: Mixture, below: Mixture, step: str, reach: int) -> list[tuple[mp.mpf, mp.mpf]]:
    """log of P's density and the loss, on a grid."""
    h = mp.mpf(step)
    rows = []
    for k in range(-int(reach / h), int(reach / h) + 1):
        x = k * h
        log_above = mp.log(density_ratio(above, x))
        rows.append((log_above - x * x / 2, log_above - mp.log(density_ratio(below, x))))
    return rows


@cache
def normal_moment(above: Mixture, below: Mixture, s: mp.mpc, step: str = "0.0625", reach: int = 30) -> mp.mpc:
    """E_P e^{sL} for P, Q mixtures of unit normals: the trapezoid rule, whose error falls like e^{-2 pi d/step}.

    The integrand is analytic in |Im x| < pi/(largest shift), so for shifts up to 3 the error is below e^{-100}.
    """
    terms = (mp.exp(log_density + s * loss) for log_density, loss in _table(above, below, step, reach))
    return mp.mpf(step) / mp.sqrt(2 * mp.pi) * mp.fsum(terms)


@cache
def segment_moment(bound: float, log_height: float, above: float, below: float, s: mp.mpc) -> mp.mpc:
    """E_P e^{sL} of the part with base density e^{log_height + l/2} on [-bound, bound] under P, e^{-l/2} under Q."""
    a = mp.mpf(bound)

    def term(l: mp.mpf) -> mp.mpc:
        top, bottom = 1 - mp.mpf(above) + above * mp.exp(l), 1 - mp.mpf(below) + below * mp.exp(l)
        return mp.exp(mp.mpf(log_height) - l / 2 + (1 + s) * mp.log(top) - s * mp.log(bottom))

    pieces = max(2, int(2 * bound * (1 + abs(s)) / 8))
    return mp.quad(term, [-a + 2 * a * k / pieces for k in range(pieces + 1)])


def inverted(moment: Callable[[mp.mpc], mp.mpc], times: int, epsilon: float, c: float, period: float) -> mp.mpf:
    """delta(eps) = 1/(2 pi) * integral of e^{-s eps} M(s)^T / (s (s+1)) dy on s = c + iy, by the trapezoid rule.

    Stops where the terms are below 1e-25 of the sum. Aliases are e^{-c period} and smaller: choose both large.
    """
    step, total, k = 2 * mp.pi / mp.mpf(period), mp.mpf(0), 0
    while True:
        s = mp.mpc(c, k * step)
        term = mp.exp(-s * epsilon + times * mp.log(moment(s))) / (s * (s + 1))
        total += term.real / (2 if k == 0 else 1)
        if abs(term) < mp.mpf(10) ** -25 * abs(total):
            return total * step / mp.pi
        k += 1
