"""Plans: formulas, answers, texts, pictures, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import hush
from hush import releases
from hush.curves.renyi.convert import amplify_inverse
from hush.questions.planning import free_sampling
from hush.questions.planning.of_mean import multiplier
from hush.questions.planning.target import shared

LOGNORMAL = stats.lognorm(0.5, scale=math.exp(5))
REPLACE, ADD_REMOVE = hush.Relation.REPLACE, hush.Relation.ADD_REMOVE
MEAN = {"population": 10_001, "bounds": (0, 2000), "epsilon": 0.5}


# -- mean --------------------------------------------------------------------------------------------------------


def test_mean_vs_formulas_of_the_paper() -> None:
    """Hu, Drechsler, Kim 2021, equations 1 and 2: nothing is clamped here, so they are exact."""
    plan = hush.plan.mean(**MEAN, model=LOGNORMAL, rates=[1.0, 0.1])
    whole, sampled = plan.of("Laplace noise")
    assert whole.mean_squared_error == pytest.approx(2 * (2000 / (0.5 * 10_001)) ** 2, rel=1e-9)
    inner, n = math.log1p(10_001 / 1000 * math.expm1(0.5)), 1000
    expected = (1 - n / 10_001) * LOGNORMAL.var() / n + 2 * (2000 / (inner * n)) ** 2
    assert sampled.records == n
    assert sampled.mean_squared_error == pytest.approx(expected, rel=2e-3)  # the variance within the bounds
    assert not plan.sample
    assert plan.answer.startswith("Do not sample")


def test_poisson_mean_vs_equations_of_steinke() -> None:
    plan = hush.plan.mean(population=1000, bounds=(0, 1), epsilon=1.0, relation=ADD_REMOVE, rates=[1.0, 0.1])
    whole, sampled = plan.of("Laplace noise")
    # measured from the middle of the bounds, one record weighs half of what it does from 0
    assert whole.mean_squared_error == pytest.approx(free_sampling.no_sample_error(records=1000, epsilon=1.0) / 4)
    limit = free_sampling.poisson_error_limit(records=1000, rate=0.1, epsilon=1.0)
    assert sampled.mean_squared_error <= limit / 4 + 1e-12
    assert limit == pytest.approx(1 / 100 + 2 / (amplify_inverse(1.0, 0.0, 0.1)[0] * 100) ** 2, rel=1e-12)


@pytest.mark.parametrize("rate", [0.01, 0.3])
def test_noise_of_rows_meets_the_target(rate: float) -> None:
    """What a row lets the sample spend is what hush certifies for the sampled mechanism."""
    size = round(rate * 10_000)
    plan = hush.plan.mean(population=10_000, bounds=(0, 1), epsilon=0.5, delta=1e-6, rates=[rate])
    spent = {row.mechanism: row for row in plan.rows}
    laplace, normal = spent["Laplace noise"], spent["Gaussian noise"]
    scheme = hush.WithoutReplacement(size=size, population=10_000)
    noise = hush.Laplace(1 / laplace.sample_epsilon, REPLACE).on(scheme)
    assert noise.epsilon(delta=0.0).upper == pytest.approx(0.5, rel=1e-6)
    noise = hush.Gaussian(multiplier(normal.sample_epsilon, normal.sample_delta), REPLACE).on(scheme)
    assert noise.epsilon(delta=1e-6).upper == pytest.approx(0.5, rel=1e-5)
    noise = hush.Gaussian(multiplier(normal.sample_epsilon, normal.sample_delta)).on(hush.Poisson(rate=rate))
    assert noise.epsilon(delta=1e-6).upper == pytest.approx(0.5, rel=1e-5)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.01, 1e-9), (1.0, 1e-6), (12.0, 0.3)])
def test_multiplier_vs_calibrate(epsilon: float, delta: float) -> None:
    found = hush.calibrate(hush.Gaussian, over=(1e-3, 1e6), epsilon=epsilon, delta=delta)
    assert multiplier(epsilon, delta) == pytest.approx(found.value, rel=1e-5)


def test_noise_beyond_the_bounds_is_clamped() -> None:
    plan = hush.plan.mean(population=10, bounds=(0, 1), epsilon=1e-6, model=stats.uniform(0.4, 0.2))
    assert all(row.error <= math.sqrt(0.5) for row in plan.rows)
    assert any("says nothing" in hint for hint in plan.hints)


def test_without_delta_there_is_no_gaussian_noise() -> None:
    assert hush.plan.mean(**MEAN).mechanisms == ("Laplace noise",)
    assert hush.plan.mean(**MEAN, delta=1e-6).mechanisms == ("Laplace noise", "Gaussian noise")


def test_a_mean_gains_no_time_from_a_sample() -> None:
    assert any("saves no time" in hint for hint in hush.plan.mean(**MEAN).hints)


# -- rules -------------------------------------------------------------------------------------------------------


def test_rules_vs_their_definition() -> None:
    for factor in (1.1, 2.0, 5.0):
        assert free_sampling.noise_limit(free_sampling.constant_for(factor)) == pytest.approx(factor, rel=1e-9)
    for rate in np.geomspace(1e-4, 1.0, 9):
        for epsilon in (0.01, 0.5, 3.0):
            assert 1 / free_sampling.noise_ratio(rate, epsilon) <= free_sampling.noise_limit(epsilon / rate) * (
                1 + 1e-12
            )


def test_a_rate_that_is_free_for_many_queries_falls_with_their_root() -> None:
    one, many = (free_sampling.free_rate(epsilon=1.0, queries=k) for k in (100, 10_000))
    assert one == pytest.approx(10 * many)


def test_shared_budget_is_met_and_used() -> None:
    each, part = shared(1.0, 1e-6, 100)
    spent = hush.ApproxDP(epsilon=each, delta=part).repeat(100).epsilon(delta=1e-6).upper
    assert 0.99 < spent <= 1.0
    assert shared(1.0, 0.0, 4) == (0.25, 0.0)


def test_rules_are_shown_where_they_bind() -> None:
    text = str(hush.plan.mean(**MEAN, delta=1e-6, queries=100, rates=[1.0, 0.001]))
    assert "100 queries" in text and "epochs" in text
    assert "c/log(1 + c)" in text
    calm = hush.plan.mean(population=10_000, bounds=(0, 1), epsilon=0.01, rates=[1.0, 0.9])
    assert not any("Steinke" in hint for hint in calm.hints)


# -- training ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def training() -> hush.TrainingPlans:
    return hush.plan.training(examples=10_000, batch_sizes=[100, 10_000], epochs=[1, 4], epsilon=2.0, delta=1e-5)


def test_training_noise_vs_accounting(training: hush.TrainingPlans) -> None:
    for row in training.rows:
        step = hush.Gaussian(row.noise_multiplier)
        run = (step.on(hush.Poisson(rate=row.rate)) if row.rate < 1 else step).repeat(row.steps)
        assert 1.99 < run.epsilon(delta=1e-5).upper <= 2.0
        assert row.epsilon == pytest.approx(run.epsilon(delta=1e-5).upper, rel=1e-3)
        assert row.gradients == row.steps * row.batch_size
        assert row.cost_of_sampling >= 1 - 1e-3


def test_training_says_what_is_free(training: hush.TrainingPlans) -> None:
    assert training.quietest.rate == 1.0
    assert training.cheapest_free.batch_size == 10_000
    text = str(training)
    assert "as good as free" in text and "sqrt(k)" in text
    assert [line.label for line in training.chart().lines] == ["epochs: 1", "epochs: 4"]


# -- what a plan shows -------------------------------------------------------------------------------------------


def test_table_and_chart_have_all_rows() -> None:
    plan = hush.plan.mean(**MEAN, delta=1e-6, rates=[1.0, 0.2, 0.1])
    head, *body = plan.table()
    assert head[4:] == plan.mechanisms
    assert [cells[0] for cells in body] == ["1", "0.2", "0.09999"]
    chart = plan.chart()
    assert chart.line("Laplace noise").y == tuple(row.error for row in plan.of("Laplace noise")[::-1])
    assert chart.line("sampling alone").x == (plan.rows[2].rate, plan.rows[1].rate)
    with pytest.raises(hush.InvalidParameter, match="Laplace noise"):
        plan.of("noise")


def test_pilot_and_distribution_agree() -> None:
    pilot = hush.PublicPilot(LOGNORMAL.ppf((np.arange(20_000) + 0.5) / 20_000))
    with_pilot, with_law = (hush.plan.mean(**MEAN, model=model, rates=[0.1]).best.error for model in (pilot, LOGNORMAL))
    assert with_pilot == pytest.approx(with_law, rel=0.01)


def test_a_model_outside_the_bounds_is_said() -> None:
    plan = hush.plan.mean(population=100, bounds=(0, 1), epsilon=1.0, model=stats.norm(0, 1))
    assert "lies outside the bounds" in plan.notes[0]


# -- bad input ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        {"population": 0},
        {"population": 10.5},
        {"population": "many"},
        {"epsilon": 0.0},
        {"epsilon": -1.0},
        {"epsilon": math.nan},
        {"epsilon": math.inf},
        {"delta": 1.0},
        {"delta": -1e-9},
        {"bounds": (1.0, 0.0)},
        {"bounds": (0.0, 0.0)},
        {"bounds": (0.0, math.inf)},
        {"bounds": (0.0, math.nan)},
        {"bounds": 5.0},
        {"bounds": (0.0, 1.0, 2.0)},
        {"rates": [0.0]},
        {"rates": [1.5]},
        {"rates": []},
        {"rates": [1e-9]},
        {"queries": 0},
        {"relation": "replace"},
        {"model": "lognormal"},
        {"model": [1.0, 2.0]},
        {"model": np.array([1.0, 2.0])},
        {"model": 3.0},
        {"model": hush.PublicPilot([-5.0, 1.0])},
        {"model": hush.PublicPilot([1.0, 2001.0])},
        {"model": stats.norm(0, -1)},
    ],
)
def test_bad_input_is_named(wrong: dict[str, object]) -> None:
    with pytest.raises(hush.InvalidParameter, match="plan.mean needs"):
        hush.plan.mean(**{**MEAN, **wrong})


def test_an_array_must_be_declared_public() -> None:
    with pytest.raises(hush.InvalidParameter, match="PublicPilot"):
        hush.plan.mean(**MEAN, model=np.arange(10.0))


@pytest.mark.parametrize("values", [[], [1.0], [1.0, math.nan], [1.0, math.inf], [[1.0, 2.0]], "ab", [None, 1.0]])
def test_bad_pilots(values: object) -> None:
    with pytest.raises(hush.InvalidParameter, match="PublicPilot needs"):
        hush.PublicPilot(values)


@pytest.mark.parametrize(
    "wrong",
    [
        {"examples": 0},
        {"batch_sizes": []},
        {"batch_sizes": [0]},
        {"batch_sizes": [101]},
        {"epochs": []},
        {"epochs": [0]},
        {"epsilon": 0},
        {"delta": 0},
        {"delta": 1},
    ],
)
def test_bad_training_input(wrong: dict[str, object]) -> None:
    asked = {"examples": 100, "batch_sizes": [10], "epochs": [1], "epsilon": 1.0, "delta": 1e-5}
    with pytest.raises(hush.InvalidParameter, match="plan.training needs"):
        hush.plan.training(**{**asked, **wrong})


@pytest.mark.parametrize("wrong", [{"read": -1.0}, {"work": math.nan}, {"draw": "fast"}])
def test_bad_costs(wrong: dict[str, object]) -> None:
    with pytest.raises(hush.InvalidParameter, match="Cost needs"):
        hush.plan.Cost(**{"read": 1.0, "draw": 1.0, "work": 1.0, **wrong})


@pytest.mark.parametrize("p", [0.0, 1.0, -0.5, math.nan, "half"])
def test_bad_quantiles(p: object) -> None:
    with pytest.raises(hush.InvalidParameter, match="plan.quantile needs 0 < p < 1"):
        hush.plan.quantile(p=p, **MEAN)


@pytest.mark.parametrize("wrong", [{"population": 1}, {"bounds": (2, 1)}, {"model": [1.0]}, {"rates": [1e-4]}])
def test_bad_medians(wrong: dict[str, object]) -> None:
    with pytest.raises(hush.InvalidParameter, match="plan.median needs"):
        hush.plan.median(**{**MEAN, **wrong})


@pytest.mark.parametrize("parts", [[], [(0.5, LOGNORMAL)], [(1.0, "law")], [(-1.0, LOGNORMAL), (2.0, LOGNORMAL)], 3])
def test_bad_mixtures(parts: object) -> None:
    with pytest.raises(hush.InvalidParameter, match="Mixture needs"):
        hush.plan.Mixture(parts)


@pytest.mark.parametrize(
    "asked",
    [
        {"population": 2, "epsilon": 1.0},
        {"population": 3, "epsilon": 100.0, "delta": 0.5},
        {"population": 50, "epsilon": 1e-6, "delta": 1e-9},
        {"population": 10**12, "epsilon": 1.0, "rates": [1.0, 1e-6]},
    ],
)
def test_extremes_are_finite_and_within_the_bounds(asked: dict[str, object]) -> None:
    for model in (LOGNORMAL, None):
        plan = hush.plan.median(**{"bounds": (0, 2000), "model": model, **asked})
        assert all(0 <= row.error <= 2000 for row in plan.rows)


def test_too_many_ranks_are_not_covered() -> None:
    with pytest.raises(hush.NotCovered, match="ranks"):
        hush.plan.median(population=10**9, bounds=(0, 2000), epsilon=1e-6, model=LOGNORMAL)


def test_a_table_is_planned_column_by_column() -> None:
    """Errors are those that the query tells; on a sample the whole budget is spent, and no more."""
    asked = {"people": releases.Rows(), "x": releases.Stats("x", bounds=(0, 10), variance=True, median=True)}
    query = releases.GroupBy(keys={"g": ("a", "b")}, ask=asked, epsilon=0.5, delta=1e-6)
    found = hush.plan.table(query, sizes=[100, 900], rates=[0.1])
    assert [row.rate for row in found.rows] == [1.0, 0.1]
    assert found.rows[0].cells == (query.expected_error(100), query.expected_error(900))
    inner = hush.plan.on_sample(query, 0.1)
    spent = inner.on(hush.Poisson(rate=0.1)).mechanism.epsilon(delta=1e-6).upper
    assert 0.5 * (1 - 1e-2) < spent <= 0.5
    assert found.rows[1].cells[1] == inner.expected_error(900, rate=0.1)
    errors = [cell["x_variance"] for cell in found.rows[1].cells]
    assert found.rows[1].column("x_variance") == pytest.approx(math.sqrt((errors[0] ** 2 + errors[1] ** 2) / 2))
    assert found.whole(found.rows[0]) == 1.0 and not found.sample and "Do not sample" in str(found)


@pytest.mark.parametrize(
    "given", [{"sizes": []}, {"sizes": 0.0}, {"rates": [0.0]}, {"rates": [1.5]}, {"sizes": math.nan}]
)
def test_bad_plans_of_tables(given: dict[str, object]) -> None:
    query = releases.GroupBy(keys={}, ask={"people": releases.Rows()}, epsilon=1.0)
    with pytest.raises(hush.InvalidParameter):
        hush.plan.table(query, **given)  # type: ignore[arg-type]
    with pytest.raises(hush.InvalidParameter, match="grouped query"):
        hush.plan.table(releases.Count(epsilon=1.0))  # type: ignore[arg-type]
