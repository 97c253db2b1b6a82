"""Polars queries and DuckDB, against Arrow in this process: the same whole numbers of hostile columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars
import pyarrow
import pytest
from hypothesis import given, settings
from pyarrow import parquet

import hush
from hush import releases
from hush.randomness.keyed_source import KeyedSource
from hush.releases.statistics import ordered_records
from hush.releases.tables.engines.arrow_engine import drawn, rechunked
from hush.releases.tables.opening import open_reader
from hush.releases.tables.reader import Reader
from hush.releases.tables.tally import Tally
from tests.releases.engine_data import MEMORY, TABLE, grouped, plain, released, tallies


def of_file(folder: Path) -> str:
    path = folder / "hostile.db"
    with duckdb.connect(str(path)) as made:
        made.register("given", TABLE)
        made.execute('CREATE SCHEMA "a b"; CREATE TABLE "a b"."t ""1""" AS SELECT * FROM given')
    return f'duckdb://{path}#a b.t "1"'


def of_relation(_: Path) -> Any:
    connection = duckdb.connect()
    connection.register("given", TABLE)
    return connection.sql("SELECT * FROM given")


MAKERS: dict[str, Callable[[Path], Any]] = {
    "polars": lambda _: polars.from_arrow(TABLE).lazy(),  # type: ignore[union-attr]
    "duckdb relation": of_relation,
    "duckdb file": of_file,
}


@pytest.fixture(scope="module", params=MAKERS.values(), ids=MAKERS.keys())
def source(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    yield request.param(tmp_path_factory.mktemp("engine"))


@pytest.fixture(scope="module")
def reader(source: Any) -> Reader:
    return open_reader(source)


@pytest.fixture(scope="module")
def pieces(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    """The records of a file, the last ones first, some at a time."""
    path = tmp_path_factory.mktemp("pieces") / "t.parquet"
    parquet.write_table(TABLE.take(list(range(len(TABLE)))[::-1]), path, row_group_size=97)
    return open_reader(str(path))


def test_same_schema(reader: Reader) -> None:
    assert reader.names == MEMORY.names
    for name in reader.names:
        assert (reader.kind(name), reader.whole(name)) == (MEMORY.kind(name), MEMORY.whole(name))


@settings(max_examples=15, deadline=None)
@given(tally=tallies())
def test_same_whole_numbers(reader: Reader, tally: Tally) -> None:
    assert plain(reader.tally(tally)) == plain(MEMORY.tally(tally))


@settings(max_examples=15, deadline=None)
@given(tally=tallies(limits=True))
def test_same_whole_numbers_of_users(reader: Reader, tally: Tally) -> None:
    assert plain(reader.tally(tally)) == plain(MEMORY.tally(tally))


@settings(max_examples=40, deadline=None)
@given(tally=tallies(limits=True))
def test_how_records_are_cut_does_not_matter(pieces: Reader, tally: Tally) -> None:
    """Nor in which order they come: what one record holds must not show in how another is hashed."""
    assert plain(pieces.tally(tally)) == plain(MEMORY.tally(tally))


def test_same_tables(source: Any) -> None:
    for query in grouped():
        assert released(query, source) == released(query, TABLE)
    sampled = grouped()[0].on(hush.Poisson(rate=0.5)).release(source)
    assert len(sampled.value.groups) == 6 and sampled.private


def test_same_statistics(source: Any) -> None:
    for query, column in (
        (releases.Mean(bounds=(0, 10), epsilon=1.0), "x"),
        (releases.Median(bounds=(0, 10), epsilon=1.0), "f"),
        (releases.Count(epsilon=1.0), "n"),
        (releases.Histogram(categories=("a", "ä"), epsilon=1.0), "s"),
        (releases.Variance(bounds=(-5, 5), epsilon=1.0), "n"),
        (releases.Quantiles(ps=(0.2, 0.5), bounds=(0, 5), epsilon=1.0), "n"),
    ):
        found, expected = (query.release(data, column=column, source=hush.SeededSource(1)) for data in (source, TABLE))
        assert found.value == expected.value


def test_samples(source: Any) -> None:
    """One pass over all columns: rows stay whole, the same secret draws the same rows, the share is the rate."""
    drawn = [releases.table(source).drawn(hush.Poisson(rate=0.5), hush.SeededSource(k)) for k in (1, 1, 2)]
    rows = [list(zip(*(part.of(name).array().tolist() for name in ("s", "who", "n")), strict=True)) for part in drawn]
    assert rows[0] == rows[1] != rows[2]
    assert set(rows[0]) <= set(zip(*(TABLE[name].to_pylist() for name in ("s", "who", "n")), strict=True))
    assert 250 < len(rows[0]) < 450
    whole = releases.table(source).drawn(hush.Poisson(rate=1.0), hush.SeededSource(1))
    assert whole.of("n").array().tolist() == TABLE["n"].to_pylist()
    sampled = releases.sample(source, hush.Poisson(rate=0.2))
    sampled.release(releases.Mean(bounds=(0, 1), epsilon=1.0), column="x")
    sampled.release(releases.Count(epsilon=1.0), column="n")


def test_several_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A median of many records: a pass that ends early leaves the engine free for the next one."""
    query, values = releases.Median(bounds=(0, 6e5), epsilon=1.0), np.arange(600_000.0)
    expected = query.release(values, source=hush.SeededSource(1)).value
    monkeypatch.setattr(ordered_records, "HELD", 1000)
    with duckdb.connect(str(tmp_path / "x.db")) as made:
        made.execute("CREATE TABLE t AS SELECT CAST(i AS DOUBLE) AS x FROM range(600000) AS t(i)")
    relation = duckdb.connect().sql("SELECT CAST(i AS DOUBLE) AS x FROM range(600000) AS t(i)")
    for source in (f"duckdb://{tmp_path}/x.db#t", relation, polars.LazyFrame({"x": values})):
        table = releases.table(source)
        assert query.release(table, source=hush.SeededSource(1)).value == expected
        for _ in table.batches(numbers=True):
            break
        assert table.rows() == 600_000
    twice = releases.table(f"duckdb://{tmp_path}/x.db#t")
    assert sum(len(a) for a, _ in zip(twice.batches(), twice.batches(), strict=True)) == 600_000


def test_what_is_not_covered(source: Any) -> None:
    with pytest.raises(hush.NotCovered, match="keeps no order"):
        releases.table(source, unit="who", max_contributions=1)
    with pytest.raises(hush.NotCovered, match="coin of its own"):
        releases.table(source).drawn(hush.WithoutReplacement(size=7, population=700), hush.SeededSource(1))


def test_every_type_of_duckdb() -> None:
    """Whatever a column holds, its type alone says how it is read, and reading it raises nothing."""
    types = {
        "hugeint": ["170141183460469231731687303715884105727", "-5"],
        "uhugeint": ["340282366920938463463374607431768211455"],
        "decimal(38, 2)": ["99999999999999999999999999999999999.99"],
        "uuid": ["00000000-0000-0000-0000-00000000beef"],
        "date": ["'infinity'", "'0001-01-01'"],
        "timestamp": ["'infinity'", "'294247-01-10 04:00:54.775806'"],
        "timestamptz": ["'-infinity'"],
        "interval": ["'1 year 3 days 4711 seconds'"],
        "time": ["'23:59:59.999999'"],
        "bit": ["'10101'"],
        "blob": ["'\\xFF\\x00'"],
        "integer[]": ["[1, NULL, 4711]"],
        "struct(a integer)": ["{'a': 4711}"],
        "map(varchar, integer)": ["MAP {'k': 4711}"],
        "utinyint": ["255"],
        "ubigint": ["18446744073709551615"],
        "enum('a', 'b')": ["'b'"],
        "json": ["'{\"a\": 4711}'"],
    }
    for kind, values in types.items():
        kinds = set()
        for cells in ([*values, "NULL"], values, ["NULL"], []):
            rows = ", ".join(
                f"(CAST({cell if cell[0] in '[{M' or cell == 'NULL' else cell if cell[0] == chr(39) else chr(39) + cell + chr(39)} AS {kind}))"
                for cell in cells
            )
            said = (
                f"SELECT * FROM (VALUES {rows}) AS t(x)" if cells else f"SELECT CAST(NULL AS {kind}) AS x WHERE false"
            )
            table = releases.table(duckdb.sql(said), column="x")
            assert len(table.array()) == len(cells)
            kinds.add(table.reader.kind("x"))
            if table.reader.kind("x") == "number":
                assert np.isnan(table.array(numbers=True)).sum() == sum(cell == "NULL" for cell in cells)
        assert len(kinds) == 1, kind


def test_polars_types_without_arrow() -> None:
    frame = polars.LazyFrame({"h": [2**100, None]}, schema={"h": polars.Int128})
    assert releases.table(frame, column="h").array(numbers=True)[0] == 2.0**100


def test_faults_say_nothing_of_a_record(tmp_path: Path) -> None:
    bad = {
        "relation": duckdb.sql("SELECT CAST(x AS INTEGER) AS x FROM (VALUES ('record 4711')) AS t(x)"),
        "lazy": polars.LazyFrame({"x": ["record 4711"]}).with_columns(polars.col("x").cast(int)),
    }
    for source in bad.values():
        with pytest.raises(hush.InvalidParameter) as told:
            releases.table(source, column="x").array()
        assert "4711" not in str(told.value) and told.value.__context__ is None
    (tmp_path / "no.db").write_text("record 4711")
    for url in (f"duckdb://{tmp_path}/no.db#t", f"duckdb://{tmp_path}/missing.db#t", f"duckdb://{tmp_path}/no.db"):
        with pytest.raises(hush.InvalidParameter) as told:
            releases.table(url)
        assert "record" not in str(told.value).replace("may show a record", "")


def test_names_cannot_become_sql(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    with duckdb.connect(str(path)) as made:
        made.execute("CREATE TABLE t AS SELECT 1 AS x; CREATE TABLE u AS SELECT 4711 AS x")
    for table in ('t"; SELECT * FROM "u', "t JOIN u", "(SELECT 1)", "t; DROP TABLE u"):
        with pytest.raises(hush.InvalidParameter):
            releases.table(f"duckdb://{path}#{table}")
    (tmp_path / "u.csv").write_text("x\n4711\n")
    known = polars.DataFrame({"x": [4711]})  # DuckDB would find both by their names
    for table in (str(tmp_path / "u.csv").replace(".", "%2E"), "known"):
        with pytest.raises(hush.InvalidParameter):
            releases.table(f"duckdb://{path}#{table}")
    assert len(known) == 1
    assert releases.table(f"duckdb://{path}#t").array().tolist() == [1]


def test_chunks_do_not_decide_the_coins() -> None:
    """However Arrow cuts the records, the coins of a part are the same."""
    key, scheme = KeyedSource.of(hush.SeededSource(1)), hush.Poisson(rate=0.3)
    table = pyarrow.table({"x": np.arange(1000)})
    found = {drawn(iter(table.to_batches(max_chunksize=size)), scheme, key.part(2)) for size in (7, 100, 1000)}
    assert len(found) == 1
    assert drawn(iter(table.to_batches()), scheme, key.part(3)) not in found
    assert [t.num_rows for t in rechunked(iter(table.to_batches(max_chunksize=7)), 300)] == [300, 300, 300, 100]
