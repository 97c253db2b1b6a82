"""One name for arrays of numbers, and several of them side by side."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]


def columns(parts: Iterable[Array]) -> Array:
    """Numbers, or rows of them, as the rows of one array.

    >>> columns([np.zeros(2), np.ones((2, 2))]).tolist()
    [[0.0, 1.0, 1.0], [0.0, 1.0, 1.0]]
    """
    return np.concatenate([part if part.ndim == 2 else part[:, None] for part in parts], axis=1)
