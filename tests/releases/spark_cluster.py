"""A Spark cluster of two workers for tests, each on an address of its own: Spark runs no copy of a task on one host."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.releases.engine_data import required

HOSTS = ("127.0.0.2", "127.0.0.3")


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """The address of a master with two workers of one core each, all of them gone in the end."""
    required("pyspark")
    if shutil.which("java") is None:
        pytest.skip("no Java is installed")
    home = Path(str(find_spec("pyspark").origin)).parent  # type: ignore[union-attr]
    port = _free()
    address = f"spark://127.0.0.1:{port}"
    told = os.environ | {"SPARK_NO_DAEMONIZE": "1", "PYSPARK_PYTHON": sys.executable, "SPARK_HOME": str(home)}
    told["SPARK_SCALA_VERSION"] = next(home.glob("jars/spark-core_*.jar")).name.split("_")[1].split("-")[0]
    told["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)

    def started(*words: str) -> subprocess.Popen[bytes]:
        opened = ["--add-opens=java.base/java.nio=ALL-UNNAMED", "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED"]
        command = [
            "java",
            *opened,
            "-Xmx512m",
            "-Dspark.master.rest.enabled=false",
            "-cp",
            str(home / "jars" / "*"),
            *words,
        ]
        with (folder / f"{words[0]}-{len(list(folder.iterdir()))}.log").open("wb") as log:
            return subprocess.Popen(command, env=told, cwd=folder, stdout=log, stderr=log, start_new_session=True)

    master = started(
        "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"
    )
    _wait(port)
    worker = "org.apache.spark.deploy.worker.Worker"
    running = [master]
    for host in HOSTS:
        running.append(
            started(
                worker,
                "--work-dir",
                str(folder / host),
                "--host",
                host,
                "--webui-port",
                "0",
                "-c",
                "1",
                "-m",
                "1g",
                address,
            )
        )
    try:
        yield address
    finally:
        for process in reversed(running):
            process.terminate()
            process.wait(60)


def _free() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _wait(port: int) -> None:
    for _ in range(600):
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    pytest.fail("the master of the cluster did not start")
