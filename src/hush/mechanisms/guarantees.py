"""What every mechanism can be asked: epsilon, delta, Rényi divergences and trade-offs, from its evidence."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from functools import partial
from itertools import pairwise

import numpy as np

from hush.arrays import Array
from hush.checks import listed, number
from hush.curves.attacker.roc import NeighbourTest, RocCurve
from hush.curves.bound import Bound, delta_of
from hush.curves.interval import known
from hush.curves.pairs.pair import Pair
from hush.curves.relation import Relation
from hush.curves.renyi.curve import RenyiCurve
from hush.curves.tradeoff import complement
from hush.mechanisms.evidence import Evidence
from hush.mechanisms.neighbours import Neighbours
from hush.numerics.work import asked, part

TOLERANCES = (1e-6, 1e-9, 1e-12)
"""Relative widths that are sought in turn."""
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
        blank = self.relation is Relation.ZERO_OUT
        return [(name, Neighbours.of(out, into, in_place=blank)) for name, out, into in self.relation.directions]

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
        if delta == 1:  # which every mechanism meets
            return Bound(0.0, 0.0, "epsilon", delta=delta, relation=self.relation, route="pair")
        low, high, route = 0.0, 0.0, "pair"
        for share, evidence in self._different():
            with part(share):
                ask = partial(evidence.epsilon, delta, floor=low)
                a, b, found = _narrowed(tolerance, ask, relative=True)
            a, b = known((a, b))
            low, high = max(low, a), max(high, b)
            route = route if found == "pair" else found  # Rényi as soon as one direction has a Rényi bound only
        if route == "pair" and low == 0 and high > 0:
            route = "pair, upper bound only"
        return Bound(low, high, "epsilon", delta=delta, relation=self.relation, route=route)

    @asked
    def guess(self, *, delta: float, tolerance: float = 1e-6) -> float | None:
        """About epsilon at this delta in the first direction, with no bound: where a search begins.

        None where there is no guess that is cheaper than the answer; infinity where it takes too much work here.
        """
        evidence = self._first
        return evidence.pair.guess(math.log(delta), tolerance) if evidence.has_pair else None

    @asked
    def lower_epsilon(self, *, delta: float, tolerance: float = 1e-6) -> float:
        """The lower end of `epsilon` in the first direction alone, where most cost more: a search needs no more."""
        delta = number("epsilon", "0 < delta < 1", 0.0, 1.0, low_open=True, high_open=True, delta=delta)
        return _narrowed(tolerance, partial(self._first.epsilon, delta, floor=0.0), relative=True)[0]

    @property
    def _first(self) -> Evidence:
        """The evidence of the first direction."""
        return self.evidence(self.directions()[0][1])

    def _asked(self) -> list[tuple[float, str, Evidence]]:
        """The evidence of each direction, with its share of the work that is left."""
        return _shared([(name, self.evidence(neighbours)) for name, neighbours in self.directions()])

    def _different(self) -> list[tuple[float, Evidence]]:
        """The same for directions that differ: a pair that is its own mirror image is asked once."""
        kept: list[tuple[str, Evidence]] = []
        for name, neighbours in self.directions():
            evidence = self.evidence(neighbours)
            if not any(evidence.says_the_same(other) for _, other in kept):
                kept.append((name, evidence))
        return [(share, evidence) for share, _, evidence in _shared(kept)]

    @asked
    def log_delta(self, *, epsilon: float, tolerance: float = 1e-6) -> Bound:
        """The log of delta at this epsilon, also where delta is too small for a float.

        >>> import hush
        >>> hush.Gaussian(noise_multiplier=1.0).repeat(10).log_delta(epsilon=500).upper
        -12261.144...
        """
        epsilon = number("delta", "0 <= epsilon < infinity", 0.0, math.inf, high_open=True, epsilon=epsilon)
        low, high, route = self._log_delta(epsilon, tolerance)
        return Bound(low, high, "log delta", epsilon=epsilon, relation=self.relation, route=route)

    @asked
    def upper_log_delta(self, *, epsilon: float, tolerance: float = 1e-6) -> float:
        """The upper end of `log_delta`, without the work for the lower one: what a search asks for again and again."""
        epsilon = number("delta", "0 <= epsilon < infinity", 0.0, math.inf, high_open=True, epsilon=epsilon)
        return self._log_delta(epsilon, tolerance, attacks=False)[1]

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
        for share, evidence in self._different():
            if low > -math.inf and evidence.surely_below(epsilon, low):
                continue  # the larger delta counts
            with part(share):
                a, b, found = _narrowed(tolerance, lambda t, e=evidence: e.log_delta(epsilon, t, attacks=attacks))
            a, b = known((a, b))
            low, high = max(low, a), max(high, b)
            route = route if found == "pair" else found  # Rényi as soon as one direction has a Rényi bound only
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
        low, high = complement(rate)
        tests, route = self._tests()
        for share, test in tests:
            with part(share):
                a, b = known(test.at_rate(rate))
            low, high = min(low, a), min(high, b)
        return Bound(low, high, "false negative rate", relation=self.relation, route=route)

    @asked
    def roc(self) -> RocCurve:
        """The whole curve of the best attacker: bounds on what it misses, at every false positive rate.

        >>> import hush
        >>> curve = hush.Laplace(scale=1.0).roc()
        >>> curve.at(0.1).upper, curve.width < 1e-6
        (0.728171..., True)
        """
        tests, route = self._tests()
        return RocCurve.of([test for _, test in tests], self.relation, route)

    def _tests(self) -> tuple[list[tuple[float, NeighbourTest]], str]:
        """Each test of absence against presence, with its share of the work that is left; and the route."""
        tests: list[tuple[float, NeighbourTest]] = []
        route = "pair"
        for share, name, evidence in self._asked():
            test = evidence.tested(mirrored=name == "add" and evidence.has_pair)
            if not evidence.has_pair:
                route = "Rényi"
                if name == "add":  # the curve that compares presence to absence covers both directions of the test
                    continue
            if test not in [known for _, known in tests]:  # a pair that is its own mirror image has one test only
                tests.append((share, test))
        return tests, route

    def advantage(self) -> Bound:
        """The largest (true positive rate - false positive rate) of any attacker: delta at epsilon 0."""
        found = self.delta(epsilon=0.0)
        return Bound(found.lower, found.upper, "advantage", relation=self.relation, route=found.route)


def _shared(directions: list[tuple[str, Evidence]]) -> list[tuple[float, str, Evidence]]:
    """Directions with their shares of the work that is left: the last one has all of it."""
    shares = [FIRST] * (len(directions) - 1) + [1.0]
    return [(share, name, evidence) for share, (name, evidence) in zip(shares, directions, strict=True)]


def _narrowed(
    tolerance: float, ask: Callable[[float], tuple[float, float, str]], *, relative: bool = False
) -> tuple[float, float, str]:
    """What is answered at ever finer tolerances, until one is met that is fine enough.

    They are the same few for all questions, and what one gives is kept: so a finer tolerance never widens an answer.
    """
    tolerance = number("A question", "1e-12 <= tolerance <= 0.1", 1e-12, 0.1, tolerance=tolerance)
    low, high, route = ask(TOLERANCES[0])
    for coarser, finer in pairwise(TOLERANCES):
        if tolerance >= coarser or low == high or high - low <= tolerance * (high if relative else 1.0):
            break
        a, b, route = ask(finer)
        low, high = max(low, a), min(high, b)
    return low, high, route
