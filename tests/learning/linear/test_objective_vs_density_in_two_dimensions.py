"""Objective perturbation: the law of two weights, by its density on a grid, against what is claimed of it.

The minimiser θ of F(θ) + <b, θ> has the density p_b(-∇F(θ)) det ∇²F(θ), which is computed here from the losses alone:
none of the steps of the proof (ratios of determinants, half normals, sums over signs) is used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

import hush
from hush.learning.linear.bounded_rows import LARGEST_NORM
from hush.learning.linear.losses import LinearLoss, Logistic, SmoothHinge, Squared
from hush.learning.linear.method import Task
from hush.learning.linear.objective_perturbation import ObjectiveNoise

SIDE = 401
GAUSSIAN_REACH, LAPLACE_REACH = 7.5, 26.0
"""Where the tails of b end, in units of its scale: beyond is less than 1e-10 of the mass."""


@dataclass(frozen=True)
class Plane:
    """All pairs of weights: of two columns and one score, or of one column and two scores."""

    task: Task
    noise: ObjectiveNoise

    def __post_init__(self) -> None:
        assert self.task.dimensions == 2
        reach = (LAPLACE_REACH if self.noise.pure else GAUSSIAN_REACH) * self.noise.scale
        far = (reach + 4 * self.task.loss.largest_slope * LARGEST_NORM) / self.noise.ridge
        # closer together in the middle, where nearly all of the mass is
        line = np.sinh(np.linspace(-3, 3, SIDE)) / math.sinh(3)
        object.__setattr__(self, "axis", far * line)
        weights = np.gradient(far * line)
        object.__setattr__(self, "area", np.outer(weights, weights).ravel())
        object.__setattr__(self, "points", np.stack(np.meshgrid(far * line, far * line), -1).reshape(-1, 2))

    def log_density(self, rows: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """At every point, for records of this data set."""
        shape, one = self.task.shape, type(self.task.loss)(1)
        gradient = self.noise.ridge * self.points
        hessian = np.zeros((len(self.points), 2, 2)) + self.noise.ridge * np.eye(2)
        for row, target in zip(rows, targets, strict=True):
            for score in range(shape[1]):
                # which of the two weights belong to this score, and what multiplies them
                part = np.zeros(2)
                part[score if shape[0] == 1 else slice(None)] = row[0] if shape[0] == 1 else row
                z, wanted = (self.points @ part)[:, None], np.full((len(self.points), 1), target[score])
                gradient = gradient + one.slopes(z, wanted) * part
                hessian = hessian + one.bent(z, wanted, np.ones_like(z))[:, :, None] * np.outer(part, part)
        determinant = hessian[:, 0, 0] * hessian[:, 1, 1] - hessian[:, 0, 1] ** 2
        return self._law(gradient) + np.log(determinant)

    def _law(self, b: np.ndarray) -> np.ndarray:
        scale, sizes = self.noise.scale, np.linalg.norm(b, axis=1)
        if not self.noise.pure:
            return -((sizes / scale) ** 2) / 2 - math.log(2 * math.pi * scale**2)
        if self.task.shape[0] == 2:  # one vector, uniform direction, Gamma(2) length
            return -sizes / scale - math.log(2 * math.pi * scale**2)
        return -np.abs(b).sum(axis=1) / scale - 2 * math.log(2 * scale)  # two vectors of one entry

    def mass(self, log_density: np.ndarray) -> float:
        return float(np.exp(log_density) @ self.area)

    def hockey_stick(self, epsilon: float, one: np.ndarray, other: np.ndarray) -> float:
        return float(np.maximum(np.exp(one) - np.exp(epsilon + other), 0.0) @ self.area)


def plane(loss: LinearLoss, epsilon: float, delta: float, strength: float | None) -> tuple[Plane, hush.Mechanism]:
    task = Task(loss, 2 // loss.scores, epsilon, delta, 4, strength)
    noise = ObjectiveNoise.of(task)
    return Plane(task, noise), noise.mechanism(task)


def datasets(loss: LinearLoss) -> list[tuple[np.ndarray, np.ndarray]]:
    """Few records, the longest rows: a record against nothing, one against its like, one across to others."""
    low = -1.0 if isinstance(loss, SmoothHinge | Squared) else 0.0
    first = LARGEST_NORM * (np.array([[1.0, 0.0]]) if loss.scores == 1 else np.ones((1, 1)))
    across = LARGEST_NORM * np.array([[0.6, 0.8], [-0.8, 0.6], [0.6, -0.8]])
    others = across if loss.scores == 1 else LARGEST_NORM * np.array([[-1.0], [1.0], [0.5]])
    kinds = np.array([[1.0, low], [low, 1.0], [1.0, 1.0]])[:, : loss.scores]
    alone = (first, kinds[:1])
    twice = (np.vstack([first, first]), kinds[[0, 0]])
    many = (np.vstack([first, others]), np.vstack([kinds[:1], kinds]))
    return [alone, twice, many]


CASES = [
    (Logistic(1), 1.0, 1e-5, None),
    (Logistic(1), 0.3, 1e-2, 1e-9),
    (SmoothHinge(1), 3.0, 1e-5, 1.0),
    (Squared(1), 1.0, 1e-3, None),
    (Logistic(2), 1.0, 1e-5, 1e-9),
    (SmoothHinge(2), 2.0, 1e-3, None),
    (Logistic(1), 1.0, 0.0, 1e-9),
    (SmoothHinge(1), 0.3, 0.0, None),
    (Logistic(2), 3.0, 0.0, 1e-9),
]


@pytest.mark.parametrize(("loss", "epsilon", "delta", "strength"), CASES, ids=str)
def test_one_record_more_or_less(loss: LinearLoss, epsilon: float, delta: float, strength: float | None) -> None:
    where, claim = plane(loss, epsilon, delta, strength)
    for rows, targets in datasets(loss):
        whole, without = where.log_density(rows, targets), where.log_density(rows[1:], targets[1:])
        assert where.mass(whole) == pytest.approx(1, abs=4e-3)  # densities of rounded hinges jump
        for pair in ((whole, without), (without, whole)):
            if delta == 0:
                assert float((pair[0] - pair[1]).max()) <= epsilon
            for share in (0.25, 0.5, 1.0):
                allowed = claim.delta(epsilon=share * epsilon).upper
                assert where.hockey_stick(share * epsilon, *pair) <= allowed * (1 + 4e-3) + 1e-12


@pytest.mark.parametrize(("loss", "epsilon", "delta", "strength"), CASES[::2], ids=str)
def test_one_record_replaced(loss: LinearLoss, epsilon: float, delta: float, strength: float | None) -> None:
    where, claim = plane(loss, epsilon, delta, strength)
    replaced = claim.under(hush.Relation.REPLACE)
    for rows, targets in datasets(loss):
        other = np.vstack([targets[0] * (-1 if isinstance(loss, SmoothHinge | Squared) else 0), targets[1:]])
        one, two = where.log_density(rows, targets), where.log_density(np.vstack([-rows[:1], rows[1:]]), other)
        if delta == 0:
            assert float(np.abs(one - two).max()) <= 2 * epsilon
        for share in (0.5, 1.0, 2.0):
            allowed = replaced.delta(epsilon=share * epsilon).upper
            assert where.hockey_stick(share * epsilon, one, two) <= allowed * (1 + 4e-3) + 1e-12


@pytest.mark.parametrize("change", [{"scale": 0.9}, {"ridge": 0.6}])
def test_less_noise_than_claimed_is_caught(change: dict[str, float]) -> None:
    """The grid sees a scale, or a Λ, that is too small: a rounded hinge has its largest slope and curvature at once."""
    loss, epsilon = SmoothHinge(1), 1.0
    where, claim = plane(loss, epsilon, 0.0, 1e-9)
    worst = {}
    for name, noise in {
        "right": where.noise,
        "less": replace(where.noise, **{key: share * getattr(where.noise, key) for key, share in change.items()}),
    }.items():
        grid = Plane(where.task, noise)
        rows, targets = datasets(loss)[0]
        worst[name] = float(np.abs(grid.log_density(rows, targets) - grid.log_density(rows[1:], targets[1:])).max())
    assert 0.95 * epsilon < worst["right"] <= claim.epsilon(delta=0).upper < worst["less"]


def test_gaussian_claim_is_within_a_factor_of_the_truth() -> None:
    """Not a loose bound either: one record against nothing reaches a part of the stated delta."""
    where, claim = plane(Logistic(1), 1.0, 1e-3, 1.0)
    rows, targets = datasets(Logistic(1))[0]
    whole, without = where.log_density(rows, targets), where.log_density(rows[1:], targets[1:])
    found = max(where.hockey_stick(1.0, whole, without), where.hockey_stick(1.0, without, whole))
    assert 0.02 * claim.delta(epsilon=1.0).upper < found <= claim.delta(epsilon=1.0).upper
