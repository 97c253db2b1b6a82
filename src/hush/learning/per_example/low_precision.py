"""bfloat16 on the way forth and back: what a row adds must not depend on the others by more than single precision does.

A product that is rounded to 8 bits may round to another number if the order of its sum changes, as it does with the
number of rows. Two neighbouring batches would then differ in all rows. So every pass has the same number of rows,
filled up with copies, and it is found out beforehand that a row gives the same bits in every place and beside any
others. Where it does not, rows are run alone, which are the same by themselves. See docs/theory/gradients.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor

from hush.errors import InvalidParameter, NotCovered
from hush.learning.per_example.batch import Loss, joined, picked, random_like, row_losses, rows
from hush.learning.per_example.probe import Probe, Still, still_copy, stilled
from hush.learning.per_example.units import grouped, joint
from hush.learning.per_example.ways import Way

CHOSEN = (
    "products of float32 in a precision that torch.backends chose (fp32_precision). Nearest: "
    "torch.set_float32_matmul_precision, of which private passes take care"
)
PLACES = 4
"""Places of a batch in which one row is put among others."""


def checked_precision(kind: object) -> torch.dtype | None:
    """None, or bfloat16: half precision (float16) overflows at 65504, where a row would be lost."""
    if kind is None or kind is torch.bfloat16:
        return None if kind is None else torch.bfloat16
    raise InvalidParameter("autocast", "torch.bfloat16, or None", autocast=str(kind))


def casting(device: torch.device, kind: torch.dtype | None) -> AbstractContextManager[Any]:
    """In here layers compute in a lower precision, where one is given."""
    return nullcontext() if kind is None else torch.autocast(device.type, kind, cache_enabled=False)


@contextmanager
def full_products(device: torch.device) -> Iterator[None]:
    """In here factors of float32 are not rounded to 10 or 7 bits (TF32, bfloat16), whatever was chosen for the process.

    How such a product rounds depends on how many rows there are: see above.
    """
    on_cuda = device.type == "cuda"  # where convolutions have a choice of their own, which is TF32
    try:
        products, convolutions = torch.get_float32_matmul_precision(), on_cuda and torch.backends.cudnn.allow_tf32
    except RuntimeError:  # old and new names were mixed, and torch does not tell any more
        raise NotCovered(CHOSEN) from None
    others = [getattr(torch.backends.mkldnn, name, None) for name in ("conv", "rnn")]
    if any(getattr(other, "fp32_precision", "none") not in ("none", "ieee") for other in others):
        raise NotCovered(CHOSEN)
    chosen = products != "highest" or convolutions
    if chosen:
        torch.set_float32_matmul_precision("highest")
        torch.backends.cudnn.allow_tf32 = torch.backends.cudnn.allow_tf32 and not on_cuda
    try:
        yield
    finally:
        if chosen:
            torch.set_float32_matmul_precision(products)
            torch.backends.cudnn.allow_tf32 = torch.backends.cudnn.allow_tf32 or convolutions


def filled(batch: Any, count: int, size: int) -> Any:
    """So many rows: those of the batch, and copies of its last one."""
    return picked(batch, torch.arange(size).clamp_max(count - 1))


def rows_per_pass(probe: Probe, model: torch.nn.Module, loss: Loss, way: Way, kind: torch.dtype, most: int) -> int:
    """The number of rows that every pass has: `most` if each row gives the same bits in every place of it, else 1."""
    still = still_copy(model)
    run = way.through(still)
    run.low_precision = True
    like = next(still.parameters())
    batch = random_like(probe.batch, most + 1, probe.generator, like.dtype, probe.draw)
    copies = filled(rows(batch, most, most + 1), 1, most)
    if most == 1:
        return 1

    def held(given: Any) -> list[Tensor]:
        with torch.random.fork_rng(devices=[]), run:
            run.begin(most)
            with Still(), casting(like.device, kind):
                losses = row_losses(still, stilled(loss), given, most)
            parts = joint(run.parts(losses.to(like.dtype)), grouped(run.units))
            return [tensor.clone() for _, part in parts for tensor in part.held()]

    first = held(copies)
    alike = all(bool((tensor == tensor[:1]).all()) for tensor in first)
    for place in {0, most - 1, *torch.randint(0, most, (PLACES,), generator=probe.generator).tolist()}:
        mixed = joined([rows(batch, 0, place), rows(batch, most, most + 1), rows(batch, place + 1, most)])
        alike = alike and all(torch.equal(a[place], b[place]) for a, b in zip(held(mixed), first, strict=True))
    return most if alike else 1
