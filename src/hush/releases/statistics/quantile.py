"""Median and quantiles by the exponential mechanism."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from hush.checks import number
from hush.curves.relation import Relation, checked_relation
from hush.mechanisms.leaves.exponential_mechanism import Exponential
from hush.mechanisms.mechanism import Mechanism
from hush.releases.answer import Answer, Run
from hush.releases.noise.lattice import Lattice
from hush.releases.noise.quantile_selection import draw_quantile
from hush.releases.query import Query
from hush.releases.statistics.ordered_records import ordered_records


@dataclass(frozen=True, kw_only=True)
class Quantile(Query):
    """The p-quantile of numbers within public bounds, by the exponential mechanism.

    A value of the lattice has the loss max(0, B - pn, A - (1-p)n), with B records below it and A above: how many ranks
    it is off. One record more or less changes that by at most max(p, 1-p), one replaced by at most 1; so weights
    exp(-epsilon loss / (2 change)) are what `Exponential(epsilon)` accounts for. Numbers outside of the bounds are
    moved to them; NaN counts as the lower one. `step`, a power of two, is the distance of the values that can
    come out: give it where the data have one, such as 1 for whole numbers. On a sample it is the sample's quantile,
    which estimates that of all. Intervals would depend on the data; `median_interval` pays for one.

    >>> import hush
    >>> ages = [20, 30, 40, 50, 60] * 200
    >>> Quantile(p=0.5, bounds=(0, 128), epsilon=1.0, step=1.0).release(ages, source=hush.SeededSource(1)).value
    40.0
    """

    p: float
    bounds: tuple[float, float]
    epsilon: float
    step: float | None = None
    relation: Relation = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        who = type(self).__name__
        object.__setattr__(self, "p", number(who, "0 <= p <= 1", 0.0, 1.0, p=self.p))
        rule = "1e-9 <= epsilon <= 500"
        object.__setattr__(self, "epsilon", number(who, rule, 1e-9, 500.0, epsilon=self.epsilon))
        checked_relation(who, self.relation)
        object.__setattr__(self, "bounds", tuple(self.bounds) if isinstance(self.bounds, list) else self.bounds)
        Lattice.within(self.bounds, step=self.step, who=who)

    @property
    def mechanism(self) -> Mechanism:
        return Exponential(epsilon=self.epsilon, relation=self.relation)

    def answer(self, run: Run) -> Answer:
        lattice = Lattice.within(self.bounds, step=self.step)
        records = ordered_records(run.table, lattice)
        index = draw_quantile(
            run.source,
            window=records.window,
            size=records.size,
            p=Fraction(self.p),
            eta=Fraction(self.epsilon) / (2 * change_of_loss(Fraction(self.p), self.relation)),
            lattice=lattice,
        )
        return Answer(lattice.value(index), None, None)

    def audit_records(self) -> tuple[list[float], float]:
        """Above the median, so many low records that one more high one moves the quantile to the high ones."""
        if not 0.5 < self.p < 1:
            return super().audit_records()
        return [0.0] * (round(self.p / (1 - self.p)) - 1) + [1.0], 1.0


@dataclass(frozen=True, kw_only=True)
class Median(Quantile):
    """The median of numbers within public bounds, by the exponential mechanism: `Quantile` at p = 1/2.

    >>> import hush
    >>> Median(bounds=(0, 2000), epsilon=1.0).on(hush.Poisson(rate=0.01)).mechanism.epsilon(delta=0).upper
    0.0170...
    """

    p: float = field(default=0.5, init=False)


def change_of_loss(p: Fraction, relation: Relation) -> Fraction:
    """The most that one record changes the loss of any value."""
    return Fraction(1) if relation is Relation.REPLACE else max(p, 1 - p)
