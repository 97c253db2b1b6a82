"""The blanket of Gaussian reports: its kinds against closed forms and simulation, its worst values against others."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import hush
from hush.curves.pairs.normal import NormalPair
from hush.curves.theorems.shuffling.normal_blanket import CAPS, NormalBlanket, _log_delta, kinds


def left_over(x: float, deviation: float, t: float) -> float:
    """The integral of (R(x) - t blanket)_+, by the trapezoid rule."""
    y = np.linspace(-9 * deviation, 1 + 9 * deviation, 20_001)
    blanket = np.minimum(stats.norm.pdf(y, 0, deviation), stats.norm.pdf(y, 1, deviation))
    return float(np.trapezoid(np.maximum(stats.norm.pdf(y, x, deviation) - t * blanket, 0.0), y))


def test_ends_are_the_worst_values() -> None:
    """Convex order of R(x)/blanket: largest at x = 0 (docs/theory/shuffling.md, step 1)."""
    rng = np.random.default_rng(1)
    for _ in range(30):
        deviation, x = float(np.exp(rng.uniform(-1.2, 1.5))), float(rng.random())
        t = math.exp(rng.random() * 2 / deviation**2)
        assert left_over(x, deviation, t) <= left_over(0.0, deviation, t) + 1e-7


@pytest.mark.parametrize("deviation", [0.3, 0.5, 1.0, 3.0])
def test_kinds_keep_the_means(deviation: float) -> None:
    """u and v have mean 1, but for what was cut."""
    for cap in CAPS[2::5]:
        chances, losses = np.array(kinds(deviation, cap)[0]), kinds(deviation, cap)[1]
        assert np.all(chances >= 0)
        mean = float((chances * (1 + np.exp(losses))).sum())
        assert 1 - cap - 1e-12 <= mean <= 1 + 1e-12


@pytest.mark.parametrize("deviation", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0])
def test_one_report_vs_two_normals(deviation: float, epsilon: float) -> None:
    """Nobody else: the blanket's delta is that of the report itself."""
    exact = NormalPair.shifted(1 / deviation).log_delta(epsilon)[0]
    assert exact <= _log_delta(deviation, 1, epsilon)


@pytest.mark.parametrize(("deviation", "epsilon", "share"), [(1.0, 0.1, 1.03), (2.0, 0.05, 1.03), (0.7, 0.2, 1.5)])
def test_many_reports_vs_simulation(deviation: float, epsilon: float, share: float) -> None:
    """Within a share of the mean; where one rare loss decides, Chernoff's bound is some way above."""
    people = 400
    rng = np.random.default_rng(2)
    y = rng.normal(rng.integers(0, 2, (4000, people)), deviation)
    one, other = stats.norm.pdf(y, 0, deviation), stats.norm.pdf(y, 1, deviation)
    # a report drawn from the mean of the two ends belongs to the blanket with this chance
    taken = rng.random(y.shape) < 2 * np.minimum(one, other) / (one + other)
    ratio = np.where(taken, (one - math.exp(epsilon) * other) / np.minimum(one, other), 0.0)
    found = np.maximum(ratio.sum(axis=1), 0.0) / people
    error = found.std() / math.sqrt(len(found))
    bound = math.exp(NormalBlanket(deviation, people).log_delta(epsilon)[1])
    assert found.mean() - 4 * error <= bound <= (found.mean() + 4 * error) * share


def test_far_below_the_general_bound() -> None:
    found = hush.GaussianReport(1.0).shuffled(people=10**6).epsilon(delta=1e-6)
    assert found.upper < 2 * found.lower
