"""Sums of clipped gradients are exact, and one record moves them by at most the clipping norm."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hush.learning.linear.bounded_rows import (
    BITS,
    BLOCK,
    LARGEST_NORM,
    BoundedRecords,
    ExactSums,
    bounded,
    exact_scores,
)
from hush.learning.linear.losses import Logistic, SmoothHinge, Softmax, Squared

LOSSES = [Logistic(1), Softmax(3), SmoothHinge(3), Squared(1)]
WILD = st.floats(allow_nan=True, allow_infinity=True, width=64)


def records(loss, rng, count, size=1.0):
    rows, usable = bounded(size * rng.normal(size=(count, 4)), 1.0)
    if isinstance(loss, Squared):
        targets = rng.uniform(-1, 1, (count, 1))
    else:
        classes = 2 if loss.scores == 1 else loss.scores
        targets = loss.encode(rng.integers(0, classes, count), classes)
    return BoundedRecords.of(rows, usable, targets)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_order_and_blocks_change_nothing(loss) -> None:
    rng = np.random.default_rng(1)
    data = records(loss, rng, BLOCK + 1000)
    weights = 10 * rng.normal(size=(5, loss.scores))
    whole = ExactSums(data)(loss, weights, 1.0)
    shuffled = ExactSums(data.part(rng.permutation(len(data.rows))))(loss, weights, 1.0)
    assert np.array_equal(whole, shuffled)
    parts = [
        ExactSums(data.part(places))(loss, weights, 1.0) for places in np.array_split(np.arange(len(data.rows)), 7)
    ]
    assert np.array_equal(whole, sum(parts))


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("clip", [0.01, 0.5, 4.0])
def test_one_record_moves_the_sum_by_at_most_the_clip(loss, clip) -> None:
    rng = np.random.default_rng(2)
    data = records(loss, rng, 60, size=3.0)
    weights = 30 * rng.normal(size=(5, loss.scores))
    limit = (Fraction(clip) * 2 ** (2 * BITS)) ** 2
    for k in range(60):
        without = ExactSums(data.part(np.delete(np.arange(60), k)))(loss, weights, clip)
        moved = ExactSums(data)(loss, weights, clip) - without
        assert sum(int(v) ** 2 for v in moved.ravel()) <= limit


def test_clipped_sum_vs_plain_floats() -> None:
    rng = np.random.default_rng(3)
    loss, weights = Softmax(3), rng.normal(size=(5, 3))
    data = records(loss, rng, 500)
    slopes = loss.slopes(data.rows @ weights, data.targets)
    gradients = data.rows[:, :, None] * slopes[:, None, :]
    norms = np.sqrt((gradients**2).sum(axis=(1, 2)))
    plain = (gradients * np.minimum(1, 0.3 / norms)[:, None, None]).sum(axis=0)
    ours = ExactSums(data)(loss, weights, 0.3) / 2.0 ** (2 * BITS)
    assert np.allclose(ours, plain, atol=500 * 2.0**-16)


@given(st.lists(st.lists(WILD, min_size=3, max_size=3), min_size=1, max_size=5), st.floats(1e-6, 1e6))
@settings(max_examples=60, deadline=None)
def test_rows_are_bounded_whatever_the_values(table, norm) -> None:
    rows, usable = bounded(np.array(table), norm)
    assert np.isfinite(rows).all()
    for row, good, values in zip(rows, usable, table, strict=True):
        exact = sum(Fraction(v) ** 2 for v in row.tolist())
        assert exact <= 1
        assert exact + Fraction(1, 16) <= Fraction(LARGEST_NORM) ** 2
        assert bool(good) == all(map(math.isfinite, values))
        assert good or not row.any()


def test_short_rows_are_kept_and_long_ones_keep_their_direction() -> None:
    rows, _ = bounded(np.array([[0.3, 0.4], [30.0, 40.0], [0.0, 0.0]]), 2.0)
    assert np.allclose(rows, [[0.15, 0.2], [0.6, 0.8], [0, 0]], atol=1e-11)


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e9])
def test_a_score_does_not_depend_on_the_other_rows(size) -> None:
    """In floats it does: products of matrices treat the last rows differently."""
    rng = np.random.default_rng(6)
    rows, _ = bounded(rng.normal(size=(203, 99)), 1.0)
    sums, weights = (
        ExactSums(BoundedRecords.of(rows, np.full(203, True), np.zeros((203, 1)))),
        size * rng.normal(size=(100, 3)),
    )
    scores = exact_scores(sums.whole, weights)
    for k in range(0, 203, 9):
        assert np.array_equal(exact_scores(np.delete(sums.whole, k, 0), weights), np.delete(scores, k, 0))
    assert np.allclose(scores, np.ldexp(sums.whole, -BITS) @ weights, rtol=0, atol=1e-8 * size)
    assert np.isnan(exact_scores(sums.whole, np.full((100, 1), math.inf))).all()
