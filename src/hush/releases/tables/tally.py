"""What one pass over a table is asked for, and what it answers: whole numbers per group, the same in every engine.

All that is computed of a record is a whole number by one rule (`Steps`), so sums are exact in any order. What a user
may add is limited by hashes of what their own records hold (`Limits`), so nobody's records decide what is kept of
another's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from hush.releases.row_wise.row_expressions import ColumnOf, Expression

WORD = 2**63
"""The least whole number that is too large for 64 bits."""
Key = tuple[object, ...]
"""The key of a group: one text, whole number, truth value or None (null) per key column."""


@dataclass(frozen=True, eq=False)
class Steps:
    """A number as whole steps: k = round_half_even((clamp(v, low, high) - centre) * 2**-power), in double floats.

    Clamping comes first, then one subtraction, then the scaling by a power of two, which is exact.
    """

    value: Expression
    low: float
    high: float
    centre: float
    power: int
    missing: float | None
    """What stands for a value that is null, NaN or no number; None: such a record adds nothing here, and is not
    counted here either."""


@dataclass(frozen=True, eq=False)
class Measure:
    """The sum of k, or of k**2, per group, and how many records added to it. |k| <= 2^36, or 2^23 where squared."""

    steps: Steps
    degree: int = 1


@dataclass(frozen=True, eq=False)
class LatticeCells:
    """How many records of a group fall on each point k of a lattice: clamp(k, first, first + count - 1) - first."""

    steps: Steps
    first: int
    count: int


@dataclass(frozen=True, eq=False)
class Bins:
    """How many records of a group fall in each bin [edge, next edge), the last one closed; others and null in none."""

    value: Expression
    edges: tuple[float, ...]

    @property
    def count(self) -> int:
        """How many cells there are."""
        return len(self.edges) - 1


@dataclass(frozen=True, eq=False)
class Categories:
    """How many records of a group have each of the given values (all texts, whole numbers or truth values)."""

    value: Expression
    members: tuple[object, ...]

    @property
    def count(self) -> int:
        """How many cells there are."""
        return len(self.members)


@dataclass(frozen=True, eq=False)
class Limits:
    """What one user may add: at most so many groups, so many records in each, so many in all (None: no limit).

    Records without a unit (null, NaN, empty) are left out. Kept are, of each user, the groups of smallest hash of
    (user, group), in each group the records of smallest hash of their content, and of all those the first `total`, in
    the order (hash of the group, hash of the content) where groups are limited, and of the content alone where not. The
    content is the whole numbers that the tally makes of a record, so equal ones may stand for each other.
    """

    unit: ColumnOf
    groups: int | None
    each: int | None
    total: int | None
    secret: bytes = field(repr=False)


@dataclass(frozen=True, eq=False)
class Tally:
    """All that one pass over the data is asked for."""

    keys: tuple[Expression, ...]
    domain: tuple[Key, ...] | None
    """The given keys, in their order; None: whatever the data hold. Other keys, and null where it is not given, are
    left out before users are limited."""
    where: Expression | None = None
    """Records for which it is true; not those for which it is null."""
    measures: tuple[Measure, ...] = ()
    cells: tuple[LatticeCells | Bins | Categories, ...] = ()
    distinct: tuple[Expression, ...] = ()
    """Whose different values are counted per group; null is none."""
    limits: Limits | None = None


@dataclass(frozen=True, eq=False)
class Tallied:
    """Exact whole numbers, one per group."""

    groups: tuple[Key, ...]
    """The domain in its order, or the keys that were found, sorted (null before all, truth values, numbers, texts).

    Found are only keys of records that count: after `where` and the limits. A key whose every record was left out must
    not be here."""
    rows: np.ndarray
    """Records per group, after limits."""
    users: np.ndarray | None
    """Different users per group, after limits; None without limits."""
    sums: tuple[np.ndarray, ...] = ()
    """Whole numbers of 64 bits, or where these are not enough Python's own (see `exact_array`)."""
    counts: tuple[np.ndarray, ...] = ()
    """Records that added to each measure."""
    cells: tuple[np.ndarray, ...] = ()
    """One array of (groups, count) for each."""
    distinct: tuple[np.ndarray, ...] = ()


def exact_array(numbers: Sequence[int]) -> np.ndarray:
    """Whole numbers as an array of 64 bits each; where one of them needs more, as objects.

    >>> exact_array([1, 2]).dtype, exact_array([1, 2**64]).dtype
    (dtype('int64'), dtype('O'))
    """
    inside = all(-WORD <= number < WORD for number in numbers)
    return np.array(numbers, dtype=np.int64 if inside else object)


def key_order(key: Key) -> tuple[tuple[int, object], ...]:
    """What keys are sorted by: null before truth values, before numbers, before texts, column by column.

    >>> sorted([("b",), (None,), (2,), ("a",), (True,)], key=key_order)
    [(None,), (True,), (2,), ('a',), ('b',)]
    """
    return tuple(_rank(part) for part in key)


def _rank(part: object) -> tuple[int, object]:
    if part is None:
        return 0, 0
    return (1 if isinstance(part, bool) else 2 if isinstance(part, int) else 3), part
