"""Questions that take too much, processes that must end, and the options of the command."""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import subprocess
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

from hush.app.main import main
from tests.page_server import PAGE, Served, served

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytestmark = PAGE


def test_a_question_that_takes_too_much_is_ended_with_a_clear_message() -> None:
    with served("--seconds", "0.3", "--megabytes", "700") as small:
        slow = {"examples": 60_000, "batch_size": 16, "epochs": 100, "noise": 1.0, "delta": 1e-5, "target": 2.0}
        error = small.ask("training", **slow, scheme="allocation")["error"]
        assert error == {"kind": "limit", "message": "This takes longer than one question may (0.3 s of work)."}
        stream, query = {"content_type": "application/octet-stream"}, "tab=t&delta=1e-5&expression=gdp+1"
        status, body, _ = small.send("POST", f"/scores?name=bomb.npz&{query}", npz_bomb(), **stream)
        assert status == 200 and json.loads(body)["error"]["kind"] in ("limit", "InvalidParameter", "HushError"), body
        assert small.answer("epsilon", expression="laplace 2", delta=0)["upper"] == 0.5
        assert small.process.poll() is None


def npz_bomb() -> bytes:
    """Four gigabytes of zeros in a small file."""
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": (1 << 29,)})
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        for name in ("score", "member"):
            file.writestr(f"{name}.npy", head.getvalue() + bytes(1 << 22))
    return made.getvalue()


def test_the_server_ends_with_a_signal_and_leaves_no_process() -> None:
    with served() as one:
        assert one.answer("epsilon", expression="laplace 2", delta=0)["upper"] == 0.5
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(one.process.pid)], capture_output=True, text=True)
        one.process.send_signal(signal.SIGINT)
        assert one.process.wait(120) == 0
    for pid in children.stdout.split():
        for _ in range(600):
            if not alive(int(pid)):
                break
            subprocess.run(["sleep", "0.1"], check=True)
        assert not alive(int(pid))


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1]
    except (ProcessLookupError, FileNotFoundError):
        return False


@pytest.mark.parametrize(
    "options",
    ["--port 70000", "--seconds 0", "--megabytes 1", "--write", "--ledger nothing-here.db"],
)
def test_wrong_options_are_told_before_anything_is_served(options: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["app", "--no-browser", *options.split()]) in (2, 6)
    assert "hush: error:" in capsys.readouterr().err


def test_a_port_that_is_taken_is_told(server: Served, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["app", "--no-browser", "--port", str(server.port)]) == 2
    assert "a port that is free" in capsys.readouterr().err


def test_a_worker_that_is_killed_takes_nothing_along() -> None:
    with served() as one:
        assert one.answer("epsilon", expression="laplace 2", delta=0)["upper"] == 0.5
        for _ in range(3):
            for pid in workers(one.process.pid):
                os.kill(pid, signal.SIGKILL)
            for slot in (
                "a",
                "b",
                "c",
            ):  # one of each worker may tell that its process is gone, and then a new one is made
                found = one.ask("epsilon", expression="laplace 2", delta=0, slot=slot)
                assert "answer" in found or found["error"]["kind"] == "limit", found
            assert one.answer("epsilon", expression="laplace 2", delta=0)["upper"] == 0.5
        assert one.process.poll() is None


def workers(server: int) -> list[int]:
    """The processes that answer questions: below the server, or below the process that forks them."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()]
    forks = {int(pid) for pid, above, _ in rows if int(above) == server}
    return [int(pid) for pid, above, _ in rows if int(above) in forks]


def test_two_servers_at_once_know_nothing_of_each_other() -> None:
    with served() as one, served() as other:
        assert one.port != other.port and one.token != other.token
        for here, there in ((one, other), (other, one)):
            assert here.answer("epsilon", expression="laplace 2", delta=0)["upper"] == 0.5
            asked = b'{"tab": "t", "slot": "s", "ask": "words"}'
            assert here.send("POST", "/ask", asked, x_hush_token=there.token)[0] == 403
            assert here.send("POST", "/ask", asked, origin=f"http://127.0.0.1:{there.port}")[0] == 403


def test_a_browser_that_is_missing_is_no_trouble() -> None:
    with served() as without, served(browser="no-such-browser %s") as missing:
        for one in (without, missing):
            assert one.answer("epsilon", expression="laplace 2", delta=0)["upper"] == 0.5


def test_a_thousand_questions_that_nobody_waits_for_are_forgotten(server: Served) -> None:
    head = "".join(f"{name}: {value}\r\n" for name, value in server.headers.items())
    slow = {"examples": 60_000, "batch_size": 50, "epochs": 50, "noise": 1.0, "delta": 1e-5, "scheme": "allocation"}
    for number in range(1000):
        asked = {
            "tab": f"tab {number % 50}",
            "slot": "s",
            "turn": number,
            "ask": "training",
            "with": slow | {"target": 2},
        }
        body = json.dumps(asked).encode()
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as line:
            line.sendall(f"POST /ask HTTP/1.1\r\n{head}content-length: {len(body)}\r\n\r\n".encode() + body)
    asked = {"tab": "another", "slot": "s", "ask": "epsilon", "with": {"expression": "laplace 2", "delta": 0}}
    for _ in range(600):
        status, reply, _ = server.send("POST", "/ask", json.dumps(asked).encode())
        if status == 200 and "answer" in json.loads(reply):
            break
        assert status == 503 or json.loads(reply)["error"]["kind"] == "busy", reply  # for a moment only
        time.sleep(0.1)
    assert json.loads(reply)["answer"]["upper"] == 0.5
