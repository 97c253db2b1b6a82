"""The comparison of schemes: one run, one table, and the common mistake said plainly."""

from __future__ import annotations

import json

import pytest

import hush
from hush.app.cli import main

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
