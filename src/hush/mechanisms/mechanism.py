"""The base of every mechanism: its algebra and its questions."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from hush.checks import listed, number
from hush.curves.bound import Bound, delta_of
from hush.curves.composition.product import Product
from hush.curves.interval import Interval, agreed_epsilon, agreed_log_delta, known
from hush.curves.pairs.pair import CUT_OFF, Pair
from hush.curves.pairs.pointwise import Largest
from hush.curves.relation import Relation
from hush.curves.renyi.curve import RenyiCurve
from hush.curves.tradeoff import complement, profile_to_tradeoff
from hush.errors import InvalidParameter, NotCovered
from hush.numerics.work import asked, attempt, part

if TYPE_CHECKING:
    from hush.mechanisms.schemes.scheme import Scheme

Counts = tuple[float, ...]
"""Probabilities that 0, 1, 2, ... of the records that differ take part."""

NONE: Counts = (1.0,)

NO_CURVE = RenyiCurve.constant(math.inf)
"""Where nothing is known of a Rényi divergence."""

FIRST = 0.65
"""Share of the work for all directions but the last: what the first makes often serves the next, too."""

DEEPEST = 24
"""Mechanisms inside each other: every question walks down to the innermost, and Python's stack has an end. So many
fit into a JSON text, which has up to three levels for each."""

IDENTITY = Product(())
"""The pair of two equal distributions."""


def exactly(records: int) -> Counts:
    """All of so many records take part."""
    return (0.0,) * records + (1.0,)


def settled(counts: Counts) -> int | None:
    """The number of records that take part, where it is certain."""
    ones = [k for k, weight in enumerate(counts) if weight > 0]
    return ones[0] if len(ones) == 1 else None


@dataclass(frozen=True)
class Step:
    """One line of a derivation: what is done, and by which theorem."""

    what: str
    theorem: str
    assumes: str = ""
    inner: tuple[Step, ...] = ()


class Mechanism(ABC):
    """An immutable expression of what ran.

    Subclasses give `relation`, `pair` (or `curve`), `derivation` and `__str__`; all questions are derived.
    """

    relation: Relation
    """Which datasets are neighbours."""

    @abstractmethod
    def pair(self, removed: Counts, added: Counts) -> Pair:
        """The dominating pair where P's data has the removed records and Q's data the added ones instead.

        Raises NotCovered where no pair is known; then `curve` may still answer.
        """

    @abstractmethod
    def derivation(self) -> Step:
        """How the guarantee follows."""

    def curve(self, removed: Counts, added: Counts) -> RenyiCurve:
        """Upper bounds on the Rényi divergence of every order, for the same neighbours."""
        return self.pair(removed, added).curve()

    def attained(self, removed: Counts, added: Counts, alone: bool) -> tuple[Pair, ...]:
        """Pairs that some mechanism of the same declaration attains for these neighbours: lower bounds come from them.

        Alone, it is enough that each epsilon has such a mechanism. Otherwise each pair must belong to one mechanism, so
        that it stays attained when composed. It is the pair itself, unless that is an envelope of many or just a bound.
        """
        return (self.pair(removed, added),)

    @property
    def curve_beats_pair(self) -> bool:
        """Whether the Rényi curve says things that the pair does not: worth asking both."""
        return False

    def likened(self, records: int, alone: bool) -> tuple[Pair, ...]:
        """Attained pairs (P, Q) of so many replaced records where all others are like the new ones.

        A sample that misses those records then looks like Q.
        """
        return ()

    @property
    def children(self) -> tuple[Mechanism, ...]:
        """The mechanisms that this one is made of."""
        return ()

    @cached_property
    def depth(self) -> int:
        """How many mechanisms are inside each other, itself counted.

        >>> import hush
        >>> hush.Gaussian(1.0).depth, hush.Gaussian(1.0).on(hush.Poisson(rate=0.5)).repeat(2).depth
        (1, 3)
        """
        return 1 + max((child.depth for child in self.children), default=0)

    @property
    def populations(self) -> frozenset[int]:
        """How many records its parts run on, where what they promise holds for just that number."""
        return frozenset()

    @property
    def together(self) -> frozenset[int]:
        """How many records change at once between neighbours; several numbers where parts count differently."""
        return frozenset([1])

    @property
    def compared(self) -> str:
        """Which datasets are neighbours, in words.

        >>> import hush
        >>> hush.Gaussian(1.0).compared, hush.Gaussian(1.0).group(3).compared
        ('add or remove one record', 'add or remove up to 3 records at once')
        """
        if self.together == {1}:
            return self.relation.words
        many = " or ".join(str(size) for size in sorted(self.together))
        apart = ", each part with its own number" if len(self.together) > 1 else ""
        return self.relation.words.replace("one record", f"up to {many} records at once{apart}")

    @property
    def no_secret_sample(self) -> str:
        """Why no sample is secret, or exchangeable, once this ran on it; empty where one may be."""
        return ""

    def copies(self, counts: Counts) -> Pair:
        """The attained pair where a replaced record is in the data 0, 1, 2, ... times, all others like the new one."""
        raise NotCovered(f"{self} with a random number of copies of one record: only Gaussian noise knows its pair")

    def allocated(self, steps: int) -> Pair:
        """The pair where a removed record took part in one of so many steps of this mechanism, drawn at random."""
        raise NotCovered(
            f"{self} under random allocation: the pair is known for Gaussian noise, its sensitivity stated for adding "
            "or removing one record. Nearest: hush.Poisson"
        )

    # -- algebra ---------------------------------------------------------------------------------------------

    def on(self, scheme: Scheme) -> Mechanism:
        """Run on a secret random sample drawn by the scheme.

        >>> import hush
        >>> hush.Gaussian(1.0).on(hush.Poisson(rate=0.01)).epsilon(delta=1e-6).upper
        0.36394...
        """
        from hush.mechanisms.schemes.scheme import Scheme

        if not isinstance(scheme, Scheme):
            raise InvalidParameter("on", "a sampling scheme such as hush.Poisson(rate=0.01)", scheme=scheme)
        return scheme.applied(self)

    def repeat(self, times: int) -> Mechanism:
        """Run so many times, with all parameters fixed in advance."""
        from hush.mechanisms.combinators.compose import Repeat

        return Repeat.of(self, times)

    def then(self, *others: Mechanism) -> Mechanism:
        """Run this, then the others, on the same data."""
        from hush.mechanisms.combinators.compose import Sequence

        return Sequence.of((self, *others))

    def beside(self, *others: Mechanism) -> Mechanism:
        """Run each on its own part of the data (parallel composition over disjoint parts)."""
        from hush.mechanisms.combinators.compose import Parallel

        return Parallel.of((self, *others))

    def group(self, size: int) -> Mechanism:
        """Protect groups of so many records at once."""
        from hush.mechanisms.combinators.group import Group

        return Group.of(self, size)

    def under(self, relation: Relation) -> Mechanism:
        """State the guarantee for another neighbouring relation."""
        from hush.mechanisms.combinators.group import Under

        return Under.of(self, relation)

    # -- questions -------------------------------------------------------------------------------------------

    def neighbours(self) -> Iterable[tuple[str, Counts, Counts]]:
        """Each direction of the relation, as (name, removed, added)."""
        return [(name, exactly(r), exactly(a)) for name, r, a in self.relation.directions]

    def pairs(self) -> dict[str, Pair]:
        """The dominating pair of each direction, composed separately."""
        return {name: self.pair(removed, added) for name, removed, added in self.neighbours()}

    @asked
    def epsilon(self, *, delta: float, tolerance: float = 1e-6) -> Bound:
        """The least epsilon such that this is (epsilon, delta)-DP.

        tolerance is the relative width that is sought; it is met where the mathematics allows.

        >>> import hush
        >>> hush.Gaussian(noise_multiplier=1.0).epsilon(delta=1e-5)
        Bound(epsilon=4.377178..., delta=1e-05)
        """
        delta = number("epsilon", "0 <= delta <= 1", 0.0, 1.0, delta=delta)
        tolerance = _tolerance(tolerance)
        if delta == 1:  # which every mechanism meets
            return Bound(0.0, 0.0, "epsilon", delta=delta, relation=self.relation, route="pair")
        low, high, route = 0.0, 0.0, "pair"
        for share, _, removed, added in self._directions():
            with part(share):
                a, b, route = self._epsilon(removed, added, delta, tolerance, low, route)
            a, b = known((a, b))
            low, high = max(low, a), max(high, b)
        if route == "pair" and low == 0 and high > 0:
            route = "pair, upper bound only"
        return Bound(low, high, "epsilon", delta=delta, relation=self.relation, route=route)

    def _directions(self) -> list[tuple[float, str, Counts, Counts]]:
        """The neighbours, each with its share of the work that is left."""
        every = list(self.neighbours())
        return [(1.0 if place == len(every) - 1 else FIRST, *neighbour) for place, neighbour in enumerate(every)]

    def _epsilon(
        self, removed: Counts, added: Counts, delta: float, tolerance: float, floor: float, route: str
    ) -> tuple[float, float, str]:
        """Bounds in one direction, and the route; below the floor an upper bound will do."""
        log_delta = math.log(delta) if delta > 0 else -math.inf
        try:
            pair = self.pair(removed, added)
        except NotCovered:
            return 0.0, self.curve(removed, added).epsilon_at(log_delta), "Rényi"
        found = attempt(lambda: pair.epsilon(log_delta, tolerance, floor), None)
        a, b = found or (0.0, math.inf)
        b = pair.stated_epsilon(delta) if b == math.inf else b
        members = self._members(removed, added)
        usable = [m for m in members if delta >= CUT_OFF or not m.cut]
        if found is None or members != (pair,):
            a = 0.0
            for member in usable:
                a = max(a, attempt(lambda m=member, a=a: m.epsilon(log_delta, tolerance, a)[0], 0.0))
        if b == math.inf or members != (pair,):
            other = self._other_curve(removed, added, b == math.inf and pair.infinite == 0)
            a, b = agreed_epsilon(a, min(b, other.epsilon_at(log_delta)))
        return (a if usable else 0.0), b, route

    @asked
    def log_delta(self, *, epsilon: float, tolerance: float = 1e-6) -> Bound:
        """log of delta(epsilon), for what floats cannot hold.

        >>> import hush
        >>> hush.Gaussian(noise_multiplier=1.0).repeat(10).log_delta(epsilon=500).upper
        -12261.144...
        """
        epsilon = number("delta", "0 <= epsilon < infinity", 0.0, math.inf, high_open=True, epsilon=epsilon)
        low, high, route = self._log_delta(epsilon, _tolerance(tolerance))
        return Bound(low, high, "log delta", epsilon=epsilon, relation=self.relation, route=route)

    @asked
    def upper_log_delta(self, *, epsilon: float, tolerance: float = 1e-6) -> float:
        """The upper end of `log_delta`, without the work for the lower one: what a search asks for again and again."""
        epsilon = number("delta", "0 <= epsilon < infinity", 0.0, math.inf, high_open=True, epsilon=epsilon)
        return self._log_delta(epsilon, _tolerance(tolerance), attacks=False)[1]

    def delta(self, *, epsilon: float, tolerance: float = 1e-6) -> Bound:
        """The least delta such that this is (epsilon, delta)-DP.

        >>> import hush
        >>> hush.Laplace(scale=1.0).delta(epsilon=0.5).upper
        0.2211992...
        """
        bound = self.log_delta(epsilon=epsilon, tolerance=tolerance)
        low, high = math.exp(bound.lower), delta_of(bound.upper)
        return Bound(low, high, "delta", epsilon=bound.epsilon, relation=self.relation, route=bound.route)

    @staticmethod
    def _clear(log_delta: float, pair: Pair) -> float:
        """The lower bound, but where it may come from the cut end of a table."""
        return -math.inf if pair.cut and log_delta < math.log(CUT_OFF) else log_delta

    def _members(self, removed: Counts, added: Counts, alone: bool = True) -> tuple[Pair, ...]:
        try:
            return self.attained(removed, added, alone)
        except NotCovered:
            return ()

    def _other_curve(self, removed: Counts, added: Counts, alone: bool) -> RenyiCurve:
        """The Rényi curve, where it may beat the pair or is alone, as the pair took too much work; else infinity."""
        try:
            return self.curve(removed, added) if alone or self.curve_beats_pair else NO_CURVE
        except NotCovered:
            return NO_CURVE

    def _log_delta(self, epsilon: float, tolerance: float, *, attacks: bool = True) -> tuple[float, float, str]:
        low, high, route = -math.inf, -math.inf, "pair"
        for share, _, removed, added in self._directions():
            with part(share):
                a, b, route = self._log_delta_of(removed, added, epsilon, tolerance, attacks, route)
            a, b = known((a, b))
            low, high = max(low, a), max(high, b)
        return low, high, route

    def _log_delta_of(
        self, removed: Counts, added: Counts, epsilon: float, tolerance: float, attacks: bool, route: str
    ) -> tuple[float, float, str]:
        """Bounds in one direction, and the route."""
        try:
            pair = self.pair(removed, added)
        except NotCovered:
            return -math.inf, self.curve(removed, added).log_delta(epsilon=epsilon), "Rényi"
        found = attempt(lambda: pair.log_delta(epsilon, tolerance), None)
        a, b = found or (-math.inf, 0.0)
        members = self._members(removed, added)
        if found is not None and members == (pair,):
            return self._clear(a, pair), b, route
        a = -math.inf
        for member in members if attacks else ():
            a = max(a, self._clear(attempt(lambda m=member: m.log_delta(epsilon, tolerance)[0], -math.inf), member))
        other = self._other_curve(removed, added, found is None)
        return *agreed_log_delta(a, min(b, other.log_delta(epsilon=epsilon))), route

    @asked
    def renyi(self, *, orders: Iterable[float]) -> np.ndarray:
        """Upper bounds on the Rényi divergence at each order >= 1 (1 is Kullback-Leibler, inf the max divergence).

        >>> import hush
        >>> hush.Gaussian(noise_multiplier=1.0).renyi(orders=[2, 8])
        array([1., 4.])
        """
        asked_for = listed("renyi", "a list of orders", orders=orders)
        checked = [number("renyi", "orders >= 1", 1.0, math.inf, order=order) for order in asked_for]
        return self.renyi_curve()(np.array(checked))

    def renyi_curve(self) -> RenyiCurve:
        """The Rényi curve that holds in every direction of the relation: a function of every order from 1 to infinity.

        >>> import hush
        >>> hush.Gaussian(noise_multiplier=1.0).renyi_curve().to_zcdp()
        0.5
        """
        curves = [self.curve(removed, added) for _, removed, added in self.neighbours()]
        return RenyiCurve.largest(curves).declaring(
            attained=all(curve.attained for curve in curves), mirrored=all(curve.mirrored for curve in curves)
        )

    @asked
    def tradeoff(self, *, false_positive_rate: float) -> Bound:
        """The least false negative rate of any attacker at this false positive rate (null: the record is absent).

        >>> import hush
        >>> hush.Gaussian(noise_multiplier=1.0).tradeoff(false_positive_rate=0.05).lower
        0.7404...
        """
        rate = number("tradeoff", "0 <= false_positive_rate <= 1", 0.0, 1.0, false_positive_rate=false_positive_rate)
        (low, high), route = complement(rate), "pair"
        done: list[tuple[Pair, tuple[Pair, ...]]] = []
        for share, name, removed, added in self._directions():
            try:
                pair = self.pair(removed, added)
            except NotCovered:
                # the curve that compares the record's presence to its absence covers both directions of the test
                curve = self.curve(removed, added)
                low, route = (low if name == "add" else min(low, curve.tradeoff(false_positive_rate=rate))), "Rényi"
                continue
            members = self._members(removed, added, alone=False)
            tested = pair.swap() if name == "add" else pair
            if (tested, members) in done:  # a pair that is its own mirror image is the same in both directions
                continue
            with part(share):
                a, b = known(_tradeoff(tested, rate))
                if members != (pair,):
                    found = [_tradeoff(m.swap() if name == "add" else m, rate)[1] for m in members]
                    b = min(found, default=complement(rate)[1])
            done.append((tested, members))
            low, high = min(low, a), min(high, b)
        return Bound(low, high, "false negative rate", relation=self.relation, route=route)

    def advantage(self) -> Bound:
        """The largest (true positive rate - false positive rate) of any attacker: delta at epsilon 0."""
        found = self.delta(epsilon=0.0)
        return Bound(found.lower, found.upper, "advantage", relation=self.relation, route=found.route)

    def explain(self, *, delta: float) -> str:
        """The derivation: theorems, papers, relation, assumptions, and what each route says at this delta."""
        from hush.questions.explain import explain

        return explain(self, delta=delta)

    def statement(self, *, delta: float, unit: str = "record") -> str:
        """The guarantee in words: unit, relation, sampling, delta, what is assumed."""
        from hush.questions.statement import statement

        return statement(self, delta=delta, unit=unit)


def _tradeoff(pair: Pair, rate: float) -> Interval:
    """Bounds on the least false negative rate; where that takes too much work, what holds always."""
    return attempt(lambda: profile_to_tradeoff(pair.profile(), rate), (0.0, complement(rate)[1]))


def _tolerance(tolerance: float) -> float:
    return number("A question", "1e-12 <= tolerance <= 0.1", 1e-12, 0.1, tolerance=tolerance)


def one_replaced(removed: Counts, added: Counts) -> bool:
    """Whether one record is replaced on a sample that holds either with the same probability."""
    return len(removed) == 2 and removed == added and 0 < removed[0] < 1


def replaced_on_a_sample(inner: Mechanism, rate: float) -> Pair:
    """One record replaced, each version drawn at this rate: P = (1-q)R + q P1 against Q = (1-q)R + q Q1.

    Advanced joint convexity (Balle, Barthe, Gaboardi 2018, Thm 2) leaves the hockey sticks of P1 against R (a removal)
    and of P1 against Q1 (a replacement): the larger of the two, mixed, is an upper bound; both orders are neighbours.
    """
    one = exactly(1)
    return Largest.of((inner.pair(one, one), inner.pair(one, NONE))).mix_both(rate)


def against_nothing(inner: Mechanism, rate: float, alone: bool) -> tuple[Pair, ...]:
    """What is attained of that: the new record adds nothing, so Q = R; or the old one does."""
    one = exactly(1)
    up = tuple(pair.mix(rate) for pair in inner.attained(one, NONE, alone))
    return (*up, *(pair.swap().mix(rate).swap() for pair in inner.attained(NONE, one, alone)))


def same_relation(who: str, mechanisms: Iterable[Mechanism]) -> Relation:
    """The one relation of all mechanisms; mixing relations is an error."""
    found = {m.relation for m in mechanisms}
    if len(found) != 1:
        raise InvalidParameter(
            who,
            "mechanisms of one relation (use .under to restate one)",
            relations=sorted(r.name for r in found),
        )
    return found.pop()


def require_child(who: str, value: object) -> Mechanism:
    """The value, if it is a mechanism that one more may be put around."""
    found = require(who, value)
    if found.depth >= DEEPEST:
        raise InvalidParameter(who, f"at most {DEEPEST} mechanisms inside each other", depth=found.depth + 1)
    return found


def require(who: str, value: object) -> Mechanism:
    """The value, if it is a mechanism."""
    if not isinstance(value, Mechanism):
        raise InvalidParameter(who, "a mechanism", mechanism=value)
    return value
