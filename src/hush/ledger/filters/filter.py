"""What every filter is asked: what a release costs, and whether so much may be spent."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property, lru_cache

from hush.ledger.filters.whole_units import charged
from hush.mechanisms.mechanism import Mechanism

Units = tuple[int, ...]
"""What is added up, in whole units: one number, or one per order."""


class Filter(ABC):
    """A rule, fixed before the first release, that tells when the next one would be too much.

    It is a frozen dataclass whose fields are public numbers. Its theorem holds for every way to choose the next
    release from the answers so far, and costs nothing for that freedom.
    """

    @abstractmethod
    def limited(self) -> Units:
        """What may be spent, rounded down: one number for each that `cost` has."""

    @cached_property
    def limits(self) -> Units:
        """The same, worked out once."""
        return self.limited()

    @abstractmethod
    def cost(self, mechanism: Mechanism) -> Units:
        """What a release costs in the worst direction of its relation, rounded up; NotCovered where nothing is known.

        It depends on the mechanism alone, never on what was spent before.
        """

    def admits(self, spent: Units) -> bool:
        """Whether so much may be spent in all."""
        return all(part <= limit for part, limit in zip(spent, self.limits, strict=True))

    def share(self, spent: Units) -> float:
        """How much of the limit is spent, from 0 to 1: for people to read, never to decide."""
        return max(part / limit for part, limit in zip(spent, self.limits, strict=True))

    @abstractmethod
    def promised(self, delta: float) -> float:
        """The epsilon, at this delta, of everything that is ever admitted; infinity where none follows."""

    @property
    def told_at(self) -> float:
        """The delta at which it is told what is promised, unless another is asked for."""
        return 1e-6

    @property
    @abstractmethod
    def theorem(self) -> str:
        """What is added up, and why that is enough."""

    @property
    def nothing(self) -> Units:
        """What is spent at the start."""
        return (0,) * len(self.limits)

    def sum(self, spent: Units, cost: Units) -> Units:
        """What is spent after one more release.

        >>> from hush.ledger.filters.pure_filter import PureFilter
        >>> PureFilter(epsilon=1.0).sum((1,), (2,))
        (3,)
        """
        return tuple(a + b for a, b in zip(spent, cost, strict=True))


@lru_cache(maxsize=1024)
def divergence(mechanism: Mechanism, order: float) -> int:
    """The Rényi divergence of this order in the worst direction, in units, rounded up."""
    return priced(mechanism, float(mechanism.renyi(orders=[order])[0]), f"Rényi divergence of order {order:g}")


def priced(mechanism: Mechanism, value: float, what: str) -> int:
    """A cost in units, rounded up. Squares of small numbers may be below all floats: what reveals something costs 1.

    >>> import hush
    >>> [priced(m, 0.0, "rho") for m in (hush.PureDP(1e-200), hush.Gaussian(1.0).repeat(0))]
    [1, 0]
    """
    return charged(value, what) or int(mechanism.epsilon(delta=0.0).upper > 0)
