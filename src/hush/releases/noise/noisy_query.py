"""The noise of a query: Laplace for a pure epsilon, Gaussian for an epsilon with a delta, a multiplier or a rho."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from scipy import special

from hush.checks import number
from hush.curves.relation import Relation, checked_relation
from hush.errors import InvalidParameter
from hush.mechanisms.leaves.gaussian import Gaussian
from hush.mechanisms.leaves.laplace import Laplace
from hush.mechanisms.mechanism import Mechanism
from hush.questions.calibrate import calibrate
from hush.randomness.additive import add_gaussian, add_laplace, scale_for
from hush.randomness.source import Source
from hush.releases.query import Query

FINE = 20
"""A record moves a total by about 2^20 steps: rounding totals to such steps costs a millionth of the noise."""
ROOT_2 = math.sqrt(2) * (1 + 1e-15)
"""The L2 sensitivity where a replaced record moves two totals by 1 each; raised by more than two roundings."""


@dataclass(frozen=True)
class NoisyTotals:
    """Totals with noise, in steps, and the law of the noise."""

    totals: tuple[float, ...]
    scale: float
    """Scale (Laplace) or deviation (Gaussian) of the noise, in the same steps."""
    gaussian: bool

    def reach(self, confidence: float) -> float:
        """The noise of one total stays within this with the given confidence; the half step is for rounding."""
        if self.gaussian:
            return self.scale * float(-special.ndtri((1 - confidence) / 2)) + 0.5
        return -self.scale * math.log1p(-confidence) + 0.5


@dataclass(frozen=True, kw_only=True)
class NoisyQuery(Query):
    """A query that adds noise to totals. Give one of: epsilon; epsilon and delta; noise_multiplier; rho."""

    epsilon: float | None = None
    delta: float | None = None
    noise_multiplier: float | None = None
    rho: float | None = None
    relation: Relation = Relation.ADD_REMOVE
    needs_rate: ClassVar[bool] = True

    def __post_init__(self) -> None:
        who = type(self).__name__
        checked_relation(who, self.relation)
        given = {n: v for n in ("epsilon", "noise_multiplier", "rho") if (v := getattr(self, n)) is not None}
        rule = "one of epsilon (with or without delta), noise_multiplier and rho"
        if len(given) != 1 or (self.delta is not None and self.epsilon is None):
            raise InvalidParameter(who, rule, **(given or {"epsilon": None}))
        if self.epsilon is not None:
            number(who, "1e-9 <= epsilon <= 500", 1e-9, 500, epsilon=self.epsilon)
        if self.delta is not None:
            number(who, "1e-300 <= delta < 1", 1e-300, 1, high_open=True, delta=self.delta)
        if self.noise_multiplier is not None:
            number(who, "0.001 <= noise_multiplier <= 1e6", 1e-3, 1e6, noise_multiplier=self.noise_multiplier)
        if self.rho is not None:
            number(who, "1e-12 <= rho <= 1e5", 1e-12, 1e5, rho=self.rho)

    @property
    def mechanism(self) -> Mechanism:
        if self._pure is not None:
            return Laplace(scale_for(self._pure), self.relation)
        return Gaussian(self._multiplier(), self.relation)

    @property
    def _pure(self) -> float | None:
        return None if self.epsilon is None or self.delta is not None else float(self.epsilon)

    def _multiplier(self) -> float:
        if self.noise_multiplier is not None:
            return float(self.noise_multiplier)
        if self.rho is not None:
            return math.nextafter(math.sqrt(0.5 / self.rho), math.inf)
        return _calibrated(float(self.epsilon or 0), float(self.delta or 0))

    def noised(self, totals: Sequence[int], *, l1: int, l2: float, source: Source) -> tuple[NoisyTotals, int]:
        """Noise on whole totals whose sensitivities are given, and the power of two that a step of the result is worth.

        Totals of large sensitivity are rounded to coarser steps first. Rounding to steps of s moves totals that are D
        apart at most D/s + 1 apart, each: that is charged.
        """
        shift = max(0, l1.bit_length() - FINE)
        if shift:
            half = 1 << (shift - 1)
            totals = [(total + half) >> shift for total in totals]
            l1 = (l1 >> shift) + 1 + len(totals)
            l2 = math.ldexp(l2, -shift) + 1 + len(totals)
        multiples = np.array([min(max(t, -(1 << 60)), 1 << 60) for t in totals], dtype=np.int64)
        if self._pure is not None:
            found = add_laplace(multiples, sensitivity=l1, scale=scale_for(self._pure), source=source)
        else:
            found = add_gaussian(multiples, sensitivity=l2, noise_multiplier=self._multiplier(), source=source)
        return NoisyTotals(tuple(found.values.tolist()), found.scale, self._pure is None), shift


@lru_cache(maxsize=256)
def _calibrated(epsilon: float, delta: float) -> float:
    """The least Gaussian noise multiplier for (epsilon, delta)."""
    return float(calibrate(lambda noise: Gaussian(noise), over=(1e-3, 1e9), epsilon=epsilon, delta=delta).value)
