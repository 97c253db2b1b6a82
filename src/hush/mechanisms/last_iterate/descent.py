"""The last iterate of noisy gradient descent on a convex loss."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from hush.arrays import Array
from hush.checks import number
from hush.curves.interval import Interval
from hush.curves.pairs.pair import Pair
from hush.curves.relation import Relation
from hush.curves.theorems import last_iterate
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.fields import instance, whole
from hush.mechanisms.last_iterate.iteration import ONLY_LAST, SIZED, THEOREM, LastIterate, sized
from hush.mechanisms.leaf import IN_ORDER
from hush.mechanisms.traits import Scope
from hush.numerics.rounding import UNIT
from hush.randomness.float_noise import normal
from hush.randomness.source import Source


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


A_LOSS = instance(ConvexLoss, "a hush.ConvexLoss")


@dataclass(frozen=True, kw_only=True)
class GradientDescent(LastIterate):
    """Steps down the gradient of a convex loss, with noise in each; neighbours replace one record."""

    loss: ConvexLoss = field(metadata=A_LOSS)
    noise: float = field(metadata=SIZED)
    step_size: float
    relation: Relation = field(init=False, default=Relation.REPLACE)

    def __post_init__(self) -> None:
        super().__post_init__()
        who, loss = type(self).__name__, self.loss
        rule = f"0 < step_size <= 2/smoothness = {2 / loss.smoothness:g}"
        limit = 2 / loss.smoothness * (1 + 2 * UNIT)  # 2/smoothness itself may have been rounded up
        step = number(who, rule, 0.0, limit, low_open=True, step_size=self.step_size)
        object.__setattr__(self, "step_size", sized(who, step_size=step))

    @property
    def gap(self) -> float:
        """1 - c of every step."""
        return last_iterate.descent_gap(self.step_size, self.loss.smoothness, self.loss.strong_convexity)

    @property
    def curved(self) -> float:
        """How much a step shrinks distances on the loss of the least curvature, rounded up."""
        return self.step_size * self.loss.strong_convexity * (1 + 2 * UNIT)

    def path(self, moved: Sequence[float], contributions: Array, source: Source) -> list[Array]:
        """Where simulated runs are after each step: see `simulate`.

        The loss is a quadratic of the stated curvature, and step t moves its linear term by moved[t] times what the
        record contributes.
        """
        places = [np.zeros(len(contributions))]
        for shift in moved:
            gradient = self.loss.strong_convexity * places[-1] - contributions * shift
            noise = self.noise * normal(source, len(contributions))
            places.append(places[-1] - self.step_size * (gradient + noise))
        return places[1:]


@dataclass(frozen=True, kw_only=True)
class ProjectedDescent(GradientDescent):
    """The same with a projection on a convex set, or without one."""

    diameter: float
    """That of the set; infinity where there is none."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.diameter != math.inf:
            object.__setattr__(self, "diameter", sized(type(self).__name__, diameter=self.diameter))
        elif self.loss.strong_convexity > 0 and self.loss.sensitivity == math.inf:
            rule = "a finite diameter, or the loss's sensitivity: unbounded, a strongly convex loss is not Lipschitz"
            raise InvalidParameter(type(self).__name__, rule, diameter=self.diameter)

    @property
    @abstractmethod
    def ratio(self) -> float:
        """How far a replaced record moves a step that it takes part in, over the step's noise."""

    def composed_mu(self) -> float:
        return self.ratio * math.sqrt(self.length())

    @property
    def far(self) -> float:
        """How far apart two iterates may be, over the noise of one step."""
        return self.diameter / (self.step_size * self.noise)

    @property
    def start(self) -> str:
        """What is assumed of the start and the projection."""
        if self.diameter == math.inf:
            return "the start is public"
        return (
            f"the start is public and every iterate is projected on a convex set of diameter at most {self.diameter:g}"
        )

    def path(self, moved: Sequence[float], contributions: Array, source: Source) -> list[Array]:
        if self.diameter < math.inf:
            raise NotCovered(f"{self}: runs are simulated without a projection")
        return super().path(moved, contributions, source)


@dataclass(frozen=True, kw_only=True)
class NoisyGradientDescent(ProjectedDescent):
    """w -> Proj(w - step_size (mean gradient of all records + N(0, noise^2))), from a public start.

    `diameter` is that of the convex set that is projected on, infinity where there is none. Stated for replace-one:
    with a record more or less the mean is no longer smooth or strongly convex as stated; use NoisyIteration then.

    >>> loss = ConvexLoss(smoothness=1, strong_convexity=0.1, sensitivity=2)
    >>> run = dict(loss=loss, records=100, noise=0.1, step_size=0.5, diameter=math.inf)
    >>> [NoisyGradientDescent(iterations=t, **run).epsilon(delta=1e-6).upper for t in (10, 10_000)]
    [2.88..., 6.30...]
    """

    records: int = field(metadata=whole(1))
    iterations: int = field(metadata=whole(1))
    theorem = THEOREM
    assumes = "{self.loss.words}; {self.start}; " + ONLY_LAST

    @property
    def ratio(self) -> float:
        return self.loss.moved / (self.records * self.noise)

    def mu(self) -> Interval:
        if self.diameter < math.inf:
            high = last_iterate.projected_mu(self.gap, self.iterations, self.ratio, self.far)
            return 0.0, high * (1 + last_iterate.MU_ROUNDING)
        low = last_iterate.linear_descent_mu(self.curved, 1, self.iterations, self.ratio)
        high = last_iterate.full_batch_mu(self.gap, self.iterations, self.ratio)
        return low * (1 - last_iterate.MU_ROUNDING), high * (1 + last_iterate.MU_ROUNDING)

    @property
    def scope(self) -> Scope:
        return Scope(populations=frozenset([self.records]))

    def length(self) -> int:
        return self.iterations

    def after(self, place: int) -> NoisyGradientDescent:
        return replace(self, iterations=place)

    def simulate(self, contributions: Array, source: Source) -> Array:
        """The record takes part in every step."""
        return self.path([self.loss.moved / self.records] * self.iterations, contributions, source)[-1]

    def __str__(self) -> str:
        return (
            f"the last iterate of noisy gradient descent on {self.records} records: {self.iterations} steps of size "
            f"{self.step_size:g}, noise {self.noise:g} on the mean gradient"
        )


@dataclass(frozen=True, kw_only=True)
class CyclicGradientDescent(ProjectedDescent):
    """The same with one of several fixed batches per step, in the same order every epoch. The last batch is the worst.

    Which batch a record is in does not depend on the data; one record is replaced by another in its place.

    >>> loss = ConvexLoss(smoothness=1, strong_convexity=0.04, sensitivity=2)
    >>> run = dict(loss=loss, batches=10, batch_size=50, noise=0.2, step_size=0.5, diameter=math.inf)
    >>> CyclicGradientDescent(epochs=50, **run).mu()[1]
    0.270003996...
    """

    unit: ClassVar[str] = "epoch"
    batches: int = field(metadata=whole(1))
    batch_size: int = field(metadata=whole(1))
    epochs: int = field(metadata=whole(1))
    theorem = f"{THEOREM}; a record of the last batch is the worst"
    assumes = "{self.loss.words}; {self.start}; batches are fixed without regard to the data; " + ONLY_LAST

    @property
    def ratio(self) -> float:
        return self.loss.moved / (self.batch_size * self.noise)

    def mu(self) -> Interval:
        high = last_iterate.cyclic_mu(self.gap, self.batches, self.epochs, self.ratio)
        if self.diameter < math.inf:
            high = min(high, last_iterate.cyclic_projected_mu(self.batches, self.epochs, self.ratio, self.far))
            return 0.0, high * (1 + last_iterate.MU_ROUNDING)
        low = last_iterate.linear_descent_mu(self.curved, self.batches, self.epochs, self.ratio)
        return low * (1 - last_iterate.MU_ROUNDING), high * (1 + last_iterate.MU_ROUNDING)

    @property
    def scope(self) -> Scope:
        return Scope(populations=frozenset([self.batches * self.batch_size]), no_secret_sample=IN_ORDER)

    def at(self, removed: int, added: int) -> Pair:
        if max(removed, added) > self.batch_size:
            raise NotCovered(f"{self} for groups larger than a batch; groups up to {self.batch_size} are covered")
        return super().at(removed, added)

    def length(self) -> int:
        return self.epochs

    def after(self, place: int) -> CyclicGradientDescent:
        return replace(self, epochs=place)

    def simulate(self, contributions: Array, source: Source) -> Array:
        """The record is in the last batch of every epoch."""
        epoch = [0.0] * (self.batches - 1) + [self.loss.moved / self.batch_size]
        return self.path(epoch * self.epochs, contributions, source)[-1]

    def __str__(self) -> str:
        return (
            f"the last iterate of noisy gradient descent through {self.batches} fixed batches of {self.batch_size}, "
            f"{self.epochs} epochs, steps of size {self.step_size:g}, noise {self.noise:g} on the mean gradient"
        )
