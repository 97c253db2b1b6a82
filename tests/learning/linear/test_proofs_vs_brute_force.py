"""The theorems behind output, objective and one pass, against direct computation."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, special

import hush
from hush.learning.linear.bounded_rows import LARGEST_NORM, BoundedRecords, bounded
from hush.learning.linear.losses import Logistic, SmoothHinge, Softmax, Squared
from hush.learning.linear.method import Task
from hush.learning.linear.objective_perturbation import ObjectiveNoise
from hush.learning.linear.one_pass import NoisyPass
from hush.learning.linear.random_vectors import normal_noise, spherical_laplace
from hush.learning.linear.solver import Risk, minimiser


def task(loss, epsilon=1.0, delta=1e-5, columns=4, examples=100, regularization=None) -> Task:
    return Task(loss, columns, epsilon, delta, examples, regularization)


@pytest.mark.parametrize("loss", [Logistic(1), Softmax(3), SmoothHinge(2), Squared(1)], ids=str)
def test_minimiser_moves_by_at_most_the_sensitivity(loss) -> None:
    rng = np.random.default_rng(4)
    rows, usable = bounded(5 * rng.normal(size=(30, 3)), 1.0)
    targets = rng.uniform(-1, 1, (30, 1)) if isinstance(loss, Squared) else np.eye(3)[rng.integers(0, 3, 30)]
    data = BoundedRecords.of(rows, usable, targets[:, : loss.scores])
    what, worst = task(loss), 0.0
    for ridge in (0.1, 1.0, 10.0):
        tilt = np.zeros((4, loss.scores))
        whole = minimiser(loss, data, ridge=ridge, tilt=tilt, gradient_norm=1e-9)
        for k in range(30):
            other = minimiser(loss, data.part(np.delete(np.arange(30), k)), ridge=ridge, tilt=tilt, gradient_norm=1e-9)
            worst = max(worst, np.linalg.norm(whole - other) * ridge / what.lipschitz)
    assert 0.2 < worst <= 1


def hockey_stick(epsilon, one, other) -> float:
    """Of two log densities on a fine grid of points."""
    points, p, q = one[0], one[1], other[1]
    return float(integrate.trapezoid(np.maximum(np.exp(p) - np.exp(epsilon + q), 0.0), points))


def objective_density(points, data, targets, noise: ObjectiveNoise):
    """log density of the minimiser of one weight: that of b = -F'(θ), times F''(θ)."""
    z = np.outer(data, points)
    first = data @ (special.expit(z) - targets[:, None]) + noise.ridge * points
    second = data**2 @ (special.expit(z) * special.expit(-z)) + noise.ridge
    if noise.pure:
        law = -np.abs(first) / noise.scale - math.log(2 * noise.scale)
    else:
        law = -((first / noise.scale) ** 2) / 2 - math.log(noise.scale * math.sqrt(2 * math.pi))
    return points, law + np.log(second)


@pytest.mark.parametrize("delta", [0.0, 1e-5, 1e-2])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("strength", [None, 1e-9, 1.0])
def test_objective_perturbation_vs_its_density(epsilon, delta, strength) -> None:
    """One weight, rows of the largest norm: the exact profile of the minimiser's law stays below the claim."""
    given = task(Logistic(1), epsilon, delta, columns=1, examples=6, regularization=strength)
    noise = ObjectiveNoise.of(given)
    claim = noise.mechanism(given)
    data = LARGEST_NORM * np.array([1.0, 1, -1, 1, -1, 1])
    targets = np.array([1.0, 1, 0, 0, 1, 1])
    far = (45 if noise.pure else 12) * noise.scale / noise.ridge + 10 / noise.ridge
    points = np.linspace(-far, far, 20_001)
    for k in (0, 2, 3):
        keep = np.arange(6) != k
        whole, without = (objective_density(points, data[s], targets[s], noise) for s in (slice(None), keep))
        assert hockey_stick(-math.inf, whole, without) == pytest.approx(1, abs=1e-3)
        for pair in ((whole, without), (without, whole)):
            if delta == 0:
                inside = np.abs(points) < 0.9 * far
                assert np.max((pair[0][1] - pair[1][1])[inside]) <= epsilon
            for target in (0.5 * epsilon, epsilon):
                assert hockey_stick(target, *pair) <= claim.delta(epsilon=target).upper * (1 + 1e-6) + 1e-12


def test_pure_objective_under_replacement_is_the_published_formula() -> None:
    """Chaudhuri, Monteleoni, Sarwate 2011: epsilon = 2L/scale + log(1 + 2c/(nλ) + c²/(nλ)²); twice ours."""
    given = task(Logistic(1), 0.8, 0.0, examples=200, regularization=0.01)
    noise = ObjectiveNoise.of(given)
    c = 0.25 * LARGEST_NORM**2 / (200 * 0.01)
    published = 2 * LARGEST_NORM / noise.scale + math.log(1 + 2 * c + c * c)
    assert 2 * 0.8 * (1 - 1e-3) == pytest.approx(published, rel=1e-6)
    assert hush.PureDP(0.8).under(hush.Relation.REPLACE).epsilon(delta=0).upper == pytest.approx(1.6)


def test_ridge_is_raised_where_the_budget_is_small() -> None:
    small = ObjectiveNoise.of(task(Logistic(1), 0.01, 0.0, regularization=1e-6))
    assert small.ridge == pytest.approx(0.25 * LARGEST_NORM**2 / math.expm1(0.0025))


@pytest.mark.parametrize("scores", [1, 3])
def test_joint_objective_curve_vs_simulated_bound(scores) -> None:
    """2^k times a Gaussian's profile bounds the profile of the sum of k losses m²/2 + m|g|."""
    given = task(Logistic(scores), 1.0, 1e-3)
    noise = ObjectiveNoise.of(given)
    shift = LARGEST_NORM / noise.scale
    rng = np.random.default_rng(1)
    loss = (shift**2 / 2 + shift * np.abs(rng.normal(size=(400_000, scores)))).sum(axis=1)
    fixed = scores * math.log1p(given.smoothness / noise.ridge) + 1e-3
    for target in (0.5, 0.8, 1.0):
        simulated = np.maximum(-np.expm1(target - fixed - loss), 0).mean()
        assert simulated <= noise.mechanism(given).delta(epsilon=target).upper + 2e-4
    assert noise.mechanism(given).epsilon(delta=1e-3).upper <= 1.0


def test_one_pass_replayed_with_a_replaced_record() -> None:
    """Same noise, one record replaced: the ends are apart by no more than the step moves, and less for early ones."""
    rng = np.random.default_rng(5)
    rows, usable = bounded(rng.normal(size=(40, 3)), 1.0)
    targets = rng.integers(0, 2, (40, 1)).astype(float)
    what = task(Logistic(1), examples=40, regularization=0.05)
    walk = NoisyPass(what, 0.05, 2.0, 0.5)
    data = BoundedRecords.of(rows, usable, targets)
    end = walk.last_iterate(data, hush.SeededSource(1))
    apart = []
    for k in range(40):
        changed_rows, changed = data.rows.copy(), data.targets.copy()
        changed_rows[k], changed[k] = -changed_rows[k], changed[k]
        other = walk.last_iterate(BoundedRecords(changed_rows, changed), hush.SeededSource(1))
        apart.append(np.linalg.norm(end - other))
    assert max(apart) <= 0.5 * 2 * what.lipschitz
    assert np.mean(apart[:10]) < np.mean(apart[-10:])


def test_noise_vectors_have_their_laws() -> None:
    source = hush.SeededSource(3)
    lengths = np.array([np.linalg.norm(spherical_laplace(source, 5)) for _ in range(1500)])
    assert lengths.mean() == pytest.approx(5, abs=5 * math.sqrt(5 / 1500))
    assert lengths.var() == pytest.approx(5, rel=0.2)
    normals = normal_noise(source, (50, 400))
    assert normals.mean() == pytest.approx(0, abs=0.03)
    assert normals.std() == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("count", [10, 5000, 100_000])
def test_gradient_in_floats_vs_fractions(count) -> None:
    """Equal rows are the worst case of a sum: every addition rounds the same way."""
    row, weights = np.array([[0.1, 0.2, 0.25]]), np.array([[0.3], [0.1], [0.2]])
    data = BoundedRecords(np.repeat(row, count, axis=0), np.ones((count, 1)))
    found = Risk(Logistic(1), data, 1.0, np.zeros((3, 1))).gradient(weights)
    slope = Fraction(float(Logistic(1).slopes(row @ weights, np.ones((1, 1)))[0, 0]))
    allowed = task(Logistic(1), 1.0, 0.0, columns=3, examples=-(-count // 4)).gradient_error(1.0)
    for place in range(3):
        exact = Fraction(float(row[0, place])) * slope * count + Fraction(float(weights[place, 0]))
        assert abs(exact - Fraction(float(found[place, 0]))) <= allowed


def test_a_goal_that_floats_cannot_reach_ends() -> None:
    rng = np.random.default_rng(7)
    rows, usable = bounded(rng.normal(size=(300, 3)), 1.0)
    data = BoundedRecords.of(rows, usable, rng.integers(0, 2, (300, 1)).astype(float))
    weights = minimiser(Logistic(1), data, ridge=1e-6, tilt=np.zeros((4, 1)), gradient_norm=0.0)
    assert np.linalg.norm(Risk(Logistic(1), data, 1e-6, np.zeros((4, 1))).gradient(weights)) < 1e-10
