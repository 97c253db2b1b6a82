"""One rule per kind of layer: from its input and the gradient of its output to the gradients of its parameters."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hush.errors import NotCovered
from hush.learning.per_example.layers.combined import Together
from hush.learning.per_example.layers.convolutions import convolution, convolution_by_itself, transposed_convolution
from hush.learning.per_example.layers.layer_gradients import LayerGradient, Lookup, PlainRows, Rule, Scratch, outer
from hush.learning.per_example.layers.reparametrised import reparametrised
from hush.learning.per_example.layers.scales import scaled


def linear(_: object, inputs: Tensor, left: Tensor, names: tuple[str, ...], scratch: Scratch) -> LayerGradient:
    """The gradient of a matrix is a sum of outer products, one per position."""
    if inputs.dim() > 3:
        inputs, left = inputs.flatten(1, -2), left.flatten(1, -2)
    return outer(left, inputs, names, scratch=scratch)


def turned_linear(
    _: nn.Module, inputs: Tensor, left: Tensor, names: tuple[str, ...], scratch: Scratch
) -> LayerGradient:
    """A linear layer that keeps its matrix as (in, out): inputs and gradients of outputs change places."""
    parts: list[LayerGradient] = []
    if inputs.dim() > 3:
        inputs, left = inputs.flatten(1, -2), left.flatten(1, -2)
    if "weight" in names:
        parts.append(outer(inputs, left, ("weight",), scratch=scratch))
    if "bias" in names:
        parts.append(outer(left, left, ("bias",)))
    return parts[0] if len(parts) == 1 else Together(parts)


def bilinear(
    _: nn.Bilinear, inputs: tuple[Tensor, Tensor], left: Tensor, names: tuple[str, ...], scratch: Scratch
) -> LayerGradient:
    """A linear layer on the products of all pairs of the two inputs' numbers."""
    one, other = inputs
    return linear(None, (one.unsqueeze(-1) * other.unsqueeze(-2)).flatten(-2), left, names, scratch)


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


def embedding(layer: nn.Embedding, inputs: Tensor, left: Tensor, *_: object) -> LayerGradient:
    """Only the lines that an example reads have a gradient; the line for padding has none."""
    count = len(inputs)
    places, left = inputs.reshape(count, -1), left.reshape(count, -1, left.shape[-1])
    if layer.padding_idx is not None:
        left = left.masked_fill((places == layer.padding_idx).unsqueeze(-1), 0)
    return Lookup(places, left, layer.num_embeddings)


def embedding_bag(
    layer: nn.EmbeddingBag, inputs: Tensor | tuple[Tensor, ...], left: Tensor, *_: object
) -> LayerGradient:
    """Each line that a bag reads has the gradient of the bag's sum, or its share of the mean."""
    if layer.mode == "max":
        raise NotCovered("a bag whose lines do not add up")
    places, real = _bags(layer, inputs)
    if layer.padding_idx is not None:
        real = real & (places != layer.padding_idx)
    read = real.to(left.dtype)
    if layer.mode == "mean":
        read = read / read.sum(1, keepdim=True).clamp_min(1)
    return Lookup(places, left.unsqueeze(1) * read.unsqueeze(2), layer.num_embeddings)


def _bags(layer: nn.EmbeddingBag, inputs: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
    """The lines of each bag, one bag per row, and which of them it reads: bags with offsets have different lengths."""
    if isinstance(inputs, Tensor) and inputs.dim() == 2:
        return inputs, torch.ones_like(inputs, dtype=torch.bool)
    if isinstance(inputs, Tensor) or len(inputs) != 2 or inputs[0].dim() != 1 or inputs[1].is_floating_point():
        raise NotCovered("a bag with weights of its own for each line")
    if layer.include_last_offset:
        raise NotCovered("a bag with one more offset than there are bags")
    lines, offsets = inputs
    bounds = torch.cat([offsets, offsets.new_tensor([len(lines)])])
    starts, lengths = bounds[:-1, None], bounds.diff()[:, None]
    steps = torch.arange(int(lengths.max()), device=lines.device)
    return lines[(starts + steps).clamp_max(len(lines) - 1)], steps < lengths


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
    found = {}
    if "weight" in names:
        normal = F.group_norm(inputs, layer.num_groups, None, None, layer.eps)
        found["weight"] = normal.mul_(left).flatten(2).sum(2)
    if "bias" in names:
        found["bias"] = left.flatten(2).sum(2)
    return PlainRows(found)


RULES: dict[type[nn.Module], Rule] = {
    nn.Linear: linear,
    nn.Bilinear: bilinear,
    nn.Conv1d: convolution,
    nn.Conv2d: convolution,
    nn.Conv3d: convolution_by_itself,
    nn.ConvTranspose1d: transposed_convolution,
    nn.ConvTranspose2d: transposed_convolution,
    nn.ConvTranspose3d: transposed_convolution,
    nn.Embedding: embedding,
    nn.EmbeddingBag: embedding_bag,
    nn.LayerNorm: layer_norm,
    nn.RMSNorm: rms_norm,
    nn.GroupNorm: group_norm,
}  # type: ignore[assignment]


BY_NAME: dict[str, Rule] = {"transformers.pytorch_utils.Conv1D": turned_linear}
"""Layers of packages that need not be installed."""


def rule_of(layer: nn.Module) -> Rule | None:
    """The rule of exactly this kind of layer; a subclass may compute anything, and has none."""
    kind, own = type(layer), dict(layer.named_children())
    if "forward" in layer.__dict__ or getattr(layer, "padding_mode", "zeros") != "zeros":
        return None
    if nn.utils.parametrize.is_parametrized(layer):  # torch made a class of its own for it
        rule = RULES.get(kind.__bases__[0])
        return None if rule is None or set(own) != {"parametrizations"} else partial(reparametrised, rule)
    if own:
        return None
    return RULES.get(kind) or BY_NAME.get(f"{kind.__module__}.{kind.__qualname__}")


def scale_of(layer: nn.Module) -> Rule | None:
    """A guess for a layer without a rule: that its parameters are scales and shifts along one axis."""
    flat = all(p.dim() == 1 for p in layer.parameters() if p.requires_grad)
    plain = next(layer.children(), None) is None and "forward" not in layer.__dict__
    return scaled if flat and plain and not nn.utils.parametrize.is_parametrized(layer) else None
