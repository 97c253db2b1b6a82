"""Noisy iterations of which only the last iterate is released: later noise hides what earlier steps revealed."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from hush.curves import iteration
from hush.curves.normal import NormalPair
from hush.curves.pair import Interval, Pair
from hush.curves.relation import Relation
from hush.curves.renyi import ZERO, RenyiCurve
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.checks import count, number
from hush.mechanisms.leaf import IN_ORDER, Leaf
from hush.mechanisms.mechanism import IDENTITY, Counts, Mechanism, Step, settled
from hush.mechanisms.stated import GaussianDP
from hush.numerics.law import UNIT

ONLY_LAST = "only the last iterate is released, and nothing that was computed on the way"
THEOREM = (
    "shifted interpolation: Feldman, Mironov, Talwar, Thakurta 2018, Thm 22; "
    "Bok, Su, Altschuler 2024, Sec. 3 and 4 (a Gaussian pair)"
)
LEAST_MU, LARGEST_MU = 1e-9, 1e6
"""Distances of normals that are computed; below, the least one stands for all."""
LONGEST_SCHEDULE = 100_000


def gaussian_of(mu: float, relation: Relation) -> Mechanism:
    """Any mechanism that is mu-Gaussian-DP, for mu of any size above 0."""
    return GaussianDP(max(mu, LEAST_MU), relation)


class LastIterate(Leaf):
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

    def at(self, removed: int, added: int) -> Pair:
        if any(max(removed, added) > records for records in self.populations):
            raise NotCovered(f"{self} for groups of more records than there are")
        size = self.steps(removed, added) * self.mu()[1]
        if size > LARGEST_MU:
            raise NotCovered(f"{self}: two normals at distance {size:g}; more than {LARGEST_MU:g} is not covered")
        return NormalPair.shifted(max(size, LEAST_MU)) if self.composed_mu() > 0 else IDENTITY

    def curve(self, removed: Counts, added: Counts) -> RenyiCurve:
        r, a = settled(removed), settled(added)
        if r is None or a is None:
            return super().curve(removed, added)
        size = self.steps(r, a) * max(self.mu()[1], iteration.SMALLEST_SCALE if self.composed_mu() else 0.0)
        return RenyiCurve.linear(size * size / 2 * (1 + 4 * UNIT)) if size else ZERO

    @property
    def curve_beats_pair(self) -> bool:
        return True

    def attained(self, removed: Counts, added: Counts, alone: bool) -> tuple[Pair, ...]:
        """Some run is that far from its neighbour; of smaller distances, and where none is known, nothing is said."""
        low = self.mu()[0]
        return gaussian_of(low, self.relation).attained(removed, added, alone) if low >= LEAST_MU else (IDENTITY,)


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
            rule = f"a list of 1 to {LONGEST_SCHEDULE} sensitivities, one a step"
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
        return iteration.contractive_iteration_mu(self.sensitivities, self.deviations, self.contractions)

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
    """A number of a size that is computed: 1e-12 to 1e12."""
    ((name, value),) = field.items()
    fields: dict[str, Any] = {name: value}
    return number(who, f"1e-12 <= {name} <= 1e12", 1e-12, 1e12, **fields)


def wide(who: str, diameter: object) -> float:
    """A diameter, infinity for no projection."""
    return math.inf if diameter == math.inf else sized(who, diameter=diameter)


def checked_relation(who: str, relation: object) -> Relation:
    """The relation, if it is one."""
    if not isinstance(relation, Relation):
        raise InvalidParameter(who, "a hush.Relation", relation=relation)
    return relation


@dataclass(frozen=True, kw_only=True)
class ConvexLoss:
    """What must hold for the loss of every record, at every point that can be reached.

    It is convex with `strong_convexity` >= 0 (0: merely convex) and its gradient is `smoothness`-Lipschitz.
    `sensitivity` bounds how far the gradients of two records are apart. Or state `lipschitz`, which bounds the norm of
    each: replacing a record then moves it by up to twice that. A regulariser that all records share moves nothing.

    >>> ConvexLoss(smoothness=1, strong_convexity=0, lipschitz=3).moved
    6.0
    """

    smoothness: float
    strong_convexity: float
    lipschitz: float = math.inf
    sensitivity: float = math.inf

    def __post_init__(self) -> None:
        object.__setattr__(self, "smoothness", sized("ConvexLoss", smoothness=self.smoothness))
        rule = f"0 <= strong_convexity <= smoothness = {self.smoothness:g}"
        curved = number("ConvexLoss", rule, 0.0, self.smoothness, strong_convexity=self.strong_convexity)
        object.__setattr__(self, "strong_convexity", curved)
        if self.lipschitz == self.sensitivity == math.inf:
            raise InvalidParameter("ConvexLoss", "a finite lipschitz or sensitivity", lipschitz=math.inf)
        for name in ("lipschitz", "sensitivity"):
            if getattr(self, name) != math.inf:
                object.__setattr__(self, name, sized("ConvexLoss", **{name: getattr(self, name)}))

    @property
    def moved(self) -> float:
        """How far replacing a record moves a sum of gradients."""
        return min(self.sensitivity, 2 * self.lipschitz)

    @property
    def words(self) -> str:
        """The conditions as an assumption."""
        kind = f"{self.strong_convexity:g}-strongly convex" if self.strong_convexity else "convex"
        bounds = [f"{self.lipschitz:g}-Lipschitz"] if self.lipschitz < math.inf else []
        bounds += [f"of gradient sensitivity {self.sensitivity:g}"] if self.sensitivity < math.inf else []
        return f"the loss of every record is {kind}, {self.smoothness:g}-smooth and {' and '.join(bounds)}"


def check_descent(node: LastIterate, loss: object, diameter: float = 0.0) -> None:
    """Validate what all gradient descents share: loss, noise, step size."""
    who = type(node).__name__
    if not isinstance(loss, ConvexLoss):
        raise InvalidParameter(who, "a hush.ConvexLoss", loss=loss)
    values = node.__dict__
    object.__setattr__(node, "noise", sized(who, noise=values["noise"]))
    rule = f"0 < step_size <= 2/smoothness = {2 / loss.smoothness:g}"
    limit = 2 / loss.smoothness * (1 + 2 * UNIT)  # 2/smoothness itself may have been rounded up
    step = number(who, rule, 0.0, limit, low_open=True, step_size=values["step_size"])
    step = sized(who, step_size=step)
    object.__setattr__(node, "step_size", step)
    if diameter == math.inf and loss.strong_convexity > 0 and loss.sensitivity == math.inf:
        rule = "a finite diameter, or the loss's sensitivity: unbounded, a strongly convex loss is not Lipschitz"
        raise InvalidParameter(who, rule, diameter=diameter)


@dataclass(frozen=True, kw_only=True)
class NoisyGradientDescent(LastIterate):
    """w -> Proj(w - step_size (mean gradient of all records + N(0, noise^2))), from a public start.

    `diameter` is that of the convex set that is projected on, infinity where there is none. Stated for replace-one:
    with a record more or less the mean is no longer smooth or strongly convex as stated; use NoisyIteration then.

    >>> loss = ConvexLoss(smoothness=1, strong_convexity=0.1, sensitivity=2)
    >>> run = dict(loss=loss, records=100, noise=0.1, step_size=0.5, diameter=math.inf)
    >>> [NoisyGradientDescent(iterations=t, **run).epsilon(delta=1e-6).upper for t in (10, 10_000)]
    [2.88..., 6.30...]
    """

    loss: ConvexLoss
    records: int
    iterations: int
    noise: float
    step_size: float
    diameter: float
    relation: Relation = field(init=False, default=Relation.REPLACE)

    def __post_init__(self) -> None:
        who = "NoisyGradientDescent"
        object.__setattr__(self, "records", count(who, 1, records=self.records))
        object.__setattr__(self, "iterations", count(who, 1, iterations=self.iterations))
        object.__setattr__(self, "diameter", wide(who, self.diameter))
        check_descent(self, self.loss, self.diameter)

    @property
    def _ratio(self) -> float:
        return self.loss.moved / (self.records * self.noise)

    def mu(self) -> Interval:
        gap = iteration.descent_gap(self.step_size, self.loss.smoothness, self.loss.strong_convexity)
        if self.diameter < math.inf:
            far = self.diameter / (self.step_size * self.noise)
            high = iteration.projected_mu(gap, self.iterations, self._ratio, far)
            return 0.0, high * (1 + iteration.ROUNDING)
        curved = self.step_size * self.loss.strong_convexity * (1 + 2 * UNIT)
        low = iteration.linear_descent_mu(curved, 1, self.iterations, self._ratio)
        high = iteration.full_batch_mu(gap, self.iterations, self._ratio)
        return low * (1 - iteration.ROUNDING), high * (1 + iteration.ROUNDING)

    @property
    def populations(self) -> frozenset[int]:
        return frozenset([self.records])

    def composed_mu(self) -> float:
        return self._ratio * math.sqrt(self.iterations)

    def length(self) -> int:
        return self.iterations

    def after(self, place: int) -> NoisyGradientDescent:
        return replace(self, iterations=place)

    def derivation(self) -> Step:
        return Step(str(self), THEOREM, f"{self.loss.words}; {_projection(self.diameter)}; {ONLY_LAST}")

    def __str__(self) -> str:
        return (
            f"the last iterate of noisy gradient descent on {self.records} records: {self.iterations} steps of size "
            f"{self.step_size:g}, noise {self.noise:g} on the mean gradient"
        )


def _projection(diameter: float) -> str:
    if diameter == math.inf:
        return "the start is public"
    return f"the start is public and every iterate is projected on a convex set of diameter at most {diameter:g}"


@dataclass(frozen=True, kw_only=True)
class CyclicGradientDescent(LastIterate):
    """The same with one of several fixed batches a step, in the same order every epoch. The last batch is the worst.

    Which batch a record is in does not depend on the data; one record is replaced by another in its place.

    >>> loss = ConvexLoss(smoothness=1, strong_convexity=0.04, sensitivity=2)
    >>> run = dict(loss=loss, batches=10, batch_size=50, noise=0.2, step_size=0.5, diameter=math.inf)
    >>> CyclicGradientDescent(epochs=50, **run).mu()[1]
    0.270003996...
    """

    loss: ConvexLoss
    batches: int
    batch_size: int
    epochs: int
    noise: float
    step_size: float
    diameter: float
    relation: Relation = field(init=False, default=Relation.REPLACE)

    def __post_init__(self) -> None:
        who = "CyclicGradientDescent"
        for name in ("batches", "batch_size", "epochs"):
            object.__setattr__(self, name, count(who, 1, **{name: getattr(self, name)}))
        object.__setattr__(self, "diameter", wide(who, self.diameter))
        check_descent(self, self.loss, self.diameter)

    @property
    def _ratio(self) -> float:
        return self.loss.moved / (self.batch_size * self.noise)

    def mu(self) -> Interval:
        gap = iteration.descent_gap(self.step_size, self.loss.smoothness, self.loss.strong_convexity)
        high = iteration.cyclic_mu(gap, self.batches, self.epochs, self._ratio)
        if self.diameter < math.inf:
            far = self.diameter / (self.step_size * self.noise)
            high = min(high, iteration.cyclic_projected_mu(self.batches, self.epochs, self._ratio, far))
            return 0.0, high * (1 + iteration.ROUNDING)
        curved = self.step_size * self.loss.strong_convexity * (1 + 2 * UNIT)
        low = iteration.linear_descent_mu(curved, self.batches, self.epochs, self._ratio)
        return low * (1 - iteration.ROUNDING), high * (1 + iteration.ROUNDING)

    @property
    def populations(self) -> frozenset[int]:
        return frozenset([self.batches * self.batch_size])

    @property
    def no_secret_sample(self) -> str:
        return IN_ORDER

    def at(self, removed: int, added: int) -> Pair:
        if max(removed, added) > self.batch_size:
            raise NotCovered(f"{self} for groups larger than a batch; groups up to {self.batch_size} are covered")
        return super().at(removed, added)

    def composed_mu(self) -> float:
        return self._ratio * math.sqrt(self.epochs)

    def length(self) -> int:
        return self.epochs

    def after(self, place: int) -> CyclicGradientDescent:
        return replace(self, epochs=place)

    def derivation(self) -> Step:
        assumed = f"{self.loss.words}; {_projection(self.diameter)}; batches are fixed without regard to the data"
        return Step(str(self), f"{THEOREM}; a record of the last batch is the worst", f"{assumed}; {ONLY_LAST}")

    def __str__(self) -> str:
        return (
            f"the last iterate of noisy gradient descent through {self.batches} fixed batches of {self.batch_size}, "
            f"{self.epochs} epochs, steps of size {self.step_size:g}, noise {self.noise:g} on the mean gradient"
        )
