"""What is used of scikit-learn, in one place and with types: the package has none of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from numpy.typing import ArrayLike

from hush.arrays import Array
from hush.errors import NotInstalled

try:
    from sklearn import base, exceptions, utils
    from sklearn.utils import multiclass, validation
except ImportError:
    raise NotInstalled("A model in scikit-learn's style", "scikit-learn", "learn") from None

Table: TypeAlias = ArrayLike
"""Rows of numbers: an array, nested lists, a data frame, or a sparse matrix of scipy."""
ClassifierMixin = base.ClassifierMixin
RegressorMixin = base.RegressorMixin
DataConversionWarning = exceptions.DataConversionWarning
clone: Callable[[Any], Any] = base.clone
assert_all_finite: Callable[..., None] = utils.assert_all_finite
check_array: Callable[..., Array] = utils.check_array
check_classification_targets: Callable[[Any], None] = multiclass.check_classification_targets
check_is_fitted: Callable[[Any], None] = validation.check_is_fitted
column_or_1d: Callable[..., Array] = validation.column_or_1d
validate_data: Callable[..., Any] = validation.validate_data


class PrivateEstimator(base.BaseEstimator):
    """An estimator that draws noise, and for which a row with a hole is a record without influence."""

    def __sklearn_tags__(self) -> utils.Tags:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags
