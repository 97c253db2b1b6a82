"""Reference values of correlated noise, of allocation for any noise, and of the last iterate of sampled descent."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hush
from hush.mechanisms.neighbours import ADDED, REMOVED
from hush.numerics.prefix_sums.banded_coefficients import (
    best_coefficients,
    buffered_coefficients,
    column_normalised_loss,
    prefix_loss,
    root_coefficients,
)
from hush.numerics.prefix_sums.spread_uses import sensitivity_squared
from hush.numerics.prefix_sums.tree_errors import tree_rmse, tree_variances
from hush.questions.planning.training.train_plan import correlated_plan

CASES = json.loads((Path(__file__).parent / "frontier-noise.json").read_text(encoding="utf-8"))
T = 2000


def cases(start: str) -> list[Any]:
    return [pytest.param(case, id=case["id"]) for case in CASES if case["id"].split("-")[0] == start]


def one(name: str) -> Any:
    return next(case for case in CASES if case["id"] == name)


def delta(mechanism: hush.Mechanism, epsilon: float, direction: str = "remove") -> tuple[float, float]:
    low, high = mechanism.evidence({"remove": REMOVED, "add": ADDED}[direction]).pair.log_delta(epsilon)
    return math.exp(low), math.exp(high)


@pytest.mark.parametrize("case", cases("band"))
def test_losses_of_the_best_coefficients(case: Any) -> None:
    params = case["params"]
    if case["kind"] == "banded_column_normalised_mean_loss":
        found = column_normalised_loss(np.array(best_coefficients(params["bands"], T)), T)
    else:
        found = prefix_loss(np.array(best_coefficients(params["bands"], T, params["loss"])), T, params["loss"])
    assert found == pytest.approx(case["value"], rel=1e-9)


@pytest.mark.parametrize(
    ("bands", "mean", "largest"),
    [
        *(
            (2, 504.2337127472, 1004.9651484832),
            (4, 257.0399930982, 508.6474936757),
            (16, 72.8398813261, 138.1001081434),
        ),
        (64, 26.2677576068, 44.8262130448),
    ],
)
def test_losses_of_the_table(bands: int, mean: float, largest: float) -> None:
    noise = hush.BandedNoise.optimal(steps=T, bands=bands)
    assert noise.rmse(T) ** 2 == pytest.approx(mean, rel=1e-9)
    assert hush.BandedNoise.optimal(steps=T, bands=bands, loss="max").rmse(T, "max") ** 2 == pytest.approx(
        largest, rel=1e-9
    )


@pytest.mark.parametrize("case", cases("blt"))
def test_buffered_coefficients(case: Any) -> None:
    c = buffered_coefficients(np.array(case["params"]["theta"]), np.array(case["params"]["omega"]), T)
    assert prefix_loss(c, T) == pytest.approx(case["value"], rel=1e-6)
    assert prefix_loss(c, T, "max") == pytest.approx(case["max_loss"], rel=1e-9)


def test_roots_and_trees() -> None:
    c = root_coefficients(T)
    assert float(c @ c) == pytest.approx(one("sqrt-2000")["value"], rel=1e-13)
    assert math.sqrt(prefix_loss(root_coefficients(1024), 1024)) == pytest.approx(
        one("sqrt-1024-mean")["value"], rel=1e-10
    )
    assert tree_rmse(1024) == pytest.approx(one("tree-1024")["value"], rel=1e-10)
    largest = math.sqrt(tree_variances(10, decoded=True).max())
    assert largest == pytest.approx(one("tree-1024-max")["value"], rel=1e-10)
    plain = math.sqrt(tree_variances(10, decoded=False).mean())
    assert plain == pytest.approx(one("tree-1024-online")["value"], rel=1e-10)


QUICK = ("bandmf-0.01-2", "bandmf-0.01-8", "bandmf-0.002-1")


@pytest.mark.parametrize(
    "case", [p if p.id in QUICK else pytest.param(*p.values, id=p.id, marks=pytest.mark.slow) for p in cases("bandmf")]
)
def test_what_a_plan_gains(case: Any) -> None:
    params = case["params"]
    size = 1000
    found = correlated_plan(
        examples=size,
        batch_size=round(size * params["rate"]),
        epochs=T * params["rate"],
        delta=params["delta"],
        epsilon=params["epsilon"],
    )
    assert found.plan.noise is not None
    assert found.plan.noise.bands == case["best_bands"]
    assert found.ratio == pytest.approx(case["value"], abs=1e-5)
    assert found.plan.noise_multiplier == pytest.approx(case["sigma"], rel=1e-5)
    assert found.plan.steps == T


@pytest.mark.parametrize("case", cases("cyclic"))
def test_cyclic_poisson_vs_its_own_pair(case: Any) -> None:
    """The reference is a simulation of the whole pair: within four of its errors, and hardly below it."""
    noise, params = hush.BandedNoise(case["params"]["c"]), case["params"]
    cycle = hush.CyclicPoisson(rate=params["rate"], parts=2)
    low, high = delta(noise.on(cycle, noise_multiplier=1.0, draws=2), params["epsilon"])
    assert abs(low - case["value"]) < 4 * case["error"]
    assert high > case["value"] - 4 * case["error"]


@pytest.mark.parametrize("case", cases("trap"))
def test_plain_poisson_is_not_accounted_for_with_banded_noise(case: Any) -> None:
    """Independent noise would claim less than the truth; hush refuses."""
    params = case["params"]
    noise, scheme = hush.BandedNoise(params["c"]), hush.Poisson(rate=params["rate"])
    _, claimed = delta(hush.Gaussian(1.0).on(scheme).repeat(params["T"]), params["epsilon"])
    assert claimed < case["value"] - 10 * case["error"]
    with pytest.raises(hush.NotCovered, match="2 bands"):
        noise.on(scheme, noise_multiplier=1.0, draws=params["T"])
    with pytest.raises(hush.NotCovered, match="2 bands"):
        noise.on(hush.Allocation(steps=4), noise_multiplier=1.0)


@pytest.mark.parametrize("case", cases("minsep"))
def test_spread_uses(case: Any) -> None:
    params = case["params"]
    found = sensitivity_squared(np.array(params["c"]), params["n"], params["min_sep"], params["participations"])
    assert found == pytest.approx(case["value"], rel=1e-11)
    assert found >= case["value"]


@pytest.mark.parametrize("case", cases("balls"))
def test_balls_in_bins(case: Any) -> None:
    params = case["params"]
    noise = hush.BandedNoise.optimal(steps=T, bands=params["bands"])
    scheme = hush.BallsInBins(bins=params["bins"], epochs=params["epochs"], bands=params["bands"])
    found = noise.on(scheme, noise_multiplier=params["sigma"]).delta(epsilon=params["epsilon"])
    assert found.upper == pytest.approx(case["certified_upper"], rel=1e-9)
    assert found.lower <= case["value"] + 4 * case["error"] < found.upper


def test_schemes_side_by_side() -> None:
    values, step = one("schemes-64")["value"], hush.Gaussian(2.0)
    found = {
        "cyclic_poisson": step.on(hush.CyclicPoisson(rate=1 / 16, parts=4)).repeat(64),
        "cyclic_allocation": step.on(hush.CyclicAllocation(steps=64, parts=4)).repeat(4),
        "same_bin": step.on(hush.BallsInBins(bins=64, epochs=4, bands=4)),
        "none": step.repeat(4),
    }
    for name, mechanism in found.items():
        assert mechanism.epsilon(delta=1e-6).upper == pytest.approx(values[name], rel=1e-6)


@pytest.mark.parametrize("case", cases("alloc"))
def test_allocation_of_other_noise(case: Any) -> None:
    params = case["params"]
    if "scale" in params:
        step: hush.Mechanism = hush.Laplace(params["scale"])
    else:
        epsilon = math.log(3) if params["epsilon0"] == "log 3" else params["epsilon0"]
        step = hush.RandomizedResponse(epsilon=epsilon, relation=hush.Relation.ADD_REMOVE)
    for direction, truth in case["value"].items():
        low, high = delta(step.on(hush.Allocation(steps=params["steps"])), params["epsilon"], direction)
        if "error" in case:
            assert low - 4 * case["error"][direction] < truth < high + 4 * case["error"][direction]
        else:
            assert low - 1e-13 < truth < high + 1e-13
            assert high - truth < 1e-9


@pytest.mark.parametrize("case", cases("last"))
def test_last_iterate_of_sampled_descent(case: Any) -> None:
    """At most the reference, whose restart was chosen by a coarser search, and no less than the truth of linear losses."""
    params = case["params"]
    run = hush.SampledGradientDescent(
        loss=hush.ConvexLoss(smoothness=1e-3, strong_convexity=0, lipschitz=1),
        scheme=hush.CappedPoisson(rate=params["rate"], cap=100, population=100),
        batch_size=1,
        noise=params["sigma"],
        step_size=params["eta"],
        iterations=params["T"],
        diameter=params["D"],
    )
    found = run.delta(epsilon=params["epsilon"]).upper
    assert case["grid_truth_linear_loss"] < found < case["value"] * (1 + 1e-4)
    assert found < run.composed().delta(epsilon=params["epsilon"]).upper
