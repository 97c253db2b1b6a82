"""The command line: values, exit codes, one-line errors, and a light start."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import hush
from hush.app.commands import COMMANDS
from hush.app.main import main, parser

RUN = ["--noise", "1.0", "--rate", "0.01", "--steps", "10000"]
TRAINING = hush.Gaussian(1.0).on(hush.Poisson(rate=0.01)).repeat(10_000)


class Ran:
    """One command, run in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *words: str) -> None:
        self.code = main(list(words))
        self.out, self.err = capsys.readouterr()

    @property
    def json(self) -> dict[str, object]:
        assert self.code == 0, self.err
        return json.loads(self.out)


def test_epsilon_of_a_training_run(capsys: pytest.CaptureFixture[str]) -> None:
    ran = Ran(capsys, "epsilon", *RUN, "--delta", "1e-5")
    assert ran.code == 0
    assert ran.err == ""
    first, *rest = ran.out.splitlines()
    assert first == "epsilon = 6.187713 at delta 1e-05"
    assert any("add or remove one record" in line for line in rest)
    assert any(line.startswith("  certified  6.18771") for line in rest)
    assert len(rest) <= 5


def test_json_has_bounds_relation_route_and_mechanism(capsys: pytest.CaptureFixture[str]) -> None:
    found = Ran(capsys, "epsilon", *RUN, "--delta", "1e-5", "--json").json
    bound = TRAINING.epsilon(delta=1e-5)
    assert (found["lower"], found["upper"]) == (bound.lower, bound.upper)
    assert (found["quantity"], found["delta"]) == ("epsilon", 1e-5)
    assert (found["relation"], found["route"]) == ("add_remove", bound.route)
    assert hush.from_json(json.dumps(found["mechanism"])) == TRAINING


def test_expression_and_short_form_agree(capsys: pytest.CaptureFixture[str]) -> None:
    short = Ran(capsys, "epsilon", *RUN, "--delta", "1e-5", "--json").json
    general = "gaussian 1.0 | poisson 0.01 | repeat 10000"
    assert Ran(capsys, "epsilon", general, "--delta", "1e-5", "--json").json == short


def test_delta(capsys: pytest.CaptureFixture[str]) -> None:
    """1 - e^{(0.5 - 1)/2}: Laplace noise in closed form."""
    found = Ran(capsys, "delta", "laplace 1", "--epsilon", "0.5", "--json").json
    assert found["upper"] == pytest.approx(0.22119921692859512, rel=1e-12)
    assert found["epsilon"] == 0.5
    assert Ran(capsys, "delta", "laplace 1", "--epsilon", "0.5").out.startswith("delta = 0.2211993")


def test_tolerance_is_passed_on(capsys: pytest.CaptureFixture[str]) -> None:
    wide = Ran(capsys, "epsilon", *RUN, "--delta", "1e-5", "--tolerance", "1e-3", "--json").json
    bound = TRAINING.epsilon(delta=1e-5, tolerance=1e-3)
    assert (wide["lower"], wide["upper"]) == (bound.lower, bound.upper)


def test_tradeoff(capsys: pytest.CaptureFixture[str]) -> None:
    """Φ(Φ^-1(0.99) - 0.5) = 0.966103: two normals half a deviation apart."""
    ran = Ran(capsys, "tradeoff", "gaussian 2", "--fpr", "0.01")
    assert ran.out.startswith("false negative rate = 0.9661")
    assert "the best attacker finds at most 3.39" in ran.out
    found = Ran(capsys, "tradeoff", "gaussian 2", "--fpr", "0.01", "--json").json
    assert found["false_positive_rate"] == 0.01
    assert found["lower"] == pytest.approx(0.966103, rel=1e-5)


def test_explain_and_statement(capsys: pytest.CaptureFixture[str]) -> None:
    laplace = hush.Laplace(1.0)
    assert Ran(capsys, "explain", "laplace 1", "--delta", "1e-5").out == laplace.explain(delta=1e-5) + "\n"
    ran = Ran(capsys, "statement", "laplace 1", "--delta", "1e-5", "--unit", "user")
    assert ran.out == laplace.statement(delta=1e-5, unit="user") + "\n"
    found = Ran(capsys, "statement", "laplace 1", "--delta", "1e-5", "--json").json
    assert found["text"] == laplace.statement(delta=1e-5)


def test_infinity_is_a_string_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    found = Ran(capsys, "epsilon", "gaussian 1", "--delta", "0", "--json").json
    assert (found["lower"], found["upper"]) == ("inf", "inf")


TARGET = ["--epsilon", "2", "--delta", "1e-5"]


def test_calibrate_noise_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    found = Ran(capsys, "calibrate", *TARGET, "--rate", "0.01", "--steps", "10000", "--json").json
    assert 2.1273754 <= float(str(found["value"])) <= 2.1273754 * (1 + 1e-6)
    assert float(str(found["upper"])) <= 2
    ran = Ran(capsys, "calibrate", *TARGET, "--rate", "0.01", "--steps", "10000")
    assert ran.out.startswith("noise = 2.12737")
    shown = float(ran.out.splitlines()[0].split()[-1])
    assert shown >= float(str(found["value"]))


def test_calibrate_for_rate_and_steps(capsys: pytest.CaptureFixture[str]) -> None:
    rate = Ran(capsys, "calibrate", "--for", "rate", *TARGET, "--noise", "2", "--steps", "1000", "--json").json
    steps = Ran(capsys, "calibrate", "--for", "steps", *TARGET, "--noise", "2", "--rate", "0.02", "--json").json
    assert (rate["sought"], steps["sought"]) == ("rate", "steps")
    assert isinstance(steps["value"], int)
    for found in (rate, steps):
        again = hush.from_json(json.dumps(found["mechanism"])).epsilon(delta=1e-5)
        assert 1.99 < again.upper <= 2


def test_calibrate_for_an_advantage_over_a_range(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["calibrate", "--advantage", "0.1", "--rate", "1", "--steps", "1", "--over", "1", "100", "--json"]
    found = Ran(capsys, *words).json
    assert found["quantity"] == "advantage"
    # erf(1 / (noise sqrt 8)) = 0.1 at noise = 3.9790...
    assert found["value"] == pytest.approx(3.97895, rel=1e-4)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["nonsense"], "invalid choice: 'nonsense'"),
        (["epsilon", "gaussian 1"], "required: --delta"),
        (["epsilon", "gaussian 1", "--delta", "x"], "invalid float value: 'x'"),
        (["epsilon", "gaussian 1", "--delta", "2"], "0 <= delta <= 1; got delta=2.0"),
        (["epsilon", "gaussian -1", "--delta", "1e-5"], "noise_multiplier=-1.0"),
        (["epsilon", "--delta", "1e-5"], "missing=['--noise', '--rate', '--steps']"),
        (["epsilon", "--noise", "1", "--delta", "1e-5"], "missing=['--rate', '--steps']"),
        (["epsilon", "gaussian 1", *RUN, "--delta", "1e-5"], "either an expression or"),
        (["epsilon", *RUN[:-1], "2.5", "--delta", "1e-5"], "a whole number times"),
        (["calibrate", *TARGET, *RUN], "--noise left out: it is sought"),
        (["calibrate", *TARGET, "--rate", "0.01"], "missing=['--steps']"),
        (
            ["calibrate", "--epsilon", "2", "--rate", "0.01", "--steps", "9"],
            "epsilon and delta, or advantage",
        ),
        (["calibrate", "--for", "size", *TARGET], "invalid choice: 'size'"),
        (["tradeoff", "gaussian 1", "--fpr", "2"], "0 <= false_positive_rate <= 1"),
    ],
)
def test_bad_usage_is_one_line_and_code_2(capsys: pytest.CaptureFixture[str], words: list[str], message: str) -> None:
    ran = Ran(capsys, *words)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith("hush: error: ")
    assert ran.err.count("\n") == 1
    assert message in ran.err


def test_no_theorem_is_code_3(capsys: pytest.CaptureFixture[str]) -> None:
    ran = Ran(capsys, "epsilon", "laplace 1 relation=replace | poisson 0.1", "--delta", "1e-5")
    assert ran.code == 3
    assert ran.err.startswith("hush: error: Laplace noise")
    assert ran.err.count("\n") == 1


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    ran = Ran(capsys, "--help")
    assert ran.code == 0
    assert "hush epsilon --noise 1.0 --rate 0.01 --steps 10000 --delta 1e-5" in ran.out
    assert all(f"\n    {name}" in ran.out for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_example_of_a_command_is_parsed(capsys: pytest.CaptureFixture[str], name: str) -> None:
    ran = Ran(capsys, name, "--help")
    assert ran.code == 0
    shown = ran.out.partition("examples:")[2].replace("\\\n", " ")
    examples = [shlex.split(line)[1:] for line in shown.splitlines() if line.startswith("  hush ")]
    assert examples
    for words in examples:
        assert words[0] == name
        assert parser(words).parse_args(words).command == name


def test_a_page_lists_every_command() -> None:
    page = (Path(__file__).parents[2] / "docs" / "overview.md").read_text(encoding="utf-8")
    table = page.partition("| command | what it gives |")[2].partition("\n\n")[0]
    assert sorted(re.findall(r"`(\w+)`", table)) == sorted(COMMANDS)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    ran = Ran(capsys, "--version")
    assert ran.code == 0
    assert ran.out.startswith("hush")


def process(*words: str) -> subprocess.CompletedProcess[str]:
    source = str(Path(hush.__file__).parent.parent)
    return subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONPATH": source, "PYTHONIOENCODING": "ascii"},
    )


def test_a_real_process_on_an_ascii_terminal() -> None:
    """Greek letters are replaced, not fatal."""
    ran = process("-m", "hush.app.main", "explain", "gaussian 1", "--delta", "1e-5")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "N(1/?, 1)" in ran.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_the_command_line_parses_before_it_imports_numpy(name: str) -> None:
    """So that help and usage errors are immediate, and the threads of BLAS can still be chosen."""
    code = f"import sys, hush.app.main as c; assert c.main(['{name}', '--no-such-option']) == 2; assert 'numpy' not in sys.modules"
    ran = process("-c", code)
    assert ran.returncode == 0, ran.stderr
