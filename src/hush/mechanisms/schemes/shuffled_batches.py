"""What most training loops do: shuffle, cut into batches; and samples that are not secret."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from hush.checks import count
from hush.curves.pairs.envelope import Deep
from hush.curves.pairs.finite import CERTAIN_LOSS
from hush.curves.pairs.normal import NormalPair
from hush.curves.pairs.pair import Pair
from hush.curves.pairs.public_choice import Blend, renyi_blend
from hush.curves.relation import Relation
from hush.curves.renyi.curve import RenyiCurve
from hush.curves.theorems.shuffled_batches import LoudestNormals, loudest_losses
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.mechanism import IDENTITY, NO_CURVE, Counts, Mechanism, exactly, require, settled
from hush.mechanisms.schemes.fixed_size import by_copies, capped, replaced
from hush.mechanisms.schemes.scheme import DATA_INDEPENDENT, NEGLIGIBLE, OneSample, surely
from hush.randomness.draws import order
from hush.randomness.source import Source, source_or_secure

T = TypeVar("T")
MOST_AT_ONCE = 10_000
"""Copies of a record up to which its pair is asked for: lists of counts take memory for each of them."""


@dataclass(frozen=True)
class ShuffledBatches(OneSample):
    """An epoch of `steps` batches: the records in a random order, cut into equal parts. It makes the whole epoch.

    No theorem gives it the epsilon of Poisson sampling, and an attack shows that none can: which batch a record is in
    is one secret for the whole epoch, so the batches betray each other. Proven is that each record is used once.

    >>> from hush import Gaussian, Poisson
    >>> Gaussian(1.0).on(ShuffledBatches(steps=100)).epsilon(delta=1e-6)
    Bound(epsilon=4.68 to 4.89, lower=4.6809..., upper=4.88655..., delta=1e-06)
    >>> Gaussian(1.0).on(Poisson(rate=0.01)).repeat(100).epsilon(delta=1e-6).upper
    0.9542...
    """

    steps: int = field()  # else the 1 of Scheme would be its default
    keeps_curve = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", count("ShuffledBatches", 1, steps=self.steps))

    @property
    def one_sample(self) -> bool:
        return False

    def applied(self, mechanism: Mechanism) -> Mechanism:
        return require("ShuffledBatches", mechanism) if self.steps == 1 else super().applied(mechanism)

    def draw(self, population: int, source: Source | None = None) -> list[np.ndarray]:
        """The batches of one epoch, their sizes as equal as can be."""
        population = count("ShuffledBatches.draw", 0, population=population)
        return np.array_split(order(source_or_secure(source), population), self.steps)

    def fitting(self, mechanism: Mechanism) -> Mechanism:
        return require("ShuffledBatches", mechanism)

    def population_of(self, inner: Mechanism) -> frozenset[int]:
        return frozenset(self.steps * batch for batch in inner.populations)

    def likened(self, inner: Mechanism, records: int, alone: bool) -> tuple[Pair, ...]:
        """The loudest step, the other records like the new one."""
        found = []
        for pair in inner.likened(records, alone):
            distance = pair.distance if isinstance(pair, NormalPair) else None
            normal = distance is not None
            found.append(LoudestNormals(distance, 0.0, self.steps) if normal else loudest_losses(pair, self.steps))
        return tuple(found)

    def pair(self, inner: Mechanism, removed: Counts, added: Counts) -> Pair:
        self._one_record(removed, added)
        return inner.pair(removed, added)

    def curve(self, inner: Mechanism, removed: Counts, added: Counts) -> RenyiCurve:
        self._one_record(removed, added)
        return inner.curve(removed, added)

    def _one_record(self, removed: Counts, added: Counts) -> None:
        r, a = settled(removed), settled(added)
        if r is None or a is None or max(r, a) > 1:
            raise NotCovered(
                "shuffled batches: what is known is for one record that is in the data for sure; a group may fall "
                "into several batches. Nearest: hush.Poisson, which covers groups and nested samples"
            )

    def attained(self, inner: Mechanism, removed: Counts, added: Counts, alone: bool) -> tuple[Pair, ...]:
        """The attack on the loudest step."""
        self._one_record(removed, added)
        r, a = settled(removed), settled(added)
        if r == a == 0:
            return (IDENTITY,)
        mirrored = r == 0
        if mirrored:
            removed, added, a = added, removed, 0
        found: list[Pair] = []
        for pair in inner.attained(removed, added, alone):
            distance = pair.distance if isinstance(pair, NormalPair) else None
            if distance is None:
                found.append(loudest_losses(pair, self.steps, mirrored=mirrored))
            else:  # the other records pull the other way: by as much again, or (replaced) by half of the distance
                loud = 2 * distance if a == 0 else distance
                attacks = LoudestNormals(loud, loud / 2, self.steps), LoudestNormals(distance, 0.0, self.steps)
                found += [attack.swap() if mirrored else attack for attack in attacks]
        if a == 0:
            try:  # the other records add nothing: one record in one random step is an allocation
                pair = inner.allocated(self.steps)
                found.append(pair.swap() if mirrored else pair)
            except NotCovered:
                pass
        return tuple(found)

    def listed(self, records: int, least: float) -> tuple[Counts, float]:
        if records > 1:
            raise NotCovered("shuffled batches: a group may fall into several batches")
        return exactly(records), 0.0

    def theorem(self, relation: Relation) -> tuple[str, str]:
        return (
            "above: each record is in one batch of the epoch, which is then as good as not sampled at all (joint "
            "convexity over the orders); below: the attack of Chua et al. 2024, on the loudest step. "
            "Poisson's epsilon does not apply: the batches share one secret, where each record is"
        ), (
            f"one fresh uniform order an epoch; {DATA_INDEPENDENT}; batch sizes are fixed"
            + (
                ""
                if relation is Relation.REPLACE
                else ", a record that is removed leaves its place empty (contributes zero)"
            )
        )

    def __str__(self) -> str:
        return f"shuffled batches, {self.steps} an epoch"


@dataclass(frozen=True)
class Revealed(OneSample):
    """A scheme whose sample becomes known: logs, timings, a public index. Only delta gains, by the chance to be drawn.

    >>> from hush import Gaussian, Poisson, Relation
    >>> Gaussian(1.0, Relation.REPLACE).on(Revealed(Poisson(rate=0.01))).delta(epsilon=1).upper
    0.00126936...
    """

    scheme: OneSample
    keeps_curve = True

    def __post_init__(self) -> None:
        if not isinstance(self.scheme, OneSample):
            raise InvalidParameter("Revealed", "a scheme such as hush.Poisson(rate=0.01)", scheme=self.scheme)
        if isinstance(self.scheme, Revealed):
            object.__setattr__(self, "scheme", self.scheme.scheme)
        object.__setattr__(self, "population", self.scheme.population)
        object.__setattr__(self, "steps", self.scheme.steps)

    @property
    def one_sample(self) -> bool:
        return self.scheme.one_sample

    @property
    def by_place(self) -> bool:
        return self.scheme.by_place

    @property
    def places(self) -> int | None:
        return self.scheme.places

    @property
    def most_drawn(self) -> int:
        return self.scheme.most_drawn

    @property
    def expected_rate(self) -> float | None:
        return self.scheme.expected_rate

    @property
    def streams(self) -> bool:
        return self.scheme.streams

    @property
    def drawn(self) -> int | None:
        return self.scheme.drawn

    @property
    def secret(self) -> bool:
        return False

    def population_of(self, inner: Mechanism) -> frozenset[int]:
        return self.scheme.population_of(inner)

    def draw(self, population: int, source: Source | None = None) -> object:
        """What the scheme draws."""
        return self.scheme.draw(population, source)

    def _records(self, removed: Counts, added: Counts) -> int:
        r, a = settled(removed), settled(added)
        if r is not None and a is not None and r != a:
            raise NotCovered(
                "a sample that is not secret, add or remove: the list of who was drawn shows the record itself. "
                "Nearest: noise stated for replace-one, or .under(hush.Relation.REPLACE); or keep the sample secret"
            )
        return replaced("Revealed", removed, added)

    def _drawn(self, records: int, ask: Callable[[Counts], T], nothing: T) -> list[tuple[T, float]]:
        """What is known of each number of copies, with its probability.

        Numbers past the list count as the largest, all draws at once: a change of more records reveals no less. Where
        nothing is known of that, they count as a certain loss.
        """
        weights, rest = self.scheme.listed(records, 0.0)
        most = self.scheme.drawn
        if rest > 0 and most is not None and most <= MOST_AT_ONCE:
            try:
                nothing = ask(exactly(most))
            except NotCovered:
                pass
        return list(by_copies(ask, weights, rest, nothing))

    def pair(self, inner: Mechanism, removed: Counts, added: Counts) -> Pair:
        parts = self._drawn(self._records(removed, added), lambda counts: inner.pair(counts, counts), CERTAIN_LOSS)
        if not parts:
            return IDENTITY
        return Deep.of(Blend.of(capped(parts, most)) for most in (0.0, NEGLIGIBLE))

    def curve(self, inner: Mechanism, removed: Counts, added: Counts) -> RenyiCurve:
        """(1/(a-1)) log(1 - q + q e^{(a-1) D(a)}): the mean of the moments over who was drawn."""
        curves = self._drawn(self._records(removed, added), lambda counts: inner.curve(counts, counts), NO_CURVE)

        def divergence(order: float) -> float:
            if order == math.inf:
                return max((curve(order) for curve, _ in curves), default=0.0)
            return renyi_blend([(curve(order), weight) for curve, weight in curves], order) * (1 + 1e-12)

        return RenyiCurve.each(divergence)

    def attained(self, inner: Mechanism, removed: Counts, added: Counts, alone: bool) -> tuple[Pair, ...]:
        """Exact for one place; of several copies only the case of exactly one is counted."""
        weights = surely(self.takes(self._records(removed, added)))
        if len(weights) == 1:
            return (IDENTITY,)
        one = exactly(1)
        return tuple(Blend.of([(pair, weights[1])]) for pair in inner.attained(one, one, alone))

    def listed(self, records: int, least: float) -> tuple[Counts, float]:
        return self.scheme.listed(records, least)

    def theorem(self, relation: Relation) -> tuple[str, str]:
        return (
            "given who was drawn the mechanism is as it is without a sample: delta' = q delta, and the moments average"
        ), f"the sample is drawn as stated and does not depend on the records' values; {DATA_INDEPENDENT}"

    def __str__(self) -> str:
        return f"{self.scheme}, not secret"
