"""private=False is the same objective without noise and without clipping."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize
from sklearn import linear_model
from sklearn.datasets import load_breast_cancer, load_digits

from hush import learning
from hush.learning.linear.bounded_rows import INTERCEPT, BoundedRecords, bounded
from hush.learning.linear.losses import Logistic, SmoothHinge, Softmax, Squared
from hush.learning.linear.solver import Risk, minimiser


def unit_rows(table):
    table = (table - table.mean(axis=0)) / (table.std(axis=0) + 1e-9)
    return table / np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-9)


@pytest.mark.parametrize("load", [load_breast_cancer, load_digits])
def test_logistic_regression(load) -> None:
    table, labels = load(return_X_y=True)
    table = unit_rows(table)
    ours = learning.LogisticRegression(
        data_norm=1.0, classes=np.unique(labels), regularization=1e-3, private=False
    ).fit(table, labels)
    full = np.column_stack([table, np.full(len(table), INTERCEPT)])
    theirs = linear_model.LogisticRegression(C=1e3 / len(table), fit_intercept=False, tol=1e-10, max_iter=5000)
    theirs.fit(full, labels)
    assert np.allclose(ours.coef_, theirs.coef_[:, :-1], atol=1e-3)
    assert np.allclose(ours.intercept_, theirs.coef_[:, -1] * INTERCEPT, atol=1e-3)
    assert ours.guarantee_ is None
    assert not ours.private_


def test_linear_regression_vs_ridge() -> None:
    rng = np.random.default_rng(1)
    table = 5 * rng.normal(size=(300, 4))
    target = table @ [1.0, -2.0, 0.0, 3.0] + 7 + rng.normal(size=300)
    ours = learning.LinearRegression(data_norm=20.0, target_bounds=(-80, 80), regularization=1e-3, private=False).fit(
        table, target
    )
    full = np.column_stack([table / 20, np.full(300, INTERCEPT)])
    theirs = linear_model.Ridge(alpha=0.3, fit_intercept=False).fit(full, target / 80)
    assert np.allclose(ours.coef_, theirs.coef_[:-1] * 80 / 20, atol=1e-6)
    assert np.isclose(ours.intercept_, theirs.coef_[-1] * INTERCEPT * 80, atol=1e-6)


def test_rows_beyond_the_norm_are_not_clipped() -> None:
    table, labels = load_breast_cancer(return_X_y=True)
    table = unit_rows(table)
    whole = learning.LogisticRegression(data_norm=1.0, classes=[0, 1], private=False, regularization=1e-2)
    small = learning.LogisticRegression(data_norm=0.5, classes=[0, 1], private=False, regularization=1e-2)
    # rows twice as long in units of the norm: a quarter of the penalty is the same problem, but for the intercept
    difference = small.set_params(regularization=4e-2).fit(table, labels).coef_ - whole.fit(table, labels).coef_
    assert np.abs(difference).max() < 0.1 * np.abs(whole.coef_).max()


@pytest.mark.parametrize("loss", [Logistic(1), Softmax(3), SmoothHinge(3), Squared(1)], ids=str)
@pytest.mark.parametrize("ridge", [1e-3, 1.0, 1e3])
def test_solver_reaches_its_gradient_and_scipy_agrees(loss, ridge) -> None:
    rng = np.random.default_rng(3)
    rows, usable = bounded(rng.normal(size=(80, 3)), 1.0)
    if isinstance(loss, Squared):
        targets = rng.uniform(-1, 1, (80, 1))
    else:
        classes = 2 if loss.scores == 1 else loss.scores
        targets = loss.encode(rng.integers(0, classes, 80), classes)
    data, tilt = BoundedRecords.of(rows, usable, targets), rng.normal(size=(4, loss.scores))
    found = minimiser(loss, data, ridge=ridge, tilt=tilt, gradient_norm=1e-8)
    risk = Risk(loss, data, ridge, tilt)
    assert np.linalg.norm(risk.gradient(found)) <= 1e-8
    start = np.zeros(found.size)
    other = optimize.minimize(
        lambda w: risk.value(w.reshape(found.shape)), start, method="BFGS", options={"gtol": 1e-5}
    )
    assert risk.value(found) <= other.fun + 1e-9 * (1 + abs(other.fun))
