"""Workers of the page: a question that is given up at any moment never disturbs another one, nor gets its answer."""

from __future__ import annotations

import asyncio
import json
import sys

import pytest

from hush.app.service.workers import Spot, WorkerPool, WorkLimits

pytestmark = [
    pytest.mark.xdist_group("page"),
    pytest.mark.skipif(sys.platform == "win32", reason="limits of a process are those of Unix"),
]


async def storm() -> tuple[list[tuple[float, dict]], int]:
    """Questions that are given up, some twice, while others wait; each that is answered gets its own answer."""
    pool = WorkerPool(2, WorkLimits())
    try:
        kept = []
        for turn in range(30):
            lost = asyncio.create_task(pool.ask(Spot("lost", str(turn % 3), turn), "words", {}))
            await asyncio.sleep(0.003 * (turn % 5))
            scale = 1.0 + turn
            given = {"expression": f"laplace {scale}", "delta": 0}
            kept.append((scale, asyncio.create_task(pool.ask(Spot("kept", str(turn)), "epsilon", given))))
            lost.cancel()
            lost.cancel()
        replies = [(scale, json.loads(await task)) for scale, task in kept]
        return replies, pool.waiting
    finally:
        pool.close()


def test_questions_that_are_given_up_disturb_no_other() -> None:
    replies, waiting = asyncio.run(storm())
    assert waiting == 0
    for scale, reply in replies:
        assert reply["answer"]["upper"] == pytest.approx(1 / scale, rel=1e-12)
