"""How much of each example's gradient is kept: factors from its norm."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

from torch import Tensor

from hush.checks import number, positive

CHARGED_ROUNDING = 2.0**-10
"""Share of the norm that noise is charged for, because norms and sums of gradients are rounded in floating point.

It covers rounding as it occurs (single precision rounds by 2^-24 of a term), not the worst case over all orders of a
long sum. Terms that cancel are taken care of where norms are made.
"""


SMALLEST_NORM, LARGEST_NORM = 1e-12, 1e12
"""Norms whose squares floats hold with all digits, and those of entries that matter beside them."""


def checked_norm(who: str, max_norm: object) -> float:
    """A norm to clip to."""
    return number(who, "1e-12 <= max_norm <= 1e12", SMALLEST_NORM, LARGEST_NORM, max_norm=max_norm)


class Clipping(ABC):
    """A way to bound what one example adds to the sum by a norm."""

    @abstractmethod
    def factors(self, squares: Tensor, max_norm: float, share: float = 1.0) -> Tensor:
        """This share of the factors, from the squared norms, all of them finite: (groups, m), or (m,) of one group.

        One row of factors (m,) is for all groups.
        """


@dataclass(frozen=True)
class Flat(Clipping):
    """The whole gradient is scaled down to max_norm where it is longer (Abadi et al. 2016).

    >>> import torch
    >>> Flat().factors(torch.tensor([9.0, 0.25]), max_norm=1.0)
    tensor([0.3333, 1.0000])
    """

    def factors(self, squares: Tensor, max_norm: float, share: float = 1.0) -> Tensor:
        return totals(squares).rsqrt().mul_(max_norm * share).clamp_max_(share)


@dataclass(frozen=True)
class PerLayer(Clipping):
    """Each of the K layers is scaled down on its own, to max_norm / sqrt(K): the whole is then at most max_norm long.

    >>> import torch
    >>> PerLayer().factors(torch.tensor([[9.0], [0.25]]), max_norm=2**0.5)
    tensor([[0.3333],
            [1.0000]])
    """

    def factors(self, squares: Tensor, max_norm: float, share: float = 1.0) -> Tensor:
        groups = squares.shape[0] if squares.dim() > 1 else 1
        return squares.rsqrt().mul_(max_norm * share / math.sqrt(groups)).clamp_max_(share)


@dataclass(frozen=True)
class Automatic(Clipping):
    """Every gradient is scaled to a length just below max_norm: max_norm / (norm + stability) (Bu et al. 2023, AUTO-S).

    Then max_norm only scales the step, and need not be tuned.

    >>> import torch
    >>> Automatic(stability=1.0).factors(torch.tensor([9.0, 0.0]), max_norm=1.0)
    tensor([0.2500, 1.0000])
    """

    stability: float = 0.01

    def __post_init__(self) -> None:
        object.__setattr__(self, "stability", positive("Automatic", stability=self.stability))

    def factors(self, squares: Tensor, max_norm: float, share: float = 1.0) -> Tensor:
        return max_norm * share / (totals(squares).sqrt() + self.stability)


def totals(squares: Tensor) -> Tensor:
    """Squared norms of the whole gradients."""
    return squares.sum(0) if squares.dim() > 1 else squares
