"""Methods of which only the last iterate is released: one noisy pass, or steps on capped samples."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from hush.arrays import Array
from hush.checks import count, positive
from hush.learning.linear.bounded_rows import BoundedRecords
from hush.learning.linear.method import (
    GENEROUS,
    MOST_NOISE,
    ROUNDED_UP,
    SHARE_OF_ROUNDING,
    Method,
    MethodPlan,
    Task,
    gaussian_multiplier,
)
from hush.learning.linear.noisy_descent import REACH, regularization
from hush.learning.linear.random_vectors import concealed, normal_noise
from hush.mechanisms.last_iterate.descent import ConvexLoss
from hush.mechanisms.last_iterate.one_pass import OnePassGradientDescent
from hush.mechanisms.last_iterate.sampled_descent import SampledGradientDescent
from hush.mechanisms.leaves.stated import PureDP
from hush.mechanisms.schemes.capped_poisson import CappedPoisson
from hush.questions.calibrate import calibrate
from hush.randomness.source import Source

LARGEST_WEIGHTS = 100.0
"""Radius of the ball that iterates are projected on."""
BLOCK = 1 << 12
"""Steps whose noise is drawn at once."""
NEAR = 0.01
"""So much of the budget may be left unused: each look takes most of a second."""
LOOKS = 8
"""Looks around a first guess of the noise, until it is searched for in the whole range."""
FALL, STEEPEST = -1.5, -4.0
"""How fast log epsilon falls in log noise, at the least and at the most: only the number of looks depends on it."""


@dataclass(frozen=True)
class OnePass(Method):
    """One noisy gradient step per record, in the given order, and the last iterate alone: amplification by iteration.

    The number of records is public (REPLACE). The guarantee is that of the last record, which nothing hides; earlier
    ones are hidden by later noise: `hush.OnePassGradientDescent.record_epsilon` tells how well.

    >>> OnePass()
    OnePass()
    """

    public_size = True

    def plan(self, task: Task) -> MethodPlan:
        task.approximate("OnePass")
        records = task.known_examples("OnePass")
        strength = task.regularization or 0.0
        smoothness = (task.smoothness + strength) * ROUNDED_UP
        hidden = min(task.epsilon * SHARE_OF_ROUNDING, 1.0)
        moved = 2 * task.lipschitz * ROUNDED_UP
        noise = moved * gaussian_multiplier(task.epsilon - hidden, task.delta) * GENEROUS
        step = min(1 / smoothness, REACH / (noise * math.sqrt(records * task.columns)))
        loss = ConvexLoss(smoothness=smoothness, strong_convexity=strength, sensitivity=moved)
        run = OnePassGradientDescent(loss=loss, records=records, noise=noise, step_size=step)
        mechanism = run.then(PureDP(hidden, run.relation, reason="Laplace noise hides how floats round"))
        noisy_pass = NoisyPass(task, strength, noise, step)

        def train(data: BoundedRecords, source: Source) -> Array:
            weights = noisy_pass.last_iterate(data, source)
            return concealed(weights, radius=noisy_pass.rounding(records), epsilon=hidden, source=source)

        return MethodPlan(mechanism, train)


@dataclass(frozen=True)
class NoisyPass:
    """The steps in floats, which stay close to those in real numbers because no step moves two points apart."""

    task: Task
    strength: float
    noise: float
    step: float

    def last_iterate(self, records: BoundedRecords, source: Source) -> Array:
        loss, weights = self.task.loss, np.zeros(self.task.shape)
        for start in range(0, len(records.rows), BLOCK):
            rows, targets = records.rows[start : start + BLOCK], records.targets[start : start + BLOCK]
            noise = self.noise * normal_noise(source, (len(rows), *self.task.shape))
            for k in range(len(rows)):
                row = rows[k : k + 1]
                gradient = row.T @ loss.slopes(row @ weights, targets[k : k + 1]) + self.strength * weights
                weights = weights - self.step * (gradient + noise[k])
                weights = weights * min(1.0, LARGEST_WEIGHTS / max(math.sqrt(float((weights**2).sum())), 1e-300))
        return weights

    def rounding(self, records: int) -> float:
        """A bound on how far the floats end from the real numbers: a generous error per step, times the steps."""
        size = LARGEST_WEIGHTS + self.step * (self.task.lipschitz + 40 * self.noise * math.sqrt(self.task.dimensions))
        return records * (self.task.dimensions + 20) * 2.0**-50 * size


@dataclass(frozen=True, kw_only=True)
class SampledLastIterate(Method):
    """Noisy steps on capped Poisson samples, in a ball of this radius, and the last iterate alone.

    `examples` need not be exact: the account holds for any number of records. What earlier steps revealed is hidden by
    the noise of later ones, so that the noise stops growing with the number of steps: worth it for many steps, a small
    ball and strong regularisation.

    >>> SampledLastIterate(steps=2000).batch_size
    256
    """

    steps: int = 1000
    batch_size: int = 256
    radius: float = 5.0

    def __post_init__(self) -> None:
        count("SampledLastIterate", 1, steps=self.steps)
        count("SampledLastIterate", 1, batch_size=self.batch_size)
        positive("SampledLastIterate", radius=self.radius)

    def plan(self, task: Task) -> MethodPlan:
        task.approximate("SampledLastIterate")
        records = task.known_examples("SampledLastIterate")
        size = min(self.batch_size, records)
        scheme = replace(CappedPoisson.for_training(examples=records, batch_size=size, epochs=1), population=None)
        strength, hidden = regularization(task), min(task.epsilon * SHARE_OF_ROUNDING, 1.0)
        smoothness = task.smoothness * ROUNDED_UP
        step = 1 / (smoothness * scheme.cap / size + strength)
        loss = ConvexLoss(smoothness=smoothness, strong_convexity=0, lipschitz=task.lipschitz * ROUNDED_UP)
        run = _least_noise(
            loss, scheme, size, step, self.steps, 2 * self.radius, strength, task.epsilon - hidden, task.delta
        )
        mechanism = run.then(PureDP(hidden, run.relation, reason="Laplace noise hides how floats round"))

        def train(data: BoundedRecords, source: Source) -> Array:
            weights = self._last_iterate(task, run, data, source)
            return concealed(weights, radius=self._rounding(task, run), epsilon=hidden, source=source)

        return MethodPlan(mechanism, train)

    def _last_iterate(self, task: Task, run: SampledGradientDescent, data: BoundedRecords, source: Source) -> Array:
        weights = np.zeros(task.shape)
        for _ in range(self.steps):
            drawn = run.scheme.draw(len(data.rows), source)
            rows, targets = data.rows[drawn], data.targets[drawn]
            gradient = (
                rows.T @ task.loss.slopes(rows @ weights, targets) / run.batch_size + run.regularization * weights
            )
            weights = weights - run.step_size * (gradient + run.noise * normal_noise(source, task.shape))
            weights = weights * min(1.0, self.radius / max(math.sqrt(float((weights**2).sum())), 1e-300))
        return weights

    def _rounding(self, task: Task, run: SampledGradientDescent) -> float:
        """How far the floats end from the real numbers: a generous error per step, times the steps, as none grows."""
        reach = self.radius + run.step_size * run.scheme.cap * (
            task.lipschitz + 40 * run.noise * math.sqrt(task.dimensions)
        )
        return self.steps * (task.dimensions + run.scheme.cap + 20) * 2.0**-50 * reach


@lru_cache(maxsize=8)
def _least_noise(
    loss: ConvexLoss,
    scheme: CappedPoisson,
    batch_size: int,
    step_size: float,
    steps: int,
    diameter: float,
    strength: float,
    epsilon: float,
    delta: float,
) -> SampledGradientDescent:
    """The run with the least noise that meets the budget: from a guess, by few looks at what is certified."""

    def build(noise: float) -> SampledGradientDescent:
        return SampledGradientDescent(
            loss=loss,
            scheme=scheme,
            batch_size=batch_size,
            noise=noise,
            step_size=step_size,
            iterations=steps,
            diameter=diameter,
            regularization=strength,
        )

    over = (0.05 * loss.lipschitz / batch_size, MOST_NOISE * loss.lipschitz / batch_size)
    budget = {"over": over, "epsilon": epsilon, "delta": delta, "tolerance": NEAR}
    place = math.log(calibrate(lambda noise: build(noise).unfilled(), **budget).value)
    seen: list[tuple[float, float]] = []
    for _ in range(LOOKS):
        run = build(math.exp(place))
        spent = run.epsilon(delta=delta, tolerance=NEAR).upper / epsilon
        if not 0 < spent < math.inf:
            break
        excess = math.log(spent)
        if -NEAR <= excess <= 0:
            return run
        seen.append((place, excess))
        place += _step(seen)
    return build(float(calibrate(build, **budget).value))


def _step(seen: list[tuple[float, float]]) -> float:
    """From the last place to where the line through it and the one before ends a little below 0."""
    place, excess = seen[-1]
    slope = FALL
    if len(seen) > 1 and place != seen[-2][0]:
        slope = min(max((excess - seen[-2][1]) / (place - seen[-2][0]), STEEPEST), FALL)
    return -(excess + NEAR / 2) / slope
