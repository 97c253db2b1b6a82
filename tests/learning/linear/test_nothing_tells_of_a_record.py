"""Neighbouring tables, one with a hostile record: errors, warnings and messages are the same, and it adds nothing."""

from __future__ import annotations

import datetime
import decimal
import math
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import hush
from hush import learning
from hush.learning.fits_made import PUBLIC_ONLY
from tests.learning.told import told

N = 12
QUICK = learning.FullBatchGradient(steps=5)


class Hostile:
    """It fails, and tells, whatever is asked of it."""

    def _fail(self, *given: Any) -> Any:
        warnings.warn("secret 777", UserWarning, stacklevel=2)
        raise RuntimeError("secret 777")

    __float__ = __int__ = __index__ = __len__ = __iter__ = __hash__ = __eq__ = __bool__ = __lt__ = _fail
    __array__ = _fail


def table() -> tuple[np.ndarray, np.ndarray]:
    return np.random.default_rng(0).normal(size=(N, 3)), np.arange(N) % 2


def models() -> dict[str, Any]:
    given = {"data_norm": 1.0, "epsilon": 1.0, "delta": 1e-5, "method": QUICK, "examples": N}
    member = learning.LogisticRegression(classes=[0, 1], **given)
    scheme = hush.Poisson(rate=0.999)
    return {
        "logistic": lambda: member.set_params(source=hush.SeededSource(1)),
        "svc": lambda: learning.LinearSVC(classes=[0, 1], source=hush.SeededSource(1), **given),
        "regression": lambda: learning.LinearRegression(target_bounds=(0, 1), source=hush.SeededSource(1), **given),
        "bagging": lambda: learning.BaggingClassifier(
            member, members=1, scheme=scheme, epsilon=1.0, source=hush.SeededSource(1)
        ),
    }


def told_of(model: Any, rows: Any, labels: Any, capsys: pytest.CaptureFixture[str]) -> tuple[list[str], Any]:
    """Everything that someone sees of a fit besides its result and the warning of every fit; and the coefficients."""
    seen, _ = told(lambda: model.fit(rows, labels), capsys)
    seen = [text for text in seen if text != f"PublicKnowledgeWarning: {PUBLIC_ONLY}"]
    member = model.estimators_[0] if hasattr(model, "estimators_") else model
    return seen, getattr(member, "coef_", None)


def check(name: str, hostile: Any, without: Any, capsys: pytest.CaptureFixture[str], number: bool = False) -> None:
    found, coefficients = told_of(models()[name](), *hostile, capsys)
    expected, plain = told_of(models()[name](), *without, capsys)
    assert found == expected == ["", ""]
    if name != "bagging" and not number:  # whose sample is another one; a number counts
        assert np.array_equal(coefficients, plain)


ENTRIES: dict[str, Any] = {
    "nan": math.nan,
    "infinite": -math.inf,
    "none": None,
    "missing": pd.NA,
    "not a time": pd.NaT,
    "a word": "secret 777",
    "empty": "",
    "bytes": b"secret",
    "huge": 10**400,
    "complex": 7j,
    "a list": [7.0],
    "an array": np.array([7.0, 7.0]),
    "a mapping": {"secret": 777},
    "hostile": Hostile(),
    "a class": Hostile,
    "a day": datetime.date(1977, 7, 7),
    "a time": np.datetime64("1977-07-07"),
    "signalling": decimal.Decimal("sNaN"),
}


@pytest.mark.parametrize("place", [0, 5])
@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("name", ["logistic", "regression"])
def test_entries_of_a_table(name: str, entry: str, place: int, capsys: pytest.CaptureFixture[str]) -> None:
    rows, labels = table()
    without = np.delete(rows, place, axis=0), np.delete(labels, place)
    objects = rows.astype(object)
    objects[place, 1] = ENTRIES[entry]
    number = entry == "a time"  # its days
    check(name, (objects, labels), without, capsys, number)
    check(name, (objects.tolist(), labels.tolist()), without, capsys, number)
    frame = pd.DataFrame({"a": rows[:, 0], "b": pd.Series(list(objects[:, 1]), dtype=object), "c": rows[:, 2]})
    check(name, (frame, labels), (pd.DataFrame(without[0], columns=["a", "b", "c"]), without[1]), capsys, number)


@pytest.mark.parametrize("entry", ["a word", "hostile", "huge"])
@pytest.mark.parametrize("name", ["svc", "bagging"])
def test_entries_of_a_table_in_other_models(name: str, entry: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows, labels = table()
    objects = rows.astype(object)
    objects[5, 1] = ENTRIES[entry]
    check(name, (objects, labels), (np.delete(rows, 5, axis=0), np.delete(labels, 5)), capsys)
    odd = labels.astype(object)
    odd[5] = ENTRIES[entry]
    check(name, (rows, odd), (np.delete(rows, 5, axis=0), np.delete(labels, 5)), capsys)


@pytest.mark.parametrize(
    "row",
    [[1.0], [1.0] * 4, [], 7.0, None, "secret", Hostile(), [[1.0], [2.0], [3.0]]],
    ids=lambda row: type(row).__name__,
)
@pytest.mark.parametrize("place", [0, 5])
def test_rows_of_a_list(row: Any, place: int, capsys: pytest.CaptureFixture[str]) -> None:
    rows, labels = table()
    given = rows.tolist()
    given[place] = row
    check("logistic", (given, labels), (np.delete(rows, place, axis=0), np.delete(labels, place)), capsys)


@pytest.mark.parametrize("place", [0, 5])
@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("name", ["logistic", "regression"])
def test_targets(name: str, entry: str, place: int, capsys: pytest.CaptureFixture[str]) -> None:
    number = name == "regression" and entry in ("infinite", "a list", "complex", "a time")  # or what is read as one
    rows, labels = table()
    without = np.delete(rows, place, axis=0), np.delete(labels, place)
    objects = labels.astype(object)
    objects[place] = ENTRIES[entry]
    check(name, (rows, objects), without, capsys, number)
    check(name, (rows, list(objects)), without, capsys, number)
    if entry not in ("nan", "infinite", "huge"):
        check(name, (rows, pd.Series(list(objects), dtype=object)), without, capsys, number)


@pytest.mark.parametrize(
    "make", [pd.DataFrame, pl.DataFrame, np.asarray, list], ids=["pandas", "polars", "numpy", "list"]
)
@pytest.mark.parametrize("value", [math.nan, math.inf, 1e308, -1e308])
def test_numbers_in_tables_of_every_kind(make: Any, value: float, capsys: pytest.CaptureFixture[str]) -> None:
    rows, labels = table()
    rows[5] = value
    found, _ = told_of(models()["logistic"](), make(rows), labels, capsys)
    assert found == ["", ""]


@pytest.mark.skipif(np.finfo(np.longdouble).max == np.finfo(float).max, reason="no longer floats here")
def test_floats_that_are_too_long(capsys: pytest.CaptureFixture[str]) -> None:
    rows, labels = (part.astype(np.longdouble) for part in table())
    rows[5, 0] = np.longdouble("1e4000")
    for name in ("logistic", "regression"):
        assert told_of(models()[name](), rows, labels, capsys)[0] == ["", ""]


def test_labels_of_another_type_are_named_whoever_is_among_them() -> None:
    """Most labels decide: one of the right type does not hide that all others are wrong."""
    rows, labels = table()
    words = [f"secret {k}" for k in labels]
    for given in (words, [0, *words[1:]], np.array([0, *words[1:]], dtype=object)):
        with pytest.raises(hush.InvalidParameter, match="labels of the type") as raised:
            models()["logistic"]().fit(rows, given)
        assert "secret" not in str(raised.value)


def test_a_column_of_words_is_named() -> None:
    rows, labels = table()
    frame = pd.DataFrame({"a": rows[:, 0], "b": [f"secret {k}" for k in range(N)]})
    with pytest.raises(hush.InvalidParameter, match="columns of numbers") as raised:
        models()["logistic"]().fit(frame, labels)
    assert "secret" not in str(raised.value) and raised.value.__context__ is None
