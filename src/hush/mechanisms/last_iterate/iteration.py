"""Noisy iterations of which only the last iterate is released: later noise hides what earlier steps revealed."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hush.arrays import Array
from hush.checks import number
from hush.curves.interval import Interval
from hush.curves.pairs.normal import NormalPair
from hush.curves.pairs.pair import Pair
from hush.curves.relation import Relation, checked_relation
from hush.curves.renyi.curve import ZERO, RenyiCurve
from hush.curves.theorems import last_iterate
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.evidence import IDENTITY
from hush.mechanisms.fields import between
from hush.mechanisms.last_iterate.hidden_iterates import LEAST_GAIN, HiddenIterates, checkpoints
from hush.mechanisms.leaf import Leaf
from hush.mechanisms.leaves.stated import GaussianDP
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.neighbours import Neighbours
from hush.mechanisms.traits import Step
from hush.numerics.rounding import UNIT
from hush.randomness.float_noise import normal
from hush.randomness.source import Source

ONLY_LAST = "only the last iterate is released, and nothing that was computed on the way"
THEOREM = (
    "shifted interpolation: Feldman, Mironov, Talwar, Thakurta 2018, Thm 22; "
    "Bok, Su, Altschuler 2024, Sec. 3 and 4 (a Gaussian pair)"
)
LEAST_MU, LARGEST_MU = 1e-9, 1e6
"""Distances of normals that are computed; below, the least one stands for all."""
LONGEST_SCHEDULE = 100_000
"""Steps of a schedule that is listed one by one."""
SIZED = between(1e-12, 1e12)
"""Sizes that are computed, of gradients, noise and steps."""


def gaussian_of(mu: float, relation: Relation) -> Mechanism:
    """Any mechanism that is mu-Gaussian-DP, for mu of any size above 0."""
    return GaussianDP(max(mu, LEAST_MU), relation)


class LastIterate(Leaf, HiddenIterates):
    """An iteration whose last iterate is mu-Gaussian-DP: a pair that composes with everything."""

    @abstractmethod
    def mu(self) -> Interval:
        """mu of some run that meets the declaration (0 where none is known), and mu that no run exceeds."""

    @abstractmethod
    def composed_mu(self) -> float:
        """mu if every iterate were released: composition without amplification."""

    @abstractmethod
    def length(self) -> int:
        """How many steps (or epochs) `after` can be asked for."""

    @abstractmethod
    def after(self, place: int) -> LastIterate:
        """The same iteration, ended after so many steps (or epochs)."""

    def composed(self) -> Mechanism:
        """The guarantee if every iterate were released."""
        return gaussian_of(self.composed_mu(), self.relation)

    def places(self) -> list[int]:
        return checkpoints(self.length())

    def at_place(self, place: int) -> tuple[Mechanism, Mechanism]:
        ended = self.after(place)
        return ended, ended.composed()

    def gains_from(self) -> int | None:
        """The first place at which mu is below that of composition; once it is, it stays so."""

        def gains(place: int) -> bool:
            ended = self.after(place)
            return ended.mu()[1] < ended.composed_mu() * (1 - LEAST_GAIN)

        low, high = 0, self.length()
        if not gains(high):
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if gains(middle) else (middle, high)
        return high

    def gain_in_words(self, first: int | None) -> str:
        if first is None:
            return f"No gain: within {self.length()} {self.unit}s composition without amplification is as good."
        return f"Gains from {self.unit} {first} on, of {self.length()}."

    def at(self, removed: int, added: int) -> Pair:
        if any(max(removed, added) > records for records in self.scope.populations):
            raise NotCovered(f"{self} for groups of more records than there are")
        size = self.steps(removed, added) * self.mu()[1]
        if size > LARGEST_MU:
            raise NotCovered(f"{self}: two normals at distance {size:g}; more than {LARGEST_MU:g} is not covered")
        return NormalPair.shifted(max(size, LEAST_MU)) if self.composed_mu() > 0 else IDENTITY

    def curve_of(self, neighbours: Neighbours) -> RenyiCurve | None:
        if neighbours.settled is None:
            return super().curve_of(neighbours)
        largest = max(self.mu()[1], last_iterate.SMALLEST_SCALE if self.composed_mu() else 0.0)
        size = self.steps(*neighbours.settled) * largest
        return RenyiCurve.linear(size * size / 2 * (1 + 4 * UNIT)) if size else ZERO

    curve_says_more = True

    def attained(self, neighbours: Neighbours, alone: bool) -> tuple[Pair, ...]:
        """Some run is that far from its neighbour; of distances that are not computed, nothing is said."""
        low = self.mu()[0]
        if not LEAST_MU <= low <= LARGEST_MU:
            return (IDENTITY,)
        return gaussian_of(low, self.relation).evidence(neighbours).attained(alone)


@dataclass(frozen=True, kw_only=True)
class NoisyIteration(LastIterate):
    """x -> psi_t(x) + N(0, deviations_t^2) from a public start, where psi_t shrinks distances by contractions_t <= 1.

    `sensitivities` are sup over x of |psi_t(x) - psi'_t(x)| between neighbours. One number stands for all steps.

    >>> NoisyIteration(sensitivities=[1, 0, 0, 0], deviations=2, contractions=1).renyi(orders=[2]).round(9).tolist()
    [0.0625]
    """

    sensitivities: tuple[float, ...]
    deviations: tuple[float, ...]
    contractions: tuple[float, ...]
    relation: Relation = Relation.ADD_REMOVE

    def __init__(
        self,
        *,
        sensitivities: Sequence[float],
        deviations: Sequence[float] | float,
        contractions: Sequence[float] | float,
        relation: Relation = Relation.ADD_REMOVE,
    ) -> None:
        first = _listed(sensitivities)
        if not isinstance(first, list | tuple) or not 1 <= len(first) <= LONGEST_SCHEDULE:
            rule = f"a list of 1 to {LONGEST_SCHEDULE} sensitivities, one per step"
            raise InvalidParameter("NoisyIteration", rule, sensitivities=sensitivities)
        for name, given, low, high in (
            ("sensitivities", first, 0.0, 1e9),
            ("deviations", _listed(deviations), 1e-9, 1e9),
            ("contractions", _listed(contractions), 0.0, 1.0),
        ):
            object.__setattr__(self, name, _schedule(name, given, low, high, len(first)))
        object.__setattr__(self, "relation", checked_relation("NoisyIteration", relation))

    def mu(self) -> Interval:
        return self._mu

    @cached_property
    def _mu(self) -> Interval:
        return last_iterate.contractive_iteration_mu(self.sensitivities, self.deviations, self.contractions)

    def composed_mu(self) -> float:
        return math.sqrt(math.fsum((s / d) ** 2 for s, d in zip(self.sensitivities, self.deviations, strict=True)))

    def length(self) -> int:
        return len(self.sensitivities)

    def after(self, place: int) -> NoisyIteration:
        return NoisyIteration(
            sensitivities=self.sensitivities[:place],
            deviations=self.deviations[:place],
            contractions=self.contractions[:place],
            relation=self.relation,
        )

    def derivation(self) -> Step:
        return Step(
            str(self),
            f"{THEOREM}; shifts: the greatest convex minorant of the cumulated sensitivities, attained by linear maps",
            f"the maps differ by at most the stated sensitivities when you {self.relation.words}, contract as stated, "
            f"and have fresh Gaussian noise; {ONLY_LAST}",
        )

    def simulate(self, contributions: Array, source: Source) -> Array:
        place = np.zeros(len(contributions))
        for moved, deviation, shrink in zip(self.sensitivities, self.deviations, self.contractions, strict=True):
            place = shrink * place + moved * contributions + deviation * normal(source, len(contributions))
        return place

    def __str__(self) -> str:
        return f"the last iterate of a contractive noisy iteration of {self.length()} steps"


def _listed(given: object) -> object:
    return given.tolist() if isinstance(given, np.ndarray) else given


def _schedule(name: str, given: object, low: float, high: float, steps: int) -> tuple[float, ...]:
    rule = f"{low:g} <= {name} <= {high:g}"

    def checked(value: object) -> float:
        fields: dict[str, Any] = {name: value}
        return number("NoisyIteration", rule, low, high, **fields)

    if not isinstance(given, list | tuple):
        return (checked(given),) * steps
    if len(given) != steps:
        raise InvalidParameter("NoisyIteration", f"one of the {name} for each of {steps} steps", **{name: given})
    return tuple(checked(value) for value in given)


def sized(who: str, **field: Any) -> float:
    """A number of a size that is computed."""
    ((name, value),) = field.items()
    return SIZED["check"](who, name, value)
