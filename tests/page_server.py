"""A real server of the page in a process of its own, and a client that may say whatever it likes to it."""

from __future__ import annotations

import http.client
import json
import os
import re
import selectors
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

PAGE = [
    pytest.mark.xdist_group("page"),
    pytest.mark.skipif(sys.platform == "win32", reason="limits of a process are those of Unix"),
]
"""Marks of tests of the page: one server serves all of them."""
PATIENCE = 240
"""Seconds for anything at all: a busy machine is slow."""


@dataclass(frozen=True)
class Served:
    """Where it listens, and with which token."""

    port: int
    token: str
    process: subprocess.Popen[str]

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/#token={self.token}"

    @property
    def headers(self) -> dict[str, str]:
        """What the page itself sends."""
        return {
            "host": f"127.0.0.1:{self.port}",
            "origin": f"http://127.0.0.1:{self.port}",
            "content-type": "application/json",
            "x-hush-token": self.token,
        }

    def send(
        self, method: str, path: str, body: bytes | None = None, **changed: str | None
    ) -> tuple[int, bytes, dict[str, str]]:
        """Status, body and headers of the reply; a header that is changed to None is left out."""
        given = {name.replace("_", "-"): value for name, value in changed.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            length = {} if body is None else {"content-length": str(len(body))}
            for name, value in (self.headers | length | given).items():
                if value is not None:
                    connection.putheader(name, value)
            connection.endheaders()
            try:
                connection.send(body or b"")
            except (BrokenPipeError, ConnectionResetError):
                pass  # refused before all of it was sent
            reply = connection.getresponse()
            return reply.status, reply.read(), {name.lower(): value for name, value in reply.getheaders()}
        finally:
            connection.close()

    def ask(
        self, question: str, *, tab: str = "test", slot: str = "place", turn: int = 0, **given: Any
    ) -> dict[str, Any]:
        """The whole reply to a question."""
        body = json.dumps({"tab": tab, "slot": slot, "turn": turn, "ask": question, "with": given}).encode()
        status, reply, _ = self.send("POST", "/ask", body)
        assert status == 200, (status, reply)
        return json.loads(reply)

    def answer(self, question: str, **given: Any) -> dict[str, Any]:
        """The answer, which there must be."""
        found = self.ask(question, **given)
        assert "answer" in found, found
        return found["answer"]


@contextmanager
def served(*options: str, browser: str = "") -> Iterator[Served]:
    """`hush app` until the block ends; a browser is opened only if one is named, as the variable BROWSER has it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "hush.app.main", "app", *([] if browser else ["--no-browser"]), *options],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "BROWSER": browser},
    )
    try:
        found = re.search(r"127\.0\.0\.1:(\d+)/#token=(\S+)", _first_line(process))
        assert found, "the server did not start"
        yield Served(int(found[1]), found[2], process)
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(PATIENCE)
        finally:
            process.kill()
            assert process.stdout is not None
            process.stdout.close()


def _first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    with selectors.DefaultSelector() as waiting:
        waiting.register(process.stdout, selectors.EVENT_READ)
        assert waiting.select(PATIENCE), "the server says nothing"
    return process.stdout.readline()
