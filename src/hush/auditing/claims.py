"""What is claimed: a mechanism, and its parameter that an audit bounds from below."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from hush.arrays import Array
from hush.checks import delta_in_range
from hush.curves.attacker.roc import NeighbourTest, worst
from hush.errors import InvalidParameter
from hush.mechanisms.mechanism import Mechanism, require
from hush.numerics.work import question

ROUNDED = 1e-9
"""Slack for the rounding of a certified curve, so that it alone refutes no claim."""


@dataclass(frozen=True)
class Claim:
    """A guarantee as one number: epsilon at a delta, or the mu of Gaussian DP.

    >>> import hush
    >>> Claim.of(hush.ApproxDP(1.0, 1e-5))
    Claim((1, 1e-05)-DP)
    >>> Claim.of(hush.Gaussian(1.0), delta=0.01).value
    2.317...
    """

    mechanism: Mechanism
    quantity: str
    value: float
    delta: float

    @classmethod
    def of(cls, claim: object, delta: float | None = None) -> Claim:
        """The number that a mechanism promises, at the delta that it states itself or else at the given one."""
        mechanism = claim.mechanism if isinstance(claim, Claim) else require("An audit", claim)
        if isinstance(claim, Claim) and delta is None:
            return claim
        if delta is None and mechanism.stated_mu is not None:
            return cls(mechanism, "mu", mechanism.stated_mu, 0.0)
        delta = mechanism.stated_delta if delta is None else delta
        if delta is None:
            raise InvalidParameter("An audit", "delta= for a claim that states none", delta=None)
        delta = delta_in_range("An audit", delta)
        return cls(mechanism, "epsilon", mechanism.epsilon(delta=delta).upper, delta)

    def bound(self, true_positive: Array | float, false_positive: Array | float) -> Array:
        """The least parameter with which an attacker can have these rates; 0 where any allows them.

        One statement, p >= true_positive and q <= false_positive, speaks of both directions: of the event, which is
        more likely with the record, and of its complement, which is more likely without.

        >>> import hush
        >>> float(Claim.of(hush.PureDP(1.0)).bound(0.9, 0.3).round(4))
        1.9459
        """
        p, q = np.asarray(true_positive, dtype=float), np.asarray(false_positive, dtype=float)
        if self.quantity == "mu":
            # Dong, Roth, Su 2022, eq. (6): the trade-off of mu-GDP is Phi(Phi^-1(1 - q) - mu)
            with np.errstate(invalid="ignore"):  # both 0, or both 1: no evidence
                return np.fmax(special.ndtri(p) - special.ndtri(q), 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            there = np.log(np.maximum(p - self.delta, 0.0)) - np.log(q)
            back = np.log(np.maximum(1 - q - self.delta, 0.0)) - np.log1p(-p)
        # where neither event can happen there is no ratio, and no evidence
        return np.fmax(np.fmax(there, back), 0.0)

    def allows(self, limits: tuple[tuple[float, float], ...]) -> bool:
        """Whether the certified trade-off curve has room for one of the (false positive, true positive) rates."""
        rates, found = np.array(limits).T
        return bool(np.any(1 - found >= least_false_negatives(self.mechanism, rates) - ROUNDED))

    @property
    def words(self) -> str:
        """The claim as it is quoted."""
        if self.quantity == "mu":
            return f"{self.value:g}-Gaussian DP"
        return f"({self.value:g}, {self.delta:g})-DP" if self.delta else f"{self.value:g}-DP"

    def __repr__(self) -> str:
        return f"Claim({self.words})"


def least_false_negatives(mechanism: Mechanism, rates: Array) -> Array:
    """The certified least false negative rates of an attacker, the record's presence or its absence being the null.

    >>> import hush
    >>> least_false_negatives(hush.Gaussian(1.0), np.array([0.05]))
    array([0.740...])
    """
    tests: list[NeighbourTest] = []
    for _, neighbours in mechanism.directions():
        evidence = mechanism.evidence(neighbours)
        for mirrored in (False, True) if evidence.has_pair else (False,):
            test = evidence.tested(mirrored=mirrored)
            tests += [] if test in tests else [test]
    with question():
        return worst(tests, rates)[0]
