"""The base of every mechanism: what it knows, and the verbs that make new ones."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from functools import cached_property
from typing import final

from hush.arrays import Array
from hush.curves.pairs.pair import Pair
from hush.curves.pairs.pointwise import Largest
from hush.curves.relation import Relation
from hush.curves.renyi.curve import RenyiCurve
from hush.errors import InvalidParameter, NotCovered
from hush.markup import Text
from hush.mechanisms.evidence import NOTHING, Evidence
from hush.mechanisms.guarantees import Guarantees
from hush.mechanisms.neighbours import ADDED, REMOVED, REPLACED, Neighbours
from hush.mechanisms.runs import Runs
from hush.mechanisms.scheme import Scheme
from hush.mechanisms.traits import Scope, Special, Step
from hush.randomness.source import Source

DEEPEST = 24
"""Mechanisms inside each other: every question walks down to the innermost, and Python's stack has an end. So many
fit into a JSON text, which has up to three levels for each."""

VERBS = ("on", "repeat", "then", "beside", "group", "under", "best_of")
QUESTIONS = (
    *("epsilon", "delta", "log_delta", "renyi", "renyi_curve", "tradeoff", "roc", "advantage", "explain", "statement"),
)
SHOWN = frozenset((*VERBS, *QUESTIONS, "relation", "compared", "pairs"))
"""What tab completion shows of a mechanism, beside its own parameters; the rest is for those who write mechanisms."""


class Algebra:
    """What the verbs of a mechanism make: each combinator is put here by the module that defines it."""

    repeat: Callable[[Mechanism, int], Mechanism]
    sequence: Callable[[Iterable[Mechanism]], Mechanism]
    parallel: Callable[[Iterable[Mechanism]], Mechanism]
    group: Callable[[Mechanism, int], Mechanism]
    under: Callable[[Mechanism, Relation], Mechanism]
    best_of: Callable[[Mechanism, Runs], Mechanism]


ALGEBRA = Algebra()


class Mechanism(Guarantees):
    """An immutable expression of what ran.

    Do not subclass it directly: a new release is a `Leaf`, and one mechanism around another is a `Wrapper`. Subclasses
    give `relation`, `derivation`, `__str__` and what they know. That is `at` (and, where it pays, `mixture`, `curve_of`
    and `attained`); or `knows`, for those that pass the question on to others. All `Guarantees` follow from that.
    """

    curve_says_more: bool = False
    """Whether the Rényi curve may be better than the pair, so that both are asked."""

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
        """The evidence, from the methods below; mechanisms that pass the question on give that of others instead."""
        if neighbours.nobody:
            return NOTHING
        return Evidence(
            lambda: self.pair_of(neighbours),
            lambda: self.curve_of(neighbours),
            lambda alone: self.attained(neighbours, alone),
            curve_says_more=self.curve_says_more,
        )

    def pair_of(self, neighbours: Neighbours) -> Pair:
        """One of three cases: all records take part; one record does by chance, on one side; anything else."""
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
        """The dominating pair where it is random how many records take part, and more than one may."""
        raise NotCovered(f"{self} on a sample, several records changed: no pair is known")

    def curve_of(self, neighbours: Neighbours) -> RenyiCurve | None:
        """Upper bounds on the Rényi divergence of every order; None where they are those of the pair."""
        return None

    def attained(self, neighbours: Neighbours, alone: bool) -> tuple[Pair, ...] | None:
        """Pairs that are attained; None where that is the dominating pair itself. See `Evidence`."""
        return None

    @property
    def special(self) -> Special:
        """What only a few mechanisms know, and only some schemes ask for."""
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
        """On which data the guarantee holds."""
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

    other_contribution: float = 0.0
    """What the record contributes in the neighbouring dataset, if it contributes 1 in this one: see `simulate`."""

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

    def best_of(self, *, runs: Runs) -> Mechanism:
        """Run a secret, random number of times, and release only the best run by a score that is part of its output.

        >>> import hush
        >>> hush.PureDP(1.0).best_of(runs=hush.GeometricRuns(gamma=0.1)).epsilon(delta=0).upper
        2.5913...
        """
        return ALGEBRA.best_of(self, runs)

    # -- words, beside the numbers of Guarantees --------------------------------------------------------------------

    def explain(self, *, delta: float) -> Text:
        """The derivation: theorems, papers, relation, assumptions, and what each route says at this delta."""
        from hush.questions.explain import explain

        return explain(self, delta=delta)

    def statement(self, *, delta: float, unit: str = "record", style: str = "plain", subject: str = "") -> Text:
        """The guarantee in words: unit, relation, sampling, delta, what is assumed; style="methods" has citations."""
        from hush.questions.statement import statement

        return statement(self, delta=delta, unit=unit, style=style, subject=subject)


def replaced_on_a_sample(inner: Mechanism, rate: float) -> Pair:
    """One record replaced, each version drawn at this rate: P = (1-q)R + q P1 against Q = (1-q)R + q Q1.

    Advanced joint convexity (Balle, Barthe, Gaboardi 2018, Thm 2) leaves the hockey sticks of P1 against R (a removal)
    and of P1 against Q1 (a replacement): the larger of the two, mixed, is an upper bound; both orders are neighbours.
    """
    return Largest.of((inner.evidence(REPLACED).pair, inner.evidence(REMOVED).pair)).mix_both(rate)


def against_nothing(inner: Mechanism, rate: float, alone: bool) -> tuple[Pair, ...]:
    """What is attained of the pair above: the new record adds nothing, so that Q = R; or the old one adds nothing."""
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
    """The value, if it is a mechanism, and not so deep already that none may be put around it."""
    found = require(who, value)
    if found.depth >= DEEPEST:
        raise InvalidParameter(who, f"at most {DEEPEST} mechanisms inside each other", depth=found.depth + 1)
    return found


def require(who: str, value: object) -> Mechanism:
    """The value, if it is a mechanism."""
    if not isinstance(value, Mechanism):
        raise InvalidParameter(who, "a mechanism", mechanism=type(value))
    return value


def require_any_number(mechanism: Mechanism, where: object) -> None:
    """Refuse what is stated for a number of records, or bears no secret sample, on a random part of them."""
    scope = mechanism.scope
    if scope.populations or scope.no_secret_sample:
        why = scope.no_secret_sample or "it is stated for a number of records, and here the number is random"
        raise NotCovered(f"{mechanism} on {where}: {why}")
