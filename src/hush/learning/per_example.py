"""Sums of clipped gradients: the core of private training, without noise."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from hush.errors import HushError, InvalidParameter, NotCovered
from hush.learning.batch import Loss, row_losses, rows, size_of, tensors, unreduced
from hush.learning.clipping import Clipping, Flat, checked_norm
from hush.learning.parts import Part, Rows
from hush.learning.probe import ROWS, Probe, probe_of
from hush.learning.units import INFERENCE, LOW_PRECISION, Axes, Pass, Unit, trainable, units_of, unrolled_units_of

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
    size_of(batch)
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
        self.sizes = [p.numel() for p in self.parameters.values()]
        self.device = next(iter(self.parameters.values())).device

    @classmethod
    def of(cls, model: nn.Module, loss: Loss, batch: Any) -> Watched:
        """Check the model on random data shaped like the batch, and choose the fastest way that is exact for it."""
        if not isinstance(model, nn.Module):
            raise InvalidParameter("model", "a torch.nn.Module", model=type(model).__name__)
        unreduced(loss)
        if torch.is_inference_mode_enabled():
            raise NotCovered(INFERENCE)
        probe = probe_of(model, loss, batch)
        probe.check_rows_are_apart()
        alone = probe.rows_alone()
        for pick, loop in WAYS:
            copies = pick(probe.model)
            cost = _agrees(probe, copies, alone, loop)
            if cost is not None:
                units = pick(model)
                axes = probe.axes(copies)
                mapping = {id(c): id(u) for c, u in zip(copies, units, strict=True)}
                here = {mapping[key]: value for key, value in axes.items()}
                return cls(model, loss, units, here, frozenset(map(id, units)) if loop else frozenset(), cost)
        raise NotCovered("a model whose gradients, example by example, differ from those of examples alone")

    def zeros(self) -> Tensor:
        """Room for one gradient, all parameters in a row."""
        return torch.zeros(sum(self.sizes), dtype=self.units[0].kind, device=self.device)

    def named(self, flat: Tensor) -> dict[str, Tensor]:
        """The parts of a row that belong to each parameter."""
        pieces = flat.split(self.sizes)
        return {name: piece.view_as(p) for (name, p), piece in zip(self.parameters.items(), pieces, strict=True)}

    def micro(self, count: int) -> int:
        """Rows of a micro-batch: as equal as can be, each about as large as the cache."""
        most = max(FEWEST, CACHE // max(self.row_bytes, 1))
        return -(-count // -(-count // most)) if count else 1

    def add_clipped(
        self, named: dict[str, Tensor], batch: Any, max_norm: float, clipping: Clipping, share: float = 1.0
    ) -> None:
        """Add a share of the clipped gradients of all examples of the batch to what is there for each parameter."""
        views = {id(p): named[name] for name, p in self.parameters.items()}
        count = size_of(batch)
        if torch.is_autocast_enabled(self.device.type):
            raise NotCovered(LOW_PRECISION)
        step = self.micro(count)
        with self.run as run:
            for start in range(0, count, step):
                stop = min(start + step, count)
                part = batch if step >= count else rows(batch, start, stop)
                for parts in self._parts(run, part, stop - start):
                    _add(views, parts, max_norm, clipping, share)

    def _parts(self, run: Pass, batch: Any, count: int) -> Iterator[list[tuple[Keys, Part]]]:
        """The parts of a micro-batch; an example that model or loss cannot take (a label out of range) adds nothing.

        An error would tell of it. What fails for every example has failed on the random ones before.
        """
        run.begin(count)
        try:
            losses = row_losses(self.model, self.each, batch, count)
            parts = joint(run.parts(losses), self.groups)
        except (HushError, torch.OutOfMemoryError, MemoryError):
            raise
        except Exception as error:  # of any kind: a model may assert what it likes about its rows
            if any(leaf.is_inference() for leaf in tensors(batch)):
                raise NotCovered(INFERENCE) from error
            for row in range(count if count > 1 else 0):
                yield from self._parts(run, rows(batch, row, row + 1), 1)
            return
        if parts:
            yield parts


def _add(
    views: dict[int, Tensor], parts: list[tuple[Keys, Part]], max_norm: float, clipping: Clipping, share: float
) -> None:
    """Add a share of the clipped rows of a micro-batch; a row that is not finite in any layer adds nothing at all."""
    norms = [part.squares() for _, part in parts]
    squares = torch.stack(norms) if len(norms) > 1 else norms[0]
    if not math.isfinite(squares.sum().item()):
        bad = ~torch.isfinite(squares.view(len(norms), -1)).all(0)
        parts = [(keys, part.without(bad)) for keys, part in parts]
        squares = squares.masked_fill(bad, 0)
    factors = clipping.factors(squares, max_norm, share)
    while parts:  # the last one first, and each is let go when it was added
        keys, part = parts.pop()
        weights = factors[len(parts)] if factors.dim() > 1 else factors
        part.add(weights, {name: views[key] for name, key in keys.items()})


Keys = dict[str, int]
"""Name of a parameter in its part, to the identity of the parameter."""


def joint(parts: dict[int, Part], groups: list[list[Unit]]) -> list[tuple[Keys, Part]]:
    """The parts of a group of units that share parameters, as one."""
    found = []
    for group in groups:
        present = [unit for unit in group if id(unit) in parts]
        if len(present) == 1:
            found.append((present[0].keys, parts[id(present[0])]))
        elif present:
            total: dict[int, Tensor] = {}
            for unit in present:
                for name, gradients in parts[id(unit)].rows().items():
                    key = unit.keys[name]
                    total[key] = total[key] + gradients if key in total else gradients
            found.append(({str(key): key for key in total}, Rows({str(key): value for key, value in total.items()})))
    return found


def grouped(units: list[Unit]) -> list[list[Unit]]:
    """Units that share a parameter, directly or by way of others, together."""
    groups: list[tuple[set[int], list[Unit]]] = []
    for unit in units:
        keys = {id(p) for p in unit.parameters.values()}
        touching = [group for group in groups if group[0] & keys]
        merged = (keys.union(*(g[0] for g in touching)), [*(u for g in touching for u in g[1]), unit])
        groups = [group for group in groups if group not in touching] + [merged]
    return [members for _, members in groups]


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
        axes = probe.axes(units)
        loops = frozenset(id(unit) for unit in units if loop)
        parts = joint(probe.watched(units, axes, loops), grouped(units))
    except (RuntimeError, NotCovered, AttributeError, IndexError, TypeError, ValueError):
        return None
    names = {id(p): name for name, p in trainable(probe.model).items()}
    with torch.no_grad():
        squares = sum((part.squares() for _, part in parts), torch.zeros(ROWS, dtype=probe.kind))
        expected = torch.stack([sum(g.square().sum() for g in row.values()) for row in alone])  # type: ignore[arg-type]
        if not probe.same(squares, expected):
            return None
        for row in range(ROWS):
            sums = {name: torch.zeros_like(gradient) for name, gradient in alone[row].items()}
            weights = torch.zeros(ROWS, dtype=probe.kind).index_fill_(0, torch.tensor(row), 1.0)
            for keys, part in parts:
                part.add(weights, {name: sums[names[key]] for name, key in keys.items()})
            if not all(probe.same(sums[name], alone[row][name]) for name in sums):
                return None
    given = {leaf.untyped_storage().data_ptr() for leaf in tensors(probe.batch)}
    shared = max((part.room for _, part in parts if isinstance(part, Rows)), default=0)
    return 4 * (sum(_numbers(part, given) for _, part in parts) + 2 * shared) // ROWS


def _numbers(part: Part, given: set[int]) -> int:
    """How many numbers a part holds; those that were not given, but made, count twice: they are memory of a step."""
    fields = [*vars(part).values(), *vars(part).get("gradients", {}).values()]
    held = [value for value in fields if isinstance(value, Tensor)]
    return sum(value.numel() * (1 if value.untyped_storage().data_ptr() in given else 2) for value in held)
