"""`hush release`: values, intervals, the target after sampling and for users, and errors."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

import hush
from hush.app.main import main

pyarrow = pytest.importorskip("pyarrow")
LONG = Decimal("12345678901234567890.12")
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
    sure = ["--confidence", "0.999999999"]  # the noise is fresh: at 95% the truth would be outside once in 20 runs
    found = ran(capsys, "sum", files["csv"], *options, *sure)
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


def written(folder: Path, column: object) -> str:
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"x": column}), folder / "t.parquet")
    return str(folder / "t.parquet")


@pytest.mark.parametrize(
    ("column", "categories", "counts"),
    [
        (pyarrow.array([1, 2, 1, None]), ["1", "2"], [2, 1]),
        (pyarrow.array([0.5, 2.0, 0.5], pyarrow.float32()), ["0.5", "2"], [2, 1]),
        (pyarrow.array([0.1, 0.1], pyarrow.float32()), ["0.1", "3"], [2, 0]),
        (pyarrow.array([True, None, False]), ["true", "false"], [1, 1]),
        (pyarrow.array(["1", "2", "1"]), ["1", "2"], [2, 1]),
        (pyarrow.array(["1", "2", "1"]).dictionary_encode(), ["1", "2"], [2, 1]),
        (pyarrow.array([1, 2, 1]).cast(pyarrow.decimal128(30, 2)), ["1", "2.0"], [2, 1]),
        (pyarrow.array([LONG, LONG + 1], pyarrow.decimal128(38, 2)), [str(LONG), str(LONG + 1), "2.5"], [1, 1, 0]),
        (pyarrow.array([1, 2, 1]), ["1" * 5000, "1", "1e400", "-1e0", "inf"], [0, 2, 0, 0, 0]),
        (pyarrow.array([math.inf, -math.inf, 2.0]), ["inf", "-inf", "2"], [1, 1, 1]),
    ],
    ids=str,
)
def test_categories_have_the_type_of_the_column(
    column: object, categories: list[str], counts: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = ran(capsys, "histogram", written(tmp_path, column), "--categories", *categories, "--epsilon", "200")
    assert [cell["count"] for cell in found["value"]] == counts


def test_endless_edges_and_negative_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A release that is made is also printed; -1e3 and -inf are no options."""
    file = written(tmp_path, pyarrow.array([-2e3, -1.0, 5.0]))
    found = ran(capsys, "histogram", file, "--edges", "-inf", "0", "inf", "--epsilon", "200")
    assert found["value"] == [{"cell": ["-inf", 0.0], "count": 2}, {"cell": [0.0, "inf"], "count": 1}]
    for low in ("-1e3", "-1E+3", "-1000.", "-.1e4"):
        assert ran(capsys, "sum", file, "--bounds", low, "1e3", "--epsilon", "400")["value"] == pytest.approx(
            -996, abs=20
        )
    assert main(["release", "histogram", file, "--edges", "-inf", "0", "inf", "--epsilon", "200"]) == 0
    assert capsys.readouterr().out.startswith("-inf to 0  2")


@pytest.mark.parametrize("word", ["1e99999999999999999999", "nan", "x", "1_0"])
def test_categories_that_are_no_numbers(word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, pyarrow.array([1, 2]))
    assert main(["release", "histogram", file, "--categories", word, "--epsilon", "1"]) == 2
    assert "categories that are numbers" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "--column the name of one column"),
        (["--column", "x"], "--column a column of the file"),
        (["--column", "income", "--unit", "x", "--max-contributions", "1"], "--unit a column of the file"),
        (["--column", "income", "--unit", "who"], "--unit and --max-contributions together"),
        (["--column", "income", "--max-contributions", "2"], "--unit and --max-contributions together"),
    ],
)
def test_errors_name_the_options(
    options: list[str], said: str, files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    for kind in files.values():
        assert main(["release", "mean", kind, "--bounds", "0", "1", "--epsilon", "1", *options]) == 2
        shown = capsys.readouterr().err
        assert said in shown and "hush.releases" not in shown and " column= " not in shown


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (pyarrow.array([1, 2]), "numbers"),
        (pyarrow.array([b"a"]), "texts or numbers"),
        (pyarrow.array([1]).cast(pyarrow.timestamp("s")), "texts or numbers"),
    ],
    ids=str,
)
def test_categories_of_another_type_are_refused(
    column: object, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["histogram", written(tmp_path, column), "--categories", "a", "2", "--epsilon", "1"]
    assert main(["release", *words]) == 2
    assert said in capsys.readouterr().err
    with pytest.raises(hush.InvalidParameter, match="type|texts or numbers"):
        hush.releases.histogram(column, categories=("a", "2"), epsilon=1.0)


def test_numbers_are_no_categories_of_texts(files: dict[str, str]) -> None:
    for source in (files["csv"], files["parquet"]):
        with pytest.raises(hush.InvalidParameter, match="texts"):
            hush.releases.histogram(source, column="answer", categories=(1, 2), epsilon=1.0)


HEADS = ["gr\u00f6\u00dfe,x\n1,2\n".encode("latin-1"), "a,x\n1,2\n".encode("utf-16"), "a,x\n1,2\n".encode("utf-16-le")]


@pytest.mark.parametrize("content", HEADS)
def test_headers_in_another_code(content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    assert (
        main(["release", "mean", str(tmp_path / "t.csv"), "--column", "x", "--bounds", "0", "1", "--epsilon", "1"]) == 2
    )
    assert "UTF-8" in capsys.readouterr().err


def test_damaged_pages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(written(tmp_path, pyarrow.array(range(100_000))))
    content = bytearray(path.read_bytes())
    content[100:100_000] = bytes(99_900)
    path.write_bytes(content)
    for sampled in ([], ["--sample", "0.5"]):
        assert main(["release", "mean", str(path), "--bounds", "0", "1", "--epsilon", "1", *sampled]) == 2
        shown = capsys.readouterr()
        assert "data that can be read" in shown.err and len(shown.err.splitlines()) == 1


def test_an_interruption_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(arguments: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("hush.app.commands.epsilon.run", interrupted)
    assert main(["epsilon", "laplace 1", "--delta", "0"]) == 130
    assert capsys.readouterr().err == "hush: error: interrupted: nothing was written\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is full")
@pytest.mark.parametrize(("output", "code"), [(">/dev/full", 5), (">&-", 2), (">&- 2>&-", 2), ("2>&-", 0)])
def test_outputs_that_cannot_be_written(output: str, code: int, files: dict[str, str]) -> None:
    """A release that nobody can see is not made, or at least not passed over in silence."""
    command = f"{sys.executable} -m hush.app.main release count {files['parquet']} --epsilon 1 {output}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == code and "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == (0 if "2>&-" in output else 1)
