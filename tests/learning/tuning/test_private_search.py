"""Private searches: what leaves them is the best run alone, and its guarantee is that of the whole."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import fields
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from scipy import stats

import hush
from hush import InvalidParameter, NotCovered
from hush.learning import Found, search

RUNS = hush.GeometricRuns(gamma=0.3)
STEP = hush.Laplace(1.0)


def found_by(run: Any, seed: int = 1, runs: Any = RUNS, candidates: Any = (1, 2, 3)) -> Found:
    return search(run, candidates, mechanism=STEP, runs=runs, source=hush.SeededSource(seed))


def test_the_best_has_the_law_of_the_best() -> None:
    """P(best <= k) of uniform candidates is the generating function of the number of runs at k/3."""
    drawn = [found_by(lambda c: (c, c), seed).candidate for seed in range(1500)]
    share = np.arange(1, 4) / 3
    below = 0.3 * share / (1 - 0.7 * share)
    expected = 1500 * np.diff(np.append(0.0, below))
    assert float(stats.chisquare(np.bincount(drawn, minlength=4)[1:], expected).pvalue) > 1e-6


def test_neither_the_number_of_runs_nor_a_losing_run_is_kept() -> None:
    """All that is in what comes back, its bytes included, is the best run and the mechanism."""
    names = {field.name for field in fields(Found)}
    assert names == {"candidate", "output", "score", "mechanism", "private", "found"}
    seen: list[str] = []

    def run(candidate: int) -> tuple[str, float]:
        seen.append(f"run {len(seen)} of candidate {candidate}")
        return seen[-1], -float(len(seen))

    best = found_by(run, seed=5, runs=hush.GeometricRuns(gamma=0.01))
    assert len(seen) > 3
    assert best.output == seen[0]
    kept = pickle.dumps((best.candidate, best.output, best.score, hush.to_json(best.mechanism), best.private))
    assert not any(losing.encode() in kept for losing in seen[1:])
    assert best.mechanism == STEP.best_of(runs=hush.GeometricRuns(gamma=0.01))
    assert set(vars(best)) == names


def test_what_a_run_raises_or_warns_stays_inside() -> None:
    """A run that fails is the worst of all, whatever it says."""

    def run(candidate: int) -> tuple[int, float]:
        warnings.warn(f"secret {candidate}", stacklevel=1)
        if candidate != 2:
            raise ValueError(f"secret {candidate}")
        return candidate, float("nan")

    best = found_by(run, runs=hush.GeometricRuns(gamma=0.02))
    assert (best.candidate, best.output, best.score, best.found) == (2, 2, -np.inf, True)
    nothing = found_by(lambda c: 1 / 0)
    assert (nothing.candidate, nothing.output, nothing.found) == (None, None, False)


def test_no_run_at_all() -> None:
    """A Poisson number of runs may be none: then nothing is released."""
    none = found_by(lambda c: (c, 1.0), runs=hush.PoissonRuns(1e-6))
    assert not none.found
    assert none.output is None
    assert not none.private


@pytest.mark.parametrize("wrong", [{"candidates": []}, {"runs": 3}, {"run": None}])
def test_bad_input_is_named_and_nothing_runs(wrong: dict[str, Any]) -> None:
    ran: list[int] = []
    given = {"run": ran.append, "candidates": [1], "runs": RUNS} | wrong
    with pytest.raises(InvalidParameter):
        search(given["run"], given["candidates"], mechanism=STEP, runs=given["runs"])
    assert not ran


@pytest.mark.skipif(find_spec("sklearn") is None, reason="scikit-learn is not installed")
class TestPrivateSearchCV:
    """The search in scikit-learn's style."""

    rows = np.repeat([[1.0, 0.1], [0.1, 1.0]], 300, axis=0)
    labels = np.repeat([0, 1], 300)

    def made(self, **given: Any) -> Any:
        from hush.learning import LogisticRegression, PrivateSearchCV

        model = LogisticRegression(data_norm=1.5, classes=[0, 1], epsilon=0.5, delta=1e-7, examples=500)
        shared = {"runs": RUNS, "score_epsilon": 0.2, "source": hush.SeededSource(4)}
        return PrivateSearchCV(given.pop("estimator", model), {"regularization": [0.01, 1.0]}, **shared | given)

    def test_one_guarantee_for_all(self) -> None:
        tuned = self.made().fit(self.rows, self.labels)
        assert tuned.best_estimator_.guarantee_ == tuned.guarantee_  # to publish the winner costs what the search costs
        from sklearn.base import clone

        one = clone(tuned.best_estimator_).fit(self.rows, self.labels).guarantee_
        assert tuned.guarantee_ == hush.DiscreteLaplace(5.0).beside(one).best_of(runs=RUNS)
        assert one.epsilon(delta=1e-6).upper < tuned.guarantee_.epsilon(delta=1e-6).upper
        assert tuned.score(self.rows, self.labels) > 0.9
        assert tuned.best_params_["regularization"] in (0.01, 1.0)

    def test_what_is_left_after_a_fit(self) -> None:
        tuned = self.made().fit(self.rows, self.labels)
        told = {name for name in vars(tuned) if name.endswith("_")}
        assert told <= {"guarantee_", "private_", "best_params_", "best_estimator_", "best_score_", "n_features_in_"}
        assert tuned.best_estimator_.source is None

    def test_no_record_can_make_a_run_fail(self) -> None:
        """Rows of holes and unknown labels, and no rows at all in a part, are answered."""
        rows = np.vstack([self.rows, np.full((1, 2), np.nan), np.full((1, 2), np.inf)])
        labels = np.append(self.labels, [1, 7])
        assert self.made().fit(rows, labels).best_estimator_ is not None
        for holdout in (1e-9, 1 - 1e-9):
            assert self.made(holdout=holdout).fit(self.rows[:3], self.labels[:3]).best_estimator_ is not None

    def test_bad_input(self) -> None:
        from hush.learning import LinearRegression, LogisticRegression

        for estimator in (LinearRegression(), None, LogisticRegression(private=False)):
            with pytest.raises(InvalidParameter, match="estimator="):
                self.made(estimator=estimator).fit(self.rows, self.labels)
        with pytest.raises(NotCovered, match="replaced records"):
            replaced = LogisticRegression(data_norm=1.5, classes=[0, 1], method="iterate")
            self.made(estimator=replaced).fit(self.rows, self.labels)
        with pytest.raises(InvalidParameter, match="fitted"):
            self.made().predict(self.rows)


def test_no_counter_tells_how_many_runs_there_were() -> None:
    """A fit before and one after it are two numbers apart: the search counts as one, and its winner says its price."""
    pytest.importorskip("sklearn")
    from sklearn.base import clone

    from hush.learning import LogisticRegression, PrivateSearchCV

    X, y = np.random.default_rng(1).normal(size=(60, 2)), np.arange(60) % 2
    model = LogisticRegression(data_norm=3.0, classes=[0, 1], epsilon=1.0, delta=1e-5, examples=60)
    before = clone(model).fit(X, y).fits_
    found = PrivateSearchCV(model, {"regularization": [0.01, 1.0]}, runs=hush.GeometricRuns(gamma=0.2)).fit(X, y)
    assert clone(model).fit(X, y).fits_ == before + 2
    assert found.best_estimator_.fits_ == before + 1
    assert found.best_estimator_.guarantee_ == found.guarantee_
