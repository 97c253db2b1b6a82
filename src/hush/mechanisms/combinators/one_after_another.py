"""Composition: mechanisms one after the other on the same data."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

from hush.arrays import Array, columns
from hush.checks import count
from hush.curves.pairs.pair import Pair
from hush.curves.relation import Relation
from hush.errors import InvalidParameter
from hush.mechanisms.as_a_whole import AsAWhole
from hush.mechanisms.evidence import IDENTITY, NOTHING, Evidence, chosen
from hush.mechanisms.mechanism import (
    ALGEBRA,
    Mechanism,
    require,
    require_child,
    same_relation,
)
from hush.mechanisms.neighbours import Neighbours
from hush.mechanisms.traits import Special, Step
from hush.mechanisms.wrapper import Wrapper
from hush.randomness.source import Source

COMPOSITION = (
    "the product of dominating pairs dominates the composition: Zhu, Dong, Wang 2022, Thm 10; "
    "where only Rényi curves are known they add: Mironov 2017, Prop. 1"
)


class Composition(AsAWhole):
    """Mechanisms on the same data, each with fresh randomness and a number of times."""

    @property
    @abstractmethod
    def runs(self) -> tuple[tuple[Mechanism, int], ...]:
        """Which mechanisms run, and how often each."""

    def knows(self, neighbours: Neighbours) -> Evidence:
        return super().knows(neighbours) if any(times for _, times in self.runs) else NOTHING

    def together(self, neighbours: Neighbours) -> Evidence:
        return Evidence.product((part.evidence(neighbours), times) for part, times in self.runs)

    @property
    def special(self) -> Special:
        def likened(records: int, alone: bool) -> tuple[Pair, ...]:  # noqa: ARG001
            ran = [(part, times) for part, times in self.runs if times]
            if not ran:
                return (IDENTITY,)
            return chosen((part.special.likened(records, False), times) for part, times in ran)

        return Special(likened=likened)

    def simulate(self, contributions: Array, source: Source) -> Array:
        return columns([part.simulate(contributions, source) for part, times in self.runs for _ in range(times)])


@dataclass(frozen=True)
class Repeat(Composition, Wrapper):
    """The same mechanism, with fresh randomness, a number of times."""

    times: int
    verb: ClassVar[str] = "repeat"

    def __post_init__(self) -> None:
        object.__setattr__(self, "times", count("repeat", 0, times=self.times))
        super().__post_init__()

    @classmethod
    def of(cls, inner: Mechanism, times: int) -> Mechanism:
        times = count("repeat", 0, times=times)
        if isinstance(inner, Repeat):
            return cls.of(inner.inner, times * inner.times)
        return inner if times == 1 else cls(inner, times)

    @property
    def steps_in_sequence(self) -> tuple[tuple[Mechanism, int], ...]:
        return tuple((step, times * self.times) for step, times in self.inner.steps_in_sequence)

    @property
    def runs(self) -> tuple[tuple[Mechanism, int], ...]:
        return ((self.inner, self.times),)

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
class Sequence(Composition):
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
        if len(counts) == 1:
            return Repeat.of(*counts.popitem())
        return cls(tuple(sorted(counts.items(), key=lambda item: str(item[0]))))

    @property
    def runs(self) -> tuple[tuple[Mechanism, int], ...]:
        return self.parts

    @property
    def steps_in_sequence(self) -> tuple[tuple[Mechanism, int], ...]:
        return self.parts

    def derivation(self) -> Step:
        return Step(
            f"{sum(n for _, n in self.parts)} releases in sequence",
            COMPOSITION,
            "all parameters are fixed in advance",
            tuple(Repeat.of(m, n).derivation() for m, n in self.parts),
        )

    def __str__(self) -> str:
        return ", then ".join(str(Repeat.of(m, n)) for m, n in self.parts)


def sequence(*mechanisms: Mechanism) -> Mechanism:
    """Several mechanisms on the same data.

    >>> from hush import Laplace
    >>> sequence(Laplace(2.0), Laplace(2.0)) == Laplace(2.0).repeat(2)
    True
    """
    return Sequence.of(mechanisms)


ALGEBRA.repeat, ALGEBRA.sequence = Repeat.of, Sequence.of
