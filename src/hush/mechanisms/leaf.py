"""Mechanisms that stand for themselves."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from hush.curves.pairs.pair import Pair
from hush.curves.relation import Relation, checked_relation
from hush.curves.renyi.curve import RenyiCurve
from hush.curves.renyi.sampling import poisson_mirrored
from hush.errors import NotCovered
from hush.mechanisms.fields import Checked
from hush.mechanisms.mechanism import Mechanism, against_nothing, replaced_on_a_sample
from hush.mechanisms.neighbours import REMOVED, Neighbours
from hush.mechanisms.traits import Special, Step

IN_ORDER = "it goes through the records in an order, and a sample with another record may shift all places"
"""Why some mechanisms gain nothing from a secret sample: Scope.no_secret_sample."""
WHOLE_ORDERS = 100_000
"""Reach of a curve that is cheap at all whole orders."""


class Leaf(Checked, Mechanism):
    """A mechanism that stands for itself: it knows its pair at whole numbers of changed records.

    To write one, make a frozen dataclass with a `relation` among its fields. It must give `at` and `__str__`, and it
    should name its `theorem` and what that `assumes`. The rest is optional: rules for its fields (see
    `hush.mechanisms.fields`), `mixture` for groups of records on a sample, `curve_of` where the Rényi curve is not that
    of the pair, `attained` where the pair is an upper bound only, and `simulate` for audits. Questions, sampling,
    composition, JSON and the expression language then work.

    >>> from dataclasses import dataclass, field
    >>> from hush import FinitePair, Leaf, Poisson, Relation
    >>> from hush.mechanisms.fields import between
    >>> @dataclass(frozen=True)
    ... class Coin(Leaf):
    ...     "Tells the truth with this probability, else the opposite."
    ...     truth: float = field(metadata=between(0.5, 0.999))
    ...     relation: Relation = Relation.ADD_REMOVE
    ...     theorem = "the two laws themselves: Warner 1965"
    ...
    ...     def at(self, removed, added):
    ...         return FinitePair.of([self.truth, 1 - self.truth], [1 - self.truth, self.truth])
    ...
    ...     def __str__(self):
    ...         return f"a coin that is right with probability {self.truth:g}"
    >>> Coin(0.75).on(Poisson(rate=0.1)).repeat(2).epsilon(delta=0).upper
    0.364643...
    >>> Coin(2)
    Traceback (most recent call last):
    hush.errors.InvalidParameter: Coin needs 0.5 <= truth <= 0.999; got truth=2.
    """

    theorem: ClassVar[str] = "no theorem is named"
    """Why the pair is what it is, for `explain`: the theorem and its paper."""
    assumes: ClassVar[str] = ""
    """What must be true of the data and the release, for `explain`; {self.scale} stands for what the leaf has."""
    attains_curve: ClassVar[bool] = False
    """Whether it declares datasets, all records alike but those that differ, which attain its curve at every order."""
    mirrored: ClassVar[bool] = False
    """Whether it declares that any two neighbouring outputs are mirror images: odd Pearson-Vajda divergences >= 0."""
    exact_mixture: ClassVar[bool] = False
    """Whether `mixture` is attained; else it is an upper bound."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_relation(type(self).__name__, self.relation)

    @abstractmethod
    def at(self, removed: int, added: int) -> Pair:
        """The dominating pair where so many records are removed and so many added, and all of them take part.

        P is the law of the output with the removed records, Q that with the added ones. Noise on a sum needs only
        `self.steps(removed, added)`, the distance in units of sensitivity. Raise NotCovered where no pair is known.
        Lower bounds take it that some data attains the pair, with all other records like the one that comes; where it
        is a bound only, let `attained` give ().
        """

    def derivation(self) -> Step:
        return Step(str(self), self.theorem, self.assumes.format(self=self))

    def mixture(self, neighbours: Neighbours) -> Pair:
        if neighbours.exchanged is not None and self.relation is Relation.ADD_REMOVE:
            return replaced_on_a_sample(self, neighbours.exchanged)
        if self.relation is Relation.REPLACE:
            raise NotCovered(
                f"{self}, stated for replaced records, on a sample of random size: no pair is known, as a sample may "
                "lose the record. State it for added or removed ones, then .under(hush.Relation.REPLACE) on the sample"
            )
        raise NotCovered(
            f"{self} on a sample, several records changed: no pair is known. Covered: one record added, removed or "
            "replaced; for groups, Gaussian and discrete noise, and stated guarantees"
        )

    def curve_of(self, neighbours: Neighbours) -> RenyiCurve | None:
        curve = self.pair_of(neighbours).curve()
        if neighbours.settled is not None:
            return curve.declaring(attained=self.attains_curve, mirrored=self.mirrored)
        rate = neighbours.sampled
        plain = self.curve_of(REMOVED) if rate is not None and self.mirrored else None
        if rate is None or plain is None or plain.reach < WHOLE_ORDERS:
            return curve
        # at whole orders the theorem is exact and a plain sum, which keeps its digits where little is revealed
        return RenyiCurve.least([curve, poisson_mirrored(plain, rate)])

    def attained(self, neighbours: Neighbours, alone: bool) -> tuple[Pair, ...] | None:
        if self.exact_mixture or neighbours.exchanged is None:
            return None
        return against_nothing(self, neighbours.exchanged, alone)

    @property
    def special(self) -> Special:
        """A query may be free to ask just whether a record is there."""
        return Special(likened=lambda records, alone: self.evidence(Neighbours.of(records, records)).attained(alone))

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

    def sides(self, neighbours: Neighbours, unit: float) -> tuple[dict[float, float], dict[float, float]]:
        """For noise on a sum, weights of the shifts: under P removed records push up, under Q added ones down."""
        if self.relation is Relation.REPLACE:
            raise NotCovered(
                f"{self}, sensitivity stated for replace-one, on a sample: where the sum lies without the record is "
                "not known. State the noise under ADD_REMOVE (each record's norm) and write .under(Relation.REPLACE)"
            )
        up, down = enumerate(neighbours.removed), enumerate(neighbours.added)
        return {unit * k: w for k, w in up if w > 0}, {-unit * k: w for k, w in down if w > 0}
