"""Layers whose parameters are scales and shifts along one axis, whoever wrote them: RMS norms, PReLU, layer scales."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from hush.learning.per_example.layers.layer_gradients import LayerGradient, PlainRows

CHANNELS_SECOND = (nn.PReLU, nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d)
"""Layers of torch whose parameters lie along the second axis; those of all others lie along the last."""


class Bare(nn.Module):
    """A layer by its forward alone: its hooks do not run once more."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, inputs: Tensor) -> Tensor:
        return self.layer.forward(inputs)


def scaled(layer: nn.Module, inputs: Tensor, left: Tensor, names: tuple[str, ...], *_: object) -> LayerGradient:
    """What a parameter scales is what the layer gives where it is one, less what it gives where all are zero.

    This is so if the output is affine in the parameters, each of whose numbers is for one place of the axis. Whether it
    is so is not known here: it is a guess, that is compared with gradients of rows alone.
    """
    bare, given = Bare(layer), {name: torch.zeros_like(layer.get_parameter(name)) for name in names}
    found = {}
    with torch.no_grad():
        nothing = _called(bare, given, inputs)
        for name in names:
            factor = _called(bare, given | {name: torch.ones_like(given[name])}, inputs) - nothing
            found[name] = _along(layer, left * factor.to(left.dtype), len(given[name]))
    return PlainRows(found)


def _called(bare: Bare, given: dict[str, Tensor], inputs: Tensor) -> Tensor:
    return torch.func.functional_call(bare, {f"layer.{name}": value for name, value in given.items()}, (inputs,))


def _along(layer: nn.Module, values: Tensor, length: int) -> Tensor:
    """Sums of each example over all places but those of the parameter's axis."""
    if length == 1:
        return values.flatten(1).sum(1, keepdim=True)
    if isinstance(layer, CHANNELS_SECOND):
        return values.flatten(2).sum(2)
    return values.reshape(len(values), -1, length).sum(1)
