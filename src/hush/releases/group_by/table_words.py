"""A grouped query in words: what it is called, what was chosen, and the text by which a budget book knows it."""

from __future__ import annotations

import math
from hashlib import sha256
from typing import TYPE_CHECKING

from hush.releases.group_by.asked import missing_notes
from hush.releases.group_by.query_checks import Unknown, key_values
from hush.releases.row_wise.row_expressions import ColumnOf

if TYPE_CHECKING:
    from hush.releases.group_by.grouped_query import GroupBy

DIGEST = 32
"""Hexadecimal digits of a digest that tells two requests apart: nobody finds two that share 128 bits by chance."""


def noun(query: GroupBy) -> str:
    """The table in words: by which keys, of how many groups, with which statistics."""
    known = "groups found in the data" if query.domain is None else f"{len(query.domain)} given groups"
    asked = ", ".join(f"{name} ({one.words})" for name, one in query.ask.items())
    which = "" if query.where is None else f" of the records with {query.where}"
    shown = f" with {asked}" if asked else ""
    return f"table by {' and '.join(map(repr, query.key_names))} ({known}){which}{shown}"


def notes(query: GroupBy) -> tuple[str, ...]:
    """What was chosen about keys, users and missing values."""
    found = []
    if query.contributions is not None:
        most = query.contributions
        limits = [("groups", most.groups), ("records in each group", most.each), ("records in all", most.total)]
        said = ", ".join(f"at most {n} {words}" for words, n in limits if n is not None)
        found.append(f"Of each user (column {query.unit!r}) counts: {said}; records without a user are left out.")
    if query.plan.threshold is not None:
        kind = "records" if query.unit is None else "users"
        found.append(f"Groups are shown whose noisy number of {kind} is at least {query.plan.threshold}.")
    return (*found, *missing_notes(query.missing, query.ask))


def near_ranks(query: GroupBy, confidence: float) -> tuple[str, ...]:
    """How near the ranks of quantiles are: that much is public, where in the bounds they lie is not."""
    charged, sure = query.planning.charged, f"with {100 * confidence:g}% confidence"
    pairs = zip(query.parts, query.plan.levels, strict=True)
    off = [(part.titles[0], part.ranks_off(level, charged, confidence)) for part, level in pairs]
    return tuple(
        f"Each value of {title} is off by at most {math.ceil(ranks)} of the records of its group that were used, "
        f"in the order of their values, {sure}."
        for title, ranks in off
        if ranks is not None
    )


def request(query: GroupBy) -> str:
    """The query in words, and a digest of all that its table depends on: keys, bounds, conditions, shares."""
    names = query.key_names
    keys = names if isinstance(query.keys, Unknown) else [key_values(name, query.keys[name]) for name in names]
    groups = keys, [query.expressed(ColumnOf(name)) for name in names], query.condition
    shares = query.split, sorted((name, float(weight)) for name, weight in query.weights.items()), query.noise
    budget = float(query.epsilon), float(query.delta or 0), *shares, query.relation.value
    asked = names, groups, list(query.ask), query.parts, query.unit, query.contributions, budget
    return f"{query}, in full {sha256(repr(asked).encode('utf-8', 'surrogatepass')).hexdigest()[:DIGEST]}"
