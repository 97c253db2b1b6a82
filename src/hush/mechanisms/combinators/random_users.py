"""Users who add a random number of records: the guarantee for whole users."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hush.arrays import Array
from hush.checks import number
from hush.curves.pairs.finite import CERTAIN_LOSS
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.combinators.group import LARGEST
from hush.mechanisms.evidence import Evidence
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.neighbours import Counts, Neighbours
from hush.mechanisms.traits import Scope, Step
from hush.mechanisms.wrapper import Wrapper
from hush.randomness.float_noise import from_masses
from hush.randomness.source import Source

NEAR_ONE = 1e-9
"""How far the chances may be from a total of 1: what rounding makes of those that were written."""
LEAST_REST = 1e-30
"""Poisson numbers less likely than this, all together, are counted as a certain loss."""
LARGEST_MEAN = 1000.0
"""The largest mean number of records of a user, so that the list of chances stays short."""


@dataclass(frozen=True)
class RandomContributions(Wrapper):
    """The guarantee for one user who adds j records with probability chances[j], drawn without regard to the data.

    The number is drawn ANEW for each run: `.repeat(10)` around this is ten numbers. A user who has one number for all
    runs is `RandomContributions(m.repeat(10), chances)`, which costs more. It answers for one user, added, removed or
    replaced, who is in the data once.

    More records than the list has come with the chance `beyond`, which counts as a certain loss. A public bound on a
    private number of records is `.group(most)`; users who are drawn whole are `.on(...)` behind this.

    >>> from hush import Gaussian
    >>> Gaussian(5.0).group(2).delta(epsilon=0.5).upper
    0.0256...
    >>> RandomContributions(Gaussian(5.0), chances=[0.5, 0.3, 0.2]).delta(epsilon=0.5).upper
    0.000148...
    """

    chances: tuple[float, ...]
    beyond: float
    verb: ClassVar[str] = "RandomContributions"

    def __init__(self, inner: Mechanism, chances: Sequence[float], beyond: float = 0.0) -> None:
        object.__setattr__(self, "inner", inner)
        if isinstance(chances, str | bytes) or not hasattr(chances, "__len__") or not 0 < len(chances) <= LARGEST:
            rule = f"the chances of 0, 1, 2, ... records, at most {LARGEST} of them"
            raise InvalidParameter("RandomContributions", rule, chances=chances)
        rule = "0 <= chance <= 1"
        checked = tuple(number("RandomContributions", rule, 0.0, 1.0, chance=chance) for chance in chances)
        rest = number("RandomContributions", "0 <= beyond <= 1", 0.0, 1.0, beyond=beyond)
        if abs(math.fsum(checked) + rest - 1) > NEAR_ONE:
            raise InvalidParameter("RandomContributions", "chances that sum to 1", total=math.fsum(checked) + rest)
        object.__setattr__(self, "chances", checked)
        object.__setattr__(self, "beyond", rest)
        super().__post_init__()

    @classmethod
    def poisson(cls, inner: Mechanism, *, mean: float) -> RandomContributions:
        """Users whose number of records is Poisson distributed with this mean.

        >>> from hush import Gaussian
        >>> RandomContributions.poisson(Gaussian(5.0), mean=0.7).delta(epsilon=0.5).upper
        0.000228...
        """
        mean = number("RandomContributions", "0 <= mean <= 1000", 0.0, LARGEST_MEAN, mean=mean)
        chances, rest = [math.exp(-mean)], 1.0
        while rest > LEAST_REST and mean > 0:
            k = len(chances)
            chances.append(math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)))
            # ratios of neighbours fall, so what follows is less than a geometric series
            rest = chances[-1] * mean / (k + 1 - mean) if k + 1 > mean else 1.0
        return cls(inner, chances, rest if mean > 0 else 0.0)

    @property
    def scope(self) -> Scope:
        return Scope(self.inner.scope.populations, self.inner.scope.together, self.inner.scope.no_secret_sample)

    def _records(self, users: Counts) -> tuple[Counts, float]:
        """Chances of the numbers of records of so many users, and that of a user beyond the list."""
        if (len(users) - 1) * (len(self.chances) - 1) > LARGEST:
            raise NotCovered(f"groups of users with more than {LARGEST} records in all")
        one = np.array(self.chances) / math.fsum(self.chances) if self.beyond < 1 else np.ones(1)
        total, several, past = np.zeros(1), np.ones(1), 0.0
        for number_of_users, weight in enumerate(users):
            total = np.pad(total, (0, len(several) - len(total))) + weight * several
            several = np.convolve(several, one)
            past += weight * -math.expm1(number_of_users * math.log1p(-self.beyond)) if self.beyond < 1 else weight
        return tuple(np.trim_zeros(total, "b").tolist()), past

    def knows(self, neighbours: Neighbours) -> Evidence:
        if neighbours.most > 1:
            raise NotCovered(f"{self}, several users, or one who is drawn several times: she has one number of records")
        past = max(self._records(counts)[1] for counts in (neighbours.removed, neighbours.added))
        if neighbours.nobody or past == 0:
            return self.inner.evidence(neighbours.thin(lambda counts: self._records(counts)[0]))
        if not neighbours.one_way:
            raise NotCovered(f"{self}, users replaced, numbers beyond the list: give chances that sum to 1")
        listed = self.inner.evidence(neighbours.thin(lambda counts: self._records(counts)[0]))
        certain = Evidence(lambda: CERTAIN_LOSS)
        return Evidence.blend([(listed, 1 - past), (certain, past)])

    def derivation(self) -> Step:
        return Step(
            f"for users of up to {len(self.chances) - 1} records, their number random",
            "the mixture over the number of records that a user adds; numbers beyond the list as a certain loss (joint "
            "convexity): docs/theory/sampling.md",
            "how many records a user adds is drawn by these chances, without regard to the data and anew for each run, "
            "and stays secret",
            (self.inner.derivation(),),
        )

    def simulate(self, contributions: Array, source: Source) -> Array:
        numbers = from_masses(source, np.arange(len(self.chances)), np.array(self.chances), len(contributions))
        return self.inner.simulate(contributions * numbers, source)

    def __str__(self) -> str:
        mean = math.fsum(k * chance for k, chance in enumerate(self.chances))
        return f"{self.inner}, for users of a random number of records, {mean:g} on average"
