"""Tables and targets as arrays. Shapes and types may raise; what a single record holds raises nothing, nor warns."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from hush.arrays import Array
from hush.errors import InvalidParameter
from hush.learning.boundary import attempt, quiet
from hush.learning.linear.scikit_learn import (
    DataConversionWarning,
    PrivateEstimator,
    Table,
    check_array,
    column_or_1d,
    validate_data,
)

MOST_ENTRIES = 1 << 28
"""Of a sparse matrix: two gigabytes once its zeros are written out."""
PUBLIC = (
    "Expected 2D array",
    "Found array with",
    "Complex data not supported",
    "Sparse data was passed",
    "y should be",
)
"""How messages of scikit-learn begin that tell of shapes and types alone, in their first line."""


def checked_data(model: PrivateEstimator, X: Table, y: Table, *, numbers: bool = False) -> tuple[Array, Array]:
    """Rows as floats, and targets: numbers or labels."""
    table = checked_rows(model, X)
    targets = checked_numbers(model, y) if numbers else checked_labels(model, y)
    if len(table) != len(targets):
        raise ValueError("Found input variables with inconsistent numbers of samples: X and y need one row per record.")
    return table, targets


def checked_rows(model: PrivateEstimator, X: Table, *, reset: bool = True) -> Array:
    """Rows as an array of floats; an entry that is not a number is a hole, and so is a row of another length."""

    def convert(values: Any) -> Array:
        least = 0 if reset else 1
        return check_array(
            values,
            estimator=model,
            input_name="X",
            dtype=np.float64,
            ensure_all_finite=False,
            ensure_min_samples=least,
        )

    X = _dense(model, X)
    table = _converted(model, X, convert, lambda: _in_columns(X))
    validate_data(model, X if hasattr(X, "columns") else table, reset=reset, skip_check_array=True)
    return table


def _dense(model: PrivateEstimator, X: Any) -> Any:
    """A sparse matrix with its zeros written out: rows are scaled, and sums are exact, as those of any table."""
    if not bool(sparse.issparse(X)):
        return X
    if math.prod(X.shape) > MOST_ENTRIES:
        rule = f"a sparse matrix of at most {MOST_ENTRIES} entries, its zeros counted: project it by a public matrix"
        raise InvalidParameter(type(model).__name__, rule, columns=X.shape[-1])
    return X.toarray(order="C")


def checked_numbers(model: PrivateEstimator, y: Any) -> Array:
    """Targets as floats; what is not a number is a hole."""
    return _converted(
        model, y, lambda values: column_or_1d(values, warn=True, dtype=np.float64), lambda: _as_objects(list(y))
    )


def checked_labels(model: PrivateEstimator, y: Any) -> Array:
    """Labels as an array: of objects where a list has labels of several kinds, so that none of them changes others."""
    if isinstance(y, list | tuple) and not _of_one_kind(y):
        return _as_objects(y)
    return _converted(model, y, lambda values: column_or_1d(values, warn=True), lambda: None)


def _as_objects(entries: Sequence[Any]) -> Array:
    """One by one: numpy would look into those that are sequences."""
    cells = np.empty(len(entries), dtype=object)
    for place, entry in enumerate(entries):
        cells[place] = entry
    return cells


def _of_one_kind(labels: Sequence[Any]) -> bool:
    nested = sum(isinstance(label, list | tuple | np.ndarray) for label in labels)
    if 2 * nested > len(labels):  # another axis, which is not for us to read
        return True
    return any(all(isinstance(label, kind) for label in labels) for kind in (str, Real | np.number | np.bool_))


def _converted(
    model: PrivateEstimator, values: Any, convert: Callable[[Any], Array], cells: Callable[[], Array | None]
) -> Array:
    """What scikit-learn makes of the values; where it fails because of some, of what numbers there are.

    Its warnings about values are not shown, but that about the shape of targets is.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = _tried(model, lambda: convert(values))
        if isinstance(found, Exception) and getattr(getattr(values, "dtype", None), "kind", "O") in "OUS":
            entries = attempt(cells)
            if entries is not None and len(entries):
                cleaned = _numbers(model, entries)
                found = _tried(model, lambda: convert(cleaned))
    if isinstance(found, Exception):
        raise found from None
    for warning in caught:
        if warning.category is DataConversionWarning:
            warnings.warn(warning.message, stacklevel=4)
    return found


def _tried(model: PrivateEstimator, run: Callable[[], Array]) -> Array | Exception:
    """The result, or an error that says no more than the first line of scikit-learn's, and that only if it may."""
    try:
        return run()
    except Exception as error:
        text = str(error)
        if text.startswith(PUBLIC):
            hint = " Reshape your data to one row per record." if "Reshape your data" in text else ""
            kind = TypeError if isinstance(error, TypeError) else ValueError
            return kind(text.splitlines()[0] + hint)
    return InvalidParameter(type(model).__name__, "columns of numbers", dtype="object")


def _in_columns(X: Any) -> Array | None:
    """Entries as objects in rows and columns; of a list, rows as long as most are."""
    if not isinstance(X, list | tuple):
        cells = np.asarray(X, dtype=object)
        return cells if cells.ndim == 2 else None
    lengths = Counter(len(row) for row in X if _is_row(row))
    width, most = lengths.most_common(1)[0] if lengths else (0, 0)
    if not width or 2 * most < len(X):
        return None
    cells = np.empty((len(X), width), dtype=object)
    for place, row in enumerate(X):
        cells[place] = _as_objects(row) if _is_row(row) and len(row) == width else None
    return cells


def _is_row(row: Any) -> bool:
    return isinstance(row, list | tuple) or (isinstance(row, np.ndarray) and row.ndim == 1)


def _numbers(model: PrivateEstimator, cells: Array) -> Array:
    """Entries as floats, holes for those that are none.

    Where half of a column is something else it is no column of numbers: no single record decides that.
    """
    with quiet():
        read = [attempt(lambda entry=entry: float(entry)) for entry in cells.ravel()]
    values = np.array([np.nan if value is None else value for value in read]).reshape(cells.shape)
    odd = [value is None and not _is_hole(entry) for value, entry in zip(read, cells.ravel(), strict=True)]
    if (2 * np.reshape(odd, cells.shape).sum(axis=0) >= len(cells)).any():
        raise InvalidParameter(type(model).__name__, "columns of numbers", dtype="object") from None
    return values


def _is_hole(entry: Any) -> bool:
    return entry is None or type(entry).__name__ in ("NAType", "NaTType")


def placed(labels: Array, classes: Array) -> tuple[Array, Array]:
    """The number of each label among the sorted classes, and whether it is one of them; a hole is none."""
    if labels.dtype.kind == "O":  # strings and holes have no order
        numbers = {name: place for place, name in enumerate(classes.tolist())}
        with quiet():
            found = [attempt(lambda label=label: numbers.get(label, -1)) for label in labels]
        places = np.array([-1 if place is None else place for place in found], dtype=np.int64)
        return np.maximum(places, 0), places >= 0
    places = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    return places, classes[places] == labels


def comparable(labels: Array, classes: Array) -> bool:
    """Whether labels are of the type of the classes, or most of them are."""
    numbers = "biuf"
    if labels.dtype.kind != "O":
        kinds = [array.dtype.kind for array in (labels, classes)]
        return kinds[0] == kinds[1] or all(kind in numbers for kind in kinds)
    wanted = Real | np.number | np.bool_ if classes.dtype.kind in numbers else str
    other = str if classes.dtype.kind in numbers else Real | np.number | np.bool_
    wrong = sum(isinstance(label, other) and not isinstance(label, wanted) for label in labels)
    return classes.dtype.kind == "O" or 2 * wrong <= len(labels)
