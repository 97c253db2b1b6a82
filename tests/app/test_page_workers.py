"""Workers of the page: a question that is given up at any moment never disturbs another one, nor gets its answer."""

from __future__ import annotations

import asyncio
import json
import threading
import time

import pytest

from hush.app.service.workers import Spot, WorkerPool, WorkerProcess, WorkLimits
from tests.page_server import PAGE

pytestmark = PAGE


SLOW = {"runs": [{"name": "a", "expression": "gaussian 1 | poisson 0.01 | repeat 1000"}]}


async def storm() -> tuple[list[tuple[float, dict]], int]:
    """Questions that are given up twice (a newer one comes, and the tab goes) while others wait for their own answers."""
    pool = WorkerPool(2, WorkLimits())
    try:
        kept = []
        for turn in range(0, 24, 2):
            lost = asyncio.create_task(pool.ask(Spot("t", "s", turn), "roc", SLOW))
            await asyncio.sleep(0.02 * (turn % 5))
            for scale in (1.0 + turn, 2.0 + turn):
                given = {"expression": f"laplace {scale}", "delta": 0}
                spot = Spot("t", "s", turn + 1) if scale == 1.0 + turn else Spot("t", f"beside {turn}")
                kept.append((scale, asyncio.create_task(pool.ask(spot, "epsilon", given))))
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                lost.cancel()
            await asyncio.wait([task for _, task in kept])
        replies = [(scale, json.loads(await task)) for scale, task in kept]
        return replies, pool.waiting
    finally:
        pool.close()


def test_questions_that_are_given_up_disturb_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it takes long until the end of a process is noticed, as on a busy machine."""
    noticed = WorkerProcess._died

    def late(worker: WorkerProcess) -> bytes:
        time.sleep(0.2)
        return noticed(worker)

    monkeypatch.setattr(WorkerProcess, "_died", late)
    replies, waiting = asyncio.run(storm())
    assert waiting == 0
    for scale, reply in replies:
        assert reply["answer"]["upper"] == pytest.approx(1 / scale, rel=1e-12)


def test_a_question_that_is_given_up_too_late_ends_nothing() -> None:
    """Its reply is there already: the process serves the next one."""
    question = json.dumps(["epsilon", {"expression": "laplace 2", "delta": 0}]).encode()
    worker, first = WorkerProcess(WorkLimits()), threading.Event()
    try:
        assert json.loads(worker.exchange(question, first))["answer"]["upper"] == 0.5
        worker.end(first)
        assert json.loads(worker.exchange(question, threading.Event()))["answer"]["upper"] == 0.5
        given_up = threading.Event()
        given_up.set()
        assert "error" in json.loads(worker.exchange(question, given_up))
        assert json.loads(worker.exchange(question, threading.Event()))["answer"]["upper"] == 0.5
    finally:
        worker.stop()
