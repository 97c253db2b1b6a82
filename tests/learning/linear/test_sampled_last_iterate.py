"""The convex estimators by the last iterate of capped samples: it learns, and its mechanism meets the budget."""

from __future__ import annotations

import numpy as np
import pytest

from hush import InvalidParameter, learning
from hush.learning.linear import one_pass


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


@pytest.mark.parametrize(("steps", "batch", "records", "epsilon"), [(100, 50, 400, 2.0), (2000, 256, 60_000, 4.0)])
def test_the_budget_is_met_and_used(
    steps: int, batch: int, records: int, epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within a hundredth, by a few looks from a guess, never by the search over the whole range."""
    searched: list[object] = []
    real = one_pass.calibrate

    def counted(build: object, **given: object) -> object:
        searched.append(build)
        return real(build, **given)  # type: ignore[arg-type]

    monkeypatch.setattr(one_pass, "calibrate", counted)
    one_pass._least_noise.cache_clear()
    method = learning.SampledLastIterate(steps=steps, batch_size=batch, radius=5.0)
    given = {"epsilon": epsilon, "delta": 1e-5, "classes": [0, 1], "data_norm": 4.0, "examples": records}
    model = learning.LogisticRegression(**given, method=method)
    used = model.planned(columns=3, scores=1, rows=records).mechanism.epsilon(delta=1e-5).upper
    assert 0.98 * epsilon < used <= epsilon
    assert len(searched) == 1


def test_bad_parameters() -> None:
    for wrong in ({"steps": 0}, {"batch_size": 1.5}, {"radius": 0.0}):
        with pytest.raises(InvalidParameter):
            learning.SampledLastIterate(**wrong)
