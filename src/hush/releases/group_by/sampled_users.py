"""The records of users that were drawn: one secret coin per user, tossed when the user is first met."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from hush.errors import InvalidParameter
from hush.releases.tables.ids.users import UserSlots
from hush.releases.tables.reader import Reader


class SampledUsers(Reader):
    """Another reader's records, of drawn users alone; a second pass has the same users, as coins are kept.

    `draw` gives which of so many new users are drawn, by independent coins; in which order users come does not matter.
    Who is one user is what the limits say too: an id that were two users here and one there would be drawn too often.
    """

    def __init__(self, reader: Reader, unit: str, draw: Callable[[int], np.ndarray]) -> None:
        self._reader, self._unit, self._draw = reader, unit, draw
        self.names = reader.names
        self._users, self._drawn = UserSlots(), np.zeros(0, dtype=bool)

    def kind(self, name: str) -> str:
        return self._reader.kind(name)

    def dtype(self, name: str) -> np.dtype:
        return self._reader.dtype(name)

    def whole(self, name: str) -> bool:
        return self._reader.whole(name)

    def rows(self) -> int | None:
        return None

    def batches(self, names: tuple[str, ...], *, numbers: bool) -> Iterator[tuple[np.ndarray, ...]]:
        for arrays, kept in self._kept(self._reader.with_unit(names, self._unit, numbers=numbers)):
            yield tuple(array[kept] for array in arrays[:-1])

    def with_unit(self, names: tuple[str, ...], unit: str, *, numbers: bool) -> Iterator[tuple[Any, ...]]:
        if unit != self._unit:
            raise InvalidParameter("unit", "the unit whose users were drawn", unit=unit)
        for arrays, kept in self._kept(self._reader.with_unit(names, unit, numbers=numbers)):
            yield (*(array[kept] for array in arrays[:-1]), arrays[-1].take(kept))

    def _kept(self, batches: Iterator[tuple[Any, ...]]) -> Iterator[tuple[tuple[Any, ...], np.ndarray]]:
        """Batches, units last, and the places of the records of drawn users."""
        for arrays in batches:
            users = self._users.slots(arrays[-1])
            new = np.zeros(self._users.size - len(self._drawn), dtype=bool)
            new[self._draw(len(new))] = True
            self._drawn = np.concatenate([self._drawn, new])
            yield arrays, np.flatnonzero(np.append(self._drawn, False)[users])  # the last place is nobody's
