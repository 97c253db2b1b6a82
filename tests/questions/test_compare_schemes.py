"""The comparison of schemes: one run, one table, and the common mistake said plainly."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import hush
from hush.app.main import main
from hush.questions.charts.drawing import Axis
from hush.questions.charts.ranges import FalseReport, Range, Ranges

ASKED = ["compare", "--noise", "1", "--steps", "100", "--delta", "1e-6"]


@pytest.fixture(scope="module")
def found() -> hush.SchemeComparison:
    return hush.compare_schemes(noise_multiplier=1.0, steps=100, delta=1e-6)


def test_rows_are_what_each_scheme_says(found: hush.SchemeComparison) -> None:
    for row in found.rows:
        assert row.bound == row.mechanism.epsilon(delta=1e-6)
        assert row.reason
    assert found["Poisson"].bound.upper == pytest.approx(0.9542, abs=1e-4)
    assert found["random allocation"].bound.upper == pytest.approx(0.857986, abs=1e-6)
    assert found["shuffled batches"].bound.lower == pytest.approx(4.6809, abs=1e-4)
    assert found["without replacement"].mechanism.relation is hush.Relation.REPLACE


def test_the_mistake_is_named_with_its_factor(found: hush.SchemeComparison) -> None:
    assert "at least 4.68" in found.mistake
    assert "4.9 times" in found.mistake
    assert found.mistake.split(".")[0] in str(found).replace("\n", " ")


def test_no_claim_where_the_attack_does_not_reach() -> None:
    calm = hush.compare_schemes(noise_multiplier=5.0, steps=10, delta=1e-3)
    assert "neither proven nor refuted" in calm.mistake


def test_little_noise_shuffled_is_proven_better_than_poisson() -> None:
    loud = hush.compare_schemes(noise_multiplier=0.4, steps=3, delta=1e-3)
    assert loud["shuffled batches"].bound.upper < loud["Poisson"].bound.lower
    assert "would be safe" in loud.mistake
    assert "safe here" in loud.chart().claim.text


def test_chart_vs_rows(found: hush.SchemeComparison) -> None:
    picture = found.chart()
    drawn = {row["label"]: row for row in picture.rows()}
    for row in found.rows:
        assert (drawn[row.name]["low"], drawn[row.name]["high"]) == (row.bound.lower, row.bound.upper)
        assert drawn[row.name]["note"] == row.reason
    assert [row.label for row in picture.ranges][-2:] == ["Poisson", "shuffled batches"]
    assert "4.9 times" in picture.claim.text
    assert len({drawn[name]["colour"] for name in ("Poisson", "shuffled batches", "random allocation")}) == 3


def test_open_ends_are_drawn_to_the_edge() -> None:
    rows = Range("a", 0.0, math.inf, "unknown"), Range("b", 2.0, 4.0, "2 to 4")
    picture = Ranges("t", "s", Axis("ε", log=True), rows)
    first, second = picture.rows()
    assert (first["low"], first["high"]) == picture.ends
    assert picture.ends[0] < second["low"] < second["high"] < picture.ends[1]


def test_pictures_of_nonsense_are_refused() -> None:
    one = Range("a", 1.0, 2.0, "1 to 2")
    with pytest.raises(hush.InvalidParameter, match="claim"):
        Ranges("t", "s", Axis("ε", log=True), (one,), FalseReport("a", "b", "text"))
    with pytest.raises(hush.InvalidParameter, match="no two rows"):
        Ranges("t", "s", Axis("ε", log=True), (one, one))


@pytest.mark.parametrize("ending", [".svg", ".png", ".html"])
def test_command_draws(ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("vl_convert")
    target = tmp_path / f"schemes{ending}"
    assert main([*ASKED, "--chart", str(target)]) == 0
    assert "The common mistake" in capsys.readouterr().out
    if ending != ".png":
        assert "4.9 times that" in target.read_text(encoding="utf-8")
    else:
        assert target.read_bytes().startswith(b"\x89PNG")


def test_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(ASKED) == 0
    text = capsys.readouterr().out
    for name in ("no sampling", "Poisson", "without replacement", "random allocation", "shuffled batches"):
        assert name in text
    assert main([*ASKED, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {row["scheme"] for row in document["schemes"]} >= {"Poisson", "shuffled batches"}
    assert all(row["lower"] <= row["upper"] for row in document["schemes"])


@pytest.mark.parametrize(
    "wrong", [["--steps", "0"], ["--steps", "2.5"], ["--delta", "1"], ["--noise", "-1"], ["--epochs", "0"]]
)
def test_bad_input(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ASKED, *wrong]) != 0
    assert "needs" in capsys.readouterr().err


def test_unknown_row(found: hush.SchemeComparison) -> None:
    with pytest.raises(hush.InvalidParameter, match="Poisson"):
        found["coins"]


def test_nothing_wide_is_called_exact() -> None:
    found = hush.compare_schemes(noise_multiplier=0.01, steps=2, delta=1e-5)
    assert any(row.bound is not None and row.bound.wide for row in found.rows)
    for row in found.rows:
        if row.bound is None or row.bound.wide:
            assert "exact" not in row.reason
    assert "exact" in hush.compare_schemes(noise_multiplier=1.0, steps=10, delta=1e-5)["Poisson"].reason


def test_what_the_first_share_of_the_work_left_wide_is_asked_again() -> None:
    """A capped batch takes more than its share here, and others less."""
    found = hush.compare_schemes(noise_multiplier=1.0, steps=1000, delta=1e-6)["Poisson, capped"].bound
    assert found is not None
    assert found.lower < found.upper < found.lower * 1.003


RELEASES = ["gaussian 2 | clusters 0.05 500x4", "gaussian 2 | best-of-geometric 0.1", "gaussian 1 | stratified 5 50"]


def test_releases_of_any_kind(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["compare", "--delta", "1e-6", "--releases", *RELEASES]
    assert main(asked) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in lines[3:]] == RELEASES
    assert "not covered" in lines[-1]
    assert main([*asked, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["releases"]
    known = hush.Gaussian(2.0).on(hush.Clusters(0.05, [4] * 500)).epsilon(delta=1e-6)
    assert (rows[0]["lower"], rows[0]["upper"]) == (known.lower, known.upper)
    assert rows[1]["upper"] == pytest.approx(3.2567, abs=1e-4)
    assert "private number" in rows[2]["reason"]


@pytest.mark.parametrize("more", [["--noise", "1"], ["--steps", "10"], ["--chart", "a.svg"]])
def test_releases_or_a_run(more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--delta", "1e-6", "--releases", "gaussian 1", *more]) == 2
    assert "either --releases or a training run" in capsys.readouterr().err
    assert main(["compare", "--delta", "1e-6", "--steps", "10"]) == 2
    assert "--noise of a training run" in capsys.readouterr().err
