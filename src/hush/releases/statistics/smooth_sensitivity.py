"""Smooth sensitivity of order statistics, exactly and fast: a fact about the data, itself NOT private."""

from __future__ import annotations

import math

import numpy as np

from hush.arrays import Array

DEEPEST = 700.0
"""Weights below exp(-700) of the range are left out: less than the least float that keeps its digits."""


def smooth_of_sorted(ordered: Array, *, rank: int, beta: float, bounds: tuple[float, float]) -> float:
    """max over k of exp(-beta k) A_k for the order statistic of this rank (from 1) of sorted values within the bounds.

    A_k = max over 0 <= t <= k+1 of x_(m+t) - x_(m+t-k-1), with the bounds for x before the first and after the last,
    is the largest local sensitivity at distance k (Nissim, Raskhodnikova, Smith 2007, Prop. 3.3; replacing one
    record of a fixed number). With i values down and j up from the rank, it is the largest (b_j - a_i) exp(-beta
    (i + j - 1)), whose best j falls as i grows; so all rows are searched in O(K log K), K = log(range / S) / beta.

    >>> smooth_of_sorted(np.array([4.0, 5.0, 6.0]), rank=2, beta=0.5, bounds=(0.0, 10.0))
    3.0326...
    """
    low, high = bounds
    left, right = len_left(ordered, rank), len_right(ordered, rank)
    known = _coarse(ordered, rank, beta, bounds)
    span = float(high) - float(low)
    if span <= 0:
        return 0.0
    deepest = math.log(span / known) if known > 0 else DEEPEST
    reach = math.floor(min(deepest, DEEPEST) / beta) + 2
    down = values_at(ordered, rank - np.arange(min(left, reach) + 1), bounds)
    up = values_at(ordered, rank + np.arange(min(right, reach) + 1), bounds)
    return max(known, _largest(down, up, beta))


def len_left(ordered: Array, rank: int) -> int:
    """How far down from the rank the values change: to the place before the first."""
    return min(rank, len(ordered) + 1)


def len_right(ordered: Array, rank: int) -> int:
    """How far up: to the place after the last."""
    return max(len(ordered) + 1 - rank, 0)


def values_at(ordered: Array, ranks: Array, bounds: tuple[float, float]) -> Array:
    """Values at ranks from 1, as floats; the bounds outside of 1..n."""
    low, high = bounds
    size = len(ordered)
    if not size:
        return np.where(ranks < 1, float(low), float(high))
    inside = np.asarray(ordered[np.clip(ranks - 1, 0, size - 1)], dtype=float)
    return np.where(ranks < 1, float(low), np.where(ranks > size, float(high), inside))


def _coarse(ordered: Array, rank: int, beta: float, bounds: tuple[float, float]) -> float:
    """A lower bound: the largest among powers of two of steps down and up."""
    steps = [_powers(len_left(ordered, rank)), _powers(len_right(ordered, rank))]
    down, up = (values_at(ordered, rank + sign * k, bounds) for sign, k in zip((-1, 1), steps, strict=True))
    moved = steps[0][:, None] + steps[1][None, :]
    found = (up[None, :] - down[:, None]) * np.exp(-beta * np.maximum(moved - 1, 0))
    return float(np.max(np.where(moved > 0, found, 0.0)))


def _powers(most: int) -> Array:
    return np.unique(np.array([0, most, *(2**k for k in range(most.bit_length()))], dtype=np.int64).clip(0, most))


def _largest(down: Array, up: Array, beta: float) -> float:
    """The largest (up_j - down_i) exp(-beta (i + j - 1)), row by row of i, level by level of a halving search."""
    rows = down[::-1]
    weights = np.exp(-beta * np.arange(len(up)))
    best = np.zeros(len(rows))
    places = np.zeros(len(rows), dtype=np.int64)
    stride = 1 << max(len(rows) - 1, 1).bit_length()
    while stride >= 1:
        middle = np.arange(stride - 1, len(rows), 2 * stride)
        if len(middle):
            before, after = middle - stride, middle + stride
            first = np.where(before >= 0, places[np.maximum(before, 0)], 0)
            last = np.where(after < len(rows), places[np.minimum(after, len(rows) - 1)], len(up) - 1)
            best[middle], places[middle] = _best_of(rows[middle], up, weights, first, np.maximum(first, last))
        stride >>= 1
    steps = np.arange(len(rows) - 1, -1, -1, dtype=float)
    # i = j = 0 is no change at all; its value is 0 and stays harmless
    return float(np.max(best * np.exp(-beta * (steps - 1)), initial=0.0))


def _best_of(rows: Array, up: Array, weights: Array, first: Array, last: Array) -> tuple[Array, Array]:
    """Each row's largest value among its columns first..last, and the first column that has it."""
    lengths = last - first + 1
    starts = np.cumsum(lengths) - lengths
    columns = np.arange(int(lengths.sum())) + np.repeat(first - starts, lengths)
    values = (up[columns] - np.repeat(rows, lengths)) * weights[columns]
    largest = np.maximum.reduceat(values, starts)
    hits = np.flatnonzero(values == np.repeat(largest, lengths))
    return largest, columns[hits[np.searchsorted(hits, starts)]]
