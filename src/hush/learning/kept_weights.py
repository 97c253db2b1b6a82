"""Weights as text, and back: what a budget book keeps of a fit."""

from __future__ import annotations

import json

import numpy as np

from hush.arrays import Array
from hush.errors import LedgerError

EDITED = "The book has weights that cannot be read: it was edited."


def write_weights(weights: Array) -> str:
    """An array of numbers as JSON, every digit of it.

    >>> read_weights(write_weights(np.array([[0.1], [2.0]]))).tolist()
    [[0.1], [2.0]]
    """
    return json.dumps(weights.tolist())


def read_weights(text: str) -> Array:
    """The array in a text that `write_weights` made."""
    try:
        found = np.array(json.loads(text), dtype=float)
    except (ValueError, TypeError, RecursionError):
        raise LedgerError(EDITED) from None
    if found.ndim != 2:
        raise LedgerError(EDITED)
    return found


def read_texts(text: str) -> list[str]:
    """Texts of several arrays, in a list."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise LedgerError(EDITED) from None
    if not isinstance(found, list) or not all(isinstance(part, str) for part in found):
        raise LedgerError(EDITED)
    return found
