"""Concentrated differential privacy: slopes of Rényi curves add up, alone or beside a delta."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hush.checks import number
from hush.curves.renyi.curve import RenyiCurve
from hush.errors import NotCovered
from hush.ledger.filters.filter import Filter, Units, priced
from hush.ledger.filters.whole_units import UNITS, allowed, charged
from hush.mechanisms.mechanism import Mechanism

GENEROUS = 1 + 1e-14
"""Slopes are floats, off by a few units of 2^-52: what follows from their sum is asked at a little more."""
JUST_ABOVE = 1 + 1e-9
"""A delta just above the mass of infinite losses."""


@dataclass(frozen=True)
class ZCDPFilter(Filter):
    """Slopes rho of Rényi curves (zCDP) add up to at most rho.

    Feldman, Zrnic 2021, at every order at once: the divergence of order a of all answers is at most rho a.

    >>> import hush
    >>> filter = ZCDPFilter(rho=0.5)
    >>> filter.admits(filter.cost(hush.Gaussian(1.0))), filter.admits(filter.cost(hush.Gaussian(0.99)))
    (True, False)
    """

    rho: float

    def __post_init__(self) -> None:
        number("ZCDPFilter", "1e-15 <= rho <= 1e5", 1e-15, 1e5, rho=self.rho)

    def limited(self) -> Units:
        return (allowed(self.rho),)

    def cost(self, mechanism: Mechanism) -> Units:
        return (priced(mechanism, mechanism.renyi_curve().to_zcdp(), "rho of zCDP"),)

    def promised(self, delta: float) -> float:
        return RenyiCurve.linear(self.rho * GENEROUS).epsilon(delta=delta)

    @property
    def theorem(self) -> str:
        return f"rho of zCDP adds up to at most {self.rho:g} (Feldman, Zrnic 2021, at every order)"


@dataclass(frozen=True)
class ApproximateZCDPFilter(Filter):
    """Slopes rho add up to at most rho, and deltas to at most delta.

    Whitehouse, Ramdas, Rogers, Wu 2023, Thm 1. A release that is (epsilon, delta)-DP costs rho = epsilon^2/2 and its
    delta: it may be taken for one that reveals all with probability delta, and is epsilon-DP otherwise (Kairouz, Oh,
    Viswanath 2015).

    >>> import hush
    >>> filter = ApproximateZCDPFilter(rho=0.5, delta=1e-6)
    >>> filter.share(filter.cost(hush.ApproxDP(epsilon=0.1, delta=5e-7)))
    0.5...
    """

    rho: float
    delta: float

    def __post_init__(self) -> None:
        number("ApproximateZCDPFilter", "1e-15 <= rho <= 1e5", 1e-15, 1e5, rho=self.rho)
        number("ApproximateZCDPFilter", "2^-50 <= delta < 1", 2.0**-50, 1, high_open=True, delta=self.delta)

    def limited(self) -> Units:
        return allowed(self.rho), allowed(self.delta)

    def cost(self, mechanism: Mechanism) -> Units:
        rho = _slope(mechanism)
        if math.isfinite(rho):
            return priced(mechanism, rho, "rho"), 0
        total = self.nothing
        for step, times in mechanism.steps_in_sequence:
            total = self.sum(total, tuple(times * part for part in _step_cost(step)))
        return total

    def promised(self, delta: float) -> float:
        left = (delta - self.delta) * (1 - 1e-12)
        return RenyiCurve.linear(self.rho * GENEROUS).epsilon(delta=left) if left > 0 else math.inf

    @property
    def told_at(self) -> float:
        return 2 * self.delta

    @property
    def theorem(self) -> str:
        return (
            f"rho of zCDP adds up to at most {self.rho:g}, and delta to at most {self.delta:g} "
            "(Whitehouse, Ramdas, Rogers, Wu 2023)"
        )


def _slope(mechanism: Mechanism) -> float:
    try:
        return mechanism.renyi_curve().to_zcdp()
    except NotCovered:
        return math.inf


def _step_cost(step: Mechanism) -> Units:
    """rho and delta of one step: of its curve, or of the least delta at which it has an epsilon."""
    rho = _slope(step)
    if math.isfinite(rho):
        return priced(step, rho, "rho"), 0
    mass = max(step.evidence(neighbours).pair.infinite for _, neighbours in step.directions())
    for delta in (step.stated_delta or mass, mass, mass * JUST_ABOVE):
        epsilon = step.epsilon(delta=min(delta, 1.0)).upper
        if math.isfinite(epsilon):
            return max(charged(epsilon * epsilon / 2 * GENEROUS, "rho"), 1), min(charged(delta, "delta"), UNITS)
    raise NotCovered(f"approximate zCDP of {step}: it has no finite epsilon at the mass of its infinite losses")
