"""Guarantees that are stated, not derived: the worst mechanism that meets them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from hush.checks import couples, listed, number
from hush.curves.pairs.normal import NormalPair
from hush.curves.pairs.pair import Pair
from hush.curves.relation import Relation, checked_relation
from hush.errors import InvalidParameter
from hush.mechanisms.fields import between
from hush.mechanisms.leaf import Leaf
from hush.mechanisms.leaves.stated_points import Points, Promised
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.stated_epsilon import EpsilonField

AS_STATED, STATED = "the stated guarantee holds", "a stated guarantee"

EPSILON = EpsilonField(0, 500)


@dataclass(frozen=True)
class PureDP(Promised):
    """Any epsilon-DP mechanism.

    >>> PureDP(epsilon=0.1).repeat(100).epsilon(delta=1e-5).upper
    4.30679...
    """

    epsilon: EpsilonField = EPSILON  # pyright: ignore[reportIncompatibleMethodOverride]
    relation: Relation = Relation.ADD_REMOVE
    reason: str = field(default=AS_STATED, compare=False, repr=False, kw_only=True)
    """Why it holds, in words, for `explain`; it is not kept in JSON."""
    named: str = field(default=STATED, compare=False, repr=False, kw_only=True)
    """What it is a guarantee of, in words; it is not kept in JSON."""
    word: ClassVar[str] = "pure"
    theorem = (
        "dominated by randomized response: Kairouz, Oh, Viswanath 2015, Thm 2.1; groups by its trade-off curve: "
        "Dong, Roth, Su 2022, Thm 2.14"
    )
    assumes = "{self.reason}"

    def promises(self) -> Points:
        return ((float(self.epsilon), 0.0),)

    @property
    def stated_delta(self) -> float | None:
        return 0.0

    def __str__(self) -> str:
        return f"{self.named} of {self.epsilon:g}-DP"


@dataclass(frozen=True)
class ApproxDP(Promised):
    """Any mechanism that is (epsilon_i, delta_i)-DP for each of the given points (one or many).

    >>> ApproxDP(epsilon=0.5, delta=1e-8).repeat(30).epsilon(delta=1e-6).upper
    13.977...
    """

    points: Points = field(metadata={"words": "EPSILON DELTA"})
    relation: Relation = Relation.ADD_REMOVE
    reason: str = field(default=AS_STATED, compare=False, repr=False)
    """Why it holds, in words, for `explain`; it is not kept in JSON."""
    word: ClassVar[str] = "approx"
    theorem = "the worst pair that meets it: Kairouz, Oh, Viswanath 2015; Dong, Roth, Su 2022, Prop. 2.3, groups 2.14"
    assumes = "{self.reason}"

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float | None = None,
        *,
        points: Sequence[tuple[float, float]] | None = None,
        relation: Relation = Relation.ADD_REMOVE,
        reason: str = AS_STATED,
    ) -> None:
        object.__setattr__(self, "reason", reason)
        rule = "points (epsilon, delta)"
        given = [(epsilon, delta)] if points is None else couples("ApproxDP", rule, points=points)
        if points is not None and (epsilon is not None or delta is not None):
            raise InvalidParameter("ApproxDP", "either epsilon and delta or points", epsilon=epsilon, delta=delta)
        if not len(given):
            raise InvalidParameter("ApproxDP", "at least one point", points=points)
        rule = "0 <= delta <= 1"
        checked = {(EPSILON.checked("ApproxDP", e), number("ApproxDP", rule, 0.0, 1.0, delta=d)) for e, d in given}
        object.__setattr__(self, "points", tuple(sorted(checked)))
        object.__setattr__(self, "relation", checked_relation("ApproxDP", relation))

    def promises(self) -> Points:
        return self.points

    @property
    def stated_delta(self) -> float | None:
        return self.points[0][1] if len(self.points) == 1 else None

    def __str__(self) -> str:
        if len(self.points) == 1:
            return f"a stated guarantee of ({self.points[0][0]:g}, {self.points[0][1]:g})-DP"
        return f"a stated guarantee of (epsilon, delta)-DP at {len(self.points)} points"


@dataclass(frozen=True)
class GaussianDP(Leaf):
    """Any mechanism that is mu-Gaussian-DP: no easier to attack than N(mu, 1) against N(0, 1).

    >>> GaussianDP(mu=1.0).epsilon(delta=1e-5).upper
    4.37717...
    """

    mu: float = field(metadata=between(1e-9, 1e6))
    relation: Relation = Relation.ADD_REMOVE
    word: ClassVar[str] = "gdp"
    theorem = "Gaussian DP and its groups: Dong, Roth, Su 2022, Thms 2.7 and 2.14"
    assumes = AS_STATED

    def at(self, removed: int, added: int) -> Pair:
        return NormalPair.shifted(self.steps(removed, added) * self.mu)

    @property
    def stated_mu(self) -> float | None:
        return self.mu

    def __str__(self) -> str:
        return f"a stated guarantee of {self.mu:g}-GDP"


def from_profile(
    epsilons: Sequence[float], deltas: Sequence[float], *, relation: Relation = Relation.ADD_REMOVE
) -> Mechanism:
    """Any mechanism that meets all the (epsilon, delta) points.

    >>> from_profile([0.5, 1.0], [1e-3, 1e-6]).epsilon(delta=1e-6).upper
    1.0
    """
    rule = "as many epsilons as deltas, in lists"
    given, chances = (
        listed("from_profile", rule, **{name: v}) for name, v in (("epsilons", epsilons), ("deltas", deltas))
    )
    if len(given) != len(chances):
        raise InvalidParameter("from_profile", rule, epsilons=len(given), deltas=len(chances))
    return ApproxDP(points=list(zip(given, chances, strict=True)), relation=relation)
