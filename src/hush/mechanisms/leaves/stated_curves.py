"""Guarantees that are stated as Rényi curves."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from hush.checks import couples, number
from hush.curves.pairs.pair import Pair
from hush.curves.relation import Relation, checked_relation
from hush.curves.renyi.curve import RenyiCurve
from hush.curves.renyi.sampling import poisson_sample
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.fields import above
from hush.mechanisms.leaf import Leaf
from hush.mechanisms.leaves.stated import AS_STATED
from hush.mechanisms.leaves.stated_points import Points
from hush.mechanisms.neighbours import Neighbours


class CurveLeaf(Leaf):
    """A mechanism known by its Rényi curve alone."""

    def at(self, removed: int, added: int) -> Pair:
        raise NotCovered(f"{self} has a Rényi curve but no dominating pair")

    @abstractmethod
    def curve_at(self, steps: int) -> RenyiCurve:
        """The curve at so many units of distance."""

    def curve_of(self, neighbours: Neighbours) -> RenyiCurve:
        if neighbours.settled is not None:
            return self.curve_at(self.steps(*neighbours.settled))
        if neighbours.sampled is not None and self.relation is Relation.ADD_REMOVE:
            leaves = neighbours.leaving is not None
            return poisson_sample(self.curve_at(1), neighbours.sampled, leaving=leaves)
        raise NotCovered(f"{self} sampled with several records changed, or replaced: no Rényi bound is known")


@dataclass(frozen=True)
class ZCDP(CurveLeaf):
    """Any rho-zCDP mechanism (Bun, Steinke 2016): divergence at most rho times the order.

    >>> ZCDP(rho=0.1).epsilon(delta=1e-6).upper
    2.14193...
    """

    rho: float = field(metadata=above(0))
    relation: Relation = Relation.ADD_REMOVE
    theorem = "zCDP: Bun, Steinke 2016, Def. 1.1; groups Prop. 1.9"
    assumes = AS_STATED

    def curve_at(self, steps: int) -> RenyiCurve:
        return RenyiCurve.linear(steps * steps * self.rho)

    def __str__(self) -> str:
        return f"a stated guarantee of {self.rho:g}-zCDP"


@dataclass(frozen=True)
class TCDP(CurveLeaf):
    """Any (rho, omega)-tCDP mechanism (Bun, Dwork, Rothblum, Steinke 2018): rho times the order below omega.

    >>> TCDP(rho=0.1, omega=20).renyi(orders=[2, 30]).tolist()
    [0.2, inf]
    """

    rho: float = field(metadata=above(0))
    omega: float = field(metadata=above(1))
    relation: Relation = Relation.ADD_REMOVE
    theorem = "tCDP: Bun, Dwork, Rothblum, Steinke 2018, Def. 1"
    assumes = AS_STATED

    def curve_at(self, steps: int) -> RenyiCurve:
        if steps > 1:
            raise NotCovered(f"{self} for groups: no theorem is built in; state the group's own guarantee")
        return RenyiCurve.proven(lambda orders: np.where(orders < self.omega, self.rho * orders, math.inf))

    def __str__(self) -> str:
        return f"a stated guarantee of ({self.rho:g}, {self.omega:g})-tCDP"


@dataclass(frozen=True)
class RenyiDP(CurveLeaf):
    """Any mechanism with these Rényi divergences: points (order, divergence), or a function of the order.

    Between the points the bound is that of the next order: divergences grow with the order. Every value of a function
    is checked (see RenyiCurve.of).

    >>> RenyiDP(points=[(2, 0.1), (8, 0.5)]).renyi(orders=[2, 5]).tolist()
    [0.1, 0.5]
    """

    points: Points = field(metadata={"words": "ORDER DIVERGENCE"})
    function: Callable[[float], float] | None = None
    relation: Relation = Relation.ADD_REMOVE
    word: ClassVar[str] = "renyi"
    theorem = "Rényi DP: Mironov 2017"
    assumes = AS_STATED

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

    def __str__(self) -> str:
        return (
            "a stated Rényi curve" if self.function else f"a Rényi curve stated at orders up to {self.points[-1][0]:g}"
        )
