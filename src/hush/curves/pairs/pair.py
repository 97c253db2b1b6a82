"""Dominating pairs (P, Q), seen only through the law of the privacy loss L = log dP/dQ.

Zhu, Dong, Wang 2022: if delta(eps) of (P, Q) bounds that of every neighbouring pair, the product of such
pairs does so for the composition. All questions are answered from a pair.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from hush.arrays import Array
from hush.curves.interval import Interval, known, written_up
from hush.curves.pairs.delta_to_epsilon import invert
from hush.curves.pairs.profile_law import ProfileLaw
from hush.curves.pairs.share import FAR, Share, folded_log_delta
from hush.curves.renyi.curve import RenyiCurve
from hush.curves.renyi.from_law import law_to_renyi
from hush.errors import NotCovered
from hush.numerics.engines.loss_source import Tails
from hush.numerics.laws.atoms import sampled
from hush.numerics.laws.law import Law
from hush.numerics.rounding import UNIT
from hush.numerics.work import Exhausted, attempt

CUT_OFF = 1e-270
"""Lower bounds on deltas below this are not taken from pairs whose table was cut."""
Laws = tuple[tuple[Law, int], ...]
"""Laws of losses, each with the number of times that it is summed."""
Certificates = tuple[tuple[str, Callable[[], Interval]], ...]
"""Bounds on one epsilon by name, each made when it is asked for."""
GROWTH_ROUNDING = 1e-14
"""Relative rounding error of log(1 + rate (e^epsilon - 1)): four elementary functions of a few units each."""
PAST_INFINITE = (1e-6, 1e-3, 0.1, 1.0)
"""Relative distances past the infinite mass at which a table of a profile may end; any of them is valid."""
LEAST_DELTA = 1e-13
"""Points of a profile reach to this delta: what lies beyond them is level, which costs so much at the most."""
PROFILE_TOLERANCE = 1e-9
"""Relative width of delta that is sought for a whole profile."""
PLACES = np.concatenate([np.linspace(0, 1.1, 150), np.geomspace(1e-4, 0.1, 30)])
"""Points of a profile on either side of 0, in units of the epsilon at that delta: past it too, and dense near 0."""


class Pair(ABC):
    """A pair of distributions; a subclass gives its profile and its mirror image, the rest is derived."""

    @property
    def infinite(self) -> float:
        """P-mass where Q has none: the loss is +infinity there."""
        return 0.0

    @property
    def written_loss(self) -> Fraction | None:
        """The largest finite loss, where it was stated, in the decimals that were written (docs: error-budget.md)."""
        return None

    @property
    def written_infinite(self) -> Fraction | None:
        """The infinite mass, in the same way."""
        return None

    def stated_epsilon(self, delta: float) -> float:
        """The largest finite loss, where the infinite mass that was written is at most this delta; else infinity."""
        loss, mass = self.written_loss, self.written_infinite
        if loss is None or mass is None or mass > Fraction(repr(delta)):
            return math.inf
        return max(written_up(loss), 0.0)

    @property
    def cut(self) -> bool:
        """Whether mass below CUT_OFF stands for the end of a table: what it adds counts in upper bounds alone."""
        return False

    @abstractmethod
    def log_delta(self, epsilon: float, tolerance: float = 1e-9) -> Interval:
        """Bounds on log of delta(epsilon) = sup over events of P - e^epsilon Q, for every real epsilon."""

    def log_delta_by(self, ask: Callable[[Pair], Interval], epsilon: float) -> Interval:  # noqa: ARG002
        """The same from what `ask` says of its parts: pairs that share parts need not ask them twice."""
        return ask(self)

    @abstractmethod
    def swap(self) -> Pair:
        """(Q, P)."""

    def tails(self, losses: Array) -> Tails:  # noqa: ARG002
        """P(L > l), Q(L > l), P(L <= l), Q(L <= l), each with small relative error."""
        raise NotCovered(f"the tails of {type(self).__name__}: its loss is known through its profile alone")

    def mix(self, rate: float) -> Pair:
        """((1 - rate) Q + rate P, Q): what is left of the pair when the record takes part with this probability."""
        return Mixed(self, Share().mix(rate))

    def shared(self, share: Share) -> Pair:
        """Shares of its two sides: all that mixing and swapping can make of it."""
        return Mixed(self, share)

    def mix_both(self, rate: float) -> Pair:
        """The profile of mix(rate) for epsilon >= 0 and its own mirror below: samples of a fixed size, replace-one."""
        return self if rate == 1 else Folded(self, rate)

    @property
    def distance(self) -> float | None:
        """Where the pair is N(distance, 1) against N(0, 1), that distance: such pairs compose in closed form."""
        return None

    @property
    def factors(self) -> tuple[tuple[Pair, int], ...]:
        """Independent pairs, each with how often it occurs, whose product this is; itself where it is no product."""
        return ((self, 1),)

    def repeated(self, times: int) -> tuple[Pair, int]:
        """What stands for so many of it in a composition, and how often; itself, unless together they reveal less."""
        return self, times

    @cached_property
    def laws(self) -> Laws:
        """The laws of the factors; NotCovered where one has none."""
        return tuple((pair.law(), n) for pair, n in self.factors)

    @cached_property
    def analytic(self) -> bool:
        """Whether every factor has an analytic law, and there is one."""
        try:
            return bool(self.laws)
        except NotCovered:
            return False

    def certificates(self, log_delta: float) -> Certificates:  # noqa: ARG002
        """What each of several theorems says of epsilon on its own, by name; none where one formula is all."""
        return ()

    def cut_above(self, mass: float) -> Pair:  # noqa: ARG002
        """A pair above whose largest losses, of so much P-mass together, became infinite; itself where it is short."""
        return self

    def cut_below(self, mass: float) -> Pair:  # noqa: ARG002
        """A pair below whose largest losses, of so much P-mass together, were lowered; itself where it is short."""
        return self

    def sketched(self) -> Pair:
        """A pair above this one that answers quickly at many epsilons, where that is possible."""
        return self

    @property
    def alternatives(self) -> tuple[Pair, ...]:
        """Pairs to compose, of which each dominates this one; the best one depends on the question."""
        return (self,)

    def checked(self) -> Pair:
        """Itself; InvalidParameter where the fields cannot be those of a pair."""
        return self

    def law(self) -> Law:
        """The loss under P, given that it is finite, as atoms and analytic pieces."""
        raise NotCovered(f"{type(self).__name__} has no analytic law of its loss; it is composed through a table")

    def profile_points(self) -> tuple[Array, Array]:
        """Many epsilons, dense near 0 on both sides, and upper bounds on delta there: what a table is made of."""
        sketch, mirror = self.sketched(), self.swap().sketched()
        reaches = []
        for side in (sketch, mirror):
            # just past what is infinite, as near as the sketch can tell it from that
            deltas = (max(LEAST_DELTA, side.infinite * (1 + past)) for past in PAST_INFINITE)
            found = (side.epsilon(math.log(delta), 1e-3)[1] for delta in deltas if delta < 1)
            reaches.append(max(next(filter(math.isfinite, found), math.inf), 1e-9))
        if not all(math.isfinite(reach) for reach in reaches):
            if max(sketch.infinite, mirror.infinite) < 1:  # then it took too much work to find where it is finite
                raise Exhausted
            raise NotCovered("a table of this profile needs a finite epsilon at some delta below 1")
        epsilons = np.unique(np.concatenate([reaches[0] * PLACES, -reaches[1] * PLACES]))
        deltas = sampled(lambda e: math.exp(sketch.log_delta(e, 1e-4)[1]), epsilons)
        return epsilons, np.maximum(deltas, -np.expm1(np.minimum(epsilons, 0.0)))

    def enclosure(self) -> tuple[Pair, Pair]:
        """Pairs with a law, one that this pair dominates and one that dominates it."""
        raise NotCovered(
            f"{type(self).__name__} has no pairs on either side of it; it is composed through a table above"
        )

    def cover(self) -> Pair:
        """A pair that dominates this one and has a law that reaches all losses; itself where it has one."""
        self.law()
        return self

    def epsilon(self, log_delta: float, tolerance: float = 1e-9, floor: float = 0.0) -> Interval:
        """Bounds on the least epsilon >= 0 with delta <= e^log_delta; below the floor an upper bound will do."""
        return invert(self, log_delta, tolerance, floor)

    def surely_below(self, epsilon: float, log_delta: float) -> bool:  # noqa: ARG002
        """Whether delta(epsilon) is certainly at most e^log_delta, where that can be seen with little work."""
        return False

    def guess(self, log_delta: float, tolerance: float) -> float | None:  # noqa: ARG002
        """About epsilon at this delta, with no bound: about as near as the tolerance, where that can be had at once.

        None where there is no guess that is cheaper than the answer; infinity where it takes too much work here.
        """
        return None

    def renyi(self, order: float) -> Interval:
        """Bounds on the Rényi divergence of real order > 1 (order 1: Kullback-Leibler; inf: max divergence)."""
        if self.infinite > 0:
            return math.inf, math.inf
        if order == math.inf:
            return self.max_loss, self.max_loss
        return law_to_renyi(self.law(), order, self.max_loss)

    def curve(self) -> RenyiCurve:
        """Upper bounds on the Rényi divergences of all orders."""
        return RenyiCurve.each(lambda order: self.renyi(order)[1])

    def log_absolute_chi(self, orders: Array) -> Array:  # noqa: ARG002
        """log of upper bounds on |chi|^j = E_Q|dP/dQ - 1|^j at whole orders j >= 2."""
        raise NotCovered(
            f"|chi|^j of {type(self).__name__}: known for plain Gaussian and Laplace noise and finite pairs"
        )

    def profile(self) -> Callable[[Array], tuple[Array, Array]]:
        """epsilons -> bounds on delta at each of them, made for many questions; not for deltas far below rounding."""

        def ends(epsilons: Array) -> tuple[Array, Array]:
            asks = [(lambda e=epsilon: self.log_delta(e, PROFILE_TOLERANCE)) for epsilon in epsilons.tolist()]
            return deltas_of([known(attempt(ask, (-math.inf, 0.0))) for ask in asks])

        return ends

    @property
    def kinks(self) -> Array:
        """Epsilons between which the profile is a line in e^epsilon; none where it is smooth or they are not known."""
        return np.empty(0)

    @property
    def max_loss(self) -> float:
        """Least upper bound of the loss: epsilon at delta = 0."""
        law = self.law()
        if self.infinite or law.pieces:
            return math.inf
        return float(law.losses[law.masses > 0].max(initial=0.0))


@dataclass(frozen=True)
class FromBase(Pair):
    """A pair that sampling makes of another one, its base."""

    base: Pair

    @property
    def cut(self) -> bool:
        return self.base.cut


@dataclass(frozen=True)
class Mixed(FromBase):
    """A mix of a pair whose loss has no analytic law: one sample of a whole composition."""

    share: Share

    @property
    def infinite(self) -> float:
        return self.share.above * self.base.infinite if self.share.below == 0 else 0.0

    def mix(self, rate: float) -> Pair:
        return Mixed(self.base, self.share.mix(rate))

    def swap(self) -> Pair:
        return Mixed(self.base, self.share.swap())

    def log_delta(self, epsilon: float, tolerance: float = 1e-7) -> Interval:
        return self.share.log_delta(epsilon, self.base, tolerance)

    def epsilon(self, log_delta: float, tolerance: float = 1e-7, floor: float = 0.0) -> Interval:
        """Where only P is mixed, the profile's change of variable can be undone (Balle, Barthe, Gaboardi 2018)."""
        if self.share.below > 0 or self.share.above == 0:
            return super().epsilon(log_delta, tolerance, floor)
        rate = self.share.above
        target = log_delta - math.log(rate)
        if target >= 0:
            return 0.0, 0.0
        low, high = self.base.epsilon(target, tolerance)
        return log1p_times_expm1(rate, low) * (1 - 4 * GROWTH_ROUNDING), log1p_times_expm1(rate, high)

    @property
    def max_loss(self) -> float:
        """The mixed loss is monotone in the base's: its end lies at an end of that one."""
        share = self.share
        if share.above >= share.below:
            end, top, bottom = self.base.epsilon(-math.inf)[1], share.above, share.below
        else:
            end, top, bottom = self.base.swap().epsilon(-math.inf)[1], share.above_rest, share.below_rest
        if end > FAR:
            found = math.log(top / bottom) if bottom > 0 else end + math.log(top) if end < math.inf else math.inf
            return found + 8 * UNIT * (1 + abs(found)) if found < math.inf else found
        above, below = (math.log1p(rate * math.expm1(end)) for rate in (top, bottom))
        return above - below + 8 * UNIT * (above + below)

    def sketched(self) -> Pair:
        return Mixed(self.base.sketched(), self.share)

    def enclosure(self) -> tuple[Pair, Pair]:
        """Mixing and swapping keep the order of pairs.

        Tables may miss a little of P's mass (below) or have a little more (above). So the base is turned round, if
        need be, until more of its P makes more of P: where P' has the larger share of it.
        """
        upright = self.share.above > self.share.below
        base, share = (self.base, self.share) if upright else (self.base.swap(), self.share.of_swapped())
        return _with_laws(*(pair.shared(share) for pair in base.enclosure()))

    def renyi(self, order: float) -> Interval:
        return 0.0, ProfileLaw.of(*self.profile_points()).renyi(order)


@dataclass(frozen=True)
class Folded(FromBase):
    """Any pair, mixed, and the same in both directions: a sample of a fixed size. It is composed through a table."""

    rate: float

    @property
    def infinite(self) -> float:
        return self.rate * self.base.infinite

    def log_delta(self, epsilon: float, tolerance: float = 1e-9) -> Interval:
        return folded_log_delta(self.base, self.rate, epsilon, tolerance)

    def epsilon(self, log_delta: float, tolerance: float = 1e-9, floor: float = 0.0) -> Interval:  # noqa: ARG002
        """For epsilon >= 0 the change of variable of the mix can be undone."""
        return Mixed(self.base, Share().mix(self.rate)).epsilon(log_delta, tolerance)

    def swap(self) -> Pair:
        return self

    def sketched(self) -> Pair:
        return Folded(self.base.sketched(), self.rate)

    def enclosure(self) -> tuple[Pair, Pair]:
        return _with_laws(*(pair.mix_both(self.rate) for pair in self.base.enclosure()))

    @property
    def max_loss(self) -> float:
        return log1p_times_expm1(self.rate, max(self.base.max_loss, 0.0))

    def renyi(self, order: float) -> Interval:
        if order == math.inf:
            return self.max_loss, self.max_loss
        return 0.0, self._law.renyi(order)

    @cached_property
    def _law(self) -> ProfileLaw:
        return ProfileLaw.of(*self.profile_points())


def deltas_of(log_ends: Sequence[Interval]) -> tuple[Array, Array]:
    """Bounds on delta from bounds on its logarithm, with room for the rounding of the exponential."""
    low, high = np.array(log_ends).reshape(-1, 2).T
    rounding = 4 * UNIT * (1 + np.minimum(np.abs(low), FAR)), 4 * UNIT * (1 + np.minimum(np.abs(high), FAR))
    above = np.where(high > -math.inf, np.maximum(np.exp(high) * (1 + rounding[1]), math.ulp(0.0)), 0.0)
    return np.exp(low) * (1 - rounding[0]), np.where(high < 0, above, 1.0)


def _with_laws(below: Pair, above: Pair) -> tuple[Pair, Pair]:
    """Both pairs, if they have a law."""
    if not (below.analytic and above.analytic):
        raise NotCovered("tables on either side of this pair")
    return below, above


def log1p_times_expm1(rate: float, epsilon: float) -> float:
    """log(1 + rate (e^epsilon - 1)), rounded up, for epsilon of any size."""
    if epsilon > FAR:
        return (epsilon + math.log(rate)) * (1 + GROWTH_ROUNDING)
    return math.log1p(rate * math.expm1(epsilon)) * (1 + GROWTH_ROUNDING)
