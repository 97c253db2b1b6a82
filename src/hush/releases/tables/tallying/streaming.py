"""A tally in this process: one pass over the batches of any reader, in memory for groups, cells and users alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

from hush.releases.row_wise.row_constants import ANY, NUMBER, TEXT
from hush.releases.row_wise.row_expressions import ColumnOf, Expression
from hush.releases.tables.ids.text_bytes import mixed
from hush.releases.tables.reading_ahead import ahead
from hush.releases.tables.tally import Tallied, Tally
from hush.releases.tables.tallying.accumulators import GroupCounts, GroupSums, bits_of, cell_of, measured
from hush.releases.tables.tallying.codes import Codes
from hush.releases.tables.tallying.group_keys import FoundKeys, GivenKeys
from hush.releases.tables.tallying.kept_records import KeptRecords
from hush.releases.tables.tallying.row_values import NULL, RowValues, Texts
from hush.releases.tables.tallying.user_ids import UserIds

VALUES = b"value"
"""What the hashes of different values are for."""
BLOCK = 1 << 16
"""Records of a batch that are worked on at once: few enough that the numbers made of them stay in a core's cache."""


class Batches(Protocol):
    """What is asked of a reader: see hush.releases.tables.reader."""

    names: tuple[str, ...]

    def kind(self, name: str) -> str: ...

    def batches(self, names: tuple[str, ...], *, numbers: bool) -> Iterator[tuple[np.ndarray, ...]]: ...

    def with_unit(self, names: tuple[str, ...], unit: str, *, numbers: bool) -> Iterator[tuple[Any, ...]]: ...


def columns_of(tally: Tally) -> tuple[str, ...]:
    """The columns that a tally reads, beside the ids of users."""
    asked: list[Expression] = [*tally.keys, *tally.distinct, *(m.steps.value for m in tally.measures)]
    asked += [cells.steps.value if hasattr(cells, "steps") else cells.value for cells in tally.cells]  # type: ignore[union-attr]
    asked += [tally.where] if tally.where is not None else []
    return tuple(dict.fromkeys(name for expression in asked for name in expression.columns))


def row_batches(reader: Batches, names: tuple[str, ...], unit: str | None) -> Iterator[tuple[RowValues, Any]]:
    """The columns of a reader, some thousand records at a time, and their units, if there are any."""
    kinds = {name: reader.kind(name) for name in names}
    read = reader.with_unit(names, unit, numbers=False) if unit is not None else None
    for arrays in read or reader.batches(names or reader.names[:1], numbers=False):
        size = len(arrays[0])
        for start in range(0, size, BLOCK):
            part = slice(start, start + BLOCK)
            columns = {name: array[part] for name, array in zip(names, arrays, strict=False)}
            yield RowValues(columns, kinds, min(BLOCK, size - start)), None if unit is None else arrays[-1][part]


def streamed(reader: Batches, tally: Tally) -> Tallied:
    """What a tally asks for, of the batches of a reader.

    >>> from hush.releases.row_wise.row_expressions import col
    >>> from hush.releases.tables.in_memory import in_memory
    >>> streamed(in_memory({"g": ["a", "b", "a"]}), Tally((col("g"),), (("a",), ("b",), ("c",)))).rows.tolist()
    [2, 1, 0]
    """
    keys = FoundKeys(tally.keys) if tally.domain is None else GivenKeys(tally.keys, tally.domain)
    adding = _Limited(tally, keys) if tally.limits is not None else _Plain(tally)
    unit = None if tally.limits is None else tally.limits.unit.name

    def ready(given: tuple[RowValues, Any]) -> Any:
        batch, units = given
        groups = keys.codes(batch)
        chosen = groups != NULL
        if tally.where is not None:
            chosen &= batch.truths(tally.where) == 1
        return adding.ready(batch, groups, chosen, units)

    # what a batch holds is worked out in another thread, while this one adds up what came before it
    for made in ahead(ready, row_batches(reader, columns_of(tally), unit), threads=1):
        adding.add(*made)
    adding.finish()
    named, numbers = keys.groups()
    if tally.domain is None:  # keys of records that do not count are no keys: nobody may learn of them
        there = adding.rows.totals(len(keys))[numbers] > 0
        named, numbers = tuple(key for key, any_row in zip(named, there, strict=True) if any_row), numbers[there]
    return _ordered(adding, named, numbers, len(keys))


class _Plain:
    """Every record counts."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        groups = 0 if tally.domain is None else len(tally.domain)
        self.rows = GroupCounts(groups=groups)
        self.users: np.ndarray | None = None
        self.sums = [GroupSums(bits_of(measure), groups) for measure in tally.measures]
        self._missed = [GroupCounts(groups=groups) for _ in tally.measures]
        self.cells = [GroupCounts(cells.count, groups) for cells in tally.cells]
        self._values = [Codes() for _ in tally.distinct]
        self._pairs = [np.empty((0, 2), dtype=np.int64) for _ in tally.distinct]

    def ready(self, batch: RowValues, groups: np.ndarray, chosen: np.ndarray, units: Any) -> Any:  # noqa: ARG002
        """What `add` is given of a batch: nothing here looks at what was added before."""
        content = self.content(batch)
        if not chosen.all():
            groups, content = groups[chosen], [column[chosen] for column in content]
        return groups, content

    def content(self, batch: RowValues) -> list[np.ndarray]:
        """What a record holds, as whole numbers: of each measure a number and whether it counts, cells, values."""
        columns: list[np.ndarray] = []
        for measure in self._tally.measures:
            number, known = measured(batch, measure)
            columns += [number, known.astype(np.int8)]
        columns += [cell_of(batch, cells) for cells in self._tally.cells]
        return columns + [
            self._hashed(codes, distinct_values(batch, value))
            for codes, value in zip(self._values, self._tally.distinct, strict=True)
        ]

    def _hashed(self, codes: Codes, values: np.ndarray | Texts) -> np.ndarray:
        """A hash of each value, NULL for none. Its code would not do: it depends on what other records hold."""
        secret = b"" if self._tally.limits is None else self._tally.limits.secret
        found = codes.of(values)
        hashes = codes.hashes(secret, VALUES) >> np.uint64(1)
        return np.append(hashes.astype(np.int64), NULL)[found]

    def add(self, groups: np.ndarray, content: list[np.ndarray]) -> None:
        """Count these records."""
        self.rows.add(groups)
        place = 0
        for sums, missed in zip(self.sums, self._missed, strict=True):
            number, known = content[place], content[place + 1].view(bool)
            sums.add(groups, number)  # a record without a value adds 0
            if not known.all():
                missed.add(groups[~known])
            place += 2
        for cells in self.cells:
            cells.add(groups, content[place])
            place += 1
        for number, hashes in enumerate(content[place:]):
            new = np.stack([groups, hashes], axis=1)[hashes != NULL]
            self._pairs[number] = np.unique(np.concatenate([self._pairs[number], new]), axis=0)

    def distinct(self, groups: int) -> list[np.ndarray]:
        """How many different values each group has."""
        return [np.bincount(pairs[:, 0], minlength=groups) for pairs in self._pairs]

    def counts(self, groups: int) -> list[np.ndarray]:
        """How many records of each group have a value, for each measure."""
        return [self.rows.totals(groups) - missed.totals(groups) for missed in self._missed]

    def finish(self) -> None:
        """All batches were added."""


class _Limited(_Plain):
    """Of each user no more than the limits allow."""

    def __init__(self, tally: Tally, keys: GivenKeys | FoundKeys) -> None:
        super().__init__(tally)
        assert tally.limits is not None  # noqa: S101
        self._limits, self._keys = tally.limits, keys
        self._ids, self._kept = UserIds(tally.limits.secret), KeptRecords(tally.limits, keys.order)

    def ready(self, batch: RowValues, groups: np.ndarray, chosen: np.ndarray, units: Any) -> Any:
        users = self._ids.slots(units).astype(np.intp)  # what numpy looks places up by
        chosen &= users != NULL
        if not chosen.all():
            places = np.flatnonzero(chosen)
            users, groups, batch = users.take(places), groups.take(places), batch.at(places)
        hashes = self._keys.hashes(self._limits.secret).take(groups)
        hashes ^= self._ids.hashes.take(users)
        if self._limits.groups is not None:  # their order decides which groups count: content is asked of few records
            return users, groups, mixed(hashes), self.content, batch
        content = self.content(batch)
        return users, groups, hashes, lambda _: content, batch

    def add(  # type: ignore[override]
        self,
        users: np.ndarray,
        groups: np.ndarray,
        hashes: np.ndarray,
        content: Callable[[RowValues], list[np.ndarray]],
        batch: RowValues,
    ) -> None:
        within = self._kept.within(users, hashes)  # all of them, unless groups are limited
        if len(within) < len(users):
            users, groups, hashes = users.take(within), groups.take(within), hashes.take(within)
            batch = batch.at(within)
        self._kept.add(users, groups, hashes, content(batch))

    def finish(self) -> None:
        met = GroupCounts(groups=len(self._keys))
        for users, groups, content in self._kept.finished():
            super().add(groups.astype(np.int64), content)
            pairs = np.sort(users.astype(np.int64) * len(self._keys) + groups)
            first = np.append(True, pairs[1:] != pairs[:-1])[: len(pairs)]  # nobody may be left
            met.add(pairs[first] % len(self._keys))
        self.users = met.totals(len(self._keys))


def distinct_values(batch: RowValues, value: Expression) -> np.ndarray | Texts:
    """The values that are told apart: cells of a column as they are, or what an expression gives."""
    given = batch.gives(value)
    if given == TEXT:
        return batch.texts(value)
    if isinstance(value, ColumnOf) and given in (NUMBER, ANY):
        return batch.column(value.name)
    return batch.numbers(value) if given == NUMBER else np.array([0, 1, None], dtype=object)[batch.truths(value)]


def _ordered(found: _Plain, named: tuple[tuple[object, ...], ...], numbers: np.ndarray, groups: int) -> Tallied:
    sums = [total.totals(groups) for total in found.sums]
    return Tallied(
        named,
        found.rows.totals(groups)[numbers],
        None if found.users is None else found.users[numbers],
        tuple(total[numbers] for total in sums),
        tuple(counts[numbers] for counts in found.counts(groups)),
        tuple(_by_cell(cells.totals(groups), groups, cells.cells)[numbers] for cells in found.cells),
        tuple(distinct[numbers] for distinct in found.distinct(groups)),
    )


def _by_cell(counts: np.ndarray, groups: int, cells: int) -> np.ndarray:
    return counts.reshape(groups, cells)
