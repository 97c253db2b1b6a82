"""What is known of a mechanism on two neighbouring datasets, and what follows from it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Never

from hush.curves.attacker.roc import NO_CURVE, NeighbourTest
from hush.curves.composition.product import Product, aligned
from hush.curves.interval import agreed_epsilon, agreed_log_delta
from hush.curves.pairs.pair import CUT_OFF, Pair
from hush.curves.pairs.public_choice import Blend
from hush.curves.renyi.curve import ZERO, RenyiCurve
from hush.errors import NotCovered
from hush.numerics.work import attempt

IDENTITY = Product(())
"""The pair of two equal distributions."""


class Evidence:
    """A dominating pair, pairs that are attained, and a Rényi curve, each worked out when it is first asked for.

    - `pair` gives the dominating pair, or raises NotCovered. It is all that must be given.
    - `curve` gives upper bounds on the Rényi divergence of every order, or None where they are those of the pair.
    - `attained(alone)` gives pairs that some mechanism of the same description attains: lower bounds come from them.
      None says that the dominating pair is attained, an empty tuple that nothing is known. With `alone`, each epsilon
      may have a mechanism of its own; without it each pair must belong to one, so that it stays attained when composed.
    - `curve_says_more`: whether the curve may be better than the pair, so that both are asked.

    >>> import hush
    >>> evidence = hush.Gaussian(1.0).evidence(hush.Neighbours.of(removed=1))
    >>> evidence.curve(2.0), evidence.attained(alone=False) == (evidence.pair,)
    (1.0, True)
    """

    def __init__(
        self,
        pair: Callable[[], Pair],
        curve: Callable[[], RenyiCurve | None] = lambda: None,
        attained: Callable[[bool], tuple[Pair, ...] | None] = lambda _: None,
        *,
        curve_says_more: bool = False,
    ) -> None:
        self._pair, self._curve, self._attained = pair, curve, attained
        self.curve_says_more = curve_says_more

    @cached_property
    def pair(self) -> Pair:
        """The dominating pair."""
        return self._pair()

    @cached_property
    def curve(self) -> RenyiCurve:
        """Upper bounds on the Rényi divergence of every order."""
        found = self._curve()
        return self.pair.curve() if found is None else found

    def attained(self, alone: bool) -> tuple[Pair, ...]:
        """Pairs that lower bounds may come from; see the class."""
        found = self._attained(alone)
        return (self.pair,) if found is None else found

    def members(self, alone: bool) -> tuple[Pair, ...]:
        """The same, and an empty tuple where nothing is known."""
        try:
            return self.attained(alone)
        except NotCovered:
            return ()

    def attained_by(self, attained: Callable[[bool], tuple[Pair, ...] | None]) -> Evidence:
        """The same upper bounds, with other pairs that are attained."""
        return Evidence(lambda: self.pair, lambda: self.curve, attained, curve_says_more=self.curve_says_more)

    @classmethod
    def unknown(cls, reason: NotCovered) -> Evidence:
        """Of what no theorem covers: every question raises the reason."""

        def refuse(*_: object) -> Never:
            raise reason

        return cls(refuse, refuse, refuse)

    @classmethod
    def product(cls, parts: Iterable[tuple[Evidence, int]]) -> Evidence:
        """Of independent releases, each a number of times: pairs multiply, curves add.

        Releases of which nothing is attained are left out from below: to forget a release is post-processing.
        """
        known = list(parts)

        def attained(alone: bool) -> tuple[Pair, ...] | None:
            if all(part.has_pair and part.members(False) == (part.pair,) for part, _ in known):
                return None
            return attained_together(known, alone)

        return cls(
            lambda: Product.of((part.pair, times) for part, times in known),
            lambda: sum((times * part.curve for part, times in known), ZERO),
            attained,
            curve_says_more=any(part.curve_says_more for part, _ in known),
        )

    @classmethod
    def blend(cls, parts: Iterable[tuple[Evidence, float]]) -> Evidence:
        """Of one part, drawn in public with these probabilities; with the rest, up to 1, nothing is released.

        Keeping secret which part it was reveals no more (joint convexity of the hockey stick), so the pair is an upper
        bound then, and nothing is said from below.
        """
        known = list(parts)
        return cls(lambda: Blend.of((part.pair, weight) for part, weight in known), attained=lambda _: ())

    # -- what follows ------------------------------------------------------------------------------------------

    @property
    def has_pair(self) -> bool:
        """Whether a dominating pair is known; else there may still be a curve."""
        try:
            _ = self.pair
        except NotCovered:
            return False
        return True

    def says_the_same(self, other: Evidence) -> bool:
        """Whether both give the same pair, the same attained pairs, and no curve that may say more."""
        if self.curve_says_more or other.curve_says_more or not (self.has_pair and other.has_pair):
            return False
        return self.pair == other.pair and self.members(alone=True) == other.members(alone=True)

    def require(self) -> None:
        """Raise NotCovered where there is neither a pair nor a curve."""
        if not self.has_pair:
            _ = self.curve

    def epsilon(self, delta: float, tolerance: float, floor: float) -> tuple[float, float, str]:
        """Bounds on epsilon, and the route; below the floor an upper bound will do."""
        log_delta = math.log(delta) if delta > 0 else -math.inf
        if not self.has_pair:
            high = self.curve.epsilon_at(log_delta)
            ends = [attempt(lambda m=m: m.epsilon(log_delta, tolerance, floor)[0], 0.0) for m in self._usable(delta)]
            return *agreed_epsilon(max(ends, default=0.0), high), "Rényi"
        pair = self.pair
        found = attempt(lambda: pair.epsilon(log_delta, tolerance, floor), None)
        low, high = found or (0.0, math.inf)
        high = pair.stated_epsilon(delta) if high == math.inf else high
        members = self.members(alone=True)
        usable = self._usable(delta)
        if found is None or members != (pair,):
            low = 0.0
            for member in usable:
                low = max(low, attempt(lambda m=member, a=low: m.epsilon(log_delta, tolerance, a)[0], 0.0))
        if high == math.inf or members != (pair,):
            other = self._other_curve(high == math.inf and pair.infinite == 0)
            low, high = agreed_epsilon(low, min(high, other.epsilon_at(log_delta)))
        return (low if usable else 0.0), high, "pair"

    def _usable(self, delta: float) -> list[Pair]:
        """Pairs that are attained, and whose table was not cut too early for this delta."""
        return [member for member in self.members(alone=True) if delta >= CUT_OFF or not member.cut]

    def surely_below(self, epsilon: float, log_delta: float) -> bool:
        """Whether delta(epsilon) is certainly at most e^log_delta, where that can be seen with little work."""
        return self.has_pair and self.pair.surely_below(epsilon, log_delta)

    def log_delta(self, epsilon: float, tolerance: float, *, attacks: bool = True) -> tuple[float, float, str]:
        """Bounds on log delta, and the route; without attacks the lower end may be minus infinity."""
        if not self.has_pair:
            low = self._attained_log_delta(epsilon, tolerance) if attacks else -math.inf
            return *agreed_log_delta(low, self.curve.log_delta(epsilon=epsilon)), "Rényi"
        pair = self.pair
        found = attempt(lambda: pair.log_delta(epsilon, tolerance), None)
        low, high = found or (-math.inf, 0.0)
        if found is not None and self.members(alone=True) == (pair,):
            return _clear(low, pair), high, "pair"
        low = self._attained_log_delta(epsilon, tolerance) if attacks else -math.inf
        other = self._other_curve(found is None)
        return *agreed_log_delta(low, min(high, other.log_delta(epsilon=epsilon))), "pair"

    def tested(self, *, mirrored: bool = False) -> NeighbourTest:
        """The test of the second dataset (null) against the first, or mirrored: what bounds its errors."""
        if not self.has_pair:
            return NeighbourTest(None, curve=self.curve)
        every = (self.pair, *self.members(alone=False))
        pair, *attained = (each.swap() for each in every) if mirrored else every
        return NeighbourTest(pair, tuple(attained))

    def _attained_log_delta(self, epsilon: float, tolerance: float) -> float:
        low = -math.inf
        for member in self.members(alone=True):
            low = max(low, _clear(attempt(lambda m=member: m.log_delta(epsilon, tolerance)[0], -math.inf), member))
        return low

    def _other_curve(self, alone: bool) -> RenyiCurve:
        """The Rényi curve, where it may beat the pair or is alone, as the pair took too much work; else infinity."""
        try:
            return self.curve if alone or self.curve_says_more else NO_CURVE
        except NotCovered:
            return NO_CURVE


def chosen(parts: Iterable[tuple[tuple[Pair, ...], int]]) -> tuple[Pair, ...]:
    """Products of what the parts attain: the first of each, the second of each, ..., as long as some part has more."""
    known = list(parts)
    times = [n for _, n in known]
    return tuple(Product.of(zip(found, times, strict=True)) for found in aligned([members for members, _ in known]))


def attained_together(parts: Iterable[tuple[Evidence, int]], alone: bool) -> tuple[Pair, ...]:
    """What the parts attain together, and, alone, what one of them attains that has a mechanism for each epsilon."""
    known = [(part, found, times) for part, times in parts if (found := part.members(False))]
    together = chosen((found, times) for _, found, times in known)
    single = [pair for part, found, _ in known if alone for pair in part.members(True) if pair not in found]
    return (*together, *single)


def _clear(log_delta: float, pair: Pair) -> float:
    """The lower bound, but where it may come from the cut end of a table."""
    return -math.inf if pair.cut and log_delta < math.log(CUT_OFF) else log_delta


NOTHING = Evidence(lambda: IDENTITY, lambda: ZERO)
"""Of two equal datasets."""
