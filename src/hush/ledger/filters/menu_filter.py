"""A menu: every release comes from a list that was declared in advance, so many times in all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hush.checks import count, listed
from hush.errors import InvalidParameter, NotCovered
from hush.ledger.filters.filter import Filter, Units
from hush.mechanisms.mechanism import Mechanism, require


@dataclass(frozen=True)
class MenuFilter(Filter):
    """Each release is one of the choices, and there are at most `times` of them.

    The pointwise largest profile of the choices, composed so many times, covers every way to choose (Zhu, Dong, Wang
    2022, Thm 10): it is composed exactly, so nothing is lost where the choices are alike.

    >>> import hush
    >>> filter = MenuFilter(choices=(hush.Gaussian(10.0), hush.Laplace(20.0)), times=20)
    >>> filter.cost(hush.Laplace(20.0)), filter.limits, filter.promised(1e-6) < 2
    ((1,), (20,), True)
    """

    choices: Sequence[Mechanism]
    times: int

    def __post_init__(self) -> None:
        found = tuple(require("MenuFilter", choice) for choice in listed("MenuFilter", "a list", choices=self.choices))
        if not found:
            raise InvalidParameter("MenuFilter", "at least one choice", choices=found)
        object.__setattr__(self, "choices", tuple(dict.fromkeys(found)))
        object.__setattr__(self, "times", count("MenuFilter", 1, times=self.times))
        for _, neighbours in self.mechanism.directions():
            self.mechanism.evidence(neighbours).require()

    @property
    def mechanism(self) -> Mechanism:
        """What every way to choose is covered by."""
        first, *others = self.choices
        return (first.beside(*others) if others else first).repeat(self.times)

    def limited(self) -> Units:
        return (self.times,)

    def cost(self, mechanism: Mechanism) -> Units:
        if mechanism not in self.choices:
            raise NotCovered(f"{mechanism}: it is not on the menu of {len(self.choices)} that was declared in advance")
        return (1,)

    def promised(self, delta: float) -> float:
        return self.mechanism.epsilon(delta=delta).upper

    @property
    def theorem(self) -> str:
        return (
            f"at most {self.times} releases from a menu of {len(self.choices)} that was declared in advance "
            "(Zhu, Dong, Wang 2022, Thm 10)"
        )
