"""Order statistics of long data without sorting all of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from hush.arrays import Array

SHORT = 1 << 17
"""Up to so many values are sorted whole."""
PILOT = 1 << 16
"""Values that choose where to cut: five standard errors of a rank are then 1% of the values."""


def order_statistics(values: Array, first: int, last: int) -> Array:
    """The values of ranks first..last (from 1), in order; values must hold no NaN.

    Two cuts from a thin pilot leave a small part to sort. Where they miss, all values are partitioned, which takes
    longer and gives the same.

    >>> order_statistics(np.array([5.0, 1.0, 4.0, 2.0]), 2, 3).tolist()
    [2.0, 4.0]
    """
    size = len(values)
    if size > SHORT and last - first < size // 8:
        low, high = _cuts(values, first, last)
        below = int(np.count_nonzero(values < low))
        part = values[(values >= low) & (values <= high)]
        if below < first and last <= below + len(part):
            return _between(part, first - below, last - below)
    return _between(values, first, last)


def _cuts(values: Array, first: int, last: int) -> tuple[Any, Any]:
    pilot = np.sort(values[:: len(values) // PILOT])
    margin = 5 * np.sqrt(len(pilot)) / 2
    low, high = (rank / len(values) * len(pilot) for rank in (first, last))
    return pilot[max(int(low - margin), 0)], pilot[min(int(high + margin) + 1, len(pilot) - 1)]


def _between(values: Array, first: int, last: int) -> Array:
    if len(values) <= SHORT or last - first > len(values) // 8:
        return np.sort(values)[first - 1 : last]
    return np.sort(np.partition(values, (first - 1, last - 1))[first - 1 : last])
