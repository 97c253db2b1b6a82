"""scikit-learn's own checks, pipelines and clones."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

import hush
from hush import learning

QUICK = learning.FullBatchGradient(steps=30, momentum=0.8)
METHODS = {
    "gradient": QUICK,
    "objective": "objective",
    "output": "output",
    "sgd": learning.PoissonGradient(epochs=50),
    "iterate": "iterate",
}
HUGE = {"data_norm": 10.0, "delta": 1e-5, "source": hush.SeededSource(1)}
OBJECTS = {"check_dtype_object": "an entry that is not a number is a hole: an error would tell that there is one"}
EXPECTED = {
    **OBJECTS,
    "check_estimators_empty_data_messages": "how many records there are is private: no records train on noise alone",
    "check_supervised_y_no_nan": "values of targets are private: one beyond the bounds counts as the bound",
}


def checked(model, expected) -> None:
    results = check_estimator(model, expected_failed_checks=expected, on_skip=None)
    assert {result["check_name"] for result in results if result["status"] == "xfail"} == set(expected)
    skipped = {result["check_name"] for result in results if result["status"] == "skipped"}
    assert skipped <= {"check_pipeline_consistency", "check_array_api_input"}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        # the labels that occur are declared public here, so that an error about them tells nothing
        (learning.LogisticRegression, {"classes": "observed"}, OBJECTS),
        (learning.LinearSVC, {"classes": "observed"}, OBJECTS),
        (learning.LinearRegression, {"target_bounds": (-3, 3)}, EXPECTED),
    ],
)
def test_checks_of_scikit_learn(kind, given, expected, method) -> None:
    large = 500.0 if method == "objective" else 1e6
    checked(kind(**given, **HUGE, epsilon=large, method=METHODS[method], examples=100), expected)


def test_checks_of_scikit_learn_on_an_ensemble() -> None:
    member = learning.LogisticRegression(data_norm=10.0, classes="observed", examples=100, method="output")
    scheme = hush.Poisson(rate=0.9)
    checked(learning.BaggingClassifier(member, members=1, scheme=scheme, epsilon=100.0, source=HUGE["source"]), OBJECTS)


def test_parameters_and_clones() -> None:
    method = learning.FullBatchGradient(steps=7)
    model = learning.LogisticRegression(data_norm=2.0, classes=("a", "b"), method=method, examples=10)
    copied = clone(model)
    assert copied is not model
    assert {k: v for k, v in copied.get_params().items()} == model.get_params()
    assert clone(model).set_params(epsilon=3.0).epsilon == 3.0
    assert not hasattr(copied, "coef_")


def test_in_a_pipeline_and_in_cross_validation() -> None:
    table, labels = load_breast_cancer(return_X_y=True)
    table = np.log1p(table)
    centred = FunctionTransformer(lambda rows: (rows - 2.0) / 10)
    model = make_pipeline(
        centred,
        learning.LogisticRegression(data_norm=1.0, classes=[0, 1], epsilon=8.0, delta=1e-5, method=QUICK),
    )
    scores = cross_val_score(model, table, labels, cv=3)
    assert scores.mean() > 0.8


def test_labels_of_any_kind() -> None:
    table = np.repeat([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], 300, axis=0)
    names = np.repeat(["wren", "crow", "tit"], 300)
    for kind in (learning.LogisticRegression, learning.LinearSVC):
        model = kind(data_norm=1.0, classes=["tit", "wren", "crow"], epsilon=3.0, delta=1e-6).fit(table, names)
        assert model.classes_.tolist() == ["crow", "tit", "wren"]
        assert model.score(table, names) == 1
        assert model.coef_.shape == (3, 3)
        assert model.intercept_.shape == (3,)


def test_probabilities() -> None:
    table = np.repeat(np.eye(3), 200, axis=0)
    labels = np.repeat([0, 1, 2], 200)
    for method in ("gradient", "objective"):
        model = learning.LogisticRegression(
            data_norm=1.0, classes=[0, 1, 2], epsilon=5.0, delta=1e-5, method=method, examples=600
        ).fit(table, labels)
        chances = model.predict_proba(table)
        assert np.allclose(chances.sum(axis=1), 1)
        assert np.array_equal(chances.argmax(axis=1), model.predict(table))
        assert np.allclose(np.exp(model.predict_log_proba(table)), chances)
    two = model.set_params(classes=[0, 1]).fit(table[:400], labels[:400])
    assert np.allclose(two.predict_proba(table)[:, 1] > 0.5, two.predict(table) == 1)
