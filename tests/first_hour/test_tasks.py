"""What people try in their first hour: each task in at most ten lines of Python, or by one command."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hush
from hush.app.main import main

SIZES = ["--examples", "60000", "--batch-size", "256", "--epochs", "15"]
LINES = 10
"""A task takes no more."""


def my_training() -> tuple[float, float, float]:
    run = {"examples": 60_000, "batch_size": 256, "epochs": 15, "delta": 1e-5}
    poisson = hush.train_plan(noise_multiplier=1.1, **run)
    shuffled = hush.train_plan(noise_multiplier=1.1, scheme=hush.ShuffledBatches, **run)
    target = hush.train_plan(epsilon=3.0, **run)
    return poisson.epsilon, shuffled.epsilon, target.noise_multiplier


def epsilon_against_epochs(path: Path) -> Any:
    run = {"examples": 60_000, "batch_size": 256, "epochs": 15, "delta": 1e-5}
    poisson = hush.train_plan(noise_multiplier=1.1, **run)
    allocated = hush.train_plan(noise_multiplier=1.1, scheme=hush.Allocation, **run)
    picture = poisson.chart(allocated)
    picture.save(path)
    return picture


def several_phases() -> float:
    warm_up = hush.Gaussian(2.0).on(hush.Poisson(rate=0.01)).repeat(500)
    main_phase = hush.Gaussian(1.0).on(hush.Poisson(rate=0.01)).repeat(2000)
    last = hush.Gaussian(0.8).on(hush.Poisson(rate=0.002)).repeat(1000)
    return float(warm_up.then(main_phase, last).epsilon(delta=1e-5))


def my_own_curve(path: Path) -> tuple[Any, Any]:
    mine = hush.RenyiDP(function=lambda order: 0.02 * order + 0.001 * order**1.5)
    sampled = mine.on(hush.Poisson(rate=0.01))
    theorems = hush.compositions(sampled, times=[1, 10, 100, 1000], delta=1e-6)
    curve = sampled.repeat(1000).renyi_curve()
    tcdp = hush.TCDP(curve.to_tcdp(omega=20), omega=20)
    zcdp = hush.ZCDP(1000 * 0.05)  # what the steps would be without a sample
    picture = hush.chart.renyi({"mine": sampled.repeat(1000), "tCDP": tcdp, "zCDP": zcdp}, orders=range(2, 20))
    picture.save(path)
    return theorems, picture


TASKS: list[Callable[..., object]] = [my_training, epsilon_against_epochs, several_phases, my_own_curve]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.__name__)
def test_a_task_takes_few_lines(task: Callable[..., object]) -> None:
    lines = inspect.getsource(task).splitlines()[1:]
    assert len(lines) <= LINES


def test_the_epsilon_of_my_training_poisson_and_shuffled_and_the_noise_for_a_target(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Noise 1.1, batches of 256 out of 60,000, 15 epochs: 1.1339; nothing is known to be gained by shuffling."""
    poisson, shuffled, noise = my_training()
    assert poisson == pytest.approx(1.133875, rel=1e-6)
    assert shuffled == pytest.approx(hush.Gaussian(1.1).repeat(15).epsilon(delta=1e-5).upper, rel=1e-3)
    assert noise == pytest.approx(0.728225, rel=1e-5)
    shuffle = ["--scheme", "shuffled-batches"]
    for words, expected in (([], "epsilon = 1.133875"), (shuffle, "epsilon <= 20.57")):
        assert main(["epsilon", "--noise", "1.1", *SIZES, *words, "--delta", "1e-5"]) == 0
        assert capsys.readouterr().out.startswith(expected)
    assert main(["calibrate", *SIZES, "--epsilon", "3", "--delta", "1e-5"]) == 0
    assert float(capsys.readouterr().out.split()[2]) == pytest.approx(0.728225, rel=1e-5)


def test_a_plot_of_epsilon_against_epochs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    drawn = epsilon_against_epochs(tmp_path / "a.svg")
    assert [line.x[-1] for line in drawn.lines] == [15.0, 15.0]
    assert drawn.lines[0].y[-1] == pytest.approx(1.133875, rel=1e-3)
    assert all(np.diff(line.y).min() > 0 for line in drawn.lines)
    words = ["--noise", "1.1", *SIZES, "--delta", "1e-5", "--scheme", "poisson", "allocation"]
    assert main(["chart", "epochs", *words, "--out", str(tmp_path / "b.svg")]) == 0
    # the same picture, but for the names that the drawing gives to its parts
    assert abs((tmp_path / "a.svg").stat().st_size - (tmp_path / "b.svg").stat().st_size) < 200


def test_a_run_of_several_phases(capsys: pytest.CaptureFixture[str]) -> None:
    """By the sum of Rényi curves it is less than by any theorem on (epsilon, delta), and more than its longest phase."""
    phases = "gaussian 2 | poisson 0.01 | repeat 500; gaussian 1 | poisson 0.01 | repeat 2000; gaussian 0.8 | poisson 0.002 | repeat 1000"
    assert main(["epsilon", phases, "--delta", "1e-5", "--json"]) == 0
    assert several_phases() == json.loads(capsys.readouterr().out)["upper"]
    longest = hush.Gaussian(1.0).on(hush.Poisson(rate=0.01)).repeat(2000).epsilon(delta=1e-5)
    assert longest.upper < several_phases() < 1.3 * longest.upper


def test_a_curve_of_my_own_sampled_composed_and_drawn(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    theorems, picture = my_own_curve(tmp_path / "curve.svg")
    assert "tCDP" in theorems.methods
    for times in theorems.times:
        assert theorems.upper("Rényi", times) <= theorems.upper("tCDP", times) * (1 + 1e-9)
    mine, tcdp, zcdp = (picture.lines[place].y for place in range(3))
    assert all(a <= b * (1 + 1e-9) < c for a, b, c in zip(mine, tcdp, zcdp, strict=True))


def test_an_audit_to_hand_in(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    random = np.random.default_rng(1)
    rows = "\n".join(f"{random.exponential(0.2 if k % 2 else 1.0)},{'train' if k % 2 else 'test'}" for k in range(400))
    (tmp_path / "losses.csv").write_text(f"loss,split\n{rows}\n", encoding="utf-8")
    words = ["--score-column", "loss", "--member-column", "split", "--out", str(tmp_path / "report.html")]
    assert main(["audit", "scores", str(tmp_path / "losses.csv"), *words]) == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<svg" in page and "@media print" in page and "200 members, 200 others" in page
