"""Noise on a sum of clipped gradients: exact and secret by default, or fast and for experiments."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import torch
from torch import Tensor

from hush.arrays import Array
from hush.learning.per_example.clipping import CHARGED_ROUNDING
from hush.randomness.binary_grid import BinaryGrid
from hush.randomness.integer_noise import rounded_gaussian
from hush.randomness.source import Source, source_or_secure

CHUNK = 1 << 16
"""Coordinates that get their noise at once: their arrays stay in the cache."""


class GradientNoise(ABC):
    """Gaussian noise on a row of numbers, which is a sum of rows of norm at most max_norm."""

    @property
    @abstractmethod
    def private(self) -> bool:
        """Whether the noise hides anything from someone who knows how it is made."""

    def start_over(self) -> None:  # noqa: B027 (most noise has nothing to forget)
        """Called where a run begins or ends, or a step was left out: noise that remembers earlier ones forgets them."""

    @abstractmethod
    def begin(self, flat: Tensor, noise_multiplier: float, max_norm: float) -> None:
        """Called before anything is added: all numbers are zero."""

    @abstractmethod
    def finish(self, flat: Tensor, noise_multiplier: float, max_norm: float) -> None:
        """Called when the sum is complete."""


@dataclass(frozen=True)
class SecureNoise(GradientNoise):
    """Continuous Gaussian noise rounded to a grid, drawn exactly from cryptographic bits, added in integers.

    The sum is rounded to multiples of a power of two g first; for d coordinates that adds g sqrt(d) to the L2
    sensitivity, and the noise grows with it (by less than a millionth), as it does for CHARGED_ROUNDING.
    """

    source: Source | None = None

    @property
    def private(self) -> bool:
        return source_or_secure(self.source).private

    def begin(self, flat: Tensor, noise_multiplier: float, max_norm: float) -> None:
        """Nothing yet: the noise is added to the sum."""

    def finish(self, flat: Tensor, noise_multiplier: float, max_norm: float) -> None:
        size = flat.numel()
        grid, deviation = self.grid_and_deviation(noise_multiplier, max_norm, size)
        for start in range(0, size, CHUNK):
            part = flat[start : start + CHUNK]
            multiples = grid.quantise(part.detach().cpu().double().numpy())
            self.add(multiples, deviation)
            part.copy_(torch.as_tensor(grid.to_float(multiples)))

    def grid_and_deviation(
        self, noise_multiplier: float, max_norm: float, size: int, roundings: int = 1
    ) -> tuple[BinaryGrid, float]:
        """The grid, and the deviation that `add` needs."""
        return grid_and_deviation(noise_multiplier, max_norm, size, roundings)

    def add(self, multiples: Array, deviation: float) -> None:
        """Add noise of this deviation, in steps of the grid, to whole numbers."""
        source = source_or_secure(self.source)
        for start in range(0, len(multiples), CHUNK):
            part = multiples[start : start + CHUNK]
            part += rounded_gaussian(source, deviation, len(part))


@lru_cache(maxsize=16)
def grid_and_deviation(
    noise_multiplier: float, max_norm: float, size: int, roundings: int = 1
) -> tuple[BinaryGrid, float]:
    """The grid, and the deviation of the noise in its steps, rounded up: the same in every step of a training.

    roundings: sums that are rounded on their own before they are added, each by up to half a step per coordinate.
    """
    sensitivity = max_norm * (1 + CHARGED_ROUNDING)
    rounded = roundings**2 * size  # its root is that of the coordinates, once for each rounding
    grid = BinaryGrid.for_scale(noise_multiplier * sensitivity, sensitivity=sensitivity, coordinates=math.sqrt(rounded))
    steps = grid.charged_l2(sensitivity, rounded) * Fraction(noise_multiplier)
    return grid, math.nextafter(float(steps), math.inf)


@dataclass(frozen=True)
class FastNoise(GradientNoise):
    """Noise of torch's own generator: for experiments, NOT secure.

    It is a predictable stream in floating point: who knows the seed knows the noise, and the low bits of a sum of
    floats can betray it (Mironov 2012).
    """

    @property
    def private(self) -> bool:
        return False

    def begin(self, flat: Tensor, noise_multiplier: float, max_norm: float) -> None:
        flat.normal_(0.0, noise_multiplier * max_norm * (1 + CHARGED_ROUNDING))

    def finish(self, flat: Tensor, noise_multiplier: float, max_norm: float) -> None:
        """Nothing more: the noise is there since the beginning."""
