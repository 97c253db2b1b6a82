"""One column of any library, as numpy arrays. How a cell is read depends on the column's type and on that cell alone.

Kinds, by the type and never by the values:
    number  numbers
    truth   True and False, which are numbers too
    text    texts, of which numbers may be read (cells of a CSV file)
    words   texts that are no numbers
    other   objects: no type is declared
    list    a plain list, which declares nothing: read as what the query asks for
    opaque  neither text nor number: dates, times, bytes, lists
    rows    the rows of an array of more than one dimension
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hush.releases.boundary import attempted

OBJECT, FLOAT = np.dtype(object), np.dtype(float)
NUMBERS = ("number", "truth")
KINDS = dict.fromkeys("iuf", "number") | {"b": "truth", "U": "words", "T": "words", "O": "other"}
"""By the letter of a numpy type; what is not listed is opaque."""
NO_TIME = np.iinfo(np.int64).min
"""How numpy writes a missing date or time."""


@dataclass(frozen=True)
class Column:
    """What the type of a column says, and its cells, which become numpy arrays when they are asked for."""

    kind: str
    values: Callable[[], np.ndarray]
    """The cells as they are, missing ones None, NaN or NaT."""
    numbers: Callable[[], np.ndarray] | None = None
    """The cells as numbers, missing ones NaN; for numbers and lists."""
    dtype: np.dtype = OBJECT
    """The type in which a user's function gets the cells: also of no cells, and whether or not any is missing."""
    whole: bool = False
    """Whether its type is one of whole numbers."""
    texts: Callable[[], Any] | None = None
    """The cells as texts of Arrow, where they are all valid ones; for words."""
    ids: Callable[[], np.ndarray] | None = None
    """The cells as ids of users, where `values` makes some different ones equal."""

    def read(self, *, numbers: bool) -> np.ndarray:
        """The cells as numbers, or as they are."""
        return self.numbers() if numbers and self.numbers is not None else self.values()

    def units(self) -> Any:
        """The cells as ids of users, without loss: two users that became one would count as one.

        Texts are those of Arrow where there are any, so that none becomes an object.
        """
        found = None if self.texts is None else attempted(self.texts, None)
        return (self.ids or self.values)() if found is None else found


def of_array(array: np.ndarray) -> Column:
    """A numpy array; extended floats become float64, so that none is too large without a warning: not so as ids."""
    kind, letter = "rows" if array.ndim > 1 else KINDS.get(array.dtype.kind, "opaque"), array.dtype.kind
    if kind == "number" and array.dtype.itemsize > FLOAT.itemsize:
        floats = lambda: array.astype(float)  # noqa: E731
        return Column(kind, floats, floats, FLOAT, ids=lambda: array.astype(object))
    if letter == "T":  # its missing values cannot be sorted
        return Column(kind, lambda: array.astype(object))
    dtype = OBJECT if letter in "US" else array.dtype  # how long a text is says something of a record
    whole = kind == "number" and letter in "iu"
    return Column(kind, lambda: array, (lambda: array) if kind in NUMBERS else None, dtype, whole)


def of_masked(array: np.ma.MaskedArray) -> Column:
    """A masked array, masked cells missing; whole numbers stay whole beside them, as a float may be its neighbour."""
    data, mask, letter = np.ma.getdata(array), np.ma.getmaskarray(array), array.dtype.kind
    if letter in "mM":
        return of_array(np.where(mask, NO_TIME, data.view(np.int64)).view(data.dtype))
    if letter not in "biuf":
        return of_array(_without(data.astype(object), mask, None))
    numbers = of_array(_without(data.astype(array.dtype if letter == "f" else float), mask, np.nan))
    if letter == "f" or array.ndim > 1:
        return numbers
    values = lambda: _without(data.astype(object), mask, None)  # noqa: E731
    return Column(KINDS[letter], values, numbers.numbers, FLOAT, letter in "iu")


def _without(cells: np.ndarray, mask: np.ndarray, missing: object) -> np.ndarray:
    cells[mask] = missing
    return cells


def of_list(cells: Sequence[Any]) -> Column:
    """A plain list: no cell decides how another is read, nor whether the list can be."""
    return Column(
        "list",
        lambda: cell_by_cell(len(cells), cells.__getitem__),
        lambda: np.fromiter(map(as_number, cells), dtype=float, count=len(cells)),
    )


def of_times(ticks: Callable[[], np.ndarray], name: str) -> Column:
    """Whole numbers of a unit as dates or times, NO_TIME for missing ones: exact, and every number is one."""
    dtype = np.dtype(name)
    return Column("opaque", lambda: ticks().view(dtype), dtype=dtype)


def objects(cells: list[Any]) -> np.ndarray:
    """A list as an array of objects, whatever they are."""
    found = np.empty(len(cells), dtype=object)
    found[:] = cells
    return found


def cell_by_cell(count: int, read: Callable[[int], Any]) -> np.ndarray:
    """Objects that are read one by one; what cannot be read is missing."""
    found = np.empty(count, dtype=object)
    for place in range(count):
        found[place] = attempted(lambda place=place: read(place), None)
    return found


def number_in(text: str) -> float:
    """The number that a text says, in plain ASCII; NaN if none.

    >>> number_in("1e3"), number_in("1_000"), number_in("")
    (1000.0, nan, nan)
    """
    try:
        return float(text) if text.isascii() and "_" not in text else np.nan
    except (ValueError, AttributeError):  # a missing text is no number either
        return np.nan


def as_number(cell: Any) -> float:
    """The number that a cell of no declared type is; NaN if none, infinite if it is too large.

    >>> as_number(1), as_number("2"), as_number(-10**400), as_number(None)
    (1.0, 2.0, -inf, nan)
    """
    return attempted(lambda: _number(cell), np.nan)


def _number(cell: Any) -> float:
    if isinstance(cell, str):
        return number_in(cell)
    try:
        return float(cell)
    except OverflowError:
        return np.inf if cell > 0 else -np.inf


def numbers_in(words: np.ndarray) -> np.ndarray:
    """Numbers out of texts; what is not a number becomes NaN, like a missing value."""
    return np.fromiter(map(number_in, words), dtype=float, count=len(words))
