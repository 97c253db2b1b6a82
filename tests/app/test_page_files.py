"""Files of scores that are dropped onto the page, and budget books that it shows."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import numpy as np
import pytest

import hush
from hush.app.main import main
from tests.page_server import PAGE, Served, served

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytestmark = PAGE


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
