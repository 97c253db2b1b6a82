"""Copies of slow tasks, run for real: each partition counts once, and a copy tosses the coins of the first try."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

import hush
from hush.randomness.keyed_source import KeyedSource
from hush.releases.tables.engines.arrow_engine import drawn
from hush.releases.tables.engines.spark import SparkFrame
from tests.releases.engine_data import TABLE
from tests.releases.spark_cluster import cluster
from tests.releases.spark_session import session

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.slow]
SLOW = 3
"""The partition whose first try hangs."""
SETTINGS = {
    "spark__speculation": "true",
    "spark__speculation__multiplier": "1.1",
    "spark__speculation__quantile": "0.3",
    "spark__speculation__interval": "200ms",
    "spark__speculation__minTaskRuntime": "200ms",
    "spark__executor__memory": "512m",
    "spark__sql__files__minPartitionNum": "8",
}


def test_a_slow_task_is_copied_and_counts_once(tmp_path: Path) -> None:
    folder, marks = tmp_path / "files", tmp_path / "marks"
    folder.mkdir()
    marks.mkdir()
    for part in range(8):
        parquet.write_table(TABLE.slice(part * 90, 90 if part < 7 else None), folder / f"{part}.parquet")
    key, scheme, seen = KeyedSource.of(hush.SeededSource(7)), hush.Poisson(rate=0.4), str(marks)

    def hangs(number: int, pieces: Iterator[Any]) -> Any:
        """The first try of one partition tosses its coins, and then takes very long."""
        found = drawn(pieces, scheme, key.part(number))
        with open(os.path.join(seen, f"{number}-{os.getpid()}-{time.time_ns()}"), "w"):
            pass
        tries = [name for name in os.listdir(seen) if name.startswith(f"{number}-")]
        if number == SLOW and len(tries) == 1:
            time.sleep(300)
        return found

    with cluster(tmp_path) as address, session(spark__master=address, **SETTINGS) as spark:
        warnings.simplefilter("ignore")
        frame = SparkFrame(spark.read.parquet(str(folder)))
        calm = frame.parts(frame.names, lambda number, pieces: drawn(pieces, scheme, key.part(number)))
        start = time.monotonic()
        assert frame.parts(frame.names, hangs) == calm
        assert time.monotonic() - start < 250  # the copy answered, not the first try
    tries = [name.split("-")[0] for name in os.listdir(seen)]
    assert tries.count(str(SLOW)) == 2 and len(calm) > SLOW
