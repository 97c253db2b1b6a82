"""Local randomizers: each person's report is private before it leaves their hands."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hush.arrays import Array
from hush.checks import count
from hush.curves.composition.product import Product
from hush.curves.pairs.finite import FinitePair, stated_points
from hush.curves.pairs.pair import Pair
from hush.curves.relation import Relation
from hush.curves.theorems.shuffling.multiset import (
    BinaryResponses,
    ManyBinaryResponses,
    Profile,
    blanket_of_response,
    clone,
    others_agree,
    others_elsewhere,
    stronger_clone,
)
from hush.curves.theorems.shuffling.shuffled import HoeffdingBlanket, Named
from hush.errors import InvalidParameter
from hush.mechanisms.leaf import Leaf
from hush.mechanisms.stated_epsilon import EpsilonField
from hush.mechanisms.traits import Scope, Step
from hush.randomness.draws import integers, tosses
from hush.randomness.float_noise import responses
from hush.randomness.source import Source, source_or_secure

if TYPE_CHECKING:
    from hush.mechanisms.local.shuffled import Shuffled

LOCAL_EPSILON = EpsilonField(1e-4, 30)


SURE = 1 + 2.0**-48
"""A chance to lie is raised by this much: more than the few roundings (2^-53 each) of the float that holds it, so that
a report never gives away more than its epsilon."""


class LocalRandomizer(Leaf):
    """What one person runs on their own value before anything is sent; neighbours replace one person's value.

    Asked by itself it answers for reports that carry their sender's name. `shuffled` answers for the anonymous ones.
    """

    relation: Relation

    @abstractmethod
    def report(self) -> Pair:
        """The pair of one report for the two values that are easiest to tell apart."""

    @property
    @abstractmethod
    def largest(self) -> float:
        """The local epsilon: the largest loss of one report (infinity where it has no bound)."""

    @abstractmethod
    def above(self, people: int) -> Named:
        """Bounds on what the shuffled reports of so many people reveal, by the theorems that cover this randomizer."""

    @abstractmethod
    def below(self, people: int) -> Named:
        """What is attained by some data (and, for a stated guarantee, by some randomizer)."""

    @abstractmethod
    def bit(self) -> tuple[float, float]:
        """(chance among others and for Q, chance for P) of one bit of a report, for lower bounds on compositions."""

    def listed(self, people: int) -> Named:
        """Bounds that hold, too, but are no better: they are shown for comparison."""
        e = self.largest
        return (("clone", clone(e, people)), ("blanket, Hoeffding", HoeffdingBlanket(e, people)))

    def shuffled(self, *, people: int) -> Shuffled:
        """The reports of so many people in random order, without names.

        >>> KaryResponse(epsilon=2.0, choices=8).shuffled(people=10_000).epsilon(delta=1e-6).upper
        0.08558...
        """
        from hush.mechanisms.local.shuffled import Shuffled

        return Shuffled(self, people)

    @property
    def scope(self) -> Scope:
        named = "its reports carry their senders' names, which show who was drawn: write .shuffled(people=...) first"
        return Scope(no_secret_sample=named)

    def at(self, removed: int, added: int) -> Pair:
        return Product.of([(self.report(), self.steps(removed, added))])


def checked_choices(who: str, choices: Any) -> int:
    """How many values there are, from 2 on."""
    value = count(who, 2, choices=choices)
    if value > 10**6:
        raise InvalidParameter(who, "choices <= 1000000", choices=choices)
    return value


def checked_values(who: str, values: Any, choices: int) -> Array:
    """Values 0 .. choices-1, one per person; what they are is not told, as they are people's own."""
    found = np.asarray(values)
    if found.ndim != 1 or not np.issubdtype(found.dtype, np.integer) or not np.all((found >= 0) & (found < choices)):
        rule = f"whole numbers from 0 to {choices - 1}, one per person"
        raise InvalidParameter(who, rule, values=f"{found.dtype}{list(found.shape)}")
    return found.astype(np.int64)


def checked_numbers(who: str, values: Any) -> Array:
    """Numbers from 0 to 1, one per person; what they are is not told."""
    found = np.asarray(values, dtype=float)
    if found.ndim != 1 or not np.all((found >= 0) & (found <= 1)):
        raise InvalidParameter(who, "numbers from 0 to 1, one per person", values=f"{found.dtype}{list(found.shape)}")
    return found


@dataclass(frozen=True)
class LocalDP(LocalRandomizer):
    """Any randomizer whose reports are epsilon-LDP: the general clone above, randomized response below.

    >>> LocalDP(epsilon=1.0).shuffled(people=10_000).epsilon(delta=1e-6).upper
    0.05300...
    """

    epsilon: EpsilonField = LOCAL_EPSILON  # pyright: ignore[reportIncompatibleMethodOverride]
    relation: Relation = field(init=False, default=Relation.REPLACE)
    word: ClassVar[str] = "local"

    @property
    def largest(self) -> float:
        return float(self.epsilon)

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
            ("attained, among three", others_elsewhere(e, 1 / (math.exp(e) + 2), people)),
        )

    def bit(self) -> tuple[float, float]:
        return 1 / (math.exp(self.epsilon) + 1), 1 / (1 + math.exp(-self.epsilon))

    def derivation(self) -> Step:
        return Step(
            str(self), "dominated by randomized response: Kairouz, Oh, Viswanath 2015", "the stated epsilon holds"
        )

    def __str__(self) -> str:
        return f"local reports of {self.epsilon:g}-LDP"


@dataclass(frozen=True, kw_only=True)
class KaryResponse(LocalRandomizer):
    """k-ary randomized response: your own answer with probability e^eps/(e^eps + k - 1), each other one equally likely.

    >>> KaryResponse(epsilon=1.0, choices=2).shuffled(people=100).epsilon(delta=1e-6)
    Bound(epsilon=0.483651..., delta=1e-06)
    """

    epsilon: EpsilonField = LOCAL_EPSILON  # pyright: ignore[reportIncompatibleMethodOverride]
    choices: int = 2
    relation: Relation = field(init=False, default=Relation.REPLACE)

    def __post_init__(self) -> None:
        object.__setattr__(self, "choices", checked_choices("KaryResponse", self.choices))

    @property
    def largest(self) -> float:
        return float(self.epsilon)

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
        if self.choices == 2:
            return (agree,)
        return agree, ("attained, others elsewhere", others_elsewhere(e, self.other, people))

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

    def derivation(self) -> Step:
        return Step(str(self), "the exact pair of two answers: Warner 1965", "one answer per person")

    def simulate(self, contributions: Array, source: Source) -> Array:
        return responses(source, (contributions > 0).astype(int), self.choices, self.own)

    def __str__(self) -> str:
        return f"randomized response of each person among {self.choices} with epsilon {self.epsilon:g}"
