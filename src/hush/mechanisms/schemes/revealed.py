"""Samples that are not secret: who was drawn becomes known."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from hush.curves.pairs.finite import CERTAIN_LOSS
from hush.curves.pairs.pair import Pair
from hush.curves.pairs.pointwise import Deep
from hush.curves.pairs.public_choice import MEAN_ROUNDING, Blend, renyi_blend
from hush.curves.relation import Relation
from hush.curves.renyi.curve import RenyiCurve
from hush.errors import NotCovered
from hush.mechanisms.evidence import IDENTITY, NO_CURVE, Evidence
from hush.mechanisms.fields import instance
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.neighbours import REPLACED, Counts, Neighbours, exactly
from hush.mechanisms.schemes.fixed_size import by_copies, capped, replaced
from hush.mechanisms.schemes.one_sample import DATA_INDEPENDENT, OneSample
from hush.mechanisms.schemes.thinning import NEGLIGIBLE, surely
from hush.randomness.source import Source

T = TypeVar("T")
MOST_AT_ONCE = 10_000
"""Copies of a record up to which its pair is asked for: lists of counts take memory for each of them."""


@dataclass(frozen=True)
class Revealed(OneSample):
    """A scheme whose sample becomes known: logs, timings, a public index. Only delta gains, by the chance to be drawn.

    >>> from hush import Gaussian, Poisson, Relation
    >>> Gaussian(1.0, Relation.REPLACE).on(Revealed(Poisson(rate=0.01))).delta(epsilon=1).upper
    0.00126936...
    """

    scheme: OneSample = field(metadata=instance(OneSample, "a scheme such as hush.Poisson(rate=0.01)"))
    secret = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.scheme, Revealed):
            object.__setattr__(self, "scheme", self.scheme.scheme)
        for answer in ("population", "steps", "one_sample", "by_place", "places", "streams"):
            object.__setattr__(self, answer, getattr(self.scheme, answer))

    @property
    def most_drawn(self) -> int:
        return self.scheme.most_drawn

    @property
    def expected_rate(self) -> float | None:
        return self.scheme.expected_rate

    @property
    def drawn(self) -> int | None:
        return self.scheme.drawn

    def population_of(self, inner: Mechanism) -> frozenset[int]:
        return self.scheme.population_of(inner)

    def draw(self, population: int, source: Source | None = None) -> object:
        """What the scheme draws."""
        return self.scheme.draw(population, source)

    def _records(self, neighbours: Neighbours) -> int:
        found = neighbours.settled
        if found is not None and found[0] != found[1]:
            raise NotCovered(
                "a sample that is not secret, add or remove: the list of who was drawn shows the record itself. "
                "Nearest: noise stated for replace-one, or .under(hush.Relation.REPLACE); or keep the sample secret"
            )
        return replaced("Revealed", neighbours)

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

    def evidence(self, inner: Mechanism, neighbours: Neighbours) -> Evidence:
        def known(counts: Counts) -> Evidence:
            return inner.evidence(Neighbours.replaced(counts))

        records = self._records(neighbours)
        return Evidence(
            lambda: self._pair(self._drawn(records, lambda counts: known(counts).pair, CERTAIN_LOSS)),
            lambda: self._curve(self._drawn(records, lambda counts: known(counts).curve, NO_CURVE)),
            lambda alone: self._attained(inner, records, alone),
            curve_says_more=inner.evidence(REPLACED).curve_says_more,
        )

    @staticmethod
    def _pair(parts: list[tuple[Pair, float]]) -> Pair:
        if not parts:
            return IDENTITY
        return Deep.of(Blend.of(capped(parts, most)) for most in (0.0, NEGLIGIBLE))

    @staticmethod
    def _curve(curves: list[tuple[RenyiCurve, float]]) -> RenyiCurve:
        """(1/(a-1)) log(1 - q + q e^{(a-1) D(a)}): the mean of the moments over who was drawn."""

        def divergence(order: float) -> float:
            if order == math.inf:
                return max((curve(order) for curve, _ in curves), default=0.0)
            return renyi_blend([(curve(order), weight) for curve, weight in curves], order) * (1 + MEAN_ROUNDING)

        return RenyiCurve.each(divergence)

    def _attained(self, inner: Mechanism, records: int, alone: bool) -> tuple[Pair, ...]:
        """Exact for one place; of several copies only the case of exactly one is counted."""
        if not self.scheme.listed_exactly:
            return ()
        weights = surely(self.takes(records))
        if len(weights) == 1:
            return (IDENTITY,)
        return tuple(Blend.of([(pair, weights[1])]) for pair in inner.evidence(REPLACED).attained(alone))

    def listed(self, records: int, least: float) -> tuple[Counts, float]:
        return self.scheme.listed(records, least)

    def theorem(self, relation: Relation) -> tuple[str, str]:
        return (
            "given who was drawn the mechanism is as it is without a sample: delta' = q delta, and the moments average"
        ), f"the sample is drawn as stated and does not depend on the records' values; {DATA_INDEPENDENT}"

    def __str__(self) -> str:
        return f"{self.scheme}, not secret"
