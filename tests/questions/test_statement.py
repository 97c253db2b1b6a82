"""The statement in words: complete, and rounded to the safe side."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hush
from hush import statement
from hush.numerics.decimals import rounded_down, rounded_up

TRAINING = hush.Gaussian(1.0).on(hush.Poisson(rate=0.01)).repeat(10_000)


def test_it_names_all_that_a_reader_needs() -> None:
    text = statement(TRAINING, delta=1e-5)
    for part in (
        "for every single record",
        "add or remove one record",
        "Poisson sampling at rate 0.01",
        "10000 times",
        "epsilon = 6.188 (rounded up)",
        "delta = 1e-05",
        "wrongly accuses 1% of the time",
        "L2 sensitivity 1",
        "the sample stays secret",
    ):
        assert part in text
    assert "\n" not in text


def test_the_attacker_is_the_tradeoff() -> None:
    """Gaussian noise of multiplier 1: Φ(Φ^-1(0.01) + 1) = 0.09236, from the normal distribution alone."""
    assert "recognises the record at most 9.24% of the time" in statement(hush.Gaussian(1.0), delta=1e-5)


def test_another_unit_adds_its_assumption() -> None:
    text = statement(hush.Laplace(1.0), delta=0.0, unit="patient")
    assert "add or remove one patient" in text
    assert "all data of one patient is one record of the dataset" in text
    assert "all data of one" not in statement(hush.Laplace(1.0), delta=0.0)


def test_pure_privacy_has_no_additional_probability() -> None:
    text = statement(hush.Laplace(1.0), delta=0.0)
    assert "epsilon = 1 (rounded up)" in text
    assert "additional probability" not in text


def test_the_relation_is_the_mechanisms_own() -> None:
    text = statement(hush.Gaussian(1.0, hush.Relation.REPLACE), delta=1e-5)
    assert "if you replace one record" in text


def test_without_a_pair_the_attacker_is_bounded_by_the_curve() -> None:
    text = statement(hush.ZCDP(0.1), delta=1e-5)
    assert "epsilon = 1.915 (rounded up; an upper bound only)" in text
    # Gaussian noise is such a mechanism: its own attacker does no better than what the curve allows
    attained = 1 - hush.GaussianDP(math.sqrt(0.2)).tradeoff(false_positive_rate=0.01).upper
    assert "recognises the record at most 3.51% of the time" in text
    assert attained < 0.0351


def test_no_finite_epsilon_is_no_privacy() -> None:
    text = statement(hush.Gaussian(1.0), delta=0.0)
    assert "It is not differentially private at delta = 0" in text
    assert "factor" not in text


def test_no_theorem_is_an_error() -> None:
    with pytest.raises(hush.NotCovered):
        statement(hush.RenyiDP(points=[(2, 0.1)]).group(3), delta=1e-5)


@pytest.mark.parametrize("unit", ["", "  ", 3, None])
def test_a_unit_is_a_word(unit: str) -> None:
    with pytest.raises(hush.InvalidParameter, match="a unit"):
        statement(hush.Laplace(1.0), delta=1e-5, unit=unit)


def test_the_method_and_the_function_agree() -> None:
    assert hush.Laplace(1.0).statement(delta=1e-5, unit="user") == statement(hush.Laplace(1.0), delta=1e-5, unit="user")


@given(st.floats(1e-300, 1e300), st.integers(1, 12))
def test_rounding_keeps_its_side(value: float, digits: int) -> None:
    low, high = float(rounded_down(value, digits)), float(rounded_up(value, digits))
    assert low <= value <= high
    assert high - low <= 1.001 * 10 ** (1 - digits) * value


@pytest.mark.parametrize(
    ("value", "up", "down"),
    [(0.0, "0", "0"), (2.0, "2", "2"), (0.12341, "0.1235", "0.1234"), (1e10, "1e+10", "1e+10")],
)
def test_rounded_text(value: float, up: str, down: str) -> None:
    assert (rounded_up(value, 4), rounded_down(value, 4)) == (up, down)


@pytest.mark.parametrize(
    ("mechanism", "size"),
    [
        (hush.Gaussian(1.0).group(3), 3),
        (hush.Gaussian(1.0).group(3).group(2), 6),
        (hush.Gaussian(1.0).group(3).repeat(4), 3),
        (hush.Gaussian(1.0).group(3).on(hush.Poisson(rate=0.1)), 3),
        (hush.Gaussian(1.0).group(2).on(hush.Poisson(rate=0.1)).repeat(2).group(2), 4),
        (hush.Gaussian(1.0).group(3).then(hush.Gaussian(2.0).group(3).repeat(2)), 3),
        (hush.Gaussian(1.0).group(3).under(hush.Relation.REPLACE), 3),
    ],
)
def test_groups_are_not_single_records(mechanism: hush.Mechanism, size: int) -> None:
    text = statement(mechanism, delta=1e-5, unit="patient")
    assert f"private for every group of up to {size} patients" in text
    assert f"up to {size} patients at once" in text
    assert "single" not in text
    assert "One patient" not in text
    assert "recognises the group" in text


def test_parts_that_count_records_differently() -> None:
    text = statement(hush.Gaussian(1.0).group(3).then(hush.Laplace(1.0)), delta=1e-5)
    assert "counts 1 or 3 of them at most" in text
    assert "single" not in text


def test_wide_intervals_are_told() -> None:
    shuffled = hush.Gaussian(1.0).on(hush.ShuffledBatches(steps=10)).repeat(2)
    assert "epsilon = 6.573 (rounded up; the least that holds is between 6.341 and that)" in statement(
        shuffled, delta=1e-5
    )
    assert "(rounded up; an upper bound only)" in statement(hush.ZCDP(0.1), delta=1e-5)
    assert "(rounded up)" in statement(hush.Gaussian(1.0), delta=1e-5)


def test_a_plan_shows_the_interval() -> None:
    plan = hush.train_plan(
        examples=100, batch_size=10, epochs=2, noise_multiplier=1.0, delta=1e-5, scheme=hush.ShuffledBatches
    )
    assert plan.bound == plan.mechanism.epsilon(delta=1e-5)
    assert "epsilon = 6.57298 (certified: 6.34153 to 6.57298) at delta" in str(plan)


def test_a_table_of_compositions_shows_the_interval() -> None:
    text = str(hush.compositions(hush.Gaussian(1.0).on(hush.ShuffledBatches(steps=10)), times=[2], delta=1e-5))
    assert "6.3415 to 6.573" in text


def test_the_style_of_a_methods_section() -> None:
    """In the past tense, with symbols, citations of every theorem, and the version that certified it."""
    step = hush.Gaussian(1.1).on(hush.Poisson(rate=0.01)).repeat(100)
    said = step.statement(delta=1e-5, unit="patient", style="methods", subject="a model of survival")
    for part in ("We released a model of survival", "(ε, δ)-differential privacy", "δ = 1e-05", "every single patient"):
        assert part in said
    for paper in ("Balle, Wang 2018", "Zhu, Dong, Wang 2022", f"hush {hush.__version__}"):
        assert paper in said
    assert f"ε = {step.epsilon(delta=1e-5):.4g}" in said
    pure = hush.Laplace(2.0).statement(delta=0, style="methods")
    assert "ε-differential privacy with ε = 0.5 for every single record" in pure
    shuffled = hush.Gaussian(1.0).on(hush.ShuffledBatches(steps=10)).statement(delta=1e-5, style="methods")
    assert "an upper bound; the least ε is at least" in shuffled
    assert "no finite ε" in hush.Gaussian(1.0).statement(delta=0, style="methods")


@pytest.mark.parametrize("options", [{"style": "poem"}, {"unit": ""}, {"subject": 3}])
def test_words_that_make_no_statement_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(hush.InvalidParameter, match="statement"):
        hush.Laplace(1.0).statement(delta=0, **options)  # type: ignore[arg-type]


def test_releases_name_statistic_column_bounds_groups_and_unit() -> None:
    data = {"income": [1.0, 2.0, 3.0], "region": ["N", "S", "N"]}
    mean = hush.releases.mean(data, column="income", bounds=(0, 4), epsilon=1.0)
    said = mean.statement(style="methods", unit="household")
    assert "the mean of column 'income' (each value moved into the bounds 0 to 4) by" in said
    assert "every single household" in said
    assert "a function of the mean" in mean.map(lambda value: value * 2).statement()
    assert "the number of records" in hush.releases.Count(epsilon=1.0).release(data["income"]).statement()
    quantile = hush.releases.Quantile(p=0.9, bounds=(0, 4), epsilon=1.0)
    assert "the quantile at level 0.9" in quantile.release(data["income"]).statement()
    sampled = quantile.on(hush.Poisson(rate=0.5)).release(data["income"]).statement(style="methods")
    assert "the quantile at level 0.9" in sampled and "Poisson sampling at rate 0.5" in sampled
    query = hush.releases.GroupBy(
        keys={"region": ["N", "S"]},
        ask={"people": hush.releases.Rows(), "money": hush.releases.Stats("income", bounds=(0, 5), mean=True)},
        epsilon=1.0,
    )
    table = query.release(data).statement(style="methods")
    for part in ("table by 'region' (2 given groups)", "people (the number of records)", "money (mean of income in bounds 0 to 5)"):
        assert part in table


def test_a_plan_says_what_was_trained() -> None:
    plan = hush.train_plan(examples=100, batch_size=10, epochs=2, noise_multiplier=1.0, delta=1e-3)
    assert "a model trained in 20 steps on 100 examples" in plan.statement(style="methods")
    assert repr(plan.statement()) == str(plan.statement())
