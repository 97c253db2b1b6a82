"""The base of every mechanism: its algebra and its questions."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from functools import cached_property
from typing import final

import numpy as np

from hush.arrays import Array
from hush.checks import listed, number
from hush.curves.bound import Bound, delta_of
from hush.curves.interval import known
from hush.curves.pairs.pair import Pair
from hush.curves.pairs.pointwise import Largest
from hush.curves.relation import Relation
from hush.curves.renyi.curve import RenyiCurve
from hush.curves.tradeoff import complement
from hush.errors import InvalidParameter, NotCovered
from hush.mechanisms.evidence import NOTHING, Evidence, least_false_negatives
from hush.mechanisms.neighbours import ADDED, REMOVED, REPLACED, Neighbours
from hush.mechanisms.scheme import Scheme
from hush.mechanisms.traits import Scope, Special, Step
from hush.numerics.work import asked, part
from hush.randomness.source import Source

FIRST = 0.65
"""Share of the work for all directions but the last: what the first makes often serves the next, too."""

DEEPEST = 24
"""Mechanisms inside each other: every question walks down to the innermost, and Python's stack has an end. So many
fit into a JSON text, which has up to three levels for each."""

VERBS = ("on", "repeat", "then", "beside", "group", "under")
QUESTIONS = ("epsilon", "delta", "log_delta", "renyi", "renyi_curve", "tradeoff", "advantage", "explain", "statement")
SHOWN = frozenset((*VERBS, *QUESTIONS, "relation", "compared", "pairs"))
"""What tab completion shows of a mechanism, beside its own parameters; the rest is for those who write mechanisms."""


class Algebra:
    """What the verbs of a mechanism make: each combinator is put here by the module that defines it."""

    repeat: Callable[[Mechanism, int], Mechanism]
    sequence: Callable[[Iterable[Mechanism]], Mechanism]
    parallel: Callable[[Iterable[Mechanism]], Mechanism]
    group: Callable[[Mechanism, int], Mechanism]
    under: Callable[[Mechanism, Relation], Mechanism]


ALGEBRA = Algebra()


class Mechanism(ABC):
    """An immutable expression of what ran.

    Subclasses give `relation`, `derivation`, `__str__` and what they know: `at` (and, where it pays, `mixture`,
    `curve_of`, `attained`), or, where they only hand the question on, `knows`. All questions are derived.
    """

    relation: Relation
    """Which datasets are neighbours."""

    curve_says_more: bool = False
    """Whether the Rényi curve says things that the pair does not: worth asking both."""

    # -- what a mechanism knows --------------------------------------------------------------------------------

    @abstractmethod
    def derivation(self) -> Step:
        """How the guarantee follows."""

    @final
    def evidence(self, neighbours: Neighbours) -> Evidence:
        """All that is known of these neighbours; what is not covered raises when it is asked for."""
        try:
            return self.knows(neighbours)
        except NotCovered as reason:
            return Evidence.unknown(reason)

    def knows(self, neighbours: Neighbours) -> Evidence:
        """The evidence, from what the methods below say; those that only hand the question on put theirs here."""
        if neighbours.nobody:
            return NOTHING
        return Evidence(
            lambda: self.pair_of(neighbours),
            lambda: self.curve_of(neighbours),
            lambda alone: self.attained(neighbours, alone),
            curve_says_more=self.curve_says_more,
        )

    def pair_of(self, neighbours: Neighbours) -> Pair:
        """The cases, told apart once: all take part; one record does by chance, on one side; anything else."""
        if neighbours.settled is not None:
            return self.at(*neighbours.settled)
        if neighbours.leaving is not None:
            return self.at(1, 0).mix(neighbours.leaving)
        if neighbours.coming is not None:
            return self.at(0, 1).swap().mix(neighbours.coming).swap()
        return self.mixture(neighbours)

    def at(self, removed: int, added: int) -> Pair:
        """The dominating pair where all of the records that differ take part; NotCovered where none is known."""
        raise NotCovered(f"{self} has no dominating pair")

    def mixture(self, neighbours: Neighbours) -> Pair:
        """The dominating pair where the number of records that take part is random, and not that of one record."""
        raise NotCovered(f"{self} on a sample, several records changed: no pair is known")

    def curve_of(self, neighbours: Neighbours) -> RenyiCurve | None:
        """Upper bounds on the Rényi divergence of every order, where they are not those of the pair."""
        return None

    def attained(self, neighbours: Neighbours, alone: bool) -> tuple[Pair, ...] | None:
        """Pairs that are attained, where it is not just the dominating one: see `Evidence`."""
        return None

    @property
    def special(self) -> Special:
        """What few mechanisms know, and single schemes ask for."""
        return Special()

    @property
    def steps_in_sequence(self) -> tuple[tuple[Mechanism, int], ...]:
        """The different steps that run one after the other on the same data, and how often each runs.

        >>> import hush
        >>> whole = hush.Laplace(1.0).then(hush.Gaussian(2.0)).repeat(3)
        >>> [(str(step), times) for step, times in whole.steps_in_sequence]
        [('Gaussian noise of multiplier 2', 3), ('Laplace noise of scale 1', 3)]
        """
        return ((self, 1),)

    @property
    def children(self) -> tuple[Mechanism, ...]:
        """The mechanisms that this one is made of."""
        return ()

    @property
    def scope(self) -> Scope:
        """On which data the promise holds."""
        return Scope.of_all(child.scope for child in self.children) if self.children else Scope()

    @cached_property
    def depth(self) -> int:
        """How many mechanisms are inside each other, itself counted.

        >>> import hush
        >>> hush.Gaussian(1.0).depth, hush.Gaussian(1.0).on(hush.Poisson(rate=0.5)).repeat(2).depth
        (1, 3)
        """
        return 1 + max((child.depth for child in self.children), default=0)

    @property
    def compared(self) -> str:
        """Which datasets are neighbours, in words.

        >>> import hush
        >>> hush.Gaussian(1.0).compared, hush.Gaussian(1.0).group(3).compared
        ('add or remove one record', 'add or remove up to 3 records at once')
        """
        together = self.scope.together
        if together == {1}:
            return self.relation.words
        many = " or ".join(str(size) for size in sorted(together))
        apart = ", each part with its own number" if len(together) > 1 else ""
        return self.relation.words.replace("one record", f"up to {many} records at once{apart}")

    def __dir__(self) -> list[str]:
        own = {field.name for field in fields(self)} if is_dataclass(self) else set()
        return sorted(name for name in super().__dir__() if name.startswith("_") or name in SHOWN or name in own)

    # -- for audits ------------------------------------------------------------------------------------------

    def simulate(self, contributions: Array, source: Source) -> Array:
        """Outputs of simulated runs, one number or one row per run, with noise made of floats: never for a release.

        One record contributes to the sum, in each run by its own number of units of the sensitivity: 1, 0 where it is
        not there, 2 where it was drawn twice, -1 for a record of opposite sign. All other records contribute nothing.
        """
        raise NotCovered(f"{self}: it states a guarantee, and nothing that could be run")

    @property
    def other_contribution(self) -> float:
        """What there is in the neighbouring dataset, where this one's record contributes 1: see `simulate`."""
        return 0.0

    @property
    def stated_delta(self) -> float | None:
        """The delta of the guarantee that it states, where it states just one as (epsilon, delta)."""
        return None

    @property
    def stated_mu(self) -> float | None:
        """The mu of the guarantee that it states, where it states Gaussian DP."""
        return None

    # -- algebra ---------------------------------------------------------------------------------------------

    def on(self, scheme: Scheme) -> Mechanism:
        """Run on a secret random sample drawn by the scheme.

        >>> import hush
        >>> hush.Gaussian(1.0).on(hush.Poisson(rate=0.01)).epsilon(delta=1e-6).upper
        0.36394...
        """
        if not isinstance(scheme, Scheme):
            raise InvalidParameter("on", "a sampling scheme such as hush.Poisson(rate=0.01)", scheme=scheme)
        return scheme.applied(self)

    def repeat(self, times: int) -> Mechanism:
        """Run so many times, with all parameters fixed in advance."""
        return ALGEBRA.repeat(self, times)

    def then(self, *others: Mechanism) -> Mechanism:
        """Run this, then the others, on the same data."""
        return ALGEBRA.sequence((self, *others))

    def beside(self, *others: Mechanism) -> Mechanism:
        """Run each on its own part of the data (parallel composition over disjoint parts)."""
        return ALGEBRA.parallel((self, *others))

    def group(self, size: int) -> Mechanism:
        """Protect groups of so many records at once."""
        return ALGEBRA.group(self, size)

    def under(self, relation: Relation) -> Mechanism:
        """State the guarantee for another neighbouring relation."""
        return ALGEBRA.under(self, relation)

    # -- questions -------------------------------------------------------------------------------------------

    def directions(self) -> list[tuple[str, Neighbours]]:
        """Each direction of the relation, by name."""
        return [(name, Neighbours.of(removed, added)) for name, removed, added in self.relation.directions]

    def pairs(self) -> dict[str, Pair]:
        """The dominating pair of each direction, composed separately."""
        return {name: self.evidence(neighbours).pair for name, neighbours in self.directions()}

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
        for share, _, evidence in self._asked():
            with part(share):
                a, b, found = evidence.epsilon(delta, tolerance, low)
            a, b = known((a, b))
            low, high, route = max(low, a), max(high, b), _together(route, found)
        if route == "pair" and low == 0 and high > 0:
            route = "pair, upper bound only"
        return Bound(low, high, "epsilon", delta=delta, relation=self.relation, route=route)

    def _asked(self) -> list[tuple[float, str, Evidence]]:
        """The evidence of each direction, with its share of the work that is left."""
        every = self.directions()
        shares = [FIRST] * (len(every) - 1) + [1.0]
        return [(share, name, self.evidence(n)) for share, (name, n) in zip(shares, every, strict=True)]

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

    def _log_delta(self, epsilon: float, tolerance: float, *, attacks: bool = True) -> tuple[float, float, str]:
        low, high, route = -math.inf, -math.inf, "pair"
        for share, _, evidence in self._asked():
            with part(share):
                a, b, found = evidence.log_delta(epsilon, tolerance, attacks=attacks)
            a, b = known((a, b))
            low, high, route = max(low, a), max(high, b), _together(route, found)
        return low, high, route

    @asked
    def renyi(self, *, orders: Iterable[float]) -> Array:
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
        curves = [self.evidence(neighbours).curve for _, neighbours in self.directions()]
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
        for share, name, evidence in self._asked():
            if not evidence.has_pair:
                # the curve that compares the record's presence to its absence covers both directions of the test
                curve = evidence.curve
                low, route = (low if name == "add" else min(low, curve.tradeoff(false_positive_rate=rate))), "Rényi"
                continue
            pair, members = evidence.pair, evidence.members(alone=False)
            tested = pair.swap() if name == "add" else pair
            if (tested, members) in done:  # a pair that is its own mirror image is the same in both directions
                continue
            with part(share):
                a, b = known(least_false_negatives(tested, rate))
                if members != (pair,):
                    found = [least_false_negatives(m.swap() if name == "add" else m, rate)[1] for m in members]
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


def _together(route: str, found: str) -> str:
    """How a question was answered whose directions were: one Rényi bound makes the whole one."""
    return route if found == "pair" else found


def _tolerance(tolerance: float) -> float:
    return number("A question", "1e-12 <= tolerance <= 0.1", 1e-12, 0.1, tolerance=tolerance)


def replaced_on_a_sample(inner: Mechanism, rate: float) -> Pair:
    """One record replaced, each version drawn at this rate: P = (1-q)R + q P1 against Q = (1-q)R + q Q1.

    Advanced joint convexity (Balle, Barthe, Gaboardi 2018, Thm 2) leaves the hockey sticks of P1 against R (a removal)
    and of P1 against Q1 (a replacement): the larger of the two, mixed, is an upper bound; both orders are neighbours.
    """
    return Largest.of((inner.evidence(REPLACED).pair, inner.evidence(REMOVED).pair)).mix_both(rate)


def against_nothing(inner: Mechanism, rate: float, alone: bool) -> tuple[Pair, ...]:
    """What is attained of that: the new record adds nothing, so Q = R; or the old one does."""
    up = tuple(pair.mix(rate) for pair in inner.evidence(REMOVED).attained(alone))
    return (*up, *(pair.swap().mix(rate).swap() for pair in inner.evidence(ADDED).attained(alone)))


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
