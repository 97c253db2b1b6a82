"""Counts by category or by bin, over a domain that is given."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np

from hush.checks import number
from hush.curves.relation import Relation
from hush.errors import InvalidParameter
from hush.releases.answer import Answer, Run
from hush.releases.boundary import attempted
from hush.releases.noise.noisy_query import ROOT_2, NoisyQuery
from hush.releases.release import Interval
from hush.releases.statistics.sums import expanded, failure_split
from hush.releases.tables.columns import NUMBERS, number_in
from hush.releases.tables.table import Table

TYPES: dict[str, Any] = {
    **dict.fromkeys(NUMBERS, int | float | Decimal),
    **dict.fromkeys(("text", "words"), str),
    **dict.fromkeys(("other", "list"), object),
}
"""The types of categories, by the kind of the column: any other one would be in no record, and count 0 for sure."""
SHORT = (np.float16, np.float32)
"""Floats that may be cells of a column of objects: there each is compared in its own width."""
OTHER = "other"
"""The cell of whatever is in no category or bin."""


@dataclass(frozen=True, kw_only=True)
class Histogram(NoisyQuery):
    """How many records fall in each of the given categories, or in each bin between the given edges.

    The domain is never read off the data: records outside it are dropped, or with other=True counted in a cell of
    their own. Bins are [edge, next edge), the last one closed; NaN is outside. A record moves one cell by 1
    when added, two when replaced. The value is a dict from category, or (low, high), to the noisy count.

    >>> import hush
    >>> query = Histogram(categories=("yes", "no"), epsilon=1.0)
    >>> list(query.release(["yes", "no", "maybe"], source=hush.SeededSource(1)).value)
    ['yes', 'no']
    """

    categories: Sequence[object] | None = None
    edges: Sequence[float] | None = None
    other: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.categories is None) == (self.edges is None):
            raise InvalidParameter("Histogram", "either categories or edges", categories=self.categories)
        if self.categories is not None:
            object.__setattr__(self, "categories", _categories(self.categories))
        else:
            object.__setattr__(self, "edges", _edges(self.edges or ()))
        if not isinstance(self.other, bool):
            raise InvalidParameter("Histogram", "other=True or other=False", other=self.other)
        if self.other and OTHER in self.cells[:-1]:
            raise InvalidParameter("Histogram", f"no category {OTHER!r} beside other=True", other=True)

    @property
    def cells(self) -> list[object]:
        """The keys of the value, in order."""
        named = self.categories if self.categories is not None else pairwise(self.edges or ())
        return [*named, OTHER] if self.other else [*named]

    @property
    def reads(self) -> str:
        return "values" if self.edges is None else "numbers"

    def check(self, table: Table) -> None:
        super().check(table)
        if self.edges is not None:
            return
        table.require_column("Histogram")
        kind = table.reader.kind(table.name)
        if kind not in TYPES:
            raise InvalidParameter("Histogram", "a column of texts or numbers for its categories", column=table.column)
        if not all(isinstance(item, TYPES[kind]) for item in self.categories or ()):
            rule = f"categories of the column's type ({'numbers' if kind in NUMBERS else 'texts'})"
            raise InvalidParameter("Histogram", rule, categories=self.categories)

    def answer(self, run: Run) -> Answer:
        cells, level = self.cells, failure_split(run)
        counts = self._counts(run.table)
        l1, l2 = (2, ROOT_2) if self.relation is Relation.REPLACE else (1, 1.0)
        found, _ = self.noised(counts[: len(cells)], l1=l1, l2=l2, source=run.source)
        # each cell has its interval; all of them hold together
        reach, inner = (found.reach(1 - (1 - c) / len(cells)) for c in (run.confidence, level))
        noise = [((t - reach) / run.rate, (t + reach) / run.rate) for t in found.totals]
        share = (1 - level) / len(cells)
        whole = [expanded((t - inner, t + inner), 1.0, run.rate, share) for t in found.totals]
        values = [round(t) if run.rate == 1 else t / run.rate for t in found.totals]
        return Answer(
            dict(zip(cells, values, strict=True)), _joined(noise, run.confidence), _joined(whole, run.confidence)
        )

    def _counts(self, table: Table) -> list[int]:
        """Records in each cell; the last one holds those outside."""
        if self.edges is not None:
            edges = np.array(self.edges)
            return table.added(lambda batches: _by_edges(batches, edges), numbers=True)
        categories = tuple(self.categories or ())
        return table.added(lambda batches: _by_category(batches, categories))


def read_category(text: str, kind: str) -> object:
    """A category that was written as a text, in the type of a column of this kind.

    >>> read_category("1", "number"), read_category("1", "text"), read_category("true", "truth")
    (1, '1', True)
    >>> read_category("0.1", "number"), read_category("12345678901234567890.12", "number")
    (0.1, Decimal('12345678901234567890.12'))
    """
    if kind not in NUMBERS:
        return text
    if kind == "truth" and text.lower() in ("true", "false"):
        return text.lower() == "true"
    found = number_in(text)
    exact = attempted(lambda: Decimal(text), Decimal("nan"))  # NaN where the exponent itself is too large
    if math.isnan(found) or exact.is_nan():
        raise InvalidParameter("Histogram", "categories that are numbers, as the column is", categories=text)
    if math.isfinite(found) and text.strip().lstrip("+-").isdigit():
        return int(text)
    return found if Decimal(repr(found)) == exact else exact


def _joined(ranges: list[tuple[float, float]], confidence: float) -> Interval:
    return Interval(tuple(low for low, _ in ranges), tuple(high for _, high in ranges), confidence)


def _categories(given: object) -> tuple[object, ...]:
    rule = "different categories, each a text, a number or a bool"
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InvalidParameter("Histogram", rule, categories=given)
    plain = tuple(item.item() if isinstance(item, np.generic) else item for item in given)
    if not plain or not all(isinstance(item, str | int | float | Decimal) for item in plain):
        raise InvalidParameter("Histogram", rule, categories=plain)
    nan = any(isinstance(item, float | Decimal) and Decimal(item).is_nan() for item in plain)
    if nan or len(set(plain)) < len(plain):
        raise InvalidParameter("Histogram", rule, categories=plain)
    return plain


def _edges(given: Sequence[float]) -> tuple[float, ...]:
    rule = "at least two edges that increase"
    if isinstance(given, str | bytes) or not hasattr(given, "__len__"):
        raise InvalidParameter("Histogram", rule, edges=given)
    edges = tuple(number("Histogram", rule, -math.inf, math.inf, edges=edge) for edge in given)
    if len(edges) < 2 or not all(a < b for a, b in pairwise(edges)):
        raise InvalidParameter("Histogram", rule, edges=edges)
    return edges


def _by_edges(batches: Iterable[np.ndarray], edges: np.ndarray) -> list[int]:
    counts = np.zeros(len(edges), dtype=np.int64)
    for batch in batches:
        values = np.asarray(batch, dtype=float)
        places = np.searchsorted(edges, values, side="right") - 1
        places[values == edges[-1]] = len(edges) - 2
        outside = (places < 0) | (places > len(edges) - 2) | np.isnan(values)
        places[outside] = len(edges) - 1
        counts += np.bincount(places, minlength=len(edges))
    return counts.tolist()


def _by_category(batches: Iterable[np.ndarray], categories: tuple[object, ...]) -> list[int]:
    outside = len(categories)
    counts = [0] * (outside + 1)
    widths: dict[type, dict[object, int]] = {kind: _places(categories, np.dtype(kind)) for kind in SHORT}
    exact = _places(categories, np.dtype(object))
    for batch in batches:
        if batch.dtype.kind == "O":
            for value in batch.tolist():
                counts[_place(widths.get(type(value), exact), value, outside)] += 1
            continue
        place = _places(categories, batch.dtype)
        found, times = np.unique(batch, return_counts=True)
        for value, n in zip(found.tolist(), times.tolist(), strict=True):
            counts[_place(place, value, outside)] += n
    return counts


def _places(categories: tuple[object, ...], dtype: np.dtype) -> dict[object, int]:
    """Where each category counts, also as the type of the column writes it."""
    places = {category: place for place, category in enumerate(categories)}
    for place, category in enumerate(categories):
        for other in _alike(category, dtype):
            places.setdefault(other, place)
    return places


def _alike(category: object, dtype: np.dtype) -> Iterator[object]:
    """What 0.1 is as a decimal, as a float, and as a short float."""
    if not isinstance(category, float | Decimal):
        return
    near = float(category)
    written = Decimal(repr(near))
    if isinstance(category, float) or written == category:
        yield from (near, written)
    short = dtype.type(near).item() if dtype.kind == "f" else math.inf
    if math.isfinite(short):
        yield short


def _place(places: dict[object, int], value: object, outside: int) -> int:
    """Where a value counts; what cannot be looked up, whatever its own code raises, is outside."""
    return attempted(lambda: places.get(value, outside), outside)
