"""Scores and labels as users give them, checked before an audit looks at them."""

from __future__ import annotations

from typing import Any

import numpy as np

from hush.arrays import Array
from hush.errors import InvalidParameter


def finite_numbers(who: str, **field: Any) -> Array:
    """The value of the one keyword as a one-dimensional array of finite numbers; booleans count as 0 and 1.

    >>> finite_numbers("scores", scores=[True, 2])
    array([1., 2.])
    """
    ((name, value),) = field.items()
    array = np.asarray(value)
    if array.dtype.kind not in "biuf" or array.ndim != 1:
        raise InvalidParameter(who, "a list of numbers", **{name: f"{array.dtype} of shape {array.shape}"})
    with np.errstate(over="ignore"):  # a longer float may be too large: it is refused below
        array = array.astype(float)
    if not np.isfinite(array).all():  # how many, and which, is not said: scores are of records
        raise InvalidParameter(who, "finite numbers (no NaN, no infinity)", **{name: "some are not"})
    return array


def zeros_and_ones(who: str, length: int, **field: Any) -> Array:
    """The value of the one keyword as booleans, as many as there are scores.

    >>> zeros_and_ones("members", 2, members=[1, 0])
    array([ True, False])
    """
    ((name, value),) = field.items()
    array = finite_numbers(who, **{name: value})
    if len(array) != length or not np.all((array == 0) | (array == 1)):
        rule = f"one label for each of {length} scores, 1 for a member and 0 for the others"
        raise InvalidParameter(who, rule, **{name: f"{len(array)} values"})
    return array == 1
