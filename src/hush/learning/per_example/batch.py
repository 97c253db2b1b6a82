"""Batches: what the model is called with and what the loss needs besides; examples in front everywhere."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn

from hush.checks import count as whole
from hush.errors import InvalidParameter
from hush.learning.torch_private import tree_leaves, tree_map

Loss = Callable[..., Tensor]
Draw = Callable[..., Tensor]
"""torch.randn or torch.rand."""
Augment = Callable[[Any], Any]
"""From the inputs of one example to a random view of them."""
LABELS = "labels"
"""The entry of a mapping that no model gets: HuggingFace's would average a loss of its own over the batch."""
OWN_LOSS = (
    ", not the model's own average out.loss. Write: "
    "loss=lambda out, row: F.cross_entropy(out.logits, row['labels'], reduction='none')"
)


def tensors(batch: Any) -> list[Tensor]:
    """Every tensor of a batch, in a fixed order."""
    return [leaf for leaf in tree_leaves(batch) if isinstance(leaf, Tensor)]


def size_of(batch: Any) -> int:
    """The number of examples: the common length of all tensors."""
    leaves = batch if type(batch) is tuple and all([isinstance(leaf, Tensor) for leaf in batch]) else tensors(batch)
    sizes = {leaf.shape[0] if leaf.dim() else None for leaf in leaves}
    size = next(iter(sizes), None)
    if not isinstance(batch, tuple | list | dict) or len(sizes) != 1 or size is None:
        rule = "a tuple (inputs, targets, ...) or a mapping of tensors, all of one length, with one row per example"
        raise InvalidParameter("A batch", rule, batch=type(batch).__name__)
    return size


def rows(batch: Any, start: int, stop: int) -> Any:
    """Some consecutive examples of a batch."""
    return tree_map(lambda leaf: leaf[start:stop] if isinstance(leaf, Tensor) else leaf, batch)


def picked(batch: Any, places: Tensor) -> Any:
    """The examples at the given places."""
    return tree_map(lambda leaf: leaf[places] if isinstance(leaf, Tensor) else leaf, batch)


def row_losses(model: nn.Module, loss: Loss, batch: Any, count: int) -> Tensor:
    """One loss per example, by an `unreduced` loss; one with more axes (a token, a pixel) is averaged over them.

    A batch is (inputs, targets, ...), for model(inputs) and loss(output, targets, ...); or a mapping of names, for
    loss(output, batch), from which the model gets what its forward names.
    """
    if isinstance(loss, AveragedViews):
        seen = row_losses(model, loss.loss, loss.spread(batch), count * loss.views)
        return seen.view(count, loss.views).mean(1)  # before the gradient of the example is clipped
    output = outputs(model, batch)
    values = loss(output, batch) if isinstance(batch, dict) else loss(output, *batch[1:])
    if not isinstance(values, Tensor) or values.dim() == 0 or values.shape[0] != count:
        shape = tuple(values.shape) if isinstance(values, Tensor) else type(values).__name__
        rule = "one value per example (reduction='none')" + (OWN_LOSS if hasattr(output, "logits") else "")
        raise InvalidParameter("loss", rule, shape=shape)
    return values if values.dim() == 1 else values.flatten(1).mean(1)


def outputs(model: nn.Module, batch: Any) -> Any:
    """What the model makes of a batch."""
    if isinstance(batch, dict):
        return model(**_inputs(model, batch))
    first = batch[0]
    if isinstance(first, Mapping):
        return model(**first)
    return model(*first) if isinstance(first, tuple | list) else model(first)


def _inputs(model: nn.Module, batch: dict[str, Any]) -> dict[str, Any]:
    """The entries that the model's forward names, but for its labels; all others if it names none."""
    named = _names(type(model))
    found = {name: value for name, value in batch.items() if name != LABELS and (not named or name in named)}
    if not found:
        rule = "a mapping with the names that the model's forward takes"
        raise InvalidParameter("data", rule, forward=", ".join(sorted(named)))
    return found


@lru_cache(maxsize=64)
def _names(kind: type[nn.Module]) -> frozenset[str]:
    """The arguments of a forward that have names."""
    starred = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    fields = list(inspect.signature(kind.forward).parameters.items())[1:]
    return frozenset(name for name, field in fields if field.kind not in starred)


@dataclass(frozen=True, eq=False)
class AveragedViews:
    """The loss of an example as the mean over several random views of it, such as cropped pictures (De et al. 2022).

    augment: from the inputs of one example to a view of them, of the same shape. It is called for one example alone:
    examples cannot meet in it.
    """

    loss: Loss
    augment: Augment
    views: int

    def __call__(self, *arguments: Any) -> Tensor:
        return self.loss(*arguments)

    def spread(self, batch: Any) -> Any:
        """Every example several times in a row, each a view of its own."""
        many = tree_map(lambda v: v.repeat_interleave(self.views, 0) if isinstance(v, Tensor) else v, batch)
        if isinstance(many, dict):
            return self._seen(many)
        return (self._seen(many[0]), *many[1:])

    def _seen(self, inputs: Any) -> Any:
        count = len(tensors(inputs)[0])
        if not count:
            return inputs
        views = [self.augment(_one(inputs, k)) for k in range(count)]
        return tree_map(lambda *parts: torch.stack(parts) if isinstance(parts[0], Tensor) else parts[0], *views)

    def still(self) -> AveragedViews:
        """The same with views that are the example itself: so that two passes can be compared."""
        return replace(self, augment=_itself)


def averaged_over_views(loss: Loss, augment: Augment | None, views: int) -> Loss:
    """The loss, or its mean over random views where these are asked for."""
    views = whole("augment", 1, views=views)
    if augment is None:
        if views > 1:
            raise InvalidParameter("views", "augment=, which makes the views", views=views)
        return loss
    if not callable(augment):
        rule = "a function from the inputs of one example to a view of them"
        raise InvalidParameter("augment", rule, augment=type(augment).__name__)
    return AveragedViews(loss, augment, views)


def _one(inputs: Any, place: int) -> Any:
    """The inputs of one example, without an axis for examples."""
    return tree_map(lambda v: v[place] if isinstance(v, Tensor) else v, inputs)


def _itself(inputs: Any) -> Any:
    return inputs


def unreduced(loss: Loss) -> Loss:
    """The loss with one value per example, where torch's own `reduction` would average it."""
    if isinstance(loss, AveragedViews):
        return replace(loss, loss=unreduced(loss.loss))
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
