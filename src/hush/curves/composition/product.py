"""Products of pairs: composition. The finite losses are summed by the engines; what is infinite is added here."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from hush.arrays import Array
from hush.curves.composition.finite_sum import FARTHEST, FiniteSum
from hush.curves.composition.known_ends import SUM_ROUNDING, largest_atom, written_sum
from hush.curves.composition.routes import Parts, log_finite
from hush.curves.composition.sketch import Sketch
from hush.curves.composition.summed_profile import summed_profile
from hush.curves.composition.summed_tables import summed
from hush.curves.composition.through_tables import TableProduct
from hush.curves.interval import Interval, agreed_log_delta, beside_infinite, exact, least_log_delta, written_up
from hush.curves.pairs.finite import CERTAIN_LOSS
from hush.curves.pairs.normal import NormalPair
from hush.curves.pairs.pair import Pair
from hush.curves.pairs.pointwise import Lowest
from hush.curves.renyi.curve import ZERO, RenyiCurve
from hush.numerics.rounding import UNIT
from hush.numerics.work import attempt

MOST_WRITTEN = 1000
"""Powers of decimals get long: up to so many equal ones are multiplied as they were written."""
INFINITE_ROUNDING = 64 * UNIT
"""Relative rounding error of an infinite mass, and of e^log_delta beside it, per unit of the logarithm: an exponential
is off by its exponent times the rounding of that."""


@dataclass(frozen=True)
class Product(Pair):
    """The joint release of independent pairs, each taken a number of times."""

    parts: Parts

    @classmethod
    def of(cls, parts: Iterable[tuple[Pair, int]]) -> Pair:
        """Merge equal pairs, single normals (shifts add in squares) and products; one pair alone stays itself."""
        known = list(parts)
        if any(len(pair.alternatives) > 1 for pair, _ in known):
            return Lowest.of(
                Product.of((choice, times) for choice, (_, times) in zip(chosen, known, strict=True))
                for chosen in aligned([pair.alternatives for pair, _ in known])
            )
        known = [(pair.alternatives[0], times) for pair, times in known] if sum(n for _, n in known) > 1 else known
        if any(pair.infinite >= 1 for pair, times in known if times > 0):
            return CERTAIN_LOSS
        merged = _merged(known)
        if len(merged) == 1 and merged[0][1] == 1:
            return merged[0][0]
        return cls(merged)

    @property
    def factors(self) -> Parts:
        return self.parts

    @property
    def count(self) -> int:
        """How many pairs are composed."""
        return sum(n for _, n in self.parts)

    @cached_property
    def _finite(self) -> FiniteSum:
        """The product, given that no loss is infinite."""
        return FiniteSum(self.parts, self.laws, self.largest_loss, self._log_finite)

    @cached_property
    def _tabled(self) -> TableProduct:
        return TableProduct(self.parts, Product.of)

    @property
    def cut(self) -> bool:
        return any(pair.cut for pair, _ in self.parts)

    @property
    def infinite(self) -> float:
        return -math.expm1(self._log_finite)

    @cached_property
    def _log_finite(self) -> float:
        return log_finite(self.parts)

    # -- new pairs -------------------------------------------------------------------------------------------

    def mix(self, rate: float) -> Pair:
        return super().mix(rate) if self.parts else self

    def mix_both(self, rate: float) -> Pair:
        return super().mix_both(rate) if self.parts else self

    def swap(self) -> Pair:
        return Product(tuple((pair.swap(), n) for pair, n in self.parts))

    def sketched(self) -> Pair:
        return self._sketch

    @cached_property
    def _sketch(self) -> Pair:
        if not self.parts:
            return self
        return Sketch(self.parts if self.analytic else self._tabled.above)

    def enclosure(self) -> tuple[Pair, Pair]:
        below = self._tabled.below
        if not self.parts or below is None:
            return super().enclosure()
        return summed(below, 0), summed(self._tabled.above, 1)

    # -- questions -------------------------------------------------------------------------------------------

    def renyi(self, order: float) -> Interval:
        ends = [(n, pair.renyi(order)) for pair, n in self.parts]
        return sum(n * low for n, (low, _) in ends), sum(n * high for n, (_, high) in ends)

    def curve(self) -> RenyiCurve:
        return sum((n * pair.curve() for pair, n in self.parts), ZERO)

    def log_delta(self, epsilon: float, tolerance: float = 1e-7) -> Interval:
        if not self.parts:
            return exact(least_log_delta(epsilon))
        if not self.analytic:
            low = max(self._best_single(epsilon), least_log_delta(epsilon))
            if epsilon > FARTHEST:
                return low, self._tabled.log_delta(FARTHEST, tolerance, low)[1]
            return self._tabled.log_delta(epsilon, tolerance, low)
        return self._with_infinite(epsilon, *self._finite.log_delta(epsilon, tolerance))

    def _best_single(self, epsilon: float) -> float:
        """Lower bound on log delta from the part that reveals most on its own: the rest is post-processed away."""
        return max(attempt(lambda p=pair: p.log_delta(epsilon)[0], -math.inf) for pair, _ in self.parts)

    def _with_infinite(self, epsilon: float, low: float, high: float) -> Interval:
        """Bounds for the whole from those of the finite part."""
        if self._log_finite < 0:
            low, high = (beside_infinite(self._log_finite, end, side) for side, end in enumerate((low, high)))
        floor = least_log_delta(epsilon)
        return (low, high) if floor <= low else agreed_log_delta(floor, high)

    def epsilon(self, log_delta: float, tolerance: float = 1e-7, floor: float = 0.0) -> Interval:
        if not self.parts:
            return 0.0, 0.0
        if not self.analytic:
            return self._tabled.epsilon(log_delta)
        if self._log_finite == 0:
            return self._finite.epsilon(log_delta, tolerance, floor)
        return self._epsilon_beside_infinite(log_delta, tolerance, floor)

    def surely_below(self, epsilon: float, log_delta: float) -> bool:
        return self.analytic and self._log_finite == 0 and self._finite.surely_below(epsilon, log_delta)

    def guess(self, log_delta: float, tolerance: float) -> float | None:
        if not self.parts or not self.analytic or self._log_finite < 0:
            return None
        return 0.0 if self.largest_loss <= 0 else self._finite.guess(log_delta, tolerance)

    def _epsilon_beside_infinite(self, log_delta: float, tolerance: float, floor: float) -> Interval:
        """What is infinite is paid from delta first; the finite part has the rest, which rounding may blur."""
        rest = math.exp(log_delta) - self.infinite
        # the least floats are rounded by a whole step, not by a share of themselves
        blur = INFINITE_ROUNDING * self.infinite * (1 + abs(log_delta)) + 4 * math.ulp(0.0)
        if rest < -blur:
            return math.inf, math.inf
        low, high = self._finite.epsilon(math.log(rest + blur) - self._log_finite, tolerance, floor)
        if blur <= SUM_ROUNDING * rest:
            return low, high
        if rest <= blur:  # rounding decides whether there is an answer
            return low, math.inf
        return low, self._finite.epsilon(math.log(rest - blur) - self._log_finite, tolerance, floor)[1]

    # -- the largest loss ------------------------------------------------------------------------------------

    @property
    def written_loss(self) -> Fraction | None:
        return written_sum(self.parts)

    @property
    def written_infinite(self) -> Fraction | None:
        """What stays finite multiplies."""
        finite = Fraction(1)
        for pair, n in self.parts:
            mass = pair.written_infinite
            if mass is None or n > MOST_WRITTEN:
                return None
            finite *= (1 - mass) ** n
        return 1 - finite

    @cached_property
    def largest_loss(self) -> float:
        """The largest finite loss of the whole, infinity where it has none."""
        written = self.written_loss
        if written is not None:
            return written_up(written)
        return _rounded_up(math.fsum(n * (largest_atom(p.law()) if p.infinite else p.max_loss) for p, n in self.parts))

    @property
    def max_loss(self) -> float:
        """Losses add."""
        if self.infinite:
            return math.inf
        added = self.largest_loss if self.analytic else _rounded_up(math.fsum(n * p.max_loss for p, n in self.parts))
        return max(added, 0.0)

    # -- the whole profile -----------------------------------------------------------------------------------

    def profile(self) -> Callable[[Array], tuple[Array, Array]]:
        """From a few lines, and where these are not narrow from a few lattices too, all made once."""
        if not self.parts or not self.analytic:
            return super().profile()
        finite = summed_profile(self.parts, self.laws)
        certain, rest = self.infinite, math.exp(self._log_finite)

        def ends(epsilons: Array) -> tuple[Array, Array]:
            low, high = finite(epsilons)
            floor = -np.expm1(np.minimum(epsilons - self._log_finite, 0.0)) * (1 - 4 * UNIT)
            past = epsilons >= self.largest_loss
            low, high = np.where(past, 0.0, np.maximum(low, floor)), np.where(past, 0.0, np.maximum(high, floor))
            room = INFINITE_ROUNDING if certain else 0.0
            return (certain + rest * low) * (1 - room), np.minimum((certain + rest * high) * (1 + room), 1.0)

        return ends


def _merged(parts: Iterable[tuple[Pair, int]]) -> Parts:
    """The factors of the parts, equal ones once; all normals as one, whose squared distance is the sum of theirs."""
    counts: dict[Pair, int] = {}
    square = 0.0
    factors = [(inner, n * times) for pair, times in parts for inner, n in pair.factors]
    for pair, times in factors:
        for inner, n in pair.factors:  # those of a product may have factors themselves
            if inner.distance is not None:
                square += n * times * inner.distance * inner.distance
            else:
                counts[inner] = counts.get(inner, 0) + n * times
    if square > 0:
        counts[NormalPair.shifted(math.sqrt(square))] = 1
    return tuple(pair.repeated(n) for pair, n in counts.items() if n > 0)


def _rounded_up(loss: float) -> float:
    """A sum of losses, rounded once, with room for that and for the rounding of its terms."""
    return loss + 4 * UNIT * abs(loss)


def aligned(choices: Sequence[tuple[Pair, ...]]) -> list[tuple[Pair, ...]]:
    """The first of each, the second of each, ..., as long as one has more; the last of the others stands in."""
    longest = max(len(some) for some in choices) if choices and all(choices) else 0
    return [tuple(some[min(k, len(some) - 1)] for some in choices) for k in range(longest)]
