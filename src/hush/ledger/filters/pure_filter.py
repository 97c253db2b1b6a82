"""Pure differential privacy: epsilons add up."""

from __future__ import annotations

from dataclasses import dataclass

from hush.checks import number
from hush.ledger.filters.filter import Filter, Units
from hush.ledger.filters.whole_units import allowed, charged
from hush.mechanisms.mechanism import Mechanism


@dataclass(frozen=True)
class PureFilter(Filter):
    """Epsilons at delta 0 add up to at most epsilon.

    The loss of all answers is the sum of the losses, and no path has a larger one (Rogers, Roth, Ullman, Vadhan 2016).

    >>> import hush
    >>> filter = PureFilter(epsilon=1.0)
    >>> filter.admits(filter.cost(hush.Laplace(1.0))), filter.admits(filter.cost(hush.Laplace(0.99)))
    (True, False)
    """

    epsilon: float

    def __post_init__(self) -> None:
        number("PureFilter", "1e-12 <= epsilon <= 700", 1e-12, 700, epsilon=self.epsilon)

    def limited(self) -> Units:
        return (allowed(self.epsilon),)

    def cost(self, mechanism: Mechanism) -> Units:
        return (charged(mechanism.epsilon(delta=0.0).upper, "epsilon at delta 0"),)

    def promised(self, delta: float) -> float:  # noqa: ARG002 - at every delta
        return self.epsilon

    @property
    def told_at(self) -> float:
        return 0.0

    @property
    def theorem(self) -> str:
        return f"epsilons at delta 0 add up to at most {self.epsilon:g} (Rogers, Roth, Ullman, Vadhan 2016)"
