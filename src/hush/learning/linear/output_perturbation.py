"""Output perturbation: the regularised minimiser, with noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hush.arrays import Array
from hush.checks import number
from hush.learning.linear.bounded_rows import BoundedRecords
from hush.learning.linear.method import ROUNDED_UP, SHARE_OF_ROUNDING, Method, MethodPlan, Task, gaussian_multiplier
from hush.learning.linear.random_vectors import concealed, float_error, spherical_laplace
from hush.learning.linear.solver import minimiser
from hush.mechanisms.leaves.gaussian import Gaussian
from hush.mechanisms.leaves.stated import PureDP
from hush.randomness.additive import add_gaussian, scale_for
from hush.randomness.source import Source

SOLVED = 1e-8
"""Norm of the gradient, in units of one record's largest, at which the solver stops; the error of floats is added."""
MOST_EPSILON = 500.0
"""The largest epsilon that a stated guarantee can hold."""
USEFUL_NORM = 5.0
"""Norm of weights that classify well where rows have norm 1: what the strength of the regularisation is chosen for."""

REASON = (
    "output perturbation of a regularised convex loss: Chaudhuri, Monteleoni, Sarwate 2011, Thm 6; on rows of norm at "
    "most data_norm; what solver and floats err by is hidden by more noise, and charged"
)


@dataclass(frozen=True)
class Output(Method):
    """The minimiser of Σ loss + Λ/2 |θ|² moves by at most L/Λ with one record more or less; noise covers that.

    Chaudhuri, Monteleoni, Sarwate 2011, Alg. 1. Gaussian noise, or for delta=0 noise with density exp(-|b|/scale).

    >>> Output()
    Output()
    """

    def plan(self, task: Task) -> MethodPlan:
        examples = task.known_examples("Output")
        pure = task.delta == 0
        if pure:
            number("Output", f"epsilon <= {MOST_EPSILON:g} where delta=0", 0.0, MOST_EPSILON, epsilon=task.epsilon)
        exact = task.epsilon * (1 - SHARE_OF_ROUNDING)
        multiplier = scale_for(exact) if pure else gaussian_multiplier(task.epsilon, task.delta)
        spread = multiplier * (task.dimensions if pure else math.sqrt(task.dimensions))
        ridge = examples * (_strength(task, spread / examples) if task.regularization is None else task.regularization)
        stop = SOLVED * task.lipschitz + task.gradient_error(ridge)
        radius = 2 * stop / ridge
        sensitivity = task.lipschitz / ridge * ROUNDED_UP
        tilt = np.zeros(task.shape)

        def train(records: BoundedRecords, source: Source) -> Array:
            weights = minimiser(task.loss, records, ridge=ridge, tilt=tilt, gradient_norm=stop)
            if not pure:
                moved = sensitivity + 2 * radius
                return add_gaussian(weights, sensitivity=moved, noise_multiplier=multiplier, source=source).values
            noise = spherical_laplace(source, task.dimensions).reshape(task.shape)
            hidden = task.epsilon * SHARE_OF_ROUNDING
            scale = sensitivity * multiplier
            off = radius + scale * float_error(task.dimensions)
            return concealed(weights + noise * scale, radius=off, epsilon=hidden, source=source)

        return MethodPlan(PureDP(task.epsilon, reason=REASON) if pure else Gaussian(multiplier), train)


def _strength(task: Task, noise: float) -> float:
    """λ that minimises (smoothness/2) (L noise/λ)² + (λ/2) USEFUL_NORM²: what noise costs, and what λ does."""
    return float((2 * task.smoothness * (task.lipschitz * noise) ** 2 / USEFUL_NORM**2) ** (1 / 3))
