"""How likely it is, at most, to guess so many of the fair coins right that a private training saw."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy import special

from hush.arrays import Array
from hush.auditing.canaries.random_walk import LARGEST_EPSILON
from hush.auditing.claims import Claim

Inverse: TypeAlias = Callable[[Array], Array]
"""The least false positive rate at which an attacker can have a true positive rate."""
Guesses: TypeAlias = tuple[int, int]
"""How many of the highest scores are called members, and how many of the lowest ones non-members."""

LARGEST = {"epsilon": LARGEST_EPSILON, "mu": 32.0}
"""No bound is sought beyond these."""
GRID = 33
"""Parameters tried at once; five such grids, each inside a cell of the one before, find a bound."""


def right_guesses(ranked: Array, guesses: Guesses) -> int:
    """How many guesses are right, of labels in order of falling scores."""
    first, last = guesses
    return int(np.count_nonzero(ranked[:first]) + np.count_nonzero(~ranked[len(ranked) - last :] if last else []))


def chance_of_right(right: int, guesses: int, canaries: int, *, epsilon: Array | float, delta: float) -> Array:
    """Bounds on the chance of so many right guesses or more under (epsilon, delta)-DP, one for each epsilon.

    With W binomial of rate e^eps/(1 + e^eps) over the guesses and b = P[W >= v] it is
    b + m delta b (1 - b) / (v P[W = v]): docs/theory/audits.md; it sharpens Steinke, Nasr, Jagielski 2023, Thm 5.2.
    It grows with epsilon.

    >>> round(float(chance_of_right(90, 100, 1000, epsilon=1.0, delta=1e-5)), 6)
    0.000183
    """
    if right <= 0:
        return np.ones_like(epsilon)
    # in wrong guesses, so that rates near 1 keep their digits
    wrong, rate = guesses - right, special.expit(-np.asarray(epsilon, dtype=float))
    tail = special.bdtr(wrong, guesses, rate)
    if delta == 0:
        return tail
    # P[W >= v] / P[W = v] = 2F1(1, -wrong; v + 1; -e^eps): terms are positive, so the sum keeps its digits
    steps = np.arange(wrong)
    with np.errstate(over="ignore"):
        terms = ((wrong - steps) / (right + 1 + steps)) * np.exp(np.asarray(epsilon, dtype=float))[..., None]
        ratio = np.minimum(1 + np.cumprod(terms, axis=-1).sum(axis=-1), 1e300)
    # a part in 1e9 covers the rounding of a sum of fewer than a million terms
    return np.minimum(tail + canaries * delta * (1 - tail) * ratio / right * (1 + 1e-9), 1.0)


def is_possible(
    right: int, guesses: int, canaries: int, chance: float, inverse: Inverse, shape: tuple[int, ...]
) -> Array:
    """Whether an attacker on f-DP training can have so many right guesses or more with this chance.

    Mahloujifar, Melis, Chaudhuri 2024, Thm 9 and Alg. 3, stated for exactly so many guesses. Let p_c be the chance of c
    right ones. Flipping the coin of one canary makes its right guess wrong and leaves the others, so, averaged over
    canaries (1 - f is concave), for every i
        sum over c > i of c p_c / m  <=  1 - f( sum over c >= i of (r - c) p_c / m ).
    The least total mass with which that can be met puts the chance on v itself, then on each smaller count just what
    its inequality asks for; mass on a larger count would only raise the demands below it. If the total
    exceeds r/m, the chance is impossible. `inverse` and the answer have one entry for each parameter.

    >>> always = lambda reached: reached
    >>> [bool(is_possible(v, 100, 100, 0.05, always, ())) for v in (50, 75)]
    [True, False]
    """
    reached = np.full(shape, chance * right / canaries)
    missed = np.full(shape, chance * (guesses - right) / canaries)
    most = guesses / canaries * (1 + 1e-12)
    for count in range(right - 1, -1, -1):
        asked = np.maximum(missed, inverse(reached))
        more = asked - missed
        reached = np.minimum(reached + more * (count / (guesses - count)), 1.0)
        missed = asked
        # what no longer grows is decided, and so is what has grown too large
        if not np.any((more > 0) & (reached + missed <= most)):
            break
    return reached + missed <= most


def gaussian_inverse(mu: Array) -> Inverse:
    """The inverse for mu-Gaussian DP: Phi(Phi^-1(y) - mu)."""
    return lambda reached: special.ndtr(special.ndtri(reached) - mu)


def is_evidence(correct: int, guesses: Guesses, error: float) -> bool:
    """Whether there are too many right guesses for coins that the training never saw."""
    return correct > 0 and bool(special.bdtrc(correct - 1, sum(guesses), 0.5) <= error)


def bound_from_right(
    correct: int, guesses: Guesses, canaries: int, claim: Claim, error: float, above: float = 0.0
) -> float:
    """The least parameter with which so many right guesses have a chance above the error; 0 where any does.

    Both chances grow with the parameter, so that all parameters below a rejected one are rejected too. Where the bound
    does not exceed `above` the answer is 0.
    """
    if not is_evidence(correct, guesses, error):
        return 0.0
    low, high = above, LARGEST[claim.quantity]
    if not _rejected(correct, sum(guesses), canaries, claim, error, np.array([low]))[0]:
        return 0.0
    for _ in range(5):
        grid = np.linspace(low, high, GRID)
        kept = ~_rejected(correct, sum(guesses), canaries, claim, error, grid)
        first = int(np.argmax(kept)) if kept.any() else GRID - 1
        if first == 0:
            return low
        low, high = float(grid[first - 1]), float(grid[first])
    return low


def _rejected(correct: int, total: int, canaries: int, claim: Claim, error: float, grid: Array) -> Array:
    if claim.quantity == "mu":
        return ~is_possible(correct, total, canaries, error, gaussian_inverse(grid), grid.shape)
    return chance_of_right(correct, total, canaries, epsilon=grid, delta=claim.delta) <= error
