"""Convolutions, also grouped and transposed: a matrix on patches, or one convolution with groups for all examples."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.grad import conv2d_weight

from hush.learning.per_example.layers.layer_gradients import (
    FactoredGradient,
    LayerGradient,
    PlainRows,
    Scratch,
    Views,
    by_gram_matrices,
    cleared,
    ghost_squares,
    makes,
    outer,
    reliable_squares,
    row_squares,
)

CONVOLVE = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
"""By the number of axes."""
FEW = 8
"""Positions, at most, for which patches are kept as the weight is: they are small, and the sum is added as it is."""
BLOCK = 16
"""Channels, at least, for which torch's convolutions with groups are fast."""
LONG = 10**6
"""Products per example from which one convolution for each takes no longer than one for all."""
MARGIN = 0.6
"""Share of the places that patches read, at most, that lie in the picture, for a sum that leaves out all others."""
SHIFT = 4
"""How many products an addition takes as long as, where Gram matrices of pixels are shifted and added up."""


def convolution(
    layer: nn.Conv1d | nn.Conv2d, inputs: Tensor, left: Tensor, names: tuple[str, ...], scratch: Scratch
) -> LayerGradient:
    """A convolution is a matrix applied to patches; with channels last a patch is a few long runs of memory."""
    count, out = left.shape[:2]
    positions, into = left.shape[2:].numel(), inputs.shape[1] * math.prod(layer.kernel_size)
    on_cpu = left.device.type == "cpu" and (positions > FEW or _padded(layer, inputs, left))
    ghost = on_cpu and measures(positions, out, into)
    few = on_cpu and not ghost and inputs.shape[1] < BLOCK and positions * out * into < LONG
    if layer.groups > 1 or few or "weight" not in names:
        return convolution_by_itself(layer, inputs, left, names)
    if inputs.dim() == 3:
        inputs, left = inputs.unsqueeze(2), left.unsqueeze(2)
    if on_cpu:
        return Convolved(layer, inputs, left, names, scratch) if ghost else _made(layer, inputs, left, names)
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
        if self._shifts_pixels():
            found = reliable_squares(self._by_pixels, self._positions(), self.inputs)
        else:
            found = ghost_squares(self._positions(), _patches(self.layer, self.inputs, self.scratch.common))
            self.scratch.common.taken.clear()
        return found if self.shifts is None else found.add_(row_squares(self.shifts))

    def _shifts_pixels(self) -> bool:
        """Whether Gram matrices of patches take less time as sums of those of pixels."""
        _, height, width, channels = self.kernel
        pixels, positions = self.inputs.shape[2:].numel(), self.left.shape[2:].numel()
        return pixels**2 * (channels + SHIFT * (height + width)) < positions**2 * height * width * channels

    def _by_pixels(self, left: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor]:
        return by_gram_matrices(_gram_of_patches(self.layer, inputs, self.left.shape[2:]), left @ left.mT)

    def _positions(self) -> Tensor:
        return self.left.flatten(2).mT

    def add(self, weights: Tensor, into: Views) -> None:
        left, few = self.left * weights.view(-1, 1, 1, 1), self.left.shape[2:].numel() <= FEW
        total = (_total_by_places if few else _total)(self.layer, self.inputs, left)
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


def _total(layer: nn.Conv1d | nn.Conv2d, inputs: Tensor, left: Tensor, groups: int = 1) -> Tensor:
    """The gradient of a kernel as torch makes it: the sum over the batch, for each group of channels."""
    margins = _margins_of_two_axes(layer)
    around = margins[2], margins[0]
    if margins != [margins[0]] * 2 + [margins[2]] * 2:  # an even kernel's: more behind than before
        inputs, around = F.pad(inputs, margins), (0, 0)
    shape = left.shape[1], inputs.shape[1] // groups, *_pair(layer.kernel_size, 1)
    stride, dilation = _pair(layer.stride, 1), _pair(layer.dilation, 1)
    as_pairs: Any = conv2d_weight  # torch declares one number where it takes a pair
    return as_pairs(inputs, shape, left, stride, around, dilation, groups)


def _total_by_places(layer: nn.Conv1d | nn.Conv2d, inputs: Tensor, left: Tensor) -> Tensor:
    """The same, one place of the kernel after the other: what lies in the margin is zero, and is left out."""
    down, right = (list(cuts) for cuts in _cuts(layer, inputs, left))
    inputs, left = inputs.transpose(0, 1), left.transpose(0, 1)
    total = left.new_empty(len(left), len(down), len(right), len(inputs))
    for row, (tall, high) in enumerate(down):
        for column, (wide, long) in enumerate(right):
            read, given = inputs[:, :, tall, wide].flatten(1), left[:, :, high, long].flatten(1)
            torch.mm(given, read.T, out=total[:, row, column])
    return total.permute(0, 3, 1, 2)


def _cuts(layer: nn.Conv1d | nn.Conv2d, inputs: Tensor, left: Tensor) -> Iterator[Iterator[tuple[slice, slice]]]:
    """By axis and place of the kernel: what it reads of the picture, and for which outputs."""
    margins = _margins_of_two_axes(layer)
    steps = zip(_pair(layer.kernel_size, 1), _pair(layer.stride, 1), _pair(layer.dilation, 1), strict=True)
    for axis, (places, stride, apart) in enumerate(steps):
        yield _cuts_of_axis(places, stride, apart, margins[2 - 2 * axis], inputs.shape[2 + axis], left.shape[2 + axis])


def _cuts_of_axis(
    places: int, stride: int, apart: int, margin: int, size: int, positions: int
) -> Iterator[tuple[slice, slice]]:
    for place in range(places):
        shift = place * apart - margin
        first = min(max(0, -(shift // stride)), positions)
        last = max(first, min(positions, (size - 1 - shift) // stride + 1))
        start = first * stride + shift
        yield slice(start, start + stride * (last - first), stride), slice(first, last)


def _padded(layer: nn.Conv1d | nn.Conv2d, inputs: Tensor, left: Tensor) -> bool:
    """Whether most of what the patches of a small picture read is margin."""
    if inputs.dim() == 3:
        return False
    real = math.prod(sum(high.stop - high.start for _, high in cuts) for cuts in _cuts(layer, inputs, left))
    return real <= MARGIN * left.shape[2:].numel() * math.prod(layer.kernel_size)


def _made(layer: nn.Conv1d | nn.Conv2d, inputs: Tensor, left: Tensor, names: tuple[str, ...]) -> LayerGradient:
    """The gradients of all examples by torch's own convolution: each example is a group of channels of one picture.

    With few channels per group that is slow, and each example has a convolution of its own.
    """
    count = len(left)
    if inputs.shape[1] < BLOCK:
        made = torch.cat([_total(layer, inputs[row : row + 1], left[row : row + 1]) for row in range(count)])
    else:
        made = _total(layer, inputs.flatten(0, 1).unsqueeze(0), left.flatten(0, 1).unsqueeze(0), groups=count)
    found = {"weight": made.view(count, *layer.weight.shape)}
    if "bias" in names:
        found["bias"] = left.flatten(2).sum(2)
    return PlainRows(found)


def _gram_of_patches(layer: nn.Conv1d | nn.Conv2d, inputs: Tensor, shape: Sequence[int]) -> Tensor:
    """Inner products of all pairs of patches: those of pixels, which are shifted by each place of the kernel and added.

    A patch is as long as its pixels together, so the sum rounds by no larger share of what its terms add up to.
    """
    pixels, margins = inputs.flatten(2), _margins_of_two_axes(layer)
    gram = F.pad((pixels.mT @ pixels).view(len(inputs), *inputs.shape[2:], *inputs.shape[2:]), margins * 2)
    steps = zip(_pair(layer.kernel_size, 1), _pair(layer.stride, 1), _pair(layer.dilation, 1), shape, strict=True)
    for axis, (places, stride, apart, size) in enumerate(steps):
        cuts = [slice(place * apart, place * apart + stride * (size - 1) + 1, stride) for place in range(places)]
        all_of, between = (slice(None),) * (1 + axis), (slice(None),)
        first, *others = [gram[(*all_of, cut, *between, cut)] for cut in cuts]
        gram = sum(others, first)
    return gram.reshape(len(inputs), math.prod(shape), -1)


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
