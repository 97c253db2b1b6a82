"""How likely so many right guesses are, at most, about fair coins that a private training saw: the one-run theorems."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from scipy import special

Array: TypeAlias = Any
Inverse: TypeAlias = Callable[[Array], Array]
"""The least false positive rate at which an attacker can have a true positive rate."""


def tail_of_pure(right: int, guesses: int, canaries: int, *, epsilon: float, delta: float) -> float:
    """Bound on the chance of so many right guesses or more, of (epsilon, delta)-DP.

    Steinke, Nasr, Jagielski 2023, Thm 5.2: with W binomial of rate e^eps/(1 + e^eps) over the guesses,
    P[W >= v] + 2 m delta max over i >= 1 of P[v - i <= W < v] / i.

    >>> round(tail_of_pure(90, 100, 1000, epsilon=1.0, delta=1e-5), 6)
    0.000841
    """
    rate = 1 / (1 + math.exp(-epsilon))
    tail = float(special.bdtrc(right - 1, guesses, rate)) if right > 0 else 1.0
    if delta == 0 or right == 0:
        return tail
    below = np.arange(right - 1, -1, -1)
    log_mass = (
        special.gammaln(guesses + 1)
        - special.gammaln(below + 1)
        - special.gammaln(guesses - below + 1)
        - guesses * math.log1p(math.exp(-epsilon))
        - (guesses - below) * epsilon
    )
    worst = float(np.max(np.cumsum(np.exp(log_mass)) / np.arange(1, right + 1)))
    return min(1.0, tail + 2 * canaries * delta * worst * (1 + 1e-9))


def is_possible(right: int, guesses: int, canaries: int, chance: float, inverse: Inverse, shape: tuple) -> Array:
    """Whether an attacker on f-DP training can have so many right guesses or more with this chance.

    Mahloujifar, Melis, Chaudhuri 2024, Thm 9 and Alg. 3, stated for exactly so many guesses. Let p_c be the chance of c
    right ones. Flipping the coin of one canary makes its right guess wrong and leaves the others, so, averaged over
    canaries (1 - f is concave), for every i
        sum over c > i of c p_c / m  <=  1 - f( sum over c >= i of (r - c) p_c / m ).
    The least total mass with which that can be met puts the chance on v itself, then on each smaller count just what
    its inequality asks for; mass on a larger count would only raise the demands below it. If the total
    exceeds r/m, the chance is impossible. `inverse` and the answer are arrays, one entry a parameter.

    >>> always = lambda reached: reached
    >>> [bool(is_possible(v, 100, 100, 0.05, always, ())) for v in (50, 75)]
    [True, False]
    """
    reached = np.full(shape, chance * right / canaries)
    missed = np.full(shape, chance * (guesses - right) / canaries)
    for count in range(right - 1, -1, -1):
        asked = np.maximum(missed, inverse(reached))
        more = asked - missed
        reached = np.minimum(reached + more * (count / (guesses - count)), 1.0)
        missed = asked
        if not np.any(more > 0):
            break
    return reached + missed <= guesses / canaries * (1 + 1e-12)


def gaussian_inverse(mu: Array) -> Inverse:
    """Of mu-Gaussian DP: Phi(Phi^-1(y) - mu)."""
    return lambda reached: special.ndtr(special.ndtri(reached) - mu)


def approximate_inverse(epsilon: Array, delta: float) -> Inverse:
    """Of (epsilon, delta)-DP: the larger of its two lines (Wasserman, Zhou 2010)."""
    down, up = np.exp(-np.asarray(epsilon)), np.exp(np.asarray(epsilon))
    return lambda y: np.maximum(np.maximum((y - delta) * down, 1 - delta - up * (1 - y)), 0.0)
