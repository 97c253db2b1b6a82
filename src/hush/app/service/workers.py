"""Worker processes with limits of time and memory: a question that takes too much is ended, and the server stays up."""

from __future__ import annotations

import asyncio
import contextlib
import json
import multiprocessing
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from hush.app.output import as_json
from hush.app.service.questions.menu import answered

MOST_WAITING = 64
"""Questions that wait for a worker; more are sent away."""
SLOWEST, LEAST = 3.0, 60.0
"""Seconds on the clock for each second of work, and at least: a busy machine is slow, but no wait is without end."""
START = 60.0
"""Seconds that a process may take to end, or to be made."""
ONE_AT_A_TIME = threading.Lock()
"""Threads start and await processes in turn: a start looks after ended ones, too, and would take their exit codes."""
PRELOADED = ["hush.app.service.questions.menu"]
"""What every question needs."""
WAY = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
"""A fork of a small process that has loaded all code already is ready in some milliseconds."""


class Spot(NamedTuple):
    """Where a question comes from: a tab, a place in it, and the how-manieth question of that place it is."""

    tab: str
    slot: str
    turn: int = 0


class WorkLimits(NamedTuple):
    """What one question may take."""

    seconds: float = 20.0
    """Of work of the processor."""
    megabytes: int = 2048

    @property
    def patience(self) -> float:
        """Seconds on the clock."""
        return max(LEAST, SLOWEST * self.seconds)


def trouble(kind: str, message: str) -> bytes:
    """A reply that is not an answer."""
    return json.dumps({"error": {"kind": kind, "message": message}}).encode()


OVERTAKEN = trouble("superseded", "A newer question took the place of this one.")


# -- in the worker -----------------------------------------------------------------------------------------------


def work(pipe: Connection, limits: WorkLimits) -> None:
    """Answer questions until the pipe closes: what a worker process runs."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a key that ends the server ends the workers through their pipes
    _limit_memory(limits)
    while True:
        try:
            name, given = json.loads(pipe.recv_bytes())
        except EOFError:
            return
        with _limited_time(limits):
            reply = _reply(name, given, limits)
        pipe.send_bytes(reply)


def _reply(name: str, given: dict[str, Any], limits: WorkLimits) -> bytes:
    try:
        return as_json(answered(name, given)).encode()
    except MemoryError:
        return trouble("limit", f"This takes more memory than one question may use ({limits.megabytes} MB).")


def _limit_memory(limits: WorkLimits) -> None:
    if sys.platform == "win32":
        return
    import resource

    most = limits.megabytes << 20
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


@contextlib.contextmanager
def _limited_time(limits: WorkLimits) -> Any:
    """Inside the block the process is ended by a signal once it has worked for so long."""
    if sys.platform == "win32":
        yield
        return
    signal.setitimer(signal.ITIMER_PROF, limits.seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


# -- in the server -----------------------------------------------------------------------------------------------


class WorkerProcess:
    """One process at a time, made when it is needed and made anew after it was ended."""

    def __init__(self, limits: WorkLimits) -> None:
        self._limits = limits
        self._process: Any = None
        self._pipe: Any = None
        self._turn = threading.Lock()
        self._serving: threading.Event | None = None

    def exchange(self, question: bytes, ended: threading.Event) -> bytes:
        """What the worker replies; runs in a thread, and blocks until there is a reply or no process any more."""
        with self._turn:
            self._serving = ended
        try:
            if self._process is None:
                self._start()
            if ended.is_set():
                raise EOFError
            self._pipe.send_bytes(question)
            reply = self._pipe.recv_bytes()
        except (EOFError, OSError):
            reply = b""
        with self._turn:
            self._serving = None  # from here on nobody ends the process because of this question
        if ended.is_set():
            self.stop()
            reply = b""
        return reply or self._died()

    def _start(self) -> None:
        context: Any = multiprocessing.get_context(WAY)
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(theirs, self._limits), daemon=True)
        with ONE_AT_A_TIME:
            process.start()
        theirs.close()
        self._process, self._pipe = process, ours

    def _died(self) -> bytes:
        """Why there is no reply."""
        process, self._process = self._process, None
        if process is None:
            return trouble("limit", "No worker could be started.")
        self._pipe.close()
        with ONE_AT_A_TIME:
            process.join(START)
        if sys.platform != "win32" and process.exitcode == -signal.SIGPROF:
            return trouble("limit", f"This takes longer than one question may ({self._limits.seconds:g} s of work).")
        return trouble("limit", "The worker that had this question was ended: it may need more memory than is allowed.")

    def end(self, ended: threading.Event) -> None:
        """Give up a question: its process is killed, but no process that serves another one by now."""
        with self._turn:
            ended.set()
            if self._serving is ended:
                self.stop()

    def stop(self) -> None:
        """Kill the process, whatever it does."""
        process = self._process
        if process is not None:
            process.kill()


class WorkerPool:
    """Some workers, and at most one question for each place of each tab of the page."""

    def __init__(self, size: int, limits: WorkLimits) -> None:
        if WAY == "forkserver":
            multiprocessing.get_context(WAY).set_forkserver_preload(PRELOADED)
        self._limits, self._size = limits, size
        self._all = [WorkerProcess(limits) for _ in range(size)]
        self._idle: asyncio.LifoQueue[WorkerProcess] = asyncio.LifoQueue()
        for worker in self._all:
            self._idle.put_nowait(worker)
        self._threads = ThreadPoolExecutor(size, thread_name_prefix="hush-worker")
        self._asked: dict[tuple[str, str], tuple[int, asyncio.Task[bytes]]] = {}
        self.waiting = 0

    async def ask(self, spot: Spot, name: str, given: dict[str, Any], patience: float = 0.0) -> bytes:
        """The reply to a question; an older one of the same place is given up, wherever it is."""
        if self.waiting >= MOST_WAITING:
            return trouble("busy", "Too many questions wait already: please ask again in a moment.")
        place = spot.tab, spot.slot
        if place in self._asked:
            turn, before = self._asked[place]
            if turn > spot.turn:  # this one was overtaken on its way
                return OVERTAKEN
            before.cancel()
        task = asyncio.create_task(self._replied(name, given, patience or self._limits.patience))
        self._asked[place] = spot.turn, task
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            task.cancel()
            raise
        finally:
            if self._asked.get(place, (0, None))[1] is task:
                del self._asked[place]
        return OVERTAKEN if task.cancelled() else task.result()

    async def _replied(self, name: str, given: dict[str, Any], patience: float) -> bytes:
        question, ended = json.dumps([name, given]).encode(), threading.Event()
        self.waiting += 1
        try:
            worker = await self._idle.get()
        finally:
            self.waiting -= 1
        reply = asyncio.get_running_loop().run_in_executor(self._threads, worker.exchange, question, ended)
        # It is free again when its thread is: a question that is given up, even twice, never shares it with the next.
        reply.add_done_callback(lambda _: self._idle.put_nowait(worker))
        try:
            return await asyncio.wait_for(asyncio.shield(reply), patience)
        except TimeoutError:
            return trouble("limit", f"There is no answer after {patience:g} s: the question was given up.")
        finally:
            worker.end(ended)

    async def warm(self) -> None:
        """Make the processes before the first question comes."""
        await asyncio.gather(*(self.ask(Spot("", str(place)), "words", {}) for place in range(self._size)))

    def close(self) -> None:
        """End all processes."""
        for worker in self._all:
            worker.stop()
        self._threads.shutdown(wait=False)
