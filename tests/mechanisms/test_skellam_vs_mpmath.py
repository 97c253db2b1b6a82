"""Skellam noise: its law, its divergences and its profile against sums at high precision."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

import hush
from hush.curves.renyi.families import skellam_vector
from hush.mechanisms.neighbours import ADDED, REMOVED
from hush.numerics.special.skellam_law import log_masses, log_ratios

CASES = [(0.05, 1), (1.0, 1), (1.0, 3), (7.5, 2), (200.0, 5)]


def masses(variance: float, shift: int) -> tuple[list[mpmath.mpf], list[mpmath.mpf]]:
    """P and Q on a range that holds all that matters at moderate orders."""
    m = mpmath.mpf(variance)
    reach = int(60 + 15 * math.sqrt(variance) + 20 * shift)
    law = [mpmath.exp(-m) * mpmath.besseli(k, m) for k in range(reach + shift + 1)]
    x = range(-reach, reach + 1)
    return [law[abs(k - shift)] for k in x], [law[abs(k)] for k in x]


@pytest.mark.parametrize(("variance", "shift"), CASES)
def test_divergences_and_profile(variance: float, shift: int) -> None:
    mechanism = hush.Skellam(variance, shift)
    with mpmath.mp.workdps(40):
        p, q = masses(variance, shift)
        for order in (1.01, 2.0, 6.5):
            moment = mpmath.fsum(a**order * b ** (1 - order) for a, b in zip(p, q, strict=True))
            truth = float(mpmath.log(moment) / (order - 1))
            assert truth <= mechanism.renyi(orders=[order])[0] * (1 + 1e-13) <= truth * (1 + 1e-9)
        for epsilon in (0.0, 0.3, 2.0):
            excess = [a - mpmath.exp(epsilon) * b for a, b in zip(p, q, strict=True)]
            truth = float(mpmath.log(mpmath.fsum(e for e in excess if e > 0)))
            bound = mechanism.log_delta(epsilon=epsilon)
            assert bound.lower - 1e-10 <= truth <= bound.upper + 1e-10


@pytest.mark.parametrize("variance", [0.01, 1.0, 30.0, 1e6])
def test_log_concave_so_the_loss_is_monotone(variance: float) -> None:
    assert np.all(np.diff(log_ratios(variance, 3000)) < 0)


def test_masses_sum_to_one() -> None:
    for variance in (0.01, 2.0, 1e4):
        law = np.exp(log_masses(variance, log_ratios(variance, 2000)))
        assert law[0] + 2 * law[1:].sum() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize(("variance", "shift"), CASES)
def test_bound_for_vectors_is_above_the_exact_scalar(variance: float, shift: int) -> None:
    """Agarwal, Kairouz, Liu 2021, Thm 3.5, for one coordinate."""
    orders = np.array([2.0, 2.5, 3.0, 16.0, 64.0])
    bound = skellam_vector(variance, shift, shift)
    assert np.all(bound(orders) >= hush.Skellam(variance, shift).renyi(orders=orders))
    assert bound.to_tcdp(omega=50.0) <= bound.slope


def test_close_to_gaussian_noise_of_its_variance() -> None:
    skellam, gaussian = hush.Skellam(1e4, 10), hush.Gaussian(10.0)
    assert skellam.epsilon(delta=1e-6).upper == pytest.approx(gaussian.epsilon(delta=1e-6).upper, rel=1e-3)
    sampled = [m.on(hush.Poisson(rate=0.05)).renyi(orders=[8.0])[0] for m in (skellam, gaussian)]
    assert sampled[0] == pytest.approx(sampled[1], rel=1e-2)


def test_deltas_beyond_the_table_have_no_lower_bound() -> None:
    """The table ends at masses of 1e-290: what is charged there must not pass for a fact."""
    assert hush.Skellam(2.0).epsilon(delta=1e-300).lower == 0.0
    assert hush.Skellam(2.0).log_delta(epsilon=600.0).lower == -math.inf
    for mechanism in (hush.Skellam(2.0), hush.Skellam(2.0).on(hush.Poisson(rate=0.1))):
        for pair in mechanism.pairs().values():
            totals = pair.tails(np.array([-1e9]))  # type: ignore[attr-defined]
            assert totals[0][0] == pytest.approx(1.0, abs=1e-12)
            assert totals[1][0] <= 1 + 1e-12


@pytest.mark.parametrize("rate", [0.5, 0.01])
def test_sampled_in_both_directions(rate: float) -> None:
    """Adding a record on a sample has losses of at most -log(1 - rate), reached where the table ends."""
    step = hush.Skellam(3.0, 2).on(hush.Poisson(rate=rate))
    with mpmath.mp.workdps(40):
        p, q = masses(3.0, 2)
        mixed = [(1 - rate) * b + rate * a for a, b in zip(p, q, strict=True)]
        for epsilon in (0.0, 0.3, 0.9 * -math.log1p(-rate), 0.999 * -math.log1p(-rate)):
            for above, below, neighbours in ((mixed, q, REMOVED), (q, mixed, ADDED)):
                excess = [a - mpmath.exp(epsilon) * b for a, b in zip(above, below, strict=True)]
                total = mpmath.fsum(e for e in excess if e > 0)
                low, high = step.evidence(neighbours).pair.log_delta(epsilon)
                truth = float(mpmath.log(total)) if total > 0 else -math.inf
                assert low - 1e-9 <= truth <= high + 1e-9 or max(low, truth) < math.log(1e-270)
                assert step.evidence(neighbours).pair.cut


@pytest.mark.parametrize("delta", [1e-272, 1e-289, 1e-291, 1e-300, 0.0])
def test_no_lower_bound_comes_from_the_end_of_a_table(delta: float) -> None:
    step = hush.Skellam(3.0, 2).on(hush.Poisson(rate=0.5))
    for mechanism in (step, step.repeat(3), hush.Skellam(3.0, 2), step.then(hush.Laplace(3.0))):
        assert mechanism.epsilon(delta=delta).lower == 0
    assert step.log_delta(epsilon=30.0).lower == -math.inf
    assert step.epsilon(delta=1e-200).lower > 0
