"""The commands that draw, in this process: files, tables, numbers, errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hush
from hush.app.main import main


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(list(words))
    out, err = capsys.readouterr()
    return code, out, err


def test_chart_as_numbers_needs_no_drawing(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "chart", "renyi", "gaussian 1", "laplace 1", "--at", "4", "2", "--json")
    points = json.loads(out)["points"]
    assert code == 0
    assert [(p["x"], round(p["y"], 9)) for p in points if "Gaussian" in p["label"]] == [(2.0, 1.0), (4.0, 2.0)]


def test_chart_of_steps_with_labels(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["chart", "steps", "gaussian 1", "--label", "mine", "--delta", "1e-5", "--at", "4", "--json"]
    (point,) = json.loads(said(capsys, *words)[1])["points"]
    assert point["label"] == "mine"
    assert point["y"] == pytest.approx(hush.Gaussian(1.0).repeat(4).epsilon(delta=1e-5).upper, rel=1e-3)


def test_chart_writes_the_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    target = tmp_path / "profile.svg"
    code, out, _ = said(capsys, "chart", "profile", "laplace 1", "--at", "0", "0.5", "--out", str(target))
    assert code == 0
    assert str(target) in out
    assert "Laplace noise of scale 1" in target.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["chart", "renyi", "gaussian 1"], "--out FILE or --json"),
        (["chart", "steps", "gaussian 1", "--json"], "--delta"),
        (["chart", "renyi", "gaussian 1", "--delta", "1e-5", "--json"], "--delta"),
        (["chart", "renyi", "gaussian 1", "--label", "a", "--label", "b", "--json"], "--label"),
        (["chart", "waves", "gaussian 1", "--json"], "waves"),
        (["chart", "renyi", "gaussian", "--json"], "gaussian"),
        (["compose", "laplace 1", "--delta", "2"], "delta"),
        (["compose", "--delta", "1e-5"], "expression"),
        (["figures", "x", "--only", "nothing"], "nothing"),
    ],
)
def test_errors_are_one_line_with_code_2(capsys: pytest.CaptureFixture[str], words: list[str], part: str) -> None:
    code, out, err = said(capsys, *words)
    assert (code, out) == (2, "")
    assert part in err
    assert len(err.splitlines()) == 1


def test_a_place_that_cannot_be_written_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    target = tmp_path / "missing" / "a.svg"
    code, _, err = said(capsys, "chart", "renyi", "gaussian 1", "--at", "2", "--out", str(target))
    assert code == 2
    assert "missing" in err


def test_compose_is_a_table_in_text_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    _, text, _ = said(capsys, "compose", "laplace 10", "--delta", "1e-6", "--times", "1", "20")
    lines = text.splitlines()
    assert lines[1].split()[0] == "times"
    assert lines[3].split()[0] == "20"
    assert "\x1b" not in text
    document = json.loads(said(capsys, "compose", "laplace 10", "--delta", "1e-6", "--times", "20", "--json")[1])
    rows = {row["method"]: row for row in document["epsilon"]}
    assert rows["basic"]["upper"] == pytest.approx(2.0, rel=1e-4)
    assert rows["exact"]["lower"] <= rows["exact"]["upper"] < rows["advanced"]["upper"]
    assert hush.from_json(json.dumps(document["mechanism"])) == hush.Laplace(10.0)


def test_compose_takes_the_short_form(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["compose", "--noise", "1", "--rate", "0.01", "--steps", "10", "--delta", "1e-5", "--times", "1", "--json"]
    assert said(capsys, *words)[0] == 0


def test_figures_are_written_by_name(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    words = ["figures", str(tmp_path / "new"), "--only", "noise-factor", "negative-divergence"]
    code, out, err = said(capsys, *words)
    assert (code, err) == (0, "")
    assert sorted(Path(line).name for line in out.splitlines()) == ["negative-divergence.svg", "noise-factor.svg"]
    assert all(Path(line).read_text(encoding="utf-8").startswith("<svg") for line in out.splitlines())
