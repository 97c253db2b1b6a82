"""The processes of one training: what they tell each other, and which of them is missing when one is."""

from __future__ import annotations

import atexit
import contextlib
import os
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch import distributed as dist

from hush.checks import number
from hush.errors import InvalidParameter, RankLost
from hush.learning.torch_private import shared_store

Result = TypeVar("Result")

GRACE = 2.0
"""Seconds that the others have, after a failure or at the end, to say that they are still there."""
STARTED = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
"""What torchrun tells each process."""


class Ranks:
    """All processes of a training by data parallelism: each works on a part of every batch, noise is added once.

    Start them by `torchrun --nproc-per-node 4 train.py`, make one in each, and give it to `fit` or `PrivateGradient`.
    By default every process was given the same data, and hush splits what the plan draws. With `sharded=True` each was
    given records of its own, and NO record (nor a copy of it) may be with two of them. `timeout`: seconds after which a
    process that does not answer counts as lost. Sums and noise travel through the CPU (gloo), wherever the model is.

    >>> Ranks()
    Traceback (most recent call last):
    hush.errors.InvalidParameter: Ranks needs processes started by torchrun (torchrun --nproc-per-node 2 ...
    """

    def __init__(self, *, sharded: bool = False, timeout: float = 600.0) -> None:
        if not isinstance(sharded, bool):
            raise InvalidParameter("Ranks", "sharded=True or False", sharded=sharded)
        self.sharded = sharded
        self.timeout = number("Ranks", "1 <= timeout <= 86400 seconds", 1.0, 86400.0, timeout=timeout)
        patience = timedelta(seconds=self.timeout)
        _begin(patience)
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self._store, self._met, self._name, self._lost = shared_store(), 0, "hush", False
        self._group: Any = self._together(lambda: dist.new_group(backend="gloo", timeout=patience))
        self._name = f"hush/{self.shared(os.urandom(8)).hex()}"  # keys of the store are of this object alone
        atexit.register(self._leave)
        self.settled = True
        """Whether all that must be equal on every rank was compared; errors before that are told to all."""

    @property
    def leads(self) -> bool:
        """Whether this is the rank that writes files and reports: the first."""
        return self.rank == 0

    # -- what they tell each other -----------------------------------------------------------------------------

    def told(self, text: str) -> list[str]:
        """What each rank says, by rank."""
        said = text.encode()
        sizes = self._gathered(torch.tensor([len(said)]))
        room = torch.zeros(max(int(size) for size in sizes), dtype=torch.uint8)
        room[: len(said)] = torch.tensor(list(said), dtype=torch.uint8)
        heard = self._gathered(room) if len(room) else [room] * self.size
        return [bytes(part[: int(size)].tolist()).decode() for part, size in zip(heard, sizes, strict=True)]

    def shared(self, secret: bytes) -> bytes:
        """The bytes of the first rank, on every rank; all give equally many."""
        room = torch.tensor(list(secret), dtype=torch.uint8)
        self._together(lambda: dist.broadcast(room, src=0, group=self._group))
        return bytes(room.tolist())

    def copied(self, values: Tensor) -> None:
        """Overwrite these numbers by those of the first rank."""
        room = values.detach().cpu().contiguous()
        self._together(lambda: dist.broadcast(room, src=0, group=self._group))
        with torch.no_grad():
            values.copy_(room)

    def at_step(self, step: int | None) -> bool:
        """Whether all ranks are at one step; None says that this rank cannot make it. The same answer on all."""
        told = [int(heard) for heard in self._gathered(torch.tensor([-1 if step is None else step]))]
        if min(told) >= 0 and min(told) < max(told):
            rule = "the same steps on every rank: each calls gradient(batch) once for every batch"
            raise InvalidParameter(f"A training on {self.size} ranks", rule, steps=told)
        return min(told) >= 0

    def summed_part(self, padded: Tensor) -> Tensor:
        """This rank's part of the sum over all ranks of a row of whole numbers, cut into equal parts: one for each."""
        parts = padded.chunk(self.size)

        def reduce() -> None:
            for owner, part in enumerate(parts):
                dist.reduce(part, dst=owner, group=self._group)

        self._together(reduce)
        return parts[self.rank]

    def joined(self, part: Tensor) -> Tensor:
        """The parts of all ranks in a row."""
        return torch.cat(self._gathered(part))

    def _gathered(self, part: Tensor) -> list[Tensor]:
        parts = [torch.empty_like(part) for _ in range(self.size)]
        self._together(lambda: dist.all_gather(parts, part.contiguous(), group=self._group))
        return parts

    def _leave(self) -> None:
        """Let go of group and store while Python still runs, as their threads must not outlive it; but not too early.

        Who closes a connection first may cut off what another still reads from it: so all wait for each other.
        """
        group, store, key = self._group, self._store, f"{self._name}/left"
        self._group = self._store = None
        with contextlib.suppress(RuntimeError):  # the store may be gone with the first rank
            if store is not None and not self._lost:
                store.set(f"{key}/{self.rank}", "1")
                end = time.monotonic() + GRACE
                while time.monotonic() < end and not store.check([f"{key}/{rank}" for rank in range(self.size)]):
                    time.sleep(0.02)
        with contextlib.suppress(RuntimeError, ValueError):  # a script may have ended all groups before
            if group is not None and dist.is_initialized():  # None would end the groups of others too
                dist.destroy_process_group(group)

    # -- who is missing ----------------------------------------------------------------------------------------

    def _together(self, run: Callable[[], Result]) -> Result:
        """Do what needs all of them; where one is gone or late, say which."""
        self._met += 1
        try:
            if self._store is not None:
                self._store.set(self._at(self.rank), str(self._met))
            return run()
        except RuntimeError:
            pass
        self._lost = True
        raise RankLost(self._missing(), self.rank)  # outside of the handler, whose error may hold a reference to sums

    def _at(self, rank: int) -> str:
        return f"{self._name}/met/{rank}"

    def _missing(self) -> list[int]:
        """Ranks that have not come as far as this one; if there is none, those that do not answer any more."""
        others = [rank for rank in range(self.size) if rank != self.rank]
        if self._store is None:
            return others
        try:
            behind = [rank for rank in others if self._came(rank) < self._met]
            if behind:
                return behind
            self._store.set(f"{self._name}/here/{self._met}/{self.rank}", "1")
            end = time.monotonic() + GRACE
            silent = others
            while silent and time.monotonic() < end:
                time.sleep(0.05)
                silent = [rank for rank in silent if not self._store.check([f"{self._name}/here/{self._met}/{rank}"])]
            return silent or others
        except RuntimeError:  # the first rank keeps the store, unless torchrun does
            return [0]

    def _came(self, rank: int) -> int:
        """How often the rank met the others."""
        key = self._at(rank)
        if self._store is None:
            return 0
        return int(self._store.get(key)) if self._store.check([key]) else 0


def _begin(timeout: timedelta) -> None:
    if not dist.is_available():
        raise InvalidParameter("Ranks", "a torch that was built with torch.distributed", available=False)
    if dist.is_initialized():
        return
    if not all(name in os.environ for name in STARTED):
        rule = (
            "processes started by torchrun (torchrun --nproc-per-node 2 train.py), or "
            "torch.distributed.init_process_group(...) before"
        )
        raise InvalidParameter("Ranks", rule, started=False)
    dist.init_process_group("gloo", timeout=timeout)
    atexit.register(_end)


def _end() -> None:
    """Let go of the other processes while Python still runs: threads of gloo that outlive it would end it badly."""
    if dist.is_initialized():
        dist.destroy_process_group()
