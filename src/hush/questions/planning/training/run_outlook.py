"""What to expect of a planned training: noise against signal, epsilon against steps, and what larger batches buy."""

from __future__ import annotations

import math
import textwrap
from dataclasses import asdict, dataclass
from typing import Any

from hush.errors import InvalidParameter
from hush.questions.charts.drawing import Axis, Chart, ChartLine
from hush.questions.planning.result import WIDTH
from hush.questions.planning.training.train_plan import TrainPlan, train_plan
from hush.questions.text_table import aligned

PARTS = (0.05, 0.1, 0.25, 0.5, 0.75, 1.0)
"""Parts of the run for which epsilon is shown."""
PARTS_OF_SLOW = (0.1, 0.5, 1.0)
"""The same where an epsilon takes seconds."""
LARGER = (1, 2, 4, 8)
LARGER_OF_SLOW = (1, 4)
"""How many times the planned batch the larger ones are."""


@dataclass(frozen=True)
class RunPart:
    """The first steps of a run, had their number been fixed before."""

    steps: int
    epochs: float
    epsilon: float


@dataclass(frozen=True)
class LargerBatch:
    """The same epochs and the same epsilon with batches of another size."""

    batch_size: int
    steps: int
    noise_multiplier: float
    noise_per_gradient: float
    """Deviation of the noise on the average gradient of a step, in clipping norms, in each direction."""
    signal_to_noise: float
    """Of one step: its inverse. Gradients that all point one way are so many deviations of the noise long."""
    of_the_run: float
    """The same over all steps: their sum grows with the steps, its noise with their root."""


@dataclass(frozen=True)
class RunOutlook:
    """What a plan means, in numbers that depend on no data; its text is three tables."""

    plan: TrainPlan
    parts: tuple[RunPart, ...]
    larger: tuple[LargerBatch, ...]

    @property
    def hints(self) -> tuple[str, ...]:
        """What the tables say."""
        own, most = self.larger[0], self.larger[-1]
        found = [
            f"Signal to noise: {own.signal_to_noise:.3g} in a step and {own.of_the_run:.3g} over the run, in a "
            "direction in which all clipped gradients agree; the noise is as large in each of the model's directions."
        ]
        if most.batch_size > own.batch_size:
            gain = most.of_the_run / own.of_the_run
            found.append(
                f"Batches of {most.batch_size} at the same epochs: {most.steps} steps with "
                f"{most.noise_multiplier:.3g} times the clipping norm of noise, and {gain:.3g} times the signal to "
                "noise of the run, for as many gradients."
            )
        found.append(
            "The epsilon of a part holds where its length was fixed before; whoever stops by what they see owes all."
        )
        return tuple(found)

    def document(self) -> dict[str, Any]:
        """All of it as plain numbers and texts, for JSON."""
        return {
            "examples": self.plan.examples,
            "batch_size": self.plan.batch_size,
            "epochs": self.plan.epochs,
            "scheme": str(self.plan.scheme),
            "relation": self.plan.mechanism.relation.value,
            "steps": self.plan.steps,
            "noise_multiplier": self.plan.noise_multiplier,
            "epsilon": self.plan.epsilon,
            "delta": self.plan.delta,
            "parts": [asdict(part) for part in self.parts],
            "larger": [asdict(row) for row in self.larger],
            "hints": self.hints,
        }

    def chart(self) -> Chart:
        """Epsilon against steps."""
        steps = tuple(float(part.steps) for part in self.parts)
        line = ChartLine("epsilon", steps, tuple(part.epsilon for part in self.parts))
        said = f"{self.plan.scheme}, noise multiplier {self.plan.noise_multiplier:.4g}, delta {self.plan.delta:g}"
        return Chart("Epsilon of a training run", said, Axis("steps"), Axis("epsilon"), (line,))

    def __str__(self) -> str:
        parts = [("steps", "epochs", "epsilon")]
        parts += [(str(part.steps), f"{part.epochs:.3g}", f"{part.epsilon:.4g}") for part in self.parts]
        head = ("batch", "steps", "noise multiplier", "noise/gradient", "signal/noise of a step", "of the run")
        larger = [
            (
                str(row.batch_size),
                str(row.steps),
                f"{row.noise_multiplier:.5g}",
                f"{row.noise_per_gradient:.4g}",
                f"{row.signal_to_noise:.4g}",
                f"{row.of_the_run:.4g}",
            )
            for row in self.larger
        ]
        said = [part for text in self.hints for part in textwrap.wrap(text, WIDTH)]
        return "\n".join([str(self.plan), "", *aligned(parts), "", *aligned([head, *larger]), "", *said])


def run_outlook(plan: TrainPlan) -> RunOutlook:
    """What a plan means: how epsilon grows with the steps, and what larger batches at the same epsilon would buy."""
    if not isinstance(plan, TrainPlan):
        raise InvalidParameter("plan.outlook", "a plan of hush.train_plan(...)", plan=type(plan).__name__)
    quick = plan.scheme.quick
    lengths = dict.fromkeys(_length(plan, part) for part in (PARTS if quick else PARTS_OF_SLOW))
    parts = tuple(_part(plan, steps) for steps in lengths)
    sizes = dict.fromkeys(
        min(plan.batch_size * times, plan.examples) for times in (LARGER if quick else LARGER_OF_SLOW)
    )
    return RunOutlook(plan, parts, tuple(_with_batches(plan, size) for size in sizes))


def _length(plan: TrainPlan, part: float) -> int:
    """About this part of the steps, in whole draws."""
    return min(plan.steps, math.ceil(part * plan.steps / plan.epoch_steps) * plan.epoch_steps)


def _part(plan: TrainPlan, steps: int) -> RunPart:
    whole = steps == plan.steps
    epsilon = plan.epsilon if whole else plan.first(steps).epsilon(delta=plan.delta).upper
    return RunPart(steps, plan.epochs * steps / max(plan.steps, 1), epsilon)


def _with_batches(plan: TrainPlan, size: int) -> LargerBatch:
    """The plan for batches of another size; noise that changes by a schedule is that of its first step."""
    other = plan
    if size != plan.batch_size:
        other = train_plan(
            examples=plan.examples,
            batch_size=size,
            epochs=plan.epochs,
            epsilon=min(max(plan.epsilon, 1e-6), 100.0),
            delta=plan.delta,
            scheme=type(plan.scheme),
        )
    noise = other.noise_at(0)
    ratio = other.expected_batch / noise
    return LargerBatch(size, other.steps, noise, 1 / ratio, ratio, ratio * math.sqrt(other.steps))
