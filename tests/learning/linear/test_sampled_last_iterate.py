"""The convex estimators by the last iterate of capped samples: it learns, and its mechanism meets the budget."""

from __future__ import annotations

import numpy as np
import pytest

from hush import InvalidParameter, learning


@pytest.mark.slow
def test_it_learns_within_its_budget() -> None:
    random = np.random.default_rng(1)
    rows = random.normal(size=(400, 3))
    targets = (rows[:, 0] > 0).astype(int)
    method = learning.SampledLastIterate(steps=100, batch_size=50, radius=5.0)
    given = {"epsilon": 2.0, "delta": 1e-4, "classes": [0, 1], "data_norm": 4.0, "method": method, "examples": 400}
    model = learning.LogisticRegression(**given)
    assert model.planned(columns=3, scores=1, rows=400).mechanism.epsilon(delta=1e-4).upper <= 2.0
    assert model.fit(rows, targets).score(rows, targets) > 0.7


def test_bad_parameters() -> None:
    for wrong in ({"steps": 0}, {"batch_size": 1.5}, {"radius": 0.0}):
        with pytest.raises(InvalidParameter):
            learning.SampledLastIterate(**wrong)
