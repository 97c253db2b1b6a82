"""What every plan is given: population, bounds, target, relation, rates; checked once."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from hush.checks import count, delta_in_range, ends, number, positive
from hush.curves.relation import Relation, checked_relation
from hush.curves.renyi.convert import amplify_inverse
from hush.errors import InvalidParameter
from hush.mechanisms.leaves.stated import ApproxDP
from hush.questions.calibrate import calibrate

RATES = (1.0, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
LARGEST = 100.0
"""Of epsilon: past it nothing is protected, and numbers overflow."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A population, the bounds of its numbers, and the guarantee that all queries of it must meet together."""

    population: int
    bounds: tuple[float, float]
    epsilon: float
    delta: float
    relation: Relation
    queries: int


@dataclass(frozen=True, kw_only=True)
class Target(Setting):
    """A setting, the rates to try, and what each query may spend."""

    who: str
    rates: tuple[float, ...]
    each: tuple[float, float]
    """Epsilon and delta of one query: all of it where there is only one."""

    @property
    def spread(self) -> float:
        return self.bounds[1] - self.bounds[0]

    @property
    def middle(self) -> float:
        return self.bounds[0] + self.spread / 2

    def inner(self, rate: float) -> tuple[float, float]:
        """What a mechanism on a sample of this rate may spend (Balle, Barthe, Gaboardi 2018, Thms 8 and 9)."""
        return amplify_inverse(*self.each, rate) if rate < 1 else self.each

    def size(self, rate: float) -> int:
        """How many records such a sample has (of Poisson sampling: on average)."""
        return round(rate * self.population)


def target(
    who: str,
    *,
    population: int,
    bounds: tuple[float, float],
    epsilon: float,
    delta: float,
    relation: Relation,
    rates: Iterable[float] | None,
    queries: int,
    least: int,
) -> Target:
    """The checked target; rates become those of whole samples of at least so many records."""
    size = count(who, least, population=population)
    rule = "bounds=(low, high), two finite numbers with low < high"
    limits = ends(who, rule, largest=1e300, bounds=bounds)  # so that their difference is finite
    spent = number(who, f"0 < epsilon <= {LARGEST:g}", 0.0, LARGEST, low_open=True, epsilon=epsilon)
    part = delta_in_range(who, delta)
    related, asked = checked_relation(who, relation), count(who, 1, queries=queries)
    chosen = _rates(who, RATES if rates is None else rates, size, least)
    return Target(
        who=who,
        population=size,
        bounds=limits,
        epsilon=spent,
        delta=part,
        relation=related,
        queries=asked,
        rates=chosen,
        each=shared(spent, part, asked),
    )


def _rates(who: str, rates: Iterable[float], population: int, least: int) -> tuple[float, ...]:
    """Rates of whole numbers of records, falling, each once; too small samples are left out."""
    given = [number(who, "0 < rates <= 1", 0.0, 1.0, low_open=True, rate=rate) for rate in rates]
    sizes = sorted({round(rate * population) for rate in given}, reverse=True)
    found = tuple(size / population for size in sizes if size >= least)
    if not found:
        raise InvalidParameter(who, f"a rate that gives at least {least} records", rates=tuple(given))
    return found


def shared(epsilon: float, delta: float, queries: int) -> tuple[float, float]:
    """The (epsilon, delta) that each of k queries may spend, by the optimal composition of stated guarantees.

    >>> shared(1.0, 0.0, 10)
    (0.1, 0.0)
    >>> shared(1.0, 1e-6, 1000)
    (0.0072..., ...e-10)
    """
    if queries == 1:
        return epsilon, delta
    if delta == 0:
        return epsilon / queries, 0.0
    part = delta / (2 * queries)
    ends = (epsilon / queries, min(epsilon, 20 * epsilon / math.sqrt(queries)))
    found = calibrate(
        lambda each: ApproxDP(epsilon=each, delta=part).repeat(queries),
        over=ends,
        epsilon=epsilon,
        delta=delta,
        tolerance=1e-4,
    )
    return positive("plan", epsilon=found.value), part
