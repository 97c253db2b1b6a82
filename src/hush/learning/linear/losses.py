"""Convex losses of linear scores, one or several scores per record, with the bounds that the proofs use."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import special

from hush.arrays import Array

LARGEST_RESIDUAL = 2.0
"""Targets and predictions in [-1, 1] are at most this far apart; beyond it the squared loss goes on as a line."""
HINGE_WIDTH = 0.5
"""Half the width of the parabola that rounds the corner of the hinge."""


@dataclass(frozen=True)
class LinearLoss(ABC):
    """The loss of a record with `scores` numbers z = θᵀx, as a function of z and of the record's target."""

    scores: int
    largest_slope: ClassVar[float]
    """No entry of the gradient in z is larger."""
    largest_curvature: ClassVar[float]
    """No eigenvalue of the Hessian in z is larger."""

    @property
    def slope(self) -> float:
        """A bound on the norm of the gradient in z."""
        return self.largest_slope * math.sqrt(self.scores)

    @property
    def clip(self) -> float:
        """Where gradients are clipped unless told otherwise, for rows of norm 1: see docs/theory/empirical-risk.md."""
        return 0.5 if self.scores == 1 else math.sqrt(0.5)

    def joint(self) -> LinearLoss:
        """The loss of all scores together, where there is one; else each score has its own."""
        return self

    @abstractmethod
    def encode(self, labels: Array, count: int, /) -> Array:
        """One target per score for records of these classes 0, 1, ..., count-1."""

    @abstractmethod
    def value(self, z: Array, target: Array) -> Array:
        """The loss of each record."""

    @abstractmethod
    def slopes(self, z: Array, target: Array) -> Array:
        """Its gradient in z."""

    @abstractmethod
    def bent(self, z: Array, target: Array, along: Array, /) -> Array:
        """Its Hessian in z times `along`."""


class Logistic(LinearLoss):
    """log(1 + e^(-z)) for the class 1, log(1 + e^z) for the class 0; several scores stand for one class against all."""

    largest_slope = 1.0
    largest_curvature = 0.25

    def joint(self) -> LinearLoss:
        return Softmax(self.scores) if self.scores > 1 else self

    def encode(self, labels: Array, count: int, /) -> Array:
        return one_hot(labels, count, low=0.0)

    def value(self, z: Array, target: Array) -> Array:
        return (np.logaddexp(0.0, z) - target * z).sum(axis=1)

    def slopes(self, z: Array, target: Array) -> Array:
        return special.expit(z) - target

    def bent(self, z: Array, _target: Array, along: Array, /) -> Array:
        p = special.expit(z)
        return p * (1 - p) * along


class Softmax(LinearLoss):
    """The cross-entropy of softmax probabilities: one score per class."""

    largest_slope = 1.0  # joint: |p - e_y| <= sqrt(2) whatever the number of classes
    largest_curvature = 0.5

    @property
    def slope(self) -> float:
        return math.sqrt(2)

    def encode(self, labels: Array, count: int, /) -> Array:
        return one_hot(labels, count, low=0.0)

    def value(self, z: Array, target: Array) -> Array:
        return special.logsumexp(z, axis=1) - (target * z).sum(axis=1)

    def slopes(self, z: Array, target: Array) -> Array:
        return special.softmax(z, axis=1) - target

    def bent(self, z: Array, _target: Array, along: Array, /) -> Array:
        p = special.softmax(z, axis=1)
        return p * (along - (p * along).sum(axis=1, keepdims=True))


class SmoothHinge(LinearLoss):
    """The hinge max(0, 1 - tz) of targets t = ±1, its corner rounded by a parabola (Chapelle 2007)."""

    largest_slope = 1.0
    largest_curvature = 1 / (2 * HINGE_WIDTH)

    @property
    def clip(self) -> float:
        return 1.0 if self.scores == 1 else math.sqrt(2)

    def encode(self, labels: Array, count: int, /) -> Array:
        return one_hot(labels, count, low=-1.0)

    def value(self, z: Array, target: Array) -> Array:
        short = 1 - target * z
        rounded = (short + HINGE_WIDTH) ** 2 / (4 * HINGE_WIDTH)
        return np.where(short > HINGE_WIDTH, short, np.where(short < -HINGE_WIDTH, 0.0, rounded)).sum(axis=1)

    def slopes(self, z: Array, target: Array) -> Array:
        return -target * np.clip((1 - target * z + HINGE_WIDTH) / (2 * HINGE_WIDTH), 0.0, 1.0)

    def bent(self, z: Array, target: Array, along: Array, /) -> Array:
        return np.where(np.abs(1 - target * z) <= HINGE_WIDTH, self.largest_curvature, 0.0) * along


class Squared(LinearLoss):
    """(z - t)²/2 for targets in [-1, 1], and a line beyond a residual of 2, which no sensible prediction reaches."""

    largest_slope = LARGEST_RESIDUAL
    largest_curvature = 1.0

    def encode(self, labels: Array, _count: int, /) -> Array:
        return labels.reshape(-1, 1)

    def value(self, z: Array, target: Array) -> Array:
        far = np.abs(z - target)
        beyond = LARGEST_RESIDUAL * (far - LARGEST_RESIDUAL / 2)
        return np.where(far <= LARGEST_RESIDUAL, far**2 / 2, beyond).sum(axis=1)

    def slopes(self, z: Array, target: Array) -> Array:
        return np.clip(z - target, -LARGEST_RESIDUAL, LARGEST_RESIDUAL)

    def bent(self, z: Array, target: Array, along: Array, /) -> Array:
        return np.where(np.abs(z - target) <= LARGEST_RESIDUAL, 1.0, 0.0) * along


def one_hot(labels: Array, count: int, *, low: float) -> Array:
    """1 for a record's own class and `low` for others; of two classes one score tells all."""
    if count == 2:
        return np.where(labels.reshape(-1, 1) == 1, 1.0, low)
    return np.where(labels.reshape(-1, 1) == np.arange(count), 1.0, low)
