"""Gaussian differential privacy: squares of mu add up."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy import special

from hush.checks import number
from hush.errors import NotCovered
from hush.ledger.filters.filter import Filter, Units, priced
from hush.ledger.filters.whole_units import allowed
from hush.mechanisms.leaves.stated import GaussianDP
from hush.mechanisms.mechanism import Mechanism

QUANTILE = 1 + 1e-12
"""The quantile of a normal law is a float of some twelve certain digits."""
GENEROUS = 1 + 1e-14
"""Squares of distances are off by a few units of 2^-52."""


@dataclass(frozen=True)
class GDPFilter(Filter):
    """Squares of mu add up to at most mu^2.

    Smith, Thakurta 2022; Koskela, Tobaben, Honkela 2023, Thm 5: all answers together are mu-GDP. Gaussian noise of
    multiplier s has mu = 1/s; a release that is epsilon-DP has mu = 2 Φ^-1(e^epsilon/(1 + e^epsilon)).

    >>> import hush
    >>> filter = GDPFilter(mu=1.0)
    >>> filter.admits(filter.cost(hush.Gaussian(1.0))), filter.share(filter.cost(hush.PureDP(1.0)))
    (True, 1.5...)
    """

    mu: float

    def __post_init__(self) -> None:
        number("GDPFilter", "1e-7 <= mu <= 300", 1e-7, 300, mu=self.mu)

    def limited(self) -> Units:
        return (allowed(self.mu * self.mu),)

    def cost(self, mechanism: Mechanism) -> Units:
        steps = mechanism.steps_in_sequence
        return (sum(times * priced(step, squared_mu(step), "mu of Gaussian DP") for step, times in steps),)

    def promised(self, delta: float) -> float:
        return GaussianDP(self.mu * GENEROUS).epsilon(delta=delta).upper

    @property
    def theorem(self) -> str:
        return f"squares of mu add up to at most {self.mu:g}^2 (Smith, Thakurta 2022)"


def squared_mu(step: Mechanism) -> float:
    """mu^2 of one step: of its normals, or of its epsilon at delta 0.

    >>> import hush
    >>> squared_mu(hush.Gaussian(2.0))
    0.25
    """
    distances = [_distance(step, neighbours) for _, neighbours in step.directions()]
    known = [distance for distance in distances if distance is not None]
    if len(known) == len(distances):
        return max(known) ** 2
    epsilon = step.epsilon(delta=0.0).upper
    if not epsilon <= 700:
        raise NotCovered(f"mu of {step}: known for Gaussian noise, and for what is epsilon-DP with epsilon <= 700")
    return pure_to_mu(epsilon) ** 2


def pure_to_mu(epsilon: float) -> float:
    """mu = 2 Φ^-1(e^epsilon/(1 + e^epsilon)), rounded up: what is epsilon-DP is mu-GDP.

    >>> pure_to_mu(1.0), pure_to_mu(1e-12)
    (1.23203..., 1.25331...e-12)
    """
    if epsilon < 1:  # Φ^-1(1/2 + t) = sqrt 2 erfinv(2t), which keeps the digits of a small t
        return 2 * math.sqrt(2) * float(special.erfinv(math.tanh(epsilon / 2))) * QUANTILE
    return -2 * float(special.ndtri(1 / (1 + math.exp(epsilon)))) * QUANTILE


def _distance(step: Mechanism, neighbours: object) -> float | None:
    try:
        return step.evidence(neighbours).pair.distance  # type: ignore[arg-type]
    except NotCovered:
        return None
