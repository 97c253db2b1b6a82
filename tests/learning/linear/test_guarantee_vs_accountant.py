"""What a fit reports is what the accountant says of what ran; accuracy rises with epsilon."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import hush
from hush import learning
from hush.learning.linear import noisy_descent

METHODS = ["gradient", "objective", "output", "sgd", "iterate"]


def blobs(count=600, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, count)
    table = rng.normal(size=(count, 3)) * 0.3 + np.where(labels[:, None] == 1, 0.5, -0.5)
    return table, labels


def model(method="gradient", **given):
    settings = {"data_norm": 1.5, "classes": [0, 1], "epsilon": 1.0, "delta": 1e-5, "method": method, "examples": 600}
    return learning.LogisticRegression(**{**settings, **given})


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_guarantee_meets_the_budget_and_uses_it(method, epsilon) -> None:
    plan = model(method, epsilon=epsilon).planned(columns=3, scores=1, rows=600)
    found = plan.mechanism.epsilon(delta=1e-5).upper
    assert 0.995 * epsilon <= found <= epsilon
    expected = hush.Relation.REPLACE if method == "iterate" else hush.Relation.ADD_REMOVE
    assert plan.mechanism.relation is expected


@pytest.mark.parametrize("method", ["gradient", "objective", "iterate"])
def test_guarantee_in_words(method) -> None:
    plan = model(method).planned(columns=3, scores=1, rows=600)
    assert "epsilon" in plan.mechanism.statement(delta=1e-5)
    assert plan.mechanism.explain(delta=1e-5)
    if method == "objective":
        assert "objective perturbation by Gaussian noise" in plan.mechanism.explain(delta=1e-5)


@pytest.mark.parametrize("method", ["objective", "output"])
@pytest.mark.parametrize("scores", [1, 4])
def test_pure_guarantee(method, scores) -> None:
    plan = model(method, delta=0.0).planned(columns=3, scores=scores)
    assert plan.mechanism.epsilon(delta=0).upper == 1.0


@pytest.mark.parametrize("scores", [3, 10])
def test_guarantee_of_several_classes(scores) -> None:
    for method in METHODS:
        found = model(method).planned(columns=5, scores=scores, rows=600).mechanism.epsilon(delta=1e-5).upper
        assert 0.99 <= found <= 1


def test_full_batch_steps_are_one_gaussian_mechanism() -> None:
    plan = model().planned(columns=3, scores=1)
    alone = hush.calibrate(hush.Gaussian, over=(0.1, 100.0), epsilon=1.0, delta=1e-5).value
    assert plan.mechanism == hush.Gaussian(plan.mechanism.inner.noise_multiplier).repeat(200)
    assert plan.mechanism.inner.noise_multiplier == pytest.approx(alone * math.sqrt(200), rel=1e-6)


def test_private_number_of_records_is_charged() -> None:
    with_count = model(examples=None).planned(columns=3, scores=1).mechanism
    curve = with_count.renyi(orders=[2.0])
    count = hush.Gaussian(hush.calibrate(hush.Gaussian, over=(0.1, 100.0), epsilon=1.0, delta=1e-5).value)
    assert curve == pytest.approx(count.renyi(orders=[2.0]), rel=1e-6)
    assert with_count.epsilon(delta=1e-5).upper <= 1


def test_sgd_is_accounted_for_by_the_scheme_that_draws(monkeypatch) -> None:
    drawn = []
    original = hush.Poisson.draw

    def spy(self, population, source=None):
        drawn.append((self.rate, population))
        return original(self, population, source)

    monkeypatch.setattr(hush.Poisson, "draw", spy)
    table, labels = blobs()
    fitted = model(learning.PoissonGradient(batch_size=60, epochs=2)).fit(table, labels)
    assert drawn == [(0.1, 600)] * 20
    assert fitted.guarantee_.times == 20
    assert fitted.guarantee_ == hush.Gaussian(fitted.guarantee_.inner.inner.noise_multiplier).on(
        hush.Poisson(rate=0.1)
    ).repeat(20)


def test_noise_that_is_added_is_the_noise_that_is_accounted_for(monkeypatch) -> None:
    used = []
    original = noisy_descent.add_gaussian

    def spy(values, **given):
        noised = original(values, **given)
        used.append((noised.scale, noised.sensitivity, given["noise_multiplier"]))
        return noised

    monkeypatch.setattr(noisy_descent, "add_gaussian", spy)
    table, labels = blobs()
    fitted = model(learning.FullBatchGradient(steps=9, clip=0.7)).fit(table, labels)
    multiplier = fitted.guarantee_.inner.noise_multiplier
    assert len(used) == 9 == fitted.guarantee_.times
    for scale, sensitivity, told in used:
        assert sensitivity == 0.7
        assert scale >= 0.7 * multiplier * (1 - 1e-15)
        assert told == multiplier


@pytest.mark.parametrize("method", METHODS)
def test_accuracy_rises_with_epsilon(method) -> None:
    table, labels = blobs()
    quick = {"gradient": learning.FullBatchGradient(steps=50), "sgd": learning.PoissonGradient(batch_size=60, epochs=4)}
    means = []
    for epsilon in (0.03, 20.0):
        settings = {"method": quick.get(method, method), "epsilon": epsilon}
        runs = [
            model(**settings, source=hush.SeededSource(seed)).fit(table, labels).score(table, labels)
            for seed in range(3)
        ]
        means.append(np.mean(runs))
    assert means[0] < means[1]
    assert means[1] > 0.85 if method == "iterate" else means[1] > 0.95


def test_breast_cancer_at_epsilon_one() -> None:
    table, labels = load_breast_cancer(return_X_y=True)
    table = np.log1p(table) - np.log1p(table).mean(axis=0)
    table /= np.linalg.norm(table, axis=1, keepdims=True)
    fitted = model(data_norm=1.0, examples=None, source=hush.SeededSource(2)).fit(table, labels)
    assert fitted.score(table, labels) > 0.85


def test_regression_learns() -> None:
    rng = np.random.default_rng(4)
    table = rng.uniform(-1, 1, (3000, 2))
    target = 3 * table[:, 0] - table[:, 1] + 0.5 + 0.1 * rng.normal(size=3000)
    for method, least in (("gradient", 0.9), ("objective", 0.8), ("output", 0.4)):
        fitted = learning.LinearRegression(
            data_norm=1.5, target_bounds=(-5, 5), epsilon=4.0, delta=1e-6, examples=3000, method=method,
            source=hush.SeededSource(1),
        ).fit(table, target)  # fmt: skip
        assert fitted.score(table, target) > least, method
        assert fitted.guarantee_.epsilon(delta=1e-6).upper <= 4


def test_seeded_models_are_labelled_and_secure_ones_differ() -> None:
    table, labels = blobs(60)
    secure, again = (model().fit(table, labels) for _ in range(2))
    assert secure.private_
    assert not np.array_equal(secure.coef_, again.coef_)
    seeded = model(source=hush.SeededSource(1))
    first = seeded.fit(table, labels).coef_
    assert not seeded.private_
    assert np.array_equal(first, seeded.fit(table, labels).coef_)
