"""Answers: any randomizer of a stated epsilon, and randomized response among k."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from hush.arrays import Array
from hush.curves.pairs.finite import FinitePair
from hush.curves.pairs.pair import Pair
from hush.curves.pairs.worst_case import stated_points
from hush.curves.relation import Relation
from hush.curves.theorems.shuffling.multiset import (
    BinaryResponses,
    ManyBinaryResponses,
    Multiset,
    Profile,
    blanket_of_response,
    clone,
    others_agree,
    others_elsewhere,
    stronger_clone,
)
from hush.curves.theorems.shuffling.shuffled import HoeffdingBlanket, Named
from hush.mechanisms.local.checked_reports import CHOICES, LOCAL_EPSILON, SURE, checked_values
from hush.mechanisms.local.randomizer import PureRandomizer
from hush.mechanisms.stated_epsilon import EpsilonField
from hush.randomness.draws import integers, tosses
from hush.randomness.float_noise import responses
from hush.randomness.source import Source, source_or_secure


@dataclass(frozen=True)
class LocalDP(PureRandomizer):
    """Any randomizer whose reports are epsilon-LDP: the general clone above, randomized response below.

    >>> LocalDP(epsilon=1.0).shuffled(people=10_000).epsilon(delta=1e-6).upper
    0.05300...
    """

    epsilon: EpsilonField = LOCAL_EPSILON  # pyright: ignore[reportIncompatibleMethodOverride]
    relation: Relation = field(init=False, default=Relation.REPLACE)
    word: ClassVar[str] = "local"
    theorem = "dominated by randomized response: Kairouz, Oh, Viswanath 2015"
    assumes = "the stated epsilon holds"

    def report(self) -> Pair:
        return stated_points([self.epsilon], [0.0])

    def above(self, people: int) -> Named:
        return (("clone", clone(self.epsilon, people)),)

    def listed(self, people: int) -> Named:
        return (("blanket, Hoeffding", HoeffdingBlanket(self.epsilon, people)),)

    def below(self, people: int) -> Named:
        """Randomized response among two, everyone else agreeing; among three, everyone else elsewhere."""
        e = self.epsilon
        low = 1 / (math.exp(e) + 1)
        return (
            ("attained", others_agree(e, 1 - low, low, people)),
            ("attained, among three", self.told(people)),
        )

    def told(self, people: int) -> Multiset:
        return others_elsewhere(self.epsilon, 1 / (math.exp(self.epsilon) + 2), people)

    def bit(self) -> tuple[float, float]:
        return 1 / (math.exp(self.epsilon) + 1), 1 / (1 + math.exp(-self.epsilon))

    def __str__(self) -> str:
        return f"local reports of {self.epsilon:g}-LDP"


@dataclass(frozen=True, kw_only=True)
class KaryResponse(PureRandomizer):
    """k-ary randomized response: your own answer with probability e^eps/(e^eps + k - 1), each other one equally likely.

    >>> KaryResponse(epsilon=1.0, choices=2).shuffled(people=100).epsilon(delta=1e-6)
    Bound(epsilon=0.483651..., delta=1e-06)
    """

    epsilon: EpsilonField = LOCAL_EPSILON  # pyright: ignore[reportIncompatibleMethodOverride]
    choices: int = field(default=2, metadata=CHOICES)
    relation: Relation = field(init=False, default=Relation.REPLACE)
    theorem = "the exact pair of two answers: Warner 1965"
    assumes = "one answer per person"

    @property
    def other(self) -> float:
        """Chance of each answer that is not the person's own."""
        return 1 / (math.exp(self.epsilon) + self.choices - 1)

    @property
    def own(self) -> float:
        """Chance of the person's own answer."""
        return 1 / (1 + (self.choices - 1) * math.exp(-self.epsilon))

    def table(self, symbols: int = 4) -> Array:
        """Probabilities of the first few answers (columns) for the first few values (rows); the rest look the same."""
        size = min(self.choices, symbols)
        return np.full((size, size), self.other) + (self.own - self.other) * np.eye(size)

    def report(self) -> Pair:
        e, rest = float(self.epsilon), (self.choices - 2) * self.other
        if rest == 0:
            return FinitePair(np.array([-e, e]), np.array([self.other, self.own]), lattice=2 * e)
        return FinitePair(np.array([-e, 0.0, e]), np.array([self.other, rest, self.own]), lattice=e)

    def above(self, people: int) -> Named:
        if self.choices == 2 and people <= BinaryResponses.MOST:
            return (("exact", BinaryResponses(self.epsilon, people)),)
        blanket = ("blanket", blanket_of_response(self.epsilon, self.choices, people))
        if self.choices == 2 and people <= ManyBinaryResponses.MOST:
            return ("all data", ManyBinaryResponses(self.epsilon, people)), blanket
        return (blanket,)

    def listed(self, people: int) -> Named:
        stronger: Profile = stronger_clone(self.epsilon, people, self.table())
        return (("stronger clone", stronger), *super().listed(people))

    def below(self, people: int) -> Named:
        e = self.epsilon
        if self.choices == 2 and people <= BinaryResponses.MOST:
            return (("exact", BinaryResponses(e, people)),)
        agree = ("attained", others_agree(e, self.own, self.other, people))
        elsewhere = self.told(people)
        return (agree,) if elsewhere is None else (agree, ("attained, others elsewhere", elsewhere))

    def told(self, people: int) -> Multiset | None:
        return None if self.choices == 2 else others_elsewhere(self.epsilon, self.other, people)

    def bit(self) -> tuple[float, float]:
        return self.other, self.own

    def encode(self, values: Any, source: Source | None = None) -> Array:
        """One report per person, for values 0 .. choices-1, drawn exactly from secret bits unless a source is given.

        >>> from hush import SeededSource
        >>> KaryResponse(epsilon=1.0, choices=4).encode([2, 2, 2, 2, 2, 2], SeededSource(1))
        array([2, 3, 2, 3, 2, 1])
        """
        found = checked_values("KaryResponse", values, self.choices)
        bits = source_or_secure(source)
        lies = tosses(bits, len(found), min((self.choices - 1) * self.other * SURE, 1.0))
        other = (found + 1 + integers(bits, self.choices - 1, len(found))) % self.choices
        return np.where(lies, other, found)

    def frequencies(self, reports: Array) -> Array:
        """Unbiased estimates of how frequent each value is."""
        found = checked_values("KaryResponse", reports, self.choices)
        return (np.bincount(found, minlength=self.choices) / len(found) - self.other) / (self.own - self.other)

    def standard_error(self, people: int) -> float:
        """Standard error of the estimated frequency of a rare value."""
        return math.sqrt(self.other * (1 - self.other) / people) / (self.own - self.other)

    def simulate(self, contributions: Array, source: Source) -> Array:
        return responses(source, (contributions > 0).astype(int), self.choices, self.own)

    def __str__(self) -> str:
        return f"randomized response of each person among {self.choices} with epsilon {self.epsilon:g}"
