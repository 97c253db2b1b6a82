"""Choices of bounded range: the exponential mechanism, report noisy max."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np
from scipy import special

from hush.arrays import Array
from hush.curves.interval import written_up
from hush.curves.pairs.pair import Pair
from hush.curves.pairs.pointwise import Tightest
from hush.curves.relation import Relation
from hush.curves.renyi.curve import RenyiCurve
from hush.curves.renyi.families import bounded_range
from hush.curves.renyi.sampling import poisson_sample
from hush.curves.theorems.ranged_choices import EVEN, EvenCoin, RangedChoices, coin
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.fields import between, truth
from hush.mechanisms.leaf import Leaf
from hush.mechanisms.leaves.from_pair import FromPair
from hush.mechanisms.leaves.stated import PureDP
from hush.mechanisms.mechanism import against_nothing
from hush.mechanisms.neighbours import Neighbours
from hush.mechanisms.stated_epsilon import EpsilonField
from hush.mechanisms.traits import Step
from hush.randomness.float_noise import uniform
from hush.randomness.source import Source

EPSILON = EpsilonField(0, 500, low_open=True)
WIDEST = 500
"""The largest range of a loss whose envelope does not overflow."""
UNEVEN = (0.65, 0.85)
"""Other places for the two losses of a coin, as shares of the range: each is attained."""


class BoundedRange(Leaf):
    """A choice whose privacy loss varies by at most a known range over its outcomes, which says more than pure DP does.

    Its pair is the envelope of the pairs of all such choices, and its Rényi curve the supremum of theirs.
    """

    @property
    @abstractmethod
    def loss_range(self) -> float:
        """The range of the loss when one record changes."""

    def at(self, removed: int, added: int) -> Pair:
        loss_range = self.steps(removed, added) * self.loss_range
        if loss_range > WIDEST:
            raise NotCovered(f"{self}: a range of {loss_range:g} is beyond {WIDEST}")
        return RangedChoices(loss_range)

    def mixture(self, neighbours: Neighbours) -> Pair:
        """Of a sampled group, what pure DP says, or what the whole group's range does: whichever is less.

        A loss of this range is never beyond that of pure DP. And by joint convexity in how many of the group were drawn
        (it is as if that were told), a sample of a group is dominated by the largest of their pairs, that of all of it.
        """
        if neighbours.exchanged is not None:
            return super().mixture(neighbours)
        pure = PureDP(epsilon=self.loss_range, relation=self.relation).mixture(neighbours)
        whole = neighbours.certain.settled
        if whole is None or not neighbours.one_way or self.steps(*whole) * self.loss_range > WIDEST:
            return pure
        return Tightest.of([pure, self.at(*whole)])

    curve_says_more = True

    def attained(self, neighbours: Neighbours, alone: bool) -> tuple[Pair, ...] | None:
        """Each point of the envelope is attained; composed, coins whose two losses are a range apart."""
        if neighbours.exchanged is not None:
            return against_nothing(self, neighbours.exchanged, alone)
        if neighbours.settled is None and neighbours.most > 1:
            return ()  # of a sampled group only a bound is known
        if alone:
            return None
        if neighbours.settled is None:
            coins = [coin(self.loss_range, share) for share in (EVEN, *UNEVEN)]
            return tuple(FromPair(c, c.swap(), self.relation).evidence(neighbours).pair for c in coins)
        bound = self.steps(*neighbours.settled) * self.loss_range  # log-odds of two answers add up
        return EvenCoin(bound), *(coin(bound, share) for share in UNEVEN)

    def curve_of(self, neighbours: Neighbours) -> RenyiCurve | None:
        if neighbours.settled is not None:
            return bounded_range(self.steps(*neighbours.settled) * self.loss_range)
        if neighbours.sampled is not None and self.relation is Relation.ADD_REMOVE:
            return poisson_sample(
                bounded_range(self.loss_range), neighbours.sampled, leaving=neighbours.leaving is not None
            )
        return super().curve_of(neighbours)


@dataclass(frozen=True)
class Exponential(BoundedRange):
    """Exponential mechanism of this epsilon: weights exp(epsilon * utility / 2).

    >>> Exponential(epsilon=1.0).repeat(100).epsilon(delta=1e-6).upper
    34.86...
    """

    epsilon: EpsilonField = EPSILON  # pyright: ignore[reportIncompatibleMethodOverride]
    relation: Relation = Relation.ADD_REMOVE
    theorem = "bounded range: Dong, Durfee, Rogers 2020, Lemma 3.1 (envelope of all pairs of that range)"
    assumes = "utility sensitivity 1 when you {self.relation.words}, weights exp(epsilon * utility / 2)"

    @property
    def loss_range(self) -> float:
        return float(self.epsilon)

    def simulate(self, contributions: Array, source: Source) -> Array:
        """Two options, the record being for the one and against the other."""
        chance = special.expit(self.epsilon * (contributions - 0.5))
        return (uniform(source, len(contributions)) < chance).astype(int)

    def __str__(self) -> str:
        return f"exponential mechanism with epsilon {self.epsilon:g}"


@dataclass(frozen=True)
class ReportNoisyMax(BoundedRange):
    """The index of the largest of several scores, each with Gumbel noise of this scale in units of the sensitivity.

    It is the exponential mechanism in disguise, so its loss has range 2/scale; where a record moves all scores the same
    way (`monotone`, as counts do), 1/scale. Laplace noise gives no such range: state that as PureDP.

    >>> ReportNoisyMax(scale=2.0).renyi(orders=[2]).tolist() == Exponential(epsilon=1.0).renyi(orders=[2]).tolist()
    True
    """

    scale: float = field(metadata=between(0.004, 1e9))
    monotone: bool = field(default=False, metadata=truth())
    relation: Relation = Relation.ADD_REMOVE
    word: ClassVar[str] = "noisy-max"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.monotone and self.relation is Relation.REPLACE:
            raise InvalidParameter("ReportNoisyMax", "monotone only under ADD_REMOVE", monotone=self.monotone)

    @property
    def loss_range(self) -> float:
        return written_up((1 if self.monotone else 2) / Fraction(repr(self.scale)))

    def derivation(self) -> Step:
        moves = "all scores move the same way" if self.monotone else "scores may move either way"
        return Step(
            str(self),
            "Gumbel noise makes it the exponential mechanism; bounded range: Dong, Durfee, Rogers 2020, Lemma 3.1",
            f"score sensitivity 1 when you {self.relation.words}; {moves}; only the index is released",
        )

    def simulate(self, contributions: Array, source: Source) -> Array:
        """Two scores, of which the record raises one and, where it may, lowers the other."""
        gumbel = -self.scale * np.log(-np.log(uniform(source, 2, len(contributions))))
        against = 0.0 if self.monotone else contributions
        return (gumbel[0] + contributions > gumbel[1] - against).astype(int)

    def __str__(self) -> str:
        return f"report noisy max with Gumbel noise of scale {self.scale:g}"
