"""One rule per kind of layer: from its input and the gradient of its output to the gradients of its parameters."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hush.learning.per_example.layer_gradients import LayerGradient, Lookup, PlainRows, Scratch, makes, outer

Rule = Callable[[nn.Module, Tensor, Tensor, tuple[str, ...], Scratch], LayerGradient]
"""From (layer, input, gradient of the output, names of the trainable parameters, memory), examples in front."""


def linear(_: nn.Linear, inputs: Tensor, left: Tensor, names: tuple[str, ...], scratch: Scratch) -> LayerGradient:
    """The gradient of a matrix is a sum of outer products, one per position."""
    if inputs.dim() > 3:
        inputs, left = inputs.flatten(1, -2), left.flatten(1, -2)
    return outer(left, inputs, names, scratch=scratch)


def narrow(weight: Tensor, bias: Tensor | None, inputs: Tensor) -> Tensor:
    """A layer of few outputs, as (W x')': BLAS libraries take up to twice as long for x W' with 6 to 15 columns.

    Turned in memory too: a loss takes longer over columns than the copy does.
    """
    if len(inputs) > 1024:  # in pieces that stay in the cache
        made = torch.cat([weight @ piece.T for piece in inputs.split(512)], 1)
        made = made if bias is None else made.add_(bias.unsqueeze(1))
    else:
        made = weight @ inputs.T if bias is None else torch.addmm(bias.unsqueeze(1), weight, inputs.T)
    return made.T.clone(memory_format=torch.contiguous_format)


def is_narrow(layer: nn.Module) -> bool:
    """Whether `narrow` may pay."""
    return type(layer) is nn.Linear and 5 < layer.out_features < 16 and layer.weight.device.type == "cpu"


def pays(inputs: Tensor) -> bool:
    """Whether `narrow` pays: also the gradient of its input would be transposed, so only where none is asked for."""
    return inputs.dim() == 2 and inputs.numel() >= 2**15 and not inputs.requires_grad


def convolution(
    layer: nn.Conv1d | nn.Conv2d, inputs: Tensor, left: Tensor, names: tuple[str, ...], scratch: Scratch
) -> LayerGradient:
    """A convolution is a matrix applied to patches; with channels last a patch is a few long runs of memory."""
    if inputs.dim() == 3:
        inputs, left = inputs.unsqueeze(2), left.unsqueeze(2)
    count, out = left.shape[:2]
    left = left.reshape(count, out, -1)
    kept = layer.groups == 1 and not ("weight" in names and makes(left.shape[2], out, layer.weight.numel() // out))
    room = scratch if kept else scratch.common
    patches, kernel = _patches(layer, inputs, room)
    if layer.groups == 1:
        part = outer(left.mT, patches, names, (out, *kernel, inputs.shape[1]), scratch)
    else:
        part = _grouped(left, patches.view(*patches.shape[:2], -1, inputs.shape[1]), layer, names)
    scratch.common.taken.clear()
    return part


def _pair(values: tuple[int, ...], default: int) -> tuple[int, int]:
    return (default, values[0]) if len(values) == 1 else (values[0], values[1])


def _patches(layer: nn.Conv1d | nn.Conv2d, inputs: Tensor, scratch: Scratch) -> tuple[Tensor, tuple[int, int]]:
    """(m, places, height * width * channels), and the height and width of the kernel."""
    height, width = _pair(layer.kernel_size, 1)
    (down, right), (tall, wide) = _pair(layer.stride, 1), _pair(layer.dilation, 1)
    inputs = inputs.permute(0, 2, 3, 1)
    above, below, before, after = _margins(layer, height, width, tall, wide)
    if above or below or before or after:
        inputs = F.pad(inputs, (0, 0, before, after, above, below))
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


def _margins(layer: nn.Conv1d | nn.Conv2d, height: int, width: int, tall: int, wide: int) -> tuple[int, int, int, int]:
    if layer.padding == "valid":
        return 0, 0, 0, 0
    if layer.padding == "same":
        lines, columns = tall * (height - 1), wide * (width - 1)
        return lines // 2, lines - lines // 2, columns // 2, columns - columns // 2
    above, before = _pair(layer.padding, 0)  # type: ignore[arg-type]
    return above, above, before, before


def _grouped(left: Tensor, patches: Tensor, layer: nn.Conv1d | nn.Conv2d, names: tuple[str, ...]) -> LayerGradient:
    """Each group of channels is a convolution of its own; its kernels are few, so the gradients are made."""
    count, out, places = left.shape
    groups, channels = layer.groups, patches.shape[-1]
    found = {}
    if "weight" in names:
        left_groups = left.view(count, groups, out // groups, places)
        inputs = patches.view(count, places, -1, groups, channels // groups).permute(0, 3, 1, 4, 2)
        made = left_groups @ inputs.reshape(count, groups, places, -1)
        found["weight"] = made.reshape(count, *layer.weight.shape)
    if "bias" in names:
        found["bias"] = left.sum(2)
    return PlainRows(found)


def embedding(layer: nn.Embedding, inputs: Tensor, left: Tensor, *_: object) -> LayerGradient:
    """Only the lines that an example reads have a gradient; the line for padding has none."""
    count = len(inputs)
    places, left = inputs.reshape(count, -1), left.reshape(count, -1, left.shape[-1])
    if layer.padding_idx is not None:
        left = left.masked_fill((places == layer.padding_idx).unsqueeze(-1), 0)
    return Lookup(places, left, layer.num_embeddings)


def _scaled(left: Tensor, normal: Tensor, names: tuple[str, ...], shape: torch.Size, keep: int) -> LayerGradient:
    """output = weight * normal + bias; the last `keep` numbers are those of the parameters, all others are summed."""
    count = len(left)
    found = {}
    if "weight" in names:
        found["weight"] = _collected(left * normal, keep)
    if "bias" in names:
        found["bias"] = _collected(left, keep)
    return PlainRows({name: value.reshape(count, *shape) for name, value in found.items()})


def _collected(values: Tensor, keep: int) -> Tensor:
    return values.reshape(len(values), -1, keep).sum(1)


def layer_norm(layer: nn.LayerNorm, inputs: Tensor, left: Tensor, names: tuple[str, ...], *_: object) -> LayerGradient:
    """Numbers of one position have mean 0 and variance 1, then a scale and a shift."""
    normal = F.layer_norm(inputs, layer.normalized_shape, None, None, layer.eps)
    return _scaled(left, normal, names, layer.weight.shape, layer.weight.numel())


def rms_norm(layer: nn.RMSNorm, inputs: Tensor, left: Tensor, names: tuple[str, ...], *_: object) -> LayerGradient:
    """Numbers of one position have mean square 1, then a scale."""
    normal = F.rms_norm(inputs, list(layer.normalized_shape), None, layer.eps)
    return _scaled(left, normal, names, layer.weight.shape, layer.weight.numel())


def group_norm(layer: nn.GroupNorm, inputs: Tensor, left: Tensor, names: tuple[str, ...], *_: object) -> LayerGradient:
    """Numbers of one group of channels have mean 0 and variance 1, then a scale and a shift per channel."""
    normal = F.group_norm(inputs, layer.num_groups, None, None, layer.eps)
    left, normal = left.flatten(2).mT, normal.flatten(2).mT
    return _scaled(left, normal, names, layer.weight.shape, layer.num_channels)


RULES: dict[type[nn.Module], Rule] = {
    nn.Linear: linear,
    nn.Conv1d: convolution,
    nn.Conv2d: convolution,
    nn.Embedding: embedding,
    nn.LayerNorm: layer_norm,
    nn.RMSNorm: rms_norm,
    nn.GroupNorm: group_norm,
}  # type: ignore[assignment]


def rule_of(layer: nn.Module) -> Rule | None:
    """The rule of exactly this kind of layer; a subclass may compute anything, and has none."""
    if getattr(layer, "padding_mode", "zeros") != "zeros" or nn.utils.parametrize.is_parametrized(layer):
        return None
    return RULES.get(type(layer))
