"""Sampling schemes: each is a value that draws and that knows its theorem."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np
from scipy import special

from hush.curves.pair import Pair
from hush.curves.relation import Relation
from hush.curves.renyi import RenyiCurve
from hush.errors import NotCovered
from hush.mechanisms.checks import number
from hush.mechanisms.mechanism import NONE, Counts, Mechanism, Step, require


class Scheme(ABC):
    """A way to draw a random sample."""

    @abstractmethod
    def applied(self, mechanism: Mechanism) -> Mechanism:
        """The mechanism on a sample drawn so."""


@dataclass(frozen=True)
class Poisson(Scheme):
    """Each record takes part with probability `rate`, independently, and nobody learns which.

    >>> from hush import Gaussian
    >>> Gaussian(1.0).on(Poisson(rate=1.0)) == Gaussian(1.0)
    True
    """

    rate: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", number("Poisson", "0 <= rate <= 1", 0.0, 1.0, rate=self.rate))

    def applied(self, mechanism: Mechanism) -> Mechanism:
        inner = require("Poisson", mechanism)
        return inner if self.rate == 1 else Sampled(inner, self)

    def thin(self, counts: Counts) -> Counts:
        """How many of the records take part after the sample is drawn: binomial thinning."""
        if len(counts) > 201:
            raise NotCovered("a sampled group of more than 200 records: state the guarantee of the group instead")
        kept = np.zeros(len(counts))
        for total, weight in enumerate(counts):
            if weight > 0:
                taken = np.arange(total + 1)
                kept[: total + 1] += weight * (
                    special.comb(total, taken) * self.rate**taken * (1 - self.rate) ** (total - taken)
                )
        return tuple(np.trim_zeros(kept, "b").tolist()) or NONE

    def __str__(self) -> str:
        return f"Poisson sampling at rate {self.rate:g}"


@dataclass(frozen=True)
class Sampled(Mechanism):
    """A mechanism on a secret sample. The pair of a sampled group is a binomial mixture, never the mix of its pair."""

    inner: Mechanism
    scheme: Poisson
    relation: Relation = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "relation", self.inner.relation)

    def pair(self, removed: Counts, added: Counts) -> Pair:
        return self.inner.pair(self.scheme.thin(removed), self.scheme.thin(added))

    def curve(self, removed: Counts, added: Counts) -> RenyiCurve:
        return self.inner.curve(self.scheme.thin(removed), self.scheme.thin(added))

    def attained(self) -> Mechanism:
        return self.scheme.applied(self.inner.attained())

    def derivation(self) -> Step:
        theorem = (
            "Zhu, Dong, Wang 2022, Thm 11: remove ((1-q)Q + qP, Q), add (P, (1-q)P + qQ), each composed on its own"
        )
        if self.relation is Relation.REPLACE:
            theorem = "each record taken with probability q on either side; joint convexity of the hockey stick"
        return Step(
            f"on a sample: {self.scheme}",
            theorem,
            "each record is drawn independently of all else, and the sample stays secret",
            (self.inner.derivation(),),
        )

    def __str__(self) -> str:
        return f"{self.inner} on {self.scheme}"
