"""One noisy pass over the records, one per step: to its end, or to a random stop."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from hush.arrays import Array
from hush.checks import count
from hush.curves.bound import Bound
from hush.curves.interval import Interval
from hush.curves.pairs.normal import NormalPair
from hush.curves.pairs.pair import Pair
from hush.curves.pairs.public_choice import Blend
from hush.curves.relation import Relation
from hush.curves.renyi.curve import RenyiCurve
from hush.curves.theorems import last_iterate
from hush.curves.theorems.random_stop import random_stop_divergence, random_stop_groups
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.evidence import IDENTITY
from hush.mechanisms.fields import instance, whole
from hush.mechanisms.last_iterate.descent import GradientDescent
from hush.mechanisms.last_iterate.hidden_iterates import HiddenIterates, checkpoints
from hush.mechanisms.last_iterate.iteration import LEAST_MU, ONLY_LAST, gaussian_of
from hush.mechanisms.leaf import IN_ORDER, Leaf
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.neighbours import Neighbours
from hush.mechanisms.traits import Scope, Step
from hush.randomness.float_noise import uniform
from hush.randomness.source import Source

RECORD_BY_RECORD = "Feldman, Mironov, Talwar, Thakurta 2018, Thm 23 (a Gaussian pair: Bok, Su, Altschuler 2024, Sec. 3)"


@dataclass(frozen=True, kw_only=True)
class OnePassGradientDescent(GradientDescent):
    """w -> Proj(w - step_size (gradient of record t + N(0, noise^2))) for t = 1, ..., records, from a public start.

    Early records are hidden by the noise of later steps, the last one is not: the guarantee for everyone is that of the
    last record, and equals the one without amplification. `record_epsilon` says what a single record has.

    >>> from hush import ConvexLoss
    >>> loss = ConvexLoss(smoothness=1, strong_convexity=0, lipschitz=1)
    >>> run = OnePassGradientDescent(loss=loss, records=100, noise=4, step_size=0.5)
    >>> run.epsilon(delta=1e-6).upper, run.record_epsilon(1, delta=1e-6).upper
    (2.2540..., 0.189...)
    """

    unit: ClassVar[str] = "record"
    records: int = field(metadata=whole(1))

    @property
    def ratio(self) -> float:
        """How far a replaced record moves one step, over the step's noise."""
        return self.loss.moved / self.noise

    def record_mu(self, record: int) -> Interval:
        """mu of one record alone: attained by some run, and exceeded by none."""
        place = count("record_mu", 1, record=record)
        if place > self.records:
            raise InvalidParameter("record_mu", f"record <= {self.records}", record=record)
        high = last_iterate.one_pass_mu(self.gap, self.records - place, self.ratio) * (1 + last_iterate.MU_ROUNDING)
        if self.loss.strong_convexity > 0 and self.loss.lipschitz < math.inf:
            return 0.0, high  # quadratics are not Lipschitz: none is known to attain it
        if not self.curved <= 1:
            return 0.0, high
        # a record of the last batch of a pass over n batches, followed by maps x -> (1 - curved) x
        low = last_iterate.linear_descent_mu(self.curved, self.records, 1, self.ratio)
        return low * (1 - self.curved) ** (self.records - place) * (1 - last_iterate.MU_ROUNDING), high

    def record_epsilon(self, record: int, *, delta: float) -> Bound:
        """Epsilon for one record alone. It is no guarantee for everyone: do not report it as one."""
        low, high = self.record_mu(record)
        upper = gaussian_of(high, self.relation).epsilon(delta=delta).upper
        lower = gaussian_of(low, self.relation).epsilon(delta=delta).lower if low >= LEAST_MU else 0.0
        route = f"record {record} of {self.records} alone, not everyone"
        return Bound(lower, upper, "epsilon", delta=float(delta), relation=self.relation, route=route)

    def mu(self) -> Interval:
        """The largest over all records: that of the last one."""
        return self.record_mu(self.records)

    @property
    def scope(self) -> Scope:
        return Scope(populations=frozenset([self.records]), no_secret_sample=IN_ORDER)

    def composed_mu(self) -> float:
        return self.ratio

    def length(self) -> int:
        return self.records

    def after(self, place: int) -> OnePassGradientDescent:
        return replace(self, records=place)

    def places(self) -> list[int]:
        """Those of the first records and those of the last."""
        ends = checkpoints(self.records)
        return sorted({*ends, *(self.records + 1 - place for place in ends)})

    def at_place(self, place: int) -> tuple[Mechanism, Mechanism]:
        """Of one record; without amplification every record has what the last one has."""
        return gaussian_of(self.record_mu(place)[1], self.relation), self.composed()

    def gains_from(self) -> int | None:
        return 1 if self.records > 1 else None

    def gain_in_words(self, first: int | None) -> str:
        gains = f"Records 1 to {self.records - 1} gain, the earlier the more. " if first else ""
        return f"{gains}The last one does not, so there is no gain for everyone: end the pass at random instead."

    def stopped_at_random(self) -> RandomStop:
        """The same pass, ended after a number of steps that is drawn uniformly from 1 to `records`."""
        return RandomStop(self)

    def derivation(self) -> Step:
        assumed = f"{self.loss.words}; the order of the records and the start do not depend on the data; {ONLY_LAST}"
        return Step(str(self), f"{RECORD_BY_RECORD}; for everyone the last record counts, which gains nothing", assumed)

    def simulate(self, contributions: Array, source: Source) -> Array:
        """The record is the last one, which no later noise hides."""
        return self.path([0.0] * (self.records - 1) + [self.loss.moved], contributions, source)[-1]

    def __str__(self) -> str:
        return (
            f"the last iterate of one noisy pass over {self.records} records, one per step of size {self.step_size:g}, "
            f"noise {self.noise:g} on the gradient"
        )


@dataclass(frozen=True)
class RandomStop(Leaf, HiddenIterates):
    """One noisy pass that ends after a number of steps drawn uniformly from 1 to n, without regard to the data.

    Everyone gains: no record is the last one with more than probability 1/n. The number may be published.

    >>> from hush import ConvexLoss
    >>> loss = ConvexLoss(smoothness=1, strong_convexity=0, lipschitz=1)
    >>> run = OnePassGradientDescent(loss=loss, records=10_000, noise=4, step_size=0.5)
    >>> run.epsilon(delta=1e-6).upper, run.stopped_at_random().epsilon(delta=1e-6).upper
    (2.2540..., 0.936...)
    """

    unit: ClassVar[str] = "records"
    run: OnePassGradientDescent = field(metadata=instance(OnePassGradientDescent, "a hush.OnePassGradientDescent"))
    relation: Relation = field(init=False, default=Relation.REPLACE)
    word: ClassVar[str] = ""  # no expression makes the run that it would follow

    def _single(self, removed: int, added: int) -> None:
        if self.steps(removed, added) > 1:
            raise NotCovered(f"{self}, for groups: covered for one record replaced")

    @property
    def scope(self) -> Scope:
        return self.run.scope

    def at(self, removed: int, added: int) -> Pair:
        self._single(removed, added)
        groups = random_stop_groups(self.run.gap, self.run.records, self.run.ratio)
        slack = 1 + last_iterate.MU_ROUNDING
        return Blend.of((NormalPair.shifted(max(mu * slack, LEAST_MU)), weight) for mu, weight in groups)

    def curve_of(self, neighbours: Neighbours) -> RenyiCurve | None:
        if neighbours.settled is None:
            return super().curve_of(neighbours)
        self._single(*neighbours.settled)
        run = self.run
        return RenyiCurve.each(lambda order: random_stop_divergence(order, run.gap, run.records, run.ratio))

    curve_says_more = True

    def attained(self, neighbours: Neighbours, alone: bool) -> tuple[Pair, ...]:
        """None is known: the average is over stops, and a run that is worst for each of them need not exist."""
        return (IDENTITY,)

    def composed(self) -> Mechanism:
        """The guarantee if every iterate were released."""
        return gaussian_of(self.run.composed_mu(), self.relation)

    def places(self) -> list[int]:
        return [self.run.records]

    def at_place(self, place: int) -> tuple[Mechanism, Mechanism]:
        """Every record has the same bound."""
        return self, self.composed()

    def gains_from(self) -> int | None:
        return 1

    def gain_in_words(self, first: int | None) -> str:
        return "Every record gains." if first else "No gain: there are too few steps to stop at."

    def derivation(self) -> Step:
        return Step(
            str(self),
            "average over the stop, by joint convexity of the hockey stick and of e^{(a-1) D_a}; record 1 is the worst",
            "the number of steps is uniform on 1 to n and does not depend on the data",
            (self.run.derivation(),),
        )

    def simulate(self, contributions: Array, source: Source) -> Array:
        """The record is the first one, which every run sees; the stop is published."""
        moved = [self.run.loss.moved] + [0.0] * (self.run.records - 1)
        places = np.array(self.run.path(moved, contributions, source))
        stops = np.minimum((uniform(source, len(contributions)) * len(places)).astype(int), len(places) - 1)
        return np.column_stack([stops, places[stops, np.arange(len(contributions))]])

    def __str__(self) -> str:
        return f"{self.run}, ended at random"
