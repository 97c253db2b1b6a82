"""`hush audit`: files of scores in three formats, bad files, demonstrations."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import hush
from hush.app.main import main
from hush.app.self_audit import Case
from hush.auditing import distinguish


def canaries() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(1)
    members = random.random(400) < 0.5
    return 2 * members + random.standard_normal(400), members.astype(int)


def written(folder: Path, ending: str) -> str:
    scores, members = canaries()
    path = folder / f"canaries{ending}"
    if ending == ".csv":
        rows = [f"{score!r},{member}" for score, member in zip(scores.tolist(), members.tolist(), strict=True)]
        path.write_text("score,member\n" + "\n".join(rows))
    elif ending == ".npz":
        np.savez(path, score=scores, member=members)
    else:
        import pyarrow
        from pyarrow import parquet

        parquet.write_table(pyarrow.table({"score": scores, "member": members}), path)
    return str(path)


@pytest.mark.parametrize("ending", [".csv", ".npz", ".parquet"])
def test_every_format_says_the_same(ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "scores", written(tmp_path, ending), "--claim", "gdp 2", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["audit"]["survives"] is True
    assert 0.5 < shown["audit"]["lower_bound"] < 2
    assert shown["membership"]["area"]["value"] > 0.9


def test_runs_and_charts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "audit.svg"
    arguments = ["audit", "scores", written(tmp_path, ".npz"), "--claim", "gdp 0.5", "--runs", "--out", str(out)]
    assert main(arguments) == 4
    assert "REFUTED" in capsys.readouterr().out
    assert out.read_text().startswith("<svg")


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_exit_code_of_a_refuted_claim(form: tuple[str, ...], tmp_path: Path) -> None:
    path = written(tmp_path, ".csv")
    assert main(["audit", "scores", path, "--claim", "gdp 0.1", *form]) == 4
    assert main(["audit", "scores", path, "--claim", "gdp 10", *form]) == 0


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_exit_code_of_the_self_audit(
    form: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Sound mechanisms only, then one whose claim is false."""
    random = np.random.default_rng(1)

    def case(noise: float) -> Case:
        draws = 1 + noise * random.laplace(size=4000), noise * random.laplace(size=4000)
        return Case(f"Laplace {noise}", lambda effort: distinguish(*draws, claim=hush.PureDP(1.0), confidence=0.999))

    listed = [case(2.0), case(100.0)]
    monkeypatch.setattr("hush.app.self_audit.cases", lambda: iter(listed))
    assert main(["audit", "self", *form]) == 0
    shown = capsys.readouterr().out
    assert form or ("survives" in shown and "no evidence" in shown and "0 claims refuted, 1 without" in shown)
    listed.append(case(0.2))
    assert main(["audit", "self", *form]) == 4
    assert "Laplace 0.2" in capsys.readouterr().out


def test_without_a_claim(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "scores", written(tmp_path, ".csv")]) == 0
    assert "area under ROC" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.csv", "score\n1\n", "columns score and member"),
        ("a.csv", "score,member\nx,1\n", "numbers in column score"),
        ("a.csv", "score,member\n1\n", "a word in every row of column member"),
        ("a.csv", "score,member\nnan,1\n1,0\n2,1\n2,0\n", "no NaN"),
        ("a.csv", "", "columns score and member"),
        ("a.npz", "no zip", "npz file"),
        ("a.npz", "PK\x03\x04 half a zip", "npz file"),
        ("a.parquet", "no table", "parquet file"),
        ("a.pkl", "", "ends in one of"),
    ],
)
def test_bad_files(name: str, text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert main(["audit", "scores", str(path), "--claim", "pure 1"]) == 2
    assert said in capsys.readouterr().err


def test_the_mark_that_spreadsheets_put_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(written(tmp_path, ".csv"))
    path.write_text(path.read_text(), encoding="utf-8-sig")
    assert main(["audit", "scores", str(path)]) == 0
    assert "area under ROC" in capsys.readouterr().out


def test_an_array_under_the_name_of_an_archive(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "a.npy", np.zeros(40))
    (tmp_path / "a.npy").rename(tmp_path / "a.npz")
    assert main(["audit", "scores", str(tmp_path / "a.npz")]) == 2
    assert "npz file" in capsys.readouterr().err


def test_a_file_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "scores", "nowhere.csv"]) == 2
    assert "can be read" in capsys.readouterr().err


def test_demo(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "demo", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 3


@pytest.mark.parametrize("cell", ["x", "inf", "nan", ""])
def test_which_and_how_many_records_are_bad_is_not_told(
    cell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = set()
    for rows in ([f"{cell},1", "1,0", "2,1"], ["1,0", "2,1", f"{cell},1"], ["1,0", f"{cell},1", f"{cell},0", "3,0"]):
        (tmp_path / "a.csv").write_text("\n".join(["score,member", *rows]))
        assert main(["audit", "scores", str(tmp_path / "a.csv")]) == 2
        said.add(capsys.readouterr().err)
    assert len(said) == 1


# -- reports to hand in --------------------------------------------------------------------------------------------


def losses(path: Path, *, words: tuple[str, str] = ("train", "test")) -> Path:
    """Losses of 400 records: those that were trained on have smaller ones."""
    random = np.random.default_rng(3)
    members = random.random(400) < 0.5
    rows = zip(random.exponential(np.where(members, 0.1, 1.0)).tolist(), members.tolist(), strict=True)
    text = "\n".join(f"{loss},{words[0] if member else words[1]}" for loss, member in rows)
    path.write_text(f"loss,split\n{text}\n", encoding="utf-8")
    return path


NAMED = ["--score-column", "loss", "--member-column", "split"]


def test_one_command_gives_a_report_to_hand_in(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    file, target = losses(tmp_path / "losses.csv"), tmp_path / "report.html"
    assert main(["audit", "scores", str(file), *NAMED, "--claim", "gdp 0.1", "--out", str(target)]) == 4
    said = capsys.readouterr().out
    page = target.read_text(encoding="utf-8")
    for part in (
        "REFUTED",
        "confidence",
        "0.95",
        "null check",
        "false alarms",
        "<svg",
        "@media print",
        "SHA-256",
        "smaller loss",
    ):
        assert part in page, part
    assert re.search(r"mu >= ([\d.]+)", said)[1] in page  # type: ignore[index]
    # nothing is loaded from anywhere, and nothing runs
    assert not re.search(r"<script|<link|@import|url\((?!#)|src=|href=\"http", page)
    assert page.count("<html") == page.count("</html>") == 1


def test_without_a_claim_the_report_says_so(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    file, target = losses(tmp_path / "losses.csv"), tmp_path / "report.html"
    assert main(["audit", "scores", str(file), *NAMED, "--out", str(target)]) == 0
    assert "bounds nothing" in target.read_text(encoding="utf-8")


def test_losses_and_scores_have_their_direction(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = str(losses(tmp_path / "losses.csv"))
    areas = []
    for more in ([], ["--members", "lower"], ["--members", "higher"]):
        assert main(["audit", "scores", file, *NAMED, *more, "--json"]) == 0
        areas.append(json.loads(capsys.readouterr().out)["area"]["value"])
    assert areas[0] == areas[1] > 0.8 and areas[2] == pytest.approx(1 - areas[0])


def test_words_for_members(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    usual, own = losses(tmp_path / "a.csv"), losses(tmp_path / "b.csv", words=("seen", "unseen"))
    assert main(["audit", "scores", str(usual), *NAMED]) == 0
    expected = capsys.readouterr().out
    assert main(["audit", "scores", str(own), *NAMED]) == 2
    assert "seen" not in capsys.readouterr().err  # no value of a record is told
    assert main(["audit", "scores", str(own), *NAMED, "--member-value", "seen"]) == 0
    assert capsys.readouterr().out == expected
    assert main(["audit", "scores", str(own), *NAMED, "--member-value", "sen"]) == 2


def test_unsigned_losses_are_turned_round_without_wrapping(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", loss=np.array([0, 1, 2, 3], dtype=np.uint8), split=np.array([1, 1, 0, 0]))
    assert main(["audit", "scores", str(tmp_path / "a.npz"), *NAMED, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["area"]["value"] == 1.0
