"""Products of pairs: composition. Both engines are asked, the better certificate wins."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from hush.arrays import Array
from hush.curves.pairs.envelope import Lowest
from hush.curves.pairs.finite import CERTAIN_LOSS
from hush.curves.pairs.normal import NormalPair
from hush.curves.pairs.pair import Interval, Pair, Share, agreed_epsilon, agreed_log_delta, exact, rounded_up
from hush.curves.pairs.routes import FULL, QUICK, ContourRoute, DirectRoute, GridRoute, RenyiRoute, Route
from hush.curves.pairs.sampled import Mixed
from hush.curves.renyi.curve import ZERO, RenyiCurve
from hush.errors import NotCovered
from hush.numerics.engines.saddle import common_lattice
from hush.numerics.laws.law import UNIT, Law
from hush.numerics.work import attempt, part

if TYPE_CHECKING:
    from hush.curves.pairs.product_of_tables import Tabled

FEW = 16
"""Up to so many losses the grid is asked first."""
MOST_DIRECT = 128
"""Up to so many losses direct convolution may be asked."""
MANY_ATOMS = 100
"""A few losses that each have so many atoms, off any lattice, are a table: no line integral of theirs converges."""
QUICK_LINE = 0.03
"""Share of the work for one line integral of many: one that converges takes a tenth of that."""
DEEP = -40.0
"""Deltas below e^-40 need no digits in a profile that is compared with 1."""
MOST_WRITTEN = 1000
"""Powers of decimals get long: up to so many equal ones are multiplied as they were written."""
ROOM = 1e-12
"""Relative rounding error of a sum of equal losses, or of logs of masses."""
NEAR = 5e-5
LAST_RESORT = (DirectRoute, RenyiRoute)
"""Routes that are not asked where the interval is already this narrow."""
FARTHEST = 1e12
"""The engines follow losses up to here: what exceeds a larger epsilon exceeds this."""
DEEPEST = -1e12
"""Below this log delta the engines, which work with moments of this size, have few digits left of them."""


@dataclass(frozen=True)
class Product(Pair):
    """The joint release of independent pairs, each taken a number of times."""

    parts: tuple[tuple[Pair, int], ...]

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
        counts: dict[Pair, int] = {}
        square = 0.0
        for pair, times in known:
            for inner, n in pair.parts if isinstance(pair, Product) else ((pair, 1),):
                distance = inner.distance if isinstance(inner, NormalPair) else None
                if distance is not None:
                    square += n * times * distance * distance
                else:
                    counts[inner] = counts.get(inner, 0) + n * times
        if square > 0:
            counts[NormalPair.shifted(math.sqrt(square))] = 1
        merged = tuple((pair, n) for pair, n in counts.items() if n > 0)
        if len(merged) == 1 and merged[0][1] == 1:
            return merged[0][0]
        return cls(merged)

    @property
    def cut(self) -> bool:
        return any(pair.cut for pair, _ in self.parts)

    @property
    def infinite(self) -> float:
        return -math.expm1(self._log_finite)

    @cached_property
    def _log_finite(self) -> float:
        return sum(n * math.log1p(-min(pair.infinite, 1 - 1e-16)) for pair, n in self.parts)

    def mix(self, rate: float) -> Pair:
        return Mixed(self, Share().mix(rate)) if self.parts else self

    def mix_both(self, rate: float) -> Pair:
        return super().mix_both(rate) if self.parts else self

    def swap(self) -> Pair:
        return Product(tuple((pair.swap(), n) for pair, n in self.parts))

    @cached_property
    def laws(self) -> tuple[tuple[Law, int], ...]:
        """The parts' laws with their counts; raises NotCovered where one has none."""
        return tuple((pair.law(), n) for pair, n in self.parts)

    def sketched(self) -> Pair:
        return self._sketch

    @cached_property
    def _sketch(self) -> Pair:
        from hush.curves.pairs.table import Sketch

        if not self.parts:
            return self
        return Sketch(self if self.analytic else Product(self._tabled.above))

    def tails(self, losses: Array) -> tuple[Array, Array, Array, Array]:
        raise NotCovered("the tails of a composed loss are known only through its profile")

    def renyi(self, order: float) -> Interval:
        ends = [(n, pair.renyi(order)) for pair, n in self.parts]
        return sum(n * low for n, (low, _) in ends), sum(n * high for n, (_, high) in ends)

    def curve(self) -> RenyiCurve:
        return sum((n * pair.curve() for pair, n in self.parts), ZERO)

    def log_delta(self, epsilon: float, tolerance: float = 1e-7) -> Interval:
        if not self.parts:
            return exact(_floor(epsilon))
        if not self.analytic:
            low = max(self._best_single(epsilon), _floor(epsilon))
            if epsilon > FARTHEST:
                return low, self._tabled.log_delta(FARTHEST, tolerance, low)[1]
            return self._tabled.log_delta(epsilon, tolerance, low)
        return self._with_infinite(epsilon, *self._finite_log_delta(epsilon, tolerance))

    def _with_infinite(self, epsilon: float, low: float, high: float) -> Interval:
        """Bounds for the whole from those of the finite part."""
        if self._log_finite < 0:
            certain, slack = math.log(self.infinite), 4 * UNIT
            low = min(float(np.logaddexp(certain, self._log_finite + low)) - slack, 0.0)
            high = min(float(np.logaddexp(certain, self._log_finite + high)) + slack, 0.0)
        floor = _floor(epsilon)
        return (low, high) if floor <= low else agreed_log_delta(floor, high)

    @cached_property
    def routes(self) -> tuple[Route, ...]:
        """The engines, in the order in which they are asked: the contour wants many losses, the grid few."""
        contour = ContourRoute(self.laws)
        quick, full = GridRoute(self.parts, self.laws, QUICK), GridRoute(self.parts, self.laws, FULL)
        few = self.count <= FEW and not common_lattice(self.laws)
        first = (quick, contour) if few else (contour, quick)
        if few and all(len(law.losses) > MANY_ATOMS and not law.pieces for law, _ in self.laws):
            first = (quick,)
        last = (full, DirectRoute(self.parts)) if self.count <= MOST_DIRECT else (full,)
        return (*first, *last, RenyiRoute(self.laws))

    def _finite_log_delta(self, epsilon: float, tolerance: float) -> Interval:
        low, high = attempt(lambda: self._ends(epsilon), (-math.inf, 0.0))
        if high - low <= tolerance or high == -math.inf:
            return low, high
        steep = self._concentrated(epsilon)
        if steep < DEEPEST:
            return low, steep
        if epsilon > FARTHEST:
            return low, self._finite_log_delta(FARTHEST, tolerance)[1]
        for route in self.routes:
            if isinstance(route, LAST_RESORT) and high - low < NEAR:
                continue
            a, b = attempt(lambda route=route: route.log_delta(epsilon, tolerance), (-math.inf, 0.0))
            low, high = max(low, a), min(high, b)
            if high - low <= tolerance:
                return agreed_log_delta(low, high)
        if high - low > NEAR and low > -600 and epsilon > 0 and not common_lattice(self.laws):
            ask = lambda: ContourRoute(self.laws).refine_log_delta(epsilon, tolerance, low)  # noqa: E731
            a, b = attempt(ask, (-math.inf, 0.0))
            low, high = max(low, a), min(high, b)
        return agreed_log_delta(low, high)

    def _concentrated(self, epsilon: float) -> float:
        """log delta <= -(epsilon - rho)^2/(4 rho) where the whole is rho-zCDP (Bun, Steinke 2016, Lemma 3.5)."""
        past = epsilon - self._slope
        return max(-past * past / self._slope / 4 * (1 - 1e-9), -sys.float_info.max) if past > 0 < self._slope else 0.0

    @cached_property
    def _slope(self) -> float:
        return sum(n * pair.curve().slope for pair, n in self.parts)

    @cached_property
    def analytic(self) -> bool:
        """Whether every part has an analytic law."""
        try:
            return bool(self.laws)
        except NotCovered:
            return False

    @property
    def written_loss(self) -> Fraction | None:
        """20 times 0.1 is 2, which floats miss."""
        total = Fraction(0)
        for pair, n in self.parts:
            loss = pair.written_loss
            if loss is None:
                return None
            total += n * loss
        return total

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
            return rounded_up(written)
        top = sum(n * (_largest_atom(pair.law()) if pair.infinite else pair.max_loss) for pair, n in self.parts)
        return top + 4 * UNIT * abs(top)

    @property
    def max_loss(self) -> float:
        """Losses add."""
        return math.inf if self.infinite else max(self.largest_loss if self.analytic else self._added_loss, 0.0)

    @property
    def _added_loss(self) -> float:
        top = sum(n * pair.max_loss for pair, n in self.parts)
        return top + 4 * UNIT * abs(top)

    def _ends(self, epsilon: float) -> Interval:
        """What is known of the finite part without work: 0 past the largest loss, what its atom has below that, and
        1 - delta <= E e^{-b(L - eps)} far below the mean. Given that the loss is finite, Q-mass may exceed 1."""
        low, high = _floor(epsilon - self._log_finite), 0.0
        if epsilon >= self.largest_loss:
            return -math.inf, -math.inf
        laws = self.laws
        place, log_mass = self._top_atom
        if epsilon < place:
            low = max(low, log_mass + math.log(-math.expm1(epsilon - place)))
        mean = sum(n * law.cumulants(np.array([1e-6]), 8.0)[1][0] for law, n in laws)
        if epsilon < mean:
            for b in (0.5, 0.25, 0.1):
                tilts = [(law.tilt(-b, accuracy=20 + math.log(n)), n) for law, n in laws]
                exponent = sum(n * (t.log_moment + t.log_moment_error) for t, n in tilts) + b * epsilon
                if exponent < -1:
                    low = max(low, math.log1p(-math.exp(exponent)))
        return low, high

    def epsilon(self, log_delta: float, tolerance: float = 1e-7, floor: float = 0.0) -> Interval:
        if not self.parts:
            return 0.0, 0.0
        if not self.analytic:
            return self._tabled.epsilon(log_delta)
        if self._log_finite == 0:
            return self._finite_epsilon(log_delta, tolerance, floor)
        rest = math.exp(log_delta) - self.infinite
        # the least floats are rounded by a whole step, not by a share of themselves
        blur = 64 * UNIT * self.infinite * (1 + abs(log_delta)) + 4 * math.ulp(0.0)
        if rest < -blur:
            return math.inf, math.inf
        low, high = self._finite_epsilon(math.log(rest + blur) - self._log_finite, tolerance, floor)
        if blur <= ROOM * rest:
            return low, high
        if rest <= blur:  # rounding decides whether there is an answer
            return low, math.inf
        return low, self._finite_epsilon(math.log(rest - blur) - self._log_finite, tolerance, floor)[1]

    def _finite_epsilon(self, target: float, tolerance: float, floor: float) -> Interval:
        """Epsilon of the finite part, given that the loss is finite."""
        top = max(self.largest_loss, 0.0)
        if target < -1e300:
            return top, top
        if top <= floor:
            return 0.0, top
        if attempt(lambda: self._negligible(target), False):
            return 0.0, 0.0
        place, log_mass = self._top_atom
        low = max(place + math.log(-math.expm1(target - log_mass)), 0.0) if target < log_mass else 0.0
        high = top
        if high - low <= tolerance * high < math.inf:
            return agreed_epsilon(low, high)
        for route in self.routes:
            if isinstance(route, LAST_RESORT) and high - low < NEAR * high < math.inf:
                continue
            a, b = attempt(lambda route=route: route.epsilon(target, tolerance, floor), (0.0, math.inf))
            low, high = max(low, a), min(high, b)
            if high <= floor or high - low <= tolerance * high < math.inf:
                return agreed_epsilon(low, high)
        if not high - low < NEAR * high and not common_lattice(self.laws):
            ask = lambda: ContourRoute(self.laws).refine_epsilon(target, tolerance, low)  # noqa: E731
            a, b = attempt(ask, (0.0, math.inf))
            low, high = max(low, a), min(high, b)
        return agreed_epsilon(low, high)

    @cached_property
    def _top_atom(self) -> tuple[float, float]:
        """The largest loss, rounded down, and a lower bound on the log of its P-mass, given that the loss is finite."""
        if any(law.pieces or not law.masses.any() for law, _ in self.laws):
            return -math.inf, -math.inf
        tops = [(float(law.losses.max()), law.masses[law.losses == law.losses.max()].sum(), n) for law, n in self.laws]
        place = sum(n * loss for loss, _, n in tops)
        log_mass = sum(n * math.log(mass) for _, mass, n in tops if mass > 0)
        return place - ROOM * abs(place), log_mass - ROOM * abs(log_mass)

    def _negligible(self, log_delta: float) -> bool:
        """Whether delta(0) is certainly below: total variations add; and Pinsker, sqrt(KL/2)."""
        added = sum(n * math.exp(pair.log_delta(0.0)[1]) for pair, n in self.parts)
        if math.log(max(added, 1e-300)) <= log_delta:
            return True
        if log_delta < -7:
            return False
        tilts = [(law.tilt(0.0), n) for law, n in self.laws]
        divergence = sum(n * (tilt.mean + tilt.mean_error) for tilt, n in tilts) * (1 + 1e-9)
        divergence += sum(n * law.discount for law, n in self.laws)
        return 0.5 * math.log(max(divergence / 2, 1e-300)) <= log_delta

    @property
    def count(self) -> int:
        """How many pairs are composed."""
        return sum(n for _, n in self.parts)

    def _best_single(self, epsilon: float) -> float:
        """Lower bound on log delta from the part that reveals most on its own: the rest is post-processed away."""
        return max(attempt(lambda p=pair: p.log_delta(epsilon)[0], -math.inf) for pair, _ in self.parts)

    def profile(self) -> Callable[[float], Interval]:
        """The profile for many epsilons at once: few losses, or where the contour fails, are put on a lattice once.

        So are many, if they are atoms beside a certain loss: no line integral of theirs converges quickly.
        """
        if not self.analytic or common_lattice(self.laws):
            return super().profile()
        atoms = all(not law.pieces for law, _ in self.laws)
        if self.count <= FEW or (self.infinite and atoms):
            return self._on_lattices(1 << 16)
        if self.infinite:
            return super().profile()
        at: list[Callable[[float], Interval]] = []

        def line(epsilon: float) -> Interval:
            with part(QUICK_LINE):
                return ContourRoute(self.laws).log_delta(epsilon, NEAR)

        def bounds(epsilon: float) -> Interval:
            if not at:
                low, high = attempt(lambda: line(epsilon), (-math.inf, 0.0))
                if high - low < 2 * NEAR or high < DEEP:
                    return low, high
                at.append(self._on_lattices(1 << 17))
            return at[0](epsilon)

        return bounds

    def _on_lattices(self, size: int) -> Callable[[float], Interval]:
        """The profile from a few lattices, each at a tilt of its own."""
        route = GridRoute(self.parts, self.laws)
        brackets = [route.bracket(size, log_delta) for log_delta in (-0.5, -3.0, -12.0, -26.0)]

        def bounds(epsilon: float) -> Interval:
            if epsilon >= self.largest_loss:
                return self._with_infinite(epsilon, -math.inf, -math.inf)
            floor = _floor(epsilon - self._log_finite)
            ends = [bracket.log_delta(epsilon) for bracket in brackets]
            high = max(min(high for _, high in ends), floor)
            return self._with_infinite(epsilon, min(max(floor, *(low for low, _ in ends)), high), high)

        return bounds

    @cached_property
    def _tabled(self) -> Tabled:
        from hush.curves.pairs.product_of_tables import Tabled

        return Tabled(self.parts)


def _floor(epsilon: float) -> float:
    """log of 1 - e^eps: what delta is at the least."""
    return math.log(-math.expm1(epsilon)) if epsilon < 0 else -math.inf


def aligned(choices: Sequence[tuple[Pair, ...]]) -> list[tuple[Pair, ...]]:
    """The first of each, the second of each, ..., as long as one has more; the last of the others stands in."""
    longest = max(len(some) for some in choices) if all(choices) else 0
    return [tuple(some[min(k, len(some) - 1)] for some in choices) for k in range(longest)]


def _largest_atom(law: Law) -> float:
    """The largest loss of a law of atoms alone; infinity where there are pieces."""
    return math.inf if law.pieces else float(law.losses.max())
