"""A real Spark for tests, on the machine's Java: one session in this process."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.releases.engine_data import required


@contextmanager
def session(**settings: str) -> Iterator[Any]:
    """Two cores, no page, tasks that may fail and be tried again."""
    required("pyspark")
    if shutil.which("java") is None:
        if os.environ.get("CI") == "1":
            pytest.fail("no Java: tests of Spark would be left out", pytrace=False)
        pytest.skip("no Java is installed")
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyspark.sql import SparkSession

        made = (
            SparkSession.builder.master("local[2,3]")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
        )
        made = made.config("spark.sql.shuffle.partitions", "3").config("spark.driver.bindAddress", "127.0.0.1")
        made = made.config("spark.driver.host", "127.0.0.1").config("spark.log.level", "OFF")
        for name, value in settings.items():
            made = made.config(name.replace("__", "."), value)
        running = made.getOrCreate()
        try:
            yield running
        finally:
            running.stop()
