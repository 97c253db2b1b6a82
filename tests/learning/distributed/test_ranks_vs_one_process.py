"""Several processes do what one would: the same sums, the same law of draws, the same noise; once."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import torch
from scipy import stats
from torch.nn import functional as F

import hush
from hush.learning import clipped_gradient
from tests.learning.distributed import scenarios
from tests.learning.distributed.scenarios import PLAN, SHUFFLED, N, data, model_of
from tests.learning.distributed.together import PATIENCE, together

ROUNDING = 1e-6


@pytest.mark.parametrize(("size", "sharded"), [(2, True), (4, False)])
def test_sums_of_ranks_are_the_sum_of_one(size: int, sharded: bool, tmp_path: Path) -> None:
    same_sums(size, sharded, PLAN, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "sharded", "plan"), [(4, True, PLAN), (2, False, PLAN), (2, False, SHUFFLED), (4, False, SHUFFLED)]
)
def test_sums_of_ranks_with_other_plans(size: int, sharded: bool, plan: hush.TrainPlan, tmp_path: Path) -> None:
    same_sums(size, sharded, plan, tmp_path)


def same_sums(size: int, sharded: bool, plan: hush.TrainPlan, folder: Path) -> None:
    """For the records that were drawn, all ranks have one gradient, and it is that of one process on all of them."""
    ranks = together(scenarios.sums, size, folder, sharded, plan)
    model, seen = model_of(seed=0), set()
    for step in range(plan.steps):
        drawn = list(itertools.chain.from_iterable(rank[step][0] for rank in ranks))
        assert len(set(drawn)) == len(drawn)
        seen |= set(drawn)
        batch = tuple(column[drawn] for column in data())
        alone = clipped_gradient(model, F.cross_entropy, batch, max_norm=0.3)
        expected = torch.cat([alone[name].flatten() for name, _ in model.named_parameters()]) / plan.expected_batch
        for rank in ranks:
            assert torch.equal(rank[step][1], ranks[0][step][1])
            assert float((rank[step][1] - expected).abs().max()) < ROUNDING
    assert len(seen) > N / 3


@pytest.mark.parametrize(("size", "sharded"), [(2, True)])
def test_the_union_of_draws_has_the_law_of_the_scheme(size: int, sharded: bool, tmp_path: Path) -> None:
    law_of_the_union(size, sharded, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "sharded"), [(4, True), (3, True), (2, False), (4, False)])
def test_the_union_of_draws_on_more_ranks(size: int, sharded: bool, tmp_path: Path) -> None:
    law_of_the_union(size, sharded, tmp_path)


def law_of_the_union(size: int, sharded: bool, folder: Path) -> None:
    """Every record by a coin of its own: sizes are binomial, records equally frequent, and pairs independent."""
    steps, rate = 2000, 12 / N
    ranks = together(scenarios.draws, size, folder, steps, sharded)
    taken = np.zeros((steps, N), dtype=int)
    for rank in ranks:
        for step, records in enumerate(rank):
            taken[step, records] += 1
    assert taken.max() == 1
    assert fits(np.bincount(taken.sum(1), minlength=N + 1), stats.binom(N, rate).pmf(np.arange(N + 1)) * steps)
    assert fits(taken.sum(0), np.full(N, rate * steps), spread=1 - rate)
    for one, other in [(0, 1), (2, 3), (0, 2), (5, 20), (30, 31)]:  # on one rank, and on different ones
        pairs = np.bincount(2 * taken[:, one] + taken[:, other], minlength=4)
        coin = np.array([1 - rate, rate])
        assert fits(pairs, steps * np.outer(coin, coin).ravel())


def fits(found: np.ndarray, expected: np.ndarray, spread: float = 1.0) -> bool:
    """χ², with rare cells put together; the seeds are fixed, so that it never fails by chance."""
    rare = expected < 5
    found = np.append(found[~rare], found[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    kept = expected > 0
    value = ((found[kept] - expected[kept]) ** 2 / expected[kept]).sum() / spread
    return bool(stats.chi2.sf(value, kept.sum() - 1) > 1e-4)


@pytest.mark.parametrize("rows", [0, 1])
def test_noise_is_added_once_whatever_the_ranks_hold(rows: int, tmp_path: Path) -> None:
    noise_is_whole(rows, tmp_path)


def noise_is_whole(rows: int, folder: Path) -> None:
    """Its deviation is the planned one on every coordinate, all ranks see the same, and no coordinate repeats another."""
    ranks = together(scenarios.noise_alone, 2, folder, rows, 40, 40)
    for rank in ranks:
        assert torch.equal(rank, ranks[0])
    scaled = ranks[0].double() * 12 / (1.5 * 2.0)  # in planned deviations; one record adds at most 2/3 of one
    for half in scaled.chunk(2, dim=1):
        assert abs(float(half.std()) - 1) < 4 / np.sqrt(2 * half.numel()) + 0.02
        assert float(half.abs().max()) < 6
    one, other = scaled.chunk(2, dim=1)
    assert abs(float(torch.corrcoef(torch.stack([one.flatten(), other.flatten()]))[0, 1])) < 0.1


def test_correlated_noise_has_its_law_on_ranks(tmp_path: Path) -> None:
    """What the bands make of it is white again, of the planned deviation, on the coordinates of either rank."""
    ranks = together(scenarios.correlated_noise_alone, 2, tmp_path, 2)
    assert torch.equal(ranks[0], ranks[1])
    noise = ranks[0].double() * 12 / (1.5 * 2.0)
    first, second = scenarios.BANDED.coefficients
    white = first * noise[1:] + second * noise[:-1]
    assert float(torch.corrcoef(torch.stack([noise[1:].flatten(), noise[:-1].flatten()]))[0, 1]) < -0.5
    for half in white.chunk(2, dim=1):
        assert abs(float(half.std()) - 1) < 4 / np.sqrt(2 * half.numel())
        assert abs(float(torch.corrcoef(torch.stack([half[1:].flatten(), half[:-1].flatten()]))[0, 1])) < 0.1
    one, other = white[:, :102], white[:, 102:204]
    assert abs(float(torch.corrcoef(torch.stack([one.flatten(), other.flatten()]))[0, 1])) < 0.1


@pytest.mark.parametrize("adaptive", [False, True])
def test_users_on_ranks_vs_one_process(adaptive: bool, tmp_path: Path) -> None:
    """Each drawn user is with one rank; sums, and a norm that follows a count, are those of one process."""
    ranks = together(scenarios.user_sums, 2, tmp_path, adaptive)
    (alone,) = together(scenarios.user_sums, 1, new(tmp_path / "alone"), adaptive)
    for step, (one, other) in enumerate(zip(ranks[0][0], ranks[1][0], strict=True)):
        assert not set(one) & set(other)
        assert torch.equal(ranks[0][1][step], ranks[1][1][step])
    assert sum(map(len, ranks[0][0])) + sum(map(len, ranks[1][0])) > 20
    assert ranks[0][2] == ranks[1][2] != (0.3 if adaptive else 0)
    seeds_are_one_key = [sorted(one + other) for one, other in zip(ranks[0][0], ranks[1][0], strict=True)]
    assert seeds_are_one_key == [sorted(step) for step in alone[0]]
    assert all(float((a - b).abs().max()) < ROUNDING for a, b in zip(ranks[0][1], alone[1], strict=True))


def test_users_on_shards_are_refused(tmp_path: Path) -> None:
    said = together(scenarios.users_on_shards, 2, tmp_path)
    assert said[0] == said[1] and "users on shards" in said[0]


def new(folder: Path) -> Path:
    folder.mkdir()
    return folder


SCRIPT = """
import sys, torch, hush
from torch import nn
from torch.nn import functional as F
from hush.learning import Ranks, fit
torch.set_num_threads(1)
ranks = Ranks(timeout=200)
plan = hush.train_plan(examples=60, batch_size=12, epochs=1, noise_multiplier=1.5, delta=1e-3)
data = torch.randn(60, 4), torch.zeros(60, dtype=torch.long)
trained = fit(nn.Linear(4, 2), data, plan, loss=F.cross_entropy, max_norm=1.0, ranks=ranks, save_to=sys.argv[1])
with open(f"{sys.argv[1]}.{ranks.rank}", "w") as file:
    file.write(f"rank {ranks.rank} of {ranks.size} {trained.steps} {trained.private}")
"""


@pytest.mark.slow
def test_torchrun(tmp_path: Path) -> None:
    """As people start it."""
    script, saved = tmp_path / "train.py", tmp_path / "model.safetensors"
    script.write_text(SCRIPT, encoding="utf-8")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    done = subprocess.run(
        [*command, str(script), str(saved)], capture_output=True, text=True, env=environment, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr
    told = [Path(f"{saved}.{rank}").read_text(encoding="utf-8") for rank in range(2)]
    assert told == ["rank 0 of 2 5 True", "rank 1 of 2 5 True"]
    assert saved.exists()


# As the mutants ask for them, each in a folder of its own.


def noise_in_a_new_folder(rows: int) -> None:
    with TemporaryDirectory() as folder:
        noise_is_whole(rows, Path(folder))


def union_in_a_new_folder() -> None:
    with TemporaryDirectory() as folder:
        law_of_the_union(2, True, Path(folder))


def sums_in_a_new_folder() -> None:
    with TemporaryDirectory() as folder:
        same_sums(2, False, PLAN, Path(folder))
