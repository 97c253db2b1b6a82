"""Delta at many epsilons from one lattice law of the grid engine: sums of P- and of Q-mass past each loss."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hush.arrays import Array
from hush.numerics.engines.grid import LEAST_TILT, UNSEEN, Composed
from hush.numerics.rounding import UNIT
from hush.numerics.work import spend

HIGHEST = 60.0
"""Masses are untilted by e^60 at the most: of an epsilon that needs more this tilt says nothing."""


@dataclass(frozen=True, eq=False)
class PastEach:
    """P- and Q-mass of a composed law past each of its losses, without the tilt; one side of a bound."""

    law: Composed
    side: int
    """-1 below, +1 above."""
    p: Array
    q: Array

    @classmethod
    def of(cls, law: Composed, side: int) -> PastEach:
        spend(10 * len(law.losses))
        exponent = law.log_scale - law.tilt * law.losses
        p, q = (law.tilted * np.exp(np.clip(power, -700.0, HIGHEST)) for power in (exponent, exponent - law.losses))
        return cls(law, side, *(np.append(np.cumsum(part[::-1])[::-1], 0.0) for part in (p, q)))

    def deltas(self, epsilons: Array) -> Array:
        """The bound of `Composed.log_delta` on delta itself, at each epsilon.

        Of all losses past epsilon the errors of the tilted masses weigh e^{-tilt gap} at the most, so their norm is at
        most that of a geometric series. A sum of n masses is off by n roundings, relative to the P-mass (G11).
        """
        law, side = self.law, self.side
        spend(30 * len(epsilons))
        epsilons = epsilons - side * law.shift
        start = np.searchsorted(law.losses, epsilons, side="right")
        scale = law.log_scale - law.tilt * epsilons
        # both exponents must be what they are meant to be, at epsilon and for all losses past it
        served = (scale < HIGHEST) & (scale - epsilons < HIGHEST) & (epsilons < HIGHEST)
        scale, near = np.where(served, scale, 0.0), np.where(served, epsilons, 0.0)
        error = np.exp(np.maximum(scale, -700.0)) * (law.noise * self._norm + law.stray * 2 + UNSEEN)
        error += UNIT * self.p[start] * (4 * len(law.losses) + 8 * (1 + np.abs(scale) + np.abs(near)))
        found = np.maximum(self.p[start] - np.exp(near) * self.q[start] + side * error, 0.0)
        found = found * (1 + side * math.expm1(law.doubt)) + law.at_infinity
        return np.where(served, np.clip(found, 0.0, 1.0), 0.0 if side < 0 else 1.0)

    @property
    def _norm(self) -> float:
        """Bound on the 2-norm of the weights."""
        losses = self.law.losses
        step = float(losses[1] - losses[0]) if len(losses) > 1 else 1.0
        return math.sqrt(min(1 / -math.expm1(-2 * max(self.law.tilt, LEAST_TILT) * step), len(losses)))
