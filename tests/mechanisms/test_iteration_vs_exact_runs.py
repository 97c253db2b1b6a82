"""Iteration mechanisms against runs whose last iterate is known exactly: quadratics, and densities on a grid."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

import hush
from hush.curves.theorems.random_stop import random_stop_divergence, random_stop_groups
from hush.numerics.special.gaussian_profile import gaussian_log_delta

INF = math.inf


def convex(lipschitz: float = 1.0, smoothness: float = 1.0) -> hush.ConvexLoss:
    return hush.ConvexLoss(smoothness=smoothness, strong_convexity=0.0, lipschitz=lipschitz)


# -- quadratics: the last iterate is normal, its distance exact --------------------------------------------------


def quadratic_mu(
    curvatures: np.ndarray, batches: list[int], pull: np.ndarray, step: float, noise: float, place: int
) -> float:
    """Distance of the last iterates when the batch at `place` pulls towards another point: each axis on its own."""
    mean, variance = np.zeros(curvatures.shape[1]), np.zeros(curvatures.shape[1])
    for batch in batches:
        factor = 1 - step * curvatures[batch]
        mean = factor * mean + (step * pull if batch == place else 0.0)
        variance = factor**2 * variance + (step * noise) ** 2
    return float(np.sqrt(np.sum(mean**2 / variance)))


@pytest.mark.parametrize("seed", range(15))
def test_full_batch_on_quadratics(seed: int) -> None:
    """Mean losses of any curvature between m and M, in three dimensions, a replaced record that pulls any way."""
    source = np.random.default_rng(seed)
    low, top = np.sort(source.uniform(0.0, 3.0, 2))
    step, noise, records = float(source.uniform(0.05, 2.0) / top), 0.3, 20
    steps = int(source.integers(1, 60))
    loss = hush.ConvexLoss(smoothness=top, strong_convexity=low, sensitivity=1.5)
    run = hush.NoisyGradientDescent(
        loss=loss, records=records, iterations=steps, noise=noise, step_size=step, diameter=INF
    )
    at_least, at_most = run.mu()
    for _ in range(30):
        curvatures = source.uniform(low, top, (1, 3))
        pull = source.normal(size=3)
        pull *= 1.5 / records / np.linalg.norm(pull)
        assert quadratic_mu(curvatures, [0] * steps, pull, step, noise, 0) <= at_most
    flat = quadratic_mu(np.full((1, 1), low), [0] * steps, np.array([1.5 / records]), step, noise, 0)
    assert at_least == pytest.approx(flat, rel=1e-9)
    if step <= 2 / (low + top):
        assert at_least == pytest.approx(at_most, rel=1e-9)


@pytest.mark.parametrize("seed", range(15))
def test_cyclic_on_quadratics(seed: int) -> None:
    """Every batch has its own curvature; the record may be in any of them."""
    source = np.random.default_rng(seed)
    low, top = np.sort(source.uniform(0.0, 3.0, 2))
    step, noise, size = float(source.uniform(0.05, 2.0) / top), 0.3, 7
    batches, epochs = int(source.integers(1, 7)), int(source.integers(1, 15))
    loss = hush.ConvexLoss(smoothness=top, strong_convexity=low, sensitivity=1.5)
    run = hush.CyclicGradientDescent(
        loss=loss, batches=batches, batch_size=size, epochs=epochs, noise=noise, step_size=step, diameter=INF
    )
    at_least, at_most = run.mu()
    order = list(range(batches)) * epochs
    for _ in range(30):
        curvatures = source.uniform(low, top, (batches, 2))
        pull = source.normal(size=2)
        pull *= 1.5 / size / np.linalg.norm(pull)
        place = int(source.integers(batches))
        assert quadratic_mu(curvatures, order, pull, step, noise, place) <= at_most
    flat = quadratic_mu(np.full((batches, 1), low), order, np.array([1.5 / size]), step, noise, batches - 1)
    assert at_least == pytest.approx(flat, rel=1e-9)
    assert at_least <= at_most


@pytest.mark.parametrize("seed", range(10))
def test_one_pass_on_quadratics(seed: int) -> None:
    source = np.random.default_rng(seed)
    low, top = np.sort(source.uniform(0.0, 3.0, 2))
    step, noise, records = float(source.uniform(0.05, 1.0) / top), 0.8, 12
    loss = hush.ConvexLoss(smoothness=top, strong_convexity=low, sensitivity=1.5)
    run = hush.OnePassGradientDescent(loss=loss, records=records, noise=noise, step_size=step)
    for record in range(1, records + 1):
        at_least, at_most = run.record_mu(record)
        for _ in range(10):
            curvatures = source.uniform(low, top, (records, 1))
            found = quadratic_mu(curvatures, list(range(records)), np.array([1.5]), step, noise, record - 1)
            assert found <= at_most
        flat = np.full((records, 1), low)
        found = quadratic_mu(flat, list(range(records)), np.array([1.5]), step, noise, record - 1)
        assert at_least == pytest.approx(found, rel=1e-9)
    assert run.mu() == run.record_mu(records)


def test_record_one_of_linear_losses_is_exact_and_everyone_is_the_last() -> None:
    run = hush.OnePassGradientDescent(loss=convex(), records=100, noise=5.0, step_size=1.0)
    low, high = run.record_mu(1)
    assert low == pytest.approx(high, rel=1e-12)
    assert high == pytest.approx(2 / 5 / 10, rel=1e-12)
    everyone = run.epsilon(delta=1e-6)
    assert everyone.upper == pytest.approx(hush.Gaussian(2.5).epsilon(delta=1e-6).upper, rel=1e-9)
    each = [run.record_epsilon(record, delta=1e-6).upper for record in (1, 10, 50, 99, 100)]
    assert each == sorted(each)
    assert each[-1] == everyone.upper
    assert "not everyone" in run.record_epsilon(1, delta=1e-6).route


# -- losses that are not quadratic: densities on a grid ----------------------------------------------------------


Gradient = Callable[[np.ndarray], np.ndarray]


def last_density(gradients: list[Gradient], grid: np.ndarray, step: float, noise: float, radius: float) -> np.ndarray:
    """Density, before the last projection on [-radius, radius], of one noisy step for each gradient, from 0."""
    start = gradients[0](np.zeros(1))
    density = stats.norm.pdf(grid, -step * start[0], step * noise)
    inside = np.clip(grid, -radius, radius)
    kernels = {
        gradient: stats.norm.pdf(grid[:, None], inside - step * gradient(inside), step * noise) * (grid[1] - grid[0])
        for gradient in dict.fromkeys(gradients)
    }
    for gradient in gradients[1:]:
        density = kernels[gradient] @ density
    return density


def huber(centre: float, slope: float) -> Gradient:
    """Gradient of a Huber loss: 1-smooth, of norm at most the slope."""
    return lambda w: np.clip(w - centre, -slope, slope)


def assert_within(p: np.ndarray, q: np.ndarray, width: float, mu: float) -> None:
    """Hockey sticks and Rényi divergences of two densities are at most those of normals at distance mu."""
    for first, second in ((p, q), (q, p)):
        for epsilon in (-0.3, 0.0, 0.2, 0.7, 1.5):
            found = float(np.sum(np.maximum(first - math.exp(epsilon) * second, 0.0))) * width
            assert found <= math.exp(gaussian_log_delta(epsilon, mu)[1]) + 1e-6
        keep = second > 1e-250
        for order in (1.5, 3.0):
            moment = float(np.sum(first[keep] ** order * second[keep] ** (1 - order))) * width
            assert math.log(moment) / (order - 1) <= order * mu * mu / 2 + 1e-6


@pytest.mark.parametrize("seed", range(4))
def test_one_pass_on_huber_losses(seed: int) -> None:
    source = np.random.default_rng(seed)
    step, noise, radius, slope = 1.9, 0.9, float(source.choice([2.0, 100.0])), 0.8
    grid = np.linspace(-18, 18, 401)
    records = [huber(float(c), slope) for c in source.uniform(-2, 2, 5)]
    loss = hush.ConvexLoss(smoothness=1.0, strong_convexity=0.0, lipschitz=slope)
    run = hush.OnePassGradientDescent(loss=loss, records=5, noise=noise, step_size=step)
    p = last_density(records, grid, step, noise, radius)
    for record in (1, 3, 5):
        other = [*records]
        other[record - 1] = huber(float(source.uniform(-9, 9)), slope)
        q = last_density(other, grid, step, noise, radius)
        assert_within(p, q, grid[1] - grid[0], run.record_mu(record)[1])


@pytest.mark.parametrize("seed", range(4))
def test_projected_descent_on_a_small_set(seed: int) -> None:
    """Two records whose mean is descended on an interval so short that the diameter bound is the one that counts."""
    source = np.random.default_rng(seed)
    step, noise, radius, slope = 0.2, 1.0, 0.02, 2.0
    grid = np.linspace(-3.2, 3.2, 401)

    def mean(first: Gradient, second: Gradient) -> Gradient:
        return lambda w: (first(w) + second(w)) / 2

    kept = huber(float(source.uniform(-1, 1)), slope)
    away, back = huber(float(source.uniform(1, 5)), slope), huber(float(source.uniform(-5, -1)), slope)
    loss = hush.ConvexLoss(smoothness=1.0, strong_convexity=0.0, lipschitz=slope)
    run = hush.NoisyGradientDescent(
        loss=loss, records=2, iterations=30, noise=noise, step_size=step, diameter=2 * radius
    )
    assert run.mu()[1] < 0.5 * run.composed_mu()
    p, q = (last_density([mean(kept, other)] * 30, grid, step, noise, radius) for other in (away, back))
    assert_within(p, q, grid[1] - grid[0], run.mu()[1])


# -- random stop -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gap", [0.0, 0.02, 0.5, 1.0])
@pytest.mark.parametrize("order", [1.0, 1.5, 4.0, 40.0])
@pytest.mark.parametrize("records", [1, 7, 50_000])
def test_random_stop_divergence_vs_direct_sum(gap: float, order: float, records: int) -> None:
    places = np.arange(1, records + 1)
    ratio = 0.4
    squares = ratio**2 * (1 - gap) ** (2.0 * (places - 1)) / np.cumsum((1 - gap) ** (2.0 * (places - 1)))
    if order == 1:
        direct = float(np.mean(squares)) / 2
    else:
        direct = math.log1p(float(np.mean(np.expm1((order - 1) * order * squares / 2)))) / (order - 1)
    found = random_stop_divergence(order, gap, records, ratio)
    assert direct * (1 - 1e-13) <= found <= direct * (1 + 2e-7)


def test_record_one_is_the_worst_of_a_random_stop() -> None:
    """Records after the stop are unused: each record's average, written out, is at most that of the first."""
    n, order, ratio = 9, 3.0, 0.8
    each = []
    for record in range(1, n + 1):
        used = [order * ratio**2 / (2 * (stop + 1 - record)) if stop >= record else 0.0 for stop in range(1, n + 1)]
        each.append(math.log(np.mean(np.exp((order - 1) * np.array(used)))) / (order - 1))
    assert max(each) == each[0]
    assert random_stop_divergence(order, 0.0, n, ratio) == pytest.approx(each[0], rel=1e-10)


def test_random_stop_vs_mixture_of_linear_runs() -> None:
    """Linear losses, the stop kept secret: a mixture of normals, whose divergences are below the bounds."""
    n, ratio = 12, 0.9
    run = hush.OnePassGradientDescent(loss=convex(0.5), records=n, noise=1 / ratio, step_size=1.0)
    stopped = run.stopped_at_random()
    x = np.linspace(-40, 40, 16001)
    stops = np.arange(1, n + 1)
    for record in (1, 6, 12):
        p, q = (
            np.mean([stats.norm.pdf(x, side * (stop >= record), math.sqrt(stop) / ratio) for stop in stops], axis=0)
            for side in (1.0, 0.0)
        )
        for order in (2.0, 5.0):
            moment = float(np.sum(p**order * q ** (1 - order))) * (x[1] - x[0])
            assert math.log(moment) / (order - 1) <= float(stopped.renyi(orders=[order])[0])
        for epsilon in (0.0, 0.3, 1.0):
            found = float(np.sum(np.maximum(p - math.exp(epsilon) * q, 0.0))) * (x[1] - x[0])
            assert found <= stopped.delta(epsilon=epsilon).upper + 1e-9


@pytest.mark.parametrize("records", [1, 10, 1000])
def test_random_stop_profile_vs_average(records: int) -> None:
    """The pair's profile is the average of normal profiles, up to the grouping of late places."""
    run = hush.OnePassGradientDescent(loss=convex(0.5), records=records, noise=1.0, step_size=1.0).stopped_at_random()
    for epsilon in (0.0, 0.5, 2.0):
        average = np.mean([math.exp(gaussian_log_delta(epsilon, 1 / math.sqrt(j))[1]) for j in range(1, records + 1)])
        found = run.delta(epsilon=epsilon)
        assert found.lower == 0
        assert average <= found.upper * (1 + 1e-9)
        assert found.upper <= average * 1.03
    groups = random_stop_groups(0.0, records, 1.0)
    assert sum(weight for _, weight in groups) == pytest.approx(1.0)


def test_everyone_gains_from_a_random_stop() -> None:
    run = hush.OnePassGradientDescent(loss=convex(), records=10**9, noise=4.0, step_size=1.0)
    assert run.stopped_at_random().epsilon(delta=1e-6).upper < run.epsilon(delta=1e-6).upper / 5
    assert run.stopped_at_random().renyi(orders=[2.0])[0] < 1e-8


# -- as values of the algebra ------------------------------------------------------------------------------------


def test_a_gaussian_pair_composes_exactly() -> None:
    loss = hush.ConvexLoss(smoothness=1.0, strong_convexity=0.2, sensitivity=1.0)
    run = hush.NoisyGradientDescent(loss=loss, records=10, iterations=50, noise=0.5, step_size=0.5, diameter=INF)
    both = run.then(hush.Gaussian(2.0, hush.Relation.REPLACE)).epsilon(delta=1e-6)
    alone = hush.GaussianDP(math.hypot(run.mu()[1], 0.5)).epsilon(delta=1e-6)
    assert both.upper == pytest.approx(alone.upper, rel=1e-9)
    assert both.width < 1e-9
    assert run.group(3).epsilon(delta=1e-6).upper == pytest.approx(
        hush.GaussianDP(3 * run.mu()[1]).epsilon(delta=1e-6).upper, rel=1e-9
    )


def test_bounds_that_are_not_attained_have_no_false_lower_end() -> None:
    run = hush.NoisyGradientDescent(loss=convex(), records=10, iterations=50, noise=0.5, step_size=0.5, diameter=1.0)
    for mechanism in (run, run.repeat(3), run.group(2)):
        assert mechanism.epsilon(delta=1e-6).lower == 0
        assert mechanism.delta(epsilon=0.1).lower == 0
        assert mechanism.tradeoff(false_positive_rate=0.1).upper == pytest.approx(0.9)
        assert mechanism.tradeoff(false_positive_rate=0.1).lower < 0.9
    both = run.then(hush.Gaussian(2.0, hush.Relation.REPLACE))
    assert both.epsilon(delta=1e-6).lower == pytest.approx(hush.Gaussian(2.0).epsilon(delta=1e-6).lower, rel=1e-9)
    cyclic = hush.CyclicGradientDescent(
        loss=convex(), batches=4, batch_size=10, epochs=8, noise=0.5, step_size=0.5, diameter=INF
    ).epsilon(delta=1e-6)
    assert 0 < cyclic.lower < cyclic.upper


def test_statement_says_what_is_released() -> None:
    run = hush.OnePassGradientDescent(loss=convex(), records=100, noise=4.0, step_size=0.5)
    for mechanism in (
        run,
        run.stopped_at_random(),
        hush.NoisyIteration(sensitivities=[1], deviations=1, contractions=1),
    ):
        text = mechanism.statement(delta=1e-6)
        assert "only the last iterate is released" in text
        assert "only the last iterate is released" in mechanism.explain(delta=1e-6)
        assert "the last iterate" in str(mechanism)
    assert "1-Lipschitz" in run.statement(delta=1e-6)


def test_noise_can_be_calibrated() -> None:
    loss = hush.ConvexLoss(smoothness=1.0, strong_convexity=0.1, sensitivity=2.0)
    found = hush.calibrate(
        lambda noise: hush.NoisyGradientDescent(
            loss=loss, records=1000, iterations=10_000, noise=noise, step_size=0.5, diameter=INF
        ),
        over=(1e-3, 10.0),
        epsilon=1.0,
        delta=1e-6,
    )
    assert 0.999 < found.bound.upper <= 1.0
