"""`hush release`: values, intervals, the target after sampling and for users, and errors."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import hush
from hush.app.cli import main

pyarrow = pytest.importorskip("pyarrow")
INCOME = np.random.default_rng(1).lognormal(5, 0.5, 20_000)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    from pyarrow import csv, parquet

    folder: Path = tmp_path_factory.mktemp("tables")
    table = pyarrow.table({"income": INCOME, "who": np.arange(20_000) // 4, "answer": ["yes", "no"] * 10_000})
    parquet.write_table(table, folder / "data.parquet")
    csv.write_csv(table, folder / "data.csv")
    return {"parquet": str(folder / "data.parquet"), "csv": str(folder / "data.csv")}


def ran(capsys: pytest.CaptureFixture[str], *words: str) -> dict:
    code = main(["release", *words, "--json"])
    shown = capsys.readouterr()
    assert code == 0, shown.err
    return json.loads(shown.out)


def test_median_of_a_sample(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--column", "income", "--bounds", "0", "2000", "--epsilon", "1", "--sample", "0.1"]
    found = ran(capsys, "median", files["parquet"], *options)
    assert abs(found["value"] - np.median(INCOME)) < 20
    assert found["inner"] == pytest.approx(math.log1p(math.expm1(1) / 0.1))
    mechanism = hush.from_json(json.dumps(found["mechanism"]))
    assert 0.999999 < mechanism.epsilon(delta=0).upper <= 1
    assert found["private"]


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_mean_of_users(kind: str, files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--column", "income", "--bounds", "0", "2000", "--epsilon", "2", "--unit", "who"]
    found = ran(capsys, "mean", files[kind], *options, "--max-contributions", "2", "--sample", "0.5")
    kept = INCOME.reshape(-1, 4)[:, :2]
    low, high = found["total_interval"]
    assert low < kept.mean() < high and low < found["value"] < high
    assert found["inner"] == pytest.approx(math.log1p(math.expm1(1) / 0.5))
    mechanism = hush.from_json(json.dumps(found["mechanism"]))
    assert str(mechanism).endswith("on Poisson sampling at rate 0.5, for groups of 2")
    assert mechanism.epsilon(delta=0).upper == pytest.approx(2, rel=1e-9)


def test_quantile_of_a_sample_of_users(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--column", "income", "--p", "0.9", "--bounds", "0", "2000", "--epsilon", "2", "--sample", "0.5"]
    found = ran(capsys, "quantile", files["parquet"], *options, "--unit", "who", "--max-contributions", "4")
    assert abs(found["value"] - np.quantile(INCOME, 0.9)) < 20
    assert 1.99 < hush.from_json(json.dumps(found["mechanism"])).epsilon(delta=0).upper <= 2


def test_gaussian_noise_with_a_delta(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--column", "income", "--bounds", "0", "2000", "--epsilon", "1", "--delta", "1e-6"]
    found = ran(capsys, "sum", files["csv"], *options)
    assert found["inner"] == pytest.approx(4.2247, rel=1e-4)  # the analytic Gaussian of (1, 1e-6)
    low, high = found["noise_interval"]
    assert low < INCOME.sum() < high


def test_histogram_and_words(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    options = ["histogram", files["csv"], "--column", "answer", "--categories", "yes", "maybe", "--other"]
    found = ran(capsys, *options, "--epsilon", "3")
    assert [cell["cell"] for cell in found["value"]] == ["yes", "maybe", "other"]
    assert [round(cell["count"], -2) for cell in found["value"]] == [10_000, 0, 10_000]
    assert main(["release", *options, "--epsilon", "3"]) == 0
    text = capsys.readouterr().out
    assert "epsilon    3 at delta 0, on all records" in text and "Laplace noise" in text


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["median", "FILE", "--epsilon", "1"], 2, "--bounds"),
        (["median", "FILE", "--epsilon", "1", "--bounds", "0", "1"], 2, "column"),
        (["sum", "FILE", "--column", "answer", "--epsilon", "1", "--bounds", "0", "1"], 2, "numbers"),
        (["sum", "nowhere.parquet", "--epsilon", "1", "--bounds", "0", "1"], 2, "exists"),
        (["sum", "FILE", "--column", "income", "--epsilon", "-1", "--bounds", "0", "1"], 2, "epsilon"),
        (["sum", "FILE", "--column", "income", "--epsilon", "1", "--bounds", "2", "1"], 2, "bounds"),
        (["count", "FILE", "--epsilon", "1", "--bounds", "0", "1"], 2, "--bounds"),
        (["sum", "FILE", "--column", "income", "--epsilon", "1", "--bounds", "0", "1", "--sample", "2"], 2, "rate"),
        (["sum", "FILE", "--column", "income", "--epsilon", "1", "--bounds", "0", "1", "--unit", "who"], 2, "together"),
    ],
)
def test_errors(
    words: list[str], code: int, said: str, files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["release", *(files["parquet"] if word == "FILE" else word for word in words)]) == code
    shown = capsys.readouterr()
    assert said in shown.err and shown.out == "" and len(shown.err.splitlines()) == 1
