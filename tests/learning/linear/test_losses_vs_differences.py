"""Slopes and curvatures against finite differences, and the bounds that the proofs use."""

from __future__ import annotations

import numpy as np
import pytest

from hush.learning.linear.losses import Logistic, SmoothHinge, Softmax, Squared

LOSSES = [Logistic(1), Logistic(4), Softmax(4), SmoothHinge(1), SmoothHinge(4), Squared(1)]


def case(loss, seed=0, count=200, size=3.0):
    rng = np.random.default_rng(seed)
    z = size * rng.normal(size=(count, loss.scores))
    if isinstance(loss, Squared):
        return z, rng.uniform(-1, 1, (count, 1)), rng
    classes = 2 if loss.scores == 1 else loss.scores
    return z, loss.encode(rng.integers(0, classes, count), classes), rng


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_slopes_vs_differences(loss) -> None:
    z, target, rng = case(loss)
    along = rng.normal(size=z.shape)
    change = (loss.value(z + 1e-6 * along, target) - loss.value(z - 1e-6 * along, target)) / 2e-6
    assert np.allclose(change, (loss.slopes(z, target) * along).sum(axis=1), atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_curvature_vs_differences(loss) -> None:
    z, target, rng = case(loss, seed=5)
    along = rng.normal(size=z.shape)
    change = (loss.slopes(z + 1e-6 * along, target) - loss.slopes(z - 1e-6 * along, target)) / 2e-6
    near_corner = np.abs(change - loss.bent(z, target, along)).max(axis=1) > 1e-4
    assert near_corner.mean() < 0.01  # second derivatives of the hinge and of the squared loss jump


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("size", [0.1, 1.0, 30.0])
def test_bounds_hold(loss, size) -> None:
    z, target, rng = case(loss, seed=7, size=size)
    assert np.sqrt((loss.slopes(z, target) ** 2).sum(axis=1)).max() <= loss.slope * (1 + 1e-12)
    assert np.abs(loss.slopes(z, target)).max() <= loss.largest_slope * (1 + 1e-12)
    along = rng.normal(size=z.shape)
    bend = (along * loss.bent(z, target, along)).sum(axis=1)
    assert (bend >= -1e-12).all()
    assert (bend <= loss.largest_curvature * (along**2).sum(axis=1) * (1 + 1e-12)).all()
