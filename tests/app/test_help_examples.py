"""Every example of every command's help runs, as it is written, in a folder that has the files that it names."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest

from hush.app.commands import COMMANDS
from hush.app.main import REFUTED, main

ELSEWHERE = {
    "hush audit self": "minutes: the slow tier runs it",
    "hush app": "a server: tests/browser opens it",
    "hush app --ledger budget.db": "likewise",
    "hush app --port 8000 --no-browser": "likewise",
    "hush figures pictures": "a minute: tests/documents draws them",
    "hush figures pictures --only compositions schemes --format png": "likewise",
    "hush figures --accuracy pictures": "likewise",
    "hush ledger verify budget.db --anchor 12:9f86d081...": "the anchor of another book",
}
"""Examples that are run by other tests, or cannot be run, and why."""


def examples() -> list[str]:
    """The lines below `examples:` in the help of every command."""
    from hush.app.main import parser

    found = []
    for name in COMMANDS:
        action = next(act for act in parser([name])._actions if act.dest == "command")
        epilog = (action.choices or {})[name].epilog or ""  # type: ignore[index, call-overload]
        lines = epilog.replace("\\\n", " ").splitlines()
        found += [" ".join(line.split()) for line in lines if line.startswith("  hush ")]
    return found


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the examples read."""
    parquet = pytest.importorskip("pyarrow.parquet")
    arrow = pytest.importorskip("pyarrow")
    folder, draw, rows = tmp_path_factory.mktemp("examples"), np.random.default_rng(1), 400
    columns = {
        "region": draw.choice(["N", "S"], rows).tolist(),
        "income": draw.lognormal(5, 0.5, rows).round(2).tolist(),
        "age": draw.integers(0, 90, rows).tolist(),
        "minutes": draw.integers(0, 60, rows).tolist(),
        "answer": draw.choice(["yes", "no", "other"], rows).tolist(),
        "user_id": draw.integers(0, 100, rows).tolist(),
    }
    (folder / "data").mkdir()
    for name in ("data.parquet", "data/part.parquet"):
        parquet.write_table(arrow.table(columns), folder / name)
    lines = "\n".join(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))
    (folder / "data.csv").write_text(f"{','.join(columns)}\n{lines}\n", encoding="utf-8")
    (folder / "last_year.txt").write_text("\n".join(map(str, draw.random(200))), encoding="utf-8")
    member, scores = draw.random(rows) < 0.5, draw.normal(size=rows)
    pairs = "\n".join(f"{score},{int(is_in)}" for score, is_in in zip(scores, member, strict=True))
    for name in ("canaries.csv", "runs.csv"):
        (folder / name).write_text(f"score,member\n{pairs}\n", encoding="utf-8")
    np.savez(folder / "canaries.npz", score=scores, member=member)
    split = "\n".join(
        f"{abs(score)},{'train' if is_in else 'test'}" for score, is_in in zip(scores, member, strict=True)
    )
    (folder / "losses.csv").write_text(f"loss,split\n{split}\n", encoding="utf-8")
    return folder


def test_what_is_left_out_is_an_example() -> None:
    assert set(ELSEWHERE) <= set(examples())


@pytest.mark.parametrize("command", COMMANDS)
def test_the_examples_of_a_command_run(
    command: str, files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the order in which they stand: the second one of a ledger needs the first."""
    monkeypatch.chdir(files)
    lines = [line for line in examples() if shlex.split(line)[1] == command and line not in ELSEWHERE]
    if any(word in line for line in lines for word in ("--out", "--chart")):
        pytest.importorskip("vl_convert")
    if command in ("release", "ledger"):
        pytest.importorskip("sqlalchemy")
        (files / "budget.db").unlink(missing_ok=True)
    if command == "release":
        assert main(shlex.split("ledger create budget.db --dataset census --epsilon 1 --delta 1e-6")) == 0
    for line in lines:
        code = main(shlex.split(line)[1:])
        shown = capsys.readouterr()
        assert (code, shown.err) == (0, "") or (command == "audit" and code == REFUTED), (line, shown.err)
        assert shown.out
