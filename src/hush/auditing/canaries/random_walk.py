"""All numbers of guesses tested at once: the path of wrong guesses against a random walk and a boundary."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special

from hush.arrays import Array

FEWEST_GUESSES = 10
"""Fewer guesses are not counted."""
RATIO = 1.04
"""Ratio of one number of guesses to the one before: tests of closer numbers are nearly the same test."""
LARGEST_EPSILON = 64.0
"""No bound is sought beyond."""
ROUNDED_PART = 1e-8
"""Raises a level and a chance by more than rounding lowers them: sums of positive numbers lose no digits by
cancellation, and the laws that are added up are normalised."""
NEGLIGIBLE = 1e-18
"""Masses below this at either end of a law are dropped; CUT covers a million of them."""
CUT = 1e-12
"""Added to a chance for all that is cut off: tails beyond nine deviations and 20 counts, and negligible masses."""


@dataclass(frozen=True, eq=False)
class WalkTest:
    """A test of (epsilon, delta)-DP by guesses in an order that the scores fix, counted at several numbers of them.

    Under epsilon-DP the wrong guesses are, path for path, no fewer than those of a walk whose every step is wrong with
    probability 1/(1 + e^epsilon). The local chance of w wrong among the first r is P[Bin <= w]; divided by the
    weight of r, its least value along the path is the statistic, and the chance that the walk's is as small is
    computed exactly. The proof, and the term for delta, are in docs/theory/audits.md.

    >>> walk = WalkTest.around(50, canaries=200, delta=0.0)
    >>> walk.numbers[:4], int(walk.numbers[-1])
    (array([10, 11, 12, 13]), 200)
    >>> found = walk.bound(walk.numbers // 10, error=0.05)
    >>> 1.6 < found < 1.8
    True
    """

    numbers: Array
    weights: Array
    canaries: int
    delta: float

    @classmethod
    def around(cls, expected: int, *, canaries: int, delta: float, fewest: int = FEWEST_GUESSES) -> WalkTest:
        """Numbers from the fewest to all, weighted towards the expected one."""
        numbers = [min(fewest, canaries)]
        while numbers[-1] < canaries:
            numbers.append(min(canaries, max(numbers[-1] + 1, int(numbers[-1] * RATIO))))
        tried = np.array(numbers)
        return cls(tried, np.minimum(tried / expected, expected / tried), canaries, delta)

    def bound(self, wrong: Array, *, error: float, above: float = 0.0) -> float:
        """An epsilon that is rejected with all below it; 0 where none is, or none that exceeds `above`."""
        least = self.least(error)
        if not self.is_evidence(wrong, error=error) or (above > least and self.chance(wrong, above, above) > error):
            return 0.0
        low, step = max(least, self._by_shares(wrong, error, least)), 0.25
        finest = 1 / (32 * math.sqrt(self.canaries))
        while step >= finest and low < LARGEST_EPSILON:
            if self.chance(wrong, low, low + step) <= error:
                low, step = low + step, 1.5 * step
            else:
                step /= 2
        return low

    def is_evidence(self, wrong: Array, *, error: float) -> bool:
        """Whether anything is rejected."""
        least = self.least(error)
        local = self.local(wrong, least)
        # a quick look first: the number that speaks most is one of those tested, so its chance is part of theirs
        return bool(local[np.argmin(local / self.weights)] <= error) and self.chance(wrong, least, least) <= error

    def chance(self, wrong: Array, low: float, high: float) -> float:
        """Bound on the chance of a path as unlikely as this one, whichever epsilon from low to high is true.

        The statistic is largest and the walk luckiest at `high`; the boundary that it draws is most generous at `low`.
        """
        level = self._statistic(wrong, high) * (1 + ROUNDED_PART)
        allowed = most_wrong(np.minimum(level * self.weights, 1.0), self.numbers, float(special.expit(-low)))
        return crossing(self.numbers, allowed, float(special.expit(-high))) + self.leak(low)

    def leak(self, epsilon: float) -> float:
        """What delta adds: m delta times the largest influence of a guess on a crossing; less for larger epsilon."""
        if self.delta == 0:
            return 0.0
        wrong = float(special.expit(-epsilon))
        modes = math.sqrt(wrong / (2 * math.e * (1 - wrong))) * self._roots
        return self.canaries * self.delta * (wrong + float(np.minimum(modes, wrong).sum())) / int(self.numbers[0])

    def local(self, wrong: Array, epsilon: float) -> Array:
        """The chance of so few wrong guesses at each number."""
        return special.bdtr(wrong, self.numbers, special.expit(-epsilon))

    def likeliest(self, wrong: Array, epsilon: float) -> int:
        """The number of guesses that speaks most against epsilon."""
        return int(self.numbers[np.argmin(self.local(wrong, epsilon) / self.weights)])

    def _statistic(self, wrong: Array, epsilon: float) -> float:
        return float(np.min(self.local(wrong, epsilon) / self.weights))

    @cached_property
    def _roots(self) -> Array:
        return 1 / np.sqrt(np.arange(1.0, self.numbers[0]))

    def least(self, error: float) -> float:
        """Where the leak falls to half of the error; the test of that epsilon serves all below, as each implies it."""
        return last_before(lambda epsilon: self.leak(epsilon) <= error / 2)

    def _by_shares(self, wrong: Array, error: float, least: float) -> float:
        """A bound without the walk, from the sum of the chances of all numbers."""
        left, total = error - self.leak(least), float(self.weights.sum())
        return last_before(lambda epsilon: self._statistic(wrong, epsilon) * total > left)


def last_before(holds: Callable[[float], bool]) -> float:
    """The last epsilon before a condition starts to hold for good; 0 where it always holds."""
    low, high = 0.0, LARGEST_EPSILON
    if holds(low):
        return low
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low


def most_wrong(levels: Array, numbers: Array, rate: float) -> Array:
    """The most wrong guesses whose local chance is within the level; -1 where not even none is.

    >>> most_wrong(np.array([0.05, 0.05]), np.array([4, 10]), 0.5)
    array([-1,  1])
    """
    with np.errstate(invalid="ignore"):
        found = np.floor(special.bdtrik(levels, numbers, rate))
    most = np.where(levels >= 1, numbers, np.clip(np.nan_to_num(found, nan=-1.0), -1, numbers))
    # the inverse is rounded, and NaN for some: the chance itself decides
    while np.any(more := (most < numbers) & (special.bdtr(np.minimum(most + 1, numbers), numbers, rate) <= levels)):
        most = most + more
    while np.any(fewer := (most >= 0) & (special.bdtr(np.maximum(most, 0), numbers, rate) > levels)):
        most = most - fewer
    return most.astype(int)


def crossing(numbers: Array, allowed: Array, rate: float) -> float:
    """The chance that a walk of wrong guesses is at or below what is allowed at one of the numbers or more.

    >>> crossing(np.array([2, 4]), np.array([0, 1]), 0.5)
    0.375...
    """
    lowest, mass, chance = 0, np.ones(1), 0.0
    added = np.diff(numbers, prepend=0).tolist()
    laws = {trials: _binomial(trials, rate) for trials in set(added)}
    for trials, most in zip(added, allowed.tolist(), strict=True):
        start, steps = laws[trials]
        mass, lowest = np.convolve(mass, steps), lowest + start
        crossed = max(most + 1 - lowest, 0)
        chance += float(mass[:crossed].sum())
        mass, lowest = mass[crossed:], lowest + crossed
        kept = np.flatnonzero(mass > NEGLIGIBLE)
        if len(kept) == 0:
            break
        mass, lowest = mass[kept[0] : kept[-1] + 1], lowest + int(kept[0])
    return min(chance * (1 + ROUNDED_PART) + CUT, 1.0)


def _binomial(trials: int, rate: float) -> tuple[int, Array]:
    """The law of wrong guesses among new ones, from its first count that matters."""
    spread = 9 * math.sqrt(trials * rate * (1 - rate)) + 20
    start, end = max(0, int(trials * rate - spread)), min(trials, int(trials * rate + spread))
    counts = np.arange(start, end + 1)
    logs = special.xlogy(counts, rate) + special.xlog1py(trials - counts, -rate)
    ways = special.gammaln(trials + 1) - special.gammaln(counts + 1) - special.gammaln(trials - counts + 1)
    mass = np.exp(ways + logs)
    return start, mass / mass.sum()
