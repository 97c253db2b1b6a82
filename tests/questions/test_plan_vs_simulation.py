"""Predicted errors of a plan against simulated releases of simulated populations, within 10%."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import hush
from hush.questions.plan_mean import multiplier

BOUNDS = (0.0, 2000.0)
LOGNORMAL = stats.lognorm(0.5, scale=math.exp(5))
SKEWED = stats.beta(0.3, 2.0, scale=2000.0)
REPLACE, ADD_REMOVE = hush.Relation.REPLACE, hush.Relation.ADD_REMOVE


def root_mean_square(errors: np.ndarray) -> float:
    return math.sqrt(float(np.mean(np.square(errors))))


# -- mean --------------------------------------------------------------------------------------------------------


def simulated_mean(row: hush.plan.PlanRow, model: object, population: int, relation: hush.Relation) -> float:
    """The release itself, 3000 times: draw, sum, divide by what is public, add noise, clamp."""
    random = np.random.default_rng(5)
    low, high = BOUNDS
    values = np.clip(model.rvs((3000, population), random_state=random), low, high)
    sensitivity = (high - low) / (row.rate * population) / (1 if relation is REPLACE else 2)
    if relation is REPLACE:
        found = values[:, : row.records].mean(axis=1)  # records come in random order, so the first ones are a sample
    else:
        drawn, middle = random.random(values.shape) < row.rate, (low + high) / 2
        found = middle + np.sum((values - middle) * drawn, axis=1) / (row.rate * population)
    if row.mechanism == "Laplace noise":
        found = found + random.laplace(scale=sensitivity / row.sample_epsilon, size=3000)
    else:
        found = found + random.normal(scale=sensitivity * multiplier(row.sample_epsilon, row.sample_delta), size=3000)
    return root_mean_square(np.clip(found, low, high) - values.mean(axis=1))


@pytest.mark.parametrize("relation", [REPLACE, ADD_REMOVE], ids=["replace", "add-remove"])
@pytest.mark.parametrize(("model", "epsilon"), [(LOGNORMAL, 1.0), (SKEWED, 0.005)], ids=["lognormal", "clamped"])
def test_mean_vs_simulation(relation: hush.Relation, model: object, epsilon: float) -> None:
    plan = hush.plan.mean(
        population=400,
        bounds=BOUNDS,
        epsilon=epsilon,
        delta=1e-6,
        model=model,
        relation=relation,
        rates=[1.0, 0.5, 0.05],
    )
    assert len(plan.rows) == 6
    for row in plan.rows:
        assert row.error == pytest.approx(simulated_mean(row, model, 400, relation), rel=0.1), row


def test_worst_case_mean_is_attained_and_not_exceeded() -> None:
    asked = {"population": 500, "bounds": BOUNDS, "epsilon": 0.02, "rates": [1.0, 0.1]}
    shares = np.arange(1, 32) / 64
    found = []
    for share in shares:
        model = stats.rv_discrete(values=([0, 2000], [1 - share, share]))
        found.append([row.error for row in hush.plan.mean(**asked, model=model).rows])
    worst = [row.error for row in hush.plan.mean(**asked).rows]
    assert np.all(np.max(found, axis=0) <= np.array(worst) * (1 + 1e-6))
    assert np.max(found, axis=0) == pytest.approx(worst, rel=0.05)
