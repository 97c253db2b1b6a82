"""Predicted errors of a plan against simulated releases of simulated populations, within 10%."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import hush
from hush.curves.theorems.smooth_sensitivity import laplace_alpha, least_noise
from hush.questions.planning.of_mean import multiplier
from hush.releases.statistics.smooth_sensitivity import smooth_of_sorted

BOUNDS = (0.0, 2000.0)
LOGNORMAL = stats.lognorm(0.5, scale=math.exp(5))
SKEWED = stats.beta(0.3, 2.0, scale=2000.0)
REPLACE, ADD_REMOVE = hush.Relation.REPLACE, hush.Relation.ADD_REMOVE


def root_mean_square(errors: np.ndarray) -> float:
    return math.sqrt(float(np.mean(np.square(errors))))


# -- mean --------------------------------------------------------------------------------------------------------


def simulated_mean(row: hush.plan.PlanRow, model: object, population: int, relation: hush.Relation) -> float:
    """The release itself, 3000 times: draw, sum, divide by what is public, add noise, clamp."""
    random = np.random.default_rng(5)
    low, high = BOUNDS
    values = np.clip(model.rvs((3000, population), random_state=random), low, high)
    sensitivity = (high - low) / (row.rate * population) / (1 if relation is REPLACE else 2)
    if relation is REPLACE:
        found = values[:, : row.records].mean(axis=1)  # records come in random order, so the first ones are a sample
    else:
        drawn, middle = random.random(values.shape) < row.rate, (low + high) / 2
        found = middle + np.sum((values - middle) * drawn, axis=1) / (row.rate * population)
    if row.mechanism == "Laplace noise":
        found = found + random.laplace(scale=sensitivity / row.sample_epsilon, size=3000)
    else:
        found = found + random.normal(scale=sensitivity * multiplier(row.sample_epsilon, row.sample_delta), size=3000)
    return root_mean_square(np.clip(found, low, high) - values.mean(axis=1))


@pytest.mark.parametrize("relation", [REPLACE, ADD_REMOVE], ids=["replace", "add-remove"])
@pytest.mark.parametrize(("model", "epsilon"), [(LOGNORMAL, 1.0), (SKEWED, 0.005)], ids=["lognormal", "clamped"])
def test_mean_vs_simulation(relation: hush.Relation, model: object, epsilon: float) -> None:
    plan = hush.plan.mean(
        population=400,
        bounds=BOUNDS,
        epsilon=epsilon,
        delta=1e-6,
        model=model,
        relation=relation,
        rates=[1.0, 0.5, 0.05],
    )
    assert len(plan.rows) == 6
    for row in plan.rows:
        assert row.error == pytest.approx(simulated_mean(row, model, 400, relation), rel=0.1), row


def test_worst_case_mean_is_attained_and_not_exceeded() -> None:
    asked = {"population": 500, "bounds": BOUNDS, "epsilon": 0.02, "rates": [1.0, 0.1]}
    shares = np.arange(1, 32) / 64
    found = []
    for share in shares:
        model = stats.rv_discrete(values=([0, 2000], [1 - share, share]))
        found.append([row.error for row in hush.plan.mean(**asked, model=model).rows])
    worst = [row.error for row in hush.plan.mean(**asked).rows]
    assert np.all(np.max(found, axis=0) <= np.array(worst) * (1 + 1e-6))
    assert np.max(found, axis=0) == pytest.approx(worst, rel=0.05)


# -- median ------------------------------------------------------------------------------------------------------

MIXTURE = hush.plan.Mixture([(0.5, stats.beta(2, 2, scale=800)), (0.5, stats.beta(2, 2, loc=1200, scale=800))])
POPULATION, TIMES, NOISES = 1001, 400, 20


@pytest.fixture(scope="module")
def populations() -> dict[str, np.ndarray]:
    random = np.random.default_rng(11)
    drawn = {"lognormal": LOGNORMAL.rvs((TIMES, POPULATION), random_state=random)}
    sides = random.integers(0, 2, (TIMES, POPULATION))
    drawn["mixture"] = 800 * random.beta(2, 2, (TIMES, POPULATION)) + 1200 * sides
    return {name: np.clip(values, *BOUNDS) for name, values in drawn.items()}


def exponential_draw(random: np.random.Generator, ordered: np.ndarray, decay: float) -> np.ndarray:
    edges = np.concatenate([[BOUNDS[0]], ordered, [BOUNDS[1]]])
    weights = np.diff(edges) * np.exp(-decay * np.abs(np.arange(len(ordered) + 1) - len(ordered) / 2))
    cell = np.searchsorted(np.cumsum(weights), random.random(NOISES) * weights.sum())
    return edges[cell] + random.random(NOISES) * (edges[cell + 1] - edges[cell])


def simulated_median(row: hush.plan.PlanRow, values: np.ndarray, relation: hush.Relation) -> float:
    """The release itself, 20 times on each population, with the smooth sensitivity of the releases."""
    random = np.random.default_rng(7)
    epsilon, delta = row.sample_epsilon, row.sample_delta
    if row.mechanism.endswith("textbook"):
        alpha, beta = epsilon / 2, epsilon / (2 * math.log(2 / delta))
    elif row.mechanism.startswith("smooth"):
        alpha, beta = least_noise(lambda b: laplace_alpha(epsilon, delta, b))
    errors = []
    for one in values:
        sample = one[: row.records] if relation is REPLACE else one[random.random(POPULATION) < row.rate]
        ordered = np.sort(sample)
        rank = math.ceil(len(ordered) / 2)
        if row.mechanism == "exponential mechanism":
            found = exponential_draw(random, ordered, epsilon / (2 if relation is REPLACE else 1))
        else:
            smooth = smooth_of_sorted(ordered, rank=rank, beta=beta, bounds=BOUNDS)
            found = ordered[rank - 1] + random.laplace(scale=smooth / alpha, size=NOISES)
        errors.append(np.clip(found, *BOUNDS) - np.sort(one)[POPULATION // 2])
    return root_mean_square(np.array(errors))


@pytest.mark.parametrize(("name", "model"), [("lognormal", LOGNORMAL), ("mixture", MIXTURE)])
def test_median_vs_simulation(name: str, model: object, populations: dict[str, np.ndarray]) -> None:
    asked = {"population": POPULATION, "bounds": BOUNDS, "epsilon": 0.5, "model": model, "rates": [1.0, 0.5, 0.1]}
    plan = hush.plan.median(**asked, delta=1e-6)
    assert len(plan.rows) == 9
    for row in plan.rows:
        assert row.error == pytest.approx(simulated_median(row, populations[name], REPLACE), rel=0.1), row


def test_poisson_median_vs_simulation(populations: dict[str, np.ndarray]) -> None:
    plan = hush.plan.median(
        population=POPULATION, bounds=BOUNDS, epsilon=0.5, model=LOGNORMAL, rates=[1.0, 0.2], relation=ADD_REMOVE
    )
    assert plan.mechanisms == ("exponential mechanism",)
    for row in plan.rows:
        assert row.error == pytest.approx(simulated_median(row, populations["lognormal"], ADD_REMOVE), rel=0.1), row


def test_worst_case_median_vs_two_bounds() -> None:
    """Half of the records at each bound: what is left of the range."""
    plan = hush.plan.median(population=POPULATION, bounds=BOUNDS, epsilon=1.0, delta=1e-6, rates=[1.0, 0.1])
    best = {row.mechanism: row for row in plan.rows if row.rate == 1}
    assert best["exponential mechanism"].error == pytest.approx(2000 / math.sqrt(3))
    values = np.repeat([BOUNDS[0], BOUNDS[1]], [501, 500])
    assert np.sort(values)[500] == BOUNDS[0]
    random = np.random.default_rng(1)
    for row in plan.rows:
        if row.mechanism == "smooth sensitivity, Laplace, textbook":
            shuffled = np.array([random.permutation(values) for _ in range(TIMES)])
            assert row.error == pytest.approx(simulated_median(row, shuffled, REPLACE), rel=0.1), row


def expected_square(ordered: np.ndarray, true: float, p: float, decay: float) -> float:
    """The exponential mechanism's expected squared error on one sample, by integration over its gaps."""
    n = len(ordered)
    ends, ranks = np.concatenate([[BOUNDS[0]], ordered, [BOUNDS[1]]]), np.arange(n + 1)
    weights = np.exp(-decay * np.maximum(np.abs(ranks - p * n), 0.0))
    cubes = np.diff((ends - true) ** 3) / 3
    return float(weights @ cubes / (weights @ np.diff(ends)))


@pytest.mark.parametrize(("p", "epsilon", "population", "rate"), [(0.5, 0.3, 301, 0.05), (0.9, 2.0, 1001, 0.05)])
def test_small_poisson_samples_vary_in_size(p: float, epsilon: float, population: int, rate: float) -> None:
    plan = hush.plan.quantile(
        p=p,
        population=population,
        bounds=BOUNDS,
        epsilon=epsilon,
        model=LOGNORMAL,
        relation=ADD_REMOVE,
        rates=[rate],
    )
    row, random, squares = plan.best, np.random.default_rng(2), []
    for _ in range(4000):
        values = LOGNORMAL.rvs(population, random_state=random)
        true = np.sort(values)[math.ceil(p * population) - 1]
        drawn = np.sort(values[random.random(population) < row.rate])
        squares.append(expected_square(drawn, true, p, row.sample_epsilon / (2 * max(p, 1 - p))))
    assert row.error == pytest.approx(math.sqrt(np.mean(squares)), rel=0.15)  # a few tiny samples err most


@pytest.mark.parametrize("rate", [1.0, 0.5])
def test_worst_case_median_of_samples_vs_releases(rate: float) -> None:
    plan = hush.plan.median(population=2000, bounds=BOUNDS, epsilon=5.0, rates=[rate])
    (row,) = (row for row in plan.rows if row.mechanism == "exponential mechanism")
    query = hush.releases.Median(bounds=BOUNDS, epsilon=row.sample_epsilon, relation=REPLACE)
    data, random = np.repeat(BOUNDS, 1000), np.random.default_rng(3)
    found = [
        query.release(random.permutation(data)[: row.records], source=hush.SeededSource(k)).value for k in range(800)
    ]
    assert row.error == pytest.approx(root_mean_square(np.array(found) - BOUNDS[0]), rel=0.07)


@pytest.mark.parametrize("population", [100_000, 10**6, 10**12, 10**15])
def test_worst_case_of_large_samples_is_a_coin(population: int) -> None:
    """Half of the large samples have most of their records at the wrong bound."""
    plan = hush.plan.median(population=population, bounds=BOUNDS, epsilon=20.0, rates=[0.5])
    for row in plan.rows:
        assert row.error == pytest.approx(2000 * math.sqrt(0.5), rel=0.05), row
        assert row.sampling_error == pytest.approx(2000 * math.sqrt(0.5), rel=0.05)
