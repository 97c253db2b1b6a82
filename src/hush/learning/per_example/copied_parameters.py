"""Modules without a rule: run with parameters of their own for each example, so that each example has a gradient."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from hush.learning.per_example.units import Axes
from hush.learning.torch_private import mapping, tree_flatten, tree_unflatten

Copies = dict[str, Tensor]
"""The parameters of a module once per example, by the names that they have in a `Shim`."""
SHIM = "inner."
"""What the names of parameters begin with in a `Shim`."""


class Shim(nn.Module):
    """A module by its own forward, under a name that parameters can be swapped at."""

    def __init__(self, inner: nn.Module, forward: Any) -> None:
        super().__init__()
        self.inner, self.run = inner, forward

    def forward(self, *arguments: Any, **named: Any) -> Any:
        return self.run(*arguments, **named)


def copies_of(parameters: dict[str, nn.Parameter], count: int) -> Copies:
    """The parameters once per example, in no more memory; gradients arrive for each."""
    return {
        f"{SHIM}{name}": p.detach().unsqueeze(0).expand(count, *p.shape).requires_grad_()
        for name, p in parameters.items()
    }


def at_once(shim: nn.Module, copies: Copies, arguments: Any, axes: Axes, _: int) -> Any:
    """The module on every example with its own parameters, all at once."""
    leaves, nesting = tree_flatten(arguments)
    shape: list[Any] = []

    def one(parameters: Copies, *values: Any) -> tuple[Tensor, ...]:
        rows = [v if axis is None else v.unsqueeze(axis) for v, axis in zip(values, axes.arguments, strict=True)]
        results, result_nesting = _called(shim, parameters, rows, nesting)
        shape[:] = [results, result_nesting]
        pairs = zip(results, axes.results, strict=True)
        return tuple(result.squeeze(axis) for result, axis in pairs if axis is not None)

    outputs = [axis for axis in axes.results if axis is not None]
    run = torch.func.vmap(one, in_dims=(0, *axes.arguments), out_dims=tuple(outputs), randomness="different")
    with mapping(), sdpa_kernel(SDPBackend.MATH):  # the fused kernels cannot be mapped
        values = iter(run(copies, *leaves))
    results, result_nesting = shape
    merged = [result if axis is None else next(values) for result, axis in zip(results, axes.results, strict=True)]
    return tree_unflatten(merged, result_nesting)


def one_by_one(shim: nn.Module, copies: Copies, arguments: Any, axes: Axes, count: int) -> Any:
    """The module on one example after the other: for what cannot be mapped."""
    leaves, nesting = tree_flatten(arguments)
    collected: list[list[Any]] = []
    result_nesting: Any = None
    for row in range(count):
        rows = [v if axis is None else v.narrow(axis, row, 1) for v, axis in zip(leaves, axes.arguments, strict=True)]
        parameters = {name: copy[row] for name, copy in copies.items()}
        results, result_nesting = _called(shim, parameters, rows, nesting)
        collected.append(results)
    merged = [
        values[0] if axis is None else torch.cat(values, axis)
        for values, axis in zip(zip(*collected, strict=True), axes.results, strict=True)
    ]
    return tree_unflatten(merged, result_nesting)


def _called(shim: nn.Module, parameters: Copies, leaves: list[Any], nesting: Any) -> tuple[list[Any], Any]:
    """What the module makes of these arguments with these parameters, as leaves."""
    placed, named = tree_unflatten(leaves, nesting)
    return tree_flatten(torch.func.functional_call(shim, parameters, placed, named))
