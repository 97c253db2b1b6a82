"""One noisy pass of which only the last iterate is released."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hush.arrays import Array
from hush.learning.linear.bounded_rows import BoundedRecords
from hush.learning.linear.method import (
    GENEROUS,
    ROUNDED_UP,
    SHARE_OF_ROUNDING,
    Method,
    MethodPlan,
    Task,
    gaussian_multiplier,
)
from hush.learning.linear.noisy_descent import REACH
from hush.learning.linear.random_vectors import concealed, normal_noise
from hush.mechanisms.last_iterate.descent import ConvexLoss
from hush.mechanisms.last_iterate.one_pass import OnePassGradientDescent
from hush.mechanisms.leaves.stated import PureDP
from hush.randomness.source import Source

LARGEST_WEIGHTS = 100.0
"""Radius of the ball that iterates are projected on."""
BLOCK = 1 << 12
"""Steps whose noise is drawn at once."""


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
