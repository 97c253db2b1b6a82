"""Every field of every question with values that nobody means: the answer is a sentence, never a fault of hush."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from hush.app.service.questions.menu import MENU
from tests.page_server import PAGE, Served, served

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytestmark = PAGE

RUN = {"examples": 600, "batch_size": 60, "epochs": 1, "noise": 1.0, "delta": 1e-5, "scheme": "poisson"}
RUNS = [{"name": "a", "expression": "laplace 2"}]
RELEASE = {"population": 100, "low": 0, "high": 10, "epsilon": 0.5, "delta": 0, "queries": 1}
GOOD: dict[str, dict[str, Any]] = {
    "words": {},
    "epsilon": {"expression": "laplace 2", "delta": 1e-5},
    "training": RUN,
    "noise": {"expression": "laplace 2", "release": 0, "part": 0, "parameter": "scale", "epsilon": 1, "delta": 0},
    "what_if": {"expression": "laplace 2", "delta": 1e-5},
    "roc": {"runs": RUNS},
    "posterior": {"runs": RUNS, "prior": 0.5, "false_positive_rate": 0.01},
    "schemes": {"noise": 2.0, "steps": 10, "epochs": 1, "delta": 1e-5},
    "renyi": {"runs": RUNS, "delta": 1e-5},
    "plan": RELEASE | {"statistic": "mean", "model": "uniform 0 10", "relation": "replace"},
    "plan_training": {"examples": 600, "batch_sizes": [10], "epochs": [1], "epsilon": 2, "delta": 1e-5},
    "explain": {"expression": "laplace 2", "delta": 1e-5, "unit": "patient"},
}
HOSTILE: tuple[Any, ...] = (
    *(None, True, -1, -0.0, 1e308, 5e-324, 10**400, float("nan"), float("-inf")),
    *("", "1", "\0", "\ud800", "é☃", "__proto__", "<img src=x onerror=alert(1)>", "../../etc/passwd", "x" * 5000),
    *([], [[[]]], [None], [1e308], [{}], {}, {"__proto__": 1}),
)
KINDS = {"InvalidParameter", "NotCovered", "limit", "HushError", "DataError"}


@pytest.fixture(scope="module")
def quick() -> Iterator[Served]:
    """A server whose questions end soon: a hostile number may well ask for much."""
    with served("--seconds", "1") as found:
        yield found


def strict(text: bytes) -> Any:
    """JSON as browsers read it: without NaN and without infinity."""

    def no(constant: str) -> Any:
        raise AssertionError(f"{constant} is no JSON")

    return json.loads(text, parse_constant=no)


@pytest.mark.parametrize("question", GOOD)
def test_no_value_of_a_field_is_a_fault(quick: Served, question: str) -> None:
    assert set(GOOD) == set(MENU)
    for field in [*GOOD[question], "extra"]:
        for value in HOSTILE:
            given = GOOD[question] | {field: value}
            body = json.dumps({"tab": "t", "slot": "s", "ask": question, "with": given}).encode()
            status, reply, _ = quick.send("POST", "/ask", body)
            said = strict(reply)
            assert status == 200 and ("answer" in said or said["error"]["kind"] in KINDS), (field, value, said)
            assert "error" not in said or len(said["error"]["message"]) < 1100, (field, value)


def test_places_and_turns_of_any_kind_are_refused_or_answered(server: Served) -> None:
    asked = {"tab": "t", "slot": "s", "turn": 1, "ask": "epsilon", "with": GOOD["epsilon"]}
    for field in asked:
        for value in HOSTILE:
            status, reply, _ = server.send("POST", "/ask", json.dumps(asked | {field: value}).encode())
            assert status in (200, 400, 404), (field, value, reply)
            said = strict(reply) if status == 200 else {"answer": None}
            assert "answer" in said or said["error"]["kind"] in KINDS, (field, value, reply)
    assert server.answer("epsilon", expression="laplace 2", delta=0)["upper"] == 0.5
