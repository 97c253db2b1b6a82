"""The ways to each example's gradient, from the fastest to the most general: the first that is exact is taken."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from hush.errors import NotCovered
from hush.learning.per_example.batch import rows, tensors
from hush.learning.per_example.layers.layer_gradients import LayerGradient
from hush.learning.per_example.probe import ROWS, Probe
from hush.learning.per_example.units import (
    Axes,
    Keys,
    Unit,
    guessed_units_of,
    trainable,
    units_of,
    unrolled_units_of,
    whole_model,
)
from hush.learning.per_example.watch import Pass

Pick = Callable[[nn.Module], list[Unit]]
Parts = list[tuple[Keys, LayerGradient]]


@dataclass(frozen=True)
class WayKind:
    """A kind of way: its words, the units that it watches, and whether modules without a rule run row by row."""

    words: str
    pick: Pick
    one_by_one: bool = False


KINDS = (
    WayKind("layer by layer, with guessed scales", guessed_units_of),
    WayKind("layer by layer", unrolled_units_of),
    WayKind("layer by layer, recurrent layers as a whole", units_of),
    WayKind("layer by layer, modules without a rule row by row", units_of, one_by_one=True),
    WayKind("the whole model with a copy of its parameters per row", whole_model),
    WayKind("row by row", whole_model, one_by_one=True),
)
"""From the fastest to the most general."""
FAILURES = (RuntimeError, NotCovered, AttributeError, IndexError, TypeError, ValueError)
"""What a way that does not fit a model may raise on random rows."""
BYTES = 4
"""Of a number in single precision."""
LEAST = 1e-12
"""The smallest max_norm (`checked_norm`): gradients that are shorter than it are not clipped, and differences that are
a share of it are the same share of what is noised."""
NOISE_OF_ROWS = 2.0**-20
"""Rows whose gradient is a smaller share of the largest one are compared as if it were that share: what rounding leaves
of them is that of the numbers on the way, which all rows share."""


@dataclass(frozen=True, eq=False)
class Way:
    """A way that gave the gradients of rows alone, found on the probe's copy of a model.

    axes: where the batch lies in the calls of each unit. row_bytes: memory that one example takes. refused: the ways
    that were tried before it, each with the reason, of random rows, that it was not taken for. without_rule: kinds of
    modules that no rule is known for.
    """

    kind: WayKind
    axes: list[list[Axes]]
    row_bytes: int
    refused: tuple[tuple[str, str], ...]
    without_rule: tuple[str, ...]

    def through(self, model: nn.Module) -> Pass:
        """A watched pass through the model, or through a copy of it."""
        units = self.kind.pick(model)
        axes = {id(unit): each for unit, each in zip(units, self.axes, strict=True)}
        return Pass(units, axes, one_by_one=self.kind.one_by_one)

    @property
    def slow(self) -> bool:
        """Whether some of the model runs on one row after the other."""
        return self.kind.one_by_one

    def __str__(self) -> str:
        return self.kind.words + (f" (no rule: {', '.join(self.without_rule)})" if self.without_rule else "")

    def explain(self) -> str:
        """Which way was taken, and why none before it was."""
        return "\n".join([str(self), *(f"  not {words}: {reason}" for words, reason in self.refused)])


def exact_way(probe: Probe) -> Way:
    """The first way that is exact for the model, by comparison with rows alone."""
    alone, refused = probe.rows_alone(), []
    for kind in KINDS:
        units = kind.pick(probe.model)
        if kind.one_by_one and all(unit.rule is not None for unit in units):
            continue  # nothing would be run in another way
        try:
            axes, parts = _tried(probe, kind, units)
            fault = differs(probe, parts, alone)
        except FAILURES as error:
            refused.append((kind.words, f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"))
            continue
        if fault is None:
            unruled = sorted({type(unit.module).__name__ for unit in units if unit.rule is None})
            known = [axes[id(unit)] for unit in units]
            return Way(kind, known, _row_bytes(probe, parts), tuple(refused), tuple(unruled))
        refused.append((kind.words, fault))
    raise NotCovered("a model whose gradients, example by example, differ from those of examples alone")


def _tried(probe: Probe, kind: WayKind, units: list[Unit]) -> tuple[dict[int, list[Axes]], Parts]:
    """Where the batch lies, and the gradients; quiet, as a way that does not fit makes something else of the model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        axes = probe.axes(units)
        run = Pass(units, axes, one_by_one=kind.one_by_one)
        return axes, probe.watched(run, rows(probe.batch, 0, ROWS), ROWS)[0]


def differs(probe: Probe, parts: Parts, alone: list[dict[str, Tensor]]) -> str | None:
    """How norms and sums of the layers' gradients differ from those of the rows alone; None if they do not.

    Everything is measured against the norm of the row's whole gradient (docs/theory/gradients.md): a layer whose
    gradient is zero in theory holds rounding alone, and two roundings never agree.
    """
    with torch.no_grad():
        squares = sum((part.squares() for _, part in parts), torch.zeros(ROWS, dtype=probe.kind))
        expected = torch.stack([_square(row) for row in alone])
        floor = max(NOISE_OF_ROWS**2 * float(expected.max()), LEAST**2)
        scales = expected.clamp_min(floor)
        if not bool(((squares - expected).abs() <= 2 * probe.close * scales).all()):
            return "norms of rows differ from those of rows alone"
        names = {id(p): name for name, p in trainable(probe.model).items()}
        for row, own in enumerate(alone):
            weights = torch.zeros(ROWS, dtype=probe.kind)
            weights[row] = 1.0  # the sum is then the gradient of this row
            found = {name: torch.zeros_like(gradient) for name, gradient in own.items()}
            for keys, part in parts:
                part.add(weights, {name: found[names[key]] for name, key in keys.items()})
            apart = {name: float((found[name] - own[name]).square().sum()) for name in own}
            if not sum(apart.values()) <= probe.close**2 * float(scales[row]):
                return f"gradients differ from those of rows alone, most that of {max(apart, key=apart.__getitem__)}"
    return None


def _square(gradient: dict[str, Tensor]) -> Tensor:
    return torch.stack([part.square().sum() for part in gradient.values()]).sum()


def _row_bytes(probe: Probe, parts: list[tuple[Keys, LayerGradient]]) -> int:
    """Memory per example: what the layers' gradients hold, and what the largest of them needed while it was made."""
    given = {leaf.untyped_storage().data_ptr() for leaf in tensors(probe.batch)}
    held = sum(_numbers(part, given) for _, part in parts)
    return BYTES * (held + 2 * max((part.room for _, part in parts), default=0)) // ROWS


def _numbers(part: LayerGradient, given: set[int]) -> int:
    """How many numbers are held; those that were not given, but made, count twice: they are memory of a step."""
    return sum(held.numel() * (1 if held.untyped_storage().data_ptr() in given else 2) for held in part.held())
