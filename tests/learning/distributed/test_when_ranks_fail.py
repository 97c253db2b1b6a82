"""Ranks that differ, die or stop: a named error on the others, no hang, and no model with less noise."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tests.learning.distributed import scenarios
from tests.learning.distributed.scenarios import PLAN, SHUFFLED, TIMEOUT, WRONG
from tests.learning.distributed.together import Failed, result_of, started, together


def test_a_mistake_of_one_rank_is_an_error_of_all(tmp_path: Path) -> None:
    """The same on every rank, before anything was drawn but the words by which coins are compared."""
    ranks = together(scenarios.wrong_on_one, 2, tmp_path, list(WRONG))
    assert [rank.pop("an optimizer of its own kind")[:2] for rank in ranks] == [
        ("NotCovered", "On rank 1: a start that raises LookupError"),
        ("LookupError", "something of its own"),
    ]
    for name in ranks[0]:
        kinds = {rank[name][0] for rank in ranks}
        assert kinds <= {"InvalidParameter", "NotCovered"}, (name, ranks[0][name], ranks[1][name])
        assert ranks[0][name][1] == ranks[1][name][1], name
        assert all(rank[name][2] <= 4 for rank in ranks), name
    said = {name: rank[1] for name, rank in ranks[0].items()}
    assert "the same plan on every rank; got unlike=[1]" in said["another plan"]
    assert "On rank 1" in said["rows of another shape"]
    assert "a DataLoader without a sampler of its own" in said["a loader"]
    assert "fit(model.module, ..., ranks=Ranks())" in said["a wrapped model"]
    assert "a seed must differ by rank" in said["the same seed of noise"]
    assert "a seed must differ by rank" in said["the same seed of draws"]
    assert "version of hush" in said["another version"]
    assert "7" not in said["fewer rows"] and "60" not in said["fewer rows"]
    assert "one draw from all records" in said["a scheme that draws once for all"]


def test_steps_that_are_not_equal(tmp_path: Path) -> None:
    for errors, _ in together(scenarios.unequal_steps, 2, tmp_path):
        assert len(errors) == 1 and "the same steps on every rank" in errors[0]


def test_a_rank_that_fails_on_private_rows_is_told_to_all(tmp_path: Path) -> None:
    said = together(scenarios.withheld, 2, tmp_path)
    assert "withheld" in said[0] and "A batch needs" in said[1]


def test_a_shard_without_rows_takes_part(tmp_path: Path) -> None:
    one, other = together(scenarios.shard_without_rows, 2, tmp_path)
    assert torch.equal(one[0], other[0])


def test_forked_processes_have_coins_of_their_own(tmp_path: Path) -> None:
    words = [word for rank in together(scenarios.coins_of_forks, 2, tmp_path) for word in rank]
    assert len(set(words)) == len(words) == 6


def outcome(size: int, folder: Path, sent: int, moment: str, timeout: float) -> list[Any]:
    """What the survivors say, where rank 1 gets a signal in its third step."""
    with started(scenarios.lost, size, folder, sent, moment, timeout) as ranks:
        for place in (place for place in range(size) if place != 1):
            ranks[place].join(200)
            if ranks[place].is_alive():
                raise Failed(f"rank {place} hangs")
    return [result_of(folder, place) for place in range(size) if place != 1]


@pytest.mark.parametrize(
    ("size", "sent", "moment", "timeout"),
    [
        (2, signal.SIGKILL, "sum", TIMEOUT),
        (3, signal.SIGKILL, "rows", TIMEOUT),
        pytest.param(4, signal.SIGKILL, "sum", TIMEOUT, marks=pytest.mark.slow),
        pytest.param(2, signal.SIGSTOP, "rows", 20.0, marks=pytest.mark.slow),
        pytest.param(3, signal.SIGSTOP, "sum", 20.0, marks=pytest.mark.slow),
    ],
)
def test_a_rank_that_is_lost(size: int, sent: int, moment: str, timeout: float, tmp_path: Path) -> None:
    """It is named, the step is not applied, no gradient is left, and the run goes on from the last checkpoint."""
    for lost, said, steps, unmoved, gradients in outcome(size, tmp_path, sent, moment, timeout):
        assert 1 in lost and "the step was not applied" in said
        assert (steps, unmoved, gradients) == (2, True, 0)
    assert not list(tmp_path.glob("*.part"))
    if moment == "sum":
        (tmp_path / "again").mkdir()
        (tmp_path / "last").rename(tmp_path / "again" / "last")
        (shown, (steps, epsilon, private, _)), *_ = together(scenarios.trained, 2, tmp_path / "again", "next", "last")
        assert shown == [3, 4, 5]
        assert (steps, epsilon, private) == (PLAN.steps, PLAN.epsilon, True)


@pytest.mark.parametrize(
    ("plan", "sizes"),
    [(PLAN, (2, 1, 4)), pytest.param(SHUFFLED, (1, 3), marks=pytest.mark.slow)],
    ids=["Poisson", "shuffled"],
)
def test_another_number_of_ranks_goes_on_with_the_same_epsilon(
    plan: Any, sizes: tuple[int, ...], tmp_path: Path
) -> None:
    name = ""
    for turn, size in enumerate(sizes):
        folder = tmp_path / str(turn)
        folder.mkdir()
        if name:
            (tmp_path / str(turn - 1) / name).rename(folder / name)
        last = turn == len(sizes) - 1
        stop = 0 if last else (turn + 1) * plan.epoch_steps
        ranks = together(scenarios.trained, size, folder, f"run{turn}", name, stop, plan)
        name = f"run{turn}"
        if last and plan is PLAN:
            assert [rank[1][:3] for rank in ranks] == [(plan.steps, plan.epsilon, True)] * size
            assert all(torch.equal(rank[1][3], ranks[0][1][3]) for rank in ranks)
            saved = load_file(folder / name)
            assert torch.equal(saved["model.2.bias"], ranks[0][1][3][-2:])
