"""Mechanisms of several runs that share one sample: it is drawn for the whole, and the whole is mixed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

from hush.curves.pairs.pair import Pair
from hush.curves.relation import Relation
from hush.curves.renyi.curve import RenyiCurve
from hush.curves.renyi.sampling import poisson_sample
from hush.errors import NotCovered
from hush.mechanisms.evidence import NOTHING, Evidence
from hush.mechanisms.mechanism import Mechanism, against_nothing, replaced_on_a_sample
from hush.mechanisms.neighbours import REMOVED, Neighbours


class AsAWhole(Mechanism):
    """A mechanism of several runs. Where one sample is drawn for all of them, their common pair is mixed.

    A subclass gives `together`: what is known where all records that differ take part.
    """

    @abstractmethod
    def together(self, neighbours: Neighbours) -> Evidence:
        """What is known of neighbours whose records all take part."""

    def knows(self, neighbours: Neighbours) -> Evidence:
        if neighbours.nobody:
            return NOTHING
        if neighbours.settled is not None:
            return self.together(neighbours)
        return Evidence(
            lambda: self._sampled_pair(neighbours),
            lambda: self._sampled_curve(neighbours),
            lambda alone: self._sampled_attained(neighbours, alone),
            curve_says_more=self.together(REMOVED).curve_says_more,
        )

    def _sampled_pair(self, neighbours: Neighbours) -> Pair:
        if neighbours.exchanged is not None:
            return replaced_on_a_sample(self, neighbours.exchanged)
        (pair,) = self._mixed(neighbours, lambda n: (self.evidence(n).pair,))
        return pair

    def _sampled_attained(self, neighbours: Neighbours, alone: bool) -> tuple[Pair, ...]:
        if neighbours.exchanged is not None:
            return against_nothing(self, neighbours.exchanged, alone)
        return self._mixed(neighbours, lambda n: self.evidence(n).attained(alone))

    def _mixed(self, neighbours: Neighbours, whole: Callable[[Neighbours], tuple[Pair, ...]]) -> tuple[Pair, ...]:
        if neighbours.leaving is not None:
            rate = neighbours.leaving
            return tuple(pair.mix(rate) for pair in whole(neighbours.certain))
        if neighbours.coming is not None:
            rate = neighbours.coming
            return tuple(pair.swap().mix(rate).swap() for pair in whole(neighbours.certain))
        raise NotCovered(
            "one sample of a composition is covered for one record added, removed or replaced; "
            "for groups sample each step on its own"
        )

    def _sampled_curve(self, neighbours: Neighbours) -> RenyiCurve:
        if neighbours.sampled is None or self.relation is Relation.REPLACE:
            raise NotCovered("a Rényi bound for one sample of a composition is known for one record added or removed")
        sure = neighbours.certain
        plain = [self.evidence(n).curve for n in (sure, sure.swap())]
        leaves = neighbours.leaving is not None
        return poisson_sample(RenyiCurve.largest(plain), neighbours.sampled, leaving=leaves)
