"""Mechanisms that stand for themselves."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from hush.curves.pairs.pair import Pair
from hush.curves.relation import Relation
from hush.curves.renyi.curve import RenyiCurve
from hush.curves.renyi.sampling import poisson_mirrored
from hush.errors import NotCovered
from hush.mechanisms.mechanism import (
    IDENTITY,
    NONE,
    Counts,
    Mechanism,
    against_nothing,
    exactly,
    one_replaced,
    replaced_on_a_sample,
    settled,
)

IN_ORDER = "it goes through the records in an order, and a sample with another record may shift all places"
"""Why some mechanisms gain nothing from a secret sample: Mechanism.no_secret_sample."""
WHOLE_ORDERS = 100_000
"""Reach of a curve that is cheap at all whole orders."""


class Leaf(Mechanism):
    """A mechanism that stands for itself: it knows its pair at whole numbers of changed records."""

    attains_curve: ClassVar[bool] = False
    """Whether it declares datasets, all records alike but those that differ, which attain its curve at every order."""
    mirrored: ClassVar[bool] = False
    """Whether it declares that any two neighbouring outputs are mirror images: odd Pearson-Vajda divergences >= 0."""

    @abstractmethod
    def at(self, removed: int, added: int) -> Pair:
        """The pair where all of the records that differ take part."""

    exact_mixture = False
    """Whether `mixture` is attained; else it is an upper bound."""

    def mixture(self, removed: Counts, added: Counts) -> Pair:
        """The pair where the number of records that take part is random and not just 0 or 1."""
        if one_replaced(removed, added) and self.relation is Relation.ADD_REMOVE:
            return replaced_on_a_sample(self, removed[1])
        if self.relation is Relation.REPLACE:
            raise NotCovered(
                f"{self}, stated for replaced records, on a sample of random size: no pair is known, as a sample may "
                "lose the record. State it for added or removed ones, then .under(hush.Relation.REPLACE) on the sample"
            )
        raise NotCovered(
            f"{self} on a sample, several records changed: no pair is known. Covered: one record added, removed or "
            "replaced; for groups, Gaussian and discrete noise, and stated guarantees"
        )

    def pair(self, removed: Counts, added: Counts) -> Pair:
        r, a = settled(removed), settled(added)
        if r is not None and a is not None:
            return IDENTITY if r == a == 0 else self.at(r, a)
        if a == 0 and len(removed) == 2:
            return self.at(1, 0).mix(removed[1])
        if r == 0 and len(added) == 2:
            return self.at(0, 1).swap().mix(added[1]).swap()
        return self.mixture(removed, added)

    def curve(self, removed: Counts, added: Counts) -> RenyiCurve:
        curve = super().curve(removed, added)
        r, a = settled(removed), settled(added)
        if r is not None and a is not None:
            return curve.declaring(attained=self.attains_curve, mirrored=self.mirrored)
        rate = removed[1] if a == 0 and len(removed) == 2 else added[1] if r == 0 and len(added) == 2 else None
        plain = self.curve(exactly(1), NONE) if rate is not None and self.mirrored else None
        if rate is None or plain is None or plain.reach < WHOLE_ORDERS:
            return curve
        # at whole orders the theorem is exact and a plain sum, which keeps its digits where little is revealed
        return RenyiCurve.least([curve, poisson_mirrored(plain, rate)])

    def attained(self, removed: Counts, added: Counts, alone: bool) -> tuple[Pair, ...]:
        if self.exact_mixture or not one_replaced(removed, added):
            return (self.pair(removed, added),)
        return against_nothing(self, removed[1], alone)

    def likened(self, records: int, alone: bool) -> tuple[Pair, ...]:
        """A query may be free to ask just whether a record is there."""
        return self.attained(exactly(records), exactly(records), alone)

    def steps(self, removed: int, added: int) -> int:
        """How many units of sensitivity the neighbours are apart."""
        if self.relation is Relation.ADD_REMOVE:
            return removed + added
        if removed != added:
            raise NotCovered(
                f"{self} is stated for replace-one: adding or removing a record is not covered. "
                "State its noise under ADD_REMOVE instead"
            )
        return removed
