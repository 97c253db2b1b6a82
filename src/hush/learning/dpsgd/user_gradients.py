"""Gradients of users: the rows of each are added up before the norm is taken, however many they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from hush.learning.per_example.batch import size_of
from hush.learning.per_example.clipped_sum import CheckedModel
from hush.learning.per_example.clipping import Clipping, totals


@dataclass(frozen=True)
class AsTheyAre(Clipping):
    """Nothing is clipped: for gradients that are added up first."""

    def factors(self, squares: Tensor, max_norm: float, share: float = 1.0) -> Tensor:  # noqa: ARG002
        return torch.full_like(totals(squares), share)


def add_clipped_user(
    checked: CheckedModel,
    named: dict[str, Tensor],
    rows: Any,
    max_norm: float,
    clipping: Clipping,
    share: float,
    *,
    mean: bool,
) -> None:
    """Add a share of one user's clipped gradient, while the model is watched: of her rows' mean loss, or of their sum.

    Her rows go through the model in micro-batches, and what they add up to is there as a whole before its norm is
    taken. A row that is not finite adds nothing; a sum that is not finite counts as zero.
    """
    flat, own = checked.room()
    count = size_of(rows)
    checked.add_watched(own, rows, max_norm, AsTheyAre(), 1 / max(count, 1) if mean else 1.0)
    groups = _names_of_groups(checked)
    squares = torch.stack([_square([own[name] for name in names]) for names in groups]).unsqueeze(1)
    if not bool(torch.isfinite(squares.sum())):
        flat.zero_()
        squares.zero_()
    factors = clipping.factors(squares, max_norm, share)
    each = factors[:, 0] if factors.dim() > 1 else factors.expand(len(groups))
    for names, factor in zip(groups, each.tolist(), strict=True):
        for name in names:
            named[name].add_(own[name], alpha=factor)


def _square(parts: list[Tensor]) -> Tensor:
    """The squared norm, in double precision."""
    return torch.stack([part.double().square().sum() for part in parts]).sum()


def _names_of_groups(checked: CheckedModel) -> list[list[str]]:
    """The parameters of each group of layers that clipping takes as one."""
    name_of = {id(p): name for name, p in checked.parameters.items()}
    found = [{key for unit in group for key in unit.keys.values()} for group in checked.groups]
    return [[name_of[key] for key in name_of if key in keys] for keys in found]
