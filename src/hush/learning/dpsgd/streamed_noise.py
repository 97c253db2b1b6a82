"""Banded noise, step by step: the last few vectors of it are remembered, in this process alone, and never written down.

Exactly, in whole numbers. X_t is the sum of a step on a grid, in steps g of it, and k_0, ..., k_{b-1} are the
coefficients, as written, times 2^SHARP, rounded down. The noise is y_t = round((z_t - k_1 y_{t-1} - ...) / k_0), z_t a
rounded Gaussian. Then X_t + y_t is a function of u_t = k_0 X_t + k_1 X_{t-1} + ... + z_t and of what was released
before: round((u_t - k_1 (X + y)_{t-1} - ...) / k_0), as X_t is whole. And u is a sum of whole numbers with Gaussian
noise that was rounded, which is the Gaussian mechanism with C, rounded. So nothing is lost to floats.

Whoever knows y knows X: the memory is as secret as the data. A checkpoint has none of it. A run that goes on from one
begins with an empty memory, which cuts off columns of C: they get shorter, and reveal less
(docs/theory/correlated-noise.md).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import deque
from fractions import Fraction
from typing import Generic, TypeVar

import numpy as np
import torch
from torch import Tensor

from hush.arrays import Array
from hush.errors import InvalidParameter, NotCovered
from hush.learning.dpsgd.gradient_noise import CHUNK, FastNoise, GradientNoise, SecureNoise
from hush.learning.per_example.clipping import CHARGED_ROUNDING
from hush.mechanisms.schemes.spaced.banded_noise import BandedNoise
from hush.randomness.binary_grid import COARSE, BinaryGrid
from hush.randomness.integer_noise import rounded_gaussian
from hush.randomness.source import Source, source_or_secure

SHARP = 14
"""Bits of a coefficient: 2^-14 of the largest moves the error of prefix sums by less than a millionth."""
LARGEST_STEPS = COARSE - SHARP
"""The scale of the noise is at most 2^this steps of the grid: times 2^SHARP, a hundred deviations and thousands of
bands it is still a 64-bit integer."""

Vector = TypeVar("Vector")


class StreamedNoise(GradientNoise, Generic[Vector]):
    """Noise that remembers its last vectors; `start_over` forgets them."""

    def __init__(self, banded: BandedNoise) -> None:
        self.banded = banded
        self._past: deque[Vector] = deque(maxlen=max(banded.bands - 1, 0))

    def start_over(self) -> None:
        self._past.clear()

    @property
    def remembered(self) -> int:
        """How many vectors it remembers."""
        return len(self._past)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.banded})"  # nothing of what it remembers

    def __getstate__(self) -> object:
        raise NotCovered("correlated noise is not copied or pickled: whoever knows its memory knows the data")

    @abstractmethod
    def begin(self, flat: Tensor, noise_multiplier: float, max_norm: float) -> None: ...


class SecureStream(StreamedNoise[Array]):
    """Exact, from cryptographic bits."""

    def __init__(self, banded: BandedNoise, source: Source | None = None) -> None:
        super().__init__(banded)
        self.source = source_or_secure(source)
        self._whole = np.array([math.floor(Fraction(repr(c)) * 2**SHARP) for c in banded.coefficients], dtype=np.int64)
        if self._whole[0] == 0:
            raise InvalidParameter("BandedNoise", f"a first coefficient of 2^-{SHARP} or more", bands=banded.bands)

    @property
    def private(self) -> bool:
        return self.source.private

    def begin(self, flat: Tensor, noise_multiplier: float, max_norm: float) -> None:
        """Nothing yet: the noise is added to the sum."""

    def finish(self, flat: Tensor, noise_multiplier: float, max_norm: float) -> None:
        size = flat.numel()
        grid, deviation = self.grid_and_deviation(noise_multiplier, max_norm, size)
        noise = self._drawn(size, deviation)
        for start in range(0, size, CHUNK):
            part = slice(start, min(start + CHUNK, size))
            multiples = grid.quantise(flat[part].detach().cpu().double().numpy()) + noise[part]
            flat[part].copy_(torch.as_tensor(grid.to_float(multiples)))

    def grid_and_deviation(
        self, noise_multiplier: float, max_norm: float, size: int, roundings: int = 1
    ) -> tuple[BinaryGrid, float]:
        """The grid of the sums, and the deviation of z in steps of it times 2^-SHARP, rounded up.

        Columns of whole coefficients have norm at most 2^SHARP, as each was rounded down. roundings: as without bands.
        """
        sensitivity = max_norm * (1 + CHARGED_ROUNDING)
        scale, rounded = noise_multiplier * sensitivity, roundings**2 * size
        fine = BinaryGrid.for_scale(scale, sensitivity=sensitivity, coordinates=math.sqrt(rounded))
        grid = BinaryGrid(max(fine.power, math.frexp(scale)[1] - LARGEST_STEPS))
        steps = grid.charged_l2(sensitivity, rounded) * Fraction(noise_multiplier) * 2**SHARP
        return grid, math.nextafter(float(steps), math.inf)

    def add(self, multiples: Array, deviation: float) -> None:
        """Add the noise of the next step to whole numbers: always those of the same coordinates."""
        multiples += self._drawn(len(multiples), deviation)

    def _drawn(self, size: int, deviation: float) -> Array:
        """The noise of the next step, which is remembered."""
        if self._past and len(self._past[0]) != size:  # other parameters are trained now
            self.start_over()
        noise = np.empty(size, dtype=np.int64)
        for start in range(0, size, CHUNK):
            part = slice(start, min(start + CHUNK, size))
            noise[part] = self._next(part, rounded_gaussian(self.source, deviation, part.stop - start))
        self._past.appendleft(noise)
        return noise

    def _next(self, part: slice, fresh: Array) -> Array:
        """The nearest whole numbers to (z_t - k_1 y_{t-1} - ...) / k_0."""
        left = fresh.astype(np.int64)
        for coefficient, earlier in zip(self._whole[1:], self._past, strict=False):
            left -= coefficient * earlier[part]
        return (2 * left + self._whole[0]) // (2 * self._whole[0])


class FastStream(StreamedNoise[Tensor]):
    """Noise of torch's own generator, in floats: for experiments, NOT secure."""

    @property
    def private(self) -> bool:
        return False

    def begin(self, flat: Tensor, noise_multiplier: float, max_norm: float) -> None:
        flat.normal_(0.0, noise_multiplier * max_norm * (1 + CHARGED_ROUNDING))
        if self._past and self._past[0].numel() != flat.numel():
            self.start_over()
        first, *others = self.banded.coefficients
        for coefficient, earlier in zip(others, self._past, strict=False):
            flat.sub_(earlier, alpha=coefficient)
        self._past.appendleft(flat.div_(first).clone())

    def finish(self, flat: Tensor, noise_multiplier: float, max_norm: float) -> None:
        """Nothing more: the noise is there since the beginning."""


def noise_of(banded: BandedNoise | None, noise: GradientNoise | None) -> GradientNoise:
    """The noise of a plan: the one that was given (secure if none was), correlated as the plan has it."""
    given = noise or SecureNoise()
    if banded is None:
        return given
    if isinstance(given, SecureNoise):
        return SecureStream(banded, given.source)
    if isinstance(given, FastNoise):
        return FastStream(banded)
    raise NotCovered(f"a plan with {banded}, and noise of one's own: covered are SecureNoise and FastNoise")
