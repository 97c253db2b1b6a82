"""Processes that spend, and the database, are killed at random: nothing over budget, nothing acknowledged and lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.ledger.databases import KINDS, missing, server
from tests.source import PROJECT, ROOT


def ran(kind: str, processes: int, spends: int, kills: int, restarts: int, seed: int) -> dict[str, float]:
    numbers = map(str, (processes, spends, kills, restarts, seed))
    path = os.pathsep.join((str(ROOT.parent), str(PROJECT)))
    done = subprocess.run(
        [sys.executable, "-m", "tests.ledger.faults", kind, *numbers],
        capture_output=True,
        text=True,
        cwd=PROJECT,
        env=os.environ | {"PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"},
        timeout=3300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def check(found: dict[str, float], spends: int) -> None:
    assert found["told"] == found["asked"] == spends
    assert found["over"] == 0
    assert found["lost"] == 0
    assert found["spent"] is True
    assert found["away"] == 0
    assert found["answers"] + found["unknown"] + found["refused"] == spends
    assert found["answers"] <= found["charges"] <= 0.8 * spends
    assert found["refused"] > 0


def needs(kind: str) -> None:
    if kind == "PostgreSQL":
        pytest.importorskip(
            "pgserver", reason="a PostgreSQL that may be killed: pip install pgserver"
        ) if server() else missing()


FEW = {"processes": 5, "spends": 100, "kills": 15, "seed": 1}
MANY = {"processes": 50, "spends": 10_000, "kills": 300, "seed": 2}


@pytest.mark.parametrize(
    ("numbers", "restarts", "killed"),
    [pytest.param(FEW, 1, 10, id="few"), pytest.param(MANY, 3, 250, id="many", marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("kind", KINDS)
def test_every_spend_is_told_once(kind: str, numbers: dict[str, int], restarts: int, killed: int) -> None:
    needs(kind)
    restarts = restarts if kind == "PostgreSQL" else 0
    found = ran(kind, restarts=restarts, **numbers)
    check(found, numbers["spends"])
    assert found["killed"] >= killed
    assert found["restarted"] == restarts
