"""Gradient steps: when they bring no two points apart, and what one noisy pass of them loses against the best model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hush.checks import count, delta_in_range, listed, number, positive
from hush.errors import InvalidParameter
from hush.mechanisms.last_iterate.descent import ConvexLoss
from hush.mechanisms.last_iterate.one_pass import OnePassGradientDescent
from hush.mechanisms.leaves.gaussian import Gaussian
from hush.numerics.rounding import UNIT
from hush.questions.calibrate import calibrate
from hush.questions.text_table import aligned

EXACT_TERMS = 1000
"""Terms of the harmonic sum that are added one by one; the rest is bounded by a logarithm."""


@dataclass(frozen=True)
class GradientStep:
    """What w -> w - step_size grad f(w) does to distances, for every loss of a class."""

    step_size: float
    smoothness: float
    strong_convexity: float

    @property
    def contraction(self) -> float:
        """The least c such that the step is c-Lipschitz for every loss of the class, rounded up.

        max(|1 - eta m|, |1 - eta M|): for convex, M-smooth losses it is at most 1 if and only if eta <= 2/M. Quadratics
        of curvature m and M attain it (proof in docs/theory/iteration-proofs.md; Hardt, Recht, Singer 2016, Lemma 3.7).
        """
        ends = abs(1 - self.step_size * self.strong_convexity), abs(1 - self.step_size * self.smoothness)
        return max(ends) * (1 + 4 * UNIT) + (0.0 if max(ends) in (0.0, 1.0) else 4 * UNIT)

    @property
    def contractive(self) -> bool:
        """Whether no two points are brought apart."""
        return self.step_size * self.smoothness <= 2

    @property
    def worst_curvature(self) -> float:
        """Of a quadratic that attains the contraction: two points 1 apart are that far apart after the step."""
        ends = self.strong_convexity, self.smoothness
        return max(ends, key=lambda curvature: abs(1 - self.step_size * curvature))

    def __str__(self) -> str:
        said = "brings no two points apart" if self.contractive else "can bring points apart"
        return (
            f"a step of size {self.step_size:g} on {self.smoothness:g}-smooth losses {said}: distances change by at "
            f"most {self.contraction:.6g}, attained by curvature {self.worst_curvature:g}; the limit is 2/smoothness = "
            f"{2 / self.smoothness:g}"
        )


def gradient_step(*, step_size: float, smoothness: float, strong_convexity: float = 0.0) -> GradientStep:
    """The proposition that gradient steps are contractive where step_size <= 2/smoothness, with its exact constant.

    >>> [gradient_step(step_size=eta, smoothness=4.0).contractive for eta in (0.5, 0.6)]
    [True, False]
    >>> round(gradient_step(step_size=0.6, smoothness=4.0).contraction, 9)
    1.4
    """
    who = "gradient_step"
    positive(who, step_size=step_size)
    positive(who, smoothness=smoothness)
    rule = f"0 <= strong_convexity <= smoothness = {smoothness:g}"
    curved = number(who, rule, 0.0, float(smoothness), strong_convexity=strong_convexity)
    return GradientStep(float(step_size), float(smoothness), curved)


def excess_loss(*, distance: float, steps: int, step_size: float, squared_gradient: float) -> float:
    """Upper bound on E f(w) - min f of the last iterate of one pass of steps of one size: rounded up.

    distance^2 / (2 eta (n+1)) + eta G^2 / 2 (1 + H_n): `distance` from the start to the best model, G^2 the mean square
    of a noisy gradient, H_n = 1 + 1/2 + ... + 1/n. Convex losses, one fresh record per step (Shamir, Zhang 2013, here
    for a constant step: proof in docs/theory/iteration-proofs.md).

    >>> round(excess_loss(distance=1.0, steps=10_000, step_size=0.003, squared_gradient=1.0), 5)
    0.03285
    """
    few = min(steps, EXACT_TERMS)
    harmonic = math.fsum(1 / k for k in range(1, few + 1)) + (math.log(steps / few) if steps > few else 0.0)
    spread = step_size * squared_gradient / 2 * (1 + harmonic)
    return (distance**2 / (2 * step_size * (steps + 1)) + spread) * (1 + 16 * UNIT)


@dataclass(frozen=True)
class OnePassRow:
    """One pass that meets a target: what it gives away, its noise, and what it may lose."""

    epsilon: float
    noise: float
    step_size: float
    excess: float
    """Upper bound on the expected excess population loss."""
    run: OnePassGradientDescent | None
    """None where there is no noise."""


@dataclass(frozen=True)
class OnePassPlan:
    """Privacy, noise and expected excess loss of one pass, side by side; the last row has no noise and no privacy."""

    records: int
    delta: float
    rows: tuple[OnePassRow, ...]

    def __str__(self) -> str:
        head = ("epsilon", "noise", "step size", "excess loss at most")
        lines = [(f"{r.epsilon:g}", f"{r.noise:.4g}", f"{r.step_size:.4g}", f"{r.excess:.4g}") for r in self.rows]
        title = f"One noisy pass over {self.records} records, replace-one, delta {self.delta:g}; the last row: no noise"
        return "\n".join([title, "", *aligned([head, *lines])])


def one_pass_plan(
    *,
    loss: ConvexLoss,
    records: int,
    dimensions: int,
    distance: float,
    delta: float,
    epsilons: Sequence[float] = (0.5, 1.0, 2.0, 4.0, 8.0),
) -> OnePassPlan:
    """One pass over i.i.d. records for several targets: the noise that each needs, and the excess population loss then.

    `distance` bounds how far the best model is from the start. Step sizes are the best for the bound, and no larger
    than contraction allows. No data is looked at.

    >>> loss = ConvexLoss(smoothness=1, strong_convexity=0, lipschitz=1)
    >>> plan = one_pass_plan(loss=loss, records=10**6, dimensions=10, distance=1.0, delta=1e-6, epsilons=[1.0])
    >>> [round(row.excess, 4) for row in plan.rows]
    [0.1049, 0.0039]
    """
    who = "one_pass_plan"
    records, dimensions = count(who, 1, records=records), count(who, 1, dimensions=dimensions)
    positive(who, distance=distance)
    delta = delta_in_range(who, delta)
    if not isinstance(loss, ConvexLoss) or loss.lipschitz == math.inf:
        raise InvalidParameter(who, "a hush.ConvexLoss with a finite lipschitz", loss=loss)
    rows = []
    for epsilon in listed(who, "a list of targets", epsilons=epsilons):
        limit = number(who, "1e-6 <= epsilon <= 100", 1e-6, 100.0, epsilon=epsilon)
        multiplier = calibrate(Gaussian, over=(0.01, 1e8), epsilon=limit, delta=delta).value
        rows.append(_row(loss, records, dimensions, float(distance), limit, loss.moved * float(multiplier)))
    return OnePassPlan(records, delta, (*rows, _row(loss, records, dimensions, float(distance), math.inf, 0.0)))


def _row(loss: ConvexLoss, records: int, dimensions: int, distance: float, epsilon: float, noise: float) -> OnePassRow:
    square = loss.lipschitz**2 + dimensions * noise**2
    best = distance / math.sqrt((records + 1) * square * (1 + math.log(records) + 1))
    step = min(best, 2 / loss.smoothness)
    excess = excess_loss(distance=distance, steps=records, step_size=step, squared_gradient=square)
    run = OnePassGradientDescent(loss=loss, records=records, noise=noise, step_size=step) if noise else None
    return OnePassRow(epsilon, noise, step, excess, run)
