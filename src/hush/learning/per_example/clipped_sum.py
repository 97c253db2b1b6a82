"""Sums of clipped gradients: the core of private training, without noise."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from hush.errors import HushError, InvalidParameter, NotCovered
from hush.learning.boundary import attempt, quiet
from hush.learning.model_state.undo import Restored
from hush.learning.per_example.batch import Loss, row_losses, rows, size_of, tensors, unreduced
from hush.learning.per_example.batch_sizes import LARGEST, check_sizes
from hush.learning.per_example.clipping import Clipping, Flat, checked_norm
from hush.learning.per_example.layers.layer_gradients import LayerGradient
from hush.learning.per_example.low_precision import casting, filled, full_products, rows_per_pass
from hush.learning.per_example.probe import ROWS, probe_of
from hush.learning.per_example.units import Keys, grouped, joint, trainable
from hush.learning.per_example.watch import INFERENCE, LOW_PRECISION, Pass
from hush.learning.per_example.ways import Way, exact_way
from hush.learning.torch_private import tree_map, unshared

CACHE = 10 * 2**20
"""Bytes that a micro-batch should fill: what a core's share of the cache holds."""
OF_PARAMETERS = 4
"""How often the memory of the parameters a micro-batch may fill, where that is more than the cache."""
FEWEST = 16
"""Rows of a micro-batch, at least: smaller ones would be slow, however much memory a row takes."""


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
    checked = CheckedModel.of(model, loss, batch)
    _, named = checked.room()
    checked.add_clipped(named, batch, checked_norm("clipped_gradient", max_norm), clipping or Flat())
    return named


@dataclass(eq=False)
class CheckedModel:
    """A model whose examples were found to be apart, with a pass that gives each example's gradient.

    way: how, and why no faster way was taken.
    """

    model: nn.Module
    loss: Loss
    run: Pass
    way: Way
    autocast: torch.dtype | None = None
    fixed: int | None = None
    """Rows of every pass, where a lower precision asks for it."""
    alone: bool = False
    """Whether that is one, as rows round otherwise beside others."""

    def __post_init__(self) -> None:
        self.parameters = trainable(self.model)
        self.groups = grouped(self.run.units)
        self.each = unreduced(self.loss)
        self.restored = Restored(self.model, self.loss)
        self.sizes = [p.numel() for p in self.parameters.values()]
        first = next(iter(self.parameters.values()))
        self.device, self.kind = first.device, first.dtype
        self.memory = torch.empty(0, dtype=self.kind, device=self.device)
        # rows of a micro-batch, at most: of a large model more, as all parameters are gone through after each
        room = max(CACHE, OF_PARAMETERS * self.kind.itemsize * sum(self.sizes))
        self.most = min(max(FEWEST, room // max(self.way.row_bytes, 1)), LARGEST)

    @classmethod
    def of(
        cls,
        model: nn.Module,
        loss: Loss,
        batch: Any,
        expected: float | None = None,
        autocast: torch.dtype | None = None,
    ) -> CheckedModel:
        """Check the model on random data shaped like the batch, and choose the fastest way that is exact for it.

        expected: examples of a batch on average, which decides how large the micro-batches are; by default this one's.
        autocast: the precision in which layers compute, forth and back; norms and sums stay in that of the parameters.
        """
        if not isinstance(model, nn.Module):
            raise InvalidParameter("model", "a torch.nn.Module", model=type(model).__name__)
        unreduced(loss)
        if torch.is_inference_mode_enabled():
            raise NotCovered(INFERENCE)
        expected = size_of(batch) if expected is None else expected
        probe = probe_of(model, loss, batch)
        with full_products(next(model.parameters()).device):
            pass  # what is refused is refused before any row
        probe.check_rows_are_apart()
        way = exact_way(probe)
        found = cls(model, loss, way.through(model), way, autocast)
        found.run.low_precision = autocast is not None
        check_sizes(probe, way.through(probe.model), expected, found.most)
        if autocast is not None:
            size = min(found.most, max(1, math.ceil(expected)))
            found.fixed = rows_per_pass(probe, model, found.each, way, autocast, size)
            found.alone = found.fixed < size
        found._rehearse(probe.batch, batch)
        return found

    @property
    def slow(self) -> bool:
        """Whether rows, or modules, run one after the other."""
        return self.way.slow or self.alone

    def _rehearse(self, drawn: Any, batch: Any) -> None:
        """What will run, as it will run, on random rows of the batch's own types: what fails for all rows fails here.

        On private rows no error passes, and without this no row might ever add anything. What the model makes at first
        use, such as a table of positions, is made here and stays: no private row is in it.
        """
        typed = tree_map(lambda v, like: v.to(like.dtype) if isinstance(v, Tensor) else v, drawn, batch)
        try:
            with torch.random.fork_rng(devices=[]), self.run:
                count = min(ROWS, self.fixed or ROWS)
                self._weighed(*self._gradients(rows(typed, 0, count), count), count, 1.0, Flat(), 1.0)
        except (RuntimeError, TypeError, ValueError) as error:
            if isinstance(error, HushError):
                raise
            reason = str(error).split("\n")[0]
            raise InvalidParameter("data", "tensors of the types that the model takes", reason=reason) from error

    def room(self, more: int = 0) -> tuple[Tensor, dict[str, Tensor]]:
        """Room for one gradient: zeros for all parameters in a row, and the pieces that belong to each of them.

        It is that of the gradient before, if nobody has that any more: fresh memory takes longer than what fills it.
        more: further zeros at the end of the row.
        """
        size = sum(self.sizes) + more
        if self.memory.numel() != size or not unshared(self.memory):
            self.memory = torch.empty(size, dtype=self.kind, device=self.device)
        flat = self.memory.view(-1).zero_()
        pieces = zip(self.parameters.items(), flat[: sum(self.sizes)].split(self.sizes), strict=True)
        return flat, {name: piece.view_as(p) for (name, p), piece in pieces}

    def micro(self, count: int) -> int:
        """Rows of a micro-batch: as equal as can be."""
        if self.fixed is not None:
            return self.fixed
        return -(-count // -(-count // self.most)) if count else 1

    def add_clipped(
        self, named: dict[str, Tensor], batch: Any, max_norm: float, clipping: Clipping, share: float = 1.0
    ) -> None:
        """Add a share of the clipped gradients of all examples of the batch to what is there for each parameter."""
        with self.watched():
            self.add_watched(named, batch, max_norm, clipping, share)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """While private rows go through the model: nothing is told, and what they leave behind is undone at the end."""
        with quiet(), full_products(self.device), self.restored, self.run:
            yield

    def add_watched(
        self, named: dict[str, Tensor], batch: Any, max_norm: float, clipping: Clipping, share: float = 1.0
    ) -> None:
        """As `add_clipped`, for several batches while the model is watched."""
        views = {id(p): named[name] for name, p in self.parameters.items()}
        count = size_of(batch)
        if torch.is_autocast_enabled(self.device.type):
            raise NotCovered(LOW_PRECISION)
        if torch.is_inference_mode_enabled() or any(leaf.is_inference() for leaf in tensors(batch)):
            raise NotCovered(INFERENCE)
        step = self.micro(count)
        for start in range(0, count, step):
            stop = min(start + step, count)
            part = batch if step >= count else rows(batch, start, stop)
            self._add(views, part, stop - start, max_norm, clipping, share)

    def _add(
        self, views: dict[int, Tensor], batch: Any, count: int, max_norm: float, clipping: Clipping, share: float
    ) -> None:
        """Add the clipped gradients of a micro-batch; an example that model or loss cannot take adds nothing.

        An error, of whatever kind, would tell of it. What fails for every example has failed on random ones before.
        A pass that leaves anything in model or loss may have carried one row into the gradient of another. It does not
        count: all is put back, and each of its rows goes through the model alone. So a row adds what it adds alone,
        whatever rows are beside it and before it.
        """
        self.restored.use()
        found = attempt(lambda: self._gradients(batch, count))
        with self.run.paused():
            left = self.restored.put_back()
        if found is not None and count == 1 and left:  # an input may be a buffer: what is measured is what is added
            alone, _ = found
            found = attempt(lambda: (alone, self._squares(alone)))
        weighed = None
        if found is not None and (count == 1 or not left):  # only what counts is clipped: clipping may count rows
            weighed = attempt(lambda: self._weighed(*found, count, max_norm, clipping, share))
        if weighed is None:
            for row in range(count if count > 1 else 0):
                self._add(views, rows(batch, row, row + 1), 1, max_norm, clipping, share)
            return
        parts, factors = weighed
        while parts:  # the last one first, and each is let go when it was added
            keys, part = parts.pop()
            weights = factors[len(parts)] if factors.dim() > 1 else factors
            part.add(weights, {name: views[key] for name, key in keys.items()})

    def _gradients(self, batch: Any, count: int) -> tuple[list[tuple[Keys, LayerGradient]], Tensor]:
        """The gradients of a micro-batch, and their squared norms in every group of layers."""
        size = count
        if self.fixed is not None:
            batch, size = filled(batch, count, self.fixed), self.fixed
        self.run.begin(size)
        with casting(self.device, self.autocast):
            losses = row_losses(self.model, self.each, batch, size)
        if self.autocast is not None:
            losses = losses.to(self.kind)
        parts = joint(self.run.parts(losses), self.groups)
        return parts, self._squares(parts)

    def _squares(self, parts: list[tuple[Keys, LayerGradient]]) -> Tensor:
        """The squared norms of the rows, in every group of layers."""
        norms = [part.squares() for _, part in parts]
        return torch.stack(norms) if len(norms) > 1 else norms[0] if norms else self.memory.new_zeros(0)

    def _weighed(
        self,
        parts: list[tuple[Keys, LayerGradient]],
        squares: Tensor,
        count: int,
        max_norm: float,
        clipping: Clipping,
        share: float,
    ) -> tuple[list[tuple[Keys, LayerGradient]], Tensor]:
        """The gradients and the factors of their rows; a row that is not finite counts as zero."""
        if not parts:
            return parts, squares
        if not math.isfinite(squares.sum().item()):
            bad = ~torch.isfinite(squares.view(len(parts), -1)).all(0)
            parts = [(keys, part.without(bad)) for keys, part in parts]
            squares = squares.masked_fill(bad, 0)
        factors = clipping.factors(squares, max_norm, share)
        if factors.shape[-1] > count:
            factors[..., count:] = 0  # of the copies that fill a pass
        return parts, factors
