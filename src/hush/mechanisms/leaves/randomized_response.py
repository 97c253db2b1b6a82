"""Randomized response: the true answer, or any other."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hush.arrays import Array
from hush.checks import count, number
from hush.curves.pairs.finite import FinitePair
from hush.curves.pairs.pair import Pair
from hush.curves.relation import Relation, checked_relation
from hush.errors import InvalidParameter
from hush.mechanisms.leaf import Leaf
from hush.mechanisms.neighbours import Neighbours, settled
from hush.mechanisms.stated_epsilon import EpsilonField
from hush.randomness.float_noise import responses
from hush.randomness.source import Source

EPSILON = EpsilonField(0, 500, low_open=True)


@dataclass(frozen=True, kw_only=True)
class RandomizedResponse(Leaf):
    """k-ary randomized response: the true answer with probability e^eps/(e^eps + k - 1), each other one equally likely.

    It releases an answer of a record or of a query, so its relation must be stated; its pair is the same for any number
    of changed records.

    >>> RandomizedResponse(epsilon=1.0, relation=Relation.REPLACE).epsilon(delta=0).upper
    1.0
    """

    epsilon: EpsilonField = EPSILON  # pyright: ignore[reportIncompatibleMethodOverride]
    choices: int = 2
    relation: Relation
    attains_curve = mirrored = True
    theorem = "the exact pair of the two answers: Warner 1965; Kairouz, Oh, Viswanath 2015"
    assumes = "one answer, which may change at will when you {self.relation.words}"

    def __init__(
        self,
        *,
        epsilon: float | None = None,
        choices: int = 2,
        relation: Relation,
        truth_probability: float | None = None,
    ) -> None:
        who = "RandomizedResponse"
        checked_relation(who, relation)
        choices = count(who, 2, choices=choices)
        if (epsilon is None) == (truth_probability is None):
            raise InvalidParameter(
                who,
                "exactly one of epsilon and truth_probability",
                epsilon=epsilon,
                truth_probability=truth_probability,
            )
        if epsilon is None:
            rule = f"1/choices < truth_probability < 1 (choices={choices})"
            truth = number(
                who,
                rule,
                1 / choices,
                1.0,
                low_open=True,
                high_open=True,
                truth_probability=truth_probability,
            )
            epsilon = math.log(truth / (1 - truth)) + math.log(choices - 1)
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "choices", choices)
        object.__setattr__(self, "relation", relation)

    def at(self, removed: int, added: int) -> Pair:
        """Answers other than the two true ones are alike under both, at loss 0."""
        e = float(self.epsilon)
        total = 1 + (self.choices - 1) * math.exp(-e)
        high, low = 1 / total, math.exp(-e) / total
        rest = (self.choices - 2) * low
        if rest == 0:
            return FinitePair(np.array([-e, e]), np.array([low, high]), lattice=2 * e)
        return FinitePair(np.array([-e, 0.0, e]), np.array([low, rest, high]), lattice=e)

    def mixture(self, neighbours: Neighbours) -> Pair:
        if settled(neighbours.added) == 0:
            return self.at(1, 0).mix(sum(neighbours.removed[1:]))
        if settled(neighbours.removed) == 0:
            return self.at(0, 1).swap().mix(sum(neighbours.added[1:])).swap()
        return super().mixture(neighbours)

    def simulate(self, contributions: Array, source: Source) -> Array:
        own = 1 / (1 + (self.choices - 1) * math.exp(-self.epsilon))
        return responses(source, (contributions > 0).astype(int), self.choices, own)

    def __str__(self) -> str:
        return f"randomized response among {self.choices} with epsilon {self.epsilon:g}"
