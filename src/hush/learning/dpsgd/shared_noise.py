"""Noise on a sum that several processes hold parts of: added once, and the same for all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from hush.errors import InvalidParameter
from hush.learning.distributed.ranks import Ranks
from hush.learning.dpsgd.gradient_noise import GradientNoise, SecureNoise
from hush.learning.dpsgd.streamed_noise import SecureStream
from hush.randomness.binary_grid import MOST


@dataclass(frozen=True)
class SharedNoise(GradientNoise):
    """The sums of all ranks are added as whole numbers; each rank noises its own coordinates, with the whole deviation.

    No share of the noise is anybody's: whoever is lost takes the sum of its coordinates along, and the step is not
    applied. Each rank rounds its own sum to the grid. One rounding of each is charged, so that it does not matter which
    rank a record is with (docs/theory/distributed.md). Correlated noise is remembered by the rank that draws it: each
    coordinate has a history of its own, and no other is needed for it.
    """

    noise: SecureNoise | SecureStream
    ranks: Ranks

    @classmethod
    def of(cls, noise: GradientNoise, ranks: Ranks) -> SharedNoise:
        """Noise that can be added to whole numbers."""
        if not isinstance(noise, SecureNoise | SecureStream):
            rule = "SecureNoise() with ranks: sums of several processes are noised as whole numbers"
            raise InvalidParameter("noise", rule, noise=type(noise).__name__)
        return cls(noise, ranks)

    @property
    def private(self) -> bool:
        return self.noise.private

    def start_over(self) -> None:
        self.noise.start_over()

    def begin(self, flat: Tensor, noise_multiplier: float, max_norm: float) -> None:
        """Nothing yet: noise that is there before the sums are added would be there once per rank."""

    def finish(self, flat: Tensor, noise_multiplier: float, max_norm: float) -> None:
        size, ranks = flat.numel(), self.ranks
        grid, deviation = self.noise.grid_and_deviation(noise_multiplier, max_norm, size, ranks.size)
        most = MOST // ranks.size  # so that no sum of all ranks overflows; cutting never increases a distance
        multiples = np.zeros(-(-size // ranks.size) * ranks.size, dtype=np.int64)
        multiples[:size] = np.clip(grid.quantise(flat.detach().cpu().double().numpy()), -most, most)
        part = ranks.summed_part(torch.from_numpy(multiples)).numpy()
        self.noise.add(part, deviation)
        noised = ranks.joined(torch.from_numpy(grid.to_float(part)).to(flat.dtype))
        flat.copy_(noised[:size])
