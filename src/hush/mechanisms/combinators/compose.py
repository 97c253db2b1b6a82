"""Composition: one after the other on the same data, or side by side on disjoint parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from hush.checks import count
from hush.curves.composition.product import Product, aligned
from hush.curves.pairs.pair import Pair
from hush.curves.pairs.pointwise import Largest
from hush.curves.relation import Relation
from hush.curves.renyi.curve import ZERO, RenyiCurve
from hush.curves.renyi.sampling import poisson_sample
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.mechanism import (
    IDENTITY,
    NONE,
    Counts,
    Mechanism,
    Step,
    against_nothing,
    exactly,
    one_replaced,
    replaced_on_a_sample,
    require,
    require_child,
    same_relation,
    settled,
)
from hush.mechanisms.wrapper import Around

COMPOSITION = (
    "the product of dominating pairs dominates the composition: Zhu, Dong, Wang 2022, Thm 10; "
    "where only Rényi curves are known they add: Mironov 2017, Prop. 1"
)

Ask = Callable[[Mechanism, Counts, Counts, bool], tuple[Pair, ...]]
"""Pairs of a part, for the records removed from it and added to it, alone or not."""


def _sampled(
    removed: Counts, added: Counts, whole: Callable[[Counts, Counts], tuple[Pair, ...]]
) -> tuple[Pair, ...] | None:
    """One sample, then a whole composition on it: the composition's pairs, mixed; None where the counts are settled."""
    r, a = settled(removed), settled(added)
    if r is not None and a is not None:
        return None
    if a == 0 and len(removed) == 2:
        return tuple(pair.mix(removed[1]) for pair in whole(exactly(1), NONE))
    if r == 0 and len(added) == 2:
        return tuple(pair.swap().mix(added[1]).swap() for pair in whole(NONE, exactly(1)))
    raise NotCovered(
        "one sample of a composition is covered for one record added, removed or replaced; "
        "for groups sample each step on its own"
    )


def _chosen(parts: Iterable[tuple[tuple[Pair, ...], int]]) -> tuple[Pair, ...]:
    """Products of what the parts attain: the first of each, the second of each, ..., as long as some part has more."""
    known = list(parts)
    times = [n for _, n in known]
    return tuple(Product.of(zip(chosen, times, strict=True)) for chosen in aligned([members for members, _ in known]))


def _sampled_curve(whole: Mechanism, removed: Counts, added: Counts) -> RenyiCurve | None:
    r, a = settled(removed), settled(added)
    if r is not None and a is not None:
        return None
    for counts, other in ((removed, a), (added, r)):
        if other == 0 and len(counts) == 2 and whole.relation is Relation.ADD_REMOVE:
            plain = [whole.curve(exactly(1), NONE), whole.curve(NONE, exactly(1))]
            return poisson_sample(RenyiCurve.largest(plain), counts[1])
    raise NotCovered("a Rényi bound for one sample of a composition is known for one record added or removed")


@dataclass(frozen=True)
class Repeat(Around):
    """The same mechanism, with fresh randomness, a number of times."""

    inner: Mechanism
    times: int
    relation: Relation = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "times", count("repeat", 0, times=self.times))
        object.__setattr__(self, "relation", require_child("repeat", self.inner).relation)

    @classmethod
    def of(cls, inner: Mechanism, times: int) -> Mechanism:
        times = count("repeat", 0, times=times)
        if isinstance(inner, Repeat):
            return cls.of(inner.inner, times * inner.times)
        return inner if times == 1 else cls(inner, times)

    def pair(self, removed: Counts, added: Counts) -> Pair:
        if self.times == 0:
            return IDENTITY
        if one_replaced(removed, added):
            return replaced_on_a_sample(self, removed[1])
        mixed = _sampled(removed, added, lambda r, a: (self.pair(r, a),))
        return mixed[0] if mixed else Product.of([(self.inner.pair(removed, added), self.times)])

    def curve(self, removed: Counts, added: Counts) -> RenyiCurve:
        if self.times == 0:
            return ZERO
        mixed = _sampled_curve(self, removed, added)
        return mixed if mixed is not None else self.times * self.inner.curve(removed, added)

    def attained(self, removed: Counts, added: Counts, alone: bool) -> tuple[Pair, ...]:
        if self.times == 0:
            return (IDENTITY,)
        if one_replaced(removed, added):
            return against_nothing(self, removed[1], alone)
        mixed = _sampled(removed, added, lambda r, a: self.attained(r, a, alone))
        return _chosen([(self.inner.attained(removed, added, False), self.times)]) if mixed is None else mixed

    def likened(self, records: int, alone: bool) -> tuple[Pair, ...]:
        return _chosen([(self.inner.likened(records, False), self.times)]) if self.times else (IDENTITY,)

    def derivation(self) -> Step:
        return Step(
            f"repeated {self.times} times",
            COMPOSITION,
            "all parameters are fixed in advance (steps may otherwise depend on earlier outputs)",
            (self.inner.derivation(),),
        )

    def __str__(self) -> str:
        return f"{self.inner}, {self.times} times"


@dataclass(frozen=True)
class Sequence(Mechanism):
    """Mechanisms one after the other; equal ones are counted, so order does not matter."""

    parts: tuple[tuple[Mechanism, int], ...]
    relation: Relation = field(init=False)

    def __post_init__(self) -> None:
        if not self.parts:
            raise InvalidParameter("sequence", "at least one mechanism", mechanisms=self.parts)
        for _, times in self.parts:
            count("then", 0, times=times)
        parts = [require_child("then", part) for part in self.children]
        object.__setattr__(self, "relation", same_relation("then", parts))

    @property
    def children(self) -> tuple[Mechanism, ...]:
        return tuple(part for part, _ in self.parts)

    @classmethod
    def of(cls, mechanisms: Iterable[Mechanism]) -> Mechanism:
        counts: dict[Mechanism, int] = {}
        given = [require("then", m) for m in mechanisms]
        if not given:
            raise InvalidParameter("sequence", "at least one mechanism", mechanisms=given)
        same_relation("then", given)
        for mechanism in given:
            inner = mechanism.parts if isinstance(mechanism, Sequence) else ((mechanism, 1),)
            for part, n in inner:
                base, times = (part.inner, part.times * n) if isinstance(part, Repeat) else (part, n)
                counts[base] = counts.get(base, 0) + times
        parts = tuple(sorted(counts.items(), key=lambda item: str(item[0])))
        if len(parts) == 1:
            return Repeat.of(*parts[0])
        return cls(parts)

    def pair(self, removed: Counts, added: Counts) -> Pair:
        if one_replaced(removed, added):
            return replaced_on_a_sample(self, removed[1])
        mixed = _sampled(removed, added, lambda r, a: (self.pair(r, a),))
        return mixed[0] if mixed else Product.of((m.pair(removed, added), n) for m, n in self.parts)

    def curve(self, removed: Counts, added: Counts) -> RenyiCurve:
        mixed = _sampled_curve(self, removed, added)
        if mixed is not None:
            return mixed
        return sum((n * m.curve(removed, added) for m, n in self.parts), ZERO)

    @property
    def curve_beats_pair(self) -> bool:
        return any(part.curve_beats_pair for part, _ in self.parts)

    def attained(self, removed: Counts, added: Counts, alone: bool) -> tuple[Pair, ...]:
        if one_replaced(removed, added):
            return against_nothing(self, removed[1], alone)
        mixed = _sampled(removed, added, lambda r, a: self.attained(r, a, alone))
        return _chosen((m.attained(removed, added, False), n) for m, n in self.parts) if mixed is None else mixed

    def likened(self, records: int, alone: bool) -> tuple[Pair, ...]:
        return _chosen((m.likened(records, False), n) for m, n in self.parts)

    @property
    def populations(self) -> frozenset[int]:
        return frozenset().union(*(part.populations for part, _ in self.parts))

    @property
    def together(self) -> frozenset[int]:
        return frozenset().union(*(part.together for part, _ in self.parts))

    @property
    def no_secret_sample(self) -> str:
        return next(filter(None, (part.no_secret_sample for part, _ in self.parts)), "")

    def derivation(self) -> Step:
        return Step(
            f"{sum(n for _, n in self.parts)} releases in sequence",
            COMPOSITION,
            "all parameters are fixed in advance",
            tuple(Repeat.of(m, n).derivation() for m, n in self.parts),
        )

    def __str__(self) -> str:
        return ", then ".join(str(Repeat.of(m, n)) for m, n in self.parts)


@dataclass(frozen=True)
class Parallel(Mechanism):
    """Mechanisms on disjoint parts of the data; a record is in one part, which may change between rounds."""

    parts: tuple[Mechanism, ...]
    relation: Relation = field(init=False, default=Relation.ADD_REMOVE)

    def __post_init__(self) -> None:
        if same_relation("beside", [require_child("beside", part) for part in self.parts]) is Relation.REPLACE:
            raise NotCovered(
                "side by side under replace-one a record can move between parts: "
                "state the parts under ADD_REMOVE and write .under(Relation.REPLACE) on the whole"
            )

    @classmethod
    def of(cls, mechanisms: Iterable[Mechanism]) -> Mechanism:
        given = [require("beside", m) for m in mechanisms]
        flat = [p for m in given for p in (m.parts if isinstance(m, Parallel) else (m,))]
        distinct = tuple(sorted(dict.fromkeys(flat), key=str))
        return distinct[0] if len(distinct) == 1 and len(given) == 1 else cls(distinct)

    @property
    def children(self) -> tuple[Mechanism, ...]:
        return self.parts

    def pair(self, removed: Counts, added: Counts) -> Pair:
        r, a = settled(removed), settled(added)
        if 0 in (r, a) and max(len(removed), len(added)) <= 2:
            return Largest.of(part.pair(removed, added) for part in self.parts)
        if (r, a) != (1, 1):
            raise NotCovered("side by side, several records changed: a group may be spread over the parts in any way")
        return Largest.of(self._options(removed, added, lambda part, r, a, alone: (part.pair(r, a),), False))

    def _options(self, removed: Counts, added: Counts, ask: Ask, alone: bool) -> list[Pair]:
        """The record stays in one part, or (replaced) leaves one and enters another."""
        options = [pair for part in self.parts for pair in ask(part, removed, added, alone)]
        if 0 not in (settled(removed), settled(added)):
            moves = [(one, other) for one in self.parts for other in self.parts]
            for one, other in moves:
                options += _chosen([(ask(one, removed, NONE, False), 1), (ask(other, NONE, added, False), 1)])
        return options

    def curve(self, removed: Counts, added: Counts) -> RenyiCurve:
        if 0 in (settled(removed), settled(added)) and max(len(removed), len(added)) <= 2:
            return RenyiCurve.largest(part.curve(removed, added) for part in self.parts)
        raise NotCovered("a Rényi bound side by side is known for one record added or removed")

    @property
    def curve_beats_pair(self) -> bool:
        return any(part.curve_beats_pair for part in self.parts)

    def attained(self, removed: Counts, added: Counts, alone: bool) -> tuple[Pair, ...]:
        self.pair(removed, added)  # raises where nothing is known
        options = self._options(removed, added, lambda part, r, a, alone: part.attained(r, a, alone), alone)
        return (Largest.of(options),) if alone and options else tuple(dict.fromkeys(options))

    @property
    def populations(self) -> frozenset[int]:
        return frozenset().union(*(part.populations for part in self.parts))

    @property
    def together(self) -> frozenset[int]:
        return frozenset().union(*(part.together for part in self.parts))

    @property
    def no_secret_sample(self) -> str:
        return next(filter(None, (part.no_secret_sample for part in self.parts)), "")

    def derivation(self) -> Step:
        return Step(
            f"{len(self.parts)} kinds of release on disjoint parts",
            "the pointwise largest profile of the parts (McSherry 2009, Thm 4, for profiles)",
            "the parts are disjoint, and which part a record is in does not depend on other records",
            tuple(part.derivation() for part in self.parts),
        )

    def __str__(self) -> str:
        return " beside ".join(str(part) for part in self.parts)


def sequence(*mechanisms: Mechanism) -> Mechanism:
    """Several mechanisms on the same data.

    >>> from hush import Laplace
    >>> sequence(Laplace(2.0), Laplace(2.0)) == Laplace(2.0).repeat(2)
    True
    """
    return Sequence.of(mechanisms)
