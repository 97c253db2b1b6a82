"""When a training is saved, shown and paid for: the whole plan is one charge, and may go on without being paid twice.

Steps after the last checkpoint may be drawn again. So with a ledger nothing of them is shown: a checkpoint is in the
book before it takes its place, `on_step` is called right after it, and whatever ends the run early takes the model back
to what the book knows of. A run that saves nothing shows every step, and cannot go on.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hush.account import Account, Charge, Reserved, checked_account
from hush.errors import AlreadySpent
from hush.learning.distributed.agreement import from_first
from hush.learning.distributed.ranks import Ranks
from hush.learning.dpsgd.checkpoint import Checkpoint, FilePath
from hush.learning.dpsgd.private_gradient import PrivateGradient


class PaidByFirst(Reserved):
    """A charge that the first rank makes and keeps in its book, while the others wait; what it is refused, all are."""

    def __init__(self, ranks: Ranks, account: Account, charge: Charge, resumed: int | None) -> None:
        self.ranks = ranks
        self._own: Reserved | None = None

        def reserved() -> str:
            self._own = account.reserve(charge, resumed=resumed)
            return json.dumps([self._own.answer, self._own.noted])

        self.answer, self.noted = json.loads(from_first(ranks, reserved))

    def note(self, step: int, answer: str = "") -> None:
        self._kept(lambda own: own.note(step, answer))
        self.noted = step

    def finish(self, answer: str) -> None:
        self._kept(lambda own: own.finish(answer))

    def _kept(self, keep: Callable[[Reserved], None]) -> None:
        def kept() -> str:
            if self._own is not None:
                keep(self._own)
            return ""

        from_first(self.ranks, kept)


@dataclass(eq=False)
class SavedRun:
    """Where a run is saved, how often, and who pays for it."""

    checkpoint: Checkpoint
    save_to: FilePath | None
    every: int | None
    private: bool
    reserved: Reserved | None
    writes: bool = True
    """Whether this process writes the file: of several ranks the first."""
    _known: tuple[Any, Any, Any] | None = field(default=None, repr=False)
    """Model and optimizer at the last step that the book knows of, where later ones may be drawn again."""

    @classmethod
    def begun(
        cls,
        checkpoint: Checkpoint,
        save_to: FilePath | None,
        every: int | None,
        private: bool,
        gradient: PrivateGradient,
        *,
        ledger: Account | None,
        resumed: bool,
    ) -> SavedRun:
        """Pay for the plan, or find what was paid for it where a checkpoint goes on."""
        account = checked_account("fit", ledger)
        if account is None:
            return cls(checkpoint, save_to, every, private, None)
        plan = checkpoint.plan
        what = f"fit by a plan, {checkpoint.unit}, max_norm {gradient.norms.settings!r}: {plan.to_json()}"
        charge = Charge(what, plan.mechanism, unit=checkpoint.unit.split(",")[0], private=private)
        start = gradient.steps if resumed else None
        if gradient.ranks is None:
            reserved = account.reserve(charge, resumed=start)
        else:
            reserved = PaidByFirst(gradient.ranks, account, charge, start)
        run = cls(checkpoint, save_to, every, private, reserved, gradient.ranks is None or gradient.ranks.leads)
        if reserved.answer is not None:
            if gradient.steps < plan.steps:
                raise AlreadySpent("This training is finished, its model in its last checkpoint: resume_from that.")
        elif save_to is not None:
            run._save(gradient.steps)
        elif gradient.steps < plan.steps:
            reserved.note(plan.steps)
        return run

    def after(self, step: int) -> bool:
        """Save where it is time to; whether this step may be shown."""
        due = self.save_to is not None and self.every is not None and step % self.every == 0
        if due:
            self._save(step)
        return due or self.save_to is None or self.reserved is None

    def undone(self) -> None:
        """Forget the steps that the book does not know of, where they may be drawn again."""
        if self._known is not None:
            self.checkpoint.restore(self._known)

    def finished(self, step: int) -> None:
        """Say in the book what is to be shown, and save it."""
        self._agreed(step, self._finish)

    def _save(self, step: int) -> None:
        self._agreed(step, self._note)

    def _agreed(self, step: int, written: Callable[[Reserved, int], None]) -> None:
        """The file, the book, and only then the file in its place: what the book refuses is nowhere."""

        def agreed() -> None:
            if self.reserved is not None:
                written(self.reserved, step)
                if self.save_to is not None:
                    self._known = self.checkpoint.state()

        if self.save_to is None or not self.writes:
            agreed()
        else:
            self.checkpoint.save(self.save_to, step, private=self.private, agreed=agreed)

    @staticmethod
    def _note(reserved: Reserved, step: int) -> None:
        if reserved.noted < step:
            reserved.note(step)

    @staticmethod
    def _finish(reserved: Reserved, step: int) -> None:
        if reserved.answer is None:
            reserved.finish(json.dumps({"steps": step}))
