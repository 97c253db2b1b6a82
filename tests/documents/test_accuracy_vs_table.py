"""The accuracy experiment against a table that was made on other populations, closed forms, and the planner."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hush
from hush.documents.accuracy_experiment import POPULATIONS, RATES, Cell, Experiment
from hush.documents.accuracy_figures import Accuracy
from hush.questions.planning.of_median import CALIBRATED, EXPONENTIAL, TEXTBOOK
from hush.releases.statistics.smooth_sensitivity import smooth_of_sorted

LOGNORMAL, OVERLAPPING, APART = POPULATIONS

TABLE = {
    ("lognormal", 0.05): (3.01, 2.73, 3.01, 3.43, 4.14, 4.73),
    ("lognormal", 0.1): (2.30, 1.99, 2.11, 2.42, 3.00, 3.53),
    ("lognormal", 0.5): (1.99, 1.35, 1.03, 0.73, 0.65, 0.82),
    ("lognormal", 1.0): (1.94, 1.23, 0.86, 0.59, 0.11, -0.27),
    ("apart", 0.1): (2.96, 3.36, 3.72, 4.20, 4.92, 5.52),
    ("apart", 0.5): (2.69, 2.68, 2.78, 2.94, 3.35, 3.90),
    ("apart", 1.0): (2.67, 2.59, 2.59, 2.64, 2.79, 3.03),
}
"""log10 MSE with textbook noise by rate: a reproduction with 200 samples of one other population of each kind."""
WITHOUT_SAMPLE = {"lognormal": (-0.54, -1.86, -2.59), "apart": (2.20, 1.93, 0.63)}
"""The exponential mechanism on all records, epsilon 0.1, 0.5, 1."""


@pytest.fixture(scope="module")
def experiment() -> Experiment:
    return Experiment(repeats=200)


@pytest.fixture(scope="module")
def cells(experiment: Experiment) -> dict[tuple[str, str, float, float], Cell]:
    found = [cell for population in (LOGNORMAL, APART) for cell in experiment.median(population)]
    return {(cell.population, cell.mechanism, cell.epsilon, cell.rate): cell for cell in found}


def test_textbook_noise_vs_table(cells: dict[tuple[str, str, float, float], Cell]) -> None:
    """200 samples know an MSE to 10%, 0.04 in its log; another population moves a lognormal's by up to 0.15."""
    for (name, epsilon), expected in TABLE.items():
        found = [math.log10(cells[name, TEXTBOOK, epsilon, rate].error) for rate in RATES]
        assert found == pytest.approx(expected, abs=0.16), (name, epsilon)


def test_exponential_mechanism_vs_table(cells: dict[tuple[str, str, float, float], Cell]) -> None:
    for name, expected in WITHOUT_SAMPLE.items():
        found = [math.log10(cells[name, EXPONENTIAL, epsilon, 1.0].error) for epsilon in (0.1, 0.5, 1.0)]
        assert found == pytest.approx(expected, abs=0.3), name


def test_what_the_paper_found(cells: dict[tuple[str, str, float, float], Cell]) -> None:
    """With textbook noise a sample gains at small epsilon on the lognormal, and up to 1 where there is a hole."""

    def gains(name: str, mechanism: str, epsilon: float) -> bool:
        return any(
            cells[name, mechanism, epsilon, r].error < 0.9 * cells[name, mechanism, epsilon, 1.0].error for r in RATES
        )

    assert [gains("lognormal", TEXTBOOK, epsilon) for epsilon in (0.05, 0.1, 1.0)] == [True, True, False]
    assert all(gains("apart", TEXTBOOK, epsilon) for epsilon in (0.05, 0.1, 0.5, 1.0))
    assert not any(gains(name, EXPONENTIAL, e) for name in ("lognormal", "apart") for e in (0.05, 0.1, 0.5, 1.0))
    for key, cell in cells.items():
        assert cell.clamped <= cell.error * (1 + 1e-9)
        if key[1] == CALIBRATED:
            assert cell.error <= cells[key[0], TEXTBOOK, key[2], key[3]].error * 1.02


def test_smooth_sensitivities_vs_the_releases(experiment: Experiment) -> None:
    values = experiment.drawn(APART)
    for rate, beta in ((0.05, 0.05), (0.5, 0.004)):
        smooth, centre = experiment._smooth(APART, values, rate, beta)
        for row in range(5):
            sample = values[experiment.ranks[rate][row]]
            rank = math.ceil(len(sample) / 2)
            assert centre[row] == sample[rank - 1]
            exact = smooth_of_sorted(sample, rank=rank, beta=beta, bounds=APART.bounds)
            assert smooth[row] == pytest.approx(exact, rel=1e-3)


def test_samples_are_subsets_of_their_size(experiment: Experiment) -> None:
    for rate, ranks in experiment.ranks.items():
        assert ranks.shape == (200 if rate < 1 else 1, round(rate * 10_001))
        assert np.all(np.diff(ranks, axis=1) > 0)
    assert experiment.ranks[0.1].mean() == pytest.approx(5000, rel=0.01)


def test_mean_closed_form_vs_simulation() -> None:
    found = Experiment(repeats=1000, rates=(0.05, 1.0)).mean(LOGNORMAL)
    for formula, simulated in zip(found[::2], found[1::2], strict=True):
        assert simulated.error == pytest.approx(formula.error, rel=0.25)
    for whole, sampled in zip(
        [c for c in found if c.rate == 1][::2], [c for c in found if c.rate < 1][::2], strict=True
    ):
        assert sampled.error > whole.error


def test_planner_vs_the_experiment(cells: dict[tuple[str, str, float, float], Cell]) -> None:
    """The plan averages over populations, the experiment has one: they agree as far as that allows."""
    for epsilon in (0.1, 0.5):
        plan = hush.plan.median(
            population=10_001, bounds=LOGNORMAL.bounds, epsilon=epsilon, delta=1e-6, model=LOGNORMAL.model, rates=RATES
        )
        for row in plan.rows:
            rate = min(RATES, key=lambda rate: abs(rate - row.rate))
            found = cells["lognormal", row.mechanism, epsilon, rate].clamped
            assert math.log10(row.mean_squared_error) == pytest.approx(math.log10(found), abs=0.25), row


@pytest.fixture(scope="module")
def small() -> Accuracy:
    return Accuracy(
        Experiment(size=501, repeats=20, epsilons=(0.5, 1.0), rates=(0.1, 1.0)),
        curve_epsilons=(0.1, 1.0),
        curve_rates=(1.0, 0.1),
    )


def test_every_chart_and_table_is_made(small: Accuracy) -> None:
    charts = {name: make() for name, make in small.charts().items()}
    assert len(charts) == 18
    for chart in charts.values():
        assert all(math.isfinite(row["y"]) for row in chart.rows())
    assert charts["accuracy-best-rate-lognormal"].line(EXPONENTIAL).y[-1] == 1.0
    assert charts["accuracy-ratio-apart"].line("ε = 0.5").y[-1] == 1.0
    tables = small.tables()
    assert len(tables["accuracy.csv"].splitlines()) == 1 + 2 * 2 * 2 + 3 * 3 * 2 * 2
    assert "## mean, closed form: lognormal(5, 0.5)" in tables["accuracy.md"]
