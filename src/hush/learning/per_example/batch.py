"""Batches: what the model is called with and what the loss needs besides; examples in front everywhere."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn

from hush.errors import InvalidParameter
from hush.learning.torch_private import tree_leaves, tree_map

Loss = Callable[..., Tensor]
Draw = Callable[..., Tensor]
"""torch.randn or torch.rand."""


def tensors(batch: Any) -> list[Tensor]:
    """Every tensor of a batch, in a fixed order."""
    return [leaf for leaf in tree_leaves(batch) if isinstance(leaf, Tensor)]


def size_of(batch: Any) -> int:
    """The number of examples: the common length of all tensors."""
    leaves = batch if type(batch) is tuple and all([isinstance(leaf, Tensor) for leaf in batch]) else tensors(batch)
    sizes = {leaf.shape[0] if leaf.dim() else None for leaf in leaves}
    size = next(iter(sizes), None)
    if not isinstance(batch, tuple | list) or len(sizes) != 1 or size is None:
        rule = "a tuple (inputs, targets, ...) of tensors, all of one length, with one row per example"
        raise InvalidParameter("A batch", rule, batch=type(batch).__name__)
    return size


def rows(batch: Any, start: int, stop: int) -> Any:
    """Some consecutive examples of a batch."""
    return tree_map(lambda leaf: leaf[start:stop] if isinstance(leaf, Tensor) else leaf, batch)


def picked(batch: Any, places: Tensor) -> Any:
    """The examples at the given places."""
    return tree_map(lambda leaf: leaf[places] if isinstance(leaf, Tensor) else leaf, batch)


def row_losses(model: nn.Module, loss: Loss, batch: Any, count: int) -> Tensor:
    """One loss per example, by an `unreduced` loss; one with more axes (a token, a pixel) is averaged over them."""
    first, *others = batch
    if isinstance(first, Tensor):
        output = model(first)
    elif isinstance(first, Mapping):
        output = model(**first)
    elif isinstance(first, tuple | list):
        output = model(*first)
    else:
        output = model(first)
    values = loss(output, *others)
    if not isinstance(values, Tensor) or values.dim() == 0 or values.shape[0] != count:
        raise InvalidParameter(
            "loss",
            "one value per example (reduction='none')",
            shape=tuple(values.shape) if isinstance(values, Tensor) else type(values).__name__,
        )
    return values if values.dim() == 1 else values.flatten(1).mean(1)


def unreduced(loss: Loss) -> Loss:
    """The loss with one value per example, where torch's own `reduction` would average it."""
    if not callable(loss):
        raise InvalidParameter("loss", "a function loss(output, targets, ...)", loss=type(loss).__name__)
    if isinstance(loss, nn.Module):
        if getattr(loss, "reduction", "none") != "none":
            raise InvalidParameter(
                "loss", "reduction='none': the gradient of each example is needed", reduction=str(loss.reduction)
            )
        return loss
    return _without_reduction(loss) if _reduces(loss) else loss


@lru_cache(maxsize=64)
def _reduces(loss: Loss) -> bool:
    """Whether a function has torch's argument `reduction`, with an average as its default."""
    try:
        field = inspect.signature(loss).parameters.get("reduction")
    except (TypeError, ValueError):
        return False
    return field is not None and field.default in ("mean", "sum")


@lru_cache(maxsize=64)
def _without_reduction(loss: Loss) -> Loss:
    def each(*arguments: Any) -> Tensor:
        return loss(*arguments, reduction="none")

    return each


def joined(batches: list[Any]) -> Any:
    """Batches of equal shapes behind each other."""
    return tree_map(lambda *leaves: torch.cat(leaves), *batches)


def random_like(batch: Any, count: int, generator: torch.Generator, kind: torch.dtype, draw: Draw) -> Any:
    """So many rows of random values of the same shapes: `draw` for floats, 0 or 1 for whole numbers and truths."""

    def drawn(leaf: Any) -> Any:
        if not isinstance(leaf, Tensor):
            return leaf
        shape = (count, *leaf.shape[1:])
        if leaf.is_floating_point():
            return draw(shape, generator=generator, dtype=kind).to(leaf.device)
        return torch.randint(0, 2, shape, generator=generator).to(leaf.device, leaf.dtype)

    return tree_map(drawn, batch)
