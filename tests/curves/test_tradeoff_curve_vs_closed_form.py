"""A whole trade-off curve at once, against closed forms and against the answer point by point."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import hush
from hush.curves.pairs.normal import NormalPair
from hush.curves.tradeoff import Ends, KnownProfile

RATES = np.array([0.0, 1e-6, 1e-3, 0.01, 0.1, 0.3, 0.5, 0.9, 0.999, 1.0])


@given(mu=st.floats(0.05, 5.0), reach=st.floats(0.5, 30.0), points=st.integers(3, 60))
@settings(max_examples=60, deadline=None)
def test_gaussian_curve_holds_its_closed_form(mu: float, reach: float, points: int) -> None:
    """Phi(Phi^-1(1 - rate) - mu), however coarse or narrow the grid."""
    known = KnownProfile.of(NormalPair.shifted(mu).profile(), np.linspace(-reach, reach, points))
    low, high = known.at(RATES)
    truth = stats.norm.cdf(stats.norm.isf(RATES) - mu)
    assert np.all(low <= truth + 1e-12)
    assert np.all(truth <= high + 1e-12)


@given(mu=st.floats(0.05, 5.0), points=st.integers(3, 200), seed=st.integers(0, 1 << 30))
@settings(max_examples=60, deadline=None)
def test_uneven_and_blurred_profiles_hold_the_closed_form(mu: float, points: int, seed: int) -> None:
    """Points at random, some of them very near each other, and bounds on delta that are apart."""
    random = np.random.default_rng(seed)
    epsilons = np.unique(np.concatenate([random.normal(0, 3, points), random.normal(0, 1e-9, 2)]))
    low, high = NormalPair.shifted(mu).profile()(epsilons)
    blur = 10.0 ** random.uniform(-16, -2)
    below, above = low * (1 - blur * random.uniform(size=len(low))), high * (1 + blur * random.uniform(size=len(low)))
    known = KnownProfile.of(lambda _: (below, above), epsilons)
    low, high = known.at(RATES)
    truth = stats.norm.cdf(stats.norm.isf(RATES) - mu)
    assert np.all(low <= truth + 1e-12)
    assert np.all(truth <= high + 1e-12)


def test_coarse_points_hold_the_closed_form() -> None:
    """A dozen epsilons, and bounds on delta that are a percent apart."""
    epsilons = np.linspace(-6, 6, 12)

    def blurred(epsilons: np.ndarray) -> Ends:
        low, high = NormalPair.shifted(1.0).profile()(epsilons)
        return low * 0.99, np.minimum(high * 1.01, 1.0)

    low, high = KnownProfile.of(blurred, epsilons).at(RATES)
    truth = stats.norm.cdf(stats.norm.isf(RATES) - 1.0)
    assert np.all(low <= truth + 1e-12)
    assert np.all(truth <= high + 1e-12)


def test_width_falls_with_the_square_of_the_grid_and_is_told() -> None:
    def width(points: int) -> float:
        known = KnownProfile.of(NormalPair.shifted(1.0).profile(), np.linspace(-40, 40, 5 * points))
        low, high = known.at(RATES)
        assert np.max(high - low) <= np.max(known.gaps) + 1e-14
        return float(np.max(high - low))

    assert width(161) < 2e-3
    assert width(641) < 0.1 * width(161)


@given(scale=st.floats(0.2, 5.0), points=st.integers(3, 40))
@settings(max_examples=40, deadline=None)
def test_laplace_curve_holds_its_closed_form(scale: float, points: int) -> None:
    """Dong, Roth, Su 2022, Lemma A.6: F(F^-1(1 - rate) - 1/scale) with F the distribution of unit Laplace noise."""
    pair = next(iter(hush.Laplace(scale).pairs().values()))
    low, high = KnownProfile.of(pair.profile(), np.linspace(-1.1, 1.1, points) / scale).at(RATES)
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
        assert high - low < 1e-6


def test_nothing_revealed_is_a_straight_line() -> None:
    def flat(epsilons: np.ndarray) -> Ends:
        return (np.maximum(-np.expm1(epsilons), 0.0),) * 2

    low, high = KnownProfile.of(flat, np.linspace(-3, 3, 7)).at(RATES)
    assert low == pytest.approx(1 - RATES, abs=2e-15)
    assert high == pytest.approx(1 - RATES, abs=2e-15)
