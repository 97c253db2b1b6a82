"""Do examples stay apart in batches as large as those of the training?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from hush.learning.model_state.memory import difference, memory
from hush.learning.per_example.batch import random_like, row_losses, rows
from hush.learning.per_example.clipping import CHARGED_ROUNDING
from hush.learning.per_example.probe import ROWS, Probe, keeps, mixes
from hush.learning.per_example.units import trainable
from hush.learning.per_example.watch import Pass

LARGEST = 4096
"""Rows of a micro-batch, at most: larger ones are not faster, and could not be checked as closely."""
CLOSE_TO_PARTS = CHARGED_ROUNDING / (16 * LARGEST)
"""Share t of a row's gradient that the others may change it by, in double precision.

Its clipped gradient then changes by 2t of the norm at most, and those of all rows together by an eighth of
CHARGED_ROUNDING. It is 1.5e-8; rounding is 1e-16, some thousand times over.
"""
FAINT = 0.01
"""Rows whose gradient is a smaller share of the largest one are not told from rounding."""
GROWTH = 16
"""How much larger each size that is checked is than the one before."""
OTHERS = 4
"""How many sizes between are checked, drawn at random: a model may behave in another way where a size is odd, or no
multiple of eight."""


def sizes_of(expected: float, most: int) -> Iterator[int]:
    """Sizes to check, up to the largest micro-batch of a batch that is random with this mean.

    >>> list(sizes_of(100, 4096))
    [48, 166]
    """
    size, top = ROWS, min(most, math.ceil(expected + 6 * math.sqrt(expected) + 6))
    while size < top:
        size = min(GROWTH * size, top)
        yield size


def check_sizes(probe: Probe, run: Pass, expected: float, most: int) -> None:
    """A batch is compared with its parts of the size before, which was compared itself; the first one with rows alone.

    That is a few passes per size, where rows alone would be thousands.
    """
    before, smaller = memory(model=probe.model, loss=probe.loss), ROWS
    regular = list(sizes_of(expected, most))
    others = torch.randint(ROWS, max(regular, default=ROWS) + 1, (OTHERS,), generator=probe.generator).tolist()
    for size in sorted({*regular, *others}):
        batch = random_like(probe.batch, size, probe.generator, probe.kind, probe.draw)
        weights = torch.rand(size, generator=probe.generator, dtype=probe.kind).add_(0.5).to(probe.device)
        parts = _seen(probe, run, batch, weights, smaller)
        with torch.no_grad(), probe.settled():
            plain = row_losses(probe.model, probe.loss, batch, size)
        whole = _seen(probe, run, batch, weights, size)
        close = CLOSE_TO_PARTS if probe.kind == torch.float64 else probe.close
        if not (probe.same(plain, parts.losses) and whole.agrees(parts, close)):
            raise mixes()
        smaller = size
    if (place := difference(before, memory(model=probe.model, loss=probe.loss))) is not None:
        raise keeps(place)


@dataclass(frozen=True, eq=False)
class _Seen:
    """What passes found of a batch: the loss of each row, its squared norm, and a weighted sum of the gradients."""

    losses: Tensor
    squares: Tensor
    total: Tensor

    def agrees(self, other: _Seen, close: float) -> bool:
        """Errors are measured against the norm of a row's whole gradient: that of one layer may be rounding alone.

        The weights of the sum are random: errors of rows do not cancel.
        """
        norms = other.squares.sqrt()
        floor = FAINT * float(norms.max())
        apart = (self.squares - other.squares).abs() <= 2 * close * other.squares.clamp_min(floor**2)
        least = float(norms.clamp_min(floor).min())
        return bool(apart.all()) and float((self.total - other.total).norm()) <= close * least


def _seen(probe: Probe, run: Pass, batch: Any, weights: Tensor, step: int) -> _Seen:
    """What passes find of a batch that is taken in pieces of some size."""
    losses, squares = [], []
    sums = {id(p): torch.zeros_like(p) for p in trainable(probe.model).values()}
    for start in range(0, len(weights), step):
        stop = min(start + step, len(weights))
        found, value = probe.watched(run, rows(batch, start, stop), stop - start)
        losses.append(value.detach())
        with torch.no_grad():
            squares.append(sum((part.squares() for _, part in found), torch.zeros_like(value)))
            for keys, part in found:
                part.add(weights[start:stop], {name: sums[key] for name, key in keys.items()})
    return _Seen(torch.cat(losses), torch.cat(squares), torch.cat([total.flatten() for total in sums.values()]))
