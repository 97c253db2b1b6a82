"""Charts and tables of the accuracy experiment: `hush figures --accuracy DIR`."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from hush.documents.accuracy_experiment import DELTA, POPULATIONS, Cell, Experiment, Population
from hush.questions.charts.drawing import Axis, Chart, ChartLine, Stroke
from hush.questions.planning import plan
from hush.questions.planning.of_median import CALIBRATED, EXPONENTIAL, TEXTBOOK

CURVE_EPSILONS = tuple(np.geomspace(0.02, 2.0, 9).tolist())
CURVE_RATES = (1.0, 0.7, 0.5, 0.35, 0.25, 0.18, 0.13, 0.09, 0.06, 0.04, 0.03, 0.02, 0.01)
HEAD = ("population", "mechanism", "epsilon", "rate", "mse", "mse_clamped", "ratio", "ratio_5", "ratio_95")
RATE = Axis("sampling rate n/N (1: all records)", log=True)


@dataclass(frozen=True)
class Accuracy:
    """The whole experiment, each part worked out when it is first asked for."""

    experiment: Experiment = field(default_factory=Experiment)
    curve_epsilons: tuple[float, ...] = CURVE_EPSILONS
    curve_rates: tuple[float, ...] = CURVE_RATES

    @cached_property
    def means(self) -> list[Cell]:
        """Of the lognormal population."""
        return self.experiment.mean(POPULATIONS[0])

    @cached_property
    def medians(self) -> dict[str, list[Cell]]:
        """By the name of the population; filled by `median`."""
        return {}

    def median(self, population: Population) -> list[Cell]:
        """The cells of one population."""
        if population.name not in self.medians:
            self.medians[population.name] = self.experiment.median(population)
        return self.medians[population.name]

    def charts(self) -> dict[str, Callable[[], Chart]]:
        """Every picture by the name of its file."""
        found: dict[str, Callable[[], Chart]] = {
            "accuracy-density-lognormal": lambda: _densities(POPULATIONS[:1], "lognormal"),
            "accuracy-density-mixtures": lambda: _densities(POPULATIONS[1:], "beta mixtures"),
            "accuracy-mean": self._mean_chart,
        }
        for population in POPULATIONS:
            for name, mechanism in (("smooth", TEXTBOOK), ("calibrated", CALIBRATED), ("exponential", EXPONENTIAL)):
                found[f"accuracy-{name}-{population.name}"] = lambda p=population, m=mechanism: self._median_chart(p, m)
            found[f"accuracy-ratio-{population.name}"] = lambda p=population: self._ratio_chart(p)
            found[f"accuracy-best-rate-{population.name}"] = lambda p=population: self._best_rates(p)
        return found

    def _setting(self, population: Population, more: str = f"δ = {DELTA:g}") -> str:
        return (
            f"{population.words}; N = {self.experiment.size}, {self.experiment.repeats} samples without replacement, "
            f"replace one record; {more}"
        )

    def _mean_chart(self) -> Chart:
        lines = []
        for epsilon in self.experiment.epsilons:
            for mechanism, stroke in (("mean, closed form", Stroke.SOLID), ("mean, simulated", Stroke.DOTTED)):
                x, y = _points(self.means, mechanism, epsilon, "error")
                label = f"ε = {epsilon:g}" + (", simulated" if stroke is Stroke.DOTTED else "")
                lines.append(ChartLine(label, x, y, stroke=stroke, measured=True))
        y_axis = Axis("mean squared error", log=True)
        said = self._setting(POPULATIONS[0], "Laplace noise, δ = 0")
        return Chart("A mean gains nothing from a sample", said, RATE, y_axis, tuple(lines))

    def _median_chart(self, population: Population, mechanism: str) -> Chart:
        cells, lines = self.median(population), []
        for epsilon in self.experiment.epsilons:
            x, y = _points(cells, mechanism, epsilon, "error")
            lines.append(ChartLine(f"ε = {epsilon:g}", x, y, measured=True))
        for epsilon in self.experiment.epsilons if mechanism == TEXTBOOK else ():
            x, y = _points(cells, mechanism, epsilon, "clamped")
            lines.append(ChartLine(f"ε = {epsilon:g}, clamped", x, y, stroke=Stroke.DOTTED, measured=True))
        title = f"Median by {mechanism}, {population.title}"
        said = self._setting(population, "δ = 0") if mechanism == EXPONENTIAL else self._setting(population)
        return Chart(title, said, RATE, Axis("mean squared error", log=True), tuple(lines))

    def _ratio_chart(self, population: Population) -> Chart:
        lines = []
        for epsilon in self.experiment.epsilons:
            cells = _of(self.median(population), TEXTBOOK, epsilon)
            x, y = tuple(cell.rate for cell in cells), tuple(cell.ratio[0] for cell in cells if cell.ratio)
            lines.append(ChartLine(f"ε = {epsilon:g}", x, y, measured=True))
        lines.append(ChartLine("no change", (min(self.experiment.rates), 1.0), (1.0, 1.0), stroke=Stroke.DOTTED))
        said = self._setting(population, f"mean over the samples, textbook β, δ = {DELTA:g}")
        y_axis = Axis("smooth sensitivity, sample / population", log=True)
        title = f"Is the sensitivity smaller in a sample? {population.title}"
        return Chart(title, said, RATE, y_axis, tuple(lines))

    def _best_rates(self, population: Population) -> Chart:
        """The open question of the paper, answered by the planner: averages over populations, errors clamped."""
        plans = [
            plan.median(
                population=self.experiment.size,
                bounds=population.bounds,
                epsilon=epsilon,
                delta=DELTA,
                model=population.model,
                rates=self.curve_rates,
            )
            for epsilon in self.curve_epsilons
        ]
        lines = []
        for mechanism, stroke in ((TEXTBOOK, Stroke.SOLID), (CALIBRATED, Stroke.DASHED), (EXPONENTIAL, Stroke.DOTTED)):
            best = tuple(found.best_of(mechanism).rate for found in plans)
            lines.append(ChartLine(mechanism, self.curve_epsilons, best, stroke=stroke, measured=True))
        said = (
            f"{population.words}; N = {self.experiment.size}, δ = {DELTA:g}; expected error of the clamped release; "
            f"rates below {min(self.curve_rates):g} are not tried: a line at the bottom may go on below"
        )
        x, y = Axis("ε, nats", log=True), Axis("best sampling rate (1: do not sample)", log=True, domain=(0.01, 1.2))
        return Chart(f"The best sampling rate, {population.title}", said, x, y, tuple(lines))

    def tables(self) -> dict[str, str]:
        """accuracy.md and accuracy.csv: every number of the experiment."""
        cells = [*self.means, *(cell for population in POPULATIONS for cell in self.median(population))]
        return {"accuracy.md": self._markdown(cells), "accuracy.csv": _csv(cells)}

    def _markdown(self, cells: list[Cell]) -> str:
        said = {population.name: population for population in POPULATIONS}
        lines = [
            "# Accuracy of samples",
            "",
            f"log10 of the mean squared error by sampling rate; in brackets that of the release moved to the bounds. "
            f"N = {self.experiment.size}, delta = {DELTA:g}, {self.experiment.repeats} samples.",
        ]
        rates = self.experiment.rates
        for name, mechanism in dict.fromkeys((cell.population, cell.mechanism) for cell in cells):
            lines += ["", f"## {mechanism}: {said[name].words}", ""]
            lines += ["| epsilon | " + " | ".join(f"{100 * rate:g}%" for rate in rates) + " |"]
            lines += ["|---" * (len(rates) + 1) + "|"]
            mine = [cell for cell in cells if (cell.population, cell.mechanism) == (name, mechanism)]
            for epsilon in self.experiment.epsilons:
                by_rate = {cell.rate: _logs(cell) for cell in mine if cell.epsilon == epsilon}
                lines.append(f"| {epsilon:g} | " + " | ".join(by_rate.get(rate, "unsound") for rate in rates) + " |")
        return "\n".join(lines) + "\n"


def _logs(cell: Cell) -> str:
    plain, clamped = (f"{math.log10(value):.2f}" for value in (cell.error, cell.clamped))
    return plain if plain == clamped else f"{plain} ({clamped})"


def _csv(cells: Iterable[Cell]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEAD)
    for cell in cells:
        ratio = [f"{value:.6g}" for value in cell.ratio] if cell.ratio else [""] * 3
        numbers = [f"{value:.6g}" for value in (cell.epsilon, cell.rate, cell.error, cell.clamped)]
        writer.writerow([cell.population, cell.mechanism, *numbers, *ratio])
    return text.getvalue()


def _of(cells: list[Cell], mechanism: str, epsilon: float) -> list[Cell]:
    return sorted(
        (cell for cell in cells if cell.mechanism == mechanism and cell.epsilon == epsilon), key=lambda cell: cell.rate
    )


def _points(
    cells: list[Cell], mechanism: str, epsilon: float, what: str
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    found = _of(cells, mechanism, epsilon)
    return tuple(cell.rate for cell in found), tuple(getattr(cell, what) for cell in found)


def _densities(populations: tuple[Population, ...], words: str) -> Chart:
    lines = []
    for population in populations:
        low, high = population.bounds
        x = np.linspace(low, high if population.name != "lognormal" else 600.0, 301)
        lines.append(
            ChartLine(population.words, tuple(x.tolist()), tuple(np.asarray(population.model.pdf(x)).tolist()))
        )
    return Chart(
        f"Density of the population: {words}", "the public models", Axis("value"), Axis("density"), tuple(lines)
    )
