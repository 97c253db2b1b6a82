"""Products of small tables, outcome by outcome."""

from __future__ import annotations

import itertools
import math

import numpy as np


def enumerated(tables: list[tuple[np.ndarray, np.ndarray]], epsilon: float) -> float:
    """delta of the product of tables of (P, Q), outcome by outcome."""
    total = 0.0
    for outcome in itertools.product(*(range(len(p)) for p, _ in tables)):
        p = math.prod(t[0][k] for t, k in zip(tables, outcome, strict=True))
        q = math.prod(t[1][k] for t, k in zip(tables, outcome, strict=True))
        total += max(p - math.exp(epsilon) * q, 0.0)
    return total
