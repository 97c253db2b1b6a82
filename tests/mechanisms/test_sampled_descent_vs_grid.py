"""The last iterate of sampled descent against the exact law of small runs on a fine grid."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

import hush
from hush import InvalidParameter, NotCovered

CELLS = 401


def last_law(
    values: tuple[float, ...], *, curvature: float, cap: int, rate: float, step: float, noise: float, iterations: int
) -> np.ndarray:
    """The law of the last iterate of gradients curvature w - value, projected on [-1/2, 1/2], all samples enumerated."""
    grid = np.linspace(-0.5, 0.5, CELLS)
    edges = np.concatenate([[-math.inf], (grid[1:] + grid[:-1]) / 2, [math.inf]])
    moves = np.zeros((CELLS, CELLS))
    for coins in product((0, 1), repeat=len(values)):
        chance = math.prod(rate if coin else 1 - rate for coin in coins)
        drawn = [v for v, coin in zip(values, coins, strict=True) if coin]
        kept = (
            [drawn]
            if len(drawn) <= cap
            else [drawn[:k] + drawn[k + 1 :] for k in range(len(drawn))]
            if len(drawn) == cap + 1
            else None
        )
        assert kept is not None
        for batch in kept:
            mean = grid - step * (len(batch) * curvature * grid - sum(batch))
            moves += (
                chance / len(kept) * np.diff(stats.norm.cdf((edges[None] - mean[:, None]) / (step * noise)), axis=1)
            )
    law = np.zeros(CELLS)
    law[CELLS // 2] = 1.0
    for _ in range(iterations):
        law = law @ moves
    return law


@pytest.mark.parametrize(("curvature", "cap"), [(0.0, 2), (0.5, 2), (0.0, 1), (0.5, 1)])
@pytest.mark.parametrize("iterations", [1, pytest.param(5, marks=pytest.mark.slow)])
def test_bound_is_above_exact_runs(curvature: float, cap: int, iterations: int) -> None:
    """One other record at -1 and one at +1 that is removed; batches that are capped at one displace each other."""
    run = {"curvature": curvature, "cap": cap, "rate": 0.9, "step": 0.5, "noise": 1.0, "iterations": iterations}
    with_record, without = last_law((-1.0, 1.0), **run), last_law((-1.0,), **run)  # type: ignore[arg-type]
    bound = hush.SampledGradientDescent(
        loss=hush.ConvexLoss(smoothness=max(curvature, 1e-6), strong_convexity=0, lipschitz=1 + curvature / 2),
        scheme=hush.CappedPoisson(rate=0.9, cap=cap, population=2),
        batch_size=1,
        noise=1.0,
        step_size=0.5,
        iterations=iterations,
        diameter=1.0,
    )
    for epsilon in (0.5, 2.0):
        truth = max(
            float(np.maximum(a - math.exp(epsilon) * b, 0).sum())
            for a, b in ((with_record, without), (without, with_record))
        )
        assert truth <= bound.delta(epsilon=epsilon).upper + 1e-9


def test_the_poisson_pair_would_be_too_small_for_a_capped_batch() -> None:
    """The counterexample: one step, a cap of one; the truth is above what plain Poisson sampling would claim."""
    truth = 0.0671
    capped = hush.Gaussian(1.0).on(hush.CappedPoisson(rate=0.9, cap=1, population=2)).delta(epsilon=2.0).upper
    assert hush.Gaussian(1.0).on(hush.Poisson(rate=0.9)).delta(epsilon=2.0).upper < truth / 4 < truth <= capped


def test_conditions_are_required() -> None:
    good = {
        "loss": hush.ConvexLoss(smoothness=1, strong_convexity=0, lipschitz=1),
        "scheme": hush.CappedPoisson(rate=0.1, cap=20, population=100),
        "batch_size": 10.0,
        "noise": 1.0,
        "step_size": 1.0,
        "iterations": 100,
        "diameter": 1.0,
    }
    run = hush.SampledGradientDescent(**good)
    assert run.epsilon(delta=1e-5).upper <= run.composed().epsilon(delta=1e-5).upper
    with pytest.raises(NotCovered, match="projection"):
        hush.SampledGradientDescent(**{**good, "diameter": math.inf})
    for wrong in (
        {"step_size": 1.01},
        {"scheme": hush.Poisson(rate=0.1)},
        {"loss": hush.ConvexLoss(smoothness=1, strong_convexity=0, sensitivity=1)},
        {"loss": hush.ConvexLoss(smoothness=1, strong_convexity=0.1, lipschitz=1)},
        {"regularization": 1.0},
        {"diameter": math.nan},
        {"scheme": hush.CappedPoisson(rate=0.1, cap=0, population=100)},
    ):
        with pytest.raises(InvalidParameter):
            hush.SampledGradientDescent(**{**good, **wrong})
    with pytest.raises(NotCovered):
        run.group(2).epsilon(delta=1e-5)
