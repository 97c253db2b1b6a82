"""Guarantees at points (epsilon, delta): the worst pair of one record, and the chain of it for several."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

from hush.curves.pairs.finite import FinitePair
from hush.curves.pairs.pair import Pair
from hush.curves.pairs.public_choice import Blend
from hush.curves.pairs.worst_case import stated_points
from hush.curves.relation import Relation
from hush.curves.renyi.convert import group_delta
from hush.curves.theorems.groups import LARGEST_LOSS, MOST_WORK, along, work
from hush.errors import NotCovered
from hush.mechanisms.leaf import Leaf
from hush.mechanisms.neighbours import Counts, Neighbours, exactly, settled

Points = tuple[tuple[float, float], ...]


class Promised(Leaf):
    """Any mechanism that is (epsilon_i, delta_i)-DP for each of its points, in both directions."""

    @abstractmethod
    def promises(self) -> Points:
        """The points, for one record."""

    def at(self, removed: int, added: int) -> Pair:
        size = self.steps(removed, added)
        if size == 1:
            return _worst(self.promises())
        if self._exact(size):
            return along(_worst(self.promises()), exactly(size))
        points = (group_delta(epsilon, delta, size) for epsilon, delta in self.promises())
        return _worst(tuple(point for point in points if point[0] <= LARGEST_LOSS))  # fewer points promise less

    def _exact(self, size: int) -> bool:
        """Whether the chain of so many records is computed; else, for many points and records, a bound will do."""
        return work(_worst(self.promises()), exactly(size)) <= MOST_WORK

    def mixture(self, neighbours: Neighbours) -> Pair:
        """A random number of records.

        If all leave, or all come, the chain is attained: an event that P_0 gives mass x has at most w_j g^j(x) of the
        part where j take part. Otherwise both numbers are drawn in the open, high ones together: joint convexity.
        """
        if self.relation is Relation.REPLACE or neighbours.exchanged is not None:
            return super().mixture(neighbours)
        removed, added = neighbours.removed, neighbours.added
        if not neighbours.one_way:
            drawn = together(removed, added)
            return Blend.of((self.evidence(Neighbours.of(r, a)).pair, weight) for r, a, weight in drawn)
        counts = added if settled(removed) == 0 else removed
        worst = _worst(self.promises())
        if work(worst, counts) > MOST_WORK:
            raise NotCovered(f"{self} for {len(counts) - 1} records on a sample: state fewer points")
        pair = along(worst, counts)
        return pair.swap() if counts is added else pair

    def attained(self, neighbours: Neighbours, alone: bool) -> tuple[Pair, ...] | None:
        """The pair, but where it is a bound only: numbers drawn in the open, or a group beyond the limit of work."""
        if neighbours.settled is not None:
            known = self._exact(self.steps(*neighbours.settled))
        else:
            known = neighbours.one_way or neighbours.exchanged is not None
        return super().attained(neighbours, alone) if known else ()


def _worst(points: Points) -> FinitePair:
    return stated_points([epsilon for epsilon, _ in points], [delta for _, delta in points])


def together(first: Counts, second: Counts) -> Iterator[tuple[int, int, float]]:
    """Two random numbers, high ones together: (number, number, probability).

    >>> list(together((0.5, 0.5), (0.25, 0.75)))
    [(0, 0, 0.25), (0, 1, 0.25), (1, 1, 0.5)]
    """
    i, j, left, right = 0, 0, first[0], second[0]
    while True:
        step = min(left, right)
        if step > 0:
            yield i, j, step
        left, right = left - step, right - step
        if left <= right and i + 1 < len(first):
            i, left = i + 1, left + first[i + 1]
        elif j + 1 < len(second):
            j, right = j + 1, right + second[j + 1]
        else:
            return
