"""Noisy gradient descent on clipped gradients: on all records (the default), or on Poisson samples."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from hush.arrays import Array
from hush.checks import count, number, positive
from hush.errors import InvalidParameter
from hush.learning.linear.bounded_rows import GRID, LARGEST_NORM, BoundedRecords, ExactSums
from hush.learning.linear.losses import LinearLoss
from hush.learning.linear.method import (
    LEAST_NOISE,
    MOST_NOISE,
    ROUNDED_UP,
    Method,
    MethodPlan,
    Task,
    gaussian_multiplier,
)
from hush.mechanisms.leaves.gaussian import Gaussian
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.schemes.poisson import Poisson
from hush.questions.calibrate import calibrate
from hush.questions.planning.training.central_limit import like_samples
from hush.randomness.additive import add_gaussian
from hush.randomness.source import Source

REGULARIZATION = 1e-4
"""In units where rows have norm 1; the noise and the end of the descent regularise too."""
SHARE_OF_COUNT = 0.05
"""Share of the budget that a noisy number of records costs where no public one is given. Gaussian steps add up in the
squares of their noise: this is the share of the sum of 1/noise_multiplier²."""
REACH = 4.0
"""How far the noise of all steps may carry the weights of two classes, were there no gradient."""
LARGEST_CLIP = 4.0
"""What the exact sums are made for."""
MOST_STEPS = 10**8
LARGEST_NOISE = 2.0**13
"""In units where rows have norm 1: exact noise is drawn for up to 2^50 steps of the sums' grid."""


def checked_clip(who: str, clip: float | None) -> None:
    """Refuse a clipping norm that the exact sums are not made for."""
    if clip is not None:
        number(who, f"0 < clip <= {LARGEST_CLIP:g}", 0.0, LARGEST_CLIP, low_open=True, clip=clip)


def checked_momentum(who: str, momentum: float) -> None:
    """Refuse a momentum with which the steps would never end."""
    number(who, "0 <= momentum < 1", 0.0, 1.0, high_open=True, momentum=momentum)


@dataclass(frozen=True, kw_only=True)
class FullBatchGradient(Method):
    """Descent on the clipped gradients of all records: its Gaussian steps are together one Gaussian mechanism.

    `clip` bounds a record's gradient where rows have norm 1. Without a public number of records a noisy one is taken,
    for a twentieth of the budget.

    >>> FullBatchGradient(steps=100)
    FullBatchGradient(steps=100, clip=None, momentum=0.9)
    """

    steps: int = 200
    clip: float | None = None
    momentum: float = 0.9

    def __post_init__(self) -> None:
        count("FullBatchGradient", 1, steps=self.steps)
        checked_clip("FullBatchGradient", self.clip)
        checked_momentum("FullBatchGradient", self.momentum)

    def plan(self, task: Task) -> MethodPlan:
        task.approximate("FullBatchGradient")
        total = gaussian_multiplier(task.epsilon, task.delta) * ROUNDED_UP
        counting = None if task.examples is not None else total / math.sqrt(SHARE_OF_COUNT)
        left = 1.0 if counting is None else 1 - SHARE_OF_COUNT
        step = total * math.sqrt(self.steps / left)
        mechanism: Mechanism = Gaussian(step).repeat(self.steps)
        if counting is not None:
            mechanism = Gaussian(counting).then(mechanism)
        clip = self.clip or task.loss.clip
        descent = Descent(task.loss, task.columns, self.steps, step, clip, self.momentum, regularization(task))
        descent.checked(task)

        def train(records: BoundedRecords, source: Source) -> Array:
            size = task.examples or noisy_count(len(records.rows), counting, source)
            return replace(descent, normaliser=size).run(records, lambda: slice(None), source)

        return MethodPlan(mechanism, train)


@dataclass(frozen=True, kw_only=True)
class PoissonGradient(Method):
    """DP-SGD: descent on the clipped gradients of a fresh Poisson sample per step, accounted for as it was drawn.

    >>> PoissonGradient(batch_size=128).epochs
    20
    """

    batch_size: int = 256
    epochs: float = 20
    clip: float | None = None
    momentum: float = 0.9

    def __post_init__(self) -> None:
        count("PoissonGradient", 1, batch_size=self.batch_size)
        positive("PoissonGradient", epochs=self.epochs)
        checked_clip("PoissonGradient", self.clip)
        checked_momentum("PoissonGradient", self.momentum)

    def plan(self, task: Task) -> MethodPlan:
        task.approximate("PoissonGradient")
        examples = task.known_examples("PoissonGradient")
        scheme = Poisson(rate=min(1.0, self.batch_size / examples))
        steps = math.ceil(self.epochs / scheme.rate)
        if steps > MOST_STEPS:
            rule = f"at most {MOST_STEPS} steps (a larger batch_size, or fewer epochs)"
            raise InvalidParameter("PoissonGradient", rule, steps=steps)
        noise, mechanism = calibrated_steps(scheme, steps, task.epsilon, task.delta)
        clip = self.clip or task.loss.clip
        descent = Descent(task.loss, task.columns, steps, noise, clip, self.momentum, regularization(task))
        descent = replace(descent.checked(task), normaliser=scheme.rate * examples)

        def train(records: BoundedRecords, source: Source) -> Array:
            return descent.run(records, lambda: scheme.draw(len(records.rows), source), source)

        return MethodPlan(mechanism, train)


@lru_cache(maxsize=16)
def calibrated_steps(scheme: Poisson, steps: int, epsilon: float, delta: float) -> tuple[float, Mechanism]:
    """The least noise of so many steps on samples that meets the budget, and the mechanism with it."""

    def build(noise: float) -> Mechanism:
        return Gaussian(noise).on(scheme).repeat(steps)

    def like(noise: float) -> Mechanism:
        return like_samples([(noise, steps)], rate=scheme.rate, replaced=False)

    found = calibrate(build, over=(0.05, MOST_NOISE), epsilon=epsilon, delta=delta, like=[like])
    return float(found.value), found.mechanism


def regularization(task: Task) -> float:
    """The strength that was asked for, or the default one."""
    return REGULARIZATION if task.regularization is None else task.regularization


def noisy_count(records: int, multiplier: float | None, source: Source) -> float:
    """The number of records with noise, and no less than the noise: it only sets the length of the steps."""
    if multiplier is None or multiplier < LEAST_NOISE:
        raise InvalidParameter("noisy_count", f"noise of {LEAST_NOISE:g} or more", multiplier=multiplier)
    noised = add_gaussian(np.array([records]), sensitivity=1.0, noise_multiplier=multiplier, source=source)
    return max(float(noised.values[0]), multiplier, 1.0)


@dataclass(frozen=True)
class Descent:
    """Steps with momentum on noisy sums, then the mean of the later half of the iterates; all public but the sums."""

    loss: LinearLoss
    columns: int
    steps: int
    noise_multiplier: float
    clip: float
    momentum: float
    regularization: float
    normaliser: float = 1.0
    """The expected number of records of a step."""

    @property
    def step_size(self) -> float:
        """Such that the noise of all steps together carries the weights of a score as far as REACH allows, and no more
        than smoothness allows; with momentum a step counts 1/(1 - momentum) times."""
        classes = 2 if self.loss.scores == 1 else self.loss.scores
        reach = REACH * math.sqrt(classes / 2)
        noise = self.noise_multiplier * self.clip * math.sqrt(self.columns) / self.normaliser
        smoothness = self.loss.largest_curvature * LARGEST_NORM**2 + self.regularization
        return min(reach / (noise * math.sqrt(self.steps)) * (1 - self.momentum), 1 / smoothness)

    def checked(self, task: Task) -> Descent:
        """This descent, if its noise is no larger than the grid of the exact sums allows."""
        if self.noise_multiplier * self.clip > LARGEST_NOISE:
            rule = f"a larger epsilon or fewer steps: noise of at most {LARGEST_NOISE / self.clip:g} clipping norms"
            raise InvalidParameter("fit", rule, epsilon=task.epsilon, delta=task.delta, noise=self.noise_multiplier)
        return self

    def run(self, records: BoundedRecords, places: Callable[[], Array | slice], source: Source) -> Array:
        sums = ExactSums(records)
        weights = np.zeros((self.columns, self.loss.scores))
        velocity, total, averaged = np.zeros_like(weights), np.zeros_like(weights), 0
        for step in range(self.steps):
            gradient = self._noisy_sum(sums, weights, places(), source) / self.normaliser
            velocity = self.momentum * velocity + self.step_size * (gradient + self.regularization * weights)
            weights = weights - velocity
            if 2 * step >= self.steps - 1:
                total, averaged = total + weights, averaged + 1
        return total / averaged

    def _noisy_sum(self, sums: ExactSums, weights: Array, places: Array | slice, source: Source) -> Array:
        whole = sums(self.loss, weights, self.clip, places)
        return add_gaussian(
            whole, sensitivity=self.clip, noise_multiplier=self.noise_multiplier, source=source, grid=GRID
        ).values
