"""Faults of parameters and schema raise before any draw; values inside the data never do, nor do they steer draws."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hush
from hush import learning

GOOD = {"data_norm": 1.0, "classes": [0, 1], "epsilon": 1.0, "delta": 1e-5, "examples": 50}
QUICK = learning.FullBatchGradient(steps=20)
METHODS = ["gradient", "objective", "output", "sgd", "iterate"]


class Recorder(hush.Source):
    """Counts words, so that two runs can be compared."""

    private = True

    def __init__(self) -> None:
        self.inner, self.asked = hush.SeededSource(1), []

    def words(self, count: int):
        self.asked.append(count)
        return self.inner.words(count)


def table(count=50, columns=3):
    return np.random.default_rng(0).normal(size=(count, columns)), np.arange(count) % 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"data_norm": None},
        {"data_norm": 0},
        {"data_norm": float("nan")},
        {"data_norm": "1"},
        {"classes": None},
        {"classes": [1]},
        {"classes": "all"},
        {"classes": ["a", "b"]},
        {"classes": [None, 1]},
        {"classes": [0.0, float("nan")]},
        {"classes": [[0, 1], [2, 3]]},
        {"classes": list(range(501)), "method": "objective"},
        {"data_norm": 5e-324},
        {"regularization": 1e-300},
        {"examples": 10**12, "method": "sgd"},
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": float("inf")},
        {"epsilon": True},
        {"epsilon": 1e-12},
        {"epsilon": 1e7},
        {"epsilon": 1e-5},  # more noise than the exact sums' grid can take
        {"epsilon": 501.0, "method": "objective"},
        {"epsilon": 501.0, "delta": 0.0, "method": "output"},
        {"delta": 1.0},
        {"delta": -1e-9},
        {"delta": 0.0},
        {"method": "adam"},
        {"method": None},
        {"examples": 0},
        {"examples": 2.5},
        {"regularization": -1},
        {"regularization": float("nan")},
        {"private": "no"},
        {"source": 7},
        {"method": "sgd", "examples": None},
        {"method": "output", "examples": None},
        {"method": "objective", "examples": None},
        {"method": "iterate", "delta": 0.0},
    ],
    ids=str,
)
def test_parameters_raise_before_any_draw(wrong) -> None:
    source = Recorder()
    model = learning.LogisticRegression(**{**GOOD, "source": source, **wrong})
    with pytest.raises(hush.InvalidParameter):
        model.fit(*table())
    assert not source.asked


@pytest.mark.parametrize("bounds", [None, 3, (1,), (2, 1), (0, float("nan")), (0, float("inf")), ("a", "b")])
def test_target_bounds(bounds) -> None:
    with pytest.raises(hush.InvalidParameter):
        learning.LinearRegression(data_norm=1.0, target_bounds=bounds).fit(*table())


@pytest.mark.parametrize(
    "build",
    [
        lambda: learning.FullBatchGradient(steps=0),
        lambda: learning.FullBatchGradient(steps=2.5),
        lambda: learning.FullBatchGradient(clip=0),
        lambda: learning.FullBatchGradient(clip=5),
        lambda: learning.FullBatchGradient(momentum=1),
        lambda: learning.PoissonGradient(batch_size=0),
        lambda: learning.PoissonGradient(epochs=0),
        lambda: learning.PoissonGradient(clip=float("inf")),
    ],
)
def test_methods(build) -> None:
    with pytest.raises(hush.InvalidParameter):
        build()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("delta", [1e-5, 0.0])
def test_values_never_raise_and_never_steer_the_draws(method, delta) -> None:
    """Other values in some records: as many words are drawn, in the same order, unless noise itself asks for more."""
    if delta == 0 and method not in ("objective", "output"):
        return
    if method == "sgd":
        method = learning.PoissonGradient(batch_size=10, epochs=2)
    rows, labels = table()
    wild, other = rows.copy(), labels.copy()
    wild[3], wild[4, 1], wild[5], wild[6] = np.nan, np.inf, 1e308, 0.0
    other[7] = 99
    asked = []
    for data in ((rows, labels), (wild, other)):
        source = Recorder()
        model = learning.LogisticRegression(**{**GOOD, "delta": delta, "method": method, "source": source})
        model.fit(*data)
        assert np.isfinite(model.coef_).all()
        asked.append(source.asked)
    assert asked[0] == asked[1]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_bad_rows_have_no_influence(bad) -> None:
    rows, labels = table()
    without = np.delete(rows, 3, axis=0), np.delete(labels, 3)
    spoiled = rows.copy()
    spoiled[3, 1] = bad
    model = learning.LogisticRegression(**{**GOOD, "source": hush.SeededSource(1), "method": QUICK})
    assert np.array_equal(model.fit(spoiled, labels).coef_, model.fit(*without).coef_)
    unknown = labels.copy()
    unknown[3] = 5
    assert np.array_equal(model.fit(rows, unknown).coef_, model.fit(*without).coef_)


def test_targets_that_are_no_numbers_or_out_of_bounds() -> None:
    rows, _ = table()
    target = np.linspace(-1, 1, 50)
    model = learning.LinearRegression(
        data_norm=1.0,
        target_bounds=(-1, 1),
        examples=50,
        source=hush.SeededSource(1),
        epsilon=5.0,
        delta=1e-5,
        method=QUICK,
    )
    wild, tame = target.copy(), target.copy()
    wild[:2], tame[:2] = np.inf, 1.0
    assert np.array_equal(model.fit(rows, wild).coef_, model.fit(rows, tame).coef_)
    hole = target.copy()
    hole[0] = np.nan
    assert np.array_equal(model.fit(rows, hole).coef_, model.fit(rows[1:], target[1:]).coef_)


@pytest.mark.parametrize("count", [0, 1, 2])
@pytest.mark.parametrize("method", METHODS)
def test_tiny_data(count, method) -> None:
    rows, labels = table()
    model = learning.LogisticRegression(**{**GOOD, "method": method}).fit(rows[:count], labels[:count])
    assert model.predict(rows).shape == (50,)


def test_one_class_in_the_data() -> None:
    rows, _ = table()
    model = learning.LogisticRegression(**{**GOOD, "epsilon": 50.0}).fit(rows, np.ones(50, dtype=int))
    assert model.score(rows, np.ones(50)) > 0.9


def test_schema_of_the_table() -> None:
    model = learning.LogisticRegression(**GOOD)
    for rows in (np.ones(50), np.ones((49, 3)), np.ones((50, 0)), np.full((50, 3), "x")):
        with pytest.raises(ValueError):
            model.fit(rows, np.arange(50) % 2)
    with pytest.raises(ValueError, match="features"):
        model.fit(*table()).predict(np.ones((2, 4)))


def test_messages_hold_no_private_value() -> None:
    rows, labels = table()
    rows[0, 0] = 123456.789
    with pytest.raises(hush.InvalidParameter) as caught:
        learning.LogisticRegression(**{**GOOD, "classes": ["a", "b"]}).fit(rows, labels)
    assert "123456" not in str(caught.value)


@pytest.mark.parametrize("hole", [None, math.nan, 7, ["a", "list"]])
def test_a_hole_among_labels_has_no_influence(hole) -> None:
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.0, 0.9]])
    labels = np.array(["no", "yes", "no", "yes"], dtype=object)
    labels[2] = hole
    given = {"data_norm": 1.0, "classes": ["no", "yes"], "private": False}
    without = np.array([True, True, False, True])
    some, fewer = (learning.LogisticRegression(**given, regularization=r) for r in (0.03, 0.04))
    some.fit(rows, labels)
    assert np.allclose(some.coef_, fewer.fit(rows[without], labels[without]).coef_, atol=1e-6)


@pytest.mark.parametrize("value", ["12 Main Street", 10**400])
def test_no_error_shows_a_value(value) -> None:
    rows = np.array([[1.0, 0.0], [0.0, value]], dtype=object)
    model = learning.LogisticRegression(data_norm=1.0, classes=[0, 1])
    for fitted in (model, learning.BaggingClassifier(model, members=2, scheme=hush.Poisson(rate=0.5))):
        with pytest.raises(hush.InvalidParameter) as raised:
            fitted.fit(rows, [0, 1])
        assert str(value) not in str(raised.value)
        assert raised.value.__cause__ is None
        assert raised.value.__suppress_context__


def test_objective_refuses_an_epsilon_that_its_curve_cannot_hold() -> None:
    model = learning.LogisticRegression(data_norm=1.0, classes=[0, 1], epsilon=600, examples=4, method="objective")
    with pytest.raises(hush.InvalidParameter, match="epsilon <= 500"):
        model.fit(np.eye(2), [0, 1])


@pytest.mark.parametrize(
    ("rows", "labels"),
    [
        (np.full(5, 77.25), np.arange(5) % 2),
        (np.full((5, 2), 77.25 + 1j), np.arange(5) % 2),
        (np.full((5, 2), "s77.25"), np.arange(5) % 2),
        (np.full((5, 2), 77.25), np.full((5, 2), 77.25)),
        (np.full((5, 2), 1.0), np.array([77.25, "77.25", 1, 2, 3], dtype=object)),
    ],
    ids=["one axis", "complex", "words", "two targets", "mixed labels"],
)
def test_no_message_shows_a_value(rows, labels) -> None:
    """scikit-learn's messages about shapes show the table; ours must not."""
    with pytest.raises(ValueError) as fault:
        learning.LogisticRegression(**{**GOOD, "classes": "observed"}).fit(rows, labels)
    assert "77.25" not in str(fault.value)
    assert fault.value.__context__ is None or fault.value.__suppress_context__
    with pytest.raises(ValueError) as fault:
        learning.LinearRegression(data_norm=1.0, target_bounds=(0, 1)).fit(
            rows, labels if labels.dtype != object else np.array(["s77.25"] * 5)
        )
    assert "77.25" not in str(fault.value)
    model = learning.LogisticRegression(**GOOD).fit(*table())
    with pytest.raises(ValueError) as fault:
        model.predict(np.full(3, 77.25))
    assert "77.25" not in str(fault.value)


@pytest.mark.parametrize("kind", [list, set, tuple, np.array], ids=str)
def test_classes_in_any_collection(kind) -> None:
    model = learning.LogisticRegression(**{**GOOD, "classes": kind([1, 0]), "method": QUICK}).fit(*table())
    assert model.classes_.tolist() == [0, 1]
