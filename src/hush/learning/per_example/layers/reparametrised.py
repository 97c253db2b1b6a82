"""Layers whose weight is computed from other parameters: weight normalisation, and any parametrization of torch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from hush.learning.per_example.layers.combined import Together
from hush.learning.per_example.layers.convolutions import Convolved
from hush.learning.per_example.layers.layer_gradients import (
    LayerGradient,
    Outer,
    PlainRows,
    Rule,
    Scratch,
    Views,
    reliable_squares,
)
from hush.learning.torch_private import is_weight_norm, mapping

PLACE = "parametrizations."
"""What the names begin with of parameters that others are computed from."""


def reparametrised(
    rule: Rule, layer: nn.Module, inputs: Tensor, left: Tensor, names: tuple[str, ...], scratch: Scratch
) -> LayerGradient:
    """The rule of the layer for what it computes with, and from there back to the parameters."""
    lists: nn.ModuleDict = layer.parametrizations  # type: ignore[assignment]
    plain = tuple(name for name in names if not name.startswith(PLACE))
    parts = [rule(layer, inputs, left, plain, scratch)] if plain else []
    for tensor, made_by in lists.items():
        begin = f"{PLACE}{tensor}."
        if own := [name.removeprefix(begin) for name in names if name.startswith(begin)]:
            inner = rule(layer, inputs, left, (tensor,), scratch)
            lines = is_weight_norm(made_by) and tensor == "weight" and set(own) == {"original0", "original1"}
            parts.append(WeightNormed(inner, made_by, begin) if lines else _pulled(inner, made_by, tensor, begin, own))
    return parts[0] if len(parts) == 1 else Together(parts)


def _pulled(inner: LayerGradient, made_by: nn.Module, tensor: str, begin: str, own: list[str]) -> LayerGradient:
    """The gradient of what is computed, example by example, pulled back to what it is computed from."""
    rows = inner.rows()[tensor]
    given = {name: made_by.get_parameter(name).detach() for name in own}
    value, pull = _with_pull(made_by, given)
    with mapping():
        (found,) = torch.func.vmap(pull)(rows.reshape(len(rows), *value.shape))
    return PlainRows({f"{begin}{name}": gradient for name, gradient in found.items()}, room=rows.numel())


def _with_pull(made_by: nn.Module, given: dict[str, Tensor]) -> tuple[Tensor, Callable[..., Any]]:
    """What is computed, and from its gradient to that of what it is computed from."""
    value, pull, *_ = torch.func.vjp(lambda values: torch.func.functional_call(made_by, values, ()), given)
    return value, pull


class WeightNormed(LayerGradient):
    """The gradients of lengths g and directions v of the lines of a weight, w = g v/|v| (Salimans and Kingma 2016).

    With G a line of the weight's gradient, that of its length is G.v/|v|, and that of its direction is g/|v| times the
    part of G that is orthogonal to v. So norms need |G| and G.v/|v| of each line; and the sum over the examples is
    taken of the weight's gradients, and then pulled back.
    """

    def __init__(self, inner: LayerGradient, made_by: nn.Module, begin: str) -> None:
        self.inner, self.made_by, self.begin, self.room = inner, made_by, begin, inner.room
        self.lengths, self.directions = (made_by.get_parameter(f"original{k}").detach() for k in (0, 1))

    def _lines(self, kind: torch.dtype) -> tuple[Tensor, Tensor]:
        """Directions of norm 1, as the inner gradient keeps a line, and the squares of g/|v|."""
        directions = self.directions.to(kind)
        sizes = torch.linalg.vector_norm(directions.flatten(1), dim=1)
        kernel = getattr(self.inner, "kernel", ())
        if kernel:
            out, height, width, channels = kernel
            directions = directions.reshape(out, channels, height, width).permute(0, 2, 3, 1)
        lines = directions.reshape(len(sizes), -1) / sizes.unsqueeze(1)
        return lines, (self.lengths.to(kind).flatten() / sizes).square()

    def squares(self) -> Tensor:
        factors = self.inner.factors()
        if isinstance(self.inner, Outer | Convolved) and factors is not None:
            return reliable_squares(self._by_factors, *factors)
        if isinstance(self.inner, PlainRows):
            return reliable_squares(self._by_rows, self.inner.gradients["weight"])
        return PlainRows(self.rows()).squares()

    def _by_factors(self, left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
        lines, scales = self._lines(left.dtype)
        along = (left * (right @ lines.T)).sum(1)
        whole = (left * ((right @ right.mT) @ left)).sum(1)
        terms = (left.abs() * torch.linalg.vector_norm(right, dim=2, keepdim=True)).sum(1).square_()
        return _measured(whole, along, terms, scales)

    def _by_rows(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        lines, scales = self._lines(weights.dtype)
        gradients = weights.reshape(len(weights), *lines.shape)
        whole = gradients.square().sum(2)
        return _measured(whole, torch.einsum("mok,ok->mo", gradients, lines), whole, scales)

    def add(self, weights: Tensor, into: Views) -> None:
        total = torch.zeros_like(self.directions, memory_format=torch.contiguous_format)
        self.inner.add(weights, {"weight": total})
        for name, gradient in self._back(total).items():
            into[name].add_(gradient)

    def _back(self, gradient: Tensor) -> dict[str, Tensor]:
        given = {f"original{k}": value for k, value in enumerate((self.lengths, self.directions))}
        _, pull = _with_pull(self.made_by, given)
        return {f"{self.begin}{name}": value for name, value in pull(gradient)[0].items()}

    def rows(self) -> dict[str, Tensor]:
        rows = self.inner.rows()["weight"]
        with mapping():
            return torch.func.vmap(self._back)(rows.reshape(len(rows), *self.directions.shape))

    def without(self, bad: Tensor) -> LayerGradient:
        return WeightNormed(self.inner.without(bad), self.made_by, self.begin)

    def held(self) -> list[Tensor]:
        return self.inner.held()

    def folded(self, count: int) -> LayerGradient:
        return WeightNormed(self.inner.folded(count), self.made_by, self.begin)


def _measured(whole: Tensor, along: Tensor, terms: Tensor, scales: Tensor) -> tuple[Tensor, Tensor]:
    """Squared norms, and those of their terms, out of those of the lines of each example's gradient."""
    squares = along.square()
    return ((whole - squares) * scales + squares).sum(1), (terms * (scales + 1)).sum(1)
