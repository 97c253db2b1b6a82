"""Several pairs at once, answered question by question: the least of the bounds, or the largest profile."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from hush.arrays import Array
from hush.curves.interval import Interval, known
from hush.curves.pairs.pair import Pair
from hush.curves.renyi.curve import RenyiCurve
from hush.numerics.engines.loss_source import Tails
from hush.numerics.laws.law import Law
from hush.numerics.work import attempt, part

EACH = 0.4
"""Share of the work that is left for each of several pairs; the last one has all of it."""
NEAR = 5e-5
"""Other pairs are not asked where the interval of the first ones is already this narrow."""


@dataclass(frozen=True)
class Several(Pair):
    """Pairs of which one answers each question; which one, the subclass says."""

    parts: tuple[Pair, ...]

    @classmethod
    def of(cls, parts: Iterable[Pair]) -> Pair:
        """Each pair once; one pair alone stays itself."""
        distinct = tuple(dict.fromkeys(parts))
        return distinct[0] if len(distinct) == 1 else cls(distinct)

    @staticmethod
    @abstractmethod
    def _chosen(ends: list[Interval]) -> Interval:
        """The interval of the whole from those of the parts."""

    @property
    def cut(self) -> bool:
        return any(part.cut for part in self.parts)

    def swap(self) -> Pair:
        return self.of(part.swap() for part in self.parts)

    def sketched(self) -> Pair:
        return self.of(part.sketched() for part in self.parts)

    def log_delta(self, epsilon: float, tolerance: float = 1e-7) -> Interval:
        asks = [(lambda pair=pair: pair.log_delta(epsilon, tolerance)) for pair in self.parts]
        return self._chosen([attempt(ask, (-math.inf, 0.0)) for ask in asks])

    def epsilon(self, log_delta: float, tolerance: float = 1e-7, floor: float = 0.0) -> Interval:
        asks = [(lambda pair=pair: pair.epsilon(log_delta, tolerance, floor)) for pair in self.parts]
        return self._chosen([attempt(ask, (0.0, math.inf)) for ask in asks])

    def renyi(self, order: float) -> Interval:
        return self._chosen([part.renyi(order) for part in self.parts])


@dataclass(frozen=True)
class Tightest(Several):
    """Pairs that each dominate the same mechanism, in no order: the least upper end counts, nothing below is known."""

    @staticmethod
    def _chosen(ends: list[Interval]) -> Interval:
        return min(low for low, _ in ends), min(high for _, high in ends)

    def _again(self, parts: Iterable[Pair]) -> Pair:
        """Such pairs of what was made of each part."""
        return Tightest.of(parts)

    @property
    def alternatives(self) -> tuple[Pair, ...]:
        return self.parts

    @property
    def infinite(self) -> float:
        return min(part.infinite for part in self.parts)

    @property
    def max_loss(self) -> float:
        return min(part.max_loss for part in self.parts)

    def mix(self, rate: float) -> Pair:
        return self._again(part.mix(rate) for part in self.parts)

    def mix_both(self, rate: float) -> Pair:
        return self._again(part.mix_both(rate) for part in self.parts)


@dataclass(frozen=True)
class Lowest(Tightest):
    """Pairs that each dominate the same mechanism, and each of them the one before it: more and more is cut off.

    Upper ends are the least of the parts; lower ends are that of the first, which cuts nothing off.
    """

    @staticmethod
    def _chosen(ends: list[Interval]) -> Interval:
        high = min(high for _, high in ends)
        return min(ends[0][0], high), high

    def log_delta(self, epsilon: float, tolerance: float = 1e-7) -> Interval:
        near = max(tolerance, NEAR)
        return self._in_turn(
            (-math.inf, 0.0), lambda pair: pair.log_delta(epsilon, tolerance), lambda low, high: high - low <= near
        )

    def epsilon(self, log_delta: float, tolerance: float = 1e-7, floor: float = 0.0) -> Interval:
        near = max(tolerance, NEAR)
        return self._in_turn(
            (0.0, math.inf),
            lambda pair: pair.epsilon(log_delta, tolerance, floor),
            lambda low, high: high <= floor or high - low <= near * high < math.inf,
        )

    def _in_turn(
        self, unknown: Interval, ask: Callable[[Pair], Interval], enough: Callable[[float, float], bool]
    ) -> Interval:
        """One part after the other, until no other can say more: the first one's lower end holds for all of them."""
        ends: list[Interval] = []
        for k, pair in enumerate(self.parts):
            with part(max(EACH, 1 / (len(self.parts) - k))):
                ends.append(attempt(lambda pair=pair: ask(pair), unknown))
            if enough(*self._chosen(ends)):
                break
        return self._chosen(ends)

    def _again(self, parts: Iterable[Pair]) -> Pair:
        return Lowest.of(parts)

    def profile(self) -> Callable[[Array], tuple[Array, Array]]:
        profiles = [part.profile() for part in self.parts]

        def ends(epsilons: Array) -> tuple[Array, Array]:
            found = [profile(epsilons) for profile in profiles]
            high = np.min([high for _, high in found], axis=0)
            return np.minimum(found[0][0], high), high

        return ends

    def law(self) -> Law:
        return self.parts[0].law()

    def tails(self, losses: Array) -> Tails:
        return self.parts[0].tails(losses)


@dataclass(frozen=True)
class Deep(Lowest):
    """A pair with losses so rare and large that no engine follows them in a composition, and one without them."""

    @property
    def alternatives(self) -> tuple[Pair, ...]:
        return self.parts[1:]


@dataclass(frozen=True)
class Largest(Several):
    """The pointwise largest of several profiles: parallel composition of parts that differ."""

    @staticmethod
    def _chosen(ends: list[Interval]) -> Interval:
        lows, highs = zip(*map(known, ends), strict=True)
        return max(lows), max(highs)

    def log_delta(self, epsilon: float, tolerance: float = 1e-7) -> Interval:
        """What several blends have in common is asked once."""
        seen: dict[int, Interval] = {}

        def ask(pair: Pair) -> Interval:
            if id(pair) not in seen:
                seen[id(pair)] = pair.log_delta(epsilon, tolerance)
            return seen[id(pair)]

        asks = [(lambda pair=pair: pair.log_delta_by(ask, epsilon)) for pair in self.parts]
        return self._chosen([attempt(one, (-math.inf, 0.0)) for one in asks])

    @property
    def infinite(self) -> float:
        return max(part.infinite for part in self.parts)

    @property
    def max_loss(self) -> float:
        return float(np.max([part.max_loss for part in self.parts]))

    def curve(self) -> RenyiCurve:
        return RenyiCurve.largest(part.curve() for part in self.parts)
