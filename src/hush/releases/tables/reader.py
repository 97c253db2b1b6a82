"""What an engine must offer: column names, kinds, and batches of numpy arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

import numpy as np

from hush.errors import InvalidParameter, NotInstalled
from hush.releases.boundary import sealed
from hush.releases.tables.columns import FLOAT, NUMBERS, OBJECT

BATCH = 1 << 18
"""Records that are read from a file at once."""
READABLE = "data that can be read: types that are covered, a file that is whole (the fault may show a record: not told)"


class Reader(ABC):
    """What an engine must offer: names, kinds, the number of records where it is known, and batches."""

    names: tuple[str, ...]

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

    def dtype(self, name: str) -> np.dtype:
        """By the schema alone: the type in which a user's function gets the column."""
        return FLOAT if self.kind(name) in NUMBERS else OBJECT


class Sealed(Reader):
    """Another reader behind the boundary: what goes wrong in it is told without a value."""

    def __init__(self, reader: Reader, source: str) -> None:
        self._reader, self._source = reader, source
        self.names = reader.names

    def _sealed(self, action: Any) -> Any:
        return sealed(action, who="table", rule=READABLE, source=self._source)

    def kind(self, name: str) -> str:
        return self._sealed(lambda: self._reader.kind(name))

    def rows(self) -> int | None:
        return self._sealed(self._reader.rows)

    def batches(self, names: tuple[str, ...], *, numbers: bool) -> Iterator[tuple[np.ndarray, ...]]:
        found = self._sealed(lambda: iter(self._reader.batches(names, numbers=numbers)))
        while (batch := self._sealed(lambda: next(found, None))) is not None:
            yield batch

    def dtype(self, name: str) -> np.dtype:
        return self._sealed(lambda: self._reader.dtype(name))


def require_different(names: Iterable[str]) -> tuple[str, ...]:
    """The names of columns, if no two are the same; they are not told, as the first record may stand for them."""
    found = tuple(names)
    if len(set(found)) < len(found):
        raise InvalidParameter("table", "columns of different names", columns=len(found))
    return found


def needs(package: str) -> Any:
    """The package, or an error that says how to get it."""
    try:
        return import_module(package)
    except ImportError:
        raise NotInstalled("Reading tables", package, "data") from None
