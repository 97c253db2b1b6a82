"""Sums of clipped gradients: the core of private training, without noise."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from hush.errors import HushError, InvalidParameter, NotCovered
from hush.learning.boundary import attempt, quiet
from hush.learning.dpsgd.clipping import Clipping, Flat, checked_norm
from hush.learning.model_state.undo import Kept
from hush.learning.per_example.batch import Loss, row_losses, rows, size_of, tensors, unreduced
from hush.learning.per_example.batch_sizes import LARGEST, check_sizes
from hush.learning.per_example.parts import LayerGradient, PlainRows
from hush.learning.per_example.probe import ROWS, Probe, probe_of
from hush.learning.per_example.shared_parameters import Keys, grouped, joint
from hush.learning.per_example.watch import (
    INFERENCE,
    LOW_PRECISION,
    Axes,
    Pass,
    Unit,
    trainable,
    units_of,
    unrolled_units_of,
)
from hush.learning.torch_private import tree_map

CACHE = 10 * 2**20
"""Bytes that a micro-batch should fill: what a core's share of the cache holds."""
FEWEST = 16


def clipped_gradient(
    model: nn.Module, loss: Loss, batch: Any, max_norm: float, *, clipping: Clipping | None = None
) -> dict[str, Tensor]:
    """The sum over a batch of the gradients of its examples, each clipped to max_norm; NOT private yet: no noise.

    batch: (inputs, targets, ...), examples in front; model(inputs) and loss(output, targets, ...) give one loss each.
    Nothing is changed: not the model, not its gradients. Micro-batches are chosen so that memory stays small.

    >>> model = nn.Linear(2, 1, bias=False)
    >>> batch = (torch.tensor([[3.0, 4.0], [0.3, 0.4]]), torch.zeros(2))
    >>> clipped_gradient(model, lambda output, y: output[:, 0] - y, batch, max_norm=1.0)
    {'weight': tensor([[0.9000, 1.2000]])}
    """
    watched = Watched.of(model, loss, batch)
    flat = watched.zeros()
    named = watched.named(flat)
    watched.add_clipped(named, batch, checked_norm("clipped_gradient", max_norm), clipping or Flat())
    return named


@dataclass(eq=False)
class Watched:
    """A model whose examples were found to be apart, with the way to each example's gradient."""

    model: nn.Module
    loss: Loss
    units: list[Unit]
    axes: dict[int, list[Axes]]
    loops: frozenset[int]
    row_bytes: int
    groups: list[list[Unit]] = field(init=False)
    parameters: dict[str, nn.Parameter] = field(init=False)

    def __post_init__(self) -> None:
        self.parameters = trainable(self.model)
        self.groups = grouped(self.units)
        self.each = unreduced(self.loss)
        self.run = Pass(self.units, self.axes, self.loops)
        self.kept = Kept(self.model, self.loss)
        self.sizes = [p.numel() for p in self.parameters.values()]
        self.device = next(iter(self.parameters.values())).device

    @classmethod
    def of(cls, model: nn.Module, loss: Loss, batch: Any, expected: float | None = None) -> Watched:
        """Check the model on random data shaped like the batch, and choose the fastest way that is exact for it.

        expected: examples of a batch on average, which decides how large the micro-batches are; by default this one's.
        """
        if not isinstance(model, nn.Module):
            raise InvalidParameter("model", "a torch.nn.Module", model=type(model).__name__)
        unreduced(loss)
        if torch.is_inference_mode_enabled():
            raise NotCovered(INFERENCE)
        expected = size_of(batch) if expected is None else expected
        probe = probe_of(model, loss, batch)
        probe.check_rows_are_apart()
        alone = probe.rows_alone()
        for pick, loop in WAYS:
            copies = pick(probe.model)
            cost = _agrees(probe, copies, alone, loop)
            if cost is not None:
                units, axes = pick(model), probe.axes(copies)
                here = {id(unit): axes[id(copied)] for unit, copied in zip(units, copies, strict=True)}
                found = cls(model, loss, units, here, _looped(units, loop), cost)
                check_sizes(probe, copies, Pass(copies, axes, _looped(copies, loop)), expected, found.most)
                found._rehearse(probe.batch, batch)
                return found
        raise NotCovered("a model whose gradients, example by example, differ from those of examples alone")

    def _rehearse(self, drawn: Any, batch: Any) -> None:
        """What will run, as it will run, on random rows of the batch's own types: what fails for all rows fails here.

        On private rows no error passes, and without this no row might ever add anything.
        """
        typed = tree_map(lambda v, like: v.to(like.dtype) if isinstance(v, Tensor) else v, drawn, batch)
        try:
            with torch.random.fork_rng(devices=[]), self.kept, self.run:
                self._weighed(rows(typed, 0, ROWS), ROWS, 1.0, Flat(), 1.0)
        except (RuntimeError, TypeError, ValueError) as error:
            if isinstance(error, HushError):
                raise
            reason = str(error).split("\n")[0]
            raise InvalidParameter("data", "tensors of the types that the model takes", reason=reason) from error

    def zeros(self) -> Tensor:
        """Room for one gradient, all parameters in a row."""
        return torch.zeros(sum(self.sizes), dtype=self.units[0].kind, device=self.device)

    def named(self, flat: Tensor) -> dict[str, Tensor]:
        """The parts of a row that belong to each parameter."""
        pieces = flat.split(self.sizes)
        return {name: piece.view_as(p) for (name, p), piece in zip(self.parameters.items(), pieces, strict=True)}

    @property
    def most(self) -> int:
        """Rows of a micro-batch at most: about as many as the cache holds."""
        return min(max(FEWEST, CACHE // max(self.row_bytes, 1)), LARGEST)

    def micro(self, count: int) -> int:
        """Rows of a micro-batch: as equal as can be."""
        return -(-count // -(-count // self.most)) if count else 1

    def add_clipped(
        self, named: dict[str, Tensor], batch: Any, max_norm: float, clipping: Clipping, share: float = 1.0
    ) -> None:
        """Add a share of the clipped gradients of all examples of the batch to what is there for each parameter."""
        views = {id(p): named[name] for name, p in self.parameters.items()}
        count = size_of(batch)
        if torch.is_autocast_enabled(self.device.type):
            raise NotCovered(LOW_PRECISION)
        if torch.is_inference_mode_enabled() or any(leaf.is_inference() for leaf in tensors(batch)):
            raise NotCovered(INFERENCE)
        step = self.micro(count)
        with quiet(), self.kept, self.run:
            for start in range(0, count, step):
                stop = min(start + step, count)
                part = batch if step >= count else rows(batch, start, stop)
                self._add(views, part, stop - start, max_norm, clipping, share)

    def _add(
        self, views: dict[int, Tensor], batch: Any, count: int, max_norm: float, clipping: Clipping, share: float
    ) -> None:
        """Add the clipped gradients of a micro-batch; an example that model or loss cannot take adds nothing.

        An error, of whatever kind, would tell of it. What fails for every example has failed on random ones before.
        """
        found = attempt(lambda: self._weighed(batch, count, max_norm, clipping, share))
        if found is None:
            for row in range(count if count > 1 else 0):
                self._add(views, rows(batch, row, row + 1), 1, max_norm, clipping, share)
            return
        parts, factors = found
        while parts:  # the last one first, and each is let go when it was added
            keys, part = parts.pop()
            weights = factors[len(parts)] if factors.dim() > 1 else factors
            part.add(weights, {name: views[key] for name, key in keys.items()})

    def _weighed(
        self, batch: Any, count: int, max_norm: float, clipping: Clipping, share: float
    ) -> tuple[list[tuple[Keys, LayerGradient]], Tensor]:
        """The parts of a micro-batch and the factors of its rows; one that is not finite in any layer has no part."""
        self.run.begin(count)
        losses = row_losses(self.model, self.each, batch, count)
        parts = joint(self.run.parts(losses), self.groups)
        if not parts:
            return parts, losses
        norms = [part.squares() for _, part in parts]
        squares = torch.stack(norms) if len(norms) > 1 else norms[0]
        if not math.isfinite(squares.sum().item()):
            bad = ~torch.isfinite(squares.view(len(norms), -1)).all(0)
            parts = [(keys, part.without(bad)) for keys, part in parts]
            squares = squares.masked_fill(bad, 0)
        return parts, clipping.factors(squares, max_norm, share)


def _whole(model: nn.Module) -> list[Unit]:
    """The model as one unit without a rule."""
    return [Unit(model, None, trainable(model))]


WAYS = ((unrolled_units_of, False), (units_of, False), (units_of, True), (_whole, False), (_whole, True))
"""Layers (recurrent ones as loops or not) or the whole, one example after the other or not.

The first way that is right is taken.
"""


def _agrees(probe: Probe, units: list[Unit], alone: list[dict[str, Tensor]], loop: bool) -> int | None:
    """Bytes a row if the watched pass gives the gradients of the rows alone, None if it does not."""
    if loop and all(unit.rule is not None for unit in units):
        return None
    try:
        run = Pass(units, probe.axes(units), _looped(units, loop))
        parts, _ = probe.watched(units, run, rows(probe.batch, 0, ROWS), ROWS)
        right = _right(probe, parts, alone)
    except (RuntimeError, NotCovered, AttributeError, IndexError, TypeError, ValueError):
        return None
    if not right:
        return None
    given = {leaf.untyped_storage().data_ptr() for leaf in tensors(probe.batch)}
    shared = max((part.room for _, part in parts if isinstance(part, PlainRows)), default=0)
    return 4 * (sum(_numbers(part, given) for _, part in parts) + 2 * shared) // ROWS


def _right(probe: Probe, parts: list[tuple[Keys, LayerGradient]], alone: list[dict[str, Tensor]]) -> bool:
    """Whether norms and sums of the parts are those of the rows alone."""
    names = {id(p): name for name, p in trainable(probe.model).items()}
    with torch.no_grad():
        squares = sum((part.squares() for _, part in parts), torch.zeros(ROWS, dtype=probe.kind))
        expected = torch.stack([sum(g.square().sum() for g in row.values()) for row in alone])  # type: ignore[arg-type]
        if not probe.same(squares, expected):
            return False
        for row in range(ROWS):
            sums = {name: torch.zeros_like(gradient) for name, gradient in alone[row].items()}
            weights = torch.zeros(ROWS, dtype=probe.kind).index_fill_(0, torch.tensor(row), 1.0)
            for keys, part in parts:
                part.add(weights, {name: sums[names[key]] for name, key in keys.items()})
            apart = sum(float((sums[name] - alone[row][name]).square().sum()) for name in sums)
            if not apart <= probe.close**2 * max(float(expected[row]), 1e-24):  # of the row's whole gradient
                return False
    return True


def _looped(units: list[Unit], loop: bool) -> frozenset[int]:
    return frozenset(id(unit) for unit in units if loop)


def _numbers(part: LayerGradient, given: set[int]) -> int:
    """How many numbers a part holds; those that were not given, but made, count twice: they are memory of a step."""
    fields = [*vars(part).values(), *vars(part).get("gradients", {}).values()]
    held = [value for value in fields if isinstance(value, Tensor)]
    return sum(value.numel() * (1 if value.untyped_storage().data_ptr() in given else 2) for value in held)
