"""Poisson sampling at unequal rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hush.checks import count, number
from hush.curves.relation import Relation
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.evidence import Evidence
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.neighbours import Counts, Neighbours
from hush.mechanisms.schemes.one_sample import OneSample
from hush.mechanisms.schemes.poisson import Poisson
from hush.mechanisms.schemes.thinning import MOST_SAMPLED, raised
from hush.randomness.draws import coins
from hush.randomness.source import Source, source_or_secure


@dataclass(frozen=True)
class UnequalPoisson(OneSample):
    """Record i takes part with probability rates[i], independently; the rates are fixed without looking at the data.

    A guarantee for everybody is that of the largest rate.

    >>> from hush import Gaussian
    >>> scheme = UnequalPoisson(rates=[0.01, 0.05, 0.2])
    >>> Gaussian(1.0).on(scheme).epsilon(delta=1e-5) == Gaussian(1.0).on(scheme.largest).epsilon(delta=1e-5)
    True
    """

    rates: tuple[float, ...]
    by_place = True

    def __init__(self, rates: Sequence[float]) -> None:
        if isinstance(rates, str | bytes) or not hasattr(rates, "__len__") or not len(rates):
            raise InvalidParameter("UnequalPoisson", "a list of rates, one per record", rates=rates)
        rule = "0 <= rate <= 1 for every record"
        checked = tuple(number("UnequalPoisson", rule, 0.0, 1.0, rate=rate) for rate in rates)
        object.__setattr__(self, "rates", checked)
        object.__setattr__(self, "places", len(checked))

    @property
    def most_drawn(self) -> int:
        return int(np.argmax(self.rates))

    @property
    def largest(self) -> Poisson:
        """The same for everybody at the largest rate: a smaller rate is that sample, thinned again."""
        return Poisson(rate=max(self.rates))

    def draw(self, population: int, source: Source | None = None) -> np.ndarray:
        """Indices of the sample, increasing."""
        population = count("UnequalPoisson.draw", 0, population=population)
        if population != len(self.rates):
            raise InvalidParameter(
                "UnequalPoisson.draw", f"a rate for each record ({len(self.rates)})", population=population
            )
        return np.flatnonzero(coins(source_or_secure(source), np.array(self.rates)))

    def evidence(self, inner: Mechanism, neighbours: Neighbours) -> Evidence:
        """One record has the largest rate; of a group, the others may all be known to be out."""
        found = self.largest.evidence(inner, neighbours)
        return found if neighbours.most <= 1 else found.attained_by(lambda _: ())

    def listed(self, records: int, least: float) -> tuple[Counts, float]:
        """The records with the largest rates: a sum of unlike coins."""
        if records > MOST_SAMPLED:
            raise NotCovered(f"a sampled group of more than {MOST_SAMPLED} records")
        rates = [rate for rate in sorted(self.rates, reverse=True)[:records] if rate > 0]
        certain = rates.count(1.0)
        chances = np.ones(1)
        for rate in rates[certain:]:
            chances = np.convolve(chances, [1 - rate, rate])
            chances = raised(chances) if len(chances) > 2 else chances
        return (0.0,) * certain + tuple(chances.tolist()), 0.0

    def theorem(self, relation: Relation) -> tuple[str, str]:
        text, assumes = self.largest.theorem(relation)
        return f"at the largest rate, of which smaller ones are a post-processing; {text}", (
            f"{assumes}; the rates do not depend on the data (a sampler with weights from the data is not covered)"
        )

    def __str__(self) -> str:
        return f"Poisson sampling at {len(self.rates)} given rates, the largest {max(self.rates):g}"
