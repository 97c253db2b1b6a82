"""What every mechanism can be asked: epsilon, delta, Rényi divergences and trade-offs, from its evidence."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable

import numpy as np

from hush.arrays import Array
from hush.checks import listed, number
from hush.curves.bound import Bound, delta_of
from hush.curves.interval import known
from hush.curves.pairs.pair import Pair
from hush.curves.relation import Relation
from hush.curves.renyi.curve import RenyiCurve
from hush.curves.tradeoff import complement
from hush.mechanisms.evidence import Evidence, least_false_negatives
from hush.mechanisms.neighbours import Neighbours
from hush.numerics.work import asked, part

FIRST = 0.65
"""Share of the work for all directions but the last: what the first makes often serves the next, too."""


class Guarantees(ABC):
    """All questions about a mechanism, answered from its relation and its evidence.

    Each question is asked in every direction of the relation (add, remove or replace), and the worst answer counts.
    """

    relation: Relation
    """Which datasets are neighbours."""

    @abstractmethod
    def evidence(self, neighbours: Neighbours) -> Evidence:
        """All that is known of these neighbours."""

    def directions(self) -> list[tuple[str, Neighbours]]:
        """Each direction of the relation, by name."""
        return [(name, Neighbours.of(removed, added)) for name, removed, added in self.relation.directions]

    def pairs(self) -> dict[str, Pair]:
        """The dominating pair of each direction, composed separately."""
        return {name: self.evidence(neighbours).pair for name, neighbours in self.directions()}

    @asked
    def epsilon(self, *, delta: float, tolerance: float = 1e-6) -> Bound:
        """The least epsilon such that this is (epsilon, delta)-DP.

        `tolerance` is the relative width that is sought; the interval is wider where mathematics knows no better.

        >>> import hush
        >>> hush.Gaussian(noise_multiplier=1.0).epsilon(delta=1e-5)
        Bound(epsilon=4.377178..., delta=1e-05)
        """
        delta = number("epsilon", "0 <= delta <= 1", 0.0, 1.0, delta=delta)
        tolerance = _tolerance(tolerance)
        if delta == 1:  # which every mechanism meets
            return Bound(0.0, 0.0, "epsilon", delta=delta, relation=self.relation, route="pair")
        low, high, route = 0.0, 0.0, "pair"
        for share, _, evidence in self._asked():
            with part(share):
                a, b, found = evidence.epsilon(delta, tolerance, low)
            a, b = known((a, b))
            low, high, route = max(low, a), max(high, b), _together(route, found)
        if route == "pair" and low == 0 and high > 0:
            route = "pair, upper bound only"
        return Bound(low, high, "epsilon", delta=delta, relation=self.relation, route=route)

    def _asked(self) -> list[tuple[float, str, Evidence]]:
        """The evidence of each direction, with its share of the work that is left."""
        every = self.directions()
        shares = [FIRST] * (len(every) - 1) + [1.0]
        return [(share, name, self.evidence(n)) for share, (name, n) in zip(shares, every, strict=True)]

    @asked
    def log_delta(self, *, epsilon: float, tolerance: float = 1e-6) -> Bound:
        """The log of delta at this epsilon, also where delta is too small for a float.

        >>> import hush
        >>> hush.Gaussian(noise_multiplier=1.0).repeat(10).log_delta(epsilon=500).upper
        -12261.144...
        """
        epsilon = number("delta", "0 <= epsilon < infinity", 0.0, math.inf, high_open=True, epsilon=epsilon)
        low, high, route = self._log_delta(epsilon, _tolerance(tolerance))
        return Bound(low, high, "log delta", epsilon=epsilon, relation=self.relation, route=route)

    @asked
    def upper_log_delta(self, *, epsilon: float, tolerance: float = 1e-6) -> float:
        """The upper end of `log_delta`, without the work for the lower one: what a search asks for again and again."""
        epsilon = number("delta", "0 <= epsilon < infinity", 0.0, math.inf, high_open=True, epsilon=epsilon)
        return self._log_delta(epsilon, _tolerance(tolerance), attacks=False)[1]

    def delta(self, *, epsilon: float, tolerance: float = 1e-6) -> Bound:
        """The least delta such that this is (epsilon, delta)-DP.

        >>> import hush
        >>> hush.Laplace(scale=1.0).delta(epsilon=0.5).upper
        0.2211992...
        """
        bound = self.log_delta(epsilon=epsilon, tolerance=tolerance)
        low, high = math.exp(bound.lower), delta_of(bound.upper)
        return Bound(low, high, "delta", epsilon=bound.epsilon, relation=self.relation, route=bound.route)

    def _log_delta(self, epsilon: float, tolerance: float, *, attacks: bool = True) -> tuple[float, float, str]:
        low, high, route = -math.inf, -math.inf, "pair"
        for share, _, evidence in self._asked():
            with part(share):
                a, b, found = evidence.log_delta(epsilon, tolerance, attacks=attacks)
            a, b = known((a, b))
            low, high, route = max(low, a), max(high, b), _together(route, found)
        return low, high, route

    @asked
    def renyi(self, *, orders: Iterable[float]) -> Array:
        """Upper bounds on the Rényi divergence at each order >= 1 (1 is Kullback-Leibler, inf the max divergence).

        >>> import hush
        >>> hush.Gaussian(noise_multiplier=1.0).renyi(orders=[2, 8])
        array([1., 4.])
        """
        asked_for = listed("renyi", "a list of orders", orders=orders)
        checked = [number("renyi", "orders >= 1", 1.0, math.inf, order=order) for order in asked_for]
        return self.renyi_curve()(np.array(checked))

    def renyi_curve(self) -> RenyiCurve:
        """The Rényi curve that holds in every direction of the relation: a function of every order from 1 to infinity.

        >>> import hush
        >>> hush.Gaussian(noise_multiplier=1.0).renyi_curve().to_zcdp()
        0.5
        """
        curves = [self.evidence(neighbours).curve for _, neighbours in self.directions()]
        return RenyiCurve.largest(curves).declaring(
            attained=all(curve.attained for curve in curves), mirrored=all(curve.mirrored for curve in curves)
        )

    @asked
    def tradeoff(self, *, false_positive_rate: float) -> Bound:
        """The least false negative rate of any attacker at this false positive rate (null: the record is absent).

        >>> import hush
        >>> hush.Gaussian(noise_multiplier=1.0).tradeoff(false_positive_rate=0.05).lower
        0.7404...
        """
        rate = number("tradeoff", "0 <= false_positive_rate <= 1", 0.0, 1.0, false_positive_rate=false_positive_rate)
        (low, high), route = complement(rate), "pair"
        done: list[tuple[Pair, tuple[Pair, ...]]] = []
        for share, name, evidence in self._asked():
            if not evidence.has_pair:
                # the curve that compares the record's presence to its absence covers both directions of the test
                curve = evidence.curve
                low, route = (low if name == "add" else min(low, curve.tradeoff(false_positive_rate=rate))), "Rényi"
                continue
            pair, members = evidence.pair, evidence.members(alone=False)
            tested = pair.swap() if name == "add" else pair
            if (tested, members) in done:  # a pair that is its own mirror image is the same in both directions
                continue
            with part(share):
                a, b = known(least_false_negatives(tested, rate))
                if members != (pair,):
                    found = [least_false_negatives(m.swap() if name == "add" else m, rate)[1] for m in members]
                    b = min(found, default=complement(rate)[1])
            done.append((tested, members))
            low, high = min(low, a), min(high, b)
        return Bound(low, high, "false negative rate", relation=self.relation, route=route)

    def advantage(self) -> Bound:
        """The largest (true positive rate - false positive rate) of any attacker: delta at epsilon 0."""
        found = self.delta(epsilon=0.0)
        return Bound(found.lower, found.upper, "advantage", relation=self.relation, route=found.route)


def _together(route: str, found: str) -> str:
    """The route of the whole answer: Rényi as soon as one direction has a Rényi bound only."""
    return route if found == "pair" else found


def _tolerance(tolerance: float) -> float:
    return number("A question", "1e-12 <= tolerance <= 0.1", 1e-12, 0.1, tolerance=tolerance)
