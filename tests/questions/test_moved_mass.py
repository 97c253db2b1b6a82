"""Wasserstein distances and shifted divergences of finite laws, and what gradient steps do: against search and enumeration."""

from __future__ import annotations

import math
from itertools import pairwise, permutations, product

import numpy as np
import pytest
from scipy import optimize

import hush
from hush import FiniteLaw, IntegerLaw, InvalidParameter, NormalLaw, NotCovered
from hush.questions.gradient_steps import excess_loss, gradient_step


def random_law(random: np.random.Generator, points: int, size: int = 6) -> FiniteLaw:
    """Equal masses on some points of a small square."""
    places = random.integers(0, size, (points, 2))
    return FiniteLaw([tuple(p) for p in places], np.full(points, 1 / points))


@pytest.mark.parametrize("seed", range(5))
def test_wasserstein_vs_all_matchings(seed: int) -> None:
    """With equal masses the best transport is a matching: all of them are tried."""
    random = np.random.default_rng(seed)
    first, second = (random_law(random, 4) for _ in range(2))
    places = [np.array(law.points) for law in (first, second)]
    truth = min(
        max(float(np.linalg.norm(places[0][i] - places[1][j])) for i, j in enumerate(order))
        for order in permutations(range(4))
    )
    assert hush.wasserstein_distance(first, second) == pytest.approx(truth, rel=1e-12)
    assert hush.wasserstein_distance(second, first) == pytest.approx(truth, rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_wasserstein_on_the_line_two_ways(seed: int) -> None:
    random = np.random.default_rng(seed)
    p, q = (random.dirichlet(np.ones(5)) for _ in range(2))
    line = hush.wasserstein_distance(IntegerLaw(p), IntegerLaw(q, first=2))
    assert line == hush.wasserstein_distance(FiniteLaw(range(5), p), FiniteLaw(range(2, 7), q))
    assert hush.wasserstein_distance(NormalLaw(0, 1), NormalLaw(2, 1)) == 2
    assert hush.wasserstein_distance(NormalLaw(0, 1), NormalLaw(0, 2)) == math.inf


@pytest.mark.parametrize("seed", range(4))
def test_shifted_divergence_vs_the_string_and_vs_a_solver(seed: int) -> None:
    random = np.random.default_rng(seed)
    p, q = (random.dirichlet(np.ones(5)) for _ in range(2))
    for shift, order in product((0, 1, 2), (1.5, 4.0)):
        string = hush.shifted_divergence(IntegerLaw(p), IntegerLaw(q), order=order, shift=shift)
        found = hush.shifted_divergence(FiniteLaw(range(5), p), FiniteLaw(range(5), q), order=order, shift=shift)
        assert found == pytest.approx(string, abs=1e-9)

    allowed = np.abs(np.subtract.outer(np.arange(5), np.arange(5))) <= 1

    def spread(flat: np.ndarray) -> float:
        weights = np.where(allowed, np.exp(flat.reshape(5, 5)), 0.0)
        moved = (p[:, None] * weights / weights.sum(axis=1, keepdims=True)).sum(axis=0)
        return math.log(float((moved**2 / q).sum()))

    best = optimize.minimize(spread, np.zeros(25), method="BFGS").fun
    assert hush.shifted_divergence(FiniteLaw(range(5), p), FiniteLaw(range(5), q), order=2.0, shift=1) <= best + 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_laws_of_shifted_divergences(seed: int) -> None:
    """Monotone in the shift; zero from the Wasserstein distance on; at most that of a translation; shift reduction."""
    random = np.random.default_rng(20 + seed)
    first, second = random_law(random, 5), random_law(random, 4)
    values = [hush.shifted_divergence(first, second, order=2.0, shift=z) for z in (0, 1, 2, 4, 8)]
    assert all(a >= b - 1e-12 for a, b in pairwise(values))
    reach = hush.wasserstein_distance(first, second)
    assert hush.shifted_divergence(first, second, order=2.0, shift=reach) == pytest.approx(0, abs=1e-9)
    moved = first.plus(FiniteLaw([(1.0, 0.0)], [1.0]))
    assert hush.shifted_divergence(first, second, order=2.0, shift=1.0) <= hush.shifted_divergence(
        moved, second, order=2.0, shift=0.0
    )


def test_discrete_noise_costs_what_its_sum_says() -> None:
    """R of discrete Laplace noise, added up term by term."""
    scale, shift = 2.0, 3
    places = np.arange(-400, 400)
    mass = np.exp(-np.abs(places) / scale)
    mass /= mass.sum()
    direct = [math.log(float((np.roll(mass, k)[100:-100] ** 2 / mass[100:-100]).sum())) for k in range(1, shift + 1)]
    found = hush.noise_cost(hush.DiscreteNoise(hush.DiscreteLaplace(scale)), order=2.0, shift=shift)
    assert found == pytest.approx(max(direct), rel=1e-6)
    assert hush.noise_cost(hush.DiscreteNoise(hush.DiscreteGaussian(2.0)), order=2.0, shift=0) == 0
    assert hush.noise_cost(FiniteLaw([0], [1.0]), order=2.0, shift=0.1) == math.inf


@pytest.mark.parametrize(("eta", "m", "big"), [(0.5, 0.0, 4.0), (0.6, 0.0, 4.0), (0.3, 1.0, 4.0), (0.1, 0.5, 2.0)])
def test_gradient_steps_vs_quadratics_and_logistic_losses(eta: float, m: float, big: float) -> None:
    """No loss of the class exceeds the constant, and a quadratic attains it."""
    step = gradient_step(step_size=eta, smoothness=big, strong_convexity=m)
    random = np.random.default_rng(3)
    attained = 0.0
    for curvature in np.linspace(m, big, 9):
        attained = max(attained, abs(1 - eta * curvature))
        v, w = random.normal(size=2)
        # a smooth convex loss whose curvature runs from m to the largest
        gradient = [m * x + (big - m) * (math.log1p(math.exp(-abs(x))) + max(x, 0.0)) / 4 for x in (v, w)]
        assert abs((v - eta * gradient[0]) - (w - eta * gradient[1])) <= step.contraction * abs(v - w) + 1e-12
    assert step.contraction == pytest.approx(attained, rel=1e-9)
    assert step.contractive == (eta * big <= 2)
    assert abs(1 - eta * step.worst_curvature) == pytest.approx(attained)


def test_excess_loss_is_above_exact_quadratic_passes() -> None:
    """f = |w - x|^2/2 on the line, x = +-1: the mean square of the last iterate is a recursion."""
    for eta, sigma, steps in product((0.01, 0.1), (0.0, 2.0), (10, 1000)):
        square = 1.0  # starts at distance 1 from the best model, 0
        for _ in range(steps):
            square = (1 - eta) ** 2 * square + eta**2 * (1 + sigma**2)
        largest = (max(1.0, math.sqrt(square)) + 1) ** 2 + sigma**2 + 2
        assert square / 2 <= excess_loss(distance=1.0, steps=steps, step_size=eta, squared_gradient=largest)


def test_bad_input() -> None:
    for make in (
        lambda: FiniteLaw([0, 1], [0.5]),
        lambda: FiniteLaw([0, (1, 2)], [0.5, 0.5]),
        lambda: FiniteLaw([math.nan], [1.0]),
        lambda: hush.DiscreteNoise(hush.Laplace(1.0)),
        lambda: gradient_step(step_size=0, smoothness=1),
        lambda: hush.wasserstein_distance(FiniteLaw([0], [1]), FiniteLaw([(0, 0)], [1])),
    ):
        with pytest.raises(InvalidParameter):
            make()
    with pytest.raises(NotCovered):
        hush.wasserstein_distance(NormalLaw(0, 1), IntegerLaw([1.0]))
