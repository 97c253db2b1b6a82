"""Several pairs that each dominate the same mechanism: the best certificate wins, question by question."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from hush.curves.pair import Interval, Pair
from hush.numerics.law import Array, Law


@dataclass(frozen=True)
class Lowest(Pair):
    """Upper ends are the least of the parts; lower ends are that of the first, which cuts nothing off."""

    parts: tuple[Pair, ...]

    @classmethod
    def of(cls, parts: Iterable[Pair]) -> Pair:
        distinct = tuple(dict.fromkeys(parts))
        return distinct[0] if len(distinct) == 1 else cls(distinct)

    @property
    def alternatives(self) -> tuple[Pair, ...]:
        return self.parts

    @property
    def cut(self) -> bool:
        return any(part.cut for part in self.parts)

    @property
    def infinite(self) -> float:
        return min(part.infinite for part in self.parts)

    def mix(self, rate: float) -> Pair:
        return Lowest.of(part.mix(rate) for part in self.parts)

    def mix_both(self, rate: float) -> Pair:
        return Lowest.of(part.mix_both(rate) for part in self.parts)

    def swap(self) -> Pair:
        return Lowest.of(part.swap() for part in self.parts)

    def sketched(self) -> Pair:
        return Lowest.of(part.sketched() for part in self.parts)

    def log_delta(self, epsilon: float, tolerance: float = 1e-9) -> Interval:
        return _least([part.log_delta(epsilon, tolerance) for part in self.parts])

    def epsilon(self, log_delta: float, tolerance: float = 1e-9, floor: float = 0.0) -> Interval:
        return _least([part.epsilon(log_delta, tolerance, floor) for part in self.parts])

    def renyi(self, order: float) -> Interval:
        return _least([part.renyi(order) for part in self.parts])

    def profile(self) -> Callable[[float], Interval]:
        profiles = [part.profile() for part in self.parts]
        return lambda epsilon: _least([profile(epsilon) for profile in profiles])

    @property
    def max_loss(self) -> float:
        return min(part.max_loss for part in self.parts)

    def law(self) -> Law:
        return self.parts[0].law()

    def tails(self, losses: Array) -> tuple[Array, Array, Array, Array]:
        return self.parts[0].tails(losses)


def _least(ends: list[Interval]) -> Interval:
    high = min(high for _, high in ends)
    return min(ends[0][0], high), high
