"""Every field of every question with values that nobody means: the answer is a sentence, never a fault of hush."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

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
            said: Any = strict(reply) if status == 200 else {"answer": None}
            assert "answer" in said or said["error"]["kind"] in KINDS, (field, value, reply)
    assert server.answer("epsilon", expression="laplace 2", delta=0)["upper"] == 0.5


LONG = "9" * 5000
"""Python reads no whole number of so many digits."""
SCORES: dict[str, str | None] = {"tab": "t", "turn": "1", "name": "a.csv", "delta": "1e-5", "expression": "gdp 1"}
ADDRESS = (
    LONG,
    "9" * 4300,
    "",
    "-1",
    "1.5",
    "nan",
    "1e999",
    "\0",
    "\xff",
    "٣",
    "²",
    "1_0",
    "x" * 2000,
    "a.csv\0",
    None,
)


def test_no_value_in_the_address_of_a_file_is_a_fault(server: Served) -> None:
    rows = b"score,member\n" + b"".join(b"%d.5,%d\n" % (k % 7, k % 2) for k in range(40))
    for field in SCORES:
        for value in ADDRESS:
            given = {name: said for name, said in (SCORES | {field: value}).items() if said is not None}
            status, reply, _ = server.send(
                "POST", f"/scores?{urlencode(given)}", rows, content_type="application/octet-stream"
            )
            assert status in (200, 400, 415), (field, value, reply)
            assert status != 200 or "answer" in strict(reply), (field, value, reply)
    for turn in (LONG, "-1", "1.5", "٣"):
        address = f"/scores?{urlencode(SCORES | {'turn': turn})}"
        assert server.send("POST", address, rows, content_type="application/octet-stream")[0] == 400
    assert server.answer("epsilon", expression="laplace 2", delta=0)["upper"] == 0.5


NESTS = [*range(900, 1000, 7), 1000, 1100, 5000, 10_000]
ASKED = '{"tab": "t", "slot": "s", "turn": %s, "ask": %s, "with": %s}'
LITERALS = (LONG, f"-{LONG}", f"{LONG}.0", f"1e{LONG}", "NaN", "-Infinity", '"\\ud800"', '"\\u0000"', "1" * 4300)


def test_json_of_any_depth_and_length_is_refused_or_answered(server: Served) -> None:
    nests = [
        begin * depth + inside + end * depth for depth in NESTS for begin, inside, end in ("[ ]", ('{"a":', "1", "}"))
    ]
    for said in [*nests, *LITERALS]:
        given = f'{{"expression": "laplace 2", "delta": {said}}}'
        for turn, ask, fields in ((said, '"epsilon"', "{}"), ("1", said, "{}"), ("1", '"epsilon"', given)):
            status, reply, _ = server.send("POST", "/ask", (ASKED % (turn, ask, fields)).encode())
            assert status in (200, 400, 404), (said[:20], reply)
            assert status != 200 or strict(reply)["error"]["kind"] in KINDS, (said[:20], reply)
    assert server.answer("epsilon", expression="laplace 2", delta=0)["upper"] == 0.5
