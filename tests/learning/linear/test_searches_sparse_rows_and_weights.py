"""Estimators as they are used: sparse rows, weights, searches over parameters, pipelines."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression as PlainLogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import hush
from hush import learning

QUICK = learning.FullBatchGradient(steps=20)


def table(count: int = 60, columns: int = 5) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(count, columns)) * (generator.random((count, columns)) < 0.4)
    return rows, (rows[:, 0] > 0).astype(int)


def model_of(**options: object) -> learning.LogisticRegression:
    given = {"data_norm": 2.0, "classes": [0, 1], "method": QUICK, "source": hush.SeededSource(1), **options}
    return learning.LogisticRegression(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array, sparse.lil_matrix])
def test_sparse_rows_vs_the_same_rows(kind: object) -> None:
    rows, labels = table()
    dense, thin = model_of().fit(rows, labels), model_of().fit(kind(rows), labels)
    assert np.array_equal(dense.coef_, thin.coef_)
    assert np.array_equal(dense.decision_function(rows), thin.decision_function(kind(rows)))
    regression = learning.LinearRegression(data_norm=2.0, target_bounds=(0, 1), method=QUICK, examples=60)
    assert regression.fit(kind(rows), labels).coef_.shape == (5,)


def test_a_sparse_matrix_that_would_fill_the_memory() -> None:
    wide = sparse.csr_matrix((60, 10**8))
    with pytest.raises(hush.InvalidParameter, match="its zeros counted") as error:
        model_of().fit(wide, table()[1])
    assert "60" not in str(error.value)


@pytest.mark.parametrize("fitted", [learning.LogisticRegression, learning.LinearSVC, learning.BaggingClassifier])
def test_weights_are_refused_by_name_and_reason(fitted: type) -> None:
    rows, labels = table()
    with pytest.raises(hush.InvalidParameter, match="what one record moves") as error:
        fitted().fit(rows, labels, sample_weight=np.full(60, 0.123))
    assert "0.123" not in str(error.value)
    with pytest.raises(TypeError, match="unexpected keyword argument 'weights'"):
        fitted().fit(rows, labels, weights=1)
    model_of().fit(rows, labels, sample_weight=None)


def test_the_warning_is_the_same_whatever_the_data() -> None:
    said = set()
    for scale in (0.0, 1.0, 1e6):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            rows, labels = table()
            make_pipeline(FunctionTransformer(), model_of()).fit(rows * scale, labels)
        said.add(tuple(str(warning.message) for warning in caught))
        assert {warning.category for warning in caught} == {learning.PublicKnowledgeWarning}
    assert len(said) == 1 and "pipeline" in next(iter(said))[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model_of(private=False).fit(*table())


def test_a_search_says_how_many_fits_were_made() -> None:
    rows, labels = table()
    first = model_of().fit(rows, labels)
    search = GridSearchCV(model_of(), {"epsilon": [0.5, 1.0, 2.0]}, cv=2, n_jobs=1).fit(rows, labels)
    best = search.best_estimator_
    assert best.fits_ == first.fits_ + 3 * 2 + 1
    said = best.statement()
    assert "guarantee of one fit" in said and f"number {best.fits_} of" in said and "composition" in said
    assert best.guarantee_.epsilon(delta=1e-5).upper <= best.epsilon
    again = best.fit(rows, labels)
    assert again.fits_ == first.fits_ + 3 * 2 + 2
    with pytest.raises(hush.InvalidParameter, match="private=True"):
        model_of(private=False).fit(rows, labels).statement()


def test_without_privacy_sparse_rows_vs_sklearn() -> None:
    rows, labels = table(200)
    own = model_of(private=False, regularization=0.01, data_norm=1.0).fit(sparse.csr_array(rows), labels)
    plain = PlainLogisticRegression(C=1 / (0.01 * 200)).fit(rows, labels)
    assert (own.predict(rows) == plain.predict(rows)).mean() > 0.95
