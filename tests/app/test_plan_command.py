"""`hush plan` and `hush figures --accuracy`, in this process: text, JSON, pictures, errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hush
from hush.app.main import main

MEAN = ["plan", "mean", "--population", "10001", "--bounds", "0", "2000", "--epsilon", "0.5"]
MEDIAN = ["plan", "median", "--population", "1001", "--bounds", "0", "2000", "--epsilon", "0.5", "--rates", "1", "0.1"]
TRAINING = ["plan", "training", "--examples", "1000", "--batch-sizes", "100", "--epochs", "1"]


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(list(words))
    out, err = capsys.readouterr()
    return code, out, err


def test_mean_says_do_not_sample(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, *MEAN, "--model", "lognormal 5 0.5")
    assert code == 0
    assert "Do not sample: use Laplace noise on all records" in out
    assert "replace one record" in out


def test_json_vs_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(said(capsys, *MEDIAN, "--model", "uniform 0 2000", "--delta", "1e-6", "--json")[1])
    from scipy import stats

    plan = hush.plan.median(
        population=1001, bounds=(0, 2000), epsilon=0.5, delta=1e-6, model=stats.uniform(0, 2000), rates=[1, 0.1]
    )
    assert [row["error"] for row in document["rows"]] == pytest.approx([row.error for row in plan.rows])
    assert document["sample"] is False
    assert document["answer"] == plan.answer
    assert document["relation"] == "replace"


@pytest.mark.parametrize("model", ["normal 500 100", "exponential 300", "beta 2 5", "lognormal 5 0.5"])
def test_models_by_name(capsys: pytest.CaptureFixture[str], model: str) -> None:
    code, out, _ = said(capsys, *MEAN, "--model", model, "--rates", "1")
    assert code == 0
    assert "model:" in out


def test_poisson_and_many_queries(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, *MEAN, "--relation", "add-remove", "--queries", "10", "--delta", "1e-6")
    assert code == 0
    assert "Poisson" in out and "shared by 10 queries" in out and "epochs" in out


def test_quantile_with_a_public_pilot(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pilot = tmp_path / "pilot.txt"
    pilot.write_text("\n".join(str(k) for k in range(100)), encoding="utf-8")
    words = [*MEDIAN[:1], "quantile", *MEDIAN[2:], "--p", "0.9", "--public-pilot", str(pilot)]
    code, out, _ = said(capsys, *words)
    assert code == 0
    assert "0.9-quantile" in out
    assert "a public pilot of 100 numbers" in out.replace("\n", " ")


def test_training(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = said(capsys, *TRAINING, "--epsilon", "2", "--delta", "1e-5")
    assert code == 0 and "cost of sampling" in out
    document = json.loads(said(capsys, *TRAINING, "--epsilon", "2", "--delta", "1e-5", "--json")[1])
    assert document["rows"][0]["steps"] == 10
    assert "signal/noise of a step" in out and "owes all" in out
    plan = hush.train_plan(examples=1000, batch_size=100, epochs=1, epsilon=2.0, delta=1e-5)
    run = document["run"]
    assert run["noise_multiplier"] == plan.noise_multiplier and run["parts"][-1]["epsilon"] == plan.epsilon
    half = next(part for part in run["parts"] if part["steps"] == 5)
    assert half["epsilon"] == plan.first(5).epsilon(delta=1e-5).upper < plan.epsilon
    assert [row["batch_size"] for row in run["larger"]] == [100, 200, 400, 800]
    assert all(row["signal_to_noise"] * row["noise_per_gradient"] == pytest.approx(1) for row in run["larger"])


def test_training_by_other_schemes(capsys: pytest.CaptureFixture[str]) -> None:
    words = [*TRAINING, "--epsilon", "2", "--delta", "1e-5", "--scheme"]
    code, out, _ = said(capsys, *words, "without-replacement")
    assert code == 0 and "replace one record" in out and "cost of sampling" not in out
    code, _, err = said(capsys, *words, "shuffled-batches", "--batch-sizes", "100", "200")
    assert code != 0 and "one batch size and one number of epochs" in err
    assert "--scheme" in said(capsys, *MEAN, "--scheme", "poisson")[2]


def test_a_picture_is_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    target = tmp_path / "plan.svg"
    assert said(capsys, *MEAN, "--out", str(target))[0] == 0
    assert "Expected error of a mean" in target.read_text(encoding="utf-8")


def test_figures_of_the_experiment_by_name(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    code, out, _ = said(capsys, "figures", "--accuracy", str(tmp_path), "--only", "accuracy-density-mixtures")
    assert code == 0
    assert [Path(line).name for line in out.splitlines()] == ["accuracy-density-mixtures.svg"]


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (MEAN[:4], "--epsilon"),
        (["plan", "mean", "--epsilon", "1"], "--population"),
        ([*MEAN, "--p", "0.5"], "--p"),
        ([*MEAN, "--examples", "5"], "--examples"),
        ([*MEAN, "--bounds", "1", "0"], "bounds"),
        ([*MEAN, "--epsilon", "-1"], "epsilon"),
        ([*MEAN, "--model", "cauchy 1"], "lognormal MU SIGMA"),
        ([*MEAN, "--model", "normal 1"], "normal MEAN SD"),
        ([*MEAN, "--model", "normal a b"], "normal MEAN SD"),
        ([*MEAN, "--model", "normal 0 -1"], "ppf"),
        ([*MEAN, "--model", "normal 0 1", "--public-pilot", "x"], "not both"),
        ([*MEAN, "--public-pilot", "/no/such/file"], "a file of numbers"),
        ([*MEAN, "--out", "plan.txt"], ".svg"),
        (["plan", "mode", "--epsilon", "1"], "mode"),
        (["figures", "--accuracy", "x", "--only", "noise-factor"], "accuracy-mean"),
    ],
    ids=lambda value: " ".join(value[-2:]) if isinstance(value, list) else value,
)
def test_errors_are_one_line_with_code_2(capsys: pytest.CaptureFixture[str], words: list[str], part: str) -> None:
    code, out, err = said(capsys, *words)
    assert (code, out) == (2, "")
    assert part in err
    assert len(err.splitlines()) == 1


def test_search_says_how_many_runs_a_budget_buys(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(
        capsys, "plan", "search", "--run", "gaussian 4", "--epsilon", "1.5", "--delta", "1e-6", "--json"
    )
    assert code == 0
    found = json.loads(out)
    assert found["plain"] > 3 * found["one_run"]
    for row in found["rows"]:
        assert row["mean"] > 1
        assert row["epsilon"] <= 1.5
    assert said(capsys, "plan", "search", "--epsilon", "1", "--delta", "1e-6")[0] == 2
    assert (
        said(capsys, "plan", "search", "--run", "gaussian 4", "--epsilon", "1", "--delta", "1e-6", "--out", "x")[0] == 2
    )


def test_a_table_vs_the_library(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    asked = [
        "plan",
        "table",
        "--by",
        "region=N,S",
        "--count",
        "--variance",
        "income",
        "--bounds",
        "income",
        "0",
        "2000",
    ]
    more = ["--epsilon", "1", "--group-sizes", "900", "80", "--rates", "0.1"]
    document = json.loads(said(capsys, *asked, *more, "--json")[1])
    releases = hush.releases
    stats = releases.Stats("income", bounds=(0, 2000), variance=True)
    query = releases.GroupBy(keys={"region": ("N", "S")}, ask={"count": releases.Rows(), "income": stats}, epsilon=1.0)
    assert document["rows"][0]["cells"] == [query.expected_error(900), query.expected_error(80)]
    assert document["sample"] is False
    picture = tmp_path / "plan.svg"
    assert said(capsys, *asked, *more, "--out", str(picture))[0] == 0 and picture.stat().st_size > 1000
    assert said(capsys, *asked, *more, "--population", "5")[0] == 2
    assert said(capsys, *MEAN, "--count")[0] == 2
    assert said(capsys, *MEAN[:-5], "--bounds", "0", "x", "--epsilon", "1")[0] == 2


DESIGNS = ["poisson 0.1", "stratified 500 5000 500 5000", "clusters 0.1 200x50", "two-stage 0.2 0.5 200x50"]
SURVEY = ["--population", "10000", "--bounds", "0", "100", "--deviation", "20", "--between", "0.05", "--epsilon", "1"]


def test_designs_vs_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "plan", "designs", *SURVEY, "--designs", *DESIGNS, "--json")
    assert code == 0
    plan = hush.plan.designs(
        [
            hush.Poisson(rate=0.1),
            hush.Stratified([500, 500], [5000, 5000]),
            hush.Clusters(0.1, [50] * 200),
            hush.TwoStage(0.2, [50] * 200, inside=0.5),
        ],
        population=10_000,
        bounds=(0, 100),
        deviation=20.0,
        between=0.05,
        epsilon=1.0,
    )
    rows = json.loads(out)["rows"]
    assert [(row["noise"], row["error"]) for row in rows] == [(row.noise, row.error) for row in plan.rows]
    assert [row["design_effect"] for row in rows] == pytest.approx([1, 0.95, 3.45, 2.225])
    assert said(capsys, "plan", "designs", *SURVEY, "--designs", *DESIGNS)[1].strip() == str(plan)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--designs", "lottery 3"], "one of: allocation"),
        (["--designs", "clusters 0.1"], "clusters RATE SIZES"),
        (["--designs", "allocation 10"], "schemes that draw one sample"),
        (["--designs", "poisson 0.1", "--scheme", "poisson"], "no option of another plan"),
        (["--designs", "poisson 0.1", "--correlated"], "no option of another plan"),
        (["--designs", "poisson 0.1", "--out", "a.svg"], "no --out"),
        ([], "all that it depends on"),
    ],
)
def test_bad_designs(capsys: pytest.CaptureFixture[str], more: list[str], message: str) -> None:
    code, _, err = said(capsys, "plan", "designs", *SURVEY, *more)
    assert code == 2
    assert message in err


@pytest.mark.slow
def test_correlated_noise_and_other_batches(capsys: pytest.CaptureFixture[str]) -> None:
    run = ["plan", "training", "--examples", "6000", "--batch-sizes", "64", "--epochs", "4", "--epsilon", "2"]
    correlated = said(capsys, *run, "--delta", "1e-6", "--correlated")
    assert correlated[0] == 0 and "with noise of" in correlated[1]
    for scheme in ("capped-poisson", "cyclic-allocation"):
        assert said(capsys, *run, "--delta", "1e-6", "--scheme", scheme)[0] == 0
