"""What people try in their first hour: each task of its page in at most ten lines of Python, or by one command."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hush
from hush.app.main import main
from tests.docs.pages import BLOCK, OTHER, promised, same, text_of

PAGE = "docs/first-hour.md"
COMMAND = re.compile(r"^    (hush .*)$", re.MULTILINE)
LINES = 10
"""A task takes no more."""
TASKS = {part[1]: part for part in text_of(PAGE).split("\n## ")[1:]}
"""The sections of the page, by their letters."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the tasks write their files."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_block(task: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The block of a task, which prints what the page says; its names."""
    (block,) = BLOCK.findall(TASKS[task])
    found: dict[str, Any] = {}
    exec(compile(block, f"{PAGE}, ({task})", "exec"), found)
    shown = capsys.readouterr().out.splitlines()
    assert [same(a, b) for a, b in zip(shown, promised(block), strict=True)] == [True] * len(shown)
    return found


def run_commands(task: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What the commands of a task print."""
    printed = []
    for typed in COMMAND.findall(TASKS[task]):
        assert main(shlex.split(typed)[1:]) == 0
        printed.append(capsys.readouterr().out)
    return printed


def test_the_page_has_the_seven_tasks_each_in_few_lines() -> None:
    assert list(TASKS) == list("abcdefg")
    for task, section in TASKS.items():
        blocks = [*BLOCK.findall(section), *OTHER.findall(section)]
        lines = [[line for line in block.splitlines() if line and not line.startswith("# ")] for block in blocks]
        assert blocks or COMMAND.search(section), task
        assert all(len(block) <= LINES for block in lines), task


def test_the_epsilon_of_my_training_poisson_and_shuffled_and_the_noise_for_a_target(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Noise 1.1, batches of 256 out of 60,000, 15 epochs: 1.1339; nothing is known to be gained by shuffling."""
    found = run_block("a", capsys)
    assert found["poisson"].epsilon == pytest.approx(1.133875, rel=1e-6)
    without_gain = hush.Gaussian(1.1).repeat(15).epsilon(delta=1e-5).upper
    assert found["shuffled"].epsilon == pytest.approx(without_gain, rel=1e-3)
    assert found["target"].noise_multiplier == pytest.approx(0.728225, rel=1e-5)
    poisson, shuffled, target = run_commands("a", capsys)
    assert poisson.startswith("epsilon = 1.133875") and shuffled.startswith("epsilon <= 20.57")
    assert float(target.split()[2]) == pytest.approx(0.728225, rel=1e-5)


def test_a_plot_of_epsilon_against_epochs(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    pytest.importorskip("vl_convert")
    drawn = run_block("b", capsys)["picture"]
    assert [line.x[-1] for line in drawn.lines] == [15.0, 15.0]
    assert drawn.lines[0].y[-1] == pytest.approx(1.133875, rel=1e-3)
    assert all(np.diff(line.y).min() > 0 for line in drawn.lines)
    by_python = (folder / "epochs.svg").stat().st_size
    run_commands("b", capsys)
    # the same picture, but for the names that the drawing gives to its parts
    assert abs((folder / "epochs.svg").stat().st_size - by_python) < 200


def test_a_run_of_several_phases(capsys: pytest.CaptureFixture[str]) -> None:
    """More than its longest phase, and less than the sum of what the phases cost one by one."""
    found = run_block("c", capsys)
    phases = [found[name].epsilon(delta=1e-5) for name in ("warm_up", "main_phase", "last")]
    whole = found["warm_up"].then(found["main_phase"], found["last"]).epsilon(delta=1e-5)
    assert phases[1].upper < whole.lower and whole.upper < sum(phase.lower for phase in phases)
    (printed,) = run_commands("c", capsys)
    assert float(printed.split()[2]) == pytest.approx(whole.upper, rel=1e-6)


def test_a_curve_of_my_own_sampled_composed_and_drawn(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    pytest.importorskip("vl_convert")
    found = run_block("e", capsys)
    theorems, picture = found["theorems"], found["picture"]
    assert "tCDP" in theorems.methods and (folder / "curve.svg").exists()
    for times in theorems.times:
        assert theorems.upper("Rényi", times) <= theorems.upper("tCDP", times) * (1 + 1e-9)
    mine, tcdp, zcdp = (picture.lines[place].y for place in range(3))
    assert all(a <= b * (1 + 1e-9) < c for a, b, c in zip(mine, tcdp, zcdp, strict=True))


def test_an_audit_to_hand_in(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    pytest.importorskip("vl_convert")
    random = np.random.default_rng(1)
    rows = "\n".join(f"{random.exponential(0.2 if k % 2 else 1.0)},{'train' if k % 2 else 'test'}" for k in range(400))
    (folder / "losses.csv").write_text(f"loss,split\n{rows}\n", encoding="utf-8")
    run_commands("f", capsys)
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "<svg" in page and "@media print" in page and "200 members, 200 others" in page


def test_the_statement_of_a_grouped_release(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    """Unit, statistics, columns, bounds, groups, epsilon and papers; in the shell the same words, of records."""
    found = run_block("g", capsys)
    in_python = str(found["said"])
    for part in ("every single person", "ε = 1 ", "2 given groups", "bounds 0 to 2000", "add or remove one person"):
        assert part in in_python
    assert "Dwork et al. 2006" in in_python and "one record of the dataset" in in_python
    pairs = zip(found["table"]["region"], found["table"]["income"], strict=True)
    lines = "\n".join(f"{region},{income}" for region, income in pairs)
    (folder / "people.csv").write_text(f"region,income\n{lines}\n", encoding="utf-8")
    (printed,) = run_commands("g", capsys)
    paragraph = printed.split("\n\n")[1]
    assert paragraph.startswith("We released the table by 'region' (2 given groups)")
    assert "ε = 1 for every single record" in paragraph and "Dwork et al. 2006" in paragraph
