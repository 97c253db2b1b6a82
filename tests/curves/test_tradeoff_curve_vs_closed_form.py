"""A whole trade-off curve at once, against closed forms and against the answer point by point."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import hush
from hush.curves.pairs.normal import NormalPair
from hush.curves.tradeoff import profile_to_tradeoff_curve

RATES = np.array([0.0, 1e-6, 1e-3, 0.01, 0.1, 0.3, 0.5, 0.9, 0.999, 1.0])


@given(mu=st.floats(0.05, 5.0), reach=st.floats(0.5, 30.0), points=st.integers(3, 60))
@settings(max_examples=60, deadline=None)
def test_gaussian_curve_holds_its_closed_form(mu: float, reach: float, points: int) -> None:
    """Phi(Phi^-1(1 - rate) - mu), however coarse or narrow the grid."""
    epsilons = np.linspace(-reach, reach, points)
    low, high = profile_to_tradeoff_curve(NormalPair.shifted(mu).profile(), RATES, epsilons)
    truth = stats.norm.cdf(stats.norm.isf(RATES) - mu)
    assert np.all(low <= truth + 1e-12)
    assert np.all(truth <= high + 1e-12)


def test_width_falls_with_the_square_of_the_grid() -> None:
    def width(points: int) -> float:
        grid = np.linspace(-8, 8, points)
        low, high = profile_to_tradeoff_curve(NormalPair.shifted(1.0).profile(), RATES, grid)
        return float(np.max(high - low))

    assert width(161) < 2e-3
    assert width(641) < 0.1 * width(161)


@given(scale=st.floats(0.2, 5.0), points=st.integers(3, 40))
@settings(max_examples=40, deadline=None)
def test_laplace_curve_holds_its_closed_form(scale: float, points: int) -> None:
    """Dong, Roth, Su 2022, Lemma A.6: F(F^-1(1 - rate) - 1/scale) with F the distribution of unit Laplace noise."""
    pair = next(iter(hush.Laplace(scale).pairs().values()))
    low, high = profile_to_tradeoff_curve(pair.profile(), RATES, np.linspace(-1.1, 1.1, points) / scale)
    truth = stats.laplace.cdf(stats.laplace.isf(RATES) - 1 / scale)
    assert np.all(low <= truth + 1e-12)
    assert np.all(truth <= high + 1e-12)


@pytest.mark.parametrize("times", [1, 100, 10_000])
def test_chart_overlaps_the_answer_point_by_point(times: int) -> None:
    training = hush.Gaussian(1.0).on(hush.Poisson(rate=0.01)).repeat(times)
    line = hush.chart.tradeoff(training, false_positive_rates=[0.01, 0.3]).lines[0]
    for rate, low, high in zip(line.x, line.y, line.other, strict=True):
        bound = training.tradeoff(false_positive_rate=rate)
        assert max(low, bound.lower) <= min(high, bound.upper)
        assert high - low < 2e-3


def test_nothing_revealed_is_a_straight_line() -> None:
    def flat(epsilon: float) -> tuple[float, float]:
        return (math.log(-math.expm1(epsilon)),) * 2 if epsilon < 0 else (-math.inf, -math.inf)

    low, high = profile_to_tradeoff_curve(flat, RATES, np.linspace(-3, 3, 7))
    assert low == pytest.approx(1 - RATES, abs=2e-15)
    assert high == pytest.approx(1 - RATES, abs=2e-15)
