"""Grouped queries on columns of every type: what comes of them does not depend on a record; faults of the schema have names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars
import pyarrow
import pytest
from pyarrow import parquet

import hush
from hush import releases
from hush.errors import InvalidParameter, NotCovered
from hush.releases import AtMost, Distinct, GroupBy, Rows, Stats, Top, Unknown, Users, ValueCounts
from tests.releases.odd_columns import KINDS, Kind
from tests.releases.test_nothing_of_a_record_is_said import outcome

BITS = hush.SeededSource
ROWS = {"n": Rows()}
STATS = {
    "x": Stats("c", bounds=(0, 10), sum=True, mean=True, variance=True, median=True, histogram=(0, 5, 10), step=1.0)
}
USERS = {"unit": "c", "contributions": AtMost(1, 1)}
QUERIES: dict[str, GroupBy] = {
    "text keys": GroupBy(keys={"c": ("a", "4711", None)}, ask=ROWS, epsilon=1.0),
    "whole keys": GroupBy(keys={"c": (1, 4711)}, ask=ROWS, epsilon=1.0),
    "truth keys": GroupBy(keys={"c": (True, False)}, ask=ROWS, epsilon=1.0),
    "unknown keys": GroupBy(keys=Unknown("c"), ask=ROWS, epsilon=1.0, delta=1e-9),
    "unknown pairs": GroupBy(keys=Unknown("c", "g"), ask=ROWS, epsilon=1.0, delta=1e-9),
    "statistics": GroupBy(keys={"g": ("u", "v")}, ask=STATS, missing={"c": "drop"}, epsilon=1.0),
    "values": GroupBy(
        keys={"g": ("u", "v")}, ask={"v": ValueCounts("c", of=("a", "b")), "t": Top("c", of=("a", "b"))}, epsilon=1.0
    ),
    "different": GroupBy(keys={"g": ("u", "v")}, ask={"d": Distinct("c")}, epsilon=1.0),
    "where": GroupBy(keys={"g": ("u", "v")}, ask=ROWS, where=hush.col("c") > 1, epsilon=1.0),
    "null": GroupBy(keys={"g": ("u", "v")}, ask=ROWS, where=~hush.col("c").is_null(), epsilon=1.0),
    "users": GroupBy(keys={"g": ("u", "v")}, ask={"u": Users()}, epsilon=1.0, **USERS),
    "users of unknown keys": GroupBy(keys=Unknown("g"), ask={}, epsilon=1.0, delta=1e-9, **USERS),
}
SAMPLED = {
    f"{name} on a sample": QUERIES[name].on(hush.Poisson(rate=0.5)) for name in ("text keys", "statistics", "users")
}


def table(cells: list[Any], kind: Kind) -> dict[str, Any]:
    return {"c": kind.column(cells), "g": np.array(["u"] * len(cells), dtype=object)}


def asked(data: Any) -> dict[str, Any]:
    every: dict[str, Any] = QUERIES | SAMPLED
    return {name: outcome(lambda query=query: query.release(data, source=BITS(1))) for name, query in every.items()}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_neighbours_have_one_outcome(kind: Kind, capfd: pytest.CaptureFixture[str]) -> None:
    expected = asked(table(kind.plain, kind))
    for cells in [*([*kind.plain, odd] for odd in kind.hostile), kind.plain[:-1], []]:
        assert asked(table(cells, kind)) == expected
    assert capfd.readouterr() == ("", "")


def test_a_key_of_one_user_alone_is_not_shown(tmp_path: Path) -> None:
    query = GroupBy(
        keys=Unknown("g"), ask={"u": Users()}, epsilon=1.0, delta=1e-9, unit="who", contributions=AtMost(1, 1)
    )
    data = {"g": ["common"] * 500 + ["secret 4711"], "who": list(range(501))}
    parquet.write_table(
        pyarrow.table(data).cast(
            pyarrow.schema({"g": pyarrow.dictionary(pyarrow.int32(), pyarrow.string()), "who": pyarrow.int64()})
        ),
        tmp_path / "t.parquet",
    )
    for source in (data, tmp_path / "t.parquet"):
        found = query.release(source)
        shown = f"{found} {found.to_json()} {found.to_csv()} {found.to_arrow()} {found.statement()}"
        assert found.value.groups == (("common",),) and "4711" not in shown


def test_null_nan_and_minus_zero_in_keys() -> None:
    query = GroupBy(keys={"g": ("a", None)}, ask=ROWS, epsilon=500.0)
    found = query.release({"g": ["a", None, "", "a", float("nan"), 3]}, source=BITS(1))
    assert found.to_dict()["n"] == [2, 3]
    for column in (np.array([0.0, -0.0, np.nan]), polars.Series([1.5]), pyarrow.array([1.0])):
        with pytest.raises(InvalidParameter, match="no floats"):
            GroupBy(keys={"g": (0, 1)}, ask=ROWS, epsilon=1.0).release({"g": column})


def test_one_is_not_true() -> None:
    query = GroupBy(keys={"g": (1, 0)}, ask=ROWS, epsilon=500.0)
    assert query.release({"g": [1, True, 0, False, "1", 1.0]}, source=BITS(1)).to_dict()["n"] == [3, 1]


def test_large_whole_numbers_are_keys_exactly() -> None:
    large = 2**53 + 1
    for column in (
        np.array([large, large - 1]),
        pyarrow.array([large, large - 1, None]),
        polars.Series([large, None, large - 1]),
    ):
        found = GroupBy(keys={"g": (large, large - 1)}, ask=ROWS, epsilon=500.0).release({"g": column}, source=BITS(1))
        assert found.to_dict()["n"] == [1, 1]


def test_texts_for_numbers(tmp_path: Path) -> None:
    query = GroupBy(keys={}, ask={"x": Stats("x", bounds=(0, 10), sum=True)}, missing={"x": "drop"}, epsilon=500.0)
    with pytest.raises(InvalidParameter, match="a column of numbers"):
        query.release(polars.DataFrame({"x": ["1", "2"]}))
    (tmp_path / "t.csv").write_text("x,y\n1,a\nword,b\n,c\n5,d\n")
    found = query.release(tmp_path / "t.csv", source=BITS(1))
    assert found.to_dict()["x_sum"] == pytest.approx([6.0], abs=0.5)
    assert "no number count as missing" in found.statement() and "left out" in found.statement()


BAD: list[dict[str, Any]] = [
    {"keys": {"g": ()}},
    {"keys": {"g": ("a", "a")}},
    {"keys": {"g": ("a", 1)}},
    {"keys": {"g": (1.5,)}},
    {"keys": {"g": "abc"}},
    {"keys": Unknown("g")},
    {"ask": {}},
    {"ask": {"n": 3}},
    {"ask": {"n": Users()}},
    {"ask": {"g": Rows()}},
    {"ask": {"n": Rows(), "n_low": Rows()}},
    {"epsilon": 0.0},
    {"epsilon": float("nan")},
    {"epsilon": "1"},
    {"delta": 0.0},
    {"delta": 1.0},
    {"split": "fair"},
    {"noise": "normal"},
    {"unit": "who"},
    {"contributions": AtMost(1, 1)},
    {"missing": {"y": "drop"}},
    {"weights": {"y": 1.0}},
    {"weights": {"n": 0.0}},
    {"where": 3},
    {"where": "age >="},
    {"noise": "gaussian"},
]


@pytest.mark.parametrize("bad", BAD, ids=str)
def test_bad_parameters_have_names(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        _ = GroupBy(**({"keys": {"g": ("a", "b")}, "ask": ROWS, "epsilon": 1.0} | bad)).mechanism


@pytest.mark.parametrize(
    "bad", [{}, {"groups": 1}, {"each": 1}, {"total": 0}, {"groups": 1.5, "each": 1}, {"groups": True, "each": 1}]
)
def test_limits_that_limit_nothing(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        AtMost(**bad)


def test_what_no_theorem_covers() -> None:
    users = GroupBy(keys={"g": ("a",)}, ask=ROWS, epsilon=1.0, unit="who", contributions=AtMost(1, 1))
    with pytest.raises(NotCovered, match="sample of records"):
        releases.sample({"g": ["a"], "who": [1]}, hush.Poisson(rate=0.5)).release(users)
    with pytest.raises(NotCovered, match="independent coins"):
        users.on(hush.WithoutReplacement(5, 10))
    with pytest.raises(NotCovered, match="different values"):
        GroupBy(keys={"g": ("a",)}, ask={"d": Distinct("x")}, epsilon=1.0).on(hush.Poisson(rate=0.5))
    with pytest.raises(NotCovered, match="together"):
        GroupBy(keys=Unknown("g"), ask=ROWS, epsilon=1.0, delta=1e-6).release({"g": ["a"]}, together=True)
    with pytest.raises(InvalidParameter, match="without a unit"):
        users.release(releases.table({"g": ["a"], "who": [1]}, unit="who", max_contributions=1))


def test_cells_that_a_spreadsheet_or_a_browser_would_run() -> None:
    query = GroupBy(keys={"g": ("=1+1", "<b>")}, ask=ROWS, epsilon=1.0)
    found = query.release({"g": ["=1+1"]}, source=BITS(1))
    assert "\n'=1+1," in found.to_csv() and "<td>&lt;b&gt;</td>" in found._repr_html_()


def test_what_stands_for_missing_values() -> None:
    def asked(value: object, **stats: Any) -> releases.GroupBy:
        ask = {"x": releases.Stats("y", **stats)}
        return releases.GroupBy(keys={"g": ("a",)}, ask=ask, missing={"y": value}, epsilon=1.0)  # type: ignore[dict-item]

    for outside in (-0.5, 11, 5000):
        with pytest.raises(InvalidParameter, match="within the bounds"):
            asked(outside, bounds=(0, 10), sum=True)
    assert asked(10, bounds=(0, 10), mean=True).notes == ("Records without a value of 'y' count as 10.",)
    left_out = "A histogram of 'y' leaves out records without a value."
    assert asked(5, histogram=(0, 10, 20)).notes == (left_out,)
    both = asked(5, bounds=(0, 10), sum=True, histogram=(0, 10, 20))
    assert both.notes == ("Records without a value of 'y' count as 5.", left_out)
    assert asked("drop", bounds=(0, 10), sum=True, histogram=(0, 9)).notes == (
        "Records without a value of 'y' are left out.",
    )


def test_different_values_of_a_sample_that_was_handed_in() -> None:
    query = releases.GroupBy(keys={"g": ("a",)}, ask={"d": releases.Distinct("x")}, epsilon=1.0)
    sample = releases.sample({"g": ["a"] * 4, "x": [1] * 4}, hush.Poisson(rate=0.5), source=hush.SeededSource(1))
    with pytest.raises(NotCovered, match="different values"):
        query.release(sample)
    assert sample.uses == ()
