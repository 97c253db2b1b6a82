"""Each record in one of two releases, by a secret coin of its own: tune on a part, train on the rest."""

from __future__ import annotations

from dataclasses import dataclass, field

from hush.curves.pairs.pair import Pair
from hush.curves.relation import Relation
from hush.curves.renyi.curve import RenyiCurve
from hush.curves.theorems.one_of_two import OneOfTwo
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.as_a_whole import AsAWhole
from hush.mechanisms.evidence import Evidence
from hush.mechanisms.fields import Checked, above
from hush.mechanisms.mechanism import Mechanism, require_any_number, require_child, same_relation
from hush.mechanisms.neighbours import Neighbours
from hush.mechanisms.traits import Step


@dataclass(frozen=True)
class Either(Checked, AsAWhole):
    """Each record is used by `first` with probability `chance`, else by `second`, which may depend on first's output.

    To tune on a part of the data and to train on the rest is `Either(search, training, chance=0.1)`.

    >>> from hush import Gaussian, GeometricRuns
    >>> search = Gaussian(2.0).best_of(runs=GeometricRuns(gamma=0.1))
    >>> both = Either(search, Gaussian(1.0), chance=0.1)
    >>> round(both.epsilon(delta=1e-6).upper, 2), round(search.then(Gaussian(1.0)).epsilon(delta=1e-6).upper, 2)
    (4.76, 6.71)
    """

    first: Mechanism
    second: Mechanism
    chance: float = field(metadata=above(0))
    relation: Relation = field(init=False, default=Relation.ADD_REMOVE)

    def __post_init__(self) -> None:
        super().__post_init__()
        parts = [require_child("Either", part) for part in self.children]
        if same_relation("Either", parts) is not Relation.ADD_REMOVE:
            raise NotCovered(
                "one record in one of two releases, replaced or blanked: no pair is known. State both for ADD_REMOVE"
            )
        for part in parts:
            require_any_number(part, "a random part of the records")
        if self.chance >= 1:
            raise InvalidParameter("Either", "0 < chance < 1", chance=self.chance)

    @property
    def children(self) -> tuple[Mechanism, ...]:
        return (self.first, self.second)

    def together(self, neighbours: Neighbours) -> Evidence:
        if neighbours.settled not in ((1, 0), (0, 1)) or neighbours.in_place:
            raise NotCovered(f"{self}: what is known is for one record added or removed")
        mirrored = neighbours.settled == (0, 1)
        leaving = neighbours.swap() if mirrored else neighbours
        parts = [part.evidence(leaving) for part in self.children]

        def joined(one: Pair, other: Pair) -> Pair:
            return OneOfTwo(one, other, self.chance, mirrored)

        return Evidence(
            lambda: joined(*(part.pair for part in parts)),
            _no_curve,
            # a part of which nothing is known to be attained leaves nothing to join
            lambda _: tuple(
                joined(*pairs) for pairs in zip(*(part.members(False)[:1] for part in parts), strict=False)
            ),
        )

    def derivation(self) -> Step:
        return Step(
            f"each record in the first of two releases with chance {self.chance:g}, else in the second",
            "the likelihood ratio is the mean of the two: convex order, proof in docs/theory/selection.md (Koskela, "
            "Kulkarni 2023, for tuning on a part)",
            "each record's coin is independent of all else and stays secret; neither release depends on the number of "
            "records in the other part",
            tuple(part.derivation() for part in self.children),
        )

    def __str__(self) -> str:
        return f"each record in ({self.first}) with chance {self.chance:g}, else in ({self.second})"


def _no_curve() -> RenyiCurve:
    raise NotCovered("a Rényi bound for one of two releases: only their pairs are joined")
