"""The numbers of the page are those of the command line, and what it exports gives them again."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import hush
from hush.app.main import main
from hush.app.service.questions.calculator import SCHEMES
from tests.page_server import PAGE, Served

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytestmark = PAGE

EXPRESSIONS = (
    "gaussian 1.0 | poisson 0.01 | repeat 10000",
    "laplace 2; gaussian 1.5 relation=add_remove then laplace scale=4",
    "kary-response 2 | shuffled 50",
    "randomized-response 2 relation=replace",
    "gaussian 1 | allocation 100 | repeat 2",
    "approx 0.5 1e-6 0.9 1e-9 | repeat 3",
    "gaussian 2 | without-replacement 10 1000 | repeat 50 | replace",
    "renyi 2 0.1 8 0.5 | repeat 2",
    "noisy-max 2 monotone=true",
)
RUN = {"examples": 60_000, "batch_size": 256, "epochs": 10, "noise": 1.0, "delta": 1e-5}


def said(*arguments: str, capsys: pytest.CaptureFixture[str]) -> dict:
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_epsilon_is_that_of_the_command_line(
    server: Served, expression: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = server.answer("epsilon", expression=expression, delta=1e-6)
    printed = said("epsilon", expression, "--delta", "1e-6", capsys=capsys)
    assert (found["lower"], found["upper"]) == (printed["lower"], printed["upper"])
    assert float(found["shown"]) >= found["upper"] and float(found["from"]) <= found["lower"]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_exported_python_and_command_give_the_same_epsilon(server: Served, expression: str) -> None:
    found = server.answer("explain", expression=expression, delta=1e-6, unit="patient")
    space: dict = {"print": lambda value: space.update(printed=value)}
    exec(found["python"], space)
    assert space["printed"] == found["answer"]["upper"]
    command = found["command"].replace("hush ", f"{sys.executable} -m hush.app.main ", 1) + " --json"
    if expression == EXPRESSIONS[0]:  # a shell and a new process each time: once will do
        ran = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
        assert json.loads(ran.stdout)["upper"] == found["answer"]["upper"]
    assert found["assumptions"] and found["derivation"]["theorem"] and "patient" in found["statement"]


@pytest.mark.parametrize("examples", (60_000, 6_000))
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_training_run_and_its_expression_are_one(server: Served, scheme: str, examples: int) -> None:
    """For every way to draw batches that the page offers, also where epochs and bands do not divide evenly."""
    found = server.answer("training", **RUN | {"examples": examples}, scheme=scheme)
    again = server.answer("epsilon", expression=found["expression"], delta=1e-5)
    assert (again["lower"], again["upper"]) == (found["lower"], found["upper"])


@pytest.mark.parametrize("scheme", ("capped-poisson", "cyclic-poisson", "balls-in-bins"))
def test_every_scheme_has_a_least_noise(server: Served, scheme: str) -> None:
    plan = server.answer("training", **RUN | {"examples": 6_000}, scheme=scheme, target=2.0)
    assert 1.99 < plan["upper"] <= 2.0


def test_the_noise_that_is_found_meets_the_target(server: Served) -> None:
    plan = server.answer("training", **RUN, scheme="poisson", target=2.0)
    assert (
        plan["upper"] <= 2
        and plan["noise"]
        == hush.train_plan(examples=60_000, batch_size=256, epochs=10, epsilon=2.0, delta=1e-5).noise_multiplier
    )
    place = {"release": 1, "part": 0, "parameter": "scale"}
    found = server.answer("noise", expression="gaussian 5; laplace 9", **place, epsilon=1.0, delta=1e-6)
    again = server.answer("epsilon", expression=f"gaussian 5; laplace {found['value']!r}", delta=1e-6)
    assert 0.999 < again["upper"] <= 1


def test_schemes_are_those_of_the_command_line(server: Served, capsys: pytest.CaptureFixture[str]) -> None:
    found = server.answer("schemes", noise=1.0, steps=100, epochs=2, delta=1e-6)
    printed = said(
        "compare", "--noise", "1", "--steps-per-epoch", "100", "--epochs", "2", "--delta", "1e-6", capsys=capsys
    )
    uppers = [row.get("upper") for row in printed["schemes"]]
    assert [row.get("upper") for row in found["rows"]] == pytest.approx(
        uppers, rel=1e-9
    )  # work may be shared otherwise
    assert found["mistake"] == printed["mistake"]


def test_pictures_have_the_numbers_of_the_library(server: Served) -> None:
    runs = [{"name": "a", "expression": "gaussian 1"}, {"name": "b", "expression": "laplace 1"}]
    found = server.answer("roc", runs=runs)["chart"]
    place = next(point for point in found["points"] if point["label"] == "a" and 0.04 < point["x"] < 0.06)
    assert place["y"] == pytest.approx(hush.Gaussian(1.0).roc().true_positive_rate(place["x"]).upper, rel=1e-12)
    sure = server.answer("posterior", runs=runs, prior=0.5, false_positive_rate=0.01)
    assert sure["read"][0]["after"] == "90.3%"
    curve = server.answer("renyi", runs=runs, delta=1e-5)
    assert {"contour", "Rényi"} & {row["route"] for row in curve["routes"]}
    assert server.answer("what_if", **RUN, scheme="poisson")["rows"][0]["upper"] == pytest.approx(1.0999, rel=1e-3)
    rows = server.answer("what_if", expression="laplace 2", delta=0)["rows"]
    assert [row["upper"] for row in rows[:3]] == pytest.approx([0.5, 1.0, 5.0], rel=1e-12)


def test_plans_are_those_of_the_command_line(server: Served, capsys: pytest.CaptureFixture[str]) -> None:
    given = {"statistic": "mean", "population": 1000, "low": 0, "high": 10, "epsilon": 0.5, "delta": 0, "queries": 1}
    found = server.answer("plan", **given, model="uniform 0 10", relation="replace")
    assert main([*"plan mean --population 1000 --bounds 0 10 --epsilon 0.5 --model".split(), "uniform 0 10"]) == 0
    assert " ".join(found["answer"].split()) in " ".join(capsys.readouterr().out.split())
    training = server.answer("plan_training", examples=1000, batch_sizes=[10, 100], epochs=[1], epsilon=2, delta=1e-5)
    assert len(training["table"]) == 3 and training["chart"]["points"]


@pytest.mark.parametrize(
    ("question", "given"),
    [
        ("epsilon", {}),
        ("epsilon", {"expression": 7, "delta": 1e-5}),
        ("epsilon", {"expression": "laplace 1", "delta": "1e-5"}),
        ("epsilon", {"expression": "laplace 1", "delta": True}),
        ("epsilon", {"expression": "laplace 1", "delta": 2}),
        ("training", RUN | {"scheme": "os.system"}),
        ("training", RUN | {"scheme": "poisson", "batch_size": 1e300}),
        ("noise", {"expression": "laplace 1", "release": 7, "part": 0, "parameter": "scale", "epsilon": 1, "delta": 0}),
        ("noise", {"expression": "laplace 1", "release": 0, "part": [], "parameter": {}, "epsilon": 1, "delta": 0}),
        ("roc", {"runs": []}),
        ("roc", {"runs": [{"name": "a", "expression": "laplace 1"}] * 2}),
        ("roc", {"runs": [{"name": "a", "expression": "laplace 1"}] * 99}),
        ("roc", {"runs": "abc"}),
        ("plan", {"statistic": "sum", "low": 0, "high": 1}),
        ("plan_training", {"examples": 10, "batch_sizes": ["a"], "epochs": [1], "epsilon": 1, "delta": 0.1}),
    ],
)
def test_bad_questions_are_told_so(server: Served, question: str, given: dict) -> None:
    error = server.ask(question, **given)["error"]
    assert error["kind"] == "InvalidParameter", error
    assert "Traceback" not in error["message"]
