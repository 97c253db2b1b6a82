"""How one record is read must not depend on the others: whole numbers beside missing ones, users, bytes in a file."""

from __future__ import annotations

import decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from pyarrow import parquet

import hush
from hush import releases

LONG = 2**53 + 1
"""A number that a float cannot hold: it would become the one below."""


def columns(values: list[int | None]) -> list[Any]:
    return [
        pandas.Series(values, dtype="Int64"),
        pandas.Series(values, dtype="int64[pyarrow]"),
        polars.Series(values, dtype=polars.Int64),
        pyarrow.array(values, pyarrow.int64()),
        pyarrow.chunked_array([pyarrow.array(values, pyarrow.int64())]),
        pyarrow.array(values, pyarrow.int64()).dictionary_encode(),
        pyarrow.array(values, pyarrow.decimal128(38)),
        polars.Series(values, dtype=polars.Decimal(38, 0)),
    ]


@pytest.mark.parametrize("place", range(8))
def test_a_missing_number_changes_no_other_cell(place: int) -> None:
    query = releases.Histogram(categories=(LONG, LONG - 1), epsilon=500.0)
    without, beside = columns([LONG, LONG - 1, LONG])[place], columns([LONG, LONG - 1, LONG, None])[place]
    for data in (without, beside, {"a": beside}):
        assert query.release(data, source=hush.SeededSource(1)).value == {LONG: 2, LONG - 1: 1}


@pytest.mark.parametrize("place", range(8))
def test_two_users_stay_two_beside_a_missing_one(place: int) -> None:
    users = columns([LONG, LONG - 1, LONG, None])[place]
    table = releases.table(
        {"x": np.array([1.0, 2.0, 3.0, 4.0]), "who": users}, column="x", unit="who", max_contributions=1
    )
    assert table.array().tolist() == [1.0, 2.0]


def test_one_user_stays_one_across_batches(tmp_path: Path) -> None:
    path = tmp_path / "visits.parquet"
    visits = pyarrow.table({"who": [LONG, 5, LONG, None], "x": [1.0, 2.0, 3.0, 4.0]})
    parquet.write_table(visits, path, row_group_size=2)
    table = releases.table(path, column="x", unit="who", max_contributions=1)
    assert table.array().tolist() == [1.0, 2.0]


@pytest.mark.parametrize("none", [None, float("nan"), "", pandas.NA, pandas.NaT, [1], {}, np.array([1, 2])])
def test_records_of_nobody_are_left_out(none: object) -> None:
    who = np.empty(3, dtype=object)
    who[:] = ["ann", none, "bob"]
    table = releases.table({"x": np.arange(3.0), "who": who}, column="x", unit="who", max_contributions=1)
    assert table.array().tolist() == [0.0, 2.0]


def test_times_as_users() -> None:
    who = np.array(["2020-01-01", "NaT", "NaT", "2020-01-01"], dtype="datetime64[ns]")
    table = releases.table({"x": np.arange(4.0), "who": who}, column="x", unit="who", max_contributions=2)
    assert table.array().tolist() == [0.0, 3.0]


def test_empty_cells_of_a_file_are_nobody(tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    path.write_bytes(b"x,who\n1,\n2,ann\n3,\n")
    table = releases.table(path, column="x", unit="who", max_contributions=1)
    assert table.array(numbers=True).tolist() == [2.0]


def test_missing_numbers_of_a_sample_reach_a_function_as_nan() -> None:
    drawn = releases.sample(polars.DataFrame({"a": [1, None], "b": [2, 3]}), hush.Poisson(rate=1.0))
    found = drawn.apply(lambda records: records, guarantee=hush.PureDP(1.0)).value
    assert np.isnan(found["a"][1])
    assert found["b"].tolist() == [2, 3]


@pytest.mark.parametrize("values", [polars.Series([True, None]), pandas.Series([True, None], dtype="boolean")])
def test_a_missing_bool_is_a_missing_number(values: Any) -> None:
    for data in (values, {"a": values}, values.to_frame("a")):
        assert releases.table(data).array(numbers=True).tolist()[0] == 1.0
        releases.mean(data, bounds=(0, 1), epsilon=1.0)


def test_masked_numbers_are_missing() -> None:
    data = np.ma.array([1, 900], mask=[False, True])
    assert np.isnan(releases.table(data).array(numbers=True)[1])
    long = np.ma.array([LONG, 5], mask=[False, True])
    assert releases.histogram(long, categories=(LONG, LONG - 1), epsilon=500.0).value == {LONG: 1, LONG - 1: 0}


SHORT = np.array([0.1, 0.2, 0.1], dtype=np.float32)


@pytest.mark.parametrize(
    "column",
    [
        SHORT,
        list(SHORT),
        np.array(list(SHORT), dtype=object),
        np.ma.array(SHORT, mask=[False] * 3),
        pandas.Series(SHORT).astype("category"),
        pandas.Series(SHORT, dtype="Float32"),
        pandas.Series([*SHORT, None], dtype="Float32").astype("category"),
        pandas.Series(SHORT, dtype="float[pyarrow]"),
        pandas.Series(SHORT, dtype="float[pyarrow]").astype("category"),
        pyarrow.array(SHORT).dictionary_encode(),
        polars.Series(SHORT),
    ],
    ids=lambda column: f"{type(column).__name__} {getattr(column, 'dtype', getattr(column, 'type', ''))}",
)
def test_short_floats_meet_their_categories(column: Any) -> None:
    found = releases.histogram(column, categories=(0.1, 0.2), epsilon=500.0).value
    assert found == {0.1: 2, 0.2: 1}


def test_long_decimals_are_categories() -> None:
    long = decimal.Decimal("12345678901234567890.12")
    for data in (pyarrow.array([long] * 3, pyarrow.decimal128(38, 2)), [long] * 3, polars.Series([long] * 3)):
        assert releases.histogram(data, categories=(long,), epsilon=500.0).value == {long: 3}
    tenth = decimal.Decimal("0.1")
    for data in (np.array([0.1]), [0.1], SHORT[:1], pyarrow.array([tenth])):
        assert releases.histogram(data, categories=(tenth,), epsilon=500.0).value == {tenth: 1}
    for none in ("nan", "snan"):
        with pytest.raises(hush.InvalidParameter, match="different categories"):
            releases.Histogram(categories=(decimal.Decimal(none),), epsilon=1.0)


def test_each_cell_of_a_list_is_read_alone() -> None:
    cells = [1.0, "2", None, 10**400, -(10**400), decimal.Decimal(3), 1j, [1], "x", True]
    expected = [1.0, 2.0, np.nan, np.inf, -np.inf, 3.0, np.nan, np.nan, np.nan, 1.0]
    for data in (cells, tuple(cells), {"x": cells}):
        assert np.array_equal(releases.table(data).array(numbers=True), expected, equal_nan=True)
    found = releases.histogram([1, "1", None, 2.0, [1]], categories=(1, "1", 2), other=True, epsilon=500.0).value
    assert list(found.values()) == [1, 1, 1, 2]


def test_no_byte_stops_the_reading(tmp_path: Path) -> None:
    path = tmp_path / "bytes.csv"
    path.write_bytes(b"x,y\n1,a\n\xff\xfe,b\n\x00,c\n3,\xff\n")
    assert np.nan_to_num(releases.table(path, column="x").array(numbers=True), nan=-1).tolist() == [1, -1, -1, 3]
    counts = releases.Histogram(categories=("a", "b", "c"), other=True, epsilon=500.0)
    assert list(counts.release(releases.table(path, column="y")).value.values()) == [1, 1, 1, 1]


def test_a_file_with_one_name_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "twice.csv").write_bytes(b"x,x\n1,2\n")
    with pytest.raises(hush.InvalidParameter, match="different names"):
        releases.table(tmp_path / "twice.csv")


@pytest.mark.parametrize("rows", [np.ones((3, 2)), np.ones((0, 2))])
def test_rows_of_an_array_are_no_column(rows: np.ndarray) -> None:
    with pytest.raises(hush.InvalidParameter, match="one column"):
        releases.histogram(rows, categories=(1,), epsilon=1.0)


def test_a_column_that_is_not_drawn_spends_nothing() -> None:
    sample = releases.sample(releases.table({"a": [1.0], "b": [2.0]}, column="a"), hush.Poisson(rate=0.5))
    with pytest.raises(hush.InvalidParameter, match="the column that is drawn"):
        sample.release(releases.Mean(bounds=(0, 1), epsilon=1.0), column="b")
    assert sample.uses == ()
    sample.release(releases.Mean(bounds=(0, 1), epsilon=1.0), column="a")


@pytest.mark.parametrize("confidence", [1.0, 1 - 2.0**-53, 1 - 1e-10, 0.0, float("nan")])
def test_a_confidence_that_cannot_be_split_is_refused_before_any_draw(confidence: float) -> None:
    query = releases.Histogram(edges=tuple(range(100)), epsilon=1.0)
    with pytest.raises(hush.InvalidParameter, match="confidence"):
        query.release(np.ones(5), confidence=confidence)
    assert query.on(hush.Poisson(rate=0.5)).release(np.ones(5), confidence=1 - 1e-9).total_interval is not None
