"""Columns of every type of DuckDB and Polars in every place of a grouped query: answered, or refused by the schema."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest

import hush
from hush.releases import AtMost, Distinct, GroupBy, Rows, Stats, Unknown, Users
from tests.releases.engine_data import required

SECRET = "4711"
"""What no message may hold: every column has it in some form."""
IN_SQL = [
    "TRUE", "47::TINYINT", "4711::SMALLINT", "4711::INTEGER", "4711::BIGINT", "4711::HUGEINT",
    "4711::UHUGEINT", "4711::UBIGINT", "'NaN'::FLOAT", "-0.0::DOUBLE", "'inf'::DOUBLE", "4711.5::DECIMAL(18,3)",
    "4711.5::DECIMAL(38,10)", "'4711'", "''", "'4711'::BLOB", "'\\xFF4711'::BLOB", "DATE '4711-01-01'",
    "TIME '04:07:11'", "TIMESTAMP '4711-01-01'", "TIMESTAMPTZ '4711-01-01 00:00:00+00'", "INTERVAL 4711 DAY",
    "'00000000-0000-0000-0000-000000004711'::UUID", "[4711]", "{'a': 4711}", "MAP {'a': 4711}",
    "'4711'::ENUM('4711', 'b')", "'0100'::BIT", "union_value(a := 4711)", "[4711, 1]::INTEGER[2]", "NULL",
    "'{\"a\": 4711}'::JSON", "(2::HUGEINT ** 100)::HUGEINT", "TIMESTAMP_S '4711-01-01'", "TIMESTAMP_NS '2011-04-07'",
]  # fmt: skip
IN_POLARS: dict[str, list[Any]] = {
    "Boolean": [True, None], "Int8": [47, None], "Int16": [4711, None], "Int32": [4711, None], "Int64": [2**62, 4711],
    "Int128": [2**100, 4711], "UInt8": [47, None], "UInt64": [2**64 - 1, 4711], "Float32": [float("nan"), 4711.0],
    "Float64": [-0.0, 4711.5], "String": ["4711", ""], "Binary": [b"\xff4711", None], "Categorical": ["4711", None],
    "Date": [datetime.date(4711, 1, 1), None], "Time": [datetime.time(4, 7, 11), None],
    "Datetime": [datetime.datetime(4711, 1, 1), None], "Duration": [datetime.timedelta(4711), None],
    "Decimal": [Decimal("4711.5"), None], "Null": [None, None], "List": [[4711], None], "Struct": [{"a": 4711}, None],
    "Object": [object(), None],
}  # fmt: skip
STATS = Stats("c", bounds=(0, 10), mean=True)
PEOPLE = AtMost(groups=2, each=2)
QUERIES: dict[str, GroupBy] = {
    "unknown key": GroupBy(keys=Unknown("c"), ask={"n": Rows()}, epsilon=5.0, delta=0.1),
    "text key": GroupBy(keys={"c": ("a", "b")}, ask={"n": Rows()}, epsilon=1.0),
    "whole key": GroupBy(keys={"c": (7, None)}, ask={"n": Rows()}, epsilon=1.0),
    "truth key": GroupBy(keys={"c": (True, False)}, ask={"n": Rows()}, epsilon=1.0),
    "mean": GroupBy(keys={}, ask={"m": STATS}, epsilon=1.0),
    "median": GroupBy(keys={}, ask={"m": Stats("c", bounds=(0, 10), median=True)}, epsilon=1.0),
    "user": GroupBy(keys={}, ask={"u": Users()}, epsilon=1.0, unit="c", contributions=PEOPLE),
    "distinct": GroupBy(keys={}, ask={"d": Distinct("c")}, epsilon=1.0),
    "where": GroupBy(keys={}, ask={"n": Rows()}, epsilon=1.0, where=hush.col("c") > 5),
    "null": GroupBy(keys={}, ask={"n": Rows()}, epsilon=1.0, where=hush.col("c").is_null()),
    "in": GroupBy(keys={}, ask={"n": Rows()}, epsilon=1.0, where=hush.col("c").is_in(["a"])),
}


def answered(data: Any) -> set[str]:
    """Which queries are answered; others are refused with hush's own words, and not by any cell."""
    found = set()
    for name, query in QUERIES.items():
        try:
            query.release(data, source=hush.SeededSource(1))
        except (hush.InvalidParameter, hush.NotCovered) as told:
            assert SECRET not in str(told), (name, told)
            assert told.__context__ is None
            continue
        found.add(name)
    return found


@pytest.mark.parametrize("value", IN_SQL)
def test_duckdb(value: str) -> None:
    required("duckdb")
    import duckdb

    with duckdb.connect() as base:
        full = base.sql(f"SELECT {value} AS c FROM range(3)")
        empty = base.sql(f"SELECT {value} AS c FROM range(0)")
        assert answered(full) == answered(empty)  # what is refused follows from the type alone


@pytest.mark.parametrize("kind", list(IN_POLARS))
def test_polars(kind: str) -> None:
    required("polars")
    import polars

    dtype = {
        "List": polars.List(polars.Int64),
        "Struct": polars.Struct({"a": polars.Int64}),
        "Decimal": polars.Decimal(18, 3),
    }.get(kind, getattr(polars, kind, None))
    full = polars.DataFrame({"c": polars.Series(IN_POLARS[kind], dtype=dtype)})
    assert answered(full) == answered(full.head(0))
    if kind != "Object":
        assert answered(full.lazy()) == answered(full.head(0).lazy())


def test_something_is_answered() -> None:
    assert {"mean", "median", "user", "distinct", "where", "null"} <= answered({"c": [1.5, 2.5]})
