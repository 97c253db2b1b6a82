"""Convolutions, also grouped and transposed: a matrix on patches, or one convolution with groups for all examples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.grad import conv2d_weight

from hush.learning.per_example.layers.layer_gradients import (
    FactoredGradient,
    LayerGradient,
    PlainRows,
    Scratch,
    Views,
    cleared,
    ghost_squares,
    makes,
    outer,
    row_squares,
)

CONVOLVE = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
"""By the number of axes."""
FEW = 8
"""Positions, at most, for which patches are kept as the weight is: they are small, and the sum is added as it is."""


def convolution(
    layer: nn.Conv1d | nn.Conv2d, inputs: Tensor, left: Tensor, names: tuple[str, ...], scratch: Scratch
) -> LayerGradient:
    """A convolution is a matrix applied to patches; with channels last a patch is a few long runs of memory."""
    if layer.groups > 1 or "weight" not in names:
        return convolution_by_itself(layer, inputs, left, names)
    if inputs.dim() == 3:
        inputs, left = inputs.unsqueeze(2), left.unsqueeze(2)
    count, out = left.shape[:2]
    positions, into = left.shape[2:].numel(), inputs.shape[1] * math.prod(layer.kernel_size)
    if positions > FEW and left.device.type == "cpu" and measures(positions, out, into):
        return Convolved(layer, inputs, left, names, scratch)
    turned = positions <= FEW  # patches are small then, and what is turned later is the sum
    patches = _patches(layer, inputs, scratch.common if makes(positions, out, into) else scratch, turned=turned)
    kernel = () if turned else (out, *_pair(layer.kernel_size, 1), inputs.shape[1])
    part = outer(left.reshape(count, out, -1).mT, patches, names, kernel, scratch)
    scratch.common.taken.clear()
    return part


def measures(positions: int, out: int, into: int) -> bool:
    """Whether norms by Gram matrices and a sum by torch's own convolution take less time than gradients that are made.

    As in `makes`; the convolution takes about half the time of the products of matrices.
    """
    return positions**2 * (out + into) < (positions // 2 + 12) * out * into


class Convolved(FactoredGradient):
    """The gradient of a kernel: norms from Gram matrices of patches, which are not kept, and the sum as torch makes it.

    inputs (m, channels, height, width), left (m, out, height, width).
    """

    def __init__(
        self, layer: nn.Conv1d | nn.Conv2d, inputs: Tensor, left: Tensor, names: tuple[str, ...], scratch: Scratch
    ) -> None:
        self.layer, self.inputs, self.left, self.names, self.scratch = layer, inputs, left, names, scratch
        self.shifts = left.flatten(2).sum(2) if "bias" in names else None
        self.kernel = (left.shape[1], *_pair(layer.kernel_size, 1), inputs.shape[1])
        self.room = left.shape[2:].numel() * math.prod(self.kernel[1:]) * len(left)

    def squares(self) -> Tensor:
        patches = _patches(self.layer, self.inputs, self.scratch.common)
        found = ghost_squares(self._positions(), patches)
        self.scratch.common.taken.clear()
        return found if self.shifts is None else found.add_(row_squares(self.shifts))

    def _positions(self) -> Tensor:
        return self.left.flatten(2).mT

    def add(self, weights: Tensor, into: Views) -> None:
        left = self.left * weights.view(-1, 1, 1, 1)
        layer, inputs = self.layer, self.inputs
        margins = _margins_of_two_axes(layer)
        around = margins[2], margins[0]
        if margins != [margins[0]] * 2 + [margins[2]] * 2:  # an even kernel's: more behind than before
            inputs, around = F.pad(inputs, margins), (0, 0)
        out, height, width, channels = self.kernel
        stride, dilation = _pair(layer.stride, 1), _pair(layer.dilation, 1)
        as_pairs: Any = conv2d_weight  # torch declares one number where it takes a pair
        total = as_pairs(inputs, (out, channels, height, width), left, stride, around, dilation)
        into["weight"].add_(total.view_as(into["weight"]))
        if self.shifts is not None:
            into["bias"].addmv_(self.shifts.T, weights)

    def rows(self) -> dict[str, Tensor]:
        return self.of_factors(*self.factors()).rows()

    def factors(self) -> tuple[Tensor, Tensor]:
        return self._positions(), _patches(self.layer, self.inputs, Scratch())

    def of_factors(self, *factors: Tensor) -> LayerGradient:
        left, patches = factors
        return outer(left, patches, self.names, self.kernel)

    def without(self, bad: Tensor) -> LayerGradient:
        inputs, left = cleared(self.inputs, bad), cleared(self.left, bad)
        return Convolved(self.layer, inputs, left, self.names, self.scratch)

    def held(self) -> list[Tensor]:
        return [self.inputs, self.left] if self.shifts is None else [self.inputs, self.left, self.shifts]


def convolution_by_itself(
    layer: nn.Conv1d | nn.Conv2d | nn.Conv3d, inputs: Tensor, left: Tensor, names: tuple[str, ...], *_: object
) -> LayerGradient:
    """The gradient of a kernel is the convolution of the input with the gradient of the output.

    So it is for every example and group of channels alone: all of them are groups of one convolution. For few channels
    per group it is the fastest way.
    """
    found = {}
    if "weight" in names:
        found["weight"] = _convolved(layer, F.pad(inputs, _margins_of_axes(layer)), left)
    if "bias" in names:
        found["bias"] = left.flatten(2).sum(2)
    return PlainRows(found)


def transposed_convolution(
    layer: nn.ConvTranspose1d | nn.ConvTranspose2d | nn.ConvTranspose3d,
    inputs: Tensor,
    left: Tensor,
    names: tuple[str, ...],
    *_: object,
) -> LayerGradient:
    """The adjoint of a convolution: input and gradient of the output change places."""
    found = {}
    if "weight" in names:
        margins = [margin for size in reversed(layer.padding) for margin in (int(size), int(size))]
        found["weight"] = _convolved(layer, F.pad(left, margins), inputs)
    if "bias" in names:
        found["bias"] = left.flatten(2).sum(2)
    return PlainRows(found)


def _convolved(layer: Any, wide: Tensor, narrow: Tensor) -> Tensor:
    """Gradients (m, *weight): channels of a group are a batch, and stride and dilation change places."""
    count, groups, axes = len(wide), layer.groups, len(layer.kernel_size)
    channels = wide.reshape(count * groups, -1, *wide.shape[2:]).transpose(0, 1)
    kernels = narrow.reshape(-1, 1, *narrow.shape[2:])
    made = CONVOLVE[axes](channels, kernels, stride=layer.dilation, dilation=layer.stride, groups=count * groups)
    for axis, size in enumerate(layer.kernel_size):  # a stride that does not reach the end leaves some over
        made = made.narrow(2 + axis, 0, size)
    return made.transpose(0, 1).reshape(count, *layer.weight.shape)


def _margins_of_axes(layer: Any) -> Sequence[int]:
    """What is added before and after, the last axis first."""
    if layer.padding == "valid":
        return [0] * (2 * len(layer.kernel_size))
    if layer.padding == "same":
        spans = [step * (size - 1) for step, size in zip(layer.dilation, layer.kernel_size, strict=True)]
        return [margin for span in reversed(spans) for margin in (span // 2, span - span // 2)]
    return [int(size) for size in reversed(layer.padding) for _ in (0, 1)]


def _margins_of_two_axes(layer: nn.Conv1d | nn.Conv2d) -> list[int]:
    """The same for pictures; a row of numbers is a picture of one line."""
    margins = list(_margins_of_axes(layer))
    return margins + [0] * (4 - len(margins))


def _pair(values: tuple[int, ...], default: int) -> tuple[int, int]:
    return (default, values[0]) if len(values) == 1 else (values[0], values[1])


def _patches(layer: nn.Conv1d | nn.Conv2d, inputs: Tensor, scratch: Scratch, *, turned: bool = False) -> Tensor:
    """(m, places, height * width * channels); with channels in front, as the weight has them, if they are turned."""
    height, width = _pair(layer.kernel_size, 1)
    (down, right), (tall, wide) = _pair(layer.stride, 1), _pair(layer.dilation, 1)
    inputs = inputs.permute(0, 2, 3, 1)
    margins = _margins_of_axes(layer)
    if any(margins):
        inputs = F.pad(inputs, (0, 0, *margins))
    inputs = inputs.contiguous()
    count, rows, columns, channels = inputs.shape
    high, long = (rows - tall * (height - 1) - 1) // down + 1, (columns - wide * (width - 1) - 1) // right + 1
    line = columns * channels
    view = inputs.as_strided(
        (count, high, long, height, width, channels),
        (rows * line, down * line, right * channels, tall * line, wide * channels, 1),
    )
    if turned:
        view = view.permute(0, 1, 2, 5, 3, 4)
    patches = scratch.take("patches", tuple(view.shape), inputs).copy_(view)
    return patches.view(count, high * long, -1)
