"""Time one question on every engine: `make bench`, or `python engines.py [RECORDS]`.

A hundred million records (or as many as told) of three columns, a group of 1000, a user of 1e6 and a number, in a
Parquet file, a DuckDB file and, for a twentieth of them, a PostgreSQL server that this script starts. Each engine
answers in a process of its own: exact counts and sums by group; a median of all; a secret sample at rate 0.01 and its
median; at most five records of each user and their sum. Seconds are by the clock, memory is the largest resident set of
the process (of Spark, of the Python of its driver alone). DuckDB's own group-by of doubles, which is neither exact nor
private, stands beside them. The table goes to results/engines.md, the numbers to results/engines.json.
"""

import contextlib
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import processes
from made_records import pieces
from processes import Row
from tables import about, listed, table, versions, write

RECORDS = 100_000_000
GROUPS, USERS = 1000, 1_000_000
SHARE = 20  # PostgreSQL gets one record in so many
BOUNDS = (0.0, 2000.0)
TIME_LIMIT = 1800
ENGINES = ["files", "Polars", "DuckDB", "PostgreSQL", "Spark"]
QUESTIONS = ["sums by group", "median", "sample", "users"]
PACKAGES = ["hush", "polars", "duckdb", "adbc-driver-postgresql", "pyspark", "pyarrow", "numpy"]


def columns(random: np.random.Generator, size: int) -> dict[str, Any]:
    """Groups, users and numbers of so many records."""
    return {
        "g": random.integers(0, GROUPS, size, dtype=np.int32),
        "who": random.integers(0, USERS, size),
        "x": random.lognormal(5, 0.5, size),
    }


def make(folder: Path, records: int) -> None:
    """The file, and the database file."""
    import duckdb
    from pyarrow import parquet

    writer = None
    for piece in pieces(records, columns):
        writer = writer or parquet.ParquetWriter(folder / "t.parquet", piece.schema)
        writer.write_table(piece)
    if writer:
        writer.close()
    with duckdb.connect(str(folder / "t.db")) as made:
        made.from_parquet(str(folder / "t.parquet")).create("t")


@contextlib.contextmanager
def opened(engine: str, folder: Path, records: int) -> Iterator[Any]:
    """The data as an engine has them."""
    if engine == "files":
        yield str(folder / "t.parquet")
    elif engine == "Polars":
        import polars

        yield polars.scan_parquet(folder / "t.parquet")
    elif engine == "DuckDB":
        yield f"duckdb://{folder}/t.db#t"
    elif engine == "PostgreSQL":
        with _postgres(folder, records // SHARE) as address:
            yield f"{address}#t"
    else:
        with _spark() as session:
            yield session.read.parquet(str(folder / "t.parquet"))


@contextlib.contextmanager
def _postgres(folder: Path, records: int) -> Iterator[str]:
    import pgserver
    from adbc_driver_postgresql import dbapi

    server = pgserver.get_server(tempfile.mkdtemp(dir=folder), cleanup_mode="delete")
    with dbapi.connect(server.get_uri()) as made, made.cursor() as cursor:
        for number, piece in enumerate(pieces(records, columns)):
            cursor.adbc_ingest("t", piece, mode="append" if number else "create")
        made.commit()
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


@contextlib.contextmanager
def _spark() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    made = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = made.config("spark.driver.memory", "4g").config("spark.log.level", "OFF").getOrCreate()
    session.range(10).mapInArrow(lambda batches: batches, "id long").collect()  # workers are started
    try:
        yield session
    finally:
        session.stop()


def question(name: str) -> Callable[[Any], object]:
    """What is asked of the data."""
    import hush
    from hush import releases

    if name == "median":
        return lambda data: releases.median(data, column="x", bounds=BOUNDS, epsilon=1.0).value
    if name == "sample":
        query = releases.Median(bounds=BOUNDS, epsilon=1.0).on(hush.Poisson(rate=0.01))
        return lambda data: query.release(data, column="x").value
    if name == "users":
        query = releases.Sum(bounds=BOUNDS, epsilon=1.0)
        return lambda data: query.release(releases.table(data, column="x", unit="who", max_contributions=5)).value
    query = releases.GroupBy(
        keys={"g": range(GROUPS)},
        ask={"n": releases.Rows(), "x": releases.Stats("x", bounds=BOUNDS, mean=True)},
        epsilon=1.0,
    )
    return lambda data: len(query.release(data).value.groups)


def measure(engine: str, name: str, folder: Path, records: int) -> Row:
    """One engine and one question, in this process."""
    with opened(engine, folder, records) as data:
        ask = question(name)
        try:
            return timed(lambda: ask(data))
        except Exception as error:
            return {"failure": type(error).__name__}


def timed(ask: Callable[[], object]) -> Row:
    """Seconds by the clock, CPU seconds of this process, and its largest memory."""
    start, spent = time.perf_counter(), time.process_time()
    ask()
    seconds, spent = time.perf_counter() - start, time.process_time() - spent
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return {"seconds": seconds, "cpu": spent, "memory": memory}


def plain(folder: Path) -> Row:
    """DuckDB's own group-by of doubles."""
    import duckdb

    return timed(lambda: duckdb.from_parquet(str(folder / "t.parquet")).aggregate("g, count(*), avg(x)").fetchall())


def shown(row: Row) -> str:
    return (
        str(row["failure"])
        if "failure" in row
        else f"{row['seconds']:.1f} s, CPU {row['cpu']:.1f} s, {row['memory']} MiB"
    )


def main(records: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        processes.run([sys.executable, str(Path(__file__)), name, str(records), "make"], limit=None)
        script = str(Path(__file__))
        rows = {
            "DuckDB itself": {
                "sums by group": processes.row(script, name, str(records), limit=TIME_LIMIT, environment={})
            }
        }
        for engine in ENGINES:
            rows[engine] = {
                asked: processes.row(script, name, str(records), engine, asked, limit=TIME_LIMIT, environment={})
                for asked in QUESTIONS
            }
            print(engine, {asked: shown(row) for asked, row in rows[engine].items()}, flush=True)
    body = [
        [engine, *(shown(row[asked]) if asked in row else "" for asked in QUESTIONS)] for engine, row in rows.items()
    ]
    said = [about(__doc__), f"{records:,} records; PostgreSQL has {records // SHARE:,}.", listed(versions(PACKAGES))]
    lines = ["# Engines", *said, "\n".join(table(["engine", *QUESTIONS], body, words=QUESTIONS))]
    write("engines", "\n\n".join(lines), {"records": records, "rows": rows})


if __name__ == "__main__":
    if sys.argv[3:] == ["make"]:  # in a process of its own: a child begins with the largest memory of its parent
        make(Path(sys.argv[1]), int(sys.argv[2]))
    elif len(sys.argv) > 2:
        folder, records = Path(sys.argv[1]), int(sys.argv[2])
        print(json.dumps(measure(sys.argv[3], sys.argv[4], folder, records) if len(sys.argv) > 3 else plain(folder)))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else RECORDS)
