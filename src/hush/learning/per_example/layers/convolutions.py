"""Convolutions, also grouped and transposed: a matrix on patches, or one convolution with groups for all examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F

from hush.learning.per_example.layers.layer_gradients import LayerGradient, PlainRows, Scratch, makes, outer

CONVOLVE = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
"""By the number of axes."""


def convolution(
    layer: nn.Conv1d | nn.Conv2d, inputs: Tensor, left: Tensor, names: tuple[str, ...], scratch: Scratch
) -> LayerGradient:
    """A convolution is a matrix applied to patches; with channels last a patch is a few long runs of memory."""
    if layer.groups > 1 or "weight" not in names:
        return convolution_by_itself(layer, inputs, left, names)
    if inputs.dim() == 3:
        inputs, left = inputs.unsqueeze(2), left.unsqueeze(2)
    count, out = left.shape[:2]
    left = left.reshape(count, out, -1)
    room = scratch.common if makes(left.shape[2], out, layer.weight.numel() // out) else scratch
    patches, kernel = _patches(layer, inputs, room)
    part = outer(left.mT, patches, names, (out, *kernel, inputs.shape[1]), scratch)
    scratch.common.taken.clear()
    return part


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


def _pair(values: tuple[int, ...], default: int) -> tuple[int, int]:
    return (default, values[0]) if len(values) == 1 else (values[0], values[1])


def _patches(layer: nn.Conv1d | nn.Conv2d, inputs: Tensor, scratch: Scratch) -> tuple[Tensor, tuple[int, int]]:
    """(m, places, height * width * channels), and the height and width of the kernel."""
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
    patches = scratch.take("patches", tuple(view.shape), inputs).copy_(view)
    return patches.view(count, high * long, -1), (height, width)
