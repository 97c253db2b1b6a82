"""The certified curve of the best attacker: what any of them finds, at every rate of false alarms."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from hush.arrays import Array
from hush.checks import number
from hush.curves.attacker.best_tests import RenyiTradeoff, best_tests
from hush.curves.bound import Bound
from hush.curves.interval import Interval
from hush.curves.pairs.pair import Pair
from hush.curves.relation import Relation
from hush.curves.renyi.curve import RenyiCurve
from hush.curves.tradeoff import Ends, Tradeoff, complement, complements, refuse_crossing
from hush.numerics.rounding import UNIT
from hush.numerics.work import attempt, question

NO_CURVE = RenyiCurve.constant(np.inf)
"""Where nothing is known."""
MOST_RATES = 150
"""Rates at which the arrays of a curve are given, for each test at the most."""
ALWAYS = np.array([0.0, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.05, 0.1, 0.5, 1.0])
"""Rates that every curve is given at."""


@dataclass(frozen=True)
class NeighbourTest:
    """One dataset tested against a neighbour: a pair that dominates and pairs that are attained, or a Rényi curve."""

    pair: Pair | None
    attained: tuple[Pair, ...] = ()
    curve: RenyiCurve = NO_CURVE

    @property
    def tests(self) -> Tradeoff:
        """The errors that the pair, or else the curve, allows."""
        return RenyiTradeoff(self.curve) if self.pair is None else best_tests(self.pair)

    def at(self, rates: Array) -> Ends:
        """Bounds on the least false negative rates; where that takes too much work, what holds always."""
        nothing = np.zeros(len(rates)), complements(rates)[1]
        found = attempt(lambda: self.tests.at(rates), None)
        low = self._by_advantage(rates) if found is None else found[0]
        highs = [attempt(lambda p=pair: best_tests(p).at(rates), nothing)[1] for pair in self.attained]
        high = np.min([nothing[1], *highs], axis=0)
        refuse_crossing(low, high)
        return np.minimum(low, high), high

    def at_rate(self, rate: float) -> Interval:
        """The same at one rate, as narrow as can be."""
        nothing = 0.0, complement(rate)[1]
        found = attempt(lambda: self.tests.at_rate(rate), None)
        low = float(self._by_advantage(np.array([rate]))[0]) if found is None else found[0]
        highs = [attempt(lambda p=pair: best_tests(p).at_rate(rate), nothing)[1] for pair in self.attained]
        high = min([nothing[1], *highs])
        refuse_crossing(np.array([low]), np.array([high]))
        return min(low, high), high

    def _by_advantage(self, rates: Array) -> Array:
        """What one value of the profile says: both errors sum to at least 1 - delta(0)."""
        pair = self.pair
        if pair is None:
            return np.zeros(len(rates))
        log_delta = attempt(lambda: pair.log_delta(0.0)[1], 0.0)
        return np.maximum(-math.expm1(min(log_delta, 0.0)) - rates - 4 * UNIT, 0.0)

    @property
    def bends(self) -> Array:
        """Rates between which the curve is well seen, not too many of them."""
        found = np.unique(attempt(lambda: self.tests.bends, np.empty(0)))
        return found[np.unique(np.linspace(0, len(found) - 1, MOST_RATES).astype(int))] if len(found) else found


@dataclass(frozen=True, eq=False)
class RocCurve:
    """The least false negative rate of any attacker against the false positive rate (null: the record is absent).

    `lower` and `upper` are certified at each of the `false_positive_rates`; `at` answers at any other. A guarantee is
    read off `lower`: no attacker misses less. What it finds, the true positive rate, is what is left of 1.

    >>> import hush
    >>> curve = hush.Gaussian(noise_multiplier=1.0).roc()
    >>> curve.at(0.05).lower, curve.true_positive_rate(0.05).upper
    (0.7404..., 0.2595...)
    >>> bool((curve.lower <= curve.upper).all())
    True
    """

    false_positive_rates: Array
    lower: Array
    """Lower bounds on the least false negative rate."""
    upper: Array
    relation: Relation
    route: str
    _tests: tuple[NeighbourTest, ...] = field(repr=False)

    @classmethod
    def of(cls, tests: Sequence[NeighbourTest], relation: Relation, route: str) -> RocCurve:
        """The worst of several tests at each rate."""
        rates = np.unique(np.concatenate([ALWAYS, *(np.clip(test.bends, 0.0, 1.0) for test in tests)]))
        lower, upper = worst(tests, rates)
        return cls(rates, lower, upper, relation, route, tuple(tests))

    def at(self, false_positive_rate: float) -> Bound:
        """Bounds on the least false negative rate at this false positive rate."""
        low, high = self.at_rates(np.array([_rate(false_positive_rate)]))
        return Bound(float(low[0]), float(high[0]), "false negative rate", relation=self.relation, route=self.route)

    def at_rates(self, false_positive_rates: Array) -> Ends:
        """The lower and the upper bounds at each of these rates."""
        with question():
            return worst(self._tests, np.array([_rate(rate) for rate in false_positive_rates]))

    def true_positive_rate(self, false_positive_rate: float) -> Bound:
        """Bounds on the largest true positive rate at this false positive rate; a guarantee is read off `upper`."""
        missed = self.at(false_positive_rate)
        low, high = complement(missed.upper)[0], complement(missed.lower)[1]
        return Bound(low, high, "true positive rate", relation=self.relation, route=self.route)

    @property
    def width(self) -> float:
        """The largest distance of the two bounds at the given rates."""
        return float(np.max(self.upper - self.lower))

    def to_json(self) -> str:
        """The curve as a text: the rates, both bounds at each, and whom they compare.

        >>> import hush, json
        >>> sorted(json.loads(hush.PureDP(1.0).roc().to_json()))
        ['false_positive_rates', 'kind', 'lower', 'quantity', 'relation', 'route', 'upper']
        """
        found = {"kind": "RocCurve", "quantity": "false negative rate", "relation": self.relation.name.lower()}
        arrays = {name: getattr(self, name).tolist() for name in ("false_positive_rates", "lower", "upper")}
        return json.dumps(found | {"route": self.route} | arrays)

    def __repr__(self) -> str:
        return f"RocCurve({len(self.lower)} rates, width={self.width:.3g}, route={self.route!r})"


def worst(tests: Sequence[NeighbourTest], rates: Array) -> Ends:
    """The least that any of the tests has at each rate, from both sides."""
    low, high = complements(rates)
    for test in tests:
        a, b = test.at(rates)
        low, high = np.minimum(low, a), np.minimum(high, b)
    return low, high


def _rate(false_positive_rate: float) -> float:
    rule = "0 <= false_positive_rate <= 1"
    return number("roc", rule, 0.0, 1.0, false_positive_rate=false_positive_rate)
