"""What people report, and what is stated of it, checked; no value of a person is told."""

from __future__ import annotations

from typing import Any

import numpy as np

from hush.arrays import Array
from hush.errors import InvalidParameter
from hush.mechanisms.fields import whole
from hush.mechanisms.stated_epsilon import EpsilonField

LOCAL_EPSILON = EpsilonField(1e-4, 30)
"""Local epsilons that floats can follow."""

CHOICES = whole(2, 10**6)
"""How many values there are to report."""

SURE = 1 + 2.0**-48
"""A chance to lie is raised by this much: more than the few roundings (2^-53 each) of the float that holds it, so that
a report never gives away more than its epsilon."""


def checked_values(who: str, values: Any, choices: int) -> Array:
    """Values 0 .. choices-1, one per person; what they are is not told, as they are people's own."""
    found = np.asarray(values)
    if found.ndim != 1 or not np.issubdtype(found.dtype, np.integer) or not np.all((found >= 0) & (found < choices)):
        rule = f"whole numbers from 0 to {choices - 1}, one per person"
        raise InvalidParameter(who, rule, values=f"{found.dtype}{list(found.shape)}")
    return found.astype(np.int64)


def checked_numbers(who: str, values: Any) -> Array:
    """Numbers from 0 to 1, one per person; what they are is not told."""
    found = np.asarray(values, dtype=float)
    if found.ndim != 1 or not np.all((found >= 0) & (found <= 1)):
        raise InvalidParameter(who, "numbers from 0 to 1, one per person", values=f"{found.dtype}{list(found.shape)}")
    return found
