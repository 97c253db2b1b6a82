"""Guarantees that are stated, not derived: the worst mechanism that meets them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from hush.checks import couples, listed, number, positive
from hush.curves.pairs.finite import FinitePair
from hush.curves.pairs.normal import NormalPair
from hush.curves.pairs.pair import Pair
from hush.curves.pairs.pointwise import Largest
from hush.curves.relation import Relation, checked_relation
from hush.curves.renyi.curve import RenyiCurve
from hush.curves.renyi.sampling import poisson_sample
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.leaf import Leaf
from hush.mechanisms.leaves.stated_points import Points, Promised
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.neighbours import Neighbours
from hush.mechanisms.stated_epsilon import EpsilonField
from hush.mechanisms.traits import Step

AS_STATED = "the stated guarantee holds"
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
    word: ClassVar[str] = "pure"

    def __post_init__(self) -> None:
        checked_relation("PureDP", self.relation)

    def promises(self) -> Points:
        return ((float(self.epsilon), 0.0),)

    def derivation(self) -> Step:
        return Step(
            str(self),
            "dominated by randomized response: Kairouz, Oh, Viswanath 2015, Thm 2.1; groups by its trade-off curve: "
            "Dong, Roth, Su 2022, Thm 2.14",
            self.reason,
        )

    @property
    def stated_delta(self) -> float | None:
        return 0.0

    def __str__(self) -> str:
        return f"a stated guarantee of {self.epsilon:g}-DP"


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
        checked = {
            (
                EPSILON.checked("ApproxDP", e),
                number("ApproxDP", "0 <= delta <= 1", 0.0, 1.0, delta=d),
            )
            for e, d in given
        }
        object.__setattr__(self, "points", tuple(sorted(checked)))
        object.__setattr__(self, "relation", checked_relation("ApproxDP", relation))

    def promises(self) -> Points:
        return self.points

    def derivation(self) -> Step:
        return Step(
            str(self),
            "the worst pair that meets it: Kairouz, Oh, Viswanath 2015; Dong, Roth, Su 2022, Prop. 2.3, groups 2.14",
            self.reason,
        )

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

    mu: float
    relation: Relation = Relation.ADD_REMOVE
    word: ClassVar[str] = "gdp"

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", number("GaussianDP", "1e-9 <= mu <= 1e6", 1e-9, 1e6, mu=self.mu))
        checked_relation("GaussianDP", self.relation)

    def at(self, removed: int, added: int) -> Pair:
        return NormalPair.shifted(self.steps(removed, added) * self.mu)

    def derivation(self) -> Step:
        return Step(
            str(self),
            "Gaussian DP and its groups: Dong, Roth, Su 2022, Thms 2.7 and 2.14",
            AS_STATED,
        )

    @property
    def stated_mu(self) -> float | None:
        return self.mu

    def __str__(self) -> str:
        return f"a stated guarantee of {self.mu:g}-GDP"


class CurveLeaf(Leaf):
    """A mechanism known by its Rényi curve alone."""

    def at(self, removed: int, added: int) -> Pair:
        raise NotCovered(f"{self} has a Rényi curve but no dominating pair")

    def curve_at(self, steps: int) -> RenyiCurve:
        """The curve at so many units of distance."""
        raise NotImplementedError

    def curve_of(self, neighbours: Neighbours) -> RenyiCurve:
        if neighbours.settled is not None:
            return self.curve_at(self.steps(*neighbours.settled))
        if neighbours.sampled is not None and self.relation is Relation.ADD_REMOVE:
            return poisson_sample(self.curve_at(1), neighbours.sampled)
        raise NotCovered(f"{self} sampled with several records changed, or replaced: no Rényi bound is known")


@dataclass(frozen=True)
class ZCDP(CurveLeaf):
    """Any rho-zCDP mechanism (Bun, Steinke 2016): divergence at most rho times the order.

    >>> ZCDP(rho=0.1).epsilon(delta=1e-6).upper
    2.14193...
    """

    rho: float
    relation: Relation = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", positive("ZCDP", rho=self.rho))
        checked_relation("ZCDP", self.relation)

    def curve_at(self, steps: int) -> RenyiCurve:
        return RenyiCurve.linear(steps * steps * self.rho)

    def derivation(self) -> Step:
        return Step(str(self), "zCDP: Bun, Steinke 2016, Def. 1.1; groups Prop. 1.9", AS_STATED)

    def __str__(self) -> str:
        return f"a stated guarantee of {self.rho:g}-zCDP"


@dataclass(frozen=True)
class TCDP(CurveLeaf):
    """Any (rho, omega)-tCDP mechanism (Bun, Dwork, Rothblum, Steinke 2018): rho times the order below omega.

    >>> TCDP(rho=0.1, omega=20).renyi(orders=[2, 30]).tolist()
    [0.2, inf]
    """

    rho: float
    omega: float
    relation: Relation = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", positive("TCDP", rho=self.rho))
        rule = "1 < omega < infinity"
        value = number("TCDP", rule, 1.0, math.inf, low_open=True, high_open=True, omega=self.omega)
        object.__setattr__(self, "omega", value)
        checked_relation("TCDP", self.relation)

    def curve_at(self, steps: int) -> RenyiCurve:
        if steps > 1:
            raise NotCovered(f"{self} for groups: no theorem is built in; state the group's own guarantee")
        return RenyiCurve.proven(lambda orders: np.where(orders < self.omega, self.rho * orders, math.inf))

    def derivation(self) -> Step:
        return Step(str(self), "tCDP: Bun, Dwork, Rothblum, Steinke 2018, Def. 1", AS_STATED)

    def __str__(self) -> str:
        return f"a stated guarantee of ({self.rho:g}, {self.omega:g})-tCDP"


@dataclass(frozen=True)
class RenyiDP(CurveLeaf):
    """Any mechanism with these Rényi divergences: points (order, divergence), or a function of the order.

    Between the points the bound is that of the next order: divergences grow with the order. All that a function says is
    checked, as RenyiCurve.of tells.

    >>> RenyiDP(points=[(2, 0.1), (8, 0.5)]).renyi(orders=[2, 5]).tolist()
    [0.1, 0.5]
    """

    points: Points = field(metadata={"words": "ORDER DIVERGENCE"})
    function: Callable[[float], float] | None = None
    relation: Relation = Relation.ADD_REMOVE
    word: ClassVar[str] = "renyi"

    def __init__(
        self,
        *,
        points: Sequence[tuple[float, float]] = (),
        function: Callable[[float], float] | None = None,
        relation: Relation = Relation.ADD_REMOVE,
    ) -> None:
        given = couples("RenyiDP", "points (order, divergence)", points=points)
        if (function is None) == (not given) or not (function is None or callable(function)):
            raise InvalidParameter("RenyiDP", "either points or a function", points=points, function=function)
        rule = "orders > 1 (infinity allowed)"
        checked = sorted(
            (
                number("RenyiDP", rule, 1.0, math.inf, low_open=True, order=order),
                number("RenyiDP", "divergence >= 0", 0.0, math.inf, divergence=value),
            )
            for order, value in given
        )
        object.__setattr__(self, "points", tuple(checked))
        object.__setattr__(self, "function", function)
        object.__setattr__(self, "relation", checked_relation("RenyiDP", relation))

    def curve_at(self, steps: int) -> RenyiCurve:
        if steps > 1:
            raise NotCovered(f"{self} for groups: state the group's own curve")
        return self._stated

    @cached_property
    def _stated(self) -> RenyiCurve:
        """One curve for all questions: it remembers what a function said, and checks that it does not fall."""
        if self.function is not None:
            return self.function if isinstance(self.function, RenyiCurve) else RenyiCurve.of(self.function)
        orders, values = zip(*self.points, strict=True)
        least = np.minimum.accumulate(np.array(values)[::-1])[::-1]
        bounds = np.append(least, math.inf)
        return RenyiCurve.proven(lambda at: bounds[np.searchsorted(orders, at)])

    def derivation(self) -> Step:
        return Step(str(self), "Rényi DP: Mironov 2017", AS_STATED)

    def __str__(self) -> str:
        return (
            "a stated Rényi curve" if self.function else f"a Rényi curve stated at orders up to {self.points[-1][0]:g}"
        )


@dataclass(frozen=True)
class FromPair(Leaf):
    """A mechanism known by a dominating pair that the user supplies: probabilities under P and Q, or any Pair.

    `remove` is the pair for removing a record (P has it); `add` the one for adding, its mirror unless given.
    It answers for one record.

    >>> FromPair.of([0.75, 0.25], [0.25, 0.75]).epsilon(delta=0).upper
    1.0986...
    """

    remove: Pair
    add: Pair
    relation: Relation = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        for name in ("remove", "add"):
            if not isinstance(getattr(self, name), Pair):
                raise InvalidParameter("FromPair", "hush.curves.pairs.pair.Pair values", **{name: getattr(self, name)})
            getattr(self, name).checked()
        checked_relation("FromPair", self.relation)

    @classmethod
    def of(cls, p: Sequence[float], q: Sequence[float], *, relation: Relation = Relation.ADD_REMOVE) -> FromPair:
        """From the probabilities of each outcome with the record (p) and without it (q)."""
        arrays = []
        for name, values in (("p", p), ("q", q)):
            try:
                array = np.asarray(values, dtype=float)
            except (TypeError, ValueError):
                raise InvalidParameter("FromPair", "probabilities", **{name: values}) from None
            if array.ndim != 1 or not len(array) or not np.all(array >= 0) or not abs(float(array.sum()) - 1) < 1e-9:
                raise InvalidParameter("FromPair", "probabilities that are >= 0 and sum to 1", **{name: values})
            arrays.append(array / math.fsum(array))
        if len(arrays[0]) != len(arrays[1]):
            raise InvalidParameter(
                "FromPair", "as many outcomes under p as under q", p=len(arrays[0]), q=len(arrays[1])
            )
        pair = FinitePair.of(arrays[0], arrays[1])
        return cls(pair, pair.swap(), relation)

    def at(self, removed: int, added: int) -> Pair:
        if self.relation is Relation.REPLACE and removed == added == 1:
            return Largest.of((self.remove, self.add))  # either of the two datasets may come first
        if self.relation is Relation.ADD_REMOVE and removed + added == 1:
            return self.remove if removed else self.add
        raise NotCovered(f"{self} answers for one record; supply the pair of the group or of the replacement")

    def derivation(self) -> Step:
        return Step(str(self), "dominating pairs: Zhu, Dong, Wang 2022, Def. 7", "the pair dominates, as stated")

    def __str__(self) -> str:
        return "a mechanism with a supplied dominating pair"


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
