"""Outputs of simulated runs."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from hush.arrays import Array


def columns(parts: Iterable[Array]) -> Array:
    """Simulated outputs of several mechanisms, one row per run.

    >>> columns([np.zeros(2), np.ones((2, 2))]).tolist()
    [[0.0, 1.0, 1.0], [0.0, 1.0, 1.0]]
    """
    return np.concatenate([part if part.ndim == 2 else part[:, None] for part in parts], axis=1)
