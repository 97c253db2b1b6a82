"""Unary encoding: a value as bits, each bit randomized."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hush.arrays import Array
from hush.curves.pairs.finite import FinitePair
from hush.curves.pairs.pair import Pair
from hush.curves.relation import Relation
from hush.curves.theorems.shuffling.multiset import (
    Multiset,
    Plain,
    blanket_of_unary,
    others_agree,
    others_elsewhere,
)
from hush.curves.theorems.shuffling.shuffled import Named
from hush.errors import InvalidParameter
from hush.mechanisms.fields import truth
from hush.mechanisms.local.checked_reports import CHOICES, LOCAL_EPSILON, SURE, checked_values
from hush.mechanisms.local.randomizer import PureRandomizer
from hush.mechanisms.stated_epsilon import EpsilonField
from hush.randomness.draws import tosses
from hush.randomness.float_noise import uniform
from hush.randomness.source import Source, source_or_secure


@dataclass(frozen=True, kw_only=True)
class UnaryEncoding(PureRandomizer):
    """A value among k as k bits, one of them 1, each bit then randomized (RAPPOR; Wang et al. 2017).

    Symmetric: every bit is kept with probability e^{eps/2}/(e^{eps/2} + 1). Optimised: the 1 is kept with probability
    1/2 and a 0 turns with probability 1/(e^eps + 1), which makes frequencies more precise.

    >>> UnaryEncoding(epsilon=2.0, choices=50).shuffled(people=10_000).epsilon(delta=1e-6).upper
    0.1...
    """

    epsilon: EpsilonField = LOCAL_EPSILON  # pyright: ignore[reportIncompatibleMethodOverride]
    choices: int = field(metadata=CHOICES)
    optimised: bool = field(default=True, metadata=truth())
    relation: Relation = field(init=False, default=Relation.REPLACE)
    theorem = "the two bits in which two values differ: Erlingsson, Pihur, Korolova 2014; Wang, Blocki, Li, Jha 2017"
    assumes = "one value per person"

    @property
    def keep(self) -> float:
        """Chance that the 1 stays 1."""
        return 0.5 if self.optimised else 1 / (1 + math.exp(-self.epsilon / 2))

    @property
    def flip(self) -> float:
        """Chance that a 0 becomes 1."""
        return 1 / (math.exp(self.epsilon if self.optimised else self.epsilon / 2) + 1)

    @property
    def _bits(self) -> tuple[float, float, float]:
        """Chances of (1,0), of (0,1) and of equal bits at the two places in question, the record holding the first."""
        own, opposite = self.keep * (1 - self.flip), (1 - self.keep) * self.flip
        return own, opposite, 1 - own - opposite

    def report(self) -> Pair:
        own, opposite, rest = self._bits
        e = float(self.epsilon)
        return FinitePair(np.array([-e, 0.0, e]), np.array([opposite, rest, own]), lattice=e)

    def above(self, people: int) -> Named:
        blanket = blanket_of_unary(self.epsilon, self.choices, self.keep, self.flip, people)
        return ("blanket", blanket), ("unshuffled", Plain(self.report()))

    def below(self, people: int) -> Named:
        own, opposite, _ = self._bits
        agree = ("attained", others_agree(self.epsilon, own, opposite, people))
        elsewhere = self.told(people)
        return (agree,) if elsewhere is None else (agree, ("attained, others elsewhere", elsewhere))

    def told(self, people: int) -> Multiset | None:
        if self.choices == 2:
            return None
        return others_elsewhere(self.epsilon, self.flip * (1 - self.flip), people, scale=self._scale)

    @property
    def _scale(self) -> float:
        """Weight of a trial of Q's own kind when everyone else holds a third value."""
        return (1 - self.keep) / (1 - self.flip)

    def bit(self) -> tuple[float, float]:
        return self.flip, self.keep

    def encode(self, values: Any, source: Source | None = None) -> Array:
        """A row of bits per person, for values 0 .. choices-1, drawn exactly from secret bits unless a source is given.

        >>> from hush import SeededSource
        >>> UnaryEncoding(epsilon=1.0, choices=4).encode([2, 2, 0], SeededSource(1)).shape
        (3, 4)
        """
        found = checked_values("UnaryEncoding", values, self.choices)
        bits, people = source_or_secure(source), np.arange(len(found))
        flip = self.flip * SURE
        reports = tosses(bits, len(found) * self.choices, flip).reshape(len(found), self.choices).astype(np.int8)
        reports[people, found] = ~tosses(bits, len(found), 0.5 if self.optimised else flip)
        return reports

    def frequencies(self, reports: Array) -> Array:
        """Unbiased estimates of how frequent each value is."""
        found = np.asarray(reports)
        if found.ndim != 2 or found.shape[1] != self.choices or not np.all((found == 0) | (found == 1)):
            raise InvalidParameter("UnaryEncoding", f"rows of {self.choices} bits", reports=reports)
        return (found.mean(axis=0) - self.flip) / (self.keep - self.flip)

    def standard_error(self, people: int) -> float:
        """Standard error of the estimated frequency of a rare value."""
        return math.sqrt(self.flip * (1 - self.flip) / people) / (self.keep - self.flip)

    def simulate(self, contributions: Array, source: Source) -> Array:
        """The two bits in which the values differ."""
        truth = np.stack([contributions <= 0, contributions > 0], axis=1)
        return (uniform(source, len(contributions), 2) < np.where(truth, self.keep, self.flip)).astype(float)

    def __str__(self) -> str:
        kind = "optimised" if self.optimised else "symmetric"
        return f"{kind} unary encoding of each person's value among {self.choices} with epsilon {self.epsilon:g}"
