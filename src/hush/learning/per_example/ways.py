"""The ways to each example's gradient, from the fastest to the most general: the first that is exact is taken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from hush.errors import NotCovered
from hush.learning.per_example.batch import rows, tensors
from hush.learning.per_example.layers.layer_gradients import LayerGradient
from hush.learning.per_example.probe import ROWS, Probe
from hush.learning.per_example.units import Axes, Keys, Unit, trainable, units_of, unrolled_units_of, whole_model
from hush.learning.per_example.watch import Pass

Pick = Callable[[nn.Module], list[Unit]]
WAYS: tuple[tuple[Pick, bool], ...] = (
    (unrolled_units_of, False),
    (units_of, False),
    (units_of, True),
    (whole_model, False),
    (whole_model, True),
)
"""Units to watch (layers, recurrent ones as loops or not, or the whole model), and whether modules without a rule are
run on one example after the other."""
FAILURES = (RuntimeError, NotCovered, AttributeError, IndexError, TypeError, ValueError)
"""What a way that does not fit a model may raise on random rows."""
BYTES = 4
"""Of a number in single precision."""


@dataclass(frozen=True, eq=False)
class Way:
    """A way that gave the gradients of rows alone, found on the probe's copy of a model.

    axes: where the batch lies in the calls of each unit. row_bytes: memory that one example takes.
    """

    pick: Pick
    one_by_one: bool
    axes: list[list[Axes]]
    row_bytes: int

    def through(self, model: nn.Module) -> Pass:
        """A watched pass through the model, or through a copy of it."""
        units = self.pick(model)
        axes = {id(unit): each for unit, each in zip(units, self.axes, strict=True)}
        return Pass(units, axes, one_by_one=self.one_by_one)


def exact_way(probe: Probe) -> Way:
    """The first way that is exact for the model, by comparison with rows alone."""
    alone = probe.rows_alone()
    for pick, one_by_one in WAYS:
        units = pick(probe.model)
        if one_by_one and all(unit.rule is not None for unit in units):
            continue  # nothing would be run in another way
        try:
            axes = probe.axes(units)
            parts, _ = probe.watched(Pass(units, axes, one_by_one=one_by_one), rows(probe.batch, 0, ROWS), ROWS)
            exact = has_norms_and_sums(probe, parts, alone)
        except FAILURES:
            continue
        if exact:
            return Way(pick, one_by_one, [axes[id(unit)] for unit in units], _row_bytes(probe, parts))
    raise NotCovered("a model whose gradients, example by example, differ from those of examples alone")


def has_norms_and_sums(probe: Probe, parts: list[tuple[Keys, LayerGradient]], alone: list[dict[str, Tensor]]) -> bool:
    """Whether norms and sums of the layers' gradients are those of the rows alone."""
    with torch.no_grad():
        squares = sum((part.squares() for _, part in parts), torch.zeros(ROWS, dtype=probe.kind))
        expected = torch.stack([_square(row) for row in alone])
        if not probe.same(squares, expected):
            return False
        names = {id(p): name for name, p in trainable(probe.model).items()}
        for row, own in enumerate(alone):
            weights = torch.zeros(ROWS, dtype=probe.kind)
            weights[row] = 1.0  # the sum is then the gradient of this row
            found = {name: torch.zeros_like(gradient) for name, gradient in own.items()}
            for keys, part in parts:
                part.add(weights, {name: found[names[key]] for name, key in keys.items()})
            apart = sum(float((found[name] - own[name]).square().sum()) for name in own)
            if not apart <= probe.close**2 * max(float(expected[row]), 1e-24):  # of the row's whole gradient
                return False
    return True


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
