"""What an engine must offer: column names, kinds, and batches of numpy arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from hush.errors import InvalidParameter, NotCovered, NotInstalled
from hush.mechanisms.scheme import Scheme
from hush.randomness.source import Source
from hush.releases.boundary import sealed
from hush.releases.tables.arrow import of_type
from hush.releases.tables.columns import FLOAT, NUMBERS, OBJECT, Column
from hush.releases.tables.tally import Tallied, Tally
from hush.releases.tables.tallying.streaming import streamed

Part = TypeVar("Part")
BATCH = 1 << 18
"""Records that are read from a file at once."""
READABLE = "data that can be read: types that are covered, a file that is whole (the fault may show a record: not told)"


class Reader(ABC):
    """What an engine must offer: names, kinds, the number of records where it is known, and batches."""

    names: tuple[str, ...]
    again: bool = True
    """Whether every pass gives the records in the same order. Where not, a sample keeps all columns at once."""
    once: bool = False
    """Whether there is only one pass."""
    spread: bool = False
    """Whether the records lie in several parts, each of which is read where it is."""

    @abstractmethod
    def kind(self, name: str) -> str:
        """By the schema alone, never by the values: see hush.releases.tables.columns."""

    @abstractmethod
    def rows(self) -> int | None:
        """The number of records, where it is known without reading them."""

    @abstractmethod
    def batches(self, names: tuple[str, ...], *, numbers: bool) -> Iterator[tuple[np.ndarray, ...]]:
        """These columns in step, in the table's order, values as they are; with numbers=True the first one as numbers.

        What is missing or no number is then NaN. How one value is read must not depend on the others.
        """

    def with_unit(self, names: tuple[str, ...], unit: str, *, numbers: bool) -> Iterator[tuple[Any, ...]]:
        """The same, and after them the units as `hush.releases.tables.ids.users.UserSlots` looks them up."""
        return self.batches((*names, unit), numbers=numbers)

    def dtype(self, name: str) -> np.dtype:
        """By the schema alone: the type in which a user's function gets the column."""
        return FLOAT if self.kind(name) in NUMBERS else OBJECT

    def whole(self, name: str) -> bool:
        """By the schema alone: whether it is a column of whole numbers, whose cells come as ints (None if missing)."""
        return self.dtype(name).kind in "iu"

    def tally(self, tally: Tally) -> Tallied:
        """Whole numbers per group, the same in every engine: by default in this process, batch by batch."""
        return streamed(self, tally)

    def partials(
        self, names: tuple[str, ...], function: Callable[[Iterator[tuple[np.ndarray, ...]]], Part], *, numbers: bool
    ) -> list[Part]:
        """What a function makes of the batches of each part of the records, one small value per part."""
        return [function(self.batches(names, numbers=numbers))]

    def sampled(self, scheme: Scheme, source: Source) -> Reader:
        """A sample of all columns, in memory, where no pass can be repeated (see `again`)."""
        raise NotCovered(f"{scheme} of {type(self).__name__} in one pass with all columns ({source.private=})")


class ColumnsReader(Reader):
    """A reader whose columns say themselves what they hold."""

    @abstractmethod
    def _column(self, name: str) -> Column: ...

    def kind(self, name: str) -> str:
        return self._column(name).kind

    def dtype(self, name: str) -> np.dtype:
        return self._column(name).dtype

    def whole(self, name: str) -> bool:
        return self._column(name).whole


class ArrowReader(ColumnsReader):
    """A reader that has an Arrow schema: it says all that is asked of the columns."""

    schema: Any

    def _column(self, name: str) -> Column:
        return of_type(self.schema.field(name).type)


class Sealed(Reader):
    """Another reader behind the boundary: what goes wrong in it is told without a value."""

    def __init__(self, reader: Reader, source: str) -> None:
        self._reader, self._source = reader, source
        self.names, self.again, self.once, self.spread = reader.names, reader.again, reader.once, reader.spread

    def _sealed(self, action: Any) -> Any:
        return sealed(action, who="table", rule=READABLE, source=self._source)

    def kind(self, name: str) -> str:
        return self._sealed(lambda: self._reader.kind(name))

    def rows(self) -> int | None:
        return self._sealed(self._reader.rows)

    def batches(self, names: tuple[str, ...], *, numbers: bool) -> Iterator[tuple[np.ndarray, ...]]:
        return self._each(lambda: self._reader.batches(names, numbers=numbers))

    def with_unit(self, names: tuple[str, ...], unit: str, *, numbers: bool) -> Iterator[tuple[Any, ...]]:
        return self._each(lambda: self._reader.with_unit(names, unit, numbers=numbers))

    def _each(self, made: Callable[[], Iterator[Any]]) -> Iterator[Any]:
        found = self._sealed(lambda: iter(made()))
        while (batch := self._sealed(lambda: next(found, None))) is not None:
            yield batch

    def dtype(self, name: str) -> np.dtype:
        return self._sealed(lambda: self._reader.dtype(name))

    def whole(self, name: str) -> bool:
        return self._sealed(lambda: self._reader.whole(name))

    def tally(self, tally: Tally) -> Tallied:
        return self._sealed(lambda: self._reader.tally(tally))

    def partials(
        self, names: tuple[str, ...], function: Callable[[Iterator[tuple[np.ndarray, ...]]], Part], *, numbers: bool
    ) -> list[Part]:
        return self._sealed(lambda: self._reader.partials(names, function, numbers=numbers))

    def sampled(self, scheme: Scheme, source: Source) -> Reader:
        return self._sealed(lambda: Sealed(self._reader.sampled(scheme, source), self._source))


def require_different(names: Iterable[str]) -> tuple[str, ...]:
    """The names of columns, if no two are the same; they are not told, as the first record may stand for them."""
    found = tuple(names)
    if len(set(found)) < len(found):
        raise InvalidParameter("table", "columns of different names", columns=len(found))
    return found


def needs(package: str, extra: str = "data") -> Any:
    """The package, or an error that says how to get it."""
    try:
        return import_module(package)
    except ImportError:
        raise NotInstalled("Reading tables", package, extra) from None
