"""`hush release table`: what Python has, on files, with samples, users, unknown keys and dry runs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from hush.app.main import UNKNOWN, USAGE, main

NUMBERS = ["--bounds", "income", "0", "2000", "--epsilon", "1"]


@pytest.fixture
def files(tmp_path: Path) -> str:
    random = np.random.default_rng(1)
    for part in range(2):
        table = {
            "region": random.choice(["N", "S"], 500),
            "year": random.integers(2020, 2022, 500),
            "income": random.lognormal(5, 0.5, 500),
            "user": random.integers(0, 300, 500),
        }
        parquet.write_table(pyarrow.table(table), tmp_path / f"{part}.parquet")
    return str(tmp_path / "*.parquet")


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["release", "table", *words]) == 0
    return capsys.readouterr().out


def test_mean_median_and_count_by_region(files: str, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--by", "region=N,S,E", "--mean", "income", "--median", "income", "--count", *NUMBERS]
    out = said(capsys, files, *asked)
    assert [line.split()[0] for line in out.splitlines()[1:4]] == ["N", "S", "E"]
    assert "epsilon    1 at delta 0" in out and "a choice by permute and flip of 0.5-DP" in out
    rows = json.loads(said(capsys, files, *asked, "--json"))
    assert rows["epsilon"] == 1.0 and [row["region"] for row in rows["rows"]] == ["N", "S", "E"]
    assert {"count", "count_low", "count_high", "income_mean", "income_median"} < set(rows["rows"][0])


def test_every_statistic(files: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    more = ["--sum", "income", "--variance", "income", "--quantile-of", "income", ".9", "--bins", "income", "0,100,200"]
    more += [
        "--values",
        "year",
        "2020,2021",
        "--distinct",
        "year",
        "--top",
        "region",
        "1",
        "N,S",
        "--users",
        "--unit",
        "user",
    ]
    more += [
        "--max-groups",
        "2",
        "--max-per-group",
        "3",
        "--where",
        "income > 50",
        "--missing",
        "income=drop",
        "--together",
    ]
    out = tmp_path / "out.csv"
    said(capsys, files, "--by", "year=2020,2021", *more, *NUMBERS, "--out", str(out), "--split", "error")
    head, *rows = out.read_text().splitlines()
    assert (
        len(rows) == 2 and head.startswith("year,users,users_low") and "income_p90" in head and "region_top_1" in head
    )


def test_a_budget_after_sampling(files: str, capsys: pytest.CaptureFixture[str]) -> None:
    for more in ([], ["--delta", "1e-6"], ["--unit", "user", "--max-contributions", "3"]):
        out = json.loads(
            said(capsys, files, "--by", "region=N,S", "--count", *NUMBERS, "--sample", ".1", "--json", *more)
        )
        assert 0.9 < out["epsilon"] <= 1


def test_unknown_keys_and_dry_run(files: str, capsys: pytest.CaptureFixture[str]) -> None:
    by = ["--by", "region", "--count", "--epsilon", "1", "--delta", "1e-6"]
    assert "shown whose noisy number of records is at least 15" in said(capsys, files, *by)
    planned = said(capsys, "no such file", *by, "--dry-run", "--group-size", "500")
    assert "nothing was read" in planned and "count" in planned


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--by", "region", "--count", "--epsilon", "1"], USAGE),
        (["--by", "region=N,S", "--mean", "income", "--epsilon", "1"], USAGE),
        (["--by", "income=1,2", "--count", "--epsilon", "1"], USAGE),
        (["--by", "year=N", "--count", "--epsilon", "1"], USAGE),
        (["--by", "region=N", "--count", "--epsilon", "0"], USAGE),
        (["--by", "region=N", "--count", "--epsilon", "1", "--unit", "user"], USAGE),
        (["--by", "region=N", "--count", "--epsilon", "1", "--where", "income >"], USAGE),
        (["--by", "region=N", "--count", "--epsilon", "1", "--column", "income"], USAGE),
        (["--by", "region=N", "--count", "--epsilon", "1", "--out", "t.doc"], USAGE),
        (["--by", "region=N", "--distinct", "year", "--epsilon", "1", "--sample", ".5"], UNKNOWN),
        (["--by", "nothing=N", "--count", "--epsilon", "1"], USAGE),
    ],
)
def test_what_makes_no_sense(files: str, words: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["release", "table", files, *words]) == code
    assert capsys.readouterr().err.startswith("hush: error: ")


def test_options_of_a_table_are_not_those_of_a_statistic(files: str) -> None:
    assert main(["release", "count", files, "--by", "region=N", "--epsilon", "1"]) == USAGE
