"""Real processes for tests: a scenario runs on every rank, over gloo on this machine, and each rank tells its result."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import distributed as dist

from tests.mutants.rank_bugs import BUG

PATIENCE = 240.0
"""Seconds after which a scenario that hangs is ended: it is a failure, however slow the machine is."""
PRELOADED = [
    "torch",
    "torch._dynamo",
    "cryptography",
    "hush.learning.dpsgd.fit",
    "tests.learning.distributed.scenarios",
]


class Failed(RuntimeError):
    """A rank did not end by itself, or by an error: no assertion, so that no mutant counts as caught by it."""


def together(scenario: Callable[..., Any], size: int, folder: Path, *given: Any, **named: Any) -> list[Any]:
    """What the scenario returns on each rank."""
    with started(scenario, size, folder, *given, **named) as ranks:
        end = time.monotonic() + PATIENCE
        for rank in ranks:
            rank.join(max(0.1, end - time.monotonic()))
        if any(rank.is_alive() for rank in ranks):
            raise Failed(f"ranks {[place for place, rank in enumerate(ranks) if rank.is_alive()]} hang")
    return [result_of(folder, place) for place in range(size)]


@contextlib.contextmanager
def started(scenario: Callable[..., Any], size: int, folder: Path, *given: Any, **named: Any) -> Iterator[list[Any]]:
    """The processes, which are ended with the block."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    bug = os.environ.get(BUG, "")
    ranks = [
        context.Process(target=_rank, args=(scenario, place, size, str(folder), bug, given, named), daemon=True)
        for place in range(size)
    ]
    try:
        for rank in ranks:
            rank.start()
        yield ranks
    finally:
        for rank in ranks:
            if rank.is_alive() and rank.pid is not None:
                os.kill(rank.pid, signal.SIGKILL)
            rank.join()


def result_of(folder: Path, place: int) -> Any:
    """What a rank wrote down: one that wrote nothing was lost."""
    path = folder / f"result{place}"
    if not path.exists():
        raise Failed(f"rank {place} ended without a result")
    kind, value = pickle.loads(path.read_bytes())
    if kind == "failed":
        raise Failed(value)
    return value


def _rank(scenario: Callable[..., Any], place: int, size: int, folder: str, bug: str, given: Any, named: Any) -> None:
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=place, world_size=size)
    with pytest.MonkeyPatch.context() as patch:
        if bug:
            module, function = bug.split(":")
            getattr(import_module(module), function)(patch)
        try:
            outcome = "ok", scenario(Path(folder), *given, **named)
        except BaseException as error:
            outcome = "failed", f"rank {place}: {type(error).__name__}: {error}"
    temporary = Path(folder, f"part{place}")
    temporary.write_bytes(pickle.dumps(outcome))
    temporary.rename(Path(folder, f"result{place}"))
    os._exit(0)  # the others need not be waited for
