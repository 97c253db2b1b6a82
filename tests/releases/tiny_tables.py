"""All tables of few users in two groups, the exact law of a noisy table of counts, and what tells neighbours apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
from scipy import special

import hush
from hush import releases
from hush.releases.tables.in_memory import in_memory
from hush.releases.tables.tally import Tallied

GROUPS = ("a", "b")
REACH, ROOM = 40, 9
"""Noisy counts are cut at -REACH and at REACH + ROOM: what is cut reveals no more."""
EPSILONS = (0.0, 0.3, 1.0, 1.6, 3.2)
Person = tuple[int, int]
"""How many records a user has in either group."""


def people(most: int) -> list[Person]:
    return [person for person in product(range(most + 1), repeat=2) if any(person)]


def tables(users: int, most: int) -> Iterator[tuple[Person, ...]]:
    """All tables of up to so many users, each with up to so many records in a group."""
    for size in range(users + 1):
        yield from combinations_with_replacement(people(most), size)


def data(table: tuple[Person, ...]) -> dict[str, Any]:
    """The table as columns; users are told apart by their place."""
    rows = [
        (group, who)
        for who, person in enumerate(table)
        for group, n in zip(GROUPS, person, strict=True)
        for _ in range(n)
    ]
    return {
        "group": np.array([g for g, _ in rows], dtype=object),
        "who": np.array([w for _, w in rows], dtype=np.int64),
    }


def tallied(query: releases.GroupBy, table: tuple[Person, ...]) -> Tallied:
    """What the query counts, always with the same secret."""
    return in_memory(data(table)).tally(query.tally(hush.SeededSource(5)))


@cache
def noisy(count: int, scale: float, gaussian: bool) -> np.ndarray:
    """The law of a count with rounded noise, cut at both ends."""
    ends = np.arange(-REACH + 1, REACH + ROOM + 1) - 0.5 - count
    tail = np.exp(-np.abs(ends) / scale) / 2
    below = special.ndtr(ends / scale) if gaussian else np.where(ends < 0, tail, 1 - tail)
    return np.diff(np.concatenate([[0.0], below, [1.0]]))


@cache
def bounded(count: int, epsilon: float, bound: int) -> np.ndarray:
    """The law of a count with noise of weight exp(-epsilon |x|) within the bound."""
    found = np.zeros(2 * REACH + ROOM + 1)
    weights = np.exp(-epsilon * np.abs(np.arange(-bound, bound + 1)))
    found[count - bound + REACH : count + bound + 1 + REACH] = weights / weights.sum()
    return found


def law_of(query: releases.GroupBy, table: tuple[Person, ...], only: str = "") -> np.ndarray:
    """The law of all counts that the query shows of both groups (or of one alone, which is less); a group that is not
    shown is one outcome."""
    found = tallied(query, table)
    place = {key[0]: row for row, key in enumerate(found.groups)}
    laws = [_law_of_group(query, found, place.get(group)) for group in only or GROUPS]
    return laws[0] if only else np.multiply.outer(laws[0], laws[1]).ravel()


def _law_of_group(query: releases.GroupBy, found: Tallied, row: int | None) -> np.ndarray:
    """The law of the counts of one group; the last outcome is a group that is not shown."""
    size, unit = 2 * REACH + ROOM + 1, query.planning.charged
    hidden = np.zeros(size ** len(query.parts) + 1)
    hidden[-1] = 1
    if row is None:
        return hidden
    whole, shown = np.ones(1), np.ones(1, dtype=bool)
    for part, level in zip(query.parts, query.plan.levels, strict=True):
        count = part.totals(found)[0][row]
        deviation = part.noise(level, unit)
        if level.bound is not None:
            law = bounded(int(count), level.value, level.bound)
        else:
            law = noisy(int(count), deviation if level.gaussian else deviation / math.sqrt(2), level.gaussian)
        whole = np.multiply.outer(whole, law).ravel()
        passed = np.ones(size, dtype=bool)
        if part is query.planning.counted:
            passed = np.arange(size) - REACH >= query.plan.threshold
        shown = np.logical_and.outer(shown, passed).ravel()
    return np.append(np.where(shown, whole, 0.0), whole[~shown].sum())


def sampled(law: Callable[[tuple[Person, ...]], np.ndarray], table: tuple[Person, ...], rate: float) -> np.ndarray:
    """The law on a Poisson sample of users."""
    total: Any = 0.0
    for kept in product((False, True), repeat=len(table)):
        chance = math.prod(rate if there else 1 - rate for there in kept)
        total = total + chance * law(tuple(person for person, there in zip(table, kept, strict=True) if there))
    return total


def neighbours(
    users: int, most: int, relation: hush.Relation
) -> Iterator[tuple[tuple[Person, ...], tuple[Person, ...]]]:
    """Each table, the last user added or replaced."""
    for table in tables(users - 1, most):
        for person in people(most):
            if relation is hush.Relation.ADD_REMOVE:
                yield table, (*table, person)
            else:
                yield from (((*table, person), (*table, other)) for other in people(most) if other != person)


def excess(
    query: releases.GroupBy,
    mechanism: hush.Mechanism,
    *,
    users: int = 2,
    most: int = 2,
    rate: float = 1.0,
    only: str = "",
) -> float:
    """The most by which what tells neighbours apart is above the stated profile; at most rounding where all is well."""
    stated = [mechanism.delta(epsilon=epsilon, tolerance=1e-4).upper for epsilon in EPSILONS]
    plain = cache(lambda table: law_of(query, table, only))
    law = plain if rate == 1 else cache(lambda table: sampled(plain, table, rate))
    worst = -1.0
    for one, other in neighbours(users, most, mechanism.relation):
        p, q = law(one), law(other)
        for epsilon, delta in zip(EPSILONS, stated, strict=True):
            for first, second in ((p, q), (q, p)):
                worst = max(worst, float(np.maximum(first - math.exp(epsilon) * second, 0.0).sum()) - delta)
    return worst
