"""The experiment of Hu, Drechsler and Kim 2021: does noise for a sample err less than noise for the population?

One population is drawn from a public model, and samples without replacement from it, many times. A release on a sample
may spend epsilon_n = log(1 + (N/n)(e^epsilon - 1)) and delta_n = (N/n) delta. Noise is drawn for the mean only;
elsewhere its expected square is added, which gives the same with less chance in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy import stats

from hush.arrays import Array
from hush.curves.renyi.convert import amplify_inverse
from hush.curves.theorems.smooth_sensitivity import laplace_alpha, laplace_textbook, least_noise
from hush.numerics.clamped_error import LAPLACE
from hush.numerics.order_windows import Windows
from hush.questions.planning.model import Mixture
from hush.questions.planning.of_median import CALIBRATED, EXPONENTIAL, TEXTBOOK
from hush.randomness.source import SeededSource

DELTA = 1e-6
EPSILONS = (0.05, 0.1, 0.5, 1.0)
RATES = (0.01, 0.05, 0.1, 0.2, 0.5, 1.0)
SEED = 20_210_317
POPULATION_SEED = 53
"""The first whose mixture with a hole has its median 16 ranks from the hole: the nearer, the more a sample gains."""
CHUNK = 100
"""Samples that are drawn at once."""


@dataclass(frozen=True)
class Population:
    """A public model with its bounds."""

    name: str
    words: str
    model: Any
    bounds: tuple[float, float]

    @property
    def title(self) -> str:
        """What tells its figures apart."""
        return {"overlapping": "overlapping halves", "apart": "with a hole"}.get(self.name, self.name)


POPULATIONS = (
    Population(
        "lognormal", "lognormal(5, 0.5), bounds 0 to 2000", stats.lognorm(0.5, scale=math.exp(5)), (0.0, 2000.0)
    ),
    Population(
        "overlapping",
        "half 60 Beta(2, 2), half 40 + 60 Beta(2, 2), bounds 0 to 100",
        Mixture([(0.5, stats.beta(2, 2, scale=60)), (0.5, stats.beta(2, 2, loc=40, scale=60))]),
        (0.0, 100.0),
    ),
    Population(
        "apart",
        "half 40 Beta(2, 2), half 60 + 40 Beta(2, 2), bounds 0 to 100",
        Mixture([(0.5, stats.beta(2, 2, scale=40)), (0.5, stats.beta(2, 2, loc=60, scale=40))]),
        (0.0, 100.0),
    ),
)
"""A smooth one, one of two halves that overlap, and one with a hole where its median lies."""


@dataclass(frozen=True)
class Cell:
    """One mechanism on samples of one rate."""

    population: str
    mechanism: str
    epsilon: float
    rate: float
    error: float
    """Mean squared error."""
    clamped: float
    """The same if the release is moved to the bounds where it leaves them."""
    ratio: tuple[float, float, float] | None = None
    """Smooth sensitivity of the sample over that of the population: its mean, and its 5% and 95% quantiles."""


@dataclass(frozen=True)
class Experiment:
    """How large, how often, and where."""

    size: int = 10_001
    repeats: int = 1000
    epsilons: tuple[float, ...] = EPSILONS
    rates: tuple[float, ...] = RATES
    source: SeededSource = field(default_factory=lambda: SeededSource(SEED))

    def records(self, rate: float) -> int:
        return round(rate * self.size)

    @cached_property
    def ranks(self) -> dict[float, Array]:
        """For each rate below 1: the ranks (from 0) of each sample in the sorted population, sorted."""
        below = [rate for rate in self.rates if rate < 1]
        found: dict[float, list[Array]] = {rate: [] for rate in below}
        for start in range(0, self.repeats, CHUNK):
            many = min(CHUNK, self.repeats - start)
            orders = np.argsort(self.source.words(many * self.size).reshape(many, self.size), axis=1).astype(np.int32)
            for rate in below:
                found[rate].append(np.sort(orders[:, : self.records(rate)], axis=1))
        whole = {1.0: np.arange(self.size, dtype=np.int32)[None, :]}
        return {rate: np.concatenate(parts) for rate, parts in found.items()} | whole

    def drawn(self, population: Population) -> Array:
        """The population, sorted: one record for each of N uniform numbers."""
        chances = ((SeededSource(POPULATION_SEED).words(self.size) >> np.uint64(11)).astype(float) + 0.5) * 2.0**-53
        return np.sort(np.clip(population.model.ppf(chances), *population.bounds))

    def mean(self, population: Population) -> list[Cell]:
        """Laplace noise on the mean: the closed form, and a simulation with drawn noise."""
        values = self.drawn(population)
        spread = population.bounds[1] - population.bounds[0]
        truth, variance = float(values.mean()), float(values.var(ddof=1))
        cells = []
        for rate in self.rates:
            n = self.records(rate)
            means = np.resize(values[self.ranks[rate]].mean(axis=1), self.repeats)
            for epsilon in self.epsilons:
                inner = amplify_inverse(epsilon, 0.0, n / self.size)[0]
                scale = spread / (inner * n)
                formula = (1 - n / self.size) * variance / n + 2 * scale**2
                noisy = means + scale * self._laplace(self.repeats)
                inside = np.clip(noisy, *population.bounds)
                plain, moved = (float(np.mean((found - truth) ** 2)) for found in (noisy, inside))
                bounded = float(LAPLACE.error(truth, truth, *population.bounds, scale)) - 2 * scale**2
                cells.append(Cell(population.name, "mean, closed form", epsilon, rate, formula, formula + bounded))
                cells.append(Cell(population.name, "mean, simulated", epsilon, rate, plain, moved))
        return cells

    def _laplace(self, many: int) -> Array:
        """Continuous Laplace noise for simulations: not exact, and not private."""
        chance = ((self.source.words(many) >> np.uint64(11)).astype(float) + 0.5) * 2.0**-53 - 0.5
        return -np.sign(chance) * np.log1p(-2 * np.abs(chance))

    def median(self, population: Population) -> list[Cell]:
        """Smooth sensitivity, by the textbook and calibrated, and the exponential mechanism."""
        values = self.drawn(population)
        return [
            cell
            for epsilon in self.epsilons
            for rate in sorted(self.rates, reverse=True)
            for cell in self._medians(population, values, epsilon, rate)
        ]

    def _medians(self, population: Population, values: Array, epsilon: float, rate: float) -> list[Cell]:
        inner, delta = amplify_inverse(epsilon, DELTA, self.records(rate) / self.size)
        noises = {CALIBRATED: least_noise(lambda beta: laplace_alpha(inner, delta, beta))}
        plain = laplace_textbook(inner, delta)
        if plain:
            noises[TEXTBOOK] = plain
        cells = [self._exponential(population, values, epsilon, rate, inner / 2)]
        truth = values[self.size // 2]
        for mechanism, (alpha, beta) in noises.items():
            smooth, centre = self._smooth(population, values, rate, beta)
            whole = self._smooth(population, values, 1.0, self._whole_beta(mechanism, epsilon))[0][0]
            error = float(np.mean((centre - truth) ** 2 + 2 * (smooth / alpha) ** 2))
            clamped = float(np.mean(LAPLACE.error(centre, truth, *population.bounds, smooth / alpha)))
            ratio = (float(np.mean(smooth / whole)), *np.quantile(smooth / whole, [0.05, 0.95]).tolist())
            cells.append(Cell(population.name, mechanism, epsilon, rate, error, clamped, ratio))
        return cells

    def _whole_beta(self, mechanism: str, epsilon: float) -> float:
        """Of the population at the same target."""
        if mechanism == TEXTBOOK:
            return epsilon / (2 * math.log(2 / DELTA))
        return least_noise(lambda beta: laplace_alpha(epsilon, DELTA, beta))[1]

    def _exponential(self, population: Population, values: Array, epsilon: float, rate: float, decay: float) -> Cell:
        windows = self._windows(population, values, rate, math.ceil(40 / decay) + 2)
        n = self.records(rate)
        first, second = windows.exponential_moments(decay, n / 2 - (n + 1) // 2)
        off = windows.centre - values[self.size // 2]
        error = float(np.mean(off**2 + 2 * off * first + second))
        return Cell(population.name, EXPONENTIAL, epsilon, rate, error, error)

    def _smooth(self, population: Population, values: Array, rate: float, beta: float) -> tuple[Array, Array]:
        """Smooth sensitivities of the samples, and their medians. Past the reach, weights are below what a few ranks
        around the middle of the population already give."""
        steps = np.unique(np.geomspace(1, self.records(rate) // 2, 50).astype(int))
        half = np.minimum((steps / (2 * rate)).astype(int), self.size // 2)
        middle = self.size // 2
        typical = np.max((values[middle + half] - values[middle - half]) * np.exp(-beta * steps))
        depth = math.log((population.bounds[1] - population.bounds[0]) / (typical / 4))
        windows = self._windows(population, values, rate, math.ceil(depth / beta) + 2)
        return windows.smooth_sensitivity(beta), windows.centre

    def _windows(self, population: Population, values: Array, rate: float, reach: int) -> Windows:
        """The samples around their medians."""
        ranks = self.ranks[rate]
        n = ranks.shape[1]
        middle = (n + 1) // 2 - 1
        down = values[ranks[:, max(middle - reach, 0) : middle + 1]][:, ::-1]
        up = values[ranks[:, middle : middle + reach + 1]]
        low, high = (np.full((len(ranks), 1), bound) for bound in population.bounds)
        return Windows(
            np.concatenate([down, low], axis=1) if reach > middle else down,
            np.concatenate([up, high], axis=1) if middle + reach >= n else up,
        )
