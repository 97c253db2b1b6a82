"""Objective perturbation: a random linear term in the objective, then its minimiser."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from hush.arrays import Array
from hush.checks import number
from hush.errors import InvalidParameter
from hush.learning.linear.bounded_rows import LARGEST_NORM, BoundedRecords
from hush.learning.linear.method import ROUNDED_UP, SHARE_OF_ROUNDING, Method, MethodPlan, Task, gaussian_multiplier
from hush.learning.linear.output_perturbation import MOST_EPSILON, SOLVED, USEFUL_NORM
from hush.learning.linear.random_vectors import concealed, float_error, normal_noise, spherical_laplace
from hush.learning.linear.solver import minimiser
from hush.mechanisms.leaves.stated import ApproxDP, GaussianDP, PureDP
from hush.mechanisms.mechanism import Mechanism
from hush.randomness.source import Source

SHARE_OF_CURVATURE = 0.25
"""The most of epsilon that may go to the change of the Hessian; a larger Λ makes it less."""
MOST_CLASSES = 500
"""With k classes delta is divided by 2^k, which must stay within the range of floats."""
CURVE_MARGIN = 1 + 1e-7
"""More noise than the multiplier asks for, so that the stated curve, which is rounded up, still meets the budget."""
POINTS = np.concatenate([np.geomspace(0.2, 1, 20)[:-1], [1.0], np.geomspace(1, 4, 20)[1:]])
"""Where the curve of the guarantee is stated, in units of the epsilon that is left for the noise."""

CHARGED = "on rows of norm at most data_norm; what solver and floats err by is hidden by more noise, and charged"
PURE = f"objective perturbation of a convex loss: Chaudhuri, Monteleoni, Sarwate 2011, Thm 9; {CHARGED}"
GAUSSIAN = f"objective perturbation by Gaussian noise, linear models: Redberg, Koskela, Wang 2023, Sec. 3; {CHARGED}"


@dataclass(frozen=True)
class Objective(Method):
    """The minimiser of Σ loss + Λ/2 |θ|² + <b, θ> for a random b; each score is a problem of its own.

    For delta=0 Chaudhuri, Monteleoni, Sarwate 2011; else Gaussian b, by the privacy profile of Redberg, Koskela, Wang
    2023 for linear models. Where Λ is too small for the budget it is raised.

    >>> Objective()
    Objective()
    """

    joint = False

    def plan(self, task: Task) -> MethodPlan:
        number("Objective", f"epsilon <= {MOST_EPSILON:g}", 0.0, MOST_EPSILON, epsilon=task.epsilon)
        if task.loss.scores > MOST_CLASSES:
            raise InvalidParameter("Objective", f"at most {MOST_CLASSES} classes", classes=task.loss.scores)
        if task.delta > 0:  # the accountant rounds the epsilon of a stated curve up
            task = replace(task, epsilon=task.epsilon * (1 - 2e-8))
        noise = ObjectiveNoise.of(task)
        slope = task.loss.largest_slope * LARGEST_NORM
        tilt = noise.scale * (2 * task.columns + 40)
        stop = SOLVED * slope + task.gradient_error(noise.ridge, tilt)
        one = replace(task.loss, scores=1)
        # k vectors: the solver stops, and floats err, by 2 stop in the gradient, and b is off as well
        off = 2 * stop + noise.scale * float_error(task.columns)
        radius = off / noise.ridge * math.sqrt(task.loss.scores)

        def train(records: BoundedRecords, source: Source) -> Array:
            found: list[Array] = []
            for score in range(task.loss.scores):
                tilt = noise.draw(task.columns, source)[:, None]
                part = records.column(score)
                found.append(minimiser(one, part, ridge=noise.ridge, tilt=tilt, gradient_norm=stop))
            hidden = task.epsilon * SHARE_OF_ROUNDING
            return concealed(np.column_stack(found), radius=radius, epsilon=hidden, source=source)

        return MethodPlan(noise.mechanism(task), train)


@dataclass(frozen=True)
class ObjectiveNoise:
    """The law of b, and Λ."""

    ridge: float
    scale: float
    pure: bool

    @classmethod
    def of(cls, task: Task) -> ObjectiveNoise:
        """Λ first: what the noise asks for, or what was given, and no less than the curvature's share allows."""
        examples, scores = task.known_examples("Objective"), task.loss.scores
        slope = task.loss.largest_slope * LARGEST_NORM
        least = task.smoothness / math.expm1(SHARE_OF_CURVATURE * task.epsilon / scores)
        pure, rough = task.delta == 0, task.epsilon * (1 - SHARE_OF_CURVATURE)
        if task.regularization is None:
            size = slope * _multiplier(task, rough) * (task.columns if pure else math.sqrt(task.columns))
            wanted = size / USEFUL_NORM
        else:
            wanted = task.regularization * examples
        ridge = max(wanted, least)
        left = task.epsilon * (1 - SHARE_OF_ROUNDING) - _curvature(task, ridge)
        return cls(ridge, slope * _multiplier(task, left) * CURVE_MARGIN, pure)

    def draw(self, size: int, source: Source) -> Array:
        noise = spherical_laplace(source, size) if self.pure else normal_noise(source, (size,))
        return self.scale * noise

    def mechanism(self, task: Task) -> Mechanism:
        """The stated curve: δ(ε) <= 2^k times that of a Gaussian with k problems, at ε less the fixed parts."""
        if self.pure:
            return PureDP(task.epsilon, reason=PURE)
        fixed = _curvature(task, self.ridge) + SHARE_OF_ROUNDING * task.epsilon
        left, scores = task.epsilon - fixed, task.loss.scores
        slope = task.loss.largest_slope * LARGEST_NORM
        shift = GaussianDP(slope / self.scale * math.sqrt(scores) * ROUNDED_UP)
        deltas = [min(1.0, 2.0**scores * shift.delta(epsilon=left * float(u)).upper) for u in POINTS]
        points = [(fixed + left * float(u) if u != 1 else task.epsilon, d) for u, d in zip(POINTS, deltas, strict=True)]
        return ApproxDP(points=[(e, d) for e, d in points if d < 1 and e <= MOST_EPSILON], reason=GAUSSIAN)


def _curvature(task: Task, ridge: float) -> float:
    """log det of the Hessians' ratio: a record adds a matrix of rank one to each of k problems."""
    return task.loss.scores * math.log1p(task.smoothness / ridge) * ROUNDED_UP


def _multiplier(task: Task, left: float) -> float:
    """Scale of b in units of one record's largest gradient, if this epsilon is left for it."""
    scores = task.loss.scores
    if task.delta == 0:
        return scores / left
    return gaussian_multiplier(left, task.delta / 2.0**scores) * math.sqrt(scores)
