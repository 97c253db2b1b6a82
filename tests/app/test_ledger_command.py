"""`hush ledger` and `hush release --ledger`: the book from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hush
from hush.app.main import main

pytest.importorskip("sqlalchemy")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text("age,who\n" + "".join(f"{k % 90},{k // 2}\n" for k in range(200)))
    assert main(["ledger", "create", "budget.db", "--dataset", "census", "--epsilon", "1", "--delta", "1e-6"]) == 0
    return tmp_path


RELEASE = ["release", "count", "data.csv", "--epsilon", "0.1", "--ledger", "budget.db", "--dataset", "census"]


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    capsys.readouterr()
    assert main(list(words)) == code
    found = capsys.readouterr()
    return found.err if code else found.out


def test_create_show_and_spend(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "ledger", "create", "budget.db", "--dataset", "ann", "--within", "census", "--rho", "0.01")
    before = hush.ledger.Ledger.open("budget.db").anchor()
    dry = said(capsys, *RELEASE, "--dry-run")
    assert "fits" in dry and "nothing was drawn or spent" in dry
    assert json.loads(said(capsys, *RELEASE, "--dry-run", "--json"))["fits"] is True
    assert hush.ledger.Ledger.open("budget.db").anchor() == before
    first = said(capsys, *RELEASE, "--key", "people", "--purpose", "how many")
    assert said(capsys, *RELEASE, "--key", "people") == first
    shown = json.loads(said(capsys, "ledger", "show", "budget.db", "--json"))
    assert [budget["name"] for budget in shown["budgets"]] == ["census", "ann"]
    assert shown["budgets"][0]["charges"] == 1 and shown["budgets"][0]["share"] == pytest.approx(0.1282, rel=1e-3)
    text = said(capsys, "ledger", "show", "budget.db")
    assert "no guarantee" in text and shown["anchor"] in text
    assert "epsilon = 1 at delta = 1e-06" in said(capsys, "ledger", "show", "budget.db", "--statement")
    assert "share" in said(capsys, "ledger", "create", "budget.db", "--dataset", "x", "--mu", "1", "--json")


def test_refusals_have_codes(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "does not allow" in said(capsys, *RELEASE[:4], "3", *RELEASE[5:], code=6)
    said(capsys, *RELEASE, "--key", "a")
    assert "another request" in said(capsys, *RELEASE[:4], "0.2", *RELEASE[5:], "--key", "a", code=6)
    assert "no book" in said(capsys, "ledger", "show", "nothing.db", code=6)
    assert "SQLITE_NOTADB" in said(capsys, "ledger", "verify", "data.csv", code=6)
    assert "name of a budget" in said(capsys, *RELEASE[:-1], "nobody", code=2)
    assert "--ledger" in said(capsys, *RELEASE[:5], "--dry-run", code=2)
    assert "unit of the budget" in said(capsys, *RELEASE, "--unit", "who", "--max-contributions", "2", code=2)
    assert "one of epsilon" in said(capsys, "ledger", "create", "budget.db", "--dataset", "y", code=2)
    assert "no budget of the book has" in said(
        capsys, "ledger", "create", "budget.db", "--dataset", "census", "--mu", "1", code=2
    )


def test_users_pay_from_a_budget_of_users(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "ledger", "create", "budget.db", "--dataset", "users", "--epsilon", "1", "--unit", "who")
    words = [*RELEASE[:-1], "users", "--unit", "who", "--max-contributions", "2"]
    assert "fits" in said(capsys, *words, "--dry-run")
    said(capsys, *words)
    assert hush.ledger.Ledger.open("budget.db").standing("users").share == pytest.approx(0.1)


def test_record_verify_and_export(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = ["ledger", "record", "budget.db", "--dataset", "census"]
    assert "entry 2, made by hand" in said(capsys, *record, "gaussian 20", "--purpose", "last year")
    assert "does not allow" in said(capsys, *record, "gaussian 1", code=6)
    assert json.loads(said(capsys, *record, "gaussian 1", "--beyond", "--json"))["exceeded"] is True
    anchor = said(capsys, "ledger", "verify", "budget.db").split("anchor ")[1].strip()
    assert json.loads(said(capsys, "ledger", "verify", "budget.db", "--anchor", anchor, "--json"))["by_hand"] == 2
    assert "older copy" in said(capsys, "ledger", "verify", "budget.db", "--anchor", f"9{anchor}", code=6)
    assert "anchor" in said(capsys, "ledger", "verify", "budget.db", "--anchor", "x", code=2)
    said(capsys, "ledger", "export", "budget.db", "book.json")
    assert len(json.loads((files / "book.json").read_text())["entries"]) == 3
    assert ".json or .csv" in said(capsys, "ledger", "export", "budget.db", "book.xls", code=2)
    assert "cannot be written" in said(capsys, "ledger", "export", "budget.db", "nowhere/book.csv", code=6)
