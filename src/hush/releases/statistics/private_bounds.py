"""Bounds that are found with a part of the budget: powers of two that hold enough records."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from hush.arrays import Array
from hush.checks import number
from hush.curves.relation import Relation, checked_relation
from hush.errors import InvalidParameter
from hush.mechanisms.leaves.laplace import DiscreteLaplace
from hush.mechanisms.mechanism import Mechanism
from hush.randomness.additive import add_discrete_laplace, scale_for
from hush.releases.answer import Answer, Run
from hush.releases.query import Query


@dataclass(frozen=True, kw_only=True)
class Bounds(Query):
    """Bounds (low, high), each 0 or plus or minus a power of two, that leave few records out.

    Records are counted by sign and binary exponent from -powers to powers: 2^(k-1) <= |x| < 2^k. Each count gets
    discrete Laplace noise, and bins are believed from a public threshold on, which any empty bin passes with
    probability at most `failure`. The bounds span the believed bins: what they leave out is in bins of few records.
    Where no bin is believed the bounds are the widest, plus and minus 2^powers. NaN counts as 0, what is
    larger as the largest.

    >>> import hush
    >>> Bounds(epsilon=0.5).release([3.0] * 500 + [900.0] * 500, source=hush.SeededSource(1)).value
    (2.0, 1024.0)
    """

    epsilon: float
    powers: int = 64
    failure: float = 1e-6
    relation: Relation = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        rule = "1e-5 <= epsilon <= 500"
        object.__setattr__(self, "epsilon", number("Bounds", rule, 1e-5, 500.0, epsilon=self.epsilon))
        rule = "0 < failure < 1"
        number("Bounds", rule, 0.0, 1.0, low_open=True, high_open=True, failure=self.failure)
        if isinstance(self.powers, bool) or not isinstance(self.powers, int) or not 1 <= self.powers <= 880:
            raise InvalidParameter("Bounds", "a whole number 1 <= powers <= 880", powers=self.powers)
        checked_relation("Bounds", self.relation)

    @property
    def _moved(self) -> int:
        """Bins whose count one record changes, each by 1."""
        return 2 if self.relation is Relation.REPLACE else 1

    @property
    def scale(self) -> float:
        """Of the noise of a count."""
        return scale_for(self.epsilon / self._moved)

    @property
    def threshold(self) -> int:
        """The least noisy count that is believed."""
        bins = 4 * self.powers + 3
        return max(math.ceil(self.scale * math.log(bins / self.failure)), 1)

    @property
    def mechanism(self) -> Mechanism:
        return DiscreteLaplace(scale=self.scale, relation=self.relation).repeat(self._moved)

    def answer(self, run: Run) -> Answer:
        counts = run.table.added(self._counts, numbers=True)
        noisy = add_discrete_laplace(np.array(counts), sensitivity=1, scale=self.scale, source=run.source)
        believed = np.flatnonzero(noisy >= self.threshold)
        if not len(believed):
            return Answer((-math.ldexp(1.0, self.powers), math.ldexp(1.0, self.powers)), None, None)
        low, high = self._edges(int(believed[0]))[0], self._edges(int(believed[-1]))[1]
        return Answer((low, high), None, None)

    def audit_records(self) -> tuple[list[float], float]:
        """One record more makes the bin reach the threshold."""
        return [1.0] * (self.threshold - 1), 1.0

    def _counts(self, batches: Iterable[Array]) -> list[int]:
        counts = np.zeros(4 * self.powers + 3, dtype=np.int64)
        for batch in batches:
            counts += np.bincount(self._bins(batch), minlength=len(counts))
        return counts.tolist()

    def _bins(self, values: Array) -> Array:
        """0 in the middle; to the right the exponents of positive numbers, to the left those of negative ones."""
        numbers = np.nan_to_num(np.asarray(values, dtype=float), nan=0.0, posinf=np.inf, neginf=-np.inf)
        size, exponent = np.frexp(np.clip(numbers, -(2.0**900), 2.0**900))
        place = np.clip(exponent, -self.powers, self.powers) + self.powers + 1
        place = np.where((size == 0) | (exponent < -self.powers), 0, place)
        return np.where(numbers < 0, -place, place) + 2 * self.powers + 1

    def _edges(self, place: int) -> tuple[float, float]:
        """The range of the numbers of one bin."""
        offset = place - 2 * self.powers - 1
        tiny = math.ldexp(1.0, -self.powers - 1)
        if offset == 0:
            return -tiny, tiny
        power = abs(offset) - self.powers - 1
        near, far = math.ldexp(1.0, power - 1), math.ldexp(1.0, power)
        return (near, far) if offset > 0 else (-far, -near)
