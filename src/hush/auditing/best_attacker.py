"""The best attacker that there can be against a mechanism, from its certified curve."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hush.auditing.claims import least_false_negatives
from hush.checks import number
from hush.curves.bound import Bound
from hush.curves.interval import known
from hush.mechanisms.mechanism import Mechanism, require

ROUNDING = 1e-15
"""More than the few roundings of a product of two numbers below 1; a risk is lowered by it."""


@dataclass(frozen=True)
class Attacker:
    """An attacker who sees the output, and knows everything but whether one record is in the data.

    >>> import hush
    >>> attacker = Attacker(hush.Gaussian(1.0))
    >>> attacker.true_positive_rate(false_positive_rate=0.01), attacker.posterior(prior=0.5, false_positive_rate=0.01)
    (0.0924..., 0.902...)
    """

    mechanism: Mechanism

    def __post_init__(self) -> None:
        require("Attacker", self.mechanism)

    def roc(self, false_positive_rates: list[float]) -> list[tuple[float, float]]:
        """(false positive rate, largest true positive rate) for each of the rates."""
        rates = [_rate(rate) for rate in false_positive_rates]
        found = 1 - least_false_negatives(self.mechanism, np.array(rates))
        return list(zip(rates, found.tolist(), strict=True))

    def true_positive_rate(self, *, false_positive_rate: float) -> float:
        """An upper bound on the true positives of any attacker with this rate of false alarms."""
        return self.roc([false_positive_rate])[0][1]

    def advantage(self) -> Bound:
        """The largest true positive rate minus false positive rate."""
        return self.mechanism.advantage()

    def posterior(self, *, prior: float, false_positive_rate: float) -> float:
        """How sure any attacker can be, at most, that the record is there when its test says so."""
        belief = _prior(prior)
        found = self.true_positive_rate(false_positive_rate=false_positive_rate)
        alarm = belief * found + (1 - belief) * false_positive_rate
        return belief * found / alarm if alarm > 0 else 1.0

    def largest_posterior(self, *, prior: float) -> float:
        """How sure an attacker can ever become, from pure epsilon: prior e^eps / (1 - prior + prior e^eps).

        >>> import hush
        >>> Attacker(hush.PureDP(math.log(3))).largest_posterior(prior=0.5)
        0.75
        """
        belief = _prior(prior)
        largest = self.mechanism.epsilon(delta=0.0).upper
        return belief / (belief + (1 - belief) * math.exp(-largest))

    def bayes_risk(self, *, prior: float) -> Bound:
        """The least chance of a wrong answer when the record is there with this prior chance.

        min over tests of prior FN + (1 - prior) FP = prior (1 - delta(log((1 - prior)/prior))), delta being that of the
        laws with and without the record, at any real epsilon; the smaller of that over the directions of the relation.

        >>> import hush
        >>> Attacker(hush.Gaussian(1.0)).bayes_risk(prior=0.5).lower
        0.308537...
        """
        belief = _prior(prior)
        threshold = math.log1p(-belief) - math.log(belief)
        low = high = min(belief, 1 - belief)
        for name, neighbours in self.mechanism.directions():
            evidence = self.mechanism.evidence(neighbours)
            pair = evidence.pair
            below, above = known((pair.swap() if name == "add" else pair).log_delta(threshold))
            low, high = min(low, belief * -math.expm1(above)), min(high, belief * -math.expm1(below))
            high = high if evidence.members(alone=True) == (pair,) else min(belief, 1 - belief)
        low = max(low - ROUNDING, 0.0)
        return Bound(low, max(low, high), "Bayes risk", relation=self.mechanism.relation, route="pair")


def _rate(false_positive_rate: float) -> float:
    rule = "0 <= false_positive_rate <= 1"
    return number("Attacker", rule, 0.0, 1.0, false_positive_rate=false_positive_rate)


def _prior(prior: float) -> float:
    return number("Attacker", "0 < prior < 1", 0.0, 1.0, low_open=True, high_open=True, prior=prior)
