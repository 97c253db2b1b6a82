"""The minimiser of a regularised convex risk, to a gradient that is small enough for the proofs."""

from __future__ import annotations

import math

import numpy as np

from hush.arrays import Array
from hush.learning.linear.bounded_rows import LARGEST_NORM, BoundedRecords
from hush.learning.linear.losses import LinearLoss

NEWTON_STEPS = 200
BLOCK = 1 << 10
"""Rows that are summed up one after the other; the sums of blocks are added pairwise, so that errors stay small."""
PATIENCE = 1000
"""Gradient steps without a shorter gradient, after which floats can do no better."""


def summed(rows: Array, slopes: Array) -> Array:
    """The sum of the outer products of rows and slopes, within 256 half units of the records' sum."""
    whole = len(rows) // BLOCK * BLOCK
    left = rows[:whole].reshape(-1, BLOCK, rows.shape[1]).swapaxes(1, 2)
    blocks = left @ slopes[:whole].reshape(-1, BLOCK, slopes.shape[1])
    pairwise = np.ascontiguousarray(np.moveaxis(blocks, 0, -1)).sum(axis=-1)
    return pairwise + rows[whole:].T @ slopes[whole:]


class Risk:
    """Σ loss + ridge/2 |θ|² + <tilt, θ>: strongly convex, its gradient Lipschitz."""

    def __init__(self, loss: LinearLoss, records: BoundedRecords, ridge: float, tilt: Array) -> None:
        self.loss, self.records, self.ridge, self.tilt = loss, records, ridge, tilt

    def value(self, weights: Array) -> float:
        z = self.records.rows @ weights
        losses = self.loss.value(z, self.records.targets)
        return float(losses.sum() + self.ridge / 2 * (weights**2).sum() + (self.tilt * weights).sum())

    def gradient(self, weights: Array) -> Array:
        z = self.records.rows @ weights
        slopes = self.loss.slopes(z, self.records.targets)
        return summed(self.records.rows, slopes) + self.ridge * weights + self.tilt

    def newton_direction(self, weights: Array, gradient: Array) -> Array:
        """Conjugate gradients on the Hessian, to a tenth of the gradient or to its square."""
        rows, z = self.records.rows, self.records.rows @ weights
        size = float(np.sqrt((gradient**2).sum()))
        goal = (min(0.1, size / (self.ridge + size)) * size) ** 2
        direction, rest = np.zeros_like(gradient), -gradient
        search, left = rest.copy(), float((rest**2).sum())
        for _ in range(2 * gradient.size + 10):
            if left <= goal:
                break
            bent = rows.T @ self.loss.bent(z, self.records.targets, rows @ search) + self.ridge * search
            step = left / float((search * bent).sum())
            direction, rest = direction + step * search, rest - step * bent
            now = float((rest**2).sum())
            search, left = rest + now / left * search, now
        return direction


def minimiser(loss: LinearLoss, records: BoundedRecords, *, ridge: float, tilt: Array, gradient_norm: float) -> Array:
    """Weights where the gradient's norm is at most `gradient_norm`: at most gradient_norm/ridge from the minimiser.

    Newton steps with backtracking; should rounding stop them, plain gradient steps, which contract for certain.
    """
    risk = Risk(loss, records, ridge, tilt)
    weights = np.zeros_like(tilt)
    gradient = risk.gradient(weights)
    for _ in range(NEWTON_STEPS):
        if _norm(gradient) <= gradient_norm:
            return weights
        moved = _newton_step(risk, weights, gradient)
        if moved is None:
            break
        weights, gradient = moved
    steep = loss.largest_curvature * LARGEST_NORM**2 * len(records.rows) + ridge
    best, shortest, since = weights, _norm(gradient), 0
    while shortest > gradient_norm and since < PATIENCE:
        weights = weights - gradient / steep
        gradient, since = risk.gradient(weights), since + 1
        if _norm(gradient) < shortest:
            best, shortest, since = weights, _norm(gradient), 0
    return best


def _norm(vector: Array) -> float:
    return math.sqrt(float((vector**2).sum()))


def _newton_step(risk: Risk, weights: Array, gradient: Array) -> tuple[Array, Array] | None:
    """The next point and its gradient, or none if no length of the step lowers the risk or the gradient."""
    direction = risk.newton_direction(weights, gradient)
    falls, here, length = float((gradient * direction).sum()), risk.value(weights), 1.0
    for _ in range(40):
        following = weights + length * direction
        steep = risk.gradient(following)
        lower = risk.value(following) <= here + 1e-4 * length * falls
        if lower or (length == 1.0 and _norm(steep) <= 0.5 * _norm(gradient)):
            return following, steep
        length /= 2
    return None
