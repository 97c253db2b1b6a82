"""A fresh process for every measurement: one library cannot warm up, slow down or break another."""

import json
import os
import resource
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
ONE_THREAD: dict[str, str] = dict.fromkeys(THREADS, "1")

Row = dict[str, Any]


class Failure(Exception):
    """The process ended badly, or not in time; `row` says how, for the results."""

    def __init__(self, **row: object) -> None:
        super().__init__(row["failure"])
        self.row = row


def run(
    command: Sequence[str], *, limit: float | None, environment: Mapping[str, str] = ONE_THREAD
) -> tuple[str, float]:
    """What a command writes, and the CPU seconds it takes; after `limit` seconds by the clock it is ended."""
    before = _spent()
    try:
        child = subprocess.run(
            command, env=os.environ | environment, capture_output=True, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        raise Failure(failure=f"over {limit:g} s", at_least=_spent() - before) from None
    if child.returncode:
        said = child.stderr.strip().splitlines() or [f"process ended with code {child.returncode}"]
        raise Failure(failure=said[-1][:100])
    return child.stdout, _spent() - before


def ask(
    script: str,
    *names: str,
    limit: float | None,
    environment: Mapping[str, str] = ONE_THREAD,
    python: str = sys.executable,
) -> Any:
    """What a script measures: its last line, which is JSON."""
    written, _ = run([python, "-W", "ignore", script, *names], limit=limit, environment=environment)
    return json.loads(written.splitlines()[-1])


def row(script: str, *names: str, **how: Any) -> Row:
    """The same, where a failure is an answer too: its reason, and if time ran out the CPU seconds until then."""
    try:
        return ask(script, *names, **how)
    except Failure as failure:
        return failure.row


def rows(
    script: str,
    peers: Iterable[str],
    problems: Iterable[str],
    measure: Callable[[str, str], Mapping[str, object]],
    *,
    limit: float,
) -> list[Row]:
    """What every peer says to every problem, each in a process of its own, where only `measure` runs."""
    if len(sys.argv) == 3:
        warnings.simplefilter("ignore")
        print("\n" + json.dumps(measure(*sys.argv[1:])))
        sys.exit()
    found: list[Row] = []
    for problem in problems:
        for peer in peers:
            found.append({"peer": peer, "problem": problem} | row(script, peer, problem, limit=limit))
            print(found[-1], flush=True)
    return found


def _spent() -> float:
    """CPU seconds of all processes that were started from here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
