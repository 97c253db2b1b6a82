"""Sums and cells that PostgreSQL makes in SQL, against Arrow in this process: the same whole numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hush
from hush import releases
from hush.releases.row_wise.row_expressions import col
from hush.releases.statistics import ordered_records
from hush.releases.tables.engines import postgres
from hush.releases.tables.engines.database_urls import table_url
from hush.releases.tables.engines.postgres import Postgres
from hush.releases.tables.engines.tally_sql import TallySql
from hush.releases.tables.in_memory import in_memory
from hush.releases.tables.opening import open_reader
from hush.releases.tables.reader import Reader
from hush.releases.tables.tally import Measure, Steps, Tally
from tests.docs.pages import check_other_block
from tests.releases.engine_data import MEMORY, TABLE, grouped, plain, released, required, tallies
from tests.releases.postgres_server import server

required("adbc_driver_postgresql")
pytestmark = pytest.mark.xdist_group("postgres")  # one server for all of them


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    from adbc_driver_postgresql import dbapi

    with server() as uri:
        with dbapi.connect(uri) as made, made.cursor() as cursor:
            cursor.execute('DROP TABLE IF EXISTS "hostile t"')
            cursor.adbc_ingest("hostile t", TABLE, mode="create")
            made.commit()
        yield uri


def run(address: str, sql: str) -> None:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(address) as made, made.cursor() as cursor:
        for part in sql.split("; "):
            cursor.execute(part)
        made.commit()


@pytest.fixture(scope="module")
def source(address: str) -> str:
    return f"{address}#hostile t"


@pytest.fixture(scope="module")
def reader(source: str) -> Reader:
    return open_reader(source)


def test_same_schema(reader: Reader) -> None:
    assert reader.names == MEMORY.names
    assert [reader.kind(n) for n in reader.names] == [MEMORY.kind(n) for n in reader.names]
    assert [reader.whole(n) for n in reader.names] == [MEMORY.whole(n) for n in reader.names]


@settings(max_examples=60, deadline=None)
@given(tally=tallies())
def test_same_whole_numbers(reader: Reader, tally: Tally) -> None:
    assert plain(reader.tally(tally)) == plain(MEMORY.tally(tally))


@settings(max_examples=5, deadline=None)
@given(tally=tallies(limits=True))
def test_same_whole_numbers_of_users(reader: Reader, tally: Tally) -> None:
    assert plain(reader.tally(tally)) == plain(MEMORY.tally(tally))


def test_what_is_said_in_sql(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain tallies never read a record here; what could raise in the database is left to this process."""
    found = Postgres(table_url(source))  # type: ignore[arg-type]
    monkeypatch.setattr(Postgres, "pieces", lambda *_: pytest.fail("records were read"))
    steps = Steps(col("x"), 0.0, 10.0, 5.0, -32, 0.0)
    said = Tally((col("s"), col("b")), None, (col("i") > 3) | col("s").is_in(["a"]), (Measure(steps),))
    assert plain(found.tally(said)) == plain(MEMORY.tally(said))
    unsaid = Tally((), ((),), col("x") / col("n") > 1)
    assert TallySql.of(unsaid, '"t"', found._kinds, {name: found.kind(name) for name in found.names}) is None


@settings(max_examples=6, deadline=None)
@given(
    values=st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=200),
    power=st.integers(-1000, 900),
)
def test_rounding_of_any_float(address: str, values: list[float], power: int) -> None:
    """Halves, subnormal numbers, differences that cancel, products that underflow: nothing raises, all round alike."""
    step = math.ldexp(1.0, power)
    more = [k * step / 2 for k in range(-9, 10)] + [math.nextafter(k * step / 2, math.inf) for k in range(-3, 4)]
    table = pyarrow.table({"x": pyarrow.array([*values, *more], pyarrow.float64())})
    ends = math.ldexp(1.0, min(power + 30, 1000))
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(address) as made, made.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS rounding")
        cursor.adbc_ingest("rounding", table, mode="create")
        made.commit()
    found = open_reader(f"{address}#rounding")
    for centre in (0.0, step * 3, ends / 2):
        tally = Tally((), ((),), None, (Measure(Steps(col("x"), -ends, ends, centre, power, None)),))
        assert plain(found.tally(tally)) == plain(in_memory(table).tally(tally))


def test_sums_beyond_64_bits(address: str) -> None:
    run(
        address,
        "DROP TABLE IF EXISTS large; CREATE TABLE large AS SELECT 1e300::float8 AS x FROM generate_series(1, 9)",
    )
    tally = Tally((), ((),), None, (Measure(Steps(col("x"), 0.0, 1e300, 0.0, math.frexp(1e300)[1] - 61, None)),))
    found = open_reader(f"{address}#large").tally(tally)
    assert found.sums[0][0] == 9 * round(math.ldexp(1e300, 61 - math.frexp(1e300)[1])) > 2**63


def test_same_tables(source: str) -> None:
    for query in grouped():
        assert released(query, source) == released(query, TABLE)
    sampled = grouped()[0].on(hush.Poisson(rate=0.5)).release(source)
    assert len(sampled.value.groups) == 6 and sampled.private


def test_statistics_and_samples(source: str) -> None:
    for query, column in (
        (releases.Mean(bounds=(0, 10), epsilon=1.0), "x"),
        (releases.Median(bounds=(0, 10), epsilon=1.0), "f"),
        (releases.Histogram(categories=("a", "ä"), epsilon=1.0), "s"),
    ):
        found, expected = (query.release(data, column=column, source=hush.SeededSource(1)) for data in (source, TABLE))
        assert found.value == expected.value
    drawn = releases.table(source).drawn(hush.Poisson(rate=0.5), hush.SeededSource(1))
    rows = list(zip(*(drawn.of(name).array().tolist() for name in ("s", "who", "n")), strict=True))
    assert set(rows) <= set(zip(*(TABLE[name].to_pylist() for name in ("s", "who", "n")), strict=True))
    assert 250 < len(rows) < 450


def test_several_passes(address: str, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A median of many records: a pass that ends early leaves the connection free for the next one."""
    query = releases.Median(bounds=(0, 3e5), epsilon=1.0)
    run(
        address,
        "DROP TABLE IF EXISTS passes; CREATE TABLE passes AS SELECT i::float8 AS x FROM generate_series(1, 300000) i",
    )
    expected = query.release(np.arange(1.0, 300_001), source=hush.SeededSource(1)).value
    monkeypatch.setattr(ordered_records, "HELD", 1000)
    assert query.release(f"{address}#passes", source=hush.SeededSource(1)).value == expected


def test_every_type(address: str) -> None:
    """Read by its type alone; what is too large for a float, or no date, raises nothing."""
    cells = {
        "numeric": ["1e400", "NaN", "Infinity", "-1.5", "0.1"],
        "date": ["infinity", "0001-01-01 BC"],
        "timestamp": ["-infinity", "294276-12-31 23:59:59"],
        "timestamptz": ["infinity"],
        "interval": ["178000000 years"],
        "char(5)": ["a"],
        "uuid": ["00000000-0000-0000-0000-00000000beef"],
        "jsonb": ['{"a": 4711}'],
        "int[]": ["{1,NULL}"],
        "bytea": ["\\xff00"],
        "money": ["92233720368547758.07"],
        "inet": ["::1"],
        "oid": ["4294967295"],
        "bit(3)": ["101"],
        "real": ["3e38", "NaN"],
        "smallint": ["-32768"],
    }
    said = ", ".join(f"{letter} {kind}" for letter, kind in zip("abcdefghijklmnop", cells, strict=True))
    run(address, f"DROP TABLE IF EXISTS types; CREATE TABLE types ({said})")
    table = open_reader(f"{address}#types")
    before = [table.kind(name) for name in table.names]
    longest = max(map(len, cells.values()))
    for place in range(longest):
        row = ", ".join("NULL" if place >= len(v) else f"'{v[place]}'" for v in cells.values())
        run(address, f"INSERT INTO types VALUES ({row})")
    table = open_reader(f"{address}#types")
    assert [table.kind(name) for name in table.names] == before
    for name in table.names:
        assert len(releases.table(f"{address}#types", column=name).array()) == longest
    numbers = releases.table(f"{address}#types", column="a").array(numbers=True)
    assert np.array_equal(numbers, [math.inf, math.nan, math.inf, -1.5, 0.1], equal_nan=True)
    run(address, "DROP TABLE types")


def test_all_passes_see_one_state(address: str) -> None:
    run(address, "DROP TABLE IF EXISTS moving; CREATE TABLE moving AS SELECT 1.0::float8 AS x")
    table = releases.table(f"{address}#moving")
    assert table.rows() == 1
    run(address, "INSERT INTO moving VALUES (2.0)")
    assert table.rows() == 1
    assert releases.table(f"{address}#moving").rows() == 2


def test_a_lost_connection(address: str) -> None:
    """One message, whatever the data are; the table then sees the state of a new connection."""
    run(
        address,
        "DROP TABLE IF EXISTS wide; CREATE TABLE wide AS SELECT repeat('4711', 80) AS x FROM generate_series(1, 200000)",
    )
    kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()"
    table, told = releases.table(f"{address}#wide"), []
    pieces = table.batches()
    next(pieces)
    for action in (lambda: list(pieces), lambda: releases.count(table, epsilon=1.0)):
        run(address, kill)
        with pytest.raises(hush.InvalidParameter) as fault:
            action()
        told.append(str(fault.value))
        assert table.rows() == 200_000
    assert told[0] == told[1] and "that answers" in told[0] and "4711" not in told[0]


def test_faults_say_nothing(address: str) -> None:
    run(
        address,
        "DROP VIEW IF EXISTS bad; CREATE VIEW bad AS SELECT (x || 'z')::int AS x FROM (VALUES ('record 4711')) AS t(x)",
    )
    tally = Tally((), ((),), col("x") > 1)
    for action in (
        lambda: releases.table(f"{address}#bad").array(),
        lambda: open_reader(f"{address}#bad").tally(tally),
    ):
        with pytest.raises(hush.InvalidParameter) as told:
            action()
        assert "4711" not in str(told.value) and told.value.__context__ is None
    for bad in ("postgresql://ann:hunter2@127.0.0.1:9/db#t", f"{address}#no_such_table", f"{address}#a.b.c", address):
        with pytest.raises(hush.InvalidParameter) as told:
            releases.table(bad)
        assert "hunter2" not in str(told.value) and "ann" not in str(told.value)


def test_names_and_values_cannot_become_sql(address: str, source: str) -> None:
    for name in ('hostile t"; DROP TABLE "hostile t', "pg_sleep(9)", "(SELECT 1) AS t"):
        with pytest.raises(hush.InvalidParameter):
            releases.table(f"{address}#{name}")
    hostile = Tally((), ((),), col("s") == '\'; DROP TABLE "hostile t"; --')
    assert open_reader(source).tally(hostile).rows.tolist() == [0]
    assert open_reader(source).tally(Tally((), ((),))).rows.tolist() == [len(TABLE)]
    assert "hostile" not in postgres.COLUMNS


def test_the_page_runs(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(address, "DROP TABLE IF EXISTS visits; CREATE TABLE visits AS SELECT 5.0::float8 AS cost")
    check_other_block("docs/databases.md", "{address}#visits", capsys, address=address, releases=releases)
