"""The server of the page, really running: numbers as on the command line, attacks refused, limits kept, books shown."""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import hush
from hush.app.commands import app
from hush.app.main import main
from tests.page_server import Served, served

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytestmark = [
    pytest.mark.xdist_group("page"),
    pytest.mark.skipif(sys.platform == "win32", reason="limits of a process are those of Unix"),
]

EXPRESSIONS = (
    "gaussian 1.0 | poisson 0.01 | repeat 10000",
    "laplace 2; gaussian 1.5 relation=add_remove then laplace scale=4",
    "kary-response 2 | shuffled 1000",
    "randomized-response 2 relation=replace",
    "gaussian 1 | allocation 100 | repeat 2",
    "approx 0.5 1e-6 0.9 1e-9 | repeat 3",
    "gaussian 2 | without-replacement 10 1000 | repeat 50 | replace",
    "renyi 2 0.1 8 0.5 | repeat 2",
    "noisy-max 2 monotone=true",
)
RUN = {"examples": 60_000, "batch_size": 256, "epochs": 10, "noise": 1.0, "delta": 1e-5}
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


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served() as found:
        yield found


def said(*arguments: str, capsys: pytest.CaptureFixture[str]) -> dict:
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


# -- numbers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_epsilon_is_that_of_the_command_line(
    server: Served, expression: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = server.answer("epsilon", expression=expression, delta=1e-6)
    printed = said("epsilon", expression, "--delta", "1e-6", capsys=capsys)
    assert (found["lower"], found["upper"]) == (printed["lower"], printed["upper"])
    assert float(found["shown"]) >= found["upper"] and float(found["from"]) <= found["lower"]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_exported_python_and_command_give_the_same_epsilon(server: Served, expression: str) -> None:
    found = server.answer("explain", expression=expression, delta=1e-6, unit="patient")
    space: dict = {"print": lambda value: space.update(printed=value)}
    exec(found["python"], space)
    assert space["printed"] == found["answer"]["upper"]
    command = found["command"].replace("hush ", f"{sys.executable} -m hush.app.main ", 1) + " --json"
    if expression == EXPRESSIONS[0]:  # a shell and a new process each time: once will do
        ran = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
        assert json.loads(ran.stdout)["upper"] == found["answer"]["upper"]
    assert found["assumptions"] and found["derivation"]["theorem"] and "patient" in found["statement"]


@pytest.mark.parametrize("scheme", ("poisson", "without-replacement", "allocation", "shuffled-batches"))
def test_a_training_run_and_its_expression_are_one(server: Served, scheme: str) -> None:
    found = server.answer("training", **RUN, scheme=scheme)
    again = server.answer("epsilon", expression=found["expression"], delta=1e-5)
    assert (again["lower"], again["upper"]) == (found["lower"], found["upper"])


def test_the_noise_that_is_found_meets_the_target(server: Served) -> None:
    plan = server.answer("training", **RUN, scheme="poisson", target=2.0)
    assert (
        plan["upper"] <= 2
        and plan["noise"]
        == hush.train_plan(examples=60_000, batch_size=256, epochs=10, epsilon=2.0, delta=1e-5).noise_multiplier
    )
    place = {"release": 1, "part": 0, "parameter": "scale"}
    found = server.answer("noise", expression="gaussian 5; laplace 9", **place, epsilon=1.0, delta=1e-6)
    again = server.answer("epsilon", expression=f"gaussian 5; laplace {found['value']!r}", delta=1e-6)
    assert 0.999 < again["upper"] <= 1


def test_schemes_are_those_of_the_command_line(server: Served, capsys: pytest.CaptureFixture[str]) -> None:
    found = server.answer("schemes", noise=1.0, steps=100, epochs=2, delta=1e-6)
    printed = said("compare", "--noise", "1", "--steps", "100", "--epochs", "2", "--delta", "1e-6", capsys=capsys)
    assert [row.get("upper") for row in found["rows"]] == [row.get("upper") for row in printed["schemes"]]
    assert found["mistake"] == printed["mistake"]


def test_pictures_have_the_numbers_of_the_library(server: Served) -> None:
    runs = [{"name": "a", "expression": "gaussian 1"}, {"name": "b", "expression": "laplace 1"}]
    found = server.answer("roc", runs=runs)["chart"]
    place = next(point for point in found["points"] if point["label"] == "a" and 0.04 < point["x"] < 0.06)
    assert place["y"] == pytest.approx(hush.Gaussian(1.0).roc().true_positive_rate(place["x"]).upper, rel=1e-12)
    sure = server.answer("posterior", runs=runs, prior=0.5, false_positive_rate=0.01)
    assert sure["read"][0]["after"] == "90.3%"
    curve = server.answer("renyi", runs=runs, delta=1e-5)
    assert {"contour", "Rényi"} & {row["route"] for row in curve["routes"]}
    assert server.answer("what_if", **RUN, scheme="poisson")["rows"][0]["upper"] == pytest.approx(1.0999, rel=1e-3)
    rows = server.answer("what_if", expression="laplace 2", delta=0)["rows"]
    assert [row["upper"] for row in rows[:3]] == pytest.approx([0.5, 1.0, 5.0], rel=1e-12)


def test_plans_are_those_of_the_command_line(server: Served, capsys: pytest.CaptureFixture[str]) -> None:
    given = {"statistic": "mean", "population": 1000, "low": 0, "high": 10, "epsilon": 0.5, "delta": 0, "queries": 1}
    found = server.answer("plan", **given, model="uniform 0 10", relation="replace")
    assert main("plan mean --population 1000 --bounds 0 10 --epsilon 0.5 --model".split() + ["uniform 0 10"]) == 0
    assert " ".join(found["answer"].split()) in " ".join(capsys.readouterr().out.split())
    training = server.answer("plan_training", examples=1000, batch_sizes=[10, 100], epochs=[1], epsilon=2, delta=1e-5)
    assert len(training["table"]) == 3 and training["chart"]["points"]


@pytest.mark.parametrize(
    ("question", "given"),
    [
        ("epsilon", {}),
        ("epsilon", {"expression": 7, "delta": 1e-5}),
        ("epsilon", {"expression": "laplace 1", "delta": "1e-5"}),
        ("epsilon", {"expression": "laplace 1", "delta": True}),
        ("epsilon", {"expression": "laplace 1", "delta": 2}),
        ("training", RUN | {"scheme": "os.system"}),
        ("training", RUN | {"scheme": "poisson", "batch_size": 1e300}),
        ("noise", {"expression": "laplace 1", "release": 7, "part": 0, "parameter": "scale", "epsilon": 1, "delta": 0}),
        ("noise", {"expression": "laplace 1", "release": 0, "part": [], "parameter": {}, "epsilon": 1, "delta": 0}),
        ("roc", {"runs": []}),
        ("roc", {"runs": [{"name": "a", "expression": "laplace 1"}] * 2}),
        ("roc", {"runs": [{"name": "a", "expression": "laplace 1"}] * 99}),
        ("roc", {"runs": "abc"}),
        ("plan", {"statistic": "sum", "low": 0, "high": 1}),
        ("plan_training", {"examples": 10, "batch_sizes": ["a"], "epochs": [1], "epsilon": 1, "delta": 0.1}),
    ],
)
def test_bad_questions_are_told_so(server: Served, question: str, given: dict) -> None:
    error = server.ask(question, **given)["error"]
    assert error["kind"] == "InvalidParameter", error
    assert "Traceback" not in error["message"]


# -- attacks -----------------------------------------------------------------------------------------------------

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
    upload = f"/scores?tab=t&name=a.csv&delta=1e-5&expression=gdp+1"
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
        return server.answer("training", **RUN | {"noise": 1 + number / 10}, scheme="poisson", tab=f"tab {number}")[
            "upper"
        ]

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


# -- limits ------------------------------------------------------------------------------------------------------


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


# -- files of scores ---------------------------------------------------------------------------------------------


def canaries(rows: int = 1000, gap: float = 1.5) -> bytes:
    draw = np.random.default_rng(1)
    members = draw.integers(0, 2, rows)
    scores = draw.normal(gap * members)
    return ("score,member\n" + "".join(f"{s},{m}\n" for s, m in zip(scores, members, strict=True))).encode()


def uploaded(
    server: Served, content: bytes, name: str = "a.csv", expression: str = "gdp+1", delta: str = "1e-5"
) -> dict:
    path = f"/scores?tab=t&name={name}&delta={delta}&expression={expression}"
    status, body, _ = server.send("POST", path, content, content_type="application/octet-stream")
    assert status == 200, body
    return json.loads(body)


def test_scores_are_audited_as_on_the_command_line(
    server: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.csv").write_bytes(canaries())
    found = uploaded(server, canaries())["answer"]
    main(["audit", "scores", str(tmp_path / "a.csv"), "--claim", "gdp 1", "--delta", "1e-5", "--json"])
    printed = json.loads(capsys.readouterr().out)["audit"]
    assert found["audit"]["lower_bound"] == printed["lower_bound"] > 0
    proven = [point for point in found["points"] if point["label"].startswith("proven")]
    assert proven and all(0 < point["y"] <= 1 for point in proven)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"", "a.csv"),
        (b"a,b\n1,2\n", "a.csv"),
        (b"score,member\n<script>alert(1)</script>,1\n", "a.csv"),
        (b"\x00\xff" * 1000, "a.npz"),
        (b"PAR1" + b"\x00" * 100, "a.parquet"),
        (b"score,member\n1,1\n", "../../x.csv"),
    ],
)
def test_bad_files_are_told_so_without_their_content(server: Served, content: bytes, name: str) -> None:
    message = uploaded(server, content, name)["error"]["message"]
    assert "script" not in message and "/tmp" not in message and "hush-" not in message, message


def test_files_of_other_kinds_are_refused(server: Served) -> None:
    stream = {"content_type": "application/octet-stream"}
    assert server.send("POST", "/scores?tab=t&name=a.pkl&delta=1&expression=gdp+1", b"x", **stream)[0] == 415
    assert server.send("POST", "/scores?tab=t&name=a.csv&delta=x&expression=gdp+1", b"x", **stream)[0] == 400
    assert server.send("POST", "/scores?tab=t&name=a.csv&delta=1", b"x")[0] == 415


# -- books -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    ledger = pytest.importorskip("hush.ledger")
    pytest.importorskip("sqlalchemy")
    place = tmp_path_factory.mktemp("book") / "budget.db"
    made = ledger.Ledger.create(place)
    made.add("census", ledger.Budget(epsilon=1.0, delta=1e-6))
    made.add("ann", ledger.Budget(epsilon=0.5, delta=1e-6), within="census")
    made.record(hush.Gaussian(20.0), dataset="ann", purpose="<img src=x onerror=alert(1)>")
    return place


def test_a_book_is_shown_and_not_written_to(book: Path) -> None:
    with served("--ledger", str(book)) as reading:
        found = reading.answer("book")
        assert [one["name"] for one in found["budgets"]] == ["census", "ann"]
        assert [one["kind"] for one in found["entries"]] == ["by hand", "budget", "budget"]
        assert found["entries"][0]["mechanism"] == "Gaussian noise of multiplier 20"
        price = reading.answer("price", expression="laplace 10", dataset="ann")
        assert price["fits"] and [line["budget"] for line in price["budgets"]] == ["ann", "census"]
        assert not reading.answer("price", expression="laplace 0.1", dataset="ann")["fits"]
        asked = json.dumps(
            {"tab": "t", "slot": "s", "ask": "record", "with": {"expression": "laplace 10", "dataset": "ann"}}
        )
        assert reading.send("POST", "/ask", asked.encode())[0] == 403
        other = reading.answer("book", place="/etc/passwd")  # a question cannot name another book
        assert other["anchor"] == found["anchor"]
        assert locked(reading, book)["error"]["kind"] in ("limit", "LedgerError")
        assert reading.answer("book")["anchor"] == found["anchor"]


def locked(reading: Served, book: Path) -> dict:
    """What is said while another process keeps the whole file to itself."""
    with sqlite3.connect(book, isolation_level=None) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        other.execute("UPDATE hush_book SET version = version")
        said = reading.ask("book", slot="locked")
        other.execute("ROLLBACK")
    other.close()
    return said


def test_a_book_is_written_to_only_with_write(book: Path) -> None:
    with served("--ledger", str(book), "--write") as writing:
        before = writing.answer("book")
        found = writing.answer("record", expression="gaussian 30", dataset="ann", purpose="a table")
        after = writing.answer("book")
        assert found["entry"] == len(before["entries"]) + 1 and after["entries"][0]["purpose"] == "a table"
        refused = writing.ask("record", expression="laplace 0.1", dataset="ann")["error"]
        assert refused["kind"] == "BudgetExceeded"
        assert writing.answer("book")["anchor"] == after["anchor"]


def test_without_a_book_there_is_none(server: Served) -> None:
    asked = json.dumps({"tab": "t", "slot": "s", "ask": "book", "with": {"place": "/etc/passwd"}}).encode()
    assert server.send("POST", "/ask", asked)[0] == 404


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
