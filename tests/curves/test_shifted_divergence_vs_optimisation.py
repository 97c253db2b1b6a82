"""Shifted divergences against general-purpose optimisation, the closed form for normals, and the two lemmas."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import optimize, stats

from hush import InvalidParameter
from hush.curves.pairs.normal import NormalPair
from hush.curves.pairs.segment import SegmentPair
from hush.curves.renyi.shifted import (
    gaussian_noise_cost,
    gaussian_shifted_divergence,
    laplace_noise_cost,
    lattice_noise_cost,
    lattice_shifted_divergence,
)


def random_law(source: np.random.Generator, size: int) -> list[float]:
    weights = source.gamma(0.7, size=size) + 0.02
    return (weights / weights.sum()).tolist()


def by_optimisation(order: float, p: list[float], q: list[float], shift: int) -> float:
    """Least divergence over all ways to move mass by at most the shift: a convex programme over couplings."""
    size = len(p)
    moves = [(i, j) for i in range(size) for j in range(size) if abs(i - j) <= shift]
    source = np.array([[float(i == k) for i, _ in moves] for k in range(size)])
    target = np.array([[float(j == k) for _, j in moves] for k in range(size)])
    weights = np.asarray(q)

    def moment(x: np.ndarray) -> tuple[float, np.ndarray]:
        ratio = np.maximum(target @ x, 0.0) / weights
        total = float(weights @ ratio**order)  # its logarithm is flatter, and convex enough for the search
        return math.log(total) / (order - 1), target.T @ (order * ratio ** (order - 1)) / (total * (order - 1))

    start = np.array([p[i] * float(i == j) for i, j in moves])
    found = optimize.minimize(
        moment, start, jac=True, method="SLSQP", bounds=[(0, 1)] * len(moves),
        constraints={"type": "eq", "fun": lambda x: source @ x - p, "jac": lambda _: source},
        options={"maxiter": 500, "ftol": 1e-13},
    )  # fmt: skip
    return float(found.fun)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("shift", [0, 1, 2])
def test_taut_string_vs_optimisation(seed: int, shift: int) -> None:
    source = np.random.default_rng(seed)
    p, q = random_law(source, 6), random_law(source, 6)
    for order in (1.5, 4.0):
        found = lattice_shifted_divergence(order, p, q, shift)
        assert found == pytest.approx(by_optimisation(order, p, q, shift), rel=1e-4, abs=1e-6)


@pytest.mark.parametrize(("distance", "shift"), [(20, 0), (20, 7), (20, 20), (5, 12)])
def test_normals_on_a_fine_lattice_vs_closed_form(distance: int, shift: int) -> None:
    deviation, order = 15.0, 3.0
    x = np.arange(-150, 171)
    p, q = stats.norm.pdf(x, 0, deviation), stats.norm.pdf(x, distance, deviation)
    found = lattice_shifted_divergence(order, (p / p.sum()).tolist(), (q / q.sum()).tolist(), shift)
    assert found == pytest.approx(gaussian_shifted_divergence(order, distance, deviation, shift), rel=1e-6, abs=1e-9)


def test_no_shift_is_the_divergence_and_more_shift_is_less() -> None:
    source = np.random.default_rng(1)
    for _ in range(20):
        p, q = random_law(source, 9), random_law(source, 9)
        values = [lattice_shifted_divergence(2.5, p, q, z) for z in range(9)]
        plain = math.log(np.sum(np.asarray(p) ** 2.5 * np.asarray(q) ** -1.5)) / 1.5
        assert values[0] == pytest.approx(plain, rel=1e-12)
        assert all(b <= a + 1e-12 for a, b in itertools.pairwise(values))
        assert values[8] == pytest.approx(0.0, abs=1e-12)


def test_moving_the_first_law_is_one_of_the_choices() -> None:
    """D^(|x|)(p || q) <= D(p moved by x || q)."""
    source = np.random.default_rng(2)
    for x in (-3, -1, 2):
        p, q = random_law(source, 5), random_law(source, 11)
        wide = np.roll(np.pad(p, 3), x).tolist()
        centred = np.pad(p, 3).tolist()
        assert lattice_shifted_divergence(2.0, centred, q, abs(x)) <= (
            lattice_shifted_divergence(2.0, wide, q, 0) + 1e-12
        )


def test_mass_that_cannot_reach_the_support_is_infinite() -> None:
    assert lattice_shifted_divergence(2.0, [1, 0, 0, 0], [0, 0, 0.5, 0.5], 1) == math.inf
    assert lattice_shifted_divergence(2.0, [1, 0, 0, 0], [0, 0, 0.5, 0.5], 2) == pytest.approx(math.log(2))


def test_shift_reduction_lemma_for_normals_is_tight_at_the_best_split() -> None:
    """Noise on top of noise: both sides agree where the shift is split in proportion to the variances."""
    order, distance, first, second = 3.0, 2.0, 1.5, 0.8
    left = gaussian_shifted_divergence(order, distance, math.hypot(first, second), 0.0)

    def right(spent: float) -> float:
        before = gaussian_shifted_divergence(order, distance, first, spent)
        return before + gaussian_noise_cost(order, second, spent)

    best = distance * second**2 / (first**2 + second**2)
    assert right(best) == pytest.approx(left, rel=1e-12)
    assert all(right(spent) >= left for spent in np.linspace(0.0, 3.0, 61))


@pytest.mark.parametrize("seed", range(10))
def test_contraction_reduction_lemma(seed: int) -> None:
    """Maps that differ by at most s and stretch nothing: D^(z + s) after is at most D^(z) before."""
    source = np.random.default_rng(seed)
    p, q = random_law(source, 9), random_law(source, 9)
    steps = source.integers(-1, 2, size=9)
    first = np.cumsum(steps) - np.cumsum(steps).min()  # 1-Lipschitz on the integers
    second = np.clip(first + source.integers(0, 2), 0, None)
    after = [np.bincount(place, weights=law, minlength=12).tolist() for place, law in ((first, p), (second, q))]
    s = int(np.abs(first - second).max())
    for shift in (0, 1, 2):
        assert lattice_shifted_divergence(2.0, *after, shift + s) <= (
            lattice_shifted_divergence(2.0, p, q, shift) + 1e-9
        )


@pytest.mark.parametrize("order", [1.3, 2.0, 17.0])
def test_noise_costs_vs_pairs(order: float) -> None:
    for shift in (0.2, 1.0, 3.0):
        normal = NormalPair.shifted(shift / 0.7).renyi(order)[1]
        assert gaussian_noise_cost(order, 0.7, shift) == pytest.approx(normal, rel=1e-9)
        laplace = SegmentPair.laplace(shift / 0.7).renyi(order)[1]
        assert laplace_noise_cost(order, 0.7, shift) == pytest.approx(laplace, rel=1e-9)


def test_lattice_noise_cost_vs_direct_sum() -> None:
    x = np.arange(-400, 401)
    noise = np.exp(-np.abs(x) / 3.0)
    noise /= noise.sum()
    direct = math.log(float(np.sum(noise[2:] ** 2 / noise[:-2])))
    assert lattice_noise_cost(2.0, noise.tolist(), 2) == pytest.approx(direct, rel=1e-9)
    assert lattice_noise_cost(2.0, [0.5, 0.5], 1) == math.inf  # moved noise leaves the support


@pytest.mark.parametrize(("order", "shift"), [(1.0, 0), (0.5, 0), (math.inf, 0), (2.0, -1), (math.nan, 0)])
def test_bad_orders_and_shifts(order: float, shift: int) -> None:
    with pytest.raises(InvalidParameter, match="A shifted divergence needs"):
        lattice_shifted_divergence(order, [1.0], [1.0], shift)
    with pytest.raises(InvalidParameter, match="A shifted divergence needs"):
        gaussian_noise_cost(order, 1.0, shift)
