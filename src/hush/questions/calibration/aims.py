"""What a calibration must not exceed: epsilon at a delta, or the advantage; and how far a mechanism is from it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

from hush.curves.bound import Bound
from hush.curves.interval import Interval
from hush.mechanisms.mechanism import Mechanism

SATURATED = -0.05
"""A log delta above this says nothing about the distance to the target."""

FINEST = 1e-6
"""Relative width of an advantage, which is asked for in no other."""
SMALL = 1e-9
"""The square of an advantage below this is nothing beside 1."""


class Aim(ABC):
    """What must not be exceeded.

    `position` is the log of the shift of two normals that cost about the same. It is close to a straight line in the
    log of noise, rate or times, so that few secant steps are needed.
    """

    limit: float
    """What `bound` must not exceed."""

    @property
    @abstractmethod
    def limit_position(self) -> float:
        """Where the mechanisms that just meet it are."""

    def position(self, mechanism: Mechanism, tolerance: float) -> float:
        """Where the mechanism is at the most."""
        return self.positions(mechanism, tolerance)[1]

    @abstractmethod
    def positions(self, mechanism: Mechanism, tolerance: float) -> Interval:
        """Where it is at the least and at the most."""

    def guess(self, mechanism: Mechanism, tolerance: float) -> float | None:  # noqa: ARG002
        """About the quantity itself; None where there is no guess that is cheaper than the answer."""
        return None

    def lower(self, mechanism: Mechanism) -> float:
        """A lower end of the quantity itself, where that is cheaper than both ends."""
        return self.bound(mechanism).lower

    @abstractmethod
    def bound(self, mechanism: Mechanism) -> Bound:
        """The quantity itself, which has the last word."""

    @property
    def direct(self) -> Aim:
        """The same target, sought on that quantity at every look."""
        return self


@dataclass(frozen=True)
class DeltaAim(Aim):
    """Seeks on log delta at the epsilon: cheap and smooth. Epsilon at the delta has the last word."""

    limit: float
    delta: float
    tolerance: float

    @property
    def limit_position(self) -> float:
        return self._shift(math.log(self.delta))

    def position(self, mechanism: Mechanism, tolerance: float) -> float:
        return self._shift(mechanism.upper_log_delta(epsilon=self.limit, tolerance=max(self.tolerance, tolerance)))

    def positions(self, mechanism: Mechanism, tolerance: float) -> Interval:
        found = mechanism.log_delta(epsilon=self.limit, tolerance=max(self.tolerance, tolerance))
        return self._shift(found.lower), self._shift(found.upper)

    def guess(self, mechanism: Mechanism, tolerance: float) -> float | None:
        return mechanism.guess(delta=self.delta, tolerance=tolerance)

    def lower(self, mechanism: Mechanism) -> float:
        return mechanism.lower_epsilon(delta=self.delta, tolerance=self.tolerance)

    def _shift(self, log_delta: float) -> float:
        """log of the mu with log_delta = -z^2/2 and z = epsilon/mu - mu/2."""
        if log_delta == -math.inf or log_delta > SATURATED:
            return math.copysign(math.inf, log_delta - SATURATED)
        z = math.sqrt(-2 * log_delta)
        return math.log(2 * self.limit) - math.log(z + math.sqrt(z * z + 2 * self.limit))

    def bound(self, mechanism: Mechanism) -> Bound:
        return mechanism.epsilon(delta=self.delta, tolerance=self.tolerance)

    @property
    def direct(self) -> Aim:
        return EpsilonAim(self.limit, self.delta, self.tolerance)


@dataclass(frozen=True)
class EpsilonAim(Aim):
    """Seeks on epsilon itself: at delta 0, the largest loss; at 1, which all meet; or where delta is known widely."""

    limit: float
    delta: float
    tolerance: float

    @property
    def limit_position(self) -> float:
        return _log(self.limit)

    def positions(self, mechanism: Mechanism, tolerance: float) -> Interval:
        found = mechanism.epsilon(delta=self.delta, tolerance=max(self.tolerance, tolerance))
        return _log(found.lower), _log(found.upper)

    def bound(self, mechanism: Mechanism) -> Bound:
        return mechanism.epsilon(delta=self.delta, tolerance=self.tolerance)


@dataclass(frozen=True)
class AdvantageAim(Aim):
    """Seeks on the advantage: delta at epsilon 0."""

    limit: float

    @property
    def limit_position(self) -> float:
        return advantage_shift(self.limit)

    def positions(self, mechanism: Mechanism, tolerance: float) -> Interval:
        found = mechanism.delta(epsilon=0.0, tolerance=max(FINEST, tolerance))
        return advantage_shift(found.lower), advantage_shift(found.upper)

    def bound(self, mechanism: Mechanism) -> Bound:
        return mechanism.advantage()


@dataclass(frozen=True)
class NoEpsilonAim(Aim):
    """Epsilon 0 at a delta: the advantage is at most that delta."""

    delta: float
    tolerance: float
    limit: float = 0.0

    @property
    def limit_position(self) -> float:
        return advantage_shift(self.delta)

    def positions(self, mechanism: Mechanism, tolerance: float) -> Interval:
        return AdvantageAim(self.delta).positions(mechanism, tolerance)

    def bound(self, mechanism: Mechanism) -> Bound:
        return mechanism.epsilon(delta=self.delta, tolerance=self.tolerance)

    @property
    def direct(self) -> Aim:
        return EpsilonAim(self.limit, self.delta, self.tolerance)


def advantage_shift(advantage: float) -> float:
    """log of the mu with advantage = erf(mu / sqrt 8), by erf(x)^2 ~ 1 - exp(-4 x^2 / pi)."""
    if not 0 < advantage < 1:
        return -math.inf if advantage <= 0 else math.inf
    if advantage < SMALL:
        return math.log(advantage) + 0.5 * math.log(2 * math.pi)
    return 0.5 * math.log(2 * math.pi * -math.log1p(-advantage * advantage))


def _log(epsilon: float) -> float:
    return math.log(epsilon) if epsilon > 0 else -math.inf
