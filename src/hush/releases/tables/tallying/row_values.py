"""What an expression gives for each record of a batch, in numpy: the meaning that every engine must keep to."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import singledispatchmethod
from typing import Any

import numpy as np

from hush.releases.boundary import attempted
from hush.releases.row_wise import row_expressions as row
from hush.releases.row_wise.row_constants import ANY, NUMBER, TEXT, TRUTH, kind_of
from hush.releases.tables.columns import as_number

COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
COMPUTE: dict[str, Callable[[Any, Any], Any]] = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}
NULL = -1
"""A truth value that is null, beside 0 and 1; the code of a text that is null."""
PLAIN = {int, float, bool, type(None)}
"""Types that numpy makes floats of as Python does, all at once."""


@dataclass(frozen=True, eq=False)
class Texts:
    """Texts by their place in a list of different ones; NULL for null."""

    codes: np.ndarray
    words: list[str]

    def __len__(self) -> int:
        return len(self.codes)

    def mapped(self, table: Mapping[str, Any], missing: Any, dtype: Any) -> np.ndarray:
        """What a table has for each text, and the other value for null and for texts that it has not."""
        found = np.array([*(table.get(word, missing) for word in self.words), missing], dtype=dtype)
        return found[self.codes]


class RowValues:
    """The columns of a batch as they were read, and what expressions give on them.

    Numbers are float64, NaN for null; truth values int8, NULL for null; texts are `Texts`.

    >>> from hush.releases.row_wise.row_expressions import col
    >>> batch = RowValues({"age": np.array([17, 18, 40])}, {"age": "number"}, 3)
    >>> batch.truths(col("age") >= 18).tolist()
    [0, 1, 1]
    """

    def __init__(self, columns: Mapping[str, np.ndarray], kinds: Mapping[str, str], size: int) -> None:
        self._columns, self._kinds, self.size = columns, kinds, size
        self._read: dict[tuple[str, str], Any] = {}

    def at(self, places: np.ndarray) -> RowValues:
        """The records at these places."""
        columns = {name: column[places] for name, column in self._columns.items()}
        return RowValues(columns, self._kinds, len(places))

    def numbers(self, expression: row.Expression) -> np.ndarray:
        """The expression as numbers."""
        return self._as(expression, NUMBER)

    def truths(self, expression: row.Expression) -> np.ndarray:
        """The expression as truth values."""
        return self._as(expression, TRUTH)

    def texts(self, expression: row.Expression) -> Texts:
        """The expression as texts."""
        return self._as(expression, TEXT)

    def column(self, name: str) -> np.ndarray:
        """The cells of a column as they were read."""
        return self._columns[name]

    def gives(self, expression: row.Expression) -> str:
        """What the expression gives, by the schema."""
        return expression.gives(self._kinds)

    def _as(self, expression: row.Expression, kind: str) -> Any:
        with np.errstate(all="ignore"):
            return self._value(expression, kind)

    @singledispatchmethod
    def _value(self, expression: row.Expression, kind: str) -> Any:  # noqa: ARG002
        raise TypeError(type(expression).__name__)

    @_value.register
    def _column(self, expression: row.ColumnOf, kind: str) -> Any:
        place = (expression.name, kind)
        if place not in self._read:
            self._read[place] = READ[kind](self._columns[expression.name])
        return self._read[place]

    @_value.register
    def _constant(self, expression: row.Constant, kind: str) -> Any:
        value = expression.value
        if kind == TEXT:
            return Texts(np.zeros(self.size, dtype=np.int64), [str(value)])
        return np.full(self.size, value, dtype=float if kind == NUMBER else np.int8)

    @_value.register
    def _comparison(self, expression: row.Comparison, kind: str) -> np.ndarray:  # noqa: ARG002
        wanted = expression.compared(self._kinds)
        left, right = (self._value(side, wanted) for side in expression.parts)
        if isinstance(left, Texts):
            words = {word: place for place, word in enumerate(left.words)}
            codes = right.mapped(words, len(left.words), np.int64)
            null = (left.codes == NULL) | (right.codes == NULL)
            left, right = left.codes, codes
        else:
            null = is_null(left) | is_null(right)
        return _with_null(COMPARE[expression.operator](left, right), null)

    @_value.register
    def _logic(self, expression: row.Logic, kind: str) -> np.ndarray:  # noqa: ARG002
        left, right = (self._value(side, TRUTH) for side in expression.parts)
        decides = 0 if expression.operator == "and" else 1
        decided = (left == decides) | (right == decides)
        null = (left == NULL) | (right == NULL)
        return np.where(decided, decides, np.where(null, NULL, 1 - decides)).astype(np.int8)

    @_value.register
    def _negation(self, expression: row.Negation, kind: str) -> np.ndarray:  # noqa: ARG002
        of = self._value(expression.of, TRUTH)
        return np.where(of == NULL, NULL, 1 - of).astype(np.int8)

    @_value.register
    def _arithmetic(self, expression: row.Arithmetic, kind: str) -> np.ndarray:  # noqa: ARG002
        left, right = (self._value(side, NUMBER) for side in expression.parts)
        found = COMPUTE[expression.operator](left, right)
        return np.where(right == 0, np.nan, found) if expression.operator == "/" else found

    @_value.register
    def _is_null(self, expression: row.IsNull, kind: str) -> np.ndarray:  # noqa: ARG002
        given = expression.of.gives(self._kinds)
        if given == ANY:  # a cell that is empty, not one that is no number
            return is_null(self._value(expression.of, TEXT), self._columns.get(expression.of.columns[0])).astype(
                np.int8
            )
        return is_null(self._value(expression.of, given)).astype(np.int8)

    @_value.register
    def _is_in(self, expression: row.IsIn, kind: str) -> np.ndarray:  # noqa: ARG002
        of = self._value(expression.of, expression.compared(self._kinds))
        if isinstance(of, Texts):
            return of.mapped({word: int(word in expression.members) for word in of.words}, NULL, np.int8)
        return _with_null(np.isin(of, np.array(expression.members, dtype=of.dtype)), is_null(of))

    @_value.register
    def _lookup(self, expression: row.PublicLookup, kind: str) -> Any:
        of = self._value(expression.of, expression.compared(self._kinds))
        places = places_in(of, expression.keys)
        if kind == TEXT and kind_of(expression.values[0]) == TEXT:
            words = list(dict.fromkeys(expression.values))
            codes = (
                [words.index(value) for value in expression.values] if len(words) < 64 else _places(words, expression)
            )
            return Texts(np.array([*codes, NULL], dtype=np.int64)[places], [str(word) for word in words])
        missing, dtype = (np.nan, float) if kind == NUMBER else (NULL, np.int8)
        return np.array([*expression.values, missing], dtype=dtype)[places]


def _places(words: list[Any], expression: row.PublicLookup) -> list[int]:
    known = {word: place for place, word in enumerate(words)}
    return [known[value] for value in expression.values]


def places_in(values: np.ndarray | Texts, members: tuple[Any, ...]) -> np.ndarray:
    """Which of the members each value is; NULL for null and for none.

    >>> places_in(np.array([3.0, np.nan, 1.0, 2.0]), (1, 3)).tolist()
    [1, -1, 0, -1]
    """
    if isinstance(values, Texts):
        return values.mapped({str(member): place for place, member in enumerate(members)}, NULL, np.int64)
    given = np.array(members, dtype=values.dtype)
    order = np.argsort(given, kind="stable")
    found = np.minimum(np.searchsorted(given[order], values), len(given) - 1)
    return np.where(given[order][found] == values, order[found], NULL)


def is_null(values: np.ndarray | Texts, cells: np.ndarray | None = None) -> np.ndarray:
    """Where nothing is known; of cells without a type, also where they are no text but something else."""
    if isinstance(values, Texts):
        null = values.codes == NULL
        if cells is not None and cells.dtype.kind == "O":
            null = null & np.fromiter((missing(cell) for cell in cells), dtype=bool, count=len(cells))
        return null
    return np.isnan(values) if values.dtype.kind == "f" else values == NULL


def missing(cell: Any) -> bool:
    """Whether a cell of no declared type holds nothing: None, NaN, an empty text, or what cannot tell."""
    return attempted(lambda: cell is None or bool(cell == "") or bool(cell != cell), True)


def as_numbers(cells: np.ndarray) -> np.ndarray:
    """Cells as float64, NaN where there is none."""
    if cells.dtype.kind in "fiub":
        return cells.astype(float, copy=False)
    if set(map(type, cells)) <= PLAIN:
        found = attempted(lambda: cells.astype(float), None)  # None becomes NaN; a number may be too large for it
        if found is not None:
            return found
    return np.fromiter(map(as_number, cells), dtype=float, count=len(cells))


def as_truths(cells: np.ndarray) -> np.ndarray:
    """Cells as 0 and 1, NULL where there is none; the texts true and false count, and the numbers 0 and 1."""
    if cells.dtype.kind == "b":
        return cells.astype(np.int8)
    return np.fromiter((attempted(lambda cell=cell: _truth(cell), NULL) for cell in cells), np.int8, len(cells))


def as_texts(cells: np.ndarray) -> Texts:
    """Cells as texts; empty ones, and what is no text, are null."""
    if cells.dtype.kind == "U":
        cells = cells.astype(object)
    if cells.dtype.kind != "O":
        return Texts(np.full(len(cells), NULL, dtype=np.int64), [])
    return attempted(lambda: _by_arrow(cells), None) or _one_by_one(cells)


READ: dict[str, Callable[[np.ndarray], Any]] = {NUMBER: as_numbers, TRUTH: as_truths, TEXT: as_texts}


def _by_arrow(cells: np.ndarray) -> Texts | None:
    """Through Arrow's dictionary, where all cells are texts or None."""
    import pyarrow

    column = pyarrow.array(cells, from_pandas=False)
    if not pyarrow.types.is_string(column.type):  # bytes would become texts, if texts were asked for
        return None
    found = column.dictionary_encode()
    words = found.dictionary.to_pylist()
    codes = found.indices.fill_null(NULL).to_numpy(zero_copy_only=False).astype(np.int64)
    if "" in words:
        codes[codes == words.index("")] = NULL
    return Texts(codes, words)


def _one_by_one(cells: np.ndarray) -> Texts:
    places: dict[str, int] = {}
    codes = (places.setdefault(str.__str__(c), len(places)) if isinstance(c, str) and len(c) else NULL for c in cells)
    return Texts(np.fromiter(codes, dtype=np.int64, count=len(cells)), list(places))


def _truth(cell: Any) -> int:
    if isinstance(cell, str):
        return {"true": 1, "false": 0, "1": 1, "0": 0}.get(cell.lower(), NULL)
    return int(bool(cell)) if cell in (0, 1) else NULL


def _with_null(found: np.ndarray, null: np.ndarray) -> np.ndarray:
    return np.where(null, NULL, found).astype(np.int8)
