"""Guarantees at points (epsilon, delta): the worst pair of one record, and the chain of it for several."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

from hush.curves.pairs.finite import FinitePair, stated_points
from hush.curves.pairs.pair import Pair
from hush.curves.pairs.public_choice import Blend
from hush.curves.relation import Relation
from hush.curves.renyi.convert import group_delta
from hush.curves.theorems.groups import LARGEST_LOSS, MOST_WORK, along, work
from hush.errors import NotCovered
from hush.mechanisms.leaf import Leaf
from hush.mechanisms.mechanism import Counts, exactly, one_replaced, settled

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

    def mixture(self, removed: Counts, added: Counts) -> Pair:
        """A random number of records.

        If all leave, or all come, the chain is attained: an event that P_0 gives mass x has at most w_j g^j(x) of the
        part where j take part. Otherwise both numbers are drawn in the open, high ones together: joint convexity.
        """
        if self.relation is Relation.REPLACE or one_replaced(removed, added):
            return super().mixture(removed, added)
        if not self._one_way(removed, added):
            return Blend.of((self.pair(exactly(r), exactly(a)), weight) for r, a, weight in together(removed, added))
        counts = added if settled(removed) == 0 else removed
        worst = _worst(self.promises())
        if work(worst, counts) > MOST_WORK:
            raise NotCovered(f"{self} for {len(counts) - 1} records on a sample: state fewer points")
        pair = along(worst, counts)
        return pair.swap() if counts is added else pair

    @staticmethod
    def _one_way(removed: Counts, added: Counts) -> bool:
        return 0 in (settled(removed), settled(added))

    def attained(self, removed: Counts, added: Counts, alone: bool) -> tuple[Pair, ...]:
        """The pair, but where it is a bound only: numbers drawn in the open, or a group beyond the limit of work."""
        r, a = settled(removed), settled(added)
        if r is not None and a is not None:
            known = r == a == 0 or self._exact(self.steps(r, a))
        else:
            known = self._one_way(removed, added) or one_replaced(removed, added)
        return super().attained(removed, added, alone) if known else ()


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
