"""Training plans: noise, epsilon and compute against batch size and steps, at one target."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from hush.checks import count, delta_in_range, number
from hush.errors import InvalidParameter
from hush.markup import Shown
from hush.mechanisms.leaves.gaussian import Gaussian
from hush.mechanisms.schemes.poisson import Poisson
from hush.questions.calibrate import calibrate
from hush.questions.charts.drawing import Axis, Chart, ChartLine
from hush.questions.planning.free_sampling import free_rate
from hush.questions.planning.of_mean import multiplier
from hush.questions.planning.result import WIDTH
from hush.questions.text_table import aligned

TOLERANCE = 1e-4
FREE = 1.1
"""Within this factor of the noise of whole batches a smaller batch counts as free."""


@dataclass(frozen=True)
class TrainingRow:
    """One way to train: batches of one size for so many epochs."""

    batch_size: int
    epochs: float
    steps: int
    rate: float
    noise_multiplier: float
    epsilon: float
    """What is certified for this noise: at most the target."""
    noise_per_example: float
    """Deviation of the noise on the average gradient of a batch, in clipping norms."""
    cost_of_sampling: float
    """The same noise over that of as many steps on whole batches."""

    @property
    def gradients(self) -> float:
        """Gradients of single examples, on average over the draws: the compute."""
        return float(self.batch_size) * self.steps


@dataclass(frozen=True)
class TrainingPlans(Shown):
    """Noise and compute of DP-SGD for several batch sizes and epochs at one (epsilon, delta); its text is a table."""

    examples: int
    epsilon: float
    delta: float
    rows: tuple[TrainingRow, ...]

    @property
    def quietest(self) -> TrainingRow:
        """The least noise on an average gradient."""
        return min(self.rows, key=lambda row: row.noise_per_example)

    @property
    def cheapest_free(self) -> TrainingRow | None:
        """The fewest gradients among the rows where sampling costs almost no noise; None if it costs in all."""
        free = [row for row in self.rows if row.cost_of_sampling <= FREE]
        return min(free, key=lambda row: row.gradients, default=None)

    @property
    def hints(self) -> tuple[str, ...]:
        """What the rows say together."""
        quiet, free = self.quietest, self.cheapest_free
        found = [
            f"Least noise on a gradient: batches of {quiet.batch_size} for {quiet.epochs:g} epochs, "
            f"{quiet.noise_per_example:.3g} clipping norms."
        ]
        if free is None:
            found.append(f"Every row pays for sampling with more than {FREE:g} times the noise of whole batches.")
        else:
            found.append(
                f"Sampling is as good as free (at most {FREE:g} times the noise of whole batches) from batches of "
                f"{free.batch_size} for {free.epochs:g} epochs on: {free.gradients:.3g} gradients."
            )
        most = max(self.rows, key=lambda row: row.steps)
        least = free_rate(epsilon=self.epsilon, queries=most.steps)
        found.append(
            f"Steinke: over k = {most.steps} steps a sample is free only for p of the order epsilon/sqrt(k), here "
            f"{least:.2g} for twice the noise: batches of {least * self.examples:.3g}, {least * most.steps:.3g} epochs."
        )
        return tuple(found)

    def document(self) -> dict[str, Any]:
        """All of it as plain numbers and texts, for JSON."""
        return {
            "examples": self.examples,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "rows": [asdict(row) for row in self.rows],
            "hints": self.hints,
        }

    def chart(self) -> Chart:
        """Noise on the average gradient against batch size, one line for each number of epochs."""
        lines: list[ChartLine] = []
        for epochs in dict.fromkeys(row.epochs for row in self.rows):
            rows = [row for row in self.rows if row.epochs == epochs]
            sizes = tuple(float(row.batch_size) for row in rows)
            lines.append(ChartLine(f"epochs: {epochs:g}", sizes, tuple(row.noise_per_example for row in rows)))
        said = f"{self.examples} examples, Poisson batches, epsilon {self.epsilon:g} at delta {self.delta:g}"
        x, y = Axis("batch size (expected)", log=True), Axis("noise on the average gradient, clipping norms", log=True)
        return Chart("Noise of DP-SGD at one target", f"{said}; add or remove one example", x, y, tuple(lines))

    def table(self) -> list[tuple[str, ...]]:
        """Head and rows as text."""
        head = (
            "batch",
            "epochs",
            "steps",
            "rate",
            "noise multiplier",
            "noise/gradient",
            "cost of sampling",
            "gradients",
        )
        body = [
            (
                str(row.batch_size),
                f"{row.epochs:g}",
                str(row.steps),
                f"{row.rate:.4g}",
                f"{row.noise_multiplier:.5g}",
                f"{row.noise_per_example:.4g}",
                f"{row.cost_of_sampling:.3g}",
                f"{row.gradients:.3g}",
            )
            for row in self.rows
        ]
        return [head, *body]

    def __str__(self) -> str:
        title = f"DP-SGD on {self.examples} examples, Poisson batches, epsilon {self.epsilon:g} at delta {self.delta:g}"
        said = [part for text in self.hints for part in textwrap.wrap(text, WIDTH)]
        return "\n".join([title, "", *aligned(self.table()), "", *said])


def training_plans(
    *, examples: int, batch_sizes: Iterable[int], epochs: Iterable[float], epsilon: float, delta: float
) -> TrainingPlans:
    """Every batch size with every number of epochs, each with the least noise that meets the target."""
    who = "plan.training"
    people = count(who, 1, examples=examples)
    limit = number(who, "0 < epsilon <= 100", 0.0, 100.0, low_open=True, epsilon=epsilon)
    part = delta_in_range(who, delta)
    if part == 0:
        raise InvalidParameter(who, "0 < delta < 1", delta=delta)
    sizes = sorted({count(who, 1, batch_size=size) for size in batch_sizes})
    rounds = sorted({number(who, "0 < epochs <= 1e9", 0.0, 1e9, low_open=True, epochs=e) for e in epochs})
    if not sizes or not rounds:
        raise InvalidParameter(who, "at least one batch size and one number of epochs", batch_sizes=sizes)
    if sizes[-1] > people:
        raise InvalidParameter(who, f"batches of at most all examples ({people})", batch_size=sizes[-1])
    rows = tuple(_row(people, size, passes, limit, part) for passes in rounds for size in sizes)
    return TrainingPlans(people, limit, part, rows)


def _row(examples: int, size: int, epochs: float, epsilon: float, delta: float) -> TrainingRow:
    rate, steps = size / examples, max(1, round(epochs * examples / size))
    whole = multiplier(epsilon, delta) * steps**0.5  # as many steps without sampling: one Gaussian
    if size == examples:
        found = calibrate(
            lambda noise: Gaussian(noise).repeat(steps),
            over=(0.5 * whole, 2 * whole),
            epsilon=epsilon,
            delta=delta,
            tolerance=TOLERANCE,
        )
    else:
        step = Poisson(rate=rate)
        found = calibrate(
            lambda noise: Gaussian(noise).on(step).repeat(steps),
            over=(0.5 * max(rate * whole, 0.05), 2 * whole),
            epsilon=epsilon,
            delta=delta,
            tolerance=TOLERANCE,
        )
    noise = float(found.value)
    cost = noise / (rate * whole)
    return TrainingRow(size, epochs, steps, rate, noise, found.bound.upper, noise / size, cost)
