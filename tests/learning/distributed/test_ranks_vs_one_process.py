"""Several processes do what one would: the same sums, the same law of draws, the same noise; once."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import stats
from torch.nn import functional as F

import hush
from hush.learning import clipped_gradient
from tests.learning.distributed import scenarios
from tests.learning.distributed.scenarios import PLAN, SHUFFLED, N, data, model_of
from tests.learning.distributed.together import together

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
