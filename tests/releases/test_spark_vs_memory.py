"""Spark's executors, against Arrow in this process: the same whole numbers however the records are cut, and samples
that a task draws again when it is tried again."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

import hush
from hush import releases
from hush.randomness.keyed_source import KeyedSource
from hush.releases.row_wise.row_expressions import col
from hush.releases.statistics import ordered_records
from hush.releases.tables.engines.arrow_engine import drawn
from hush.releases.tables.engines.spark import SparkFrame
from hush.releases.tables.opening import open_reader
from hush.releases.tables.tally import Measure, Steps, Tally
from tests.docs.pages import check_other_block
from tests.releases.engine_data import MEMORY, TABLE, grouped, plain, released, some_tallies
from tests.releases.spark_session import session

pytestmark = pytest.mark.xdist_group("spark")  # one session for all of them


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    with session() as running:
        yield running


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The records in eight files."""
    found = tmp_path_factory.mktemp("files")
    for part in range(8):
        parquet.write_table(TABLE.slice(part * 90, 90 if part < 7 else None), found / f"{part}.parquet")
    return found


def test_same_whole_numbers(spark: Any) -> None:
    frames = {parts: open_reader(spark.createDataFrame(TABLE).repartition(parts)) for parts in (1, 2, 8)}
    for place, tally in enumerate(some_tallies(6)):
        parts = (1, 2, 8)[place % 3]
        assert plain(frames[parts].tally(tally)) == plain(MEMORY.tally(tally)), (parts, tally)
    assert open_reader(spark.createDataFrame(TABLE).limit(0)).tally(Tally((), ((),))).rows.tolist() == [0]


def test_same_whole_numbers_of_users(spark: Any) -> None:
    from hush.releases.tables.tally import Limits

    steps = Steps(col("x"), 0.0, 10.0, 5.0, -32, 0.0)
    limits = Limits(col("who"), 2, 1, None, b"secret" * 6)
    tally = Tally((col("s"),), None, None, (Measure(steps),), limits=limits)
    frame = open_reader(spark.createDataFrame(TABLE).repartition(8))
    assert plain(frame.tally(tally)) == plain(MEMORY.tally(tally))
    distinct = Tally((col("n"),), None, distinct=(col("s"),))
    assert [d.tolist() for d in frame.tally(distinct).distinct] == [d.tolist() for d in MEMORY.tally(distinct).distinct]
    with pytest.raises(hush.NotCovered, match="Spark"):
        frame.tally(Tally((col("n"),), None, distinct=(col("s"), col("i"))))
    with pytest.raises(hush.NotCovered, match="Spark"):
        frame.tally(Tally((col("n"),), None, distinct=(col("x"),)))


def test_same_tables(spark: Any) -> None:
    frame = spark.createDataFrame(TABLE).repartition(2)
    for query in grouped():
        assert released(query, frame) == released(query, TABLE)


def test_same_statistics(spark: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordered_records, "HELD", 100)
    frame = spark.read.parquet(str(folder))
    for query, column in (
        (releases.Mean(bounds=(0, 10), epsilon=1.0), "x"),
        (releases.Median(bounds=(0, 10), epsilon=1.0), "f"),
        (releases.Count(epsilon=1.0), "n"),
        (releases.Histogram(categories=("a", "ä"), epsilon=1.0), "s"),
        (releases.Quantiles(ps=(0.2, 0.5), bounds=(0, 5), epsilon=300.0), "n"),
    ):
        found, expected = (query.release(data, column=column, source=hush.SeededSource(1)) for data in (frame, TABLE))
        assert found.value == expected.value


def test_a_task_that_dies_draws_the_same_sample(spark: Any, folder: Path, tmp_path: Path) -> None:
    """Each partition's first task dies after its coins were tossed; the second gives what an undisturbed run gives."""
    frame = SparkFrame(spark.read.parquet(str(folder)))
    key, scheme, marks = KeyedSource.of(hush.SeededSource(7)), hush.Poisson(rate=0.4), str(tmp_path)

    def dies(number: int, pieces: Iterator[Any]) -> Any:
        found = drawn(pieces, scheme, key.part(number))
        mark = os.path.join(marks, str(number))
        if not os.path.exists(mark):
            open(mark, "w").close()
            os._exit(1)
        return found

    warnings.simplefilter("ignore")  # Spark's own, which `sealed` keeps away elsewhere
    names = frame.names
    calm = frame.parts(names, lambda number, pieces: drawn(pieces, scheme, key.part(number)))
    assert frame.parts(names, dies) == calm
    assert len(list(tmp_path.iterdir())) == len(calm)


def test_each_partition_counts_once(spark: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = spark.read.parquet(str(folder))
    sampled = releases.table(frame).drawn(hush.Poisson(rate=1.0), hush.SeededSource(1))
    assert sorted(map(repr, sampled.of("n").array())) == sorted(map(repr, TABLE["n"].to_pylist()))
    half = [
        releases.table(frame).drawn(hush.Poisson(rate=0.5), hush.SeededSource(k)).of("who").array().tolist()
        for k in (1, 1, 2)
    ]
    assert half[0] == half[1] != half[2] and 250 < len(half[0]) < 450
    twice = type("Row", (), {"part": 0, "value": b""})
    monkeypatch.setattr("pyspark.sql.classic.dataframe.DataFrame.collect", lambda self: [twice, twice])
    warnings.simplefilter("ignore")
    with pytest.raises(hush.InvalidParameter, match="each answer once"):
        SparkFrame(frame).parts(("n",), lambda _number, _pieces: None)


def test_what_is_not_covered(spark: Any, folder: Path) -> None:
    from pyspark.sql import functions

    frame = spark.read.parquet(str(folder))
    for bad in (frame.repartition(2), frame.groupBy("n").count(), frame.withColumn("u", functions.rand())):
        with pytest.raises(hush.NotCovered, match="shuffle"):
            releases.table(bad).drawn(hush.Poisson(rate=0.5), hush.SeededSource(1))
    with pytest.raises(hush.NotCovered, match="keeps no order"):
        releases.table(frame, unit="who", max_contributions=1)


def test_faults_say_nothing(spark: Any, folder: Path) -> None:
    bad = spark.createDataFrame(pyarrow.table({"x": ["record 4711"]})).selectExpr("CAST(x AS INT) AS x")
    for action in (lambda: releases.table(bad).rows(), lambda: releases.mean(bad, bounds=(0, 1), epsilon=1.0)):
        with pytest.raises(hush.InvalidParameter) as told:
            action()
        assert "4711" not in str(told.value) and told.value.__context__ is None


def test_the_page_runs(spark: Any, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = folder.parent / "visits.parquet"
    parquet.write_table(pyarrow.table({"cost": np.linspace(0, 500, 1000)}), made)
    check_other_block("docs/databases.md", "spark.read", capsys, spark=spark, visits=str(made), releases=releases)
