"""What may be asked of every group: records, users, statistics of a column, values counted, different ones, the top."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

from hush.checks import count, listed, number
from hush.errors import InvalidParameter
from hush.releases.group_by.noisy_parts.choice_parts import QuantilePart, TopPart
from hush.releases.group_by.noisy_parts.count_parts import CellsPart, DistinctPart, RowsPart, SumPart, UsersPart
from hush.releases.group_by.noisy_parts.moment_parts import MeanPart, VariancePart
from hush.releases.group_by.noisy_parts.parts import Part
from hush.releases.noise.exact_sums import checked_bounds
from hush.releases.noise.lattice import Lattice
from hush.releases.row_wise.row_constants import constant, kind_of
from hush.releases.row_wise.row_expressions import ColumnOf, Expression, column_or_expression
from hush.releases.tables.tally import Bins, Categories

ALL_CELLS = 1 << 22
"""Counts that quantiles of all groups may take together: 32 MiB for each quantile column."""
GROUP_CELLS = 20
"""Points of a group's lattice, as a power of two: at most, and where keys are not known, FEW_CELLS."""
FEW_CELLS = 12
WIDEST = 1e150
"""The size of bounds: their squares are floats too."""
DROP, LOW = "drop", "low"
"""Records without a value are left out, or count as the lower bound."""


@dataclass(frozen=True)
class Place:
    """Where a statistic is asked: its name, what stands for missing values, derived columns, and how many groups."""

    name: str
    missing: Callable[[Expression], Any]
    expressed: Callable[[Expression], Expression]
    groups: int | None


class Asked(ABC):
    """Something that is asked of every group."""

    @abstractmethod
    def parts(self, place: Place) -> list[Part]:
        """The releases that answer it."""

    @property
    def words(self) -> str:
        """What it is, for a report."""
        return self.said

    said: ClassVar[str] = ""
    """What it is, where that needs no parameters."""

    needs_users = False
    """Whether it has a meaning for whole users only."""


@dataclass(frozen=True)
class Rows(Asked):
    """The number of records.

    >>> Rows()
    Rows()
    """

    said = "the number of records"

    def parts(self, place: Place) -> list[Part]:
        return [RowsPart(place.name)]


@dataclass(frozen=True)
class Users(Asked):
    """The number of users, each counted once per group; it needs a unit.

    >>> Users()
    Users()
    """

    said = "the number of users"
    needs_users = True

    def parts(self, place: Place) -> list[Part]:
        return [UsersPart(place.name)]


@dataclass(frozen=True, eq=False)
class Stats(Asked):
    """Statistics of a column of numbers within public bounds; `column` may be a row-wise expression.

    `step`, a power of two, is the distance of the values that a quantile can come out as. `histogram` are the edges of
    bins, whose counts come out one by one.

    >>> Stats("income", bounds=(0, 2000), mean=True, median=True).bounds
    (0.0, 2000.0)
    """

    column: str | Expression
    bounds: tuple[float, float] | None = None
    sum: bool = False
    mean: bool = False
    variance: bool = False
    median: bool = False
    quantiles: Sequence[float] = ()
    histogram: Sequence[float] = ()
    step: float | None = None
    value: Expression = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", column_or_expression("Stats", self.column))
        for name in ("sum", "mean", "variance", "median"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidParameter("Stats", f"{name}=True or {name}=False", **{name: getattr(self, name)})
        levels = listed("Stats", "quantiles, a list of numbers from 0 to 1", quantiles=self.quantiles)
        levels = [number("Stats", "quantiles from 0 to 1", 0.0, 1.0, quantiles=p) for p in levels]
        object.__setattr__(self, "quantiles", tuple(dict.fromkeys(([0.5] if self.median else []) + levels)))
        object.__setattr__(self, "histogram", _edges(self.histogram))
        if not self.bounded and not self.histogram:
            rule = "at least one of sum, mean, variance, median, quantiles and histogram"
            raise InvalidParameter("Stats", rule, column=str(self.value))
        if self.bounded:
            object.__setattr__(self, "bounds", checked_bounds("Stats", self.bounds))
            low, high = self.bounds or (0.0, 0.0)
            if max(abs(low), abs(high)) > WIDEST or high - low < 1 / WIDEST:
                raise InvalidParameter(
                    "Stats", f"bounds up to {WIDEST:g}, at least {1 / WIDEST:g} apart", bounds=self.bounds
                )

    @property
    def bounded(self) -> bool:
        """Whether values are moved to bounds: all but a histogram, which leaves out records without a value."""
        return self.sum or self.mean or self.variance or bool(self.quantiles)

    @property
    def words(self) -> str:
        named = [name for name in ("sum", "mean", "variance") if getattr(self, name)]
        levels = ["median" if p == 0.5 else f"quantile at {p:g}" for p in self.quantiles]
        cells = [f"histogram of {len(self.histogram) - 1} bins"] if self.histogram else []
        said = f"{', '.join([*named, *levels, *cells])} of {self.value}"
        return f"{said} in bounds {self.bounds[0]:g} to {self.bounds[1]:g}" if self.bounds else said

    def parts(self, place: Place) -> list[Part]:
        value, name = place.expressed(self.value), place.name
        missing, bounds = place.missing(self.value), self.bounds or (0.0, 1.0)
        stands = None if missing == DROP else bounds[0] if missing == LOW else float(missing)
        if self.bounded and stands is not None and not bounds[0] <= stands <= bounds[1]:
            raise InvalidParameter("GroupBy", f"missing, a number within the bounds {bounds} of {name}", missing=stands)
        found: list[Part] = []
        for title, kind in (("sum", SumPart), ("mean", MeanPart), ("variance", VariancePart)):
            if getattr(self, title):
                found.append(kind(name, f"{name}_{title}", value, bounds, stands))
        for p in self.quantiles:
            title = f"{name}_median" if p == 0.5 else f"{name}_p{100 * p:g}"
            found.append(QuantilePart(name, title, value, p, self._lattice(place.groups), bounds, stands))
        if self.histogram:
            found.append(CellsPart(name, Bins(value, tuple(self.histogram))))
        return found

    def _lattice(self, groups: int | None) -> Lattice:
        """As fine as the memory for all groups allows."""
        if self.step is not None:
            found = Lattice.within(self.bounds, step=self.step, who="Stats")  # type: ignore[arg-type]
            if found.points * (groups or 1) > 16 * ALL_CELLS:
                raise InvalidParameter(
                    "Stats", f"at most {16 * ALL_CELLS} steps in all groups together", step=self.step
                )
            return found
        fine = FEW_CELLS if groups is None else (ALL_CELLS // max(groups, 1)).bit_length() - 2
        return Lattice.within(self.bounds, who="Stats", fine=min(max(fine, 4), GROUP_CELLS))  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class ValueCounts(Asked):
    """The number of records with each of the given values of a column: a histogram of categories in every group.

    >>> ValueCounts("colour", of=("red", "blue")).of
    ('red', 'blue')
    """

    column: str | Expression
    of: Sequence[object]

    def __post_init__(self) -> None:
        object.__setattr__(self, "of", _members("ValueCounts", self.of))
        column_or_expression("ValueCounts", self.column)

    @property
    def words(self) -> str:
        return f"counts of {len(self.of)} values of {self.column}"

    def parts(self, place: Place) -> list[Part]:
        value = place.expressed(column_or_expression("ValueCounts", self.column))
        return [CellsPart(place.name, Categories(value, tuple(self.of)))]


@dataclass(frozen=True, eq=False)
class Distinct(Asked):
    """The number of different values of a column.

    >>> Distinct("city").column
    'city'
    """

    column: str | Expression

    def __post_init__(self) -> None:
        column_or_expression("Distinct", self.column)

    @property
    def words(self) -> str:
        return f"the number of different values of {self.column}"

    def parts(self, place: Place) -> list[Part]:
        return [DistinctPart(place.name, place.expressed(column_or_expression("Distinct", self.column)))]


@dataclass(frozen=True, eq=False)
class Top(Asked):
    """The k most frequent of the given values of a column, the first one first.

    >>> Top("product", of=("bread", "milk", "tea"), k=2).k
    2
    """

    column: str | Expression
    of: Sequence[object]
    k: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "of", _members("Top", self.of))
        object.__setattr__(self, "k", count("Top", 1, k=self.k))
        column_or_expression("Top", self.column)
        if self.k > len(self.of):
            raise InvalidParameter("Top", "no more than there are values", k=self.k, of=len(self.of))

    @property
    def words(self) -> str:
        return f"the {self.k} most frequent of {len(self.of)} values of {self.column}"

    def parts(self, place: Place) -> list[Part]:
        value = place.expressed(column_or_expression("Top", self.column))
        return [TopPart(place.name, Categories(value, tuple(self.of)), self.k)]


def checked_missing(who: str, missing: Mapping[str, Any], names: Mapping[str, Asked]) -> dict[str, Any]:
    """By the name of a column, or of what is asked for: drop, low, or a number that stands for missing values."""
    rule = "missing={name: 'drop', 'low' or a number} for columns that statistics are asked of"
    if not isinstance(missing, Mapping):
        raise InvalidParameter(who, rule, missing=missing)
    asked = [one for one in names.values() if isinstance(one, Stats)]
    known = {*names, *(one.value.name for one in asked if isinstance(one.value, ColumnOf))}
    found: dict[str, Any] = {}
    for name, value in missing.items():
        if name not in known:
            raise InvalidParameter(who, rule, missing=name)
        found[name] = value if value in (DROP, LOW) else number(who, rule, -1e300, 1e300, missing=value)
    return found


def _edges(given: Sequence[float]) -> tuple[float, ...]:
    rule = "histogram edges that increase, at least two"
    edges = tuple(
        number("Stats", rule, -1e300, 1e300, histogram=edge) for edge in listed("Stats", rule, histogram=given)
    )
    if edges and (len(edges) < 2 or not all(a < b for a, b in pairwise(edges))):
        raise InvalidParameter("Stats", rule, histogram=edges)
    return edges


def _members(who: str, given: Sequence[object]) -> tuple[object, ...]:
    rule = "of=(...), different values of one type: texts, whole numbers or truth values"
    if isinstance(given, str | bytes):
        raise InvalidParameter(who, rule, of=given)
    found = tuple(constant(member) for member in listed(who, rule, of=given))
    kinds = {kind_of(member) for member in found}
    if not found or len(kinds) > 1 or len(set(found)) < len(found) or len(found) > ALL_CELLS:
        raise InvalidParameter(who, rule, of=found)
    return found


def missing_notes(missing: Mapping[str, Any], names: Mapping[str, Asked]) -> list[str]:
    """What becomes of records without a value, in words: a histogram leaves them out, whatever was chosen."""
    found = []
    for name, how in missing.items():
        asked = [one for title, one in names.items() if isinstance(one, Stats) and name in (title, _column(one))]
        stands = {DROP: "are left out", LOW: "count as the lower bound"}.get(how, f"count as {how}")
        if how == DROP or any(one.bounded for one in asked):
            found.append(f"Records without a value of {name!r} {stands}.")
        if how != DROP and any(one.histogram for one in asked):
            found.append(f"A histogram of {name!r} leaves out records without a value.")
    return found


def _column(asked: Stats) -> str:
    return asked.value.name if isinstance(asked.value, ColumnOf) else ""
