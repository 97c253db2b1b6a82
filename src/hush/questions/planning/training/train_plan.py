"""Plans for private training: how batches are drawn, how much noise each step gets, and what the whole gives away."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal

import numpy as np

from hush.checks import count, number
from hush.curves.bound import Bound
from hush.errors import InvalidParameter, NotCovered
from hush.markup import Shown, Text
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.scheme import Scheme
from hush.mechanisms.schemes.poisson import Poisson
from hush.mechanisms.schemes.spaced.banded_noise import BandedNoise
from hush.questions.charts.drawing import Axis, Chart, ChartLine
from hush.questions.json.codec import decode, encode
from hush.questions.json.mechanisms import VERSION
from hush.questions.json.strict import as_list, as_number, as_whole, members, parse, refuse
from hush.questions.planning.training.accounted_run import (
    STEADY,
    checked_numbers,
    draws_of,
    run_of,
    schedule_of,
    scheme_of,
)
from hush.questions.planning.training.least_noise import least_noise
from hush.questions.planning.training.noise_schedule import NoiseSchedule, factor_at
from hush.questions.statement import statement
from hush.randomness.source import Source, source_or_secure

MOST_POINTS = 60
"""Epochs that a chart asks for."""


@dataclass(frozen=True)
class TrainPlan(Shown):
    """What will run: the scheme that draws the batches is the one that is accounted for."""

    examples: int
    batch_size: int
    epochs: float
    scheme: Scheme
    noise_multiplier: float
    delta: float
    mechanism: Mechanism
    bound: Bound = field(init=False)
    """What the mechanism gives away at delta: worked out here, so that nobody can hand in another."""
    noise_schedule: NoiseSchedule = ()
    """From which step on the noise is so many times the noise multiplier."""
    noise: BandedNoise | None = None
    """How the noise of the steps is correlated; None where it is independent."""

    def __post_init__(self) -> None:
        """Refuse fields that do not belong together (dataclasses.replace), and derive the bound from the mechanism."""
        scheme = scheme_of(type(self.scheme), self.noise, self.examples, self.batch_size, self.epochs)
        schedule = schedule_of(self.noise_schedule, scheme, self.noise)
        draws = draws_of(scheme, self.examples, self.batch_size, self.epochs)
        run = run_of(scheme, self.noise_multiplier, draws, schedule)
        if (scheme, run) != (self.scheme, self.mechanism):
            rule = "fields that belong together: make another plan by hush.train_plan(...)"
            raise InvalidParameter("TrainPlan", rule, mechanism=str(self.mechanism))
        object.__setattr__(self, "bound", self.mechanism.epsilon(delta=self.delta))
        if math.isinf(self.bound.upper):
            rule = "a finite epsilon"
            raise InvalidParameter("train_plan", rule, noise_multiplier=self.noise_multiplier, delta=self.delta)

    @property
    def epsilon(self) -> float:
        """What the whole plan gives away at its delta: an upper bound."""
        return self.bound.upper

    @property
    def epoch_steps(self) -> int:
        """Steps that one draw of the scheme makes: 1, or those of an epoch."""
        return self.scheme.steps

    @property
    def steps(self) -> int:
        """All steps."""
        return self.scheme.training_steps(examples=self.examples, batch_size=self.batch_size, epochs=self.epochs)

    def noise_at(self, step: int) -> float:
        """The noise multiplier of a step.

        >>> fading = ((0, 1.0), (10, 0.5))
        >>> plan = train_plan(
        ...     examples=100, batch_size=10, epochs=2, noise_multiplier=2.0, delta=1e-3, noise_schedule=fading
        ... )
        >>> plan.noise_at(9), plan.noise_at(10), str(plan.mechanism)
        (2.0, 1.0, '...')
        """
        return self.noise_multiplier * factor_at(self.noise_schedule, step)

    @property
    def expected_batch(self) -> float:
        """Examples of a step on average, as planned: what sums are divided by. Never the number that was drawn."""
        return float(self.batch_size) if self.scheme.one_sample else self.examples * self.scheme.step_share

    @property
    def size_is_public(self) -> bool:
        """Whether the guarantee takes the number of examples as known, so that the data must have exactly that many."""
        return self.scheme.public_size

    def batches(self, population: int, source: Source | None = None, *, start: int = 0) -> Iterator[np.ndarray]:
        """The numbers of the examples of each step, drawn by the scheme, from step `start` on.

        >>> plan = train_plan(examples=100, batch_size=10, epochs=2, epsilon=3.0, delta=1e-3)
        >>> [batch.dtype for batch in plan.batches(100, start=18)]
        [dtype('int64'), dtype('int64')]
        """
        start = self.checked_start(start)
        population = self.checked_population(population)
        source = source_or_secure(source)
        return self._drawn(population, source, start)

    def _drawn(self, population: int, source: Source, start: int) -> Iterator[np.ndarray]:
        steps = (batch for draw in self.scheme.course(population, source) for batch in draw)
        yield from islice(steps, self.steps - start)

    def checked_start(self, start: int) -> int:
        """A step at which training may begin: an epoch that is drawn as a whole is trained as a whole."""
        start = count("TrainPlan.batches", 0, start=start)
        if start > self.steps or (start % self.epoch_steps and start != self.steps):
            rule = f"a step up to {self.steps}"
            rule += "" if self.epoch_steps == 1 else f", at the end of an epoch (a multiple of {self.epoch_steps})"
            raise InvalidParameter("TrainPlan.batches", rule, start=start)
        return start

    def checked_population(self, population: int) -> int:
        """The size of the data: the planned one where the guarantee takes it as public, else any."""
        population = count("TrainPlan.batches", 0, population=population)
        if self.size_is_public and population != self.examples:
            rule = f"the planned number of examples ({self.examples}), which this scheme takes as public"
            raise InvalidParameter("TrainPlan.batches", rule, population=population)
        return population

    def first(self, steps: int) -> Mechanism:
        """The mechanism of a shorter run whose length was fixed without looking at any result of it.

        Whoever stops because of what they saw owes the epsilon of the whole plan.

        >>> plan = train_plan(examples=1000, batch_size=10, epochs=2, epsilon=3.0, delta=1e-5)
        >>> plan.first(200) == plan.mechanism, plan.first(100).epsilon(delta=1e-5).upper < 3
        (True, True)
        """
        steps = count("TrainPlan.first", 0, steps=steps)
        if steps > self.steps:
            raise InvalidParameter("TrainPlan.first", f"at most the {self.steps} steps of the plan", steps=steps)
        return run_of(self.scheme, self.noise_multiplier, -(-steps // self.epoch_steps), self.noise_schedule)

    def chart(self, *others: TrainPlan) -> Chart:
        """epsilon after each epoch, at the delta of the plan; other plans of the same delta beside it.

        >>> plan = train_plan(examples=1000, batch_size=10, epochs=3, noise_multiplier=1.0, delta=1e-5)
        >>> [round(epsilon, 3) for epsilon in plan.chart().lines[0].y]
        [0.718, 0.912, 1.068]
        """
        plans = (self, *others)
        if len({plan.delta for plan in plans}) > 1:
            raise InvalidParameter("chart", "plans of one delta", deltas=[plan.delta for plan in plans])
        titles = [f"{plan.scheme.title or plan.scheme}, noise {plan.noise_multiplier:.4g}" for plan in plans]
        labels = [f"{title} ({place})" if titles.count(title) > 1 else title for place, title in enumerate(titles, 1)]
        lines = tuple(plan.line_by_epoch(label) for plan, label in zip(plans, labels, strict=True))
        said = f"{self.examples} examples, {self.batch_size} expected per step; {self.mechanism.compared}"
        y = Axis(f"ε at δ = {self.delta:g}, nats")
        return Chart("What each epoch adds", said, Axis("epochs"), y, lines)

    def line_by_epoch(self, label: str) -> ChartLine:
        """What the chart draws of this plan: one point per epoch that is complete, 60 at most, and the end."""
        whole = math.floor(self.epochs)
        epochs = sorted({*range(1, whole + 1, max(1, math.ceil(whole / MOST_POINTS))), self.epochs} - {0.0})
        runs = [self.first(self._steps_of(e)) for e in epochs]
        bounds = [run.epsilon(delta=self.delta, tolerance=1e-4) for run in runs]
        lower = tuple(bound.lower for bound in bounds) if any(bound.lower for bound in bounds) else ()
        upper = tuple(bound.upper for bound in bounds)
        return ChartLine(label, tuple(map(float, epochs)), upper, lower, measured=True)

    def _steps_of(self, epochs: float) -> int:
        """Steps of so many epochs, from the first on."""
        return self.epoch_steps * draws_of(self.scheme, self.examples, self.batch_size, epochs)

    def statement(self, unit: str = "record", *, style: str = "plain") -> Text:
        """The guarantee of the whole plan in words."""
        subject = f"a model trained in {self.steps} steps on {self.examples} examples" if style == "methods" else ""
        return statement(self.mechanism, delta=self.delta, unit=unit, style=style, subject=subject)

    def to_json(self) -> str:
        """The plan as JSON text; `train_plan_from_json` reads it."""
        fields = {
            "examples": self.examples,
            "batch_size": self.batch_size,
            "epochs": self.epochs,
            "scheme": encode(self.scheme),
            "noise_multiplier": self.noise_multiplier,
            "delta": self.delta,
            **({"noise_schedule": [list(pair) for pair in self.noise_schedule]} if self.noise_schedule else {}),
            **({} if self.noise is None else {"noise": list(self.noise.coefficients)}),
        }
        return json.dumps({"hush_train_plan": VERSION, **fields, "mechanism": encode(self.mechanism)})

    @property
    def _fading(self) -> str:
        said = ", ".join(f"{factor:g} from step {step} on" for step, factor in self.noise_schedule)
        return f" times {said}" if said else ""

    def __str__(self) -> str:
        correlated = "" if self.noise is None else f" with {self.noise}"
        return (
            f"{self.steps} steps on {self.scheme}{correlated}: {self.epochs:g} epochs of {self.examples} examples, "
            f"{self.batch_size} expected per step\n"
            f"noise multiplier {self.noise_multiplier:.6g}{self._fading}; epsilon {self.bound.reported(6)} "
            f"at delta = {self.delta:g} for the whole plan ({self.mechanism.compared})"
        )


def train_plan(
    *,
    examples: int,
    batch_size: int,
    epochs: float,
    delta: float,
    epsilon: float | None = None,
    noise_multiplier: float | None = None,
    scheme: type[Scheme] = Poisson,
    noise_schedule: Sequence[tuple[int, float]] = (),
    noise: Literal["independent", "correlated"] | BandedNoise = "independent",
) -> TrainPlan:
    """A plan for DP-SGD: the least noise that meets (epsilon, delta), or what a given noise_multiplier gives.

    `examples` is a public number. `scheme` is how batches are drawn: hush.Poisson (each example in each step with
    probability batch_size/examples), hush.Allocation (each example in one random step per epoch), hush.ShuffledBatches
    or hush.WithoutReplacement (replace-one). `noise_schedule` is a public plan of noise that changes: ((0, 1.0), (500,
    0.7)) has 0.7 times the noise from step 500 on, accounted as one run after the other. No data is looked at.

    `noise`: independent in every step (DP-SGD), or correlated, so that the noise of prefix sums is the least that any
    number of bands gives at this target (hush.CyclicPoisson then stands for hush.Poisson; hush.CyclicAllocation is
    another way). That is never worse in this measure, as one band is DP-SGD; it says nothing certain of accuracy. Or a
    hush.BandedNoise of your own.

    >>> plan = train_plan(examples=60_000, batch_size=256, epochs=10, epsilon=2.0, delta=1e-5)
    >>> print(plan)
    2344 steps on Poisson sampling at rate 0.00426667: 10 epochs of 60000 examples, 256 expected per step
    noise multiplier 0.786...; epsilon = 2 at delta = 1e-05 for the whole plan (add or remove one record)
    """
    who = "train_plan"
    examples, batch_size, epochs = checked_numbers(examples, batch_size, epochs, scheme)
    delta = number(who, "0 < delta < 1", 0.0, 1.0, low_open=True, high_open=True, delta=delta)
    if noise == "correlated":
        if len(noise_schedule):
            raise NotCovered(STEADY)
        return correlated_plan(
            examples=examples, batch_size=batch_size, epochs=epochs, delta=delta, epsilon=epsilon, scheme=scheme
        ).plan
    banded = noise if isinstance(noise, BandedNoise) else None
    if banded is None and noise != "independent":
        raise InvalidParameter(who, "noise='independent', noise='correlated' or a hush.BandedNoise", noise=noise)
    way = scheme_of(scheme, banded, examples, batch_size, epochs)
    draws = draws_of(way, examples, batch_size, epochs)
    if (epsilon is None) == (noise_multiplier is None):
        rule = "either epsilon or noise_multiplier"
        raise InvalidParameter(who, rule, epsilon=epsilon, noise_multiplier=noise_multiplier)
    schedule = schedule_of(noise_schedule, way, banded)
    if noise_multiplier is None:
        rate = min(way.bands * batch_size / examples, 1.0)
        noise_multiplier = least_noise(way, draws, rate, epsilon, delta, schedule)
    mechanism = run_of(way, noise_multiplier, draws, schedule)
    return TrainPlan(examples, batch_size, epochs, way, float(noise_multiplier), delta, mechanism, schedule, banded)


def train_plan_from_json(text: str) -> TrainPlan:
    """The plan that was written by `TrainPlan.to_json`: worked out again, and checked against the mechanism beside it.

    >>> plan = train_plan(examples=100, batch_size=10, epochs=2, epsilon=3.0, delta=1e-3)
    >>> train_plan_from_json(plan.to_json()) == plan
    True
    """
    names = {"examples", "batch_size", "epochs", "scheme", "noise_multiplier", "delta", "mechanism", "hush_train_plan"}
    given = members(parse(text), names, {"noise_schedule", "noise"})
    schedule = [as_list(pair) for pair in as_list(given.get("noise_schedule", []))]
    if any(len(pair) != 2 for pair in schedule):
        refuse("pairs [step, factor]", noise_schedule=given["noise_schedule"])
    if as_whole(given["hush_train_plan"]) != VERSION:
        refuse(f"a plan of version {VERSION}", hush_train_plan=given["hush_train_plan"])
    scheme = decode(Scheme, given["scheme"])
    plan = train_plan(
        examples=as_whole(given["examples"]),
        batch_size=as_whole(given["batch_size"]),
        epochs=as_number(given["epochs"]),
        delta=as_number(given["delta"]),
        noise_multiplier=as_number(given["noise_multiplier"]),
        scheme=type(scheme),
        noise_schedule=[(as_whole(step), as_number(factor)) for step, factor in schedule],
        noise=BandedNoise(given["noise"]) if "noise" in given else "independent",
    )
    if plan.scheme != scheme or encode(plan.mechanism) != given["mechanism"]:
        refuse("the scheme and the mechanism that its numbers make", scheme=str(scheme), mechanism=given["mechanism"])
    return plan


BANDS = (1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 25, 32, 40, 50, 64)
"""Numbers of bands that a plan tries. The error is flat near its least value, so that others would gain little."""


@dataclass(frozen=True)
class BandChoice:
    """The plan with the least error of prefix sums, and that error for every number of bands that was tried."""

    plan: TrainPlan
    errors: dict[int, float]
    """Root of the mean variance of the prefix sums, in units of the clipping norm, by bands; 1 is DP-SGD."""

    @property
    def ratio(self) -> float:
        """The error over that of independent noise at the same target: at most 1."""
        return min(self.errors.values()) / self.errors[1]


def correlated_plan(
    *,
    examples: int,
    batch_size: int,
    epochs: float,
    delta: float,
    epsilon: float | None,
    scheme: type[Scheme] = Poisson,
    bands: Sequence[int] = BANDS,
) -> BandChoice:
    """Plans at one target for several numbers of bands, and the one with the least error of prefix sums.

    >>> found = correlated_plan(examples=1000, batch_size=10, epochs=4, delta=1e-5, epsilon=4.0, bands=[1, 8])
    >>> found.plan.noise.bands, found.ratio < 0.8
    (8, True)
    """
    task = {"examples": examples, "batch_size": batch_size, "epochs": epochs, "delta": delta, "epsilon": epsilon}
    plans = {1: train_plan(scheme=scheme, **task)}
    steps = max(plans[1].steps, 1)
    for each in bands:
        if each * batch_size <= examples and 1 < each <= steps:
            noise = BandedNoise.optimal(steps=steps, bands=each)
            try:
                plans[each] = train_plan(scheme=scheme, noise=noise, **task)
            except InvalidParameter:
                if scheme is Poisson:
                    raise  # else: so many bands do not divide an epoch
    errors = {each: plan.noise_multiplier * (plan.noise or INDEPENDENT).rmse(steps) for each, plan in plans.items()}
    return BandChoice(plans[min(errors, key=lambda each: errors[each])], errors)


INDEPENDENT = BandedNoise([1.0])
"""One band: no correlation."""
