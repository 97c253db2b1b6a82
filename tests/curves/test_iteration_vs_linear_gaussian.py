"""Last-iterate bounds against exact linear Gaussian runs, and against the general bound with its best shifts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize

from hush import InvalidParameter
from hush.curves.theorems import last_iterate
from tests.formulas import best_shifts, projected_mu_closed_form


def linear_mu(factors: np.ndarray, shifts: np.ndarray, deviations: np.ndarray) -> float:
    """Distance of the last iterates of x -> factor_t x + shift_t + noise and of x -> factor_t x + noise."""
    mean = variance = 0.0
    for factor, shift, deviation in zip(factors, shifts, deviations, strict=True):
        mean, variance = factor * mean + shift, factor**2 * variance + deviation**2
    return abs(mean) / math.sqrt(variance)


def by_optimisation(sensitivities: np.ndarray, deviations: np.ndarray) -> float:
    """The best shifts by a general-purpose solver."""
    steps = len(sensitivities)
    total = np.tril(np.ones((steps, steps)))
    found = optimize.minimize(
        lambda a: (float(np.sum((a / deviations) ** 2)), 2 * a / deviations**2),
        sensitivities,
        jac=True,
        method="SLSQP",
        constraints=[
            {"type": "ineq", "fun": lambda a: total[:-1] @ (sensitivities - a), "jac": lambda _: -total[:-1]},
            {"type": "eq", "fun": lambda a: np.sum(sensitivities - a), "jac": lambda _: -np.ones(steps)},
        ],
        options={"maxiter": 500, "ftol": 1e-15},
    )
    return math.sqrt(found.fun)


def schedule(seed: int, steps: int, equal: bool) -> tuple[np.ndarray, np.ndarray]:
    source = np.random.default_rng(seed)
    sensitivities = source.uniform(0, 1, steps) * (source.random(steps) < 0.7)
    sensitivities[int(source.integers(steps))] += 0.5
    return sensitivities, np.full(steps, 1.3) if equal else source.uniform(0.3, 3, steps)


@pytest.mark.parametrize("equal", [True, False], ids=["equal noise", "unequal noise"])
@pytest.mark.parametrize("seed", range(12))
def test_best_shifts_vs_optimisation(seed: int, equal: bool) -> None:
    sensitivities, deviations = schedule(seed, 2 + seed % 6, equal)
    low, high = last_iterate.contractive_iteration_mu(sensitivities, deviations, np.ones(len(deviations)))
    assert low <= high <= low * (1 + 1e-12)
    assert high == pytest.approx(by_optimisation(sensitivities, deviations), rel=1e-6)
    shifts = best_shifts(sensitivities, deviations)
    left = np.cumsum(sensitivities - shifts)
    assert np.all(left >= -1e-12)
    assert left[-1] == pytest.approx(0.0, abs=1e-12)
    assert math.sqrt(np.sum((shifts / deviations) ** 2)) == pytest.approx(high, rel=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_the_bound_is_attained_by_linear_maps(seed: int) -> None:
    """x -> (b_{t-1}/b_t) x with b = shift/variance: weak duality with equality, for any noise and contraction."""
    source = np.random.default_rng(seed)
    sensitivities, deviations = schedule(seed, 8, False)
    contractions = np.where(source.random(8) < 0.3, 1.0, source.uniform(0.3, 1, 8))
    later = np.append(np.cumprod(contractions[:0:-1])[::-1], 1.0)
    shifts = best_shifts(later * sensitivities, later * deviations) / (later * deviations) ** 2
    assert np.all(np.diff(shifts) >= -1e-9)
    factors = np.append(0.0, np.where(shifts[1:] > 0, shifts[:-1] / np.where(shifts[1:] > 0, shifts[1:], 1), 0.0))
    factors = np.minimum(factors, 1.0) * contractions
    high = last_iterate.contractive_iteration_mu(sensitivities, deviations, contractions)[1]
    assert linear_mu(factors, sensitivities, deviations) == pytest.approx(high, rel=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_no_linear_run_exceeds_the_bound(seed: int) -> None:
    source = np.random.default_rng(100 + seed)
    sensitivities, deviations = schedule(seed, 7, False)
    contractions = source.uniform(0, 1, 7)
    high = last_iterate.contractive_iteration_mu(sensitivities, deviations, contractions)[1]
    for _ in range(50):
        factors = source.uniform(-1, 1, 7) * contractions
        shifts = source.uniform(-1, 1, 7) * sensitivities
        assert linear_mu(factors, shifts, deviations) <= high


def test_schedules_that_shrink_out_of_sight() -> None:
    contractions = np.full(3000, 0.5)
    early = last_iterate.contractive_iteration_mu([1.0] + [0.0] * 2999, np.ones(3000), contractions)
    assert early[1] < 1e-100
    steady = last_iterate.contractive_iteration_mu(np.ones(3000), np.ones(3000), contractions)
    assert steady[1] == pytest.approx(last_iterate.full_batch_mu(0.5, 3000, 1.0), rel=1e-12)
    reset = last_iterate.contractive_iteration_mu([5.0, 1.0], [1.0, 2.0], [1.0, 0.0])
    assert reset[1] == pytest.approx(0.5, rel=1e-12)


def test_sizes_that_differ_by_more_than_a_float_holds() -> None:
    """A tiny last difference under a tiny noise counts in full, whatever came before."""
    found = last_iterate.contractive_iteration_mu([1e9, 1e-9], [1e9, 1e-9], [1, 1])[1]
    assert found == pytest.approx(math.sqrt(2), rel=1e-12)
    rising = last_iterate.contractive_iteration_mu([1e9, 0, 1e-9], [1e9, 1e9, 2e-9], [1, 1, 1])[1]
    assert rising == pytest.approx(math.sqrt(0.5 + 0.25), rel=1e-12)


# -- closed forms against the general bound ----------------------------------------------------------------------

GAPS = [0.0, 1e-9, 0.01, 0.3, 0.999, 1.0]


def general(shifts: np.ndarray, gap: float, start: float = 0.0) -> float:
    """The general bound at unit noise, the first map meeting a distance of `start`."""
    met = np.array(shifts, dtype=float)
    met[0] += (1 - gap) * start
    return last_iterate.contractive_iteration_mu(met, np.ones(len(met)), np.full(len(met), 1 - gap))[1]


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("steps", [1, 2, 7, 300])
def test_full_batch(gap: float, steps: int) -> None:
    assert last_iterate.full_batch_mu(gap, steps, 0.7) == pytest.approx(general(np.full(steps, 0.7), gap), rel=1e-9)
    assert last_iterate.linear_descent_mu(gap, 1, steps, 0.7) == pytest.approx(
        last_iterate.full_batch_mu(gap, steps, 0.7), rel=1e-9
    )


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize(("batches", "epochs"), [(1, 5), (2, 1), (2, 6), (3, 2), (5, 4), (17, 9)])
def test_cyclic(gap: float, batches: int, epochs: int) -> None:
    """The closed form is the general bound for the last batch, which is the worst."""
    found = last_iterate.cyclic_mu(gap, batches, epochs, 0.7)
    each = []
    for place in range(batches):
        shifts = np.zeros(batches * epochs)
        shifts[place::batches] = 0.7
        each.append(general(shifts, gap))
    assert found == pytest.approx(max(each), rel=1e-9)
    assert found == pytest.approx(each[-1], rel=1e-9)
    for r in (1 - gap, 0.0, -(1 - gap)):
        assert last_iterate.linear_descent_mu(1 - r, batches, epochs, 0.7) <= found * (1 + 1e-12)


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("later", [0, 1, 6, 80])
def test_one_pass(gap: float, later: int) -> None:
    shifts = np.zeros(later + 3)
    shifts[2] = 0.7
    found = last_iterate.one_pass_mu(gap, later, 0.7)
    assert found == pytest.approx(general(shifts, gap), rel=1e-9, abs=1e-140)
    assert found == pytest.approx(linear_mu(np.full(later + 1, 1 - gap), shifts[2:], np.ones(later + 1)), rel=1e-9)


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("diameter", [0.01, 1.0, 5.0, 300.0])
@pytest.mark.parametrize("steps", [1, 4, 60])
def test_projected(gap: float, diameter: float, steps: int) -> None:
    """The best restart among all, each by the general bound."""
    options = [general(np.full(k, 0.3), gap, diameter) for k in range(1, steps + 1)]
    best = min(general(np.full(steps, 0.3), gap), *options)
    assert last_iterate.projected_mu(gap, steps, 0.3, diameter) == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("diameter", [0.01, 0.2, 1.0, 5.0, 40.0])
@pytest.mark.parametrize(("batches", "epochs"), [(1, 30), (2, 30), (3, 1), (7, 12)])
def test_cyclic_projected(batches: int, epochs: int, diameter: float) -> None:
    """Never below the best restart by the general bound, and equal to it where the set is not tiny."""
    shifts = np.zeros(batches * epochs)
    shifts[batches - 1 :: batches] = 0.3
    restarts = [general(shifts[k:], 0.0, diameter) for k in range(len(shifts))]
    best = min(general(shifts, 0.0), *restarts)
    found = last_iterate.cyclic_projected_mu(batches, epochs, 0.3, diameter)
    assert found >= best * (1 - 1e-12)
    if diameter >= 0.3:
        assert found == pytest.approx(best, rel=1e-9)


def test_printed_closed_form_is_never_better() -> None:
    for ratio, diameter in ((0.1, 1.0), (0.3, 1.0), (0.07, 20.0), (2.0, 1.0)):
        steps = math.ceil(diameter / ratio)
        assert last_iterate.projected_mu(0.0, steps, ratio, diameter) <= (
            projected_mu_closed_form(steps, ratio, diameter) * (1 + 1e-12)
        )
    with pytest.raises(InvalidParameter, match="iterations"):
        projected_mu_closed_form(5, 0.1, 1.0)


@pytest.mark.parametrize("seed", range(20))
def test_gap_is_below_that_of_every_quadratic(seed: int) -> None:
    source = np.random.default_rng(seed)
    top = float(source.uniform(0.1, 5))
    low = float(source.uniform(0, top))
    step = float(source.uniform(0, 2)) / top
    gap = last_iterate.descent_gap(step, top, low)
    for curvature in np.linspace(low, top, 50):
        assert abs(1 - step * curvature) <= 1 - gap + 1e-15


@pytest.mark.parametrize(("step", "smooth", "curved"), [(2.01, 1, 0), (0, 1, 0), (-1, 1, 0), (1, 1, 2), (1, 1, -1)])
def test_steps_that_do_not_contract(step: float, smooth: float, curved: float) -> None:
    with pytest.raises(InvalidParameter, match="step_size"):
        last_iterate.descent_gap(step, smooth, curved)
