"""Rows of bounded norm, and exact sums of clipped gradients over them.

Rows and slopes are cut to 18 bits towards zero, which lowers norms. Their products are then integers that floats hold
exactly, so that a sum has no rounding error whatever its order, and one record moves it by no more than its own norm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hush.arrays import Array
from hush.errors import InvalidParameter
from hush.learning.linear.losses import LinearLoss
from hush.randomness.binary_grid import BinaryGrid

INTERCEPT = 0.25
"""The constant entry that each row of norm at most 1 gets: the intercept is learnt, and regularised, as its weight."""
LARGEST_NORM = math.sqrt(1 + INTERCEPT**2) * (1 + 2**-50)
"""Of a row with that entry."""

BITS = 18
GRID = BinaryGrid(-2 * BITS)
"""What sums of gradients are multiples of."""
BLOCK = 1 << 14
"""Rows per block: its partial sums stay below 2^53 for a clipping norm up to 8."""
MOST_ROWS = 1 << 24
"""Then the sums of all rows stay below 2^63."""
SCORE_BITS = 34
"""Of the weights: products with rows of norm below 2^18.1 then sum up to less than 2^53."""
SLACK = 1 - 2.0**-40
"""More than the rounding error of a norm of less than a thousand million entries."""


def bounded(table: Array, data_norm: float, *, clip: bool = True) -> tuple[Array, Array]:
    """Rows over `data_norm`, longer ones scaled down to norm 1, and which rows are numbers; others become zeros.

    >>> bounded(np.array([[3.0, 4.0], [0.3, 0.4], [1.0, np.nan]]), 1.0)[0].round(3).tolist()
    [[0.6, 0.8], [0.3, 0.4], [0.0, 0.0]]
    """
    if len(table) > MOST_ROWS:
        rule = f"at most {MOST_ROWS} rows, whose gradients whole numbers of 64 bits can sum up exactly"
        raise InvalidParameter("fit", rule, rows=len(table))
    usable = np.asarray(np.isfinite(table).all(axis=1))
    table = np.where(usable[:, None], table, 0.0)
    if not clip:
        with np.errstate(all="ignore"):
            return np.nan_to_num(table / data_norm), usable
    largest = np.abs(table).max(axis=1, initial=0.0, keepdims=True)
    safe = np.where(largest > 0, largest, 1.0)
    with np.errstate(all="ignore"):  # a warning would tell of a value
        unit = table / safe  # so that squares do not overflow
        norm = np.maximum(np.sqrt((unit**2).sum(axis=1, keepdims=True)), 1.0)
        return unit * np.minimum(safe / data_norm, SLACK / norm), usable


@dataclass(frozen=True, eq=False)
class BoundedRecords:
    """Rows of norm at most LARGEST_NORM (zeros for records that cannot be used), and one target per score."""

    rows: Array
    targets: Array

    @classmethod
    def of(cls, rows: Array, usable: Array, targets: Array) -> BoundedRecords:
        """With the constant entry; what cannot be used is all zeros, so that its gradient is."""
        full = np.column_stack([rows, np.full(len(rows), INTERCEPT)])
        keep = usable[:, None]
        return cls(np.where(keep, full, 0.0), np.where(keep, targets, 0.0))

    def part(self, places: Array) -> BoundedRecords:
        """Some of the records."""
        return BoundedRecords(self.rows[places], self.targets[places])

    def column(self, place: int) -> BoundedRecords:
        """The same rows with one of the targets."""
        return BoundedRecords(self.rows, self.targets[:, place : place + 1])


def exact_scores(whole: Array, weights: Array) -> Array:
    """Rows, given as multiples of 2^-BITS, times weights that are cut to SCORE_BITS: no sum rounds.

    A matrix product in floats may round a row's score differently when the number of rows is another one. Then one
    record more could move what others add.
    """
    size = float(np.abs(weights).max()) * math.sqrt(len(weights))  # no norm of a score's weights is larger
    if not math.isfinite(size):
        return np.full((len(whole), weights.shape[1]), np.nan)
    exponent = math.frexp(size)[1]
    coarse = np.trunc(np.ldexp(weights, SCORE_BITS - exponent))
    return np.ldexp(whole @ coarse, exponent - SCORE_BITS - BITS)


class ExactSums:
    """Sums of clipped gradients as integers on GRID; a record moves them by at most the clipping norm, exactly."""

    def __init__(self, records: BoundedRecords) -> None:
        self.whole = np.trunc(np.ldexp(records.rows, BITS))
        self.targets = records.targets
        self.norms = np.ldexp(np.sqrt((self.whole**2).sum(axis=1)), -BITS)

    def __call__(self, loss: LinearLoss, weights: Array, clip: float, places: Array | slice = slice(None)) -> Array:
        """The sum over the records at these places."""
        whole = self.whole[places]
        slopes = np.nan_to_num(loss.slopes(exact_scores(whole, weights), self.targets[places]), posinf=0.0, neginf=0.0)
        size = np.sqrt((slopes**2).sum(axis=1)) * self.norms[places]
        factor = np.minimum(1.0, clip * SLACK / np.maximum(size, 1e-300))
        cut = np.trunc(np.ldexp(slopes * factor[:, None], BITS))
        total = np.zeros(weights.shape, dtype=np.int64)
        for start in range(0, len(whole), BLOCK):
            block = slice(start, start + BLOCK)
            total += (whole[block].T @ cut[block]).astype(np.int64)
        return total
