"""What every method is asked for: a plan, made without the data, that knows its mechanism and how to train."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from hush.arrays import Array
from hush.errors import InvalidParameter
from hush.learning.linear.bounded_rows import LARGEST_NORM, BoundedRecords
from hush.learning.linear.losses import LinearLoss
from hush.mechanisms.leaves.gaussian import Gaussian
from hush.mechanisms.mechanism import Mechanism
from hush.questions.calibrate import calibrate
from hush.randomness.source import Source

LEAST_NOISE, MOST_NOISE = 1e-4, 1e8
SHARE_OF_ROUNDING = 1e-3
"""Part of epsilon that hides the solver's and the floats' error."""
ROUNDED_UP = 1 + 1e-12
"""A product with it is no smaller than the real number: some thousand operations in floats lose less."""
GENEROUS = 1 + 1e-9
"""The same with a margin for what another module rounds."""


@dataclass(frozen=True)
class Task:
    """The public part of a fit."""

    loss: LinearLoss
    columns: int
    """Entries of a row, the constant one included."""
    epsilon: float
    delta: float
    examples: int | None
    """A public number of records; None if there is none."""
    regularization: float | None

    @property
    def lipschitz(self) -> float:
        """No record's gradient is longer."""
        return self.loss.slope * LARGEST_NORM

    @property
    def smoothness(self) -> float:
        """No record's Hessian has a larger eigenvalue."""
        return self.loss.largest_curvature * LARGEST_NORM**2

    @property
    def dimensions(self) -> int:
        """Numbers that are learnt."""
        return self.columns * self.loss.scores

    @property
    def shape(self) -> tuple[int, int]:
        return self.columns, self.loss.scores

    def gradient_error(self, ridge: float, tilt: float = 0.0) -> float:
        """How far floats may be from the gradient at the minimiser, for up to four times `examples` records.

        Sums err by 256 half units, and weights, whose norm the risk at zero bounds, by one in each product.
        """
        records = 4 * self.known_examples("Task")
        size = 2 * tilt / ridge + math.sqrt(2 * records * (1 + math.log1p(self.loss.scores)) / ridge)
        each = 256 * self.lipschitz + 2 * math.sqrt(self.dimensions) * size * self.smoothness
        return 2.0**-53 * records * each

    def known_examples(self, who: str) -> int:
        """The public number of records, which this method cannot do without."""
        if self.examples is None:
            raise InvalidParameter(who, "examples=, a public number of records (it need not be exact)", examples=None)
        return self.examples

    def approximate(self, who: str) -> None:
        """This method has Gaussian noise: delta = 0 is out of reach."""
        if self.delta <= 0:
            raise InvalidParameter(who, "0 < delta < 1 (method='objective' or 'output' can do delta=0)", delta=0)


@dataclass(frozen=True)
class MethodPlan:
    """What will run, and how: no number of it comes from the records."""

    mechanism: Mechanism
    train: Callable[[BoundedRecords, Source], Array]


class Method(ABC):
    """A way to train with privacy."""

    joint: ClassVar[bool] = True
    """Whether several scores may share one loss; else each score is a problem of its own."""
    public_size: ClassVar[bool] = False
    """Whether the number of records is public by the relation (REPLACE)."""

    @abstractmethod
    def plan(self, task: Task) -> MethodPlan:
        """Calibrated to the budget of the task; a fault of the parameters is raised here, before any draw."""


@lru_cache(maxsize=64)
def gaussian_multiplier(epsilon: float, delta: float) -> float:
    """The least noise, in units of the sensitivity, whose single use is (epsilon, delta)-private.

    >>> gaussian_multiplier(1.0, 1e-5)
    3.73063...
    """
    over = (LEAST_NOISE, MOST_NOISE)
    return float(calibrate(Gaussian, over=over, epsilon=epsilon, delta=delta, tolerance=1e-9).value)
