"""Attacks on the server of the page, each refused with its status; the next question is answered."""

from __future__ import annotations

import asyncio
import json
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hush.app.commands import app
from tests.page_server import PAGE, Served

pytest.importorskip("starlette")
guard = pytest.importorskip("hush.app.service.guard")
pytest.importorskip("uvicorn")
pytestmark = PAGE

BOMBS = (
    "gaussian 1 | repeat 1e18",
    "gaussian 1 | poisson 0.5 | repeat 1e15 | poisson 0.1 | repeat 1e15 | poisson 0.3 | repeat 1e15",
    "laplace 1 | poisson 0.5 | repeat 1e6 | with-replacement 1000 100000 | repeat 1e6 | poisson 0.1 | repeat 1e15",
    "gaussian 1" + " | poisson 0.5 | repeat 1000" * 40,
    "; ".join(f"laplace {1 + k / 1000} | poisson 0.{k + 1:03d} | repeat 1000" for k in range(200)),
    "unequal-poisson " * 200,
    "gaussian " + "9" * 5000,
    "x" * 9999,
    "__import__('os').system('true')",
    "gaussian 1 | repeat 1_000",
)


QUESTION = json.dumps(
    {"tab": "t", "slot": "s", "ask": "epsilon", "with": {"expression": "laplace 2", "delta": 0}}
).encode()
ATTACKS = {
    "a foreign host (DNS rebinding)": ({"host": "attacker.example"}, 421),
    "a foreign host with our port": ({"host": "attacker.example:{port}"}, 421),
    "another port": ({"host": "127.0.0.1:1"}, 421),
    "no port": ({"host": "127.0.0.1"}, 421),
    "no host": ({"host": None}, 400),
    "a host that begins like ours": ({"host": "127.0.0.1:{port}.attacker.example"}, 421),
    "no origin": ({"origin": None}, 403),
    "a foreign origin": ({"origin": "https://attacker.example"}, 403),
    "an origin of another port": ({"origin": "http://127.0.0.1:1"}, 403),
    "the null origin of a sandbox": ({"origin": "null"}, 403),
    "an origin by https": ({"origin": "https://127.0.0.1:{port}"}, 403),
    "a browser that says cross-site": ({"sec_fetch_site": "cross-site"}, 403),
    "a frame": ({"sec_fetch_dest": "iframe"}, 403),
    "no token": ({"x_hush_token": None}, 403),
    "a wrong token": ({"x_hush_token": "guess"}, 403),
    "a token with odd letters": ({"x_hush_token": "\xff"}, 403),
    "a form": ({"content_type": "application/x-www-form-urlencoded"}, 415),
    "plain text": ({"content_type": "text/plain"}, 415),
    "no type": ({"content_type": None}, 415),
    "a length that is none": ({"content_length": "-1"}, 400),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_attacks_are_refused_and_the_next_question_answered(server: Served, attack: str) -> None:
    changed, status = ATTACKS[attack]
    given = {name: value and value.format(port=server.port) for name, value in changed.items()}
    found, body, headers = server.send("POST", "/ask", QUESTION, **given)
    assert found == status, body
    assert b"0.5" not in body
    if status != 400:  # those are refused below, where HTTP is read
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert not [name for name in headers if name.startswith("access-control")]
    assert server.answer("epsilon", expression="laplace 2", delta=0)["upper"] == 0.5


def test_large_bodies_are_refused(server: Served) -> None:
    large = QUESTION[:-1] + b" " * 70_000 + b"}"
    assert server.send("POST", "/ask", large)[0] == 413
    stream = {"content_type": "application/octet-stream"}
    upload = "/scores?tab=t&name=a.csv&delta=1e-5&expression=gdp+1"
    assert server.send("POST", upload, b"0" * 10_000_001, **stream)[0] == 413
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as raw:  # without a length
        head = "".join(f"{name}: {value}\r\n" for name, value in server.headers.items())
        raw.sendall(f"POST /ask HTTP/1.1\r\n{head}transfer-encoding: chunked\r\n\r\n".encode())
        try:
            for _ in range(20):
                raw.sendall(b"2000\r\n" + b" " * 0x2000 + b"\r\n")
        except OSError:
            pass
        assert b" 413 " in raw.recv(100)
    assert server.answer("epsilon", expression="laplace 2", delta=0)["upper"] == 0.5


def test_only_get_and_post_are_spoken_and_nobody_may_ask_from_afar(server: Served) -> None:
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
        status, _, headers = server.send(method, "/ask")
        assert status == 405 and not [name for name in headers if name.startswith("access-control")]
    assert server.send("GET", "/ask")[0] in (404, 405)
    assert server.send("POST", "/", QUESTION)[0] == 404
    assert server.send("GET", "/", upgrade="websocket", connection="Upgrade")[0] in (200, 400, 403, 426)


@pytest.mark.parametrize(
    "path",
    [
        "/../../../../etc/passwd",
        "/%2e%2e/%2e%2e/service/guard.py",
        "/..%2fservice%2fguard.py",
        "/docs/../../pyproject.toml",
        "/docs/%2e%2e/%2e%2e/pyproject.toml",
        "/docs//etc/passwd",
        "/docs/theory/../design.md",
        "//etc/passwd",
        "/style.css%00.html",
        "/service/guard.py",
    ],
)
def test_no_path_leads_out_of_the_page(server: Served, path: str) -> None:
    status, body, _ = server.send("GET", path)
    assert status == 404 and len(body) < 100


def test_the_page_is_sealed_light_and_whole(server: Served) -> None:
    status, page, headers = server.send("GET", "/")
    assert status == 200 and b'<script type="module" src="/main.js">' in page
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy
    assert headers["x-frame-options"] == "DENY" and "server" not in headers
    folder = Path(app.__file__).parents[1] / "page"
    names = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    replies = {name: server.send("GET", f"/{name}") for name in [*names, "vega.js"]}
    assert {reply[0] for reply in replies.values()} == {200}
    assert b"vegaEmbed" in replies["vega.js"][1]
    assert sum(len(reply[1]) for reply in replies.values()) <= 1_200_000
    for name in names:
        text = (folder / name).read_text(encoding="utf-8")
        assert "innerHTML" not in text and "insertAdjacentHTML" not in text and "eval(" not in text, name
        assert "https://" not in text, name
    assert server.send("GET", "/docs/theory/README.md")[0] == 200


@pytest.mark.parametrize("bomb", BOMBS, ids=lambda bomb: bomb[:40])
def test_expression_bombs_are_answered(server: Served, bomb: str) -> None:
    found = server.ask("epsilon", expression=bomb, delta=1e-5, slot="bomb")
    if "error" in found:
        assert found["error"]["kind"] in ("InvalidParameter", "NotCovered", "limit"), found
        assert len(found["error"]["message"]) < 1100
    assert server.answer("epsilon", expression="laplace 2", delta=0)["upper"] == 0.5


def test_odd_bodies_are_refused(server: Served) -> None:
    for body in (
        b"",
        b"[]",
        b"{",
        b"null",
        b"[" * 60_000,
        b'{"ask": "epsilon"}',
        b'{"tab":"","slot":"s","ask":"words"}',
        b"\xff",
    ):
        assert server.send("POST", "/ask", body)[0] == 400
    strange = json.dumps({"tab": "t", "slot": "s", "ask": "answered", "with": {}}).encode()
    assert server.send("POST", "/ask", strange)[0] == 404
    assert server.send("POST", "/ask", strange.replace(b'"answered"', b'"scores"'))[0] == 404


def test_ten_tabs_at_once(server: Served) -> None:
    def tab(number: int) -> float:
        said = f"gaussian {1 + number / 10} | poisson 0.01 | repeat 1000"
        return server.answer("epsilon", expression=said, delta=1e-5, tab=f"tab {number}")["upper"]

    with ThreadPoolExecutor(10) as tabs:
        found = list(tabs.map(tab, range(10)))
    assert found == sorted(found, reverse=True) and len(set(found)) == 10


def test_a_newer_question_of_a_place_takes_over(server: Served) -> None:
    slow = {"examples": 60_000, "batch_size": 50, "epochs": 50, "noise": 1.0, "delta": 1e-5, "target": 2.0}
    with ThreadPoolExecutor(4) as asking:
        first = asking.submit(server.ask, "training", **slow, scheme="allocation", tab="slider", slot="run")
        others = [
            asking.submit(server.ask, "epsilon", expression="laplace 2", delta=0, tab="slider", slot="run")
            for _ in range(3)
        ]
        replies = [one.result() for one in [first, *others]]
    stale = [one["error"]["kind"] for one in replies if "error" in one]
    assert set(stale) <= {"superseded"} and any("answer" in one for one in replies)


def test_slow_senders_keep_nobody_waiting(server: Served) -> None:
    lines = [socket.create_connection(("127.0.0.1", server.port), timeout=60) for _ in range(60)]
    try:
        for line in lines:
            line.sendall(b"POST /ask HTTP/1.1\r\nhost: 127")
        assert server.answer("epsilon", expression="laplace 2", delta=0)["upper"] == 0.5
    finally:
        for line in lines:
            line.close()


SECOND = "POST /ask HTTP/1.1\r\nhost: attacker.example\r\ncontent-length: 0\r\n\r\n"
SMUGGLED = {
    "two hosts": "GET / HTTP/1.1\r\n{host}host: attacker.example\r\n\r\n",
    "a length and chunks": "POST /ask HTTP/1.1\r\n{head}content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"
    + SECOND,
    "two lengths": "POST /ask HTTP/1.1\r\n{head}content-length: 0\r\ncontent-length: 90\r\n\r\n" + SECOND,
    "a coding that nobody knows": "POST /ask HTTP/1.1\r\n{head}transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "a length with a sign": "POST /ask HTTP/1.1\r\n{head}content-length: +2\r\n\r\n{{}}",
    "two origins": "POST /ask HTTP/1.1\r\norigin: https://attacker.example\r\n{head}content-length: 2\r\n\r\n{{}}",
    "two types": "POST /ask HTTP/1.1\r\ncontent-type: text/plain\r\n{head}content-length: 2\r\n\r\n{{}}",
    "two tokens": "POST /ask HTTP/1.1\r\nx-hush-token: guess\r\n{head}content-length: 2\r\n\r\n{{}}",
    "another host in the address": "POST http://attacker.example/ask HTTP/1.1\r\nhost: attacker.example\r\ncontent-length: 0\r\n\r\n",
    "a header of 4 MB": "GET / HTTP/1.1\r\n{host}x: " + "a" * 4_000_000 + "\r\n\r\n",
    "a header with a line feed": "GET / HTTP/1.1\r\n{host}x: a\n b\r\n\r\n",
    "no HTTP at all": "\x16\x03\x01 hello\r\n\r\n",
}


@pytest.mark.parametrize("attack", SMUGGLED)
def test_requests_that_two_readers_read_differently_are_not_answered(server: Served, attack: str) -> None:
    head = "".join(f"{name}: {value}\r\n" for name, value in server.headers.items())
    said = SMUGGLED[attack].format(head=head, host=f"host: 127.0.0.1:{server.port}\r\n")
    reply = b""
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as line:
        try:
            line.sendall(said.encode("latin-1"))
            line.shutdown(socket.SHUT_WR)
            while part := line.recv(65536):
                reply += part
        except OSError:
            pass
    statuses = [int(one.split(None, 2)[1]) for one in reply.split(b"\r\n") if one.startswith(b"HTTP/1.1 ")]
    assert all(400 <= status < 500 or (status == 200 and "line feed" in attack) for status in statuses), reply
    assert server.answer("epsilon", expression="laplace 2", delta=0)["upper"] == 0.5


def test_a_body_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "SLOWEST", 0.05)

    async def dripping() -> dict:
        await asyncio.sleep(0.02)
        return {"type": "http.request", "body": b" ", "more_body": True}

    from starlette.exceptions import HTTPException
    from starlette.requests import Request

    request = Request({"type": "http", "method": "POST", "path": "/ask", "headers": [], "query_string": b""}, dripping)
    with pytest.raises(HTTPException) as refused:
        asyncio.run(guard.body_of(request))
    assert refused.value.status_code == 408


def test_a_question_that_was_overtaken_ends_no_newer_one(server: Served) -> None:
    slow = {"examples": 60_000, "batch_size": 50, "epochs": 20, "noise": 1.0, "delta": 1e-5}
    with ThreadPoolExecutor(1) as asking:
        newer = asking.submit(server.ask, "training", **slow, scheme="allocation", tab="t", slot="race", turn=7)
        while not newer.done():
            older = server.ask("epsilon", expression="laplace 2", delta=0, tab="t", slot="race", turn=3)
        assert older.get("error", {}).get("kind") == "superseded" or "answer" in older
    reply = newer.result()
    assert "answer" in reply or reply["error"]["kind"] == "limit", reply
