"""The command line: values, exit codes, one-line errors, and a light start."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hush
from hush.app.commands import COMMANDS
from hush.app.main import main, parser
from hush.app.options import SCHEMES
from hush.mechanisms.description import word_of
from hush.questions.schemes_compared import USUAL

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
        (["nonsense"], "invalid choice: 'nonsense'"),
        (["epsilon", "gaussian 1"], "required: --delta"),
        (["epsilon", "gaussian 1", "--delta", "x"], "invalid float value: 'x'"),
        (["epsilon", "gaussian 1", "--delta", "2"], "0 <= delta <= 1; got --delta 2.0"),
        (["epsilon", "gaussian -1", "--delta", "1e-5"], "noise_multiplier=-1.0"),
        (["epsilon", "--delta", "1e-5"], "missing: --noise, --rate, --steps"),
        (["epsilon", "--noise", "1", "--delta", "1e-5"], "missing: --rate, --steps"),
        (["epsilon", "gaussian 1", *RUN, "--delta", "1e-5"], "either an expression or"),
        (["epsilon", *RUN[:-1], "2.5", "--delta", "1e-5"], "a whole number --steps from 0 to 10^15; got --steps 2.5"),
        (["calibrate", *TARGET, *RUN], "--noise left out: it is sought"),
        (["calibrate", *TARGET, "--rate", "0.01"], "missing: --steps"),
        (
            ["calibrate", "--epsilon", "2", "--rate", "0.01", "--steps", "9"],
            "epsilon and delta, or advantage",
        ),
        (["calibrate", "--for", "size", *TARGET], "invalid choice: 'size'"),
        (["tradeoff", "gaussian 1", "--fpr", "2"], "0 <= --fpr <= 1; got --fpr 2.0"),
    ],
)
def test_bad_usage_is_one_line_and_code_2(capsys: pytest.CaptureFixture[str], words: list[str], message: str) -> None:
    ran = Ran(capsys, *words)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith("hush: error: ")
    assert ran.err.count("\n") == 1
    assert message in ran.err


SIZES = ["--examples", "60000", "--batch-size", "256", "--epochs", "15"]


def test_a_run_by_its_examples_and_epochs(capsys: pytest.CaptureFixture[str]) -> None:
    by_sizes = Ran(capsys, "epsilon", "--noise", "1.1", *SIZES, "--delta", "1e-5", "--json").json
    by_rate = ["--noise", "1.1", "--rate", "256/60000", "--steps", "3516", "--delta", "1e-5", "--json"]
    assert by_sizes == Ran(capsys, "epsilon", *by_rate).json
    by_steps = ["--noise", "1.1", *SIZES[:4], "--steps", "3516", "--delta", "1e-5", "--json"]
    assert by_sizes == Ran(capsys, "epsilon", *by_steps).json
    said = Ran(capsys, "epsilon", "gaussian 1.1 | poisson 256/60000 | repeat 3516", "--delta", "1e-5", "--json").json
    assert by_sizes == said


def test_the_shell_has_the_schemes_that_are_compared() -> None:
    assert {getattr(hush, name) for name in SCHEMES.values()} == set(USUAL)
    assert all(word_of(getattr(hush, name)) == word for word, name in SCHEMES.items())


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_is_accounted_as_the_plan_does(capsys: pytest.CaptureFixture[str], scheme: str) -> None:
    found = Ran(capsys, "epsilon", "--noise", "2", *SIZES, "--scheme", scheme, "--delta", "1e-5", "--json").json
    plan = hush.train_plan(
        examples=60_000,
        batch_size=256,
        epochs=15,
        noise_multiplier=2.0,
        delta=1e-5,
        scheme=getattr(hush, SCHEMES[scheme]),
    )
    assert hush.from_json(json.dumps(found["mechanism"])) == plan.mechanism
    assert found["upper"] == plan.bound.upper


def test_steps_per_epoch_beside_steps_in_all(capsys: pytest.CaptureFixture[str]) -> None:
    parts = ["--noise", "1", "--steps-per-epoch", "100", "--epochs", "3", "--delta", "1e-5", "--json"]
    whole = ["--noise", "1", "--rate", "1/100", "--steps", "300", "--delta", "1e-5", "--json"]
    assert Ran(capsys, "epsilon", *parts).json == Ran(capsys, "epsilon", *whole).json
    per_epoch = Ran(capsys, "compare", *parts).json
    assert per_epoch == Ran(capsys, "compare", "--noise", "1", "--steps", "300", "--epochs", "3", *whole[-3:]).json
    sizes = ["--noise", "1", "--examples", "1000", "--batch-size", "10", "--epochs", "3", *whole[-3:]]
    assert per_epoch == Ran(capsys, "compare", *sizes).json


@pytest.mark.parametrize(
    ("expression", "name", "check"),
    [
        ("gaussian ? | poisson 0.01 | repeat 10000", "noise_multiplier", lambda v: 2.1273754 <= v <= 2.127378),
        ("gaussian 2 | poisson 0.01 | repeat ?", "times", lambda v: isinstance(v, int)),
        ("gaussian 20 | poisson rate=? | repeat 1000", "rate", lambda v: 0 < v < 1),
        ("laplace 30 | repeat 10; laplace ?", "scale", lambda v: v > 0),
    ],
)
def test_calibrate_any_expression(
    capsys: pytest.CaptureFixture[str], expression: str, name: str, check: Callable[[Any], bool]
) -> None:
    found = Ran(capsys, "calibrate", expression, *TARGET, "--json").json
    assert found["sought"] == name and check(found["value"])
    again = hush.from_json(json.dumps(found["mechanism"])).epsilon(delta=1e-5)
    assert 1.99 < again.upper <= 2
    shown = Ran(capsys, "calibrate", expression, *TARGET).out.splitlines()[0]
    value = float(shown.removeprefix(f"{name} = "))
    safe = value >= found["value"] if found["fails_at"] < found["value"] else value <= found["value"]  # type: ignore[operator]
    assert safe, shown


def test_calibrate_epochs_and_noise_of_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    noise = Ran(capsys, "calibrate", "--epsilon", "3", "--delta", "1e-5", *SIZES, "--json").json
    assert noise["value"] == pytest.approx(0.7282252, rel=1e-6)
    words = ["--for", "epochs", "--epsilon", "3", "--delta", "1e-5", *SIZES[:4], "--noise", "1.1", "--json"]
    assert Ran(capsys, "calibrate", *words).json["value"] == 91


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["epsilon", "--noise", "1", "--rate", "0.01", "--epochs", "3"], "missing: --steps, too many: --epochs"),
        (["epsilon", "--noise", "1", "--rate", "1/0", "--steps", "3"], "invalid float value: '1/0'"),
        (["epsilon", "--noise", "1", "--rate", "1.5", "--steps", "3"], "got --rate 1.5"),
        (
            ["epsilon", "--noise", "1", *SIZES[:2], "--batch-size", "0", "--steps", "9"],
            "0 < --batch-size <= --examples",
        ),
        (["epsilon", "--noise", "1", "--examples", "0", "--batch-size", "0", "--epochs", "1"], "got --examples 0"),
        (["epsilon", "--noise", "1", "--examples", "9", "--batch-size", "10", "--epochs", "1"], "got --batch-size 10"),
        (["epsilon", "--noise", "-1", *SIZES], "1e-6 <= --noise <= 1e9; got --noise -1.0"),
        (
            ["epsilon", "--noise", "1", "--rate", ".1", "--steps", "3", "--scheme", "allocation"],
            "--epochs with such batches",
        ),
        (
            ["epsilon", "--noise", "1", "--steps-per-epoch", "9", "--epochs", "1", "--scheme", "without-replacement"],
            "--examples and --batch-size",
        ),
        (
            ["epsilon", "gaussian 1", "--scheme", "poisson"],
            "either an expression or a training run; got both: --scheme",
        ),
        (["epsilon", "gaussian ?"], "a ? is for hush calibrate"),
        (["epsilon", "laplace 1; laplace 1 relation=replace"], "use | replace to restate one"),
        (["calibrate", "gaussian 1", "--epsilon", "1"], "one ? in place of the number"),
        (["calibrate", "gaussian ? | repeat ?", "--epsilon", "1"], "one ? in place of the number"),
        (["calibrate", "renyi 2 ?", "--epsilon", "1"], "renyi needs a number"),
        (["calibrate", "gaussian ?", "--noise", "2", "--epsilon", "1"], "got both: --noise"),
        (["calibrate", "gaussian ?", "--for", "rate", "--epsilon", "1"], "got both: --for"),
        (["compare", "--noise", "1", "--steps", "10", "--epochs", "3"], "a multiple of --epochs"),
        (["compare", "--noise", "1", "--steps", "10", "--steps-per-epoch", "5"], "one of: --steps"),
        (["compare", "--noise", "1", "--examples", "10"], "one of: --steps"),
        (["chart", "epochs", "gaussian 1", "--noise", "1", *SIZES, "--json"], "a training run alone"),
        (["chart", "epochs", "--noise", "1", "--rate", "0.1", "--steps", "9", "--json"], "--epochs and --delta"),
    ],
)
def test_options_that_do_not_go_together(capsys: pytest.CaptureFixture[str], words: list[str], message: str) -> None:
    ran = Ran(capsys, *words, "--delta", "1e-5")
    told = json.loads(ran.err)["error"] if "--json" in words else ran.err
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert message in told


def test_errors_are_json_where_json_was_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    for words, code, kind in (
        (["epsilon", "gaussian 1", "--delta", "2", "--json"], 2, "InvalidParameter"),
        (["epsilon", "laplace 1 relation=replace | poisson 0.1", "--delta", "1e-5", "--json"], 3, "NotCovered"),
        (["epsilon", "gaussian 1", "--json"], 2, None),
    ):
        ran = Ran(capsys, *words)
        found = json.loads(ran.err)
        assert (ran.code, ran.out, found["code"], found.get("kind")) == (code, "", code, kind)
        assert "error" in found


def test_errors_speak_the_language_of_the_shell(capsys: pytest.CaptureFixture[str]) -> None:
    err = Ran(capsys, "epsilon", "laplace 1 | without-replacement 10 100", "--delta", "1e-5").err
    assert "| replace" in err and "sample with poisson" in err
    assert ".under" not in err and "hush.P" not in err and "Relation." not in err


def test_hush_alone_prints_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert Ran(capsys).out == Ran(capsys, "--help").out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_learns_every_command_and_option(capsys: pytest.CaptureFixture[str], shell: str) -> None:
    script = Ran(capsys, "completion", shell).out
    assert all(name in script for name in COMMANDS)
    assert "--steps-per-epoch" in script and "shuffled-batches" in script and "--score-column" in script


def test_bash_completes(capsys: pytest.CaptureFixture[str]) -> None:
    if shutil.which("bash") is None:
        pytest.skip("no bash")
    asked = 'COMP_WORDS=(hush chart epochs --sch); COMP_CWORD=3; _hush; echo "${COMPREPLY[@]}"'
    more = 'COMP_WORDS=(hush eps); COMP_CWORD=1; _hush; echo "${COMPREPLY[@]}"'
    script = Ran(capsys, "completion", "bash").out
    ran = subprocess.run(["bash", "-c", f"{script}\n{asked}\n{more}"], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["--scheme", "epsilon"]


def test_a_zsh_without_its_completion_completes(capsys: pytest.CaptureFixture[str]) -> None:
    if shutil.which("zsh") is None:
        pytest.skip("no zsh")
    script = Ran(capsys, "completion", "zsh").out
    ran = subprocess.run(["zsh", "-fc", f"{script}\necho $_comps[hush]"], capture_output=True, text=True, check=True)
    assert "_hush" in ran.stdout and ran.stderr == ""


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


def test_help_loads_no_more_than_it_needs() -> None:
    """So that `hush --help` takes a few hundredths of a second: no command is loaded, and nothing of the library."""
    code = "import sys, hush.app.main as c; c.main(['--help']); print(*sys.modules, file=sys.stderr)"
    modules = process("-c", code).stderr.split()
    ours = {name for name in modules if name.startswith("hush")}
    expected = {
        "hush",
        "hush.app",
        "hush.app.main",
        "hush.app.options",
        "hush.app.commands",
        "hush.door",
        "hush.errors",
    }
    assert ours == expected
    assert not {"numpy", "scipy", "dataclasses", "inspect", "asyncio"} & set(modules)
